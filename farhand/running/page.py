"""A run on its console page: recordings and new sessions at a visitor's request."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from farhand.analysis.metrics import Metrics
from farhand.console.menus import Menus, menus_of
from farhand.console.scene import SUCCESSOR, Scene, scene_of
from farhand.console.serve import Page, serve
from farhand.errors import FarhandError, UnknownName
from farhand.loop.clock import WallClock
from farhand.loop.commands import Outcome
from farhand.loop.session import TICKS_TIMED
from farhand.publishing import Destination, Publishers
from farhand.report.output import Bar, say, say_error
from farhand.rigs import Options, Rig, build_rig
from farhand.rigs.margin import is_open_loop, margin
from farhand.running.browser import open_page
from farhand.running.live_values import LiveValues, belongs_to, carry_over
from farhand.running.recorder import RecorderProcess, RunRecording, begin_on_request
from farhand.running.run import (
    ENDLESS_S,
    PAGE_PERIOD_S,
    BetweenTicks,
    RunOutcome,
    drive,
    in_real_time,
    stopping_on_signals,
    time_of,
)

HEALTH_PERIOD_S = 0.25  # between two reports on the ticks
CHANGEABLE = ("law", "layer", "scenario")
WAITING = "waiting for the first visitor"


class RestartRequested(Exception):
    """A visitor asks for another session; leaves the run of the present one between two ticks."""

    def __init__(self, changes: dict[str, Any]) -> None:
        self.changes = changes


@dataclass(frozen=True)
class PageContext:
    """What the sessions of a run on a page share."""

    page: Page  # that shows them
    recorder: RecorderProcess  # that records at a visitor's request
    core: int | None = None  # that the loop stays on; any by default
    fixed: bool = False  # whether no other session may take the place of the first
    planned: Sequence[str] = ()  # commands for the session and when it is played again
    live: LiveValues = field(default_factory=LiveValues)  # what visitors have set


class PageLoop(BetweenTicks):
    """Called between two ticks: the page's requests, and a report on the ticks for the page.

    Beside the session's commands it carries out ``restart`` (its value is a dictionary of changes),
    ``again`` (the same session from its start), ``record``, ``arrived`` (the first visitor is
    there) and ``end`` (its value must be True: somebody has confirmed it).
    """

    def __init__(
        self,
        rig: Rig,
        length: float | None,
        recording: RunRecording,
        context: PageContext,
        waiting: bool = False,
    ) -> None:
        super().__init__(rig, length, recording, context.page)
        self._session, self._context, self._waiting = rig.session, context, waiting
        handlers = context.page.handlers
        handlers["restart"] = self._restart
        handlers["again"] = lambda path, value: self._restart(path, {})
        handlers["record"] = self._record
        handlers["arrived"] = self._arrive
        handlers["end"] = self._end
        self._ticks, self._reported = rig.session.ticks, time.monotonic()
        if waiting:
            self._tell(WAITING)

    def __call__(self) -> None:
        """Do what is due."""
        super().__call__()
        now = time.monotonic()
        if now - self._reported >= HEALTH_PERIOD_S:
            self._report(now)

    def wait(self, interrupted: Sequence[int]) -> float:
        """Stand still until the first visitor comes, if that is asked for; how long it was, [s]."""
        began = time.perf_counter()
        while self._waiting and not interrupted and self._context.page.alive:
            self()
            time.sleep(PAGE_PERIOD_S)
        return time.perf_counter() - began

    def log(self, name: str, outcome: Outcome, path: str = "") -> None:
        """Make an event of what came of a request."""
        session = self._session
        data = {"kind": "page", "tick": session.ticks, "name": name, "path": path}
        data |= {"outcome": str(outcome), "done": outcome.done}
        session.telemetry.event(session.now_ns, f"{name}: {outcome}", data)

    def _report(self, now: float) -> None:
        session, count = self._session, self._session.ticks - self._ticks
        recorder, health = self._context.recorder, self._context.page.health
        places = np.arange(session.ticks - min(count, TICKS_TIMED), session.ticks) % TICKS_TIMED
        if count:
            health[0] = 1e-3 * float(np.median(session.tick_ns[places]))
        health[1] = count / (now - self._reported)
        health[2] = session.overruns
        failure = recorder.failure()
        if failure is not None:
            self.log("record", Outcome.refused(failure))
        health[3] = recorder.path is not None
        self._ticks, self._reported = session.ticks, now
        self._context.live.take(session.commands)

    def _tell(self, text: str) -> None:
        self._session.telemetry.event(self._session.now_ns, text, {"kind": "page"})

    def _arrive(self, path: str, value: object) -> None:
        if self._waiting:
            self._waiting = False
            self._tell("the first visitor is here: the scenario begins")

    def _end(self, path: str, value: object) -> None:
        if value is not True:
            self.log("end", Outcome.refused("confirm that the run shall end for everybody"))
            return
        self._waiting = False
        self._session.finish()

    def _restart(self, path: str, value: object) -> None:
        if self._context.fixed:
            reason = "this run was set up on the command line; start it again from there"
            self.log("restart", Outcome.refused(reason))
            return
        raise RestartRequested(value if isinstance(value, dict) else {})

    def _record(self, path: str, value: object) -> None:
        """Begin a recording to ``path``, or end the present one if there is no path."""
        recorder = self._context.recorder
        try:
            if path:
                begin_on_request(recorder, self._session, path)
                text = f"recording to {path}"
            else:
                ended = recorder.path
                recorder.end()
                text = f"recording {ended} ended" if ended else "nothing was being recorded"
            self.log("record", Outcome(text=text), path)
        except FarhandError as error:
            self.log("record", Outcome.refused(str(error)), path)


def page_for(rig: Rig, host: str, port: int, fixed: bool = False) -> Page:
    """Serve the console page of a rig; if it is fixed, no other session may take its place."""
    scene = scene_for(rig)
    if fixed:
        scene["menus"]["restartable"] = False
        # Its law may be of its own making
        scene["twin"] = None
    return serve(rig.session.telemetry.path, scene, host, port, rig.session.commands)


@contextmanager
def publishing(
    rig: Rig, name: str, destinations: Sequence[Destination], drive: bool, rate: float
) -> Iterator[None]:
    """Publish the session of a rig, which is served under that name, while this is entered.

    Args:
        rig: about to run.
        name: of its session.
        destinations: where to.
        drive: whether those who watch may drive.
        rate: of every topic at most, [Hz].
    """
    with Bar("starting to publish"):
        scene = scene_for(rig)
        ring = rig.session.telemetry.path
        publishers = Publishers(destinations, ring, scene, name, drive=drive, rate=rate)
    for address in publishers.addresses:
        say(f"published to {address}")
    with publishers:
        yield
        for ended in publishers.ended():
            say_error(f"--publish {ended} ended during the run; the run went on")


def scene_for(rig: Rig, live: Mapping[str, object] | None = None) -> Scene:
    """What to draw of a rig, with its predicted stability and what a viewer needs to predict it.

    Args:
        rig: about to run.
        live: what was set after it was built, by path.
    """
    scene = scene_of(rig)
    # One side alone does not know the other, so nothing can be predicted
    if rig.options.side is not None:
        return scene
    scene["margin"] = margin(rig, brief=True) or ""
    # Nothing is known about arms and devices outside the simulation, and nobody may open them twice
    if scene["margin"] and not rig.world.externally_driven:
        settings = [*rig.options.settings, *(live or {}).items()]
        options = replace(rig.options, clock=None, settings=settings)
        scene["twin"] = {"rig": rig.name, "options": asdict(options)}
    metrics = rig.metrics
    if rig.session.bridges and isinstance(metrics, Metrics):
        scene["shaking"] = {
            "contact": metrics.other,
            "driven": metrics.driven,
            "open_loop": is_open_loop(rig),
            "joints": bool(metrics.joints),
        }
    return scene


def run_rig(
    rig: Rig,
    length: float | None,
    record: Path | None,
    page_at: tuple[str, int] | None,
    announcement: str,
    *,
    core: int | None = None,
    fixed: bool = False,
    wait: bool = False,
    planned: Sequence[str] = (),
    opened: bool = False,
) -> tuple[Rig, RunOutcome]:
    """Run a rig headless, or as :func:`steer` on a page at ``page_at`` (host, port).

    When the page is served, the announcement is printed with its ``{address}``; if it is to be
    ``opened``, the browser opens it too.
    """
    if page_at is None:
        return rig, drive(rig, length, record, core=core)
    with Bar("starting the page"):
        page = page_for(rig, *page_at, fixed=fixed)
    with page:
        say(announcement.format(address=page.address))
        if page.watch_address:
            say(f"to watch and stop only: {page.watch_address}")
        if opened:
            say(open_page(page.address))
        return steer(rig, length, record, page, core, fixed, wait, planned)


def steer(
    rig: Rig,
    length: float | None,
    record: Path | None,
    page: Page,
    core: int | None = None,
    fixed: bool = False,
    wait: bool = False,
    planned: Sequence[str] = (),
) -> tuple[Rig, RunOutcome]:
    """Run a rig on its page; a visitor may put another session of it in its place.

    Args:
        rig: that runs first; it is closed when another takes its place.
        length: of each session, from the start of its scenario, [s]; None for no end.
        record: the file that the first session is recorded to.
        page: that shows it.
        core: that the loop stays on; any by default.
        fixed: whether no other session may take the place of the first.
        wait: whether the first session begins with the first visitor; not with machines outside
            the simulation, which must not be left alone.
        planned: commands (``SECONDS:COMMAND``) that were posted to the rig; they are given again
            when its session is played again.

    Returns:
        the rig that ran last, and how that went.
    """
    recorder = RecorderProcess()
    context = PageContext(page, recorder, core, fixed, planned)
    waiting = wait
    try:
        while True:
            recorder.describe(rig)
            successor, outcome = _run_session(rig, length, record, context, waiting)
            if successor is None:
                return rig, outcome
            if recorder.path is not None:
                recorder.end()
            telling = "a new session takes its place"
            rig.session.telemetry.event(rig.session.now_ns, telling, {"kind": SUCCESSOR})
            rig.close()
            rig, record, waiting = successor, None, False
            page.show(
                rig.session.telemetry.path,
                scene_for(rig, context.live.values),
                rig.session.commands,
            )
    finally:
        recorder.close()


def _run_session(
    rig: Rig, length: float | None, record: Path | None, context: PageContext, waiting: bool
) -> tuple[Rig | None, RunOutcome]:
    """Run one session to its end; also the rig that takes its place, if a visitor asks for one."""
    session, began, successor = rig.session, time.perf_counter(), None
    recording = RunRecording(rig, record)
    loop = PageLoop(rig, length, recording, context, waiting)
    try:
        with stopping_on_signals(session) as interrupted:
            while successor is None:
                remaining = max(0.0, (length or ENDLESS_S) - 1e-9 * session.now_ns)
                try:
                    began += loop.wait(interrupted)
                    with in_real_time(session, context.core) as grants:
                        session.run(remaining, loop, PAGE_PERIOD_S)
                    break
                except RestartRequested as request:
                    successor = _build_successor(rig, request.changes, loop, context)
            loop.finish()
    finally:
        loop.close()
        recording.close()
    wall, seconds = time.perf_counter() - began, time_of(session) / 1e9
    outcome = RunOutcome(seconds, wall, bool(interrupted), recording.stopped, tuple(grants))
    return successor, outcome


def _build_successor(
    rig: Rig, changes: dict[str, Any], loop: PageLoop, context: PageContext
) -> Rig | None:
    """Another session of a rig; None, with the reason in the log, if it cannot be built."""
    context.live.take(rig.session.commands)
    try:
        built = build_rig(rig.name, changed_options(rig.options, changes, menus_of(rig)))
    except FarhandError as error:
        loop.log("restart", Outcome.refused(str(error)))
        return None
    kept, lost = carry_over(context.live.values, rig, built)
    gone = {path for path, _ in rig.options.settings} - {path for path, _ in built.options.settings}
    lost |= {path: "set when the run was started" for path in sorted(gone)}
    context.live.begin(kept)
    if not changes:
        for command in context.planned:
            built.session.commands.post_text(command)
    event = built.session.telemetry.event
    event(0, f"new session: {_in_words(built)}", {"kind": "session"})
    if kept:
        values = ", ".join(f"{path}={value}" for path, value in kept.items())
        event(0, f"carried over: {values}", {"kind": "session"})
    for path, why in lost.items():
        event(0, f"not carried over: {path}, {why}", {"kind": "session"})
    return built


def _in_words(rig: Rig) -> str:
    """What was chosen for a session."""
    delay = 0.0 if rig.parts.link is None else rig.parts.link.delay
    chosen = f"law {rig.law}, layer {rig.options.layer}, scenario {rig.scenario.name}"
    return f"{chosen}, {delay:g} ms of delay"


def changed_options(before: Options, changes: dict[str, Any], menus: Menus) -> Options:
    """The options of another session.

    Args:
        before: those of the present one.
        changes: what the visitor asks for: some of :data:`CHANGEABLE`, and paths of the rig.
        menus: of the present session.

    Raises:
        UnknownName: a choice is not on its menu.
    """
    menu = {"law": menus["laws"], "layer": menus["layers"], "scenario": [*menus["scenarios"]]}
    menu |= menus["build"]
    for name, value in changes.items():
        if value not in menu.get(name, ()):
            raise UnknownName(name, str(value), menu.get(name, ()))
    chosen = menus["chosen"]
    changed: dict[str, Any] = {name: changes[name] for name in CHANGEABLE if name in changes}
    if before.task is not None:
        changed.pop("scenario", None)
    built = {path: value for path, value in changes.items() if path.startswith("rig.")}
    replaced = set(built)
    if changed.get("scenario", chosen["scenario"]) != chosen["scenario"]:
        # Another scenario chooses the rig's parts itself
        replaced |= {path for path, _ in before.settings if path.startswith("rig.")}
    for kind in ("law", "layer"):
        # What was set of one law or layer is not of another
        if changed.get(kind, chosen[kind]) != chosen[kind]:
            replaced |= {path for path, _ in before.settings if belongs_to(path, kind)}
    settings = [setting for setting in before.settings if setting[0] not in replaced]
    return replace(before, **changed, settings=[*settings, *built.items()], clock=WallClock())

"""A run on its console page: recordings and new sessions at a visitor's request."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from farhand.console.menus import Menus, menus_of
from farhand.console.scene import Scene, scene_of
from farhand.console.serve import Page, serve
from farhand.errors import BadValue, FarhandError, UnknownName
from farhand.loop.clock import WallClock
from farhand.loop.commands import Outcome
from farhand.loop.session import TICKS_TIMED
from farhand.report.output import Bar, say, within
from farhand.rigs import Options, Rig, build_rig
from farhand.running.browser import open_page
from farhand.running.margin import margin
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
LIMITS = {"delay": 10_000.0, "jitter": 5_000.0, "loss": 1.0}  # [ms], [ms], [-]
CHANGEABLE = ("law", "layer", "scenario", *LIMITS)


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


class PageLoop(BetweenTicks):
    """Called between two ticks: the page's requests, and a report on the ticks for the page."""

    def __init__(
        self, rig: Rig, length: float | None, recording: RunRecording, context: PageContext
    ) -> None:
        super().__init__(rig, length, recording, context.page)
        self._session, self._context = rig.session, context
        handlers = context.page.handlers
        handlers["restart"] = self._restart
        handlers["record"] = self._record
        handlers["end"] = lambda path, value: self._session.finish()
        self._ticks, self._reported = rig.session.ticks, time.monotonic()

    def __call__(self) -> None:
        """Do what is due."""
        super().__call__()
        now = time.monotonic()
        if now - self._reported >= HEALTH_PERIOD_S:
            self._report(now)

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
    return serve(rig.session.telemetry.path, scene, host, port, rig.session.commands)


def scene_for(rig: Rig) -> Scene:
    """What to draw of a rig, with its predicted stability."""
    scene = scene_of(rig)
    # One side alone does not know the other, so nothing can be predicted
    if rig.options.side is None:
        scene["margin"] = (margin(rig) or "").partition("; hand:")[0]
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
        if opened:
            say(open_page(page.address))
        return steer(rig, length, record, page, core, fixed)


def steer(
    rig: Rig,
    length: float | None,
    record: Path | None,
    page: Page,
    core: int | None = None,
    fixed: bool = False,
) -> tuple[Rig, RunOutcome]:
    """Run a rig on its page; a visitor may put another session of it in its place.

    Each session lasts at most ``length`` [s]; only the first is recorded to ``record``. The first
    rig is closed when another takes its place.

    Returns:
        the rig that ran last, and how that went.
    """
    recorder = RecorderProcess()
    context = PageContext(page, recorder, core, fixed)
    try:
        while True:
            recorder.describe(rig)
            successor, outcome = _run_session(rig, length, record, context)
            if successor is None:
                return rig, outcome
            if recorder.path is not None:
                recorder.end()
            rig.close()
            rig, record = successor, None
            _show_session(rig, page)
    finally:
        recorder.close()


def _run_session(
    rig: Rig, length: float | None, record: Path | None, context: PageContext
) -> tuple[Rig | None, RunOutcome]:
    """Run one session to its end; also the rig that takes its place, if a visitor asks for one."""
    session, began, successor = rig.session, time.perf_counter(), None
    recording = RunRecording(rig, record)
    loop = PageLoop(rig, length, recording, context)
    try:
        with stopping_on_signals(session) as interrupted:
            while successor is None:
                remaining = max(0.0, (length or ENDLESS_S) - 1e-9 * session.now_ns)
                try:
                    with in_real_time(session, context.core) as grants:
                        session.run(remaining, loop, PAGE_PERIOD_S)
                    break
                except RestartRequested as request:
                    successor = _build_successor(rig, request.changes, loop)
            loop.finish()
    finally:
        loop.close()
        recording.close()
    wall, seconds = time.perf_counter() - began, time_of(session) / 1e9
    outcome = RunOutcome(seconds, wall, bool(interrupted), recording.stopped, tuple(grants))
    return successor, outcome


def _build_successor(rig: Rig, changes: dict[str, Any], loop: PageLoop) -> Rig | None:
    """Another session of a rig; None, with the reason in the log, if it cannot be built."""
    try:
        return build_rig(rig.name, changed_options(rig.options, changes, menus_of(rig)))
    except FarhandError as error:
        loop.log("restart", Outcome.refused(str(error)))
        return None


def changed_options(before: Options, changes: dict[str, Any], menus: Menus) -> Options:
    """The options of another session.

    Args:
        before: those of the present one.
        changes: what the visitor asks for: some of :data:`CHANGEABLE`, and paths of the rig.
        menus: of the present session.

    Raises:
        FarhandError: a choice is not on its menu, or a number not in its range.
    """
    menu = {"law": menus["laws"], "layer": menus["layers"], "scenario": [*menus["scenarios"]]}
    menu |= menus["build"]
    for name, value in changes.items():
        if name not in LIMITS and value not in menu.get(name, ()):
            raise UnknownName(name, str(value), menu.get(name, ()))
    scenario = menus["chosen"]["scenario"]
    changed: dict[str, Any] = {name: changes[name] for name in CHANGEABLE if name in changes}
    for name in LIMITS.keys() & changed.keys():
        try:
            changed[name] = within(name, float(changed[name]), 0.0, LIMITS[name])
        except ValueError:
            raise BadValue(f"{name} = {changed[name]} is not a number") from None
    built = {path: value for path, value in changes.items() if path.startswith("rig.")}
    replaced = {f"link.{name}" for name in changed} | built.keys()
    if changed.get("scenario", scenario) != scenario:
        # Another scenario chooses the rig's parts itself
        replaced |= {path for path, _ in before.settings if path.startswith("rig.")}
    settings = [setting for setting in before.settings if setting[0] not in replaced]
    return replace(before, **changed, settings=[*settings, *built.items()], clock=WallClock())


def _show_session(rig: Rig, page: Page) -> None:
    """Show a new session on the page."""
    options = rig.options
    chosen = (
        f"law {rig.law}, layer {options.layer}, scenario {rig.scenario.name}, "
        f"{options.delay:g} ms of delay"
    )
    rig.session.telemetry.event(0, f"new session: {chosen}", {"kind": "session"})
    page.show(rig.session.telemetry.path, scene_for(rig), rig.session.commands)

"""A run under the control of its page: commands, recordings begun and ended there, and new sessions in its place."""

from __future__ import annotations

import multiprocessing
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from farhand.console.scene import Scene, scene_of
from farhand.console.serve import Page
from farhand.errors import BadValue, FarhandError, FileError
from farhand.loop.clock import WallClock
from farhand.loop.commands import Logged
from farhand.loop.interrupts import ignoring_interrupts
from farhand.loop.latch import Latch
from farhand.loop.session import TICKS_TIMED, Session
from farhand.recording.destination import check_destination
from farhand.recording.recorder import BROKEN, RingEvent, record_process
from farhand.report.output import Bar, within
from farhand.rigs import Options, Rig, build_rig
from farhand.running.margin import margin
from farhand.running.rerun import about
from farhand.running.run import (
    FOREVER,
    PAGE_PERIOD,
    BetweenTicks,
    RunOutcome,
    in_real_time,
    recording_of,
    stopping_on_signals,
    time_of,
)

HEALTH_PERIOD = 0.25  # [s], between two reports on the ticks
FINISH_TIMEOUT_S = 30.0  # [s], for a recording to be finished
LIMITS = {"delay": 10_000.0, "jitter": 5_000.0, "loss": 1.0}  # [ms], [ms], [-]
CHANGEABLE = ("law", "layer", "scenario", *LIMITS)


class RestartRequested(Exception):
    """A visitor wants another session; leaves the run of the present one between two ticks."""

    def __init__(self, wishes: dict[str, Any]) -> None:
        self.wishes = wishes


class StandbyRecorder:
    """A recorder's process that stands ready, so that a recording begins without the session waiting for anything.

    A recording begins with what the telemetry ring still holds, some seconds before it was asked
    for, and with every command given before that, so that ``farhand replay --rerun`` begins where
    the run began and has them all.
    """

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        orders, self._orders = context.Pipe(duplex=False)
        self._word, word = context.Pipe(duplex=False)
        self._stop = Latch(context)
        self._process = context.Process(
            target=_scribe, args=(orders, word, self._stop), name="farhand-scribe"
        )
        with ignoring_interrupts():
            self._process.start()
        orders.close()
        word.close()
        self.path: Path | None = None

    def know(self, rig: Rig) -> None:
        """Hand over what a file should say of a rig; takes its time, so call it before the rig runs."""
        with suppress(OSError):  # it has ended: the first recording that is asked for is refused
            self._orders.send(about(rig))

    def begin(self, session: Session, name: str) -> str:
        """Record a session to a file of that name in the working folder; how it went, in words."""
        path = Path(name)
        if self.path is not None:
            raise BadValue(f"{self.path} is being recorded; stop that first")
        if path.name != name or path.suffix != ".mcap" or not path.stem:
            raise BadValue(
                f"{name!r} is no name for a recording here; give one without a folder, such as run.mcap"
            )
        if path.exists():
            raise BadValue(f"{name} is there already; choose another name")
        check_destination(path)
        self._stop.clear()
        try:
            self._orders.send((session.telemetry.path, path, commands_of(session)))
        except OSError:
            raise FileError(
                "the recorder's process has ended; end this run and start it again to record"
            ) from None
        self.path = path
        return f"recording to {name}"

    def end(self) -> str:
        """Finish the file; it is whole a moment later."""
        name, self.path = self.path, None
        self._stop.set()
        return f"recording {name} ended" if name else "nothing was being recorded"

    def failed(self) -> str | None:
        """Why a recording broke off, if one did since the last call."""
        try:
            why = str(self._word.recv()) if self._word.poll() else None
        except (EOFError, OSError):  # once it was killed, for ever
            why = (
                None
                if self.path is None
                else f"the recorder's process has ended; what is in {self.path} can be read"
            )
        if why is not None:
            self.path = None
        return why

    def close(self) -> None:
        """Finish what is being recorded, and let the process go; an error on its way out of the run is told."""
        self._stop.set(BROKEN if sys.exc_info()[0] is not None else 1)
        self._orders.close()
        self._process.join(FINISH_TIMEOUT_S)
        if self._process.is_alive():
            self._process.kill()


def _scribe(orders: Connection, word: Connection, stop: Latch) -> None:
    """Record whatever is ordered, one file after the other, until the orders end."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    known = None
    with suppress(EOFError, OSError):
        while True:
            order = orders.recv()
            if not isinstance(order, tuple):
                known = order
                continue
            ring, path, earlier = order
            with suppress(SystemExit):  # it has said why
                record_process(ring, path, stop, known, None, word, earlier=earlier)


def commands_of(session: Session) -> list[RingEvent]:
    """Every command a session has carried out so far, as its telemetry told of it.

    A session that has forgotten its first ones says so in their place, and a re-run of the
    recording is refused.
    """
    log = session.commands.log
    found: list[RingEvent] = [
        (c.time_ns, f"{c.request}: {c.outcome}", command_record(c)) for c in log
    ]
    if session.commands.forgotten:
        why = f"as {session.commands.forgotten} were given before those that were remembered when recording began"
        found.insert(
            0, (0, f"commands are missing, {why}", {"kind": "command", "cut": True, "why": why})
        )
    return found


def command_record(command: Logged) -> dict[str, Any]:
    """What an event says of a command, for programs."""
    request = command.request
    said = {"kind": "command", "tick": command.tick, "name": request.name, "path": request.path}
    return said | {"value": request.value, "outcome": command.outcome}


@dataclass(frozen=True)
class PageContext:
    """What a run on a page has around it.

    Attributes:
        page: that shows it.
        scribe: that records it.
        core: that the loop stays on; any by default.
        fixed: whether no other session may take its place.
    """

    page: Page
    scribe: StandbyRecorder
    core: int | None = None
    fixed: bool = False


class PageLoop(BetweenTicks):
    """Called by the session between two ticks: the page's requests, and a report on the ticks for the page."""

    def __init__(
        self, rig: Rig, length: float | None, recording: Any, bar: Bar, desk: PageContext
    ) -> None:
        super().__init__(rig, length, recording, bar, desk.page)
        page = desk.page
        self._session, self._served, self._scribe, self._fixed = (
            rig.session,
            page,
            desk.scribe,
            desk.fixed,
        )
        page.handlers["restart"] = self._restart
        page.handlers["record"] = self._record
        page.handlers["end"] = lambda path, value: self._session.finish()
        self._ticks, self._reported = rig.session.ticks, time.monotonic()

    def __call__(self) -> None:
        """Do what is due."""
        super().__call__()
        now = time.monotonic()
        if now - self._reported >= HEALTH_PERIOD:
            self._report(now)

    def tell(self, name: str, outcome: str, path: str = "") -> None:
        """Make an event of what came of a request."""
        said = {
            "kind": "page",
            "tick": self._session.ticks,
            "name": name,
            "path": path,
            "outcome": outcome,
        }
        self._session.telemetry.event(self._session.now_ns, f"{name}: {outcome}", said)

    def _report(self, now: float) -> None:
        session, count = self._session, self._session.ticks - self._ticks
        places = np.arange(session.ticks - min(count, TICKS_TIMED), session.ticks) % TICKS_TIMED
        health = self._served.health
        if count:
            health[0] = 1e-3 * float(np.median(session.tick_ns[places]))
        health[1], health[2] = count / (now - self._reported), session.overruns
        broken = self._scribe.failed()
        if broken is not None:
            self.tell("record", f"refused: {broken}")
        health[3] = self._scribe.path is not None
        self._ticks, self._reported = session.ticks, now

    def _restart(self, path: str, value: object) -> None:
        if self._fixed:
            self.tell(
                "restart",
                "refused: this run was set up on the command line; start it again from there",
            )
            return
        raise RestartRequested(value if isinstance(value, dict) else {})

    def _record(self, path: str, value: object) -> None:
        try:
            self.tell(
                "record",
                self._scribe.begin(self._session, path) if path else self._scribe.end(),
                path,
            )
        except FarhandError as error:
            self.tell("record", f"refused: {error}", path)


def page_for(rig: Rig, host: str, port: int, fixed: bool = False) -> Page:
    """Serve the console page of a rig; ``fixed`` where no other session may take its place."""
    from farhand.console.serve import serve

    scene = scene_for(rig)
    scene["menus"]["anew"] = not fixed
    return serve(rig.session.telemetry.path, scene, host, port, rig.session.commands)


def scene_for(rig: Rig) -> Scene:
    """What to draw of a rig, with what is predicted of its stability."""
    scene = scene_of(rig)
    scene["margin"] = (margin(rig) or "").partition("; hand:")[0]
    return scene


def steer(
    rig: Rig,
    length: float | None,
    record: Path | None,
    page: Page,
    core: int | None = None,
    fixed: bool = False,
) -> tuple[Rig, RunOutcome]:
    """Run a rig on its page until the end; a visitor may put another session of the rig in its place.

    Args:
        rig: ready to run; closed if another takes its place.
        length: how long each session may go on, [s]; until it is interrupted if not given.
        record: where the recording of the first session goes.
        page: that shows it.
        core: that the loop stays on; any by default.
        fixed: whether no other session may take its place.

    Returns:
        the rig that ran last, and how that went.
    """
    scribe = StandbyRecorder()
    try:
        while True:
            scribe.know(rig)
            other, outcome = _one(rig, length, record, PageContext(page, scribe, core, fixed))
            if other is None:
                return rig, outcome
            if scribe.path is not None:
                scribe.end()
            rig.close()
            rig, record = other, None
            _take_over(rig, page)
    finally:
        scribe.close()


def _one(
    rig: Rig, length: float | None, record: Path | None, around: PageContext
) -> tuple[Rig | None, RunOutcome]:
    """Run one session to its end, or until another takes its place, which comes back ready to run."""
    session, began, other = rig.session, time.perf_counter(), None
    recording, bar = recording_of(rig, record), Bar(f"running {rig.name}")
    desk = PageLoop(rig, length, recording, bar, around)
    try:
        with stopping_on_signals(session) as interrupted:
            while other is None:
                try:
                    with in_real_time(session, around.core) as grants:
                        session.run(
                            max(0.0, (length or FOREVER) - 1e-9 * session.now_ns), desk, PAGE_PERIOD
                        )
                    break
                except RestartRequested as wish:
                    other = _other(rig, wish.wishes, desk)
            desk.pull()
    finally:
        desk.close()
        bar.close()
        recording.close()
    wall = time.perf_counter() - began
    return other, RunOutcome(
        time_of(session) / 1e9, wall, bool(interrupted), recording.stopped, tuple(grants)
    )


def _other(rig: Rig, wishes: dict[str, Any], desk: PageLoop) -> Rig | None:
    """Another session of a rig; None, and the reason told, if it cannot be built."""
    try:
        return build_rig(rig.name, _options(rig.options, wishes, rig.scenario.name))
    except FarhandError as error:
        desk.tell("restart", f"refused: {error}")
        return None


def _options(before: Options, wishes: dict[str, Any], scenario: str) -> Options:
    """What another session is built from: as before, with ``scenario``, but for what is wished."""
    changed: dict[str, Any] = {name: value for name, value in wishes.items() if name in CHANGEABLE}
    for name in LIMITS.keys() & changed.keys():
        try:
            changed[name] = within(name, float(changed[name]), 0.0, LIMITS[name])
        except ValueError:
            raise BadValue(f"{name} = {changed[name]} is not a number") from None
    built = {name: value for name, value in wishes.items() if name.startswith("rig.")}
    replaced = {f"link.{name}" for name in changed} | built.keys()
    if changed.get("scenario", scenario) != scenario:
        # a scenario has its own say
        replaced |= {path for path, _ in before.settings if path.startswith("rig.")}
    settings = [setting for setting in before.settings if setting[0] not in replaced]
    return replace(before, **changed, settings=[*settings, *built.items()], clock=WallClock())


def _take_over(rig: Rig, page: Page) -> None:
    """Show a new session on the page."""
    options = rig.options
    chosen = f"law {rig.law}, layer {options.layer}, scenario {rig.scenario.name}, {options.delay:g} ms of delay"
    rig.session.telemetry.event(0, f"new session: {chosen}", {"kind": "session"})
    page.show(rig.session.telemetry.path, scene_for(rig), rig.session.commands)

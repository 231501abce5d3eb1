"""One side of a rig on two machines: meet the other side, run, show the link, and report."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from farhand.errors import BadValue, FarhandError, LinkError, Mismatch
from farhand.link.line import Line, Wire
from farhand.link.seal import Seal, open_to_others, read_key
from farhand.link.udp import UdpWire, format_address, parse_address
from farhand.loop.clock import WallClock
from farhand.publishing import parse_destinations
from farhand.report.output import note, say, say_error, within, write_json
from farhand.report.summary import result_of_side, show_side
from farhand.rigs import Options, Rig, build_rig
from farhand.rigs.coupled import terms_of
from farhand.running.arguments import (
    MAX_RUN_S,
    check_run_files,
    check_seconds,
    parse_settings,
    post_commands,
)
from farhand.running.page import page_for, publishing
from farhand.running.recorder import RunRecording
from farhand.running.run import (
    ENDLESS_S,
    PAGE_PERIOD_S,
    BetweenTicks,
    ConsolePage,
    RunOutcome,
    in_real_time,
    stopping_on_signals,
    time_of,
)
from farhand.running.serving import NamedSession

TERMINAL_STATUS_PERIOD_S = 0.25
FILE_STATUS_PERIOD_S = 2.0
GREETING_PERIOD_S = 0.1
POLL_PERIOD_S = 0.002


@dataclass
class SideOptions:
    """Everything a user chooses for one side."""

    side: str  # ``"leader"`` or ``"follower"``
    rig: str
    key: Path
    transport: str = "udp"
    listen: str | None = None
    connect: str | None = None
    law: str | None = None
    layer: str = "none"
    scenario: str | None = None
    seconds: float | None = None
    page: tuple[str, int] | None = None  # host and port of its page; None for no page
    record: Path | None = None
    settings: list[str] = field(default_factory=list)
    at: list[str] = field(default_factory=list)
    seed: int = 0
    json: Path | None = None
    patience: float = 10.0  # how long a leader waits for the first answer, [s]
    link_name: str = "link"
    zenoh_config: Path | None = None
    publish: list[str] = field(default_factory=list)
    publish_drive: bool = False
    publish_rate: float = 100.0


def run_side(options: SideOptions) -> int:
    """Run one side to its end; the exit code."""
    check_seconds(options.seconds)
    within("--publish-rate", options.publish_rate, 1.0, 10_000.0, "Hz")
    if options.publish_drive and not options.publish:
        raise BadValue("--publish-drive lets others drive where --publish says; add --publish")
    parse_destinations(options.publish)
    within("--patience", options.patience, 0.0, MAX_RUN_S, "s")
    check_run_files(options.json, None, options.record, read=[options.key])
    key = read_key(options.key)
    if open_to_others(options.key):
        path = options.key
        note(f"others on this machine can read {path}; make it yours alone with: chmod 600 {path}")
    with ExitStack() as stack:
        rig = _build(options)
        stack.callback(rig.close)
        for text in rig.notes:
            note(text)
        length = _length(options, rig)
        post_commands(rig, options.at, length)
        line = Line(_wire(options), Seal(key, options.side), terms_of(rig))
        stack.callback(line.close)
        clock = steady_time()
        _bridge(rig).end.endpoint.connect(line, line, shared_clock=False, clock=clock)
        if options.side == "leader":
            _meet(line, options, clock)
        else:
            print(f"farhand: {_where(line, options)}", file=sys.stderr, flush=True)
        outcome = _run(rig, line, length, options)
        return _conclude(rig, line, outcome, options)


def steady_time() -> Callable[[], int]:
    """A clock that gives the time of day, [ns], and does not jump when the system clock is set."""
    ahead_ns = time.time_ns() - time.monotonic_ns()
    return lambda: time.monotonic_ns() + ahead_ns


def _build(options: SideOptions) -> Rig:
    settings = parse_settings(options.settings)
    chosen = Options(options.law, options.layer, options.scenario, options.seed, settings=settings)
    chosen.clock, chosen.side = WallClock(), options.side
    return build_rig(options.rig, chosen)


def _bridge(rig: Rig) -> Any:
    return rig.session.bridges[0]


def _length(options: SideOptions, rig: Rig) -> float | None:
    """How long it runs, [s]: a headless leader for its scenario, all others until Ctrl-C."""
    if options.seconds is None and options.page is None and options.side == "leader":
        return rig.scenario.seconds
    return options.seconds


def _wire(options: SideOptions) -> Wire:
    """What carries the datagrams."""
    side, leads = options.side, options.side == "leader"
    place, flag = (options.connect, "--connect") if leads else (options.listen, "--listen")
    if options.transport == "udp":
        if place is None:
            example = f"{flag} HOST:PORT, such as {flag} 192.168.1.20:7400"
            raise BadValue(f"farhand {side} needs {example}")
        if not leads and options.connect is not None:
            reason = "is for a Zenoh router; over UDP a follower listens"
            raise BadValue(f"--connect of a follower {reason}")
        if leads and options.listen is not None:
            raise BadValue("--listen of a leader is for Zenoh; over UDP a leader connects")
        address = parse_address(place, flag)
        if leads and address[1] == 0:
            hint = "name the follower's, such as 7400"
            raise BadValue(f"{flag} {place!r}: nobody can be reached at port 0; {hint}")
        return UdpWire(connect=address) if leads else UdpWire(listen=address)
    from farhand.link.zenoh import ZenohWire

    if options.listen is None and options.connect is None and options.zenoh_config is None:
        choices = f"{flag} HOST:PORT, --connect ROUTER or --zenoh-config"
        raise BadValue(f"farhand {side} over Zenoh needs {choices}")
    return ZenohWire(side, options.listen, options.connect, options.zenoh_config, options.link_name)


def _where(line: Line, options: SideOptions) -> str:
    place = "waits on Zenoh"
    if isinstance(line.wire, UdpWire):
        place = f"listens at {format_address(*line.wire.address)}"
    return f"follower of {options.rig} {place} for a leader with the key"


def _meet(line: Line, options: SideOptions, clock: Callable[[], int]) -> None:
    """Wait until the follower answers and agrees.

    Raises:
        Mismatch: it runs something else.
        LinkError: nobody with the key answers.
    """
    began, greeted = time.monotonic(), -1.0
    while not line.agreed:
        now = time.monotonic() - began
        if line.refusal is not None:
            # So that the follower can report the reason as well
            line.greet()
            raise Mismatch(f"the follower is refused: {line.refusal}")
        if now > options.patience:
            raise LinkError(_no_answer(line, options))
        if now - greeted > GREETING_PERIOD_S:
            line.greet()
            greeted = now
        line.receive(clock())
        time.sleep(POLL_PERIOD_S)
    wire = line.wire
    if isinstance(wire, UdpWire) and wire.peer is not None and len(wire.tried) > 1:
        note(f"the follower answers at {format_address(*wire.peer)}")


def _no_answer(line: Line, options: SideOptions) -> str:
    counts, where = line.seal.counts, options.connect or "the Zenoh network"
    if isinstance(line.wire, UdpWire) and len(line.wire.tried) > 1:
        where += f" ({', '.join(format_address(*place) for place in line.wire.tried)})"
    text = f"no follower with this key answers at {where} within {options.patience:g} s"
    if counts.reflected:
        return f"{text}; another leader with this key does"
    if counts.forged:
        return f"{text}; {counts.forged} datagrams arrived that this key does not open"
    return text


class LinkStatus:
    """One line on the state of the link, on stderr.

    A terminal has it rewritten in place; a file gets a line now and then and at every change.
    """

    def __init__(self, rig: Rig, line: Line) -> None:
        self._rig, self._line, self._bridge = rig, line, _bridge(rig)
        self._terminal = sys.stderr.isatty()
        self._period_s = TERMINAL_STATUS_PERIOD_S if self._terminal else FILE_STATUS_PERIOD_S
        self._shown_state = ""
        self._due = 0.0  # [s], by the monotonic clock

    def show(self) -> None:
        """Write the line if it is due."""
        now, state = time.monotonic(), self.state()
        if now < self._due and state == self._shown_state:
            return
        self._due, self._shown_state = now + self._period_s, state
        text = f"{self._rig.options.side}: {state}; {self._bridge.live.summary()}"
        refused = self._line.seal.counts.refused
        text += f"; {refused} datagrams refused" if refused else ""
        self._print(text, end="" if self._terminal else "\n")

    def print(self, line: str) -> None:
        """Write a line that stays; on a terminal the status line comes again below it."""
        self._print(line, end="\n")
        self._due = 0.0

    def _print(self, text: str, end: str) -> None:
        text = f"\r{text}\x1b[K" if self._terminal else text
        print(text, end=end, file=sys.stderr, flush=True)

    def state(self) -> str:
        """What this side does."""
        end, guard, line = self._bridge.end, self._bridge.end.station.guard, self._line
        if line.refusal is not None:
            return f"refused: {line.refusal}"
        if guard.trip is not None:
            return f"stopped: {guard.trip.reason}"
        if end.endpoint.incoming.leaving:
            return f"the {end.remote.role} has left"
        if end.endpoint.incoming.tripped:
            return f"the {end.remote.role} is stopped; reset it there"
        if end.trip is not None:
            return f"parted: {end.trip.reason.partition(' for ')[0]}"
        if not line.agreed:
            return f"waiting for the {end.remote.role}"
        return "coupled" if end.engagement.gain > 0.0 else "apart"

    def close(self) -> None:
        """Leave the terminal on a new line."""
        if self._terminal:
            print(file=sys.stderr)


class TypedCommands:
    """Commands typed on stdin, a line each; never waits for them."""

    def __init__(self) -> None:
        self._open, self._rest = True, ""
        try:
            self._number = sys.stdin.fileno()
        except (AttributeError, OSError, ValueError):
            self._open = False

    def lines(self) -> list[str]:
        """What was typed since the last call."""
        if not self._open or self._in_background():
            return []
        try:
            if not select.select([self._number], [], [], 0.0)[0]:
                return []
            data = os.read(self._number, 4096)
        except (OSError, ValueError):
            data = b""
        if not data:
            self._open = False
            return []
        *lines, self._rest = (self._rest + data.decode(errors="replace")).split("\n")
        return [line.strip() for line in lines if line.strip()]

    def _in_background(self) -> bool:
        """Whether another process owns the terminal: then reading would stop this one."""
        return os.isatty(self._number) and os.getpgrp() != os.tcgetpgrp(self._number)


class SideLoop(BetweenTicks):
    """Called between two ticks: telemetry, page, status line and typed commands."""

    def __init__(
        self,
        rig: Rig,
        length: float | None,
        recording: RunRecording,
        page: ConsolePage | None,
        status: LinkStatus,
    ) -> None:
        super().__init__(rig, length, recording, page)
        self._status, self._typed, self._commands = status, TypedCommands(), rig.session.commands
        self._reported = 0  # commands carried out so far
        self._end = _bridge(rig).end
        self._apart: int | None = None  # engagement number, if nobody was coupled at the last call

    def __call__(self) -> None:
        """Do what is due."""
        super().__call__()
        self._excuse_a_pause()
        for text in self._typed.lines():
            self._post(text)
        self._report_refusals()
        self._status.show()

    def _excuse_a_pause(self) -> None:
        """Reset a trip for lateness if nobody was coupled: nothing could have jumped."""
        engagement, trip = self._end.engagement, self._end.station.guard.trip
        apart = not engagement.wanted and engagement.gain == 0.0
        if trip is not None and trip.kind == "late" and apart and self._apart == engagement.number:
            self._end.station.guard.reset()
            self._status.print(f"farhand: nobody was coupled, so this is reset: {trip.reason}")
        if trip is None or not apart:
            self._apart = engagement.number if apart else None

    def _post(self, text: str) -> None:
        name, _, rest = text.partition(" ")
        path, _, value = rest.partition("=")
        try:
            self._commands.post(name, path.strip(), value.strip() or None)
        except FarhandError as error:
            self._status.print(f"farhand: {error}")

    def _report_refusals(self) -> None:
        log, first = self._commands.log, self._reported - self._commands.forgotten
        for logged in log[max(first, 0) :]:
            if not logged.outcome.done:
                self._status.print(f"farhand: {logged.request} was {logged.outcome}")
        self._reported = self._commands.forgotten + len(log)


def _run(rig: Rig, line: Line, length: float | None, options: SideOptions) -> RunOutcome:
    session = rig.session
    with ExitStack() as stack:
        page = None
        if options.page is not None:
            page = stack.enter_context(page_for(rig, *options.page))
            text = f"{rig.name} {options.side} runs at {page.address}"
            say(text)
        if options.publish:
            served = stack.enter_context(NamedSession(f"published-{os.getpid()}"))
            served.open(rig)
            places = parse_destinations(options.publish)
            how = (places, options.publish_drive, options.publish_rate)
            stack.enter_context(publishing(rig, served.name, *how))
        recording = RunRecording(rig, options.record)
        stack.callback(recording.close)
        status = LinkStatus(rig, line)
        stack.callback(status.close)
        loop = SideLoop(rig, length, recording, page, status)
        stack.callback(loop.close)
        interrupted = stack.enter_context(stopping_on_signals(session))
        with in_real_time(session) as grants:
            began = time.perf_counter()
            session.run(length or ENDLESS_S, loop, PAGE_PERIOD_S)
            wall = time.perf_counter() - began
            _bridge(rig).leave(session.now_ns)
        loop.finish()
    seconds = time_of(session) / 1e9
    return RunOutcome(seconds, wall, bool(interrupted), recording.stopped, tuple(grants))


def _conclude(rig: Rig, line: Line, outcome: RunOutcome, options: SideOptions) -> int:
    """Write the results, print the summary, and give the exit code."""
    result = result_of_side(rig, line, outcome)
    write_json(options.json, result)
    show_side(rig, result, outcome)
    say_recording(options.record, outcome)
    invalid = any(trip["kind"] == "invalid" for trip in result["trips"])
    return 2 if invalid or outcome.unrecorded is not None else 0


def say_recording(record: Path | None, outcome: RunOutcome) -> None:
    """Print where the recording is, or why it ended before the run."""
    if outcome.unrecorded is not None:
        line = f"the recording stopped before the run: {outcome.unrecorded}"
        say_error(line)
    elif record is not None:
        say(f"recording: {record}")

"""Between the ticks of one side: its status line on stderr, and what is typed on stdin."""

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
from farhand.link.key import open_to_others, read_key
from farhand.link.line import Line, Wire
from farhand.link.seal import Seal
from farhand.link.udp import UdpWire, parse_address, written
from farhand.loop.clock import WallClock
from farhand.report.output import Bar, note, stdout, within, write_json
from farhand.report.summary import result_of_side, show_side
from farhand.rigs import Options, Rig, build_rig
from farhand.rigs.coupled import terms_of
from farhand.running.run import (
    FOREVER,
    LONGEST,
    PAGE_PERIOD,
    SHORTEST,
    BetweenTicks,
    ConsolePage,
    RunOutcome,
    RunRecording,
    check_run_files,
    in_real_time,
    page_for,
    post_commands,
    recording_of,
    setting_of,
    stopping_on_signals,
    time_of,
)

SHOWN = 0.25  # [s], between two status lines on a terminal
SAID = 2.0  # [s], between two where there is none


class Status:
    """One line on how the link does: rewritten in place on a terminal, otherwise now and then and at every change.

    Args:
        rig: one side of it.
        line: to the other side.
    """

    def __init__(self, rig: Rig, line: Line) -> None:
        self._rig, self._line = rig, line
        self._bridge: Any = rig.session.bridges[0]
        self._terminal = sys.stderr.isatty()
        self._before, self._next = "", 0.0

    def show(self) -> None:
        """Write the line if it is due."""
        now, state = time.monotonic(), self.state()
        if now < self._next and state == self._before:
            return
        self._next, self._before = now + (SHOWN if self._terminal else SAID), state
        words = f"{self._rig.options.side}: {state}; {self._bridge.live.words()}"
        refused = self._line.seal.counts.refused
        words += f"; {refused} datagrams refused" if refused else ""
        print(
            f"\r{words}\x1b[K" if self._terminal else words,
            end="" if self._terminal else "\n",
            file=sys.stderr,
        )
        sys.stderr.flush()

    def say(self, words: str) -> None:
        """Write a line that stays; on a terminal it takes the place of the status line, which comes again below."""
        print(f"\r{words}\x1b[K" if self._terminal else words, file=sys.stderr, flush=True)
        self._next = 0.0

    def state(self) -> str:
        """What this side does, in words."""
        end, guard, line = self._bridge.end, self._bridge.end.station.guard, self._line
        if line.refusal is not None:
            return f"refused: {line.refusal}"
        if guard.trip is not None:
            return f"stopped: {guard.trip.reason}"
        if end.endpoint.incoming.leaving:
            return f"the {end.remote.role} has left"
        if end.trip is not None:
            return f"parted: {end.trip.reason.partition(' for ')[0]}"
        if not line.agreed:
            return f"waiting for the {end.remote.role}"
        return "coupled" if end.engagement.gain > 0.0 else "apart"

    def close(self) -> None:
        """Leave the terminal on a new line."""
        if self._terminal:
            print(file=sys.stderr)


class Typed:
    """Commands typed on stdin, a line each; never waits for them."""

    def __init__(self) -> None:
        self._open, self._rest = True, ""
        try:
            self._number = sys.stdin.fileno()
        except (AttributeError, OSError, ValueError):
            self._open = False

    def lines(self) -> list[str]:
        """What was typed since the last call."""
        if not self._open or self._behind():
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

    def _behind(self) -> bool:
        """Whether this process is in the background of a terminal, where reading would stop it."""
        return os.isatty(self._number) and os.getpgrp() != os.tcgetpgrp(self._number)


class SideLoop(BetweenTicks):
    """Called by the session between two ticks: telemetry, page, status line, typed commands and what became of them."""

    def __init__(
        self,
        rig: Rig,
        length: float | None,
        recording: RunRecording,
        bar: Bar,
        page: ConsolePage | None,
        status: Status,
    ) -> None:
        super().__init__(rig, length, recording, bar, page)
        self._status, self._typed, self._commands = status, Typed(), rig.session.commands
        self._told = 0  # of the commands carried out so far

    def __call__(self) -> None:
        """Do what is due."""
        super().__call__()
        for text in self._typed.lines():
            self._ask(text)
        self._tell()
        self._status.show()

    def _ask(self, text: str) -> None:
        name, _, rest = text.partition(" ")
        path, _, value = rest.partition("=")
        try:
            self._commands.post(name, path.strip(), value.strip() or None)
        except FarhandError as error:
            self._status.say(f"farhand: {error}")

    def _tell(self) -> None:
        """Say at once which commands were refused, and why."""
        log, first = self._commands.log, self._told - self._commands.forgotten
        for logged in log[max(first, 0) :]:
            if logged.outcome.startswith("refused"):
                self._status.say(f"farhand: {logged.request} was {logged.outcome}")
        self._told = self._commands.forgotten + len(log)


# One side of a rig on the wall clock: meet the other side, run, show how the link does, and
# report.

GREETING = 0.1  # [s], between greetings before the run
POLL = 0.002  # [s]


def run_side(side: str, wanted: Wanted) -> int:
    """Run one side from the command line's words to its exit code.

    Args:
        side: ``"leader"`` or ``"follower"``.
        wanted: what the user asks for.
    """
    within(
        "--seconds", SHORTEST if wanted.seconds is None else wanted.seconds, SHORTEST, LONGEST, "s"
    )
    within("--patience", wanted.patience, 0.0, LONGEST, "s")
    check_run_files(wanted.json, None, wanted.record, read=[wanted.key])
    key = read_key(wanted.key)
    if open_to_others(wanted.key):
        note(
            f"others on this machine can read {wanted.key}; make it yours alone with: chmod 600 {wanted.key}"
        )
    settings = [setting_of(text) for text in wanted.settings]
    options = Options(wanted.law, wanted.layer, wanted.scenario, wanted.seed, settings=settings)
    options.clock, options.side = WallClock(), side
    with ExitStack() as stack:
        rig = build_rig(wanted.rig, options)
        stack.callback(rig.close)
        for words in rig.notes:
            note(words)
        length = _length(side, wanted, rig)
        post_commands(rig, wanted.at, length)
        line = Line(_wire(side, wanted), Seal(key, side), terms_of(rig))
        stack.callback(line.close)
        _bridge(rig).end.endpoint.connect(line, line, shared_clock=False, clock=steady_time())
        if side == "leader":
            _meet(line, wanted)
        else:
            print(f"farhand: {_where(line, wanted)}", file=sys.stderr, flush=True)
        outcome = _run(rig, line, length, wanted)
        return _conclude(rig, line, outcome, wanted)


def steady_time() -> Callable[[], int]:
    """Tells the time of day, [ns], as it was at the start and goes on evenly: setting the clock does not move it."""
    ahead_ns = time.time_ns() - time.monotonic_ns()
    return lambda: time.monotonic_ns() + ahead_ns


def _bridge(rig: Rig) -> Any:
    return rig.session.bridges[0]


def _length(side: str, wanted: Wanted, rig: Rig) -> float | None:
    """How long it runs, [s]: a headless leader for its scenario, everything else until Ctrl-C."""
    if wanted.seconds is None and wanted.page is None and side == "leader":
        return rig.scenario.seconds
    return wanted.seconds


def _wire(side: str, wanted: Wanted) -> Wire:
    """What carries the datagrams, as the user wants it."""
    place, flag = (wanted.connect, "--connect") if side == "leader" else (wanted.listen, "--listen")
    if wanted.transport == "udp":
        if place is None:
            raise BadValue(
                f"farhand {side} needs {flag} HOST:PORT, such as {flag} 192.168.1.20:7400"
            )
        if side == "follower" and wanted.connect is not None:
            raise BadValue(
                "--connect of a follower is for a Zenoh router; over UDP a follower listens"
            )
        if side == "leader" and wanted.listen is not None:
            raise BadValue("--listen of a leader is for Zenoh; over UDP a leader connects")
        address = parse_address(place, flag)
        if side == "leader" and address[1] == 0:
            raise BadValue(
                f"{flag} {place!r}: nobody can be reached at port 0; name the follower's, such as 7400"
            )
        return UdpWire(connect=address) if side == "leader" else UdpWire(listen=address)
    from farhand.link.zenoh import ZenohWire

    if wanted.listen is None and wanted.connect is None and wanted.zenoh_config is None:
        raise BadValue(
            f"farhand {side} over Zenoh needs {flag} HOST:PORT, --connect ROUTER or --zenoh-config"
        )
    return ZenohWire(side, wanted.listen, wanted.connect, wanted.zenoh_config, wanted.link_name)


def _where(line: Line, wanted: Wanted) -> str:
    if isinstance(line.wire, UdpWire):
        return f"follower of {wanted.rig} listens at {written(*line.wire.address)} for a leader with the key"
    return f"follower of {wanted.rig} waits on Zenoh for a leader with the key"


def _meet(line: Line, wanted: Wanted) -> None:
    """Wait until the follower answers and agrees.

    Raises:
        Mismatch: it runs something else.
        LinkError: nobody with the key answers.
    """
    began, greeted = time.monotonic(), -1.0
    while not line.agreed:
        now = time.monotonic() - began
        if line.refusal is not None:
            line.greet()  # so that the follower can say why as well
            raise Mismatch(f"the follower is refused: {line.refusal}")
        if now > wanted.patience:
            raise LinkError(_no_answer(line, wanted))
        if now - greeted > GREETING:
            line.greet()
            greeted = now
        line.receive(time.monotonic_ns())
        time.sleep(POLL)


def _no_answer(line: Line, wanted: Wanted) -> str:
    counts, where = line.seal.counts, wanted.connect or "the Zenoh network"
    words = f"no follower with this key answers at {where} within {wanted.patience:g} s"
    if counts.reflected:
        return f"{words}; another leader with this key does"
    return (
        f"{words}; {counts.forged} datagrams came that this key does not open"
        if counts.forged
        else words
    )


def _run(rig: Rig, line: Line, length: float | None, wanted: Wanted) -> RunOutcome:
    """Run to the end, with the page if there is one."""
    session = rig.session
    with ExitStack() as stack:
        page = None
        if wanted.page is not None:
            page = page_for(rig, *wanted.page)
            stack.callback(page.close)
            stdout().print(
                f"{rig.name} {rig.options.side} runs at [bold]{page.address}[/bold]", soft_wrap=True
            )
        recording = recording_of(rig, wanted.record)
        stack.callback(recording.close)
        status = Status(rig, line)
        stack.callback(status.close)
        desk = SideLoop(rig, length, recording, Bar(f"running {rig.name}"), page, status)
        stack.callback(desk.close)
        interrupted = stack.enter_context(stopping_on_signals(session))
        with in_real_time(session) as grants:
            began = time.perf_counter()
            session.run(length or FOREVER, desk, PAGE_PERIOD)
            wall = time.perf_counter() - began
            _bridge(rig).leave(session.now_ns)
        desk.pull()
    unrecorded = recording.stopped or _missing(wanted.record)
    return RunOutcome(time_of(session) / 1e9, wall, bool(interrupted), unrecorded, tuple(grants))


def _conclude(rig: Rig, line: Line, outcome: RunOutcome, wanted: Wanted) -> int:
    """Write the results, print the summary, and give the exit code."""
    result = result_of_side(rig, line, outcome)
    write_json(wanted.json, result)
    show_side(rig, result, outcome)
    _say_recording(wanted.record, outcome)
    invalid = any(trip["kind"] == "invalid" for trip in result["trips"])
    return 2 if invalid or outcome.unrecorded is not None else 0


def _missing(record: Path | None) -> str | None:
    """Why there is no recording where one was written: its writer goes on in a file that somebody removes."""
    return (
        None if record is None or record.exists() else f"{record} was removed while it was written"
    )


def _say_recording(record: Path | None, outcome: RunOutcome) -> None:
    if record is not None and outcome.unrecorded is None:
        stdout().print(f"recording: {record}", soft_wrap=True)
    elif outcome.unrecorded is not None:
        print(
            f"farhand: the recording stopped before the run: {outcome.unrecorded}", file=sys.stderr
        )


@dataclass
class Wanted:
    """Everything a user asks of one side.

    Attributes:
        page: host and port of its page; None for no page.
    """

    rig: str
    key: Path
    transport: str
    listen: str | None
    connect: str | None
    law: str | None
    layer: str
    scenario: str | None
    seconds: float | None
    record: Path | None
    json: Path | None
    seed: int
    page: tuple[str, int] | None = None
    settings: list[str] = field(default_factory=list)
    at: list[str] = field(default_factory=list)
    patience: float = 10.0
    link_name: str = "link"
    zenoh_config: Path | None = None

"""One side of a rig on the wall clock: meet the other side, run, show how the link does, and report."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from farhand.cli.desk import Desk, Status
from farhand.cli.output import Bar, note, stdout, within, write_json
from farhand.cli.run import LONGEST, SHORTEST, check_run_files, post_commands, setting_of
from farhand.cli.running import (
    FOREVER,
    PAGE_PERIOD,
    Outcome,
    in_real_time,
    page_for,
    recording_of,
    stopping_on_signals,
    time_of,
)
from farhand.cli.sidesummary import result_of_side, show_side
from farhand.cli.sideways import Wanted
from farhand.clock import WallClock
from farhand.errors import BadValue, LinkError, Mismatch
from farhand.link.key import open_to_others, read_key
from farhand.link.line import Line, Wire
from farhand.link.seal import Seal
from farhand.link.udp import UdpWire, parse_address, written
from farhand.rigs import Options, Rig, build_rig
from farhand.rigs.one_side import terms_of

GREETING = 0.1  # [s], between greetings before the run
POLL = 0.002  # [s]


def run_side(side: str, wanted: Wanted) -> int:
    """Run one side from the command line's words to its exit code.

    Args:
        side: ``"leader"`` or ``"follower"``.
        wanted: what the user asks for.
    """
    within("--seconds", SHORTEST if wanted.seconds is None else wanted.seconds, SHORTEST, LONGEST, "s")
    within("--patience", wanted.patience, 0.0, LONGEST, "s")
    check_run_files(wanted.json, None, wanted.record, read=[wanted.key])
    key = read_key(wanted.key)
    if open_to_others(wanted.key):
        note(f"others on this machine can read {wanted.key}; make it yours alone with: chmod 600 {wanted.key}")
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
            raise BadValue(f"farhand {side} needs {flag} HOST:PORT, such as {flag} 192.168.1.20:7400")
        if side == "follower" and wanted.connect is not None:
            raise BadValue("--connect of a follower is for a Zenoh router; over UDP a follower listens")
        if side == "leader" and wanted.listen is not None:
            raise BadValue("--listen of a leader is for Zenoh; over UDP a leader connects")
        address = parse_address(place, flag)
        if side == "leader" and address[1] == 0:
            raise BadValue(f"{flag} {place!r}: nobody can be reached at port 0; name the follower's, such as 7400")
        return UdpWire(connect=address) if side == "leader" else UdpWire(listen=address)
    from farhand.link.zenoh import ZenohWire

    if wanted.listen is None and wanted.connect is None and wanted.zenoh_config is None:
        raise BadValue(f"farhand {side} over Zenoh needs {flag} HOST:PORT, --connect ROUTER or --zenoh-config")
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
    return f"{words}; {counts.forged} datagrams came that this key does not open" if counts.forged else words


def _run(rig: Rig, line: Line, length: float | None, wanted: Wanted) -> Outcome:
    """Run to the end, with the page if there is one."""
    session = rig.session
    with ExitStack() as stack:
        page = None
        if wanted.page is not None:
            page = page_for(rig, *wanted.page)
            stack.callback(page.close)
            stdout().print(f"{rig.name} {rig.options.side} runs at [bold]{page.address}[/bold]", soft_wrap=True)
        recording = recording_of(rig, wanted.record)
        stack.callback(recording.close)
        status = Status(rig, line)
        stack.callback(status.close)
        desk = Desk(rig, length, recording, Bar(f"running {rig.name}"), page, status)
        stack.callback(desk.close)
        interrupted = stack.enter_context(stopping_on_signals(session))
        with in_real_time(session) as grants:
            began = time.perf_counter()
            session.run(length or FOREVER, desk, PAGE_PERIOD)
            wall = time.perf_counter() - began
            _bridge(rig).leave(session.now_ns)
        desk.pull()
    unrecorded = recording.stopped or _missing(wanted.record)
    return Outcome(time_of(session) / 1e9, wall, bool(interrupted), unrecorded, tuple(grants))


def _conclude(rig: Rig, line: Line, outcome: Outcome, wanted: Wanted) -> int:
    """Write the results, print the summary, and give the exit code."""
    result = result_of_side(rig, line, outcome)
    write_json(wanted.json, result)
    show_side(rig, result, outcome)
    _say_recording(wanted.record, outcome)
    invalid = any(trip["kind"] == "invalid" for trip in result["trips"])
    return 2 if invalid or outcome.unrecorded is not None else 0


def _missing(record: Path | None) -> str | None:
    """Why there is no recording where one was written: its writer goes on in a file that somebody removes."""
    return None if record is None or record.exists() else f"{record} was removed while it was written"


def _say_recording(record: Path | None, outcome: Outcome) -> None:
    if record is not None and outcome.unrecorded is None:
        stdout().print(f"recording: {record}", soft_wrap=True)
    elif outcome.unrecorded is not None:
        print(f"farhand: the recording stopped before the run: {outcome.unrecorded}", file=sys.stderr)

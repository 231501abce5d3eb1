"""Running a rig to its end: what happens between the ticks, real time, and an orderly end."""

from __future__ import annotations

import gc
import multiprocessing
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Protocol

from farhand.loop.session import Session
from farhand.realtime import Grant, real_time
from farhand.report.output import Bar, say_error
from farhand.rigs import Rig
from farhand.running.recorder import RunRecording

PERIOD_S = 0.25  # between two looks at the telemetry
HANDOVER_TIMEOUT_S = 60.0  # for the metrics to come back

ENDLESS_S = 1e9
TELEMETRY_PERIOD_S = 0.5  # between two looks at the telemetry
PAGE_PERIOD_S = 0.02  # between two looks at the page's clicks
SAME_INTERRUPT_S = 1.0
"""Interrupts within this time count as one: some senders, such as ``timeout``, signal a process and
then its group."""


class Listener:
    """Reads the telemetry while a rig's loop runs, and hands the metrics back at the end.

    The other process is a copy of this one, made before the loop starts, so it has the rig's
    metrics. It ends with this process in any case.

    Args:
        rig: about to run; its metrics must not be pulled until :meth:`close`.
        length: how long, [s], for the progress bar; None for no bar.
    """

    def __init__(self, rig: Rig, length: float | None) -> None:
        context = multiprocessing.get_context("fork")
        self._rig = rig
        self._line, theirs = context.Pipe()
        arguments = (rig, length, theirs, self._line)
        self._process = context.Process(target=_listen, args=arguments, daemon=True)
        self._process.name = "farhand-listener"
        self._process.start()
        theirs.close()

    def close(self) -> None:
        """Take over what the other process has gathered; a second call does nothing."""
        if self._line.closed:
            return
        with suppress(EOFError, OSError):
            self._line.send(None)
            if self._line.poll(HANDOVER_TIMEOUT_S):
                self._rig.metrics.restore(self._line.recv())
        self._line.close()
        self._process.join(HANDOVER_TIMEOUT_S)
        if self._process.is_alive():
            self._process.kill()


def can_listen() -> bool:
    """Whether this process can have a copy of itself."""
    forks = "fork" in multiprocessing.get_all_start_methods()
    return forks and not multiprocessing.current_process().daemon


def _listen(rig: Rig, length: float | None, line: Connection, parents: Connection) -> None:
    # So that the end of the other process is the end of the line
    parents.close()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    bar = Bar(f"running {rig.name}")
    with suppress(EOFError, OSError):
        while not line.poll(PERIOD_S):
            rig.metrics.pull()
            if length is not None:
                bar.update(rig.metrics.history.latest / length)
        line.recv()
        rig.metrics.pull()
        bar.close()
        line.send(rig.metrics.state())


class ConsolePage(Protocol):
    """The console page, as far as a run needs it."""

    address: str

    @property
    def alive(self) -> bool:
        """Whether the page is still served."""

    def poll(self) -> object:
        """Hand the clicks made since the last call to the session's commands."""

    def close(self) -> None:
        """Stop serving."""


@dataclass(frozen=True)
class RunOutcome:
    """How a run went."""

    seconds: float  # how long it ran, in its own time, [s]
    wall: float  # how long that took, [s]
    interrupted: bool  # whether Ctrl-C or a signal ended it
    unrecorded: str | None = None  # why the recording ended before the run did, or None
    # what the operating system granted the loop, and what not; empty in virtual time
    grants: tuple[Grant, ...] = ()


def drive(
    rig: Rig, length: float | None, record: Path | None = None, *, core: int | None = None
) -> RunOutcome:
    """Run a rig without a page to its end, and collect its telemetry.

    On the wall clock the loop has this process to itself: recording, metrics and progress run in
    others.

    Args:
        rig: ready to run.
        length: how long, [s]; None to run until it is interrupted.
        record: the file to record to.
        core: that a loop on the wall clock stays on; any by default.
    """
    session = rig.session
    with ExitStack() as stack:
        recording = RunRecording(rig, record)
        stack.callback(recording.close)
        between = BetweenTicks(rig, length, recording)
        stack.callback(between.close)
        interrupted = stack.enter_context(stopping_on_signals(session))
        with in_real_time(session, core) as grants:
            began = time.perf_counter()
            session.run(length or ENDLESS_S, between, TELEMETRY_PERIOD_S)
            wall = time.perf_counter() - began
        between.finish()
    seconds = time_of(session) / 1e9
    return RunOutcome(seconds, wall, bool(interrupted), recording.stopped, tuple(grants))


def faults_of(rig: Rig, outcome: RunOutcome) -> list[str]:
    """What makes a run worthless: a stop because a value is not a number, or a lost recording.

    Any other stop is a result like others, and the exit code stays 0.
    """
    invalid = [record for record in rig.session.trips if record.trip.kind == "invalid"]
    lines = [
        f"{record.where} stopped at {1e-9 * record.trip.time_ns:g} s: {record.trip.reason}"
        for record in invalid[:1]
    ]
    if outcome.unrecorded is not None:
        lines.append(f"the recording stopped before the run: {outcome.unrecorded}")
    return lines


@contextmanager
def in_real_time(session: Session, core: int | None = None) -> Iterator[list[Grant]]:
    """The privileges of a real-time loop, as far as granted; none in virtual time."""
    if session.clock.name == "virtual":
        yield []
        return
    with real_time(core) as grants:
        yield grants


class BetweenTicks:
    """Called by the session between two ticks: the page at every call, telemetry more rarely.

    On the wall clock a :class:`Listener` looks at the telemetry instead, in another process.
    """

    def __init__(
        self,
        rig: Rig,
        length: float | None,
        recording: RunRecording,
        page: ConsolePage | None = None,
    ) -> None:
        self._rig, self._length = rig, length
        self._recording, self._page = recording, page
        self._bar = Bar(f"running {rig.name}")
        self._due_ns = 0
        apart = rig.session.clock.name == "wall" and can_listen()
        self._listener = Listener(rig, length) if apart else None

    def __call__(self) -> None:
        """Do what is due."""
        if self._page is not None:
            self._page.poll()
        now_ns = time_of(self._rig.session)
        if now_ns < self._due_ns:
            return
        self._due_ns = now_ns + round(TELEMETRY_PERIOD_S * 1e9)
        self._recording.pump()
        self._check_page(now_ns)
        if self._listener is not None:
            # Takes microseconds: the collector itself is off, and a page may be open for weeks
            gc.collect(0)
            return
        self._rig.metrics.pull()
        if self._length is not None:
            self._bar.update(now_ns * 1e-9 / self._length)

    def _check_page(self, now_ns: int) -> None:
        """Report once, on the terminal and in the recording, that the page has ended."""
        if self._page is not None and not self._page.alive:
            self._page = None
            self._rig.session.telemetry.event(now_ns, "the page has ended; the run goes on")
            say_error("the page has ended; the run goes on, Ctrl-C ends it")

    def finish(self) -> None:
        """Take in the rest of the telemetry when the run is over."""
        self.close()
        self._rig.metrics.pull()
        self._recording.pump()

    def close(self) -> None:
        """Take over what the listener has gathered, and remove the progress bar."""
        self._bar.close()
        if self._listener is not None:
            self._listener.close()
            self._listener = None


def time_of(session: Session) -> int:
    """How far a session has got, [ns]: to its next tick, or to its end if that comes first."""
    return min(session.now_ns, *(part.next_ns for part in session.parts))


@contextmanager
def stopping_on_signals(session: Session) -> Iterator[list[int]]:
    """Let Ctrl-C and SIGTERM end the session after the present tick; gives the signals received.

    Ctrl-C again, a second later, raises :class:`KeyboardInterrupt`.
    """
    received: list[int] = []
    second_press_s = 0.0  # by the monotonic clock

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal second_press_s
        if not received:
            second_press_s = time.monotonic() + SAME_INTERRUPT_S
        elif number == signal.SIGINT and time.monotonic() > second_press_s:
            raise KeyboardInterrupt
        received.append(number)
        session.finish()

    # Python lets only the main thread handle signals
    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

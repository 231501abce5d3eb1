"""What happens around the ticks of a run: metrics, recording, progress, the page, and an orderly end."""

from __future__ import annotations

import gc
import multiprocessing
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Protocol

from farhand.errors import BadValue, FileError, UnknownName
from farhand.loop.interrupts import ignoring_interrupts
from farhand.loop.latch import Latch
from farhand.loop.session import Session
from farhand.realtime import Grant, real_time
from farhand.recording.destination import part_of
from farhand.recording.recorder import BROKEN, About, record_process
from farhand.report.output import Bar, check_files, check_folder
from farhand.rigs import Rig
from farhand.running.listener import Listener, can_listen
from farhand.running.rerun import about

if TYPE_CHECKING:
    from farhand.rigs import Rig

FOREVER = 1e9  # [s]
PULL_PERIOD = 0.5  # [s], between two looks at the telemetry
PAGE_PERIOD = 0.02  # [s], between two looks at the page's clicks
ONE_PRESS = 1.0
"""Interrupts within this time are one: some senders, such as ``timeout``, signal a process and then
its group, [s]."""

# Share of the telemetry ring that a recorder may be behind before virtual time waits for it
LAG = 0.05
RECORDER_TIMEOUT_S = 60.0  # [s], for the recorder's process to start or to finish


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
    """How a run went.

    Attributes:
        seconds: how long it ran, in its own time, [s].
        wall: how long that took, [s].
        interrupted: whether Ctrl-C or a signal ended it.
        unrecorded: why the recording ended before the run did, or None.
        grants: what the operating system granted the loop, and what not; empty in virtual time.
    """

    seconds: float
    wall: float
    interrupted: bool
    unrecorded: str | None = None
    grants: tuple[Grant, ...] = ()


class RunRecording(Protocol):
    """Something that moves telemetry to a file while a run goes on.

    Attributes:
        stopped: why it ended before the run did, or None.
    """

    stopped: str | None

    def pump(self) -> None:
        """Write what is new."""

    def close(self) -> None:
        """Finish the file."""


class NoRecording:
    """Nothing is recorded."""

    stopped: str | None = None

    def pump(self) -> None:
        """Write nothing."""

    def close(self) -> None:
        """Nothing to finish."""


class RecordingProcess:
    """Recording in a process of its own, so that the ticks never wait for the disk.

    In virtual time, which stands still between two ticks, the run waits there for a recorder that
    falls behind, so that nothing is lost. On the wall clock it does not wait: what is lost is
    counted, and the file says so.

    Args:
        session: what runs.
        path: the file.
        about: what the file should say of the run.
    """

    def __init__(self, session: Session, path: Path, about: About | None = None) -> None:
        context = multiprocessing.get_context("spawn")
        self._session, self._path, self._stop = session, path, Latch(context)
        self._taken = context.RawArray("q", len(session.telemetry.names))
        self._word, word = context.Pipe(duplex=False)
        self._virtual = session.clock.name == "virtual"
        arguments = (
            session.telemetry.path,
            path,
            self._stop,
            about,
            self._taken,
            word,
            self._virtual,
        )
        self._process = context.Process(target=record_process, args=arguments, daemon=False)
        self.stopped: str | None = None
        # inherited: Ctrl-C ends the run, and the run ends the recording
        with ignoring_interrupts():
            self._process.start()
        word.close()
        if not self._virtual:
            self._await_start()

    def pump(self) -> None:
        """Notice whether the recording has stopped; in virtual time, let it catch up."""
        self._listen()
        while (
            self._virtual
            and self.stopped is None
            and self._session.telemetry.backlog(self._taken) > LAG
        ):
            time.sleep(0.0005)
            self._listen()

    def close(self) -> None:
        """Let the other process write the rest and finish; an error on its way out of the run is told."""
        self._stop.set(BROKEN if sys.exc_info()[0] is not None else 1)
        self._process.join(RECORDER_TIMEOUT_S)
        self._process.kill()  # does nothing to one that has ended
        self._process.join()
        self._listen()
        self._word.close()

    def _listen(self) -> None:
        """Take the recorder's word for why it stopped, or its silent end, and make an event of it."""
        if self.stopped is not None or (self._process.is_alive() and not self._word.poll()):
            return
        try:
            self.stopped = str(self._word.recv())
        except (EOFError, OSError):
            if not self._process.exitcode:
                return  # in order, or not known yet
            self.stopped = "the recorder's process has ended; what it wrote can be read"
        self._session.telemetry.event(self._session.now_ns, f"recording stopped: {self.stopped}")

    def _await_start(self) -> None:
        deadline = time.monotonic() + RECORDER_TIMEOUT_S
        while not (part_of(self._path).exists() or self._path.exists()):
            if not self._process.is_alive() or time.monotonic() > deadline:
                self._process.kill()
                self._listen()
                raise FileError(
                    f"cannot record to {self._path}: {self.stopped or 'the recorder did not start'}"
                )
            time.sleep(0.01)


def page_for(rig: Rig, host: str, port: int) -> ConsolePage:
    """Serve the console page of a rig."""
    from farhand.console.scene import scene_of
    from farhand.console.serve import serve

    return serve(rig.session.telemetry.path, scene_of(rig), host, port, rig.session.commands)


def drive(
    rig: Rig,
    length: float | None,
    record: Path | None = None,
    page: ConsolePage | None = None,
    core: int | None = None,
) -> RunOutcome:
    """Run a rig to its end and take in everything it says.

    On the wall clock the loop has this process for itself: recording, metrics and progress are in
    others.

    Args:
        rig: ready to run.
        length: how long, [s]; until it is interrupted if not given.
        record: where the recording goes.
        page: whose clicks to pass on.
        core: that a loop on the wall clock stays on; any by default.
    """
    session = rig.session
    with ExitStack() as stack:
        recording = recording_of(rig, record)
        stack.callback(recording.close)
        bar = Bar(f"running {rig.name}")
        stack.callback(bar.close)
        between = BetweenTicks(rig, length, recording, bar, page)
        stack.callback(between.close)
        interrupted = stack.enter_context(stopping_on_signals(session))
        with in_real_time(session, core) as grants:
            began = time.perf_counter()
            session.run(length or FOREVER, between, PULL_PERIOD if page is None else PAGE_PERIOD)
            wall = time.perf_counter() - began
        between.pull()
    return RunOutcome(
        time_of(session) / 1e9, wall, bool(interrupted), recording.stopped, tuple(grants)
    )


@contextmanager
def in_real_time(session: Session, core: int | None = None) -> Iterator[list[Grant]]:
    """On the wall clock, the privileges of a real-time loop as far as granted; nothing in virtual time."""
    if session.clock.name == "virtual":
        yield []
        return
    with real_time(core) as grants:
        yield grants


class BetweenTicks:
    """Called by the session between two ticks; looks at the page every time, at the telemetry more rarely.

    On the wall clock a :class:`Listener` looks at the telemetry instead, in another process.
    """

    def __init__(
        self,
        rig: Rig,
        length: float | None,
        recording: RunRecording,
        bar: Bar,
        page: ConsolePage | None = None,
    ) -> None:
        self._rig, self._length, self._recording, self._bar, self._page = (
            rig,
            length,
            recording,
            bar,
            page,
        )
        self._due_ns = 0
        apart = rig.session.clock.name == "wall" and can_listen()
        self._listener = Listener(rig, length) if apart else None

    def __call__(self) -> None:
        """Do what is due."""
        if self._page is not None:
            self._page.poll()
        now_ns = time_of(self._rig.session)
        if now_ns >= self._due_ns:
            self._due_ns = now_ns + round(PULL_PERIOD * 1e9)
            self._recording.pump()
            self._miss_page(now_ns)
            if self._listener is not None:
                gc.collect(
                    0
                    # Some microseconds: the collector itself is off, and a page may be open for weeks
                )
            else:
                self._rig.metrics.pull()
                if self._length is not None:
                    self._bar.update(now_ns * 1e-9 / self._length)

    def _miss_page(self, now_ns: int) -> None:
        """Say once, on the terminal and in the recording, that the page's process has ended."""
        if self._page is not None and not self._page.alive:
            self._page = None
            self._rig.session.telemetry.event(now_ns, "the page has ended; the run goes on")
            print("farhand: the page has ended; the run goes on, Ctrl-C ends it", file=sys.stderr)

    def pull(self) -> None:
        """Take in all that the telemetry has; for when the run is over."""
        self.close()
        self._rig.metrics.pull()
        self._recording.pump()

    def close(self) -> None:
        """Take over what was listened to elsewhere."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None


def time_of(session: Session) -> int:
    """How far the session has got, [ns]: to its next tick, or to its end where that comes first."""
    return min(session.now_ns, *(part.next_ns for part in session.parts))


def recording_of(rig: Rig, path: Path | None) -> RunRecording:
    """What records a rig to a file, or nothing."""
    return NoRecording() if path is None else RecordingProcess(rig.session, path, about(rig))


@contextmanager
def stopping_on_signals(session: Session) -> Iterator[list[int]]:
    """Ctrl-C and SIGTERM make the session return after the present tick; Ctrl-C a second later leaves all as it is."""
    received: list[int] = []
    impatient = 0.0  # [s], by the monotonic clock

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal impatient
        if not received:
            impatient = time.monotonic() + ONE_PRESS
        elif number == signal.SIGINT and time.monotonic() > impatient:
            raise KeyboardInterrupt
        received.append(number)
        session.finish()

    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


LONGEST = 1e6  # [s]


SHORTEST = 1e-3  # [s]


def check_run_files(
    json: Path | None, report: Path | None, record: Path | None, read: Iterable[Path] = ()
) -> None:
    """Refuse, before the run, files that could not be written after it, or where something else is read or written."""
    check_folder(report)
    taken = [*read] if report is None else [*read, report, report / "index.html"]
    if record is not None:
        from farhand.recording.destination import check_destination, part_of

        check_destination(record)
        taken.append(part_of(record))
    check_files(record, json, read=taken)


def setting_of(text: str, flag: str = "--set") -> tuple[str, object]:
    """Path and value of a setting as it stands on the command line."""
    path, equals, value = text.partition("=")
    if not equals or not path.strip():
        raise BadValue(
            f"{flag} {text!r} is not of the form PATH=VALUE, such as wall.stiffness=3000"
        )
    return path.strip(), value.strip()


def post_commands(rig: Rig, texts: list[str], length: float | None) -> None:
    """Post the commands of ``--at`` after checking what can be checked before the run."""
    from farhand.parameters import describe

    for text in texts:
        when, colon, what = text.partition(":")
        if not colon:
            raise BadValue(f"--at {text!r} is not of the form SECONDS:COMMAND, such as 7:stop")
        rig.session.commands.post_text(text)
        if not 0.0 <= float(when) < (length or LONGEST):
            raise BadValue(
                f"--at {text!r} is not within the run, which goes from 0 to {length or LONGEST:g} s"
            )
        name, _, rest = what.strip().partition(" ")
        if name == "set":
            path, _ = setting_of(rest, f"--at {when}:set")
            known = [known for known, *_ in describe(rig.session.parameters)]
            if path not in known:
                raise UnknownName("parameter", path, known)

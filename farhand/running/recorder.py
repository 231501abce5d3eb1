"""Recording a run in a process of its own, so that the ticks never wait for the disk."""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from farhand.errors import BadValue, FileError
from farhand.loop.commands import Logged
from farhand.loop.interrupts import ignoring_interrupts
from farhand.loop.latch import Latch
from farhand.loop.session import Session
from farhand.recording.destination import check_destination, part_of
from farhand.recording.recorder import BROKEN, RecordOrder, RingEvent, record_orders
from farhand.rigs import Rig
from farhand.running.rerun import about

MAX_BACKLOG = 0.05
"""Share of the telemetry ring that virtual time lets the recorder fall behind before it waits."""

RECORDER_TIMEOUT_S = 60.0  # for the process to start, or to finish a file


class RecorderProcess:
    """A process that stands ready and records one file after another.

    Args:
        streams: number of streams of the run, to count in :attr:`taken`; 0 if nobody waits.
    """

    def __init__(self, streams: int = 0) -> None:
        context = multiprocessing.get_context("spawn")
        orders, self._orders = context.Pipe(duplex=False)
        self._reports, reports = context.Pipe(duplex=False)
        self._stop = Latch(context)
        #: how many records of each stream the process has taken
        self.taken = context.RawArray("q", streams) if streams else None
        arguments = (orders, reports, self._stop, self.taken)
        self._process = context.Process(
            target=record_orders, args=arguments, name="farhand-recorder"
        )
        # The process inherits this: Ctrl-C ends the run, and the run ends the recording
        with ignoring_interrupts():
            self._process.start()
        orders.close()
        reports.close()
        self.path: Path | None = None  #: the file that is being recorded, or None

    @property
    def alive(self) -> bool:
        """Whether the process is there."""
        return self._process.is_alive()

    def describe(self, rig: Rig) -> None:
        """Hand over what the files should say about a rig; slow, so call it before the run."""
        # If the process has ended, the first recording is refused
        with suppress(OSError):
            self._orders.send(about(rig))

    def begin(
        self, session: Session, path: Path, earlier: Sequence[RingEvent] = (), hurry: bool = False
    ) -> None:
        """Record a session.

        Args:
            session: that runs.
            path: the file.
            earlier: events from before the recording.
            hurry: the run waits for the recorder, as in virtual time.
        """
        self._stop.clear()
        try:
            self._orders.send(RecordOrder(session.telemetry.path, path, tuple(earlier), hurry))
        except OSError:
            hint = "end this run and start it again to record"
            raise FileError(f"the recorder's process has ended; {hint}") from None
        self.path = path

    def end(self) -> None:
        """Finish the file; it is whole a moment later."""
        self.path = None
        self._stop.set()

    def failure(self) -> str | None:
        """Why a recording broke off, if one did since the last call."""
        if self.alive and not self._reports.poll():
            return None
        try:
            reason = str(self._reports.recv())
        except (EOFError, OSError):
            # The process ended: in order, or while it recorded
            if self.path is None or not self._process.exitcode:
                return None
            reason = f"the recorder's process has ended; what is in {self.path} can be read"
        self.path = None
        return reason

    def close(self) -> None:
        """Finish the file and end the process; the file says if an error ends the run."""
        self._stop.set(BROKEN if sys.exc_info()[0] is not None else 1)
        self._orders.close()
        self._process.join(RECORDER_TIMEOUT_S)
        self._process.kill()
        self._process.join()


class RunRecording:
    """The recording of a whole run.

    Virtual time stands still between two ticks: there the run waits for a recorder that falls
    behind, and nothing is lost. The wall clock does not wait: the file says what was lost.

    Args:
        rig: ready to run.
        path: the file; None to record nothing.
    """

    def __init__(self, rig: Rig, path: Path | None) -> None:
        self._session = rig.session
        self._virtual = rig.session.clock.name == "virtual"
        self.stopped: str | None = None  #: why it ended before the run did, or None
        self._process: RecorderProcess | None = None
        self._path, self._begun = path, self._virtual
        if path is None:
            return
        self._process = RecorderProcess(len(rig.session.telemetry.names))
        self._process.describe(rig)
        self._process.begin(rig.session, path, hurry=self._virtual)
        if not self._virtual:
            self._await_start(self._process, path)
            self._begun = True

    def pump(self) -> None:
        """Notice whether the recording has stopped; in virtual time, let it catch up."""
        self._check()
        while (
            self._virtual
            and self._process is not None
            and self.stopped is None
            and self._session.telemetry.backlog(self._process.taken or ()) > MAX_BACKLOG
        ):
            time.sleep(0.0005)
            self._check()

    def close(self) -> None:
        """Finish the file."""
        if self._process is not None:
            self._process.close()
            self._check()
            self._process = None
            # The recorder goes on writing to a file that somebody removes
            if self._begun and self.stopped is None and self._path and not self._path.exists():
                self.stopped = f"{self._path} was removed while it was written"

    def _check(self) -> None:
        if self._process is None or self.stopped is not None:
            return
        self.stopped = self._process.failure()
        if self.stopped is not None:
            now_ns = self._session.now_ns
            self._session.telemetry.event(now_ns, f"recording stopped: {self.stopped}")

    def _await_start(self, process: RecorderProcess, path: Path) -> None:
        deadline = time.monotonic() + RECORDER_TIMEOUT_S
        while not (part_of(path).exists() or path.exists()):
            self._check()
            if self.stopped or not process.alive or time.monotonic() > deadline:
                self.close()
                reason = self.stopped or "the recorder did not start"
                raise FileError(f"cannot record to {path}: {reason}")
            time.sleep(0.01)


def begin_on_request(recorder: RecorderProcess, session: Session, name: str) -> None:
    """Record a session to a file in the working folder, as asked for on the page.

    The recording begins with what the telemetry ring still holds, some seconds, and with every
    command given before, so that ``farhand replay --rerun`` starts where the run started.

    Raises:
        BadValue: a recording is going on, or the name is not one of a new file in this folder.
        FileError: the file cannot be written, or the recorder's process has ended.
    """
    path = Path(name)
    if recorder.path is not None:
        raise BadValue(f"{recorder.path} is being recorded; stop that first")
    if path.name != name or path.suffix != ".mcap" or not path.stem:
        raise BadValue(f"{name!r} is not a file name without a folder, such as run.mcap")
    if path.exists():
        raise BadValue(f"{name} exists already; choose another name")
    check_destination(path)
    recorder.begin(session, path, commands_of(session))


def commands_of(session: Session) -> list[RingEvent]:
    """Every command that a session has carried out, as its telemetry reports them.

    If the session no longer remembers its first ones, the list says so, and a re-run of the
    recording is refused.
    """
    commands = session.commands
    events: list[RingEvent] = [
        (c.time_ns, f"{c.request}: {c.outcome}", command_record(c)) for c in commands.log
    ]
    if commands.forgotten:
        why = (
            f"as {commands.forgotten} were given before those that were remembered when "
            "recording began"
        )
        data = {"kind": "command", "cut": True, "why": why}
        events.insert(0, (0, f"commands are missing, {why}", data))
    return events


def command_record(command: Logged) -> dict[str, Any]:
    """What an event says about a command, for programs."""
    request = command.request
    return {
        "kind": "command",
        "tick": command.tick,
        "name": request.name,
        "path": request.path,
        "value": request.value,
        "outcome": str(command.outcome),
        "done": command.outcome.done,
    }

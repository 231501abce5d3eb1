"""Metrics and progress of a run on the wall clock, in a process beside the loop's."""

from __future__ import annotations

import multiprocessing
import signal
from contextlib import suppress
from multiprocessing.connection import Connection

from farhand.report.output import Bar
from farhand.rigs import Rig

PERIOD_S = 0.25  # between two looks at the telemetry
HANDOVER_TIMEOUT_S = 60.0  # for the metrics to come back


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

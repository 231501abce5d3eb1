"""Workers: real threads in wall time that exchange only the latest value, and how evenly they ran.

For a slow bus or a simulation beside the tick: the worker publishes, the tick reads what is there
and never waits.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import numpy as np

from farhand.plants.plant import Command, JointTorque, Plant, Sample

Array = np.ndarray

TIMES_KEPT = 1 << 16

PRIORITY = 70
"""Of threads that talk to a device, under SCHED_FIFO: below that of the tick."""


@contextmanager
def urgent() -> Iterator[None]:
    """Threads that begin here, and this one for as long, run before other programs, where that is permitted."""
    if not hasattr(os, "SCHED_FIFO"):
        yield
        return
    policy, given = os.sched_getscheduler(0), os.sched_getparam(0)
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    try:
        yield
    finally:
        with suppress(OSError):
            os.sched_setscheduler(0, policy, given)


@dataclass(frozen=True, slots=True)
class Stamped:
    """One published value.

    Attributes:
        value: the numbers; read-only, and shared with nobody who could change them.
        producer: who published it.
        time_ns: when, on the monotonic clock, [ns].
        number: counts what the producer has published, from 1.
    """

    value: Array
    producer: str
    time_ns: int
    number: int

    def age_ns(self, now_ns: int) -> int:
        """How old it is at ``now_ns`` of the monotonic clock, [ns]."""
        return now_ns - self.time_ns


class Latest:
    """A place for one producer's latest value. Reading never waits and never sees half of an old and half of a new one.

    A value is copied, frozen and then put in place by one assignment, which Python makes
    indivisible: a reader holds either the old record or the new one, and neither ever changes.

    Args:
        producer: who publishes here.
        value: what is there before the first.
    """

    def __init__(self, producer: str, value: Array) -> None:
        self._producer, self._number = producer, 0
        self._last = self._record(value)

    def put(self, value: Array) -> None:
        """Publish a copy of ``value``; from one thread only."""
        self._number += 1
        self._last = self._record(value)

    def get(self) -> Stamped:
        """The latest record."""
        return self._last

    def _record(self, value: Array) -> Stamped:
        kept = np.array(value, dtype=float)
        kept.setflags(write=False)
        return Stamped(kept, self._producer, time.monotonic_ns(), self._number)


class Worker:
    """A thread that calls a function on a grid of wall time; a call that comes too late is left out, not made up for.

    Args:
        name: of the thread.
        loop: what to call, with the monotonic time in [ns].
        rate: how often, [Hz].

    Attributes:
        calls: how often it was called.
        error: what ended the thread before it was stopped, None if nothing did.
    """

    def __init__(self, name: str, loop: Callable[[int], None], rate: float) -> None:
        self.name, self.period_ns, self._loop = name, round(1e9 / rate), loop
        self.calls = 0
        self.error: Exception | None = None
        self._times_ns = np.zeros(TIMES_KEPT, np.int64)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def times_ns(self) -> Array:
        """When it was called, the last :data:`TIMES_KEPT` times, oldest first, [ns]."""
        if self.calls <= TIMES_KEPT:
            return self._times_ns[: self.calls]
        return np.roll(self._times_ns, -(self.calls % TIMES_KEPT))

    def start(self) -> None:
        """Begin to call."""
        self._thread.start()

    def stop(self, patience: float = 2.0) -> bool:
        """End after the present call; whether the thread did so within ``patience`` [s]."""
        self._stopping.set()
        self._thread.join(patience)
        return not self._thread.is_alive()

    def _run(self) -> None:
        due_ns = time.monotonic_ns()
        while not self._stopping.is_set():
            now_ns = time.monotonic_ns()
            self._times_ns[self.calls % TIMES_KEPT] = now_ns
            self.calls += 1
            try:
                self._loop(now_ns)
            # kept for whoever stops the worker: a thread has nobody to raise to
            except Exception as error:
                self.error = error
                return
            due_ns += self.period_ns
            behind_ns = time.monotonic_ns() - due_ns
            if behind_ns > 0:
                due_ns += behind_ns // self.period_ns * self.period_ns
            else:
                time.sleep(-behind_ns * 1e-9)


class PublishedPlant(Plant):
    """A plant that workers serve: a read is what they published last, a write is published for them.

    Args:
        name: of the plant.
        state: where q and v of the plant are published, side by side.
        wrench: where the wrench on its tool is.
        torque: where its joint torques go.
        period_ns: how often its state is published, [ns].

    Attributes:
        oldest_ns: largest age of a state at a read, [ns].
    """

    accepts: frozenset[type[Command]] = frozenset({JointTorque})

    def __init__(
        self, name: str, state: Latest, wrench: Latest, torque: Latest, period_ns: int
    ) -> None:
        self.name, self.period_ns = name, period_ns
        self._state, self._wrench, self._torque = state, wrench, torque
        nv = len(torque.get().value)
        self.actuated = np.ones(nv, dtype=bool)
        self.oldest_ns = 0
        self._sample = Sample(len(state.get().value) - nv, nv)

    def read(self, now_ns: int) -> Sample:
        """The latest state and wrench; the sample's time is ``now_ns`` less the state's age."""
        state, sample = self._state.get(), self._sample
        age_ns = state.age_ns(time.monotonic_ns())
        self.oldest_ns = max(self.oldest_ns, age_ns)
        sample.time_ns = now_ns - age_ns
        sample.motion[:] = state.value
        sample.set_wrench(self._wrench.get().value)
        return sample

    def write(self, command: Command, now_ns: int) -> None:
        """Publish the torques."""
        self._torque.put(command.value)


@dataclass(frozen=True)
class Timing:
    """How often and how evenly a thread ran.

    Attributes:
        mean: calls over time, [Hz].
        variance: of the rate from call to call, to first order in the intervals' spread, f⁴ var(T),
            [Hz²].
        p99: interval that 99 % of all do not exceed, [s].
    """

    mean: float
    variance: float
    p99: float

    @classmethod
    def of(cls, times_ns: Array) -> Timing:
        """From the times of at least three calls, [ns]."""
        intervals = np.diff(np.asarray(times_ns, dtype=float)) * 1e-9
        mean = 1.0 / float(intervals.mean())
        return cls(mean, mean**4 * float(intervals.var()), float(np.percentile(intervals, 99)))

"""Workers: threads in wall time that exchange the latest value, and how evenly they ran.

For a slow bus or a simulation beside the tick: the worker publishes, the tick reads and never
waits.
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
from farhand.spatial import Array

TIMES_KEPT = 1 << 16

FIRST_WAIT_S = 1.0
"""How long the first read of a plant may wait for a new state, [s]: whoever built the rig may have
kept the thread from running for longer than a guard allows."""

DEVICE_PRIORITY = 70
"""Of threads that communicate with a device, under SCHED_FIFO: below that of the tick."""


@contextmanager
def urgent() -> Iterator[None]:
    """Raise the priority of this thread, and of those started inside, where permitted."""
    if not hasattr(os, "SCHED_FIFO"):
        yield
        return
    policy, before = os.sched_getscheduler(0), os.sched_getparam(0)
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(DEVICE_PRIORITY))
    try:
        yield
    finally:
        with suppress(OSError):
            os.sched_setscheduler(0, policy, before)


@dataclass(frozen=True, slots=True)
class Stamped:
    """One published value."""

    value: Array  #: the numbers, read-only
    producer: str  #: who published it
    time_ns: int  #: when, on the monotonic clock, [ns]
    number: int  #: counts the values of the producer, from 1

    def age_ns(self, now_ns: int) -> int:
        """Its age at ``now_ns`` of the monotonic clock, [ns]."""
        return now_ns - self.time_ns


class Latest:
    """The latest value of one producer. Reading never waits and never mixes two values.

    A value is copied, frozen and put in place by one assignment, which is atomic in Python: a
    reader has either the old record or the new one, and neither ever changes.

    Args:
        producer: who publishes here.
        value: the initial one.
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

    def wait(self) -> None:
        """Wait for another value, for a moment; before the first tick, because it blocks."""
        number, end = self._number, time.monotonic() + FIRST_WAIT_S
        while self._number == number and time.monotonic() < end:
            time.sleep(0.001)

    def _record(self, value: Array) -> Stamped:
        kept = np.array(value, dtype=float)
        kept.setflags(write=False)
        return Stamped(kept, self._producer, time.monotonic_ns(), self._number)


class Worker:
    """A thread that calls a function on a grid of wall time; calls that are too late are omitted.

    Args:
        name: of the thread.
        loop: called with the monotonic time in [ns].
        rate: how often, [Hz].
    """

    def __init__(self, name: str, loop: Callable[[int], None], rate: float) -> None:
        self.name, self.period_ns, self._loop = name, round(1e9 / rate), loop
        self.calls = 0  #: how often it was called
        self.error: Exception | None = None  #: that ended the thread, or None
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
        """Start the calls."""
        self._thread.start()

    def stop(self, patience: float = 2.0) -> bool:
        """End after the present call; whether the thread ended within ``patience`` [s]."""
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
            # Kept for the plant, because nobody would see it raised in this thread.
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
    """A plant served by workers: a read returns their last values, a write publishes for them.

    Args:
        name: of the plant.
        state: q and v of the plant in one array.
        wrench: on its tool.
        torque: for its joints.
        period_ns: how often its state is published, [ns].
    """

    accepts: frozenset[type[Command]] = frozenset({JointTorque})

    def __init__(
        self, name: str, state: Latest, wrench: Latest, torque: Latest, period_ns: int
    ) -> None:
        self.name, self.period_ns = name, period_ns
        self._state, self._wrench, self._torque = state, wrench, torque
        nv = len(torque.get().value)
        self.actuated = np.ones(nv, dtype=bool)
        self.oldest_ns = 0  #: largest age of a state at a read, [ns]
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
    """How often and how evenly a thread ran."""

    mean: float  #: calls over time, [Hz]
    variance: float  #: of the rate from call to call, to first order f⁴ var(T), [Hz²]
    p99: float  #: 99th percentile of the intervals, [s]

    @classmethod
    def of(cls, times_ns: Array) -> Timing:
        """From the times of at least three calls, [ns]."""
        intervals = np.diff(np.asarray(times_ns, dtype=float)) * 1e-9
        mean = 1.0 / float(intervals.mean())
        return cls(mean, mean**4 * float(intervals.var()), float(np.percentile(intervals, 99)))

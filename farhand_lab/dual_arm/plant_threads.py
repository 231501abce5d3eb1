"""Threads in virtual time: plants behind loops that run at rates of their own and exchange only the latest value.

A real system reads its arm in one thread, its force sensor in another and integrates a simulated
arm in a third; the regulator sees whatever each has published last. These wrappers do the same on
exact grids of virtual time, so what a rate does to a coupling can be measured, and measured again
to the bit.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from farhand.errors import BadValue, OutOfRange, UnknownName
from farhand.plants.plant import Command, JointTorque, Plant, Sample
from farhand.plants.simulated.rigid import RigidPlant
from farhand.plants.wrappers.wrapped import WrappedPlant

Array = np.ndarray

STEPPING = ("elapsed", "literal")
"""How a simulation loop advances its plant: by the time that has passed, or by one step per loop
whatever the time."""


class Outgoing:
    """Commands on their way to a plant. Latest value wins: of all that are out, only the newest is taken.

    A command that comes out at the very instant another thread looks is seen at that thread's next
    look.
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, Array]] = deque()

    def put(self, out_ns: int, value: Array) -> None:
        """Let a command be seen by whoever looks after ``out_ns`` [ns]."""
        self._waiting.append((out_ns, value.copy()))

    def take(self, now_ns: int) -> Array | None:
        """The newest command that came out before ``now_ns`` and was not taken yet, or None."""
        newest = None
        while self._waiting and self._waiting[0][0] < now_ns:
            newest = self._waiting.popleft()[1]
        return newest


class Stepper:
    """Counts how many whole steps of a simulation are due in a loop.

    ``elapsed`` makes simulated time follow real time: as many whole steps as have passed, the
    remainder carried to the next loop. ``literal`` makes one step per loop, so simulated time runs
    at the rate times the step: 157 loops a second of 1 ms are 0.157 of real time.

    Args:
        step_ns: length of one step, [ns].
        mode: one of :data:`STEPPING`.
    """

    def __init__(self, step_ns: int, mode: str = "elapsed") -> None:
        if mode not in STEPPING:
            raise UnknownName("stepping", mode, STEPPING)
        self.step_ns, self.mode = step_ns, mode
        self._carried_ns = 0

    def due(self, elapsed_ns: int) -> int:
        """Steps to make when ``elapsed_ns`` [ns] have passed since the last loop."""
        if self.mode == "literal":
            return 1
        steps, self._carried_ns = divmod(self._carried_ns + elapsed_ns, self.step_ns)
        return steps


class CommunicationThread(WrappedPlant):
    """A plant behind a link that exchanges messages on a grid: state and torque at one rate, the wrench at another.

    A read gives the last message that came in, with its device time. A written torque acts from the
    first message that goes out after ``write_latency_ns``; the plant makes whole steps, so it acts
    from the step that message falls into. Messages may be lost, each with the same probability; the
    first state is part of connecting and never is.

    Args:
        plant: what is at the other end.
        period_ns: time between messages, [ns]: 8 ms or 2 ms for the interface of a UR5e.
        wrench_period_ns: time between samples of the force sensor, [ns]; with every message by
            default.
        write_latency_ns: from a write until the torque is out, [ns]: how long the writer computes.
        drop: probability that a message is lost, 0 to 1, [-].
        rng: decides which are.

    Attributes:
        messages: exchanges so far.
        dropped: states lost, then torques lost.
        wrench_time_ns: device time of the wrench in the last read, [ns].
    """

    def __init__(
        self,
        plant: Plant,
        period_ns: int,
        wrench_period_ns: int | None = None,
        write_latency_ns: int = 0,
        drop: float = 0.0,
        rng: np.random.Generator | None = None,
    ) -> None:
        if not 0.0 <= drop < 1.0:
            raise OutOfRange("drop", drop, 0.0, 1.0)
        super().__init__(plant)
        self.period_ns = _positive("period of communication", period_ns)
        wrench_period_ns = period_ns if wrench_period_ns is None else wrench_period_ns
        self._wrench_period_ns = _positive("period of the force sensor", wrench_period_ns)
        self._latency_ns, self._drop = write_latency_ns, drop
        self._rng = rng or np.random.default_rng(0)
        self.messages, self.dropped = 0, [0, 0]
        self._sample = plant.read(0).copy()
        self.wrench_time_ns = self._sample.time_ns
        self._next_ns = self._next_wrench_ns = 0
        self._outgoing = Outgoing()
        self._command = JointTorque(len(self.actuated))

    def advance(self, to_ns: int) -> None:
        """Exchange every message and take every wrench that is due until ``to_ns``, in their order."""
        while (due_ns := min(self._next_ns, self._next_wrench_ns)) <= to_ns:
            state = self._plant.read(due_ns)
            if due_ns == self._next_wrench_ns:
                self._next_wrench_ns += self._wrench_period_ns
                self._sample.set_wrench(state.wrench)
                self.wrench_time_ns = state.time_ns
            if due_ns == self._next_ns:
                self._next_ns += self.period_ns
                self._exchange(state, due_ns)
        self._plant.read(to_ns)

    def read(self, now_ns: int) -> Sample:
        """The last state and the last wrench that came in."""
        self.advance(now_ns)
        return self._sample

    def write(self, command: Command, now_ns: int) -> None:
        """Take a torque, to be sent with the first message after the latency."""
        self._outgoing.put(now_ns + self._latency_ns, command.value)

    def _exchange(self, state: Sample, now_ns: int) -> None:
        """State in, torque out; of a lost message the last one received stays in force."""
        self.messages += 1
        if not self._lost(0):
            self._sample.time_ns = state.time_ns
            self._sample.motion[:] = state.motion
        torque = None if self._lost(1) else self._outgoing.take(now_ns)
        if torque is not None:
            self._command.value[:] = torque
            self._plant.write(self._command, now_ns)

    def _lost(self, way: int) -> bool:
        lost = self._drop > 0.0 and bool(self._rng.random() < self._drop)
        self.dropped[way] += lost
        return lost


class SimulationThread(Plant):
    """A simulated arm in a loop of its own: take the latest torque, step, publish state and contact wrench.

    Whatever the loop makes of time, its samples bear the time of the loop that published them.

    Args:
        plant: the arm.
        period_ns: time between loops, [ns].
        mode: one of :data:`STEPPING`.
        write_latency_ns: from a write until the torque is out, [ns]: how long the writer computes.

    Attributes:
        loops: how many there were.
        simulated_ns: how far the simulated arm has come, [ns].
    """

    accepts: frozenset[type[Command]] = frozenset({JointTorque})

    def __init__(
        self, plant: RigidPlant, period_ns: int, mode: str = "elapsed", write_latency_ns: int = 0
    ) -> None:
        self.name, self.actuated = plant.name, plant.actuated
        self.period_ns = _positive("period of the simulation", period_ns)
        self._plant, self._latency_ns = plant, write_latency_ns
        self._stepper = Stepper(plant.period_ns, mode)
        self.loops = 0
        self._sample = plant.read(0).copy()
        self._looped_ns, self._next_ns = 0, self.period_ns
        self._outgoing = Outgoing()
        self._command = JointTorque(len(self.actuated))

    @property
    def simulated_ns(self) -> int:
        """Time of the simulated arm, [ns]."""
        return self._plant.now_ns

    def advance(self, to_ns: int) -> None:
        """Run every loop that is due until ``to_ns``."""
        while self._next_ns <= to_ns:
            self._loop(self._next_ns)
            self._next_ns += self.period_ns

    def read(self, now_ns: int) -> Sample:
        """What the last loop published."""
        self.advance(now_ns)
        return self._sample

    def write(self, command: Command, now_ns: int) -> None:
        """Take a torque for the first loop after the latency."""
        self._outgoing.put(now_ns + self._latency_ns, command.value)

    def _loop(self, now_ns: int) -> None:
        plant, sample = self._plant, self._sample
        torque = self._outgoing.take(now_ns)
        if torque is not None:
            self._command.value[:] = torque
            plant.write(self._command, now_ns)
        steps = self._stepper.due(now_ns - self._looped_ns)
        plant.advance(plant.now_ns + steps * plant.period_ns)
        state = plant.read(plant.now_ns)
        sample.values[:], sample.has_wrench, sample.time_ns = state.values, state.has_wrench, now_ns
        self._looped_ns = now_ns
        self.loops += 1


def _positive(what: str, period_ns: int) -> int:
    if period_ns <= 0:
        raise BadValue(f"{what} is {period_ns} ns, not a positive time")
    return period_ns

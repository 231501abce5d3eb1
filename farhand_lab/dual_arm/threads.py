"""The published dual-arm system as it was built: five threads with rates of their own.

A real system reads its arm in one thread, its force sensor in another and integrates a simulated
arm in a third; the regulator sees what each has published last. :class:`EmulatedThreads` does the
same on exact grids of virtual time, so the effect of a rate can be measured, and measured again to
the bit. :class:`RealThreads` runs five threads in wall time.

Rates, gains, wall, mass ratio and the 1 ms step are published; what is assumed is marked in
:class:`ThreadSetup`. A result is a finding about this model, not about the original hardware.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from farhand.analysis.history import History
from farhand.arm import Arm
from farhand.control.trajectory.paths import HandPath, Move
from farhand.coupling.virtual_constraints import VirtualConstraints
from farhand.errors import BadValue, OutOfRange, UnknownName
from farhand.loop.bridges.direct import DirectBridge
from farhand.loop.clock import Clock, WallClock
from farhand.loop.session import Physics, Session
from farhand.loop.station import Station
from farhand.loop.telemetry import Telemetry
from farhand.plants.drivers.worker import Latest, PublishedPlant, Stamped, Timing, Worker
from farhand.plants.plant import Command, JointTorque, Plant, Sample
from farhand.plants.simulated.rigid import RigidPlant
from farhand.robots import Robot
from farhand.safety import Guard
from farhand.spatial import rotation_vector
from farhand.world import ImpedanceHand, Wall
from farhand_lab.dual_arm.pair import PLACES, published_robots

Array = np.ndarray

STEP_NS = 1_000_000  # published: h = 1 ms
GRAVITY = 0.0  # published: compensated outside the regulator, here exactly
STEPPING = ("elapsed", "literal")
"""How a simulation loop advances its plant: by the time that has passed, or by one step."""


@dataclass(frozen=True)
class Rates:
    """How often each thread runs, [Hz]; by default as in the published free-space test, rounded."""

    regulator: float = 47.0
    communication: float = 119.0
    wrench: float = 86.0
    simulation: float = 157.0
    visualisation: float = 1.2


@dataclass(frozen=True)
class ThreadSetup:
    """What one run assumes.

    Attributes:
        stepping: one of :data:`STEPPING`.
        sensor: whether the law uses the measured wrenches.
        latency: from reading the inputs to publishing the torques, in periods of the regulator.
        mass_scale: follower's masses over the leader's, [-].
        armature: rotor inertia per joint of the leader, [kg·m²].
        friction: factor on the leader's viscous friction, [-].
        hand_stiffness: [N/m].
        drop: share of messages to and from the leader that are lost, [-].
        seed: decides which messages.
    """

    rates: Rates = Rates()
    moves: tuple[Move, ...] = ()
    stepping: str = "elapsed"
    sensor: bool = True
    latency: float = 1.0  # assumed
    mass_scale: float = 0.25  # published
    armature: float = 0.1  # assumed, as in a public model
    friction: float = 1.0  # assumed
    hand_stiffness: float = 1000.0  # assumed
    drop: float = 0.0
    seed: int = 0


class Outgoing:
    """Commands on their way to a plant; of all that are out, only the newest is taken.

    A command that comes out at the very instant another thread looks is seen at that thread's next
    look.
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, Array]] = deque()

    def put(self, out_ns: int, value: Array) -> None:
        """Let a command be seen by every look after ``out_ns`` [ns]."""
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
        self.step_ns = step_ns
        self.mode = mode
        self._carried_ns = 0

    def due(self, elapsed_ns: int) -> int:
        """Steps to make when ``elapsed_ns`` [ns] have passed since the last loop."""
        if self.mode == "literal":
            return 1
        steps, self._carried_ns = divmod(self._carried_ns + elapsed_ns, self.step_ns)
        return steps


class PlantThread(Plant):
    """A plant behind a loop of its own: readers get the last sample that the loop published.

    Args:
        plant: what the loop reads and commands.
        period_ns: time between loops or messages, [ns].
        write_latency_ns: from a write until the torque is out, [ns]: how long the writer computes.
    """

    work = "the loop"
    # a session advances these threads like physics
    unstable = ""

    def __init__(self, plant: Plant, period_ns: int, write_latency_ns: int) -> None:
        self.name = plant.name
        self.accepts = plant.accepts
        self.actuated = plant.actuated
        self.period_ns = _positive(f"period of {self.work}", period_ns)
        self._plant = plant
        self._latency_ns = write_latency_ns
        self._sample = plant.read(0).copy()
        self._outgoing = Outgoing()
        self._command = JointTorque(len(self.actuated))

    @abstractmethod
    def advance(self, to_ns: int) -> None:
        """Run every loop that is due until ``to_ns``."""

    def read(self, now_ns: int) -> Sample:
        """What the last loop published."""
        self.advance(now_ns)
        return self._sample

    def write(self, command: Command, now_ns: int) -> None:
        """Take a torque for the first loop after the latency."""
        self._outgoing.put(now_ns + self._latency_ns, command.value)

    def _forward(self, now_ns: int) -> None:
        torque = self._outgoing.take(now_ns)
        if torque is not None:
            self._command.value[:] = torque
            self._plant.write(self._command, now_ns)


class CommunicationThread(PlantThread):
    """A plant behind a link: state and torque in messages at one rate, the wrench at another.

    A read gives the last message that came in, with its device time. A written torque acts from the
    first message that goes out after ``write_latency_ns``; the plant makes whole steps, so it acts
    from the step that message falls into. Messages may be lost, each with the same probability; the
    first state is part of connecting and is never lost.

    Args:
        wrench_period_ns: time between samples of the force sensor, [ns]; that of the messages by
            default.
        drop: probability that a message is lost, 0 to 1, [-].
        rng: decides which are.
    """

    work = "communication"

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
        super().__init__(plant, period_ns, write_latency_ns)
        wrench_period_ns = period_ns if wrench_period_ns is None else wrench_period_ns
        self._wrench_period_ns = _positive("period of the force sensor", wrench_period_ns)
        self._drop = drop
        self._rng = rng or np.random.default_rng(0)
        self.messages = 0  #: exchanges so far
        self.dropped = [0, 0]  #: states lost, then torques lost
        #: device time of the wrench in the last read, [ns]
        self.wrench_time_ns = self._sample.time_ns
        self._next_ns = self._next_wrench_ns = 0

    def advance(self, to_ns: int) -> None:
        """Exchange every message and take every wrench that is due until ``to_ns``, in order."""
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

    def _exchange(self, state: Sample, now_ns: int) -> None:
        """State in, torque out; after a loss the last message received stays in force."""
        self.messages += 1
        if not self._lost(0):
            self._sample.time_ns = state.time_ns
            self._sample.motion[:] = state.motion
        if not self._lost(1):
            self._forward(now_ns)

    def _lost(self, way: int) -> bool:
        lost = self._drop > 0.0 and bool(self._rng.random() < self._drop)
        self.dropped[way] += lost
        return lost


class SimulationThread(PlantThread):
    """A simulated arm in a loop: take the latest torque, step, publish state and contact wrench.

    Its samples have the time of the loop that published them, however far the simulation came.

    Args:
        mode: one of :data:`STEPPING`.
    """

    work = "the simulation"

    def __init__(
        self, plant: RigidPlant, period_ns: int, mode: str = "elapsed", write_latency_ns: int = 0
    ) -> None:
        super().__init__(plant, period_ns, write_latency_ns)
        self._arm = plant
        self._stepper = Stepper(plant.period_ns, mode)
        self.loops = 0  #: how many there were
        self._looped_ns = 0
        self._next_ns = self.period_ns

    @property
    def simulated_ns(self) -> int:
        """Time of the simulated arm, [ns]."""
        return self._arm.now_ns

    def advance(self, to_ns: int) -> None:
        """Run every loop that is due until ``to_ns``."""
        while self._next_ns <= to_ns:
            self._loop(self._next_ns)
            self._next_ns += self.period_ns

    def _loop(self, now_ns: int) -> None:
        self._forward(now_ns)
        arm, sample = self._arm, self._sample
        steps = self._stepper.due(now_ns - self._looped_ns)
        arm.advance(arm.now_ns + steps * arm.period_ns)
        state = arm.read(arm.now_ns)
        sample.values[:] = state.values
        sample.has_wrench = state.has_wrench
        sample.time_ns = now_ns
        self._looped_ns = now_ns
        self.loops += 1


def _positive(what: str, period_ns: int) -> int:
    if period_ns <= 0:
        raise BadValue(f"{what} is {period_ns} ns, not a positive time")
    return period_ns


class ThreadedArms:
    """The two arms, the hand on one and the wall before the other."""

    def __init__(self, setup: ThreadSetup) -> None:
        self.robots = published_robots(
            armature=setup.armature, friction=setup.friction, mass_scale=setup.mass_scale
        )
        self.plants = {}
        for name, robot in self.robots.items():
            arm = Arm.of(robot, PLACES[name], GRAVITY)
            # integrated as published: acceleration held over steps of 1 ms
            self.plants[name] = RigidPlant(name, arm, robot.postures["q_A"], STEP_NS, "zoh")
        self.hand = ImpedanceHand(setup.hand_stiffness, path=HandPath(setup.moves))
        self.wall = Wall()
        self.plants["leader"].touch(self.hand)
        self.plants["follower"].touch(self.wall)


class Truth:
    """Records what the regulator cannot see: both true arms, every millisecond.

    Between two loops of its thread the follower is where the last loop left it.
    """

    def __init__(self, arms: ThreadedArms, telemetry: Telemetry) -> None:
        self._leader, self._follower = arms.plants["leader"], arms.plants["follower"]
        self._wall = arms.wall
        a, b = self._leader.arm, self._follower.arm
        self._offset = b.position - a.position
        self._turn = a.rotation.T @ b.rotation
        self._stream = stream = telemetry.stream("truth", 1e9 / STEP_NS)
        xyz = ("x", "y", "z")
        self._error = stream.channel("error", 6, "m, rad", (*xyz, "rx", "ry", "rz"))
        self._positions = [stream.channel(name, 3, "m", xyz) for name in ("leader", "follower")]
        self._hand = stream.channel("hand", 6, "N, N·m", ("fx", "fy", "fz", "tx", "ty", "tz"))
        self._contact = stream.channel("wall", 2, "N, m", ("force", "depth"))

    def sample(self, now_ns: int) -> None:
        """Record the present state."""
        a, b = self._leader.arm, self._follower.arm
        self._error[:3] = b.position - a.position - self._offset
        self._error[3:] = rotation_vector(b.rotation @ (a.rotation @ self._turn).T)
        self._positions[0][:], self._positions[1][:] = a.position, b.position
        self._hand[:] = self._leader.wrench
        self._contact[0], self._contact[1] = self._wall.force, self._wall.depth
        self._stream.commit(now_ns)


class EmulatedThreads:
    """The five threads in virtual time.

    Attributes:
        session: the regulator: both stations and the law at its period.
        communication: between regulator and leader, with the force sensor's thread.
        simulation: between regulator and follower.
        history: what was recorded, with the stream ``truth``.
    """

    def __init__(self, setup: ThreadSetup) -> None:
        arms, rates = ThreadedArms(setup), setup.rates
        latency_ns = round(setup.latency * period(rates.regulator))
        self.communication = CommunicationThread(
            arms.plants["leader"],
            period(rates.communication),
            period(rates.wrench),
            latency_ns,
            setup.drop,
            np.random.default_rng(setup.seed),
        )
        self.simulation = SimulationThread(
            arms.plants["follower"], period(rates.simulation), setup.stepping, latency_ns
        )
        telemetry = Telemetry()
        truth = Truth(arms, telemetry)
        threads: dict[str, Plant] = {"leader": self.communication, "follower": self.simulation}
        worlds = self.communication, self.simulation
        self.session = _regulator(arms.robots, threads, setup, telemetry, worlds)
        self.session.add(truth.sample, STEP_NS)
        self.history = History(telemetry.path)

    def run(self, seconds: float) -> None:
        """Couple the arms, run, and give the telemetry ring back."""
        self.session.commands.post("engage", at_ns=0)
        self.session.run(seconds, self._pull)
        self.session.close()

    def _pull(self) -> None:
        self.history.pull()


class RealThreads:
    """The five threads as threads, in wall time. The regulator runs where :meth:`run` is called.

    Attributes:
        latest: every value on the bus by name; each has one producer.
        workers: the four other threads by name.
        session: the regulator.
        ended: which threads ended when stopped; filled by :meth:`run`.
    """

    def __init__(self, setup: ThreadSetup) -> None:
        arms, rates = ThreadedArms(setup), setup.rates
        self._leader, self._follower = arms.plants["leader"], arms.plants["follower"]
        self._steppers = Stepper(STEP_NS), Stepper(STEP_NS, setup.stepping)
        self._began_ns = [0, 0]
        self._stick = Arm.of(arms.robots["follower"], PLACES["follower"], GRAVITY)
        rest = np.zeros(self._leader.arm.nv)
        self.latest = {
            "q1": Latest("communication", _motion(self._leader)),
            "q2": Latest("simulation", _motion(self._follower)),
            "raw1": Latest("communication", self._leader.wrench),
            "h1": Latest("wrench", self._leader.wrench),
            "h2": Latest("simulation", self._follower.wrench),
            "u1": Latest("regulator", rest),
            "u2": Latest("regulator", rest),
            "stick": Latest("visualisation", np.zeros(3 * self._follower.arm.model.njoints)),
        }
        self.workers = {
            "communication": Worker("communication", self._communicate, rates.communication),
            "wrench": Worker("wrench", self._sense, rates.wrench),
            "simulation": Worker("simulation", self._simulate, rates.simulation),
            "visualisation": Worker("visualisation", self._draw, rates.visualisation),
        }
        served: dict[str, Plant] = {
            "leader": self._served("leader", "1", rates.communication),
            "follower": self._served("follower", "2", rates.simulation),
        }
        self.session = _regulator(arms.robots, served, setup, Telemetry(), clock=WallClock())
        self.ended: dict[str, bool] = {}

    def run(self, seconds: float) -> None:
        """Start all threads, run the regulator for ``seconds``, stop them."""
        self.session.commands.post("engage", at_ns=0)
        self._began_ns = [time.monotonic_ns()] * 2
        for worker in self.workers.values():
            worker.start()
        try:
            self.session.run(seconds)
        finally:
            self.ended = {name: worker.stop() for name, worker in self.workers.items()}
            self.session.close()

    def timing(self) -> dict[str, Timing]:
        """How often and how evenly each thread ran."""
        session, late_ns = self.session, self.session.late_ns
        # late_ns is a ring of the last ticks
        ticks = np.arange(max(0, session.ticks - len(late_ns)), session.ticks)
        times = {"regulator": ticks * session.parts[0].period_ns + late_ns[ticks % len(late_ns)]}
        times |= {name: worker.times_ns for name, worker in self.workers.items()}
        return {name: Timing.of(times_ns) for name, times_ns in times.items()}

    def bus(self) -> dict[str, Stamped]:
        """What is on the bus now, by name."""
        return {name: place.get() for name, place in self.latest.items()}

    def _served(self, name: str, i: str, rate: float) -> Plant:
        bus = self.latest
        return PublishedPlant(name, bus[f"q{i}"], bus[f"h{i}"], bus[f"u{i}"], period(rate))

    def _step(self, index: int, plant: RigidPlant, torque: Stamped, now_ns: int) -> None:
        plant.torque[:] = torque.value
        steps = self._steppers[index].due(now_ns - self._began_ns[index])
        self._began_ns[index] = now_ns
        plant.advance(plant.now_ns + steps * plant.period_ns)

    def _communicate(self, now_ns: int) -> None:
        """The real arm and the link to it: its time is the wall's."""
        self._step(0, self._leader, self.latest["u1"].get(), now_ns)
        self.latest["q1"].put(_motion(self._leader))
        self.latest["raw1"].put(self._leader.wrench)

    def _sense(self, now_ns: int) -> None:
        self.latest["h1"].put(self.latest["raw1"].get().value)

    def _simulate(self, now_ns: int) -> None:
        self._step(1, self._follower, self.latest["u2"].get(), now_ns)
        self.latest["q2"].put(_motion(self._follower))
        self.latest["h2"].put(self._follower.wrench)

    def _draw(self, now_ns: int) -> None:
        """Corners of the follower's stick figure, [m]."""
        arm = self._stick
        arm.motion[:] = self.latest["q2"].get().value
        pin.forwardKinematics(arm.model, arm.data, arm.q)
        self.latest["stick"].put(np.concatenate([joint.translation for joint in arm.data.oMi]))


def _motion(plant: RigidPlant) -> Array:
    return np.concatenate([plant.q, plant.v])


def period(rate: float) -> int:
    """Period of a rate in [Hz], in whole [ns]."""
    return round(1e9 / rate)


def _regulator(
    robots: dict[str, Robot],
    plants: dict[str, Plant],
    setup: ThreadSetup,
    telemetry: Telemetry,
    worlds: Iterable[Physics] = (),
    clock: Clock | None = None,
) -> Session:
    """Stations and law at the regulator's period."""
    period_ns = period(setup.rates.regulator)
    stations = []
    for name, plant in plants.items():
        arm = Arm.of(robots[name], PLACES[name], GRAVITY)
        # the published system had no limits
        guard = Guard(force=1e5, moment=1e4, stale=10.0)
        stations.append(Station(name, name, plant, arm, guard, rest="free", period_ns=period_ns))
    law = VirtualConstraints(leader_wrench=setup.sensor, follower_wrench=setup.sensor)
    return Session(
        stations,
        bridges=[DirectBridge(law, stations[0], stations[1], period_ns=period_ns)],
        worlds=worlds,
        telemetry=telemetry,
        clock=clock,
        parameters={"law": law},
        description={"rig": "dual-arm-threads", "law": law.name, "seed": setup.seed},
    )

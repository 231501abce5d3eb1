"""The published dual-arm system as it was built: five threads, each at a rate of its own, in virtual or in wall time.

The assumptions stand in :class:`ThreadSetup`; rates, gains, wall, mass ratio and the 1 ms step are
published, the rest is assumed. What comes out is a finding about this model, not about the original
hardware.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from farhand.analysis.history import History
from farhand.arm import Arm
from farhand.control.trajectory.paths import HandPath, Move
from farhand.coupling.virtual_constraints import VirtualConstraints
from farhand.loop.bridges.direct import DirectBridge
from farhand.loop.clock import Clock, WallClock
from farhand.loop.session import Advancing, Part, Session
from farhand.loop.station import Station
from farhand.loop.telemetry import Telemetry
from farhand.plants import Plant
from farhand.plants.drivers.worker import Latest, PublishedPlant, Stamped, Timing, Worker
from farhand.plants.simulated.rigid import RigidPlant
from farhand.robots import Placement, Robot, load_robot
from farhand.robots.edits import scale_mass, set_armature, set_damping
from farhand.safety import Guard
from farhand.spatial import rotation_vector
from farhand.world import ImpedanceHand, Wall
from farhand_lab.dual_arm.plant_threads import CommunicationThread, SimulationThread, Stepper

Array = np.ndarray

STEP_NS = 1_000_000  # published: h = 1 ms
PLACES = {"leader": Placement(), "follower": Placement((0.0, 0.75, 0.0))}  # published
GRAVITY = 0.0  # published: compensated outside the regulator, here exactly


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
        rates: of the threads.
        moves: what the hand does.
        stepping: how the simulation thread makes time pass, ``elapsed`` or ``literal``.
        sensor: whether the law uses the measured wrenches.
        latency: from reading the inputs to publishing the torques, in periods of the regulator,
            [-].
        mass_scale: follower's masses over the leader's, [-].
        armature: rotor inertia per joint of the leader, [kg·m²].
        friction: factor on the leader's viscous friction of (2, 2, 2, 0.5, 0.5, 0.5) N·m·s/rad,
            [-].
        hand_stiffness: of the hand, [N/m].
        drop: share of messages to and from the leader that are lost, [-].
        seed: decides which.
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


class ThreadedArms:
    """The two arms, the hand on one and the wall before the other.

    Attributes:
        robots: by name, as the regulator knows them.
        plants: by name, integrated as published: acceleration held over steps of 1 ms.
        hand: moves the leader.
        wall: stops the follower.
    """

    def __init__(self, setup: ThreadSetup) -> None:
        viscous = setup.friction * np.array([2.0, 2.0, 2.0, 0.5, 0.5, 0.5])
        leader = load_robot("ur5e", "cb").edited(set_armature(setup.armature), set_damping(viscous))
        self.robots = {"leader": leader, "follower": leader.edited(scale_mass(setup.mass_scale))}
        self.plants = {
            name: RigidPlant(
                name, Arm.of(robot, PLACES[name], GRAVITY), robot.postures["q_A"], STEP_NS, "zoh"
            )
            for name, robot in self.robots.items()
        }
        self.hand, self.wall = (
            ImpedanceHand(setup.hand_stiffness, path=HandPath(setup.moves)),
            Wall(),
        )
        self.plants["leader"].touch(self.hand)
        self.plants["follower"].touch(self.wall)


class Truth:
    """Records what the regulator cannot see: both arms as they are, every millisecond, in a stream of their own.

    Between two loops of its thread the follower is where the last loop left it.
    """

    def __init__(self, arms: ThreadedArms, telemetry: Telemetry) -> None:
        self._leader, self._follower, self._wall = (
            arms.plants["leader"],
            arms.plants["follower"],
            arms.wall,
        )
        a, b = self._leader.arm, self._follower.arm
        self._offset, self._turn = b.position - a.position, a.rotation.T @ b.rotation
        self._stream = stream = telemetry.stream("truth", 1e9 / STEP_NS)
        self._error = stream.channel("error", 6, "m, rad", ("x", "y", "z", "rx", "ry", "rz"))
        self._positions = [
            stream.channel(name, 3, "m", ("x", "y", "z")) for name in ("leader", "follower")
        ]
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
        period_ns = period(rates.regulator)
        latency_ns = round(setup.latency * period_ns)
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
        self.session.parts.append(Part(truth.sample, STEP_NS))
        self.history = History(telemetry.path)

    def run(self, seconds: float) -> None:
        """Couple the arms and run."""
        self.session.commands.post("engage", at_ns=0)
        self.session.run(seconds, self._pull)

    def close(self) -> None:
        """Give the telemetry ring back."""
        self.session.close()

    def _pull(self) -> None:
        self.history.pull()


class RealThreads:
    """The five threads as threads, in wall time. The regulator runs where :meth:`run` is called.

    Attributes:
        latest: every value on the bus by name; each has one producer.
        workers: the four other threads by name.
        session: the regulator.
        ended: which threads ended when told to; filled by :meth:`run`.
    """

    def __init__(self, setup: ThreadSetup) -> None:
        self._arms, rates = ThreadedArms(setup), setup.rates
        leader, follower = self._arms.plants["leader"], self._arms.plants["follower"]
        self._leader, self._follower = leader, follower
        self._steppers = Stepper(STEP_NS), Stepper(STEP_NS, setup.stepping)
        self._began_ns = [0, 0]
        self._stick = Arm.of(self._arms.robots["follower"], PLACES["follower"], GRAVITY)
        rest = np.zeros(leader.arm.nv)
        self.latest = {
            "q1": Latest("communication", np.concatenate([leader.q, leader.v])),
            "q2": Latest("simulation", np.concatenate([follower.q, follower.v])),
            "raw1": Latest("communication", leader.wrench),
            "h1": Latest("wrench", leader.wrench),
            "h2": Latest("simulation", follower.wrench),
            "u1": Latest("regulator", rest),
            "u2": Latest("regulator", rest),
            "stick": Latest("visualisation", np.zeros(3 * (follower.arm.model.njoints))),
        }
        self.workers = {
            name: Worker(name, loop, getattr(rates, name))
            for name, loop in (
                ("communication", self._communicate),
                ("wrench", self._sense),
                ("simulation", self._simulate),
                ("visualisation", self._draw),
            )
        }
        served = {n: self._served(n, i, rates) for n, i in (("leader", "1"), ("follower", "2"))}
        self.session = _regulator(self._arms.robots, served, setup, Telemetry(), clock=WallClock())
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
        session = self.session
        # the last ones, as a ring
        ticks = np.arange(max(0, session.ticks - len(session.late_ns)), session.ticks)
        regulator = (
            ticks * session.parts[0].period_ns + session.late_ns[ticks % len(session.late_ns)]
        )
        times = {"regulator": regulator} | {
            name: worker.times_ns for name, worker in self.workers.items()
        }
        return {name: Timing.of(found) for name, found in times.items()}

    def bus(self) -> dict[str, Stamped]:
        """What is on the bus now, by name."""
        return {name: place.get() for name, place in self.latest.items()}

    def _served(self, name: str, i: str, rates: Rates) -> Plant:
        rate = rates.communication if name == "leader" else rates.simulation
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
        self.latest["q1"].put(np.concatenate([self._leader.q, self._leader.v]))
        self.latest["raw1"].put(self._leader.wrench)

    def _sense(self, now_ns: int) -> None:
        self.latest["h1"].put(self.latest["raw1"].get().value)

    def _simulate(self, now_ns: int) -> None:
        self._step(1, self._follower, self.latest["u2"].get(), now_ns)
        self.latest["q2"].put(np.concatenate([self._follower.q, self._follower.v]))
        self.latest["h2"].put(self._follower.wrench)

    def _draw(self, now_ns: int) -> None:
        """Corners of the follower's stick figure, [m]."""
        arm = self._stick
        arm.motion[:] = self.latest["q2"].get().value
        arm.compute()
        self.latest["stick"].put(np.concatenate([joint.translation for joint in arm.data.oMi]))


def period(rate: float) -> int:
    """Period of a rate in [Hz], in whole [ns]."""
    return round(1e9 / rate)


def _regulator(
    robots: dict[str, Robot],
    plants: dict[str, Plant],
    setup: ThreadSetup,
    telemetry: Telemetry,
    worlds: Iterable[Advancing] = (),
    clock: Clock | None = None,
) -> Session:
    """Stations and law at the regulator's period. The published system had no limits, so the guards have none."""
    period_ns = period(setup.rates.regulator)
    stations = [
        Station(
            name,
            name,
            plant,
            Arm.of(robots[name], PLACES[name], GRAVITY),
            Guard(force=1e5, moment=1e4, stale=10.0),
            "free",
            period_ns,
        )
        for name, plant in plants.items()
    ]
    law = VirtualConstraints(leader_wrench=setup.sensor, follower_wrench=setup.sensor)
    bridge = DirectBridge(law, stations[0], stations[1], period_ns)
    description = {"rig": "dual-arm-threads", "law": law.name, "seed": setup.seed}
    return Session(
        stations,
        [bridge],
        worlds,
        telemetry,
        clock,
        parameters={"law": law},
        description=description,
    )

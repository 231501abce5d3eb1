"""The tick of a rig, its parts and its virtual second, beside bare library calls and a peer."""

from __future__ import annotations

import importlib.util
from functools import partial
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
from scipy.linalg.lapack import dposv

from farhand.arm import Arm
from farhand.coupling import LAWS, Effort, PositionPosition, Side
from farhand.link.channel import MemoryChannel
from farhand.link.endpoint import connect
from farhand.link.layers import Layer, LayerPort
from farhand.link.packet import Packet
from farhand.loop.telemetry import Telemetry
from farhand.plants import Command, Plant, Sample
from farhand.rigs import Options, Rig, build_rig
from farhand_lab.benchmarks.measure import Benchmark, Prepared, Work
from farhand_lab.dh import DHArm


def _tick(rig: Rig) -> Work:
    """One whole tick on a world that stands still, so that only the tick is timed."""
    session = rig.session
    session.run(1.0)
    period = session.parts[0].period_ns

    def tick() -> None:
        session.now_ns += period
        for station in session.stations:
            station.plant.world.now_ns = session.now_ns  # type: ignore[attr-defined]
        session._tick(session.now_ns)

    return tick


def _bare_tick(rig: Rig) -> Work:
    """Rigid-body terms of both arms, one rotation error, two products: the minimum."""
    arms = [station.arm for station in rig.session.stations]
    wrench = np.ones(6)

    def bare() -> None:
        for arm in arms:
            bare_terms(arm)
            wrench.dot(arm.J)
        pin.log3(arms[0].rotation.dot(arms[1].rotation.T))

    return bare


def bare_terms(arm: Arm) -> None:
    """One arm's rigid-body terms by the bare calls."""
    pin.computeAllTerms(arm.model, arm.data, arm.q, arm.v)
    pin.updateFramePlacement(arm.model, arm.data, arm._frame)
    pin.getFrameJacobian(arm.model, arm.data, arm._frame, pin.LOCAL_WORLD_ALIGNED)


def bare_drift(arm: Arm) -> None:
    """The tool's acceleration while no joint accelerates, by the bare call."""
    pin.getFrameClassicalAcceleration(arm.model, arm.data, arm._frame, pin.LOCAL_WORLD_ALIGNED)


def _dual_arm(law: str = "virtual-constraints", **more: Any) -> Rig:
    return build_rig("dual-arm", Options(law=law, **more))


def _dual_arm_tick() -> Prepared:
    rig = _dual_arm()
    return _tick(rig), _bare_tick(rig), toolbox_tick(rig)


class UserLaw(PositionPosition):
    """The spring as a user would write it, in plain NumPy."""

    name = "users-spring"

    def step(self, a: Side, b: Side, dt: float) -> tuple[Effort, Effort]:
        """Equal and opposite."""
        self.measure(a, b)
        K, D = np.repeat([1000.0, 20.0], 3), np.repeat([70.0, 1.2], 3)
        wrench = K * self.error + D * self.rate
        return a.effort(-wrench), b.effort(wrench)


class UserPlant(Plant):
    """A plant as a user would write it: it fills a sample of its own."""

    def __init__(self, inner: Plant) -> None:
        self.inner, self.name, self.actuated = inner, inner.name, inner.actuated
        self.accepts, self.world = inner.accepts, inner.world  # type: ignore[attr-defined]
        self._sample = Sample(len(inner.actuated), len(inner.actuated))

    def read(self, now_ns: int) -> Sample:
        """The sample of the simulated arm, number by number."""
        found = self.inner.read(now_ns)
        self._sample.time_ns = found.time_ns
        self._sample.q[:], self._sample.v[:] = found.q, found.v
        self._sample.set_wrench(found.wrench)
        return self._sample

    def write(self, command: Command, now_ns: int) -> None:
        """Pass it on."""
        self.inner.write(command, now_ns)


class UserLayer(Layer):
    """A layer that lets everything through, as a user's own begins."""

    name = "users-layer"

    def ports(self) -> tuple[LayerPort, LayerPort]:
        """One for each end."""
        return LayerPort(), LayerPort()


def _user_law_tick() -> Prepared:
    """A law in plain Python, beside the same law of the library."""
    return _tick(_dual_arm(f"{__name__}:UserLaw")), _tick(_dual_arm("position-position")), {}


def _user_plant_tick() -> Prepared:
    """Both plants wrapped in plain Python, beside the simulated ones."""
    rig = _dual_arm()
    for station in rig.session.stations:
        station.plant = UserPlant(station.plant)
    return _tick(rig), _tick(_dual_arm()), {}


def _user_layer_tick() -> Prepared:
    """A link with a layer in plain Python, beside a link without."""
    linked = _dual_arm(layer=f"{__name__}:UserLayer", delay=20.0)
    return _tick(linked), _tick(_dual_arm(delay=20.0)), {}


def _dual_arm_second() -> Prepared:
    rig, bare = _dual_arm(), build_rig("dual-arm", Options())
    steps = round(1e9 / bare.world.step_ns)

    def floor() -> None:
        for _ in range(steps):
            mujoco.mj_step(bare.world.model, bare.world.data)

    return lambda: rig.session.run(1.0, rig.metrics.pull), floor, {}


def _constraints() -> Prepared:
    """The law with both arms' dynamics, beside the bare library calls that it needs."""
    rig = _dual_arm()
    rig.session.run(1.0)
    a, b = (station.side for station in rig.session.stations)
    law, arms = rig.session.bridges[0].laws[0], [station.arm for station in rig.session.stations]
    rhs, gamma, six = np.ones((6, 7), order="F"), np.asfortranarray(np.eye(6)), np.ones(6)

    def whole() -> None:
        for arm in arms:
            arm.compute()
        law.step(a, b, 1e-3)

    def bare() -> None:
        for arm in arms:
            bare_terms(arm)
            bare_drift(arm)
            arm.J.dot(dposv(arm.M, rhs)[1])
        pin.log3(arms[0].rotation)
        gamma.dot(dposv(gamma.dot(gamma), six)[1])

    return whole, bare, toolbox_law(rig)


def _law(name: str) -> Prepared:
    rig = build_rig("dual-arm", Options(law=name))
    rig.session.run(1.0)
    a, b = (station.side for station in rig.session.stations)
    law = rig.session.bridges[0].laws[0]
    return lambda: law.step(a, b, 1e-3) and None, None, {}


def _telemetry() -> Prepared:
    telemetry = Telemetry()
    stream = telemetry.stream("hundred", 1000.0)
    values, numbers, copy = stream.channel("x", 100, "-"), np.ones(100), np.zeros(100)
    telemetry.freeze()

    def record() -> None:
        values[:] = numbers
        stream.commit(0)

    return record, lambda: np.copyto(copy, numbers), {}


def _crossing() -> Prepared:
    a, b = connect(Packet(6, 6), Packet(6, 6), MemoryChannel(), MemoryChannel())

    def cross() -> None:
        a.send(0)
        b.receive(0)

    return cross, None, {}


def toolbox_arm():
    """The rig's UR5e (kinematics ``cb``) as a Robotics Toolbox arm."""
    from roboticstoolbox import DHRobot, RevoluteDH

    arm = DHArm.load("ur5e", "cb")
    # The toolbox's order is Ixx, Iyy, Izz, Ixy, Iyz, Ixz
    inertia = arm.inertia[:, [0, 3, 5, 1, 4, 2]]
    rows = zip(arm.d, arm.a, arm.alpha, arm.mass, arm.com, inertia, arm.armature, strict=True)
    links = [
        RevoluteDH(d=d, a=a, alpha=alpha, m=mass, r=com, I=tensor, Jm=armature, G=1)
        for d, a, alpha, mass, com, tensor, armature in rows
    ]
    return DHRobot(links, name="ur5e")


def toolbox_tick(rig: Rig) -> dict[str, Work]:
    """The law and gravity compensation for both arms; empty without the toolbox."""
    if importlib.util.find_spec("roboticstoolbox") is None:
        return {}
    robot, evaluate = toolbox_arm(), _toolbox_law(rig)
    zero, up = np.zeros(6), np.array([0.0, 0.0, 9.81])

    def tick() -> None:
        for (q, _, J), u in zip(*evaluate(robot), strict=True):
            np.clip(J.T @ u + robot.rne(q, zero, zero, gravity=up), -150.0, 150.0)

    return {"roboticstoolbox": tick}


def toolbox_law(rig: Rig) -> dict[str, Work]:
    """The law alone; empty without the toolbox."""
    if importlib.util.find_spec("roboticstoolbox") is None:
        return {}
    robot, evaluate = toolbox_arm(), _toolbox_law(rig)
    return {"roboticstoolbox": lambda: evaluate(robot) and None}


def _toolbox_law(rig: Rig):
    """The law as a user of the toolbox would write it."""
    states = [(station.arm.q.copy(), station.arm.v.copy()) for station in rig.session.stations]
    zero, rho, Kp, Kd = np.zeros(6), 0.01, 110.87, 16.85

    def evaluate(robot):
        terms, gamma, rhs = [], rho * rho * np.eye(6), np.zeros(6)
        poses = [robot.fkine(q).A for q, _ in states]
        for (q, v), sign in zip(states, (-1.0, 1.0), strict=True):
            J = robot.jacob0(q)
            pushed = np.column_stack([J.T, robot.rne(q, v, zero, gravity=zero[:3])])
            response = np.linalg.solve(robot.inertia(q), pushed)
            gamma = gamma + J @ response[:, :6]
            drift = robot.jacob0_dot(q, v, J0=J) @ v
            rhs += sign * (J @ response[:, 6] - drift) - sign * Kd * (J @ v)
            terms.append((q, v, J))
        turn = poses[1][:3, :3] @ poses[0][:3, :3].T
        angle = np.arccos(np.clip(0.5 * (np.trace(turn) - 1.0), -1.0, 1.0))
        skew = turn - turn.T
        axis = 0.5 * np.array([skew[2, 1], skew[0, 2], skew[1, 0]])
        apart = poses[1][:3, 3] - poses[0][:3, 3]
        error = np.concatenate([apart, axis * (angle / max(np.sin(angle), 1e-9))])
        u = np.linalg.solve(gamma, rhs - Kp * error)
        return terms, (-u, u)

    return evaluate


BENCHMARKS = [
    Benchmark("tick/dual-arm", _dual_arm_tick, calls=300, each=True),
    # the floor is the same tick with the library's own part
    Benchmark("tick/dual-arm/user-law", _user_law_tick, calls=300, each=True),
    Benchmark("tick/dual-arm/user-plant", _user_plant_tick, calls=300, each=True),
    Benchmark("tick/dual-arm/user-layer", _user_layer_tick, calls=300, each=True),
    Benchmark("virtual-second/dual-arm", _dual_arm_second, 1, "s"),
    *(Benchmark(f"law/{n}", partial(_law, n)) for n in LAWS if n != "virtual-constraints"),
    Benchmark("law/virtual-constraints", _constraints, calls=300),
    Benchmark("telemetry/100-channels", _telemetry, calls=2000),
    Benchmark("link/crossing", _crossing),
]

"""The robot by itself: weight, dynamics, base and arm, wheels, odometry: Y-15 to Y-19."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

import farhand.plants.simulated.mecanum
from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.control.tool.torque import Base, TorqueController, WholeBodyController
from farhand.plants.plant import JointTorque
from farhand.plants.simulated.mecanum import (
    TICK,
    LinkMap,
    MecanumPlant,
    Odometry,
    move_along_arc,
    turned,
)
from farhand.plants.simulated.port import Imperfections, SimulatedPlant
from farhand.plants.simulated.rigid import RigidPlant
from farhand.rigs import Options, build_rig
from farhand.robots import load_robot
from farhand.robots.edits import scale_mass
from farhand.world import Placed, World
from farhand_lab.harness import Figure, Finding, experiment, generator, shared
from farhand_lab.mutation import Mutations
from farhand_lab.plots import canvas
from farhand_lab.trial import run

Array = np.ndarray

MS = 1_000_000
# The encoder is on the motor, behind the first joint's gear
ARM_TICK_RAD = 2.0 * np.pi / 4000.0 / 156.0
POSTURES = (
    (2.967, 0.642, -1.417, 3.507, 2.923),
    (2.95, 1.134, -2.548, 1.789, 2.923),
    (1.5, 1.9, -1.6, 2.6, 1.0),
)
"""Home, candle, and stretched out to the side, where the weight is greatest, [rad]."""


@shared
def hanging(posture: int, mass: float = 1.0) -> Array:
    """Joints over 5 s with the weight compensated, n × 5, [rad]; ``mass``: true over model, [-]."""
    robot = load_robot("youbot", "fixed")
    true = robot if mass == 1.0 else robot.edited(scale_mass(mass))
    world = World({"arm": Placed(true, q=np.array(POSTURES[posture]))})
    plant = SimulatedPlant(world, "arm", Imperfections(encoder_step=ARM_TICK_RAD))
    arm, request = Arm.of(robot), ControlRequest()
    request.valid = True
    controller = TorqueController(arm, "free")
    track = np.zeros((5000, 5))
    for tick in range(5000):
        sample = plant.read(tick * MS)
        arm.update(sample.q, sample.v)
        plant.write(controller.step(request, tick * MS), tick * MS)
        track[tick] = world.ports["arm"].q
    return track


SLACK: tuple[tuple[str, object], ...] = (
    *((f"law.spring.{name}", 0.0) for name in ("stiffness", "rotational_stiffness")),
    *((f"law.spring.{name}", 0.0) for name in ("damping", "rotational_damping")),
    ("rig.arm_viscous", (0.0,) * 5),
    ("follower.plant.encoder_step", ARM_TICK_RAD),
)
"""The rig with slack springs, no friction in the arm, and joints in encoder counts."""


@shared
def slack(posture: str) -> float:
    """Largest drift of a joint of the rig's arm in 5 s, coupled by a slack spring, [°].

    Infinite if it did not stay coupled.
    """
    settings = [("rig.posture", posture), *SLACK]
    result = run(build_rig("youbot", Options(scenario="rest", settings=settings)), 5.0)
    joints, engagement = result.signal("follower", "q"), result.signal("coupling", "engagement")
    coupled = engagement[-1].item() == 1.0 and not result.rig.session.trips
    return float(np.degrees(np.abs(joints - joints[0]).max())) if coupled else np.inf


@experiment("Y-15")
def weight() -> Finding:
    """The rig's arm in two postures; a third one, and a plant 1 % heavier, without the rig."""
    drift = max(slack(posture) for posture in ("home", "candle"))
    drift = max(drift, float(np.degrees(np.abs(hanging(2) - hanging(2)[0]).max())))
    heavier = [
        float(np.degrees(np.abs(hanging(k, 1.01) - hanging(k, 1.01)[0]).max()))
        for k in range(len(POSTURES))
    ]
    note = (
        "no friction in the joints, three postures; a plant 1 % heavier than believed sinks by up "
        f"to {max(heavier):.0f}° in the same 5 s, so on a real arm it is friction that holds the "
        "rest"
    )
    return Finding(drift, drift < 1.0, note)


@experiment("Y-16")
def energy_of_a_falling_arm() -> Finding:
    """Let go at home: five joints swing; the drift is a share of the energy that changes form."""
    drift, swung = falling()
    residual = inverse_of_forward()
    note = (
        f"{swung:.1f} J change between height and motion; inverse dynamics of the forward "
        f"accelerations give the torque back to {residual:.0e} N·m"
    )
    return Finding(drift, drift < 1e-3 and residual < 1e-9 and swung > 1.0, note)


@shared
def falling() -> tuple[float, float]:
    """Largest drift of energy over 10 s over the largest kinetic energy, and that [J]."""
    robot = load_robot("youbot", "fixed")
    plant = RigidPlant("arm", Arm.of(robot), robot.home, MS, "rk4")
    arm = plant.arm
    totals, moving = [], []
    for tick in range(0, 10_000, 20):
        plant.advance(tick * MS)
        moving.append(arm.kinetic_energy())
        totals.append(moving[-1] + float(pin.computePotentialEnergy(arm.model, arm.data, plant.q)))
    return float(np.ptp(totals)) / max(moving), max(moving)


def inverse_of_forward() -> float:
    """Largest error of the inverse dynamics of forward accelerations, [N·m]."""
    rng, arm = generator("dynamics"), Arm.of(load_robot("youbot", "fixed"))
    worst = 0.0
    for _ in range(100):
        q, v, torque = rng.uniform(-3, 3, 5), rng.normal(size=5), rng.normal(size=5)
        arm.update(q, v)
        acceleration = pin.aba(arm.model, arm.data, q, v, torque)
        arm.update(q, v)
        worst = max(worst, float(np.abs(arm.M @ acceleration + arm.bias - torque).max()))
    return worst


@experiment("Y-17")
def whole_body() -> Finding:
    """Power at the tool and at the four wheels and five joints, at 200 random states."""
    worst, idle, driven = 0.0, 0.0, 0.0
    for on in (True, False):
        for wrench, arm, plant, torque in _distributed(on, 100):
            speeds = plant.link.speeds(turned(-arm.q[2]) @ arm.v[:3])
            spent = plant.wheel_torque @ speeds + torque[3:] @ arm.v[3:]
            supplied = wrench @ arm.twist if on else wrench @ (arm.J[:, 3:] @ arm.v[3:])
            worst = max(worst, abs(float(spent - supplied)))
            size = float(np.abs(plant.wheel_torque).max())
            idle, driven = (idle, max(driven, size)) if on else (max(idle, size), driven)
    note = f"wheel torque with the base off {idle:g} N·m, with it on up to {driven:.2f} N·m"
    return Finding(worst, worst < 1e-9 and idle == 0.0 and driven > 0.1, note)


def _distributed(on: bool, count: int):
    """Wrench, model, plant and joint torque without weight, at random states."""
    robot, rng = load_robot("youbot"), generator("whole body")
    exact = Imperfections(actuator_limit=0.0)
    plant = MecanumPlant(World({"robot": Placed(robot)}), "robot", imperfections=exact)
    plant.wheels.odometry = False
    plant.wheels.torque_limit = 1e3
    arm, request = Arm.of(robot), ControlRequest()
    request.valid = True
    controller = WholeBodyController(arm, "free", base=Base(on))
    carried = np.repeat([1.0 if on else 0.0, 1.0], [3, 5])
    for _ in range(count):
        plant.port.q[:] = robot.home + 0.3 * rng.normal(size=8)
        arm.update(plant.port.q, rng.normal(size=8))
        request.effort[:] = rng.normal(size=6) * np.repeat([20.0, 2.0], 3)
        command = controller.step(request, 0)
        without = JointTorque(8)
        without.value[:] = command.value - arm.gravity * carried
        plant.write(without, 0)
        yield request.effort, arm, plant, without.value


@experiment("Y-18")
def link_map() -> Finding:
    """Against the driver's own formulas, written out here once more."""
    link, rng = LinkMap(), generator("link map")
    r, lever = 0.0475, 0.385
    w = rng.normal(size=(100, 4))
    forward = r / 4 * (-w[:, 0] + w[:, 1] - w[:, 2] + w[:, 3])
    left = r / 4 * (w[:, 0] + w[:, 1] - w[:, 2] - w[:, 3])
    twist = np.column_stack([forward, left, r / (4 * lever) * w.sum(axis=1)])
    wrench, V = rng.normal(size=(2, 100, 3))
    power = (link.torques(wrench) * link.speeds(V)).sum(axis=1) - (wrench * V).sum(axis=1)
    yaw = link.twist(np.ones(4)) - np.array([0.0, 0.0, r / lever])
    misses = [link.B @ link.A - np.eye(3), link.twist(w) - twist, power, yaw]
    worst = max(float(np.abs(miss).max()) for miss in misses)
    # Break-away of all wheels, sources/youbot §2.8
    peak = (0.07115 + 0.07643 + 0.10259 + 0.07851) / r
    torque = float(np.abs(link.torques(np.array([peak, 0.0, 0.0]))).sum())
    note = (
        f"all wheels at 1 rad/s turn the base at {link.twist(np.ones(4))[2]:.5f} rad/s; {peak:.2f} "
        "N break it away"
    )
    return Finding(worst, worst < 1e-12 and abs(torque - peak * r) < 1e-9, note)


@experiment("Y-19")
def odometry() -> Finding:
    """Two squares of 1 m, one without turning; counts of the motors' encoders."""
    closures, errors = zip(*(square(turning, TICK) for turning in (0.0, 0.5 * np.pi)), strict=True)
    worst, closure = 1e3 * max(float(error.max()) for error in errors), 1e3 * max(closures)
    count = 1e3 * TICK * LinkMap().radius
    coarse = 1e3 * float(square(0.5 * np.pi, 2.0 * np.pi / 4000.0)[1].max())
    note = (
        f"one count is {1e3 * count:.1f} µm of the rim; the error on the way stays below "
        f"{worst:.4f} mm; with encoders on the wheels instead of the motors {coarse:.2f} mm"
    )
    figures = (Figure("Odometry along a square", lambda: _square_plot(errors)),)
    return Finding(closure, closure < 1.0 and worst < 20.0 * count, note, figures=figures)


@shared
def square(turning: float, tick: float) -> tuple[float, Array]:
    """Closure of the odometry and error on the way, n, [m], with this turn at corners [rad]."""
    link, known, true = LinkMap(), Odometry(LinkMap(), tick), np.zeros(3)
    angles, errors = np.zeros(4), []
    for side in ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)):
        along = np.array(side) if turning == 0.0 else np.array([1.0, 0.0])
        start = np.zeros(3)
        for share in _minimum_jerk(4000):
            now = np.array([*(share * along), 0.0])
            angles, true = _rolled(link, angles, true, now - start)
            start = now
            errors.append(np.hypot(*(known.update(angles) - true)[:2]))
        for _ in range(500 if turning else 0):
            angles, true = _rolled(link, angles, true, np.array([0.0, 0.0, turning / 500]))
            errors.append(np.hypot(*(known.update(angles) - true)[:2]))
    return float(np.hypot(*known.pose[:2])), np.array(errors)


def _rolled(link: LinkMap, angles: Array, pose: Array, moved: Array) -> tuple[Array, Array]:
    """Wheels and true pose after a displacement in the base's own axes, without slip."""
    after = pose.copy()
    move_along_arc(after, moved)
    return angles + link.speeds(moved), after


def _minimum_jerk(count: int) -> Array:
    s = np.arange(1, count + 1) / count
    return s**3 * (10.0 - 15.0 * s + 6.0 * s * s)


def _square_plot(errors: tuple[Array, ...]):
    figure, axes = canvas("time [s]", "position error [µm]", "Wheels known in whole counts")
    for error, label in zip(errors, ("without turning", "turning at the corners"), strict=True):
        axes.plot(1e-3 * np.arange(len(error)), 1e6 * error, linewidth=0.7, label=label)
    axes.legend(fontsize=8)
    return figure


MUTATIONS = Mutations()


@MUTATIONS.of(TorqueController, "step", "Y-15")
def gravity_1_percent(step, self, request, now_ns):
    """The controller carries 99 % of the arm's weight."""
    command = step(self, request, now_ns)
    command.value -= 0.01 * self.arm.gravity
    return command


@MUTATIONS.of(RigidPlant, "acceleration", "Y-16")
def no_coriolis(_, self, q, v, t):
    """The arm's dynamics forget Coriolis and centrifugal torque."""
    self.arm.update(q, v)
    return np.linalg.solve(self.arm.M, self.torque - self.arm.gravity)


@MUTATIONS.of(WholeBodyController, "step", "Y-17")
def base_doubled(step, self, request, now_ns):
    """The base gets twice its share of a wrench."""
    command = step(self, request, now_ns)
    command.value[:3] *= 2.0
    return command


@MUTATIONS.of(WholeBodyController, "step", "Y-17")
def base_never_off(step, self, request, now_ns):
    """The switch of the base does nothing."""
    enabled, self.base.enabled = self.base.enabled, True
    command = step(self, request, now_ns)
    self.base.enabled = enabled
    return command


@MUTATIONS.of(LinkMap, "torques", "Y-17 Y-18")
def one_wheel_backwards(_, self, wrench):
    """The rear left wheel turns the other way."""
    return (wrench @ self.B) * np.array([1.0, 1.0, -1.0, 1.0])


@MUTATIONS.of(farhand.plants.simulated.mecanum, "move_along_arc", "Y-19")
def no_heading(_, pose, moved):
    """Odometry adds up the base's own displacements without turning them."""
    pose += moved

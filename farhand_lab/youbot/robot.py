"""The robot by itself: weight, dynamics, one wrench over base and arm, wheels and odometry: Y-15 to Y-19."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.control.tool.torque import TorqueController
from farhand.control.tool.whole_body import Base, WholeBodyController
from farhand.plants.plant import JointTorque
from farhand.plants.simulated.link_map import TICK, LinkMap, Odometry, move_along_arc
from farhand.plants.simulated.mecanum import MecanumPlant, turned
from farhand.plants.simulated.port import Imperfections, SimulatedPlant
from farhand.plants.simulated.rigid import RigidPlant
from farhand.robots import load_robot
from farhand.robots.edits import scale_mass
from farhand.world import Placed, World
from farhand_lab.harness import Figure, Finding, experiment, generator, shared

Array = np.ndarray

MS = 1_000_000
# [rad], encoder on the motor, behind the first joint's gear
ARM_TICK = 2.0 * np.pi / 4000.0 / 156.0
POSTURES = (
    (2.967, 0.642, -1.417, 3.507, 2.923),
    (2.95, 1.134, -2.548, 1.789, 2.923),
    (1.5, 1.9, -1.6, 2.6, 1.0),
)
"""Home, candle, and stretched out to the side, where the weight is greatest, [rad]."""


@shared
def hanging(posture: int, mass: float = 1.0) -> Array:
    """Where the arm is over 5 s with slack springs and its weight compensated, n × 5, [rad].

    Args:
        posture: index of the start.
        mass: the plant's masses over those that the controller believes, [-].
    """
    robot = load_robot("youbot", "fixed")
    true = robot if mass == 1.0 else robot.edited(scale_mass(mass))
    world = World({"arm": Placed(true, q=np.array(POSTURES[posture]))})
    plant = SimulatedPlant(world, "arm", Imperfections(encoder_step=ARM_TICK))
    arm, asked = Arm.of(robot), ControlRequest()
    controller, asked.valid = TorqueController(arm, "free"), True
    track = np.zeros((5000, 5))
    for tick in range(5000):
        sample = plant.read(tick * MS)
        arm.update(sample.q, sample.v)
        plant.write(controller.step(asked, tick * MS), tick * MS)
        track[tick] = world.ports["arm"].q
    return track


@experiment("Y-15")
def weight() -> Finding:
    """Three postures without any friction, joints known in encoder counts; then with a plant 1 % heavier."""
    drift = max(float(np.abs(hanging(k) - hanging(k)[0]).max()) for k in range(len(POSTURES)))
    heavier = [
        float(np.degrees(np.abs(hanging(k, 1.01) - hanging(k, 1.01)[0]).max()))
        for k in range(len(POSTURES))
    ]
    note = (
        f"no friction in the joints, three postures; a plant 1 % heavier than believed sinks by up to "
        f"{max(heavier):.0f}° in the same 5 s, so on a real arm it is friction that holds the rest"
    )
    return Finding(float(np.degrees(drift)), np.degrees(drift) < 1.0, note)


@experiment("Y-16")
def energy_of_a_falling_arm() -> Finding:
    """Let go at home: five joints swing; the drift is a share of the energy that changes form."""
    drift, swung = falling()
    residual = inverse_of_forward()
    note = (
        f"{swung:.1f} J change between height and motion; inverse dynamics of the forward accelerations give the "
        f"torque back to {residual:.0e} N·m"
    )
    return Finding(drift, drift < 1e-3 and residual < 1e-9 and swung > 1.0, note)


@shared
def falling() -> tuple[float, float]:
    """Largest change of total energy over 10 s as a share of the largest kinetic energy, and that energy [J]."""
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
    """Largest torque by which the inverse dynamics miss what the forward dynamics were given, [N·m]."""
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
    """200 random states and wrenches: power at the tool against power at four wheels and five joints."""
    worst, idle, driven = 0.0, 0.0, 0.0
    for on in (True, False):
        for wrench, arm, plant, torque in _distributed(on, 100):
            speeds = plant.link.speeds(turned(-arm.q[2]) @ arm.v[:3])
            spent = plant.wheel_torque @ speeds + torque[3:] @ arm.v[3:]
            given = wrench @ arm.twist if on else wrench @ (arm.J[:, 3:] @ arm.v[3:])
            worst = max(worst, abs(float(spent - given)))
            size = float(np.abs(plant.wheel_torque).max())
            idle, driven = (idle, max(driven, size)) if on else (max(idle, size), driven)
    note = f"wheel torque with the base off {idle:g} N·m, with it on up to {driven:.2f} N·m"
    return Finding(worst, worst < 1e-9 and idle == 0.0 and driven > 0.1, note)


def _distributed(on: bool, count: int):
    """Wrench, model, plant and joint torque without weight, at random states."""
    robot, rng = load_robot("youbot"), generator("whole body")
    plant = MecanumPlant(
        World({"robot": Placed(robot)}), "robot", imperfections=Imperfections(actuator_limit=0.0)
    )
    plant.wheels.odometry, plant.wheels.torque_limit = False, 1e3
    arm, asked = Arm.of(robot), ControlRequest()
    controller, asked.valid = WholeBodyController(arm, "free", base=Base(on)), True
    for _ in range(count):
        plant.port.q[:] = robot.home + 0.3 * rng.normal(size=8)
        arm.update(plant.port.q, rng.normal(size=8))
        asked.effort[:] = rng.normal(size=6) * np.repeat([20.0, 2.0], 3)
        command = controller.step(asked, 0)
        without = JointTorque(8)
        without.value[:] = command.value - arm.gravity * np.repeat(
            [1.0 if on else 0.0, 1.0], [3, 5]
        )
        plant.write(without, 0)
        yield asked.effort, arm, plant, without.value


@experiment("Y-18")
def link_map() -> Finding:
    """Against the driver's own formulas, written out here once more."""
    link, rng = LinkMap(), generator("link map")
    r, lever = 0.0475, 0.385
    w = rng.normal(size=(100, 4))
    twist = np.column_stack(
        [
            r / 4 * (-w[:, 0] + w[:, 1] - w[:, 2] + w[:, 3]),
            r / 4 * (w[:, 0] + w[:, 1] - w[:, 2] - w[:, 3]),
            r / (4 * lever) * w.sum(axis=1),
        ]
    )
    wrench, V = rng.normal(size=(2, 100, 3))
    power = (link.torques(wrench) * link.speeds(V)).sum(axis=1) - (wrench * V).sum(axis=1)
    yaw = link.twist(np.ones(4)) - np.array([0.0, 0.0, r / lever])
    misses = [link.B @ link.A - np.eye(3), link.twist(w) - twist, power, yaw]
    worst = max(float(np.abs(miss).max()) for miss in misses)
    # break-away of all wheels, sources/youbot §2.8
    peak = (0.07115 + 0.07643 + 0.10259 + 0.07851) / r
    asked = float(np.abs(link.torques(np.array([peak, 0.0, 0.0]))).sum())
    note = f"all wheels at 1 rad/s turn the base at {link.twist(np.ones(4))[2]:.5f} rad/s; {peak:.2f} N break it away"
    return Finding(worst, worst < 1e-12 and abs(asked - peak * r) < 1e-9, note)


@experiment("Y-19")
def odometry() -> Finding:
    """Two squares of 1 m, one sideways without turning, one turning on its way; counts of the motors' encoders."""
    closures, errors = zip(*(square(turning, TICK) for turning in (0.0, 0.5 * np.pi)), strict=True)
    worst, closure = 1e3 * max(float(error.max()) for error in errors), 1e3 * max(closures)
    count = 1e3 * TICK * LinkMap().radius
    coarse = 1e3 * float(square(0.5 * np.pi, 2.0 * np.pi / 4000.0)[1].max())
    note = (
        f"one count is {1e3 * count:.1f} µm of the rim; the error on the way stays below {worst:.4f} mm; with encoders "
        f"on the wheels instead of the motors {coarse:.2f} mm"
    )
    figures = (Figure("Odometry along a square", lambda: _square_plot(errors)),)
    return Finding(closure, closure < 1.0 and worst < 20.0 * count, note, figures=figures)


@shared
def square(turning: float, tick: float) -> tuple[float, Array]:
    """Closure of the odometry and its error along the way, n, [m]; after each side it turns by ``turning`` [rad]."""
    link, known, true = LinkMap(), Odometry(LinkMap(), tick), np.zeros(3)
    angles, errors = np.zeros(4), []
    sides = [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)]
    for side in sides:
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
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(7.5, 3.0), layout="constrained")
    axes = figure.subplots()
    for error, label in zip(errors, ("without turning", "turning at the corners"), strict=True):
        axes.plot(1e-3 * np.arange(len(error)), 1e6 * error, linewidth=0.7, label=label)
    axes.set(xlabel="time [s]", ylabel="position error [µm]", title="Wheels known in whole counts")
    axes.legend(fontsize=8)
    return figure

"""The RX160 arm: kinematics, dynamics, spring, limits and gears, F-01 to F-12, X-01 and X-04."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pinocchio as pin

from farhand.arm import Arm
from farhand.control.tool.task import PoseLoop
from farhand.friction import GEAR_SETS, Gears
from farhand.mapping.ik import Model, Solver
from farhand.plants.plant import Sample
from farhand.plants.simulated.rigid import RigidPlant
from farhand.robots import Robot, load_robot
from farhand.robots.edits import set_armature
from farhand.robots.springs import CubicSpring
from farhand.safety.guard import Guard
from farhand.spatial import (
    Array,
    attitude_error,
    quaternion_from_rotation,
    rotation_from_quaternion,
    rotation_from_vector,
    rotation_from_zyx,
    rotation_vector,
    zyx_from_rotation,
)
from farhand.world.joints import GearFriction
from farhand.world.world import Placed, World
from farhand_lab.cooperative.bench import (
    DEGREE,
    GAINS,
    GRAVITY,
    PLANT_NS,
    ArmBench,
    BenchLog,
    BenchSetup,
    tracked,
)
from farhand_lab.harness import Finding, experiment, generator, shared
from farhand_lab.mutation import Mutations

FK = (
    ((0, 0, 0, 0, 0, 0), (0.150, 0.0, 2.110), (0.0, 0.0, 1.0)),
    ((0, -20, 110, 0, 90, 0), (0.492833, 0.0, 1.215246), (0.0, 0.0, -1.0)),
    ((0, -20, 90, 0, 20, 0), (0.565141, 0.0, 1.539009), (1.0, 0.0, 0.0)),
    ((45, 45, 45, 45, 45, 45), (0.976617, 1.054399, 1.078363), (0.146447, 0.853553, -0.5)),
    ((0, 0, 90, 45, 0, 45), (0.885, 0.0, 1.375), (1.0, 0.0, 0.0)),
    ((30, -40, 100, 60, -50, 20), (0.210675, 0.037368, 1.566328), (0.647944, -0.391954, 0.653101)),
)
"""Joints [°], flange position [m] and flange axis: sources/cooperative §2.3, derived."""

RNE = (
    ((0, -20, 90, 0, 20, 0), None, None, (0.0, 108.364, -49.972, 0.021, -0.166, 0.0)),
    ((45, 45, 45, 45, 45, 45), None, None, (0.0, -381.331, -53.984, -1.545, -0.083, 0.0)),
    ((0, 90, 0, 0, 0, 0), None, None, (0.0, -516.971, -54.033, 0.023, -0.166, 0.0)),
    ((30, -40, 100, 60, -50, 20), None, None, (0.0, 251.4775, -46.0946, -1.8296, 0.0174, -0.0001)),
    (
        (30, -40, 100, 60, -50, 20),
        (0.5, -0.4, 0.3, 0.2, -0.1, 0.6),
        (1.0, -1.0, 0.5, 2.0, -2.0, 3.0),
        (18.1546, 214.6073, -45.7723, -1.5207, 0.0029, 0.0),
    ),
)
"""Joints [°], speed, acceleration and torque [N·m] without tool and rotors:
sources/cooperative §2.4, derived."""

SPRING = {-100: -571.68, -60: -412.11, -20: -151.60, 0: -3.34, 20: 146.35, 60: 418.24, 90: 566.86}
"""Torque [N·m] of unit 2's spring by angle [°]: sources/cooperative §2.7, derived from (4.1)."""


def bare(variant: str = "rx160") -> Arm:
    """The arm without rotor inertia, as the published Newton–Euler model."""
    return Arm.of(load_robot("rx160", variant).edited(set_armature(0.0)), gravity=GRAVITY)


@experiment("F-01")
def limits() -> Finding:
    """Both arms, six joints, three kinds of limit, 1 % inside and 1 % beyond."""
    right, names = 0, []
    for variant in ("rx160", "rx160l"):
        robot = load_robot("rx160", variant)
        names.append(f"{variant} {robot.payload:g} kg")
        for joint in range(6):
            for share, trips in ((0.99, False), (1.01, True)):
                right += sum(tripped is trips for tripped in _trips(robot, joint, share))
    return Finding(right, right == 72, ", ".join(names))


def _trips(robot: Robot, joint: int, share: float) -> list[bool]:
    """Whether a joint at this share of its largest position, speed and torque trips."""
    results = []
    for kind in ("position", "speed", "torque"):
        guard, sample, torque = Guard(torque_trips=True), Sample(6, 6), np.zeros(6)
        guard.watch(robot.limits)
        if kind == "position":
            sample.q[joint] = share * robot.limits.upper[joint]
        elif kind == "speed":
            sample.v[joint] = share * robot.limits.velocity[joint]
        else:
            torque[joint] = share * robot.limits.torque[joint]
        guard.check(sample, 0)
        guard.limit(torque, 0)
        results.append(guard.trip is not None and guard.trip.kind == kind)
    return results


def craig(q: Array, fore: float = 0.625) -> Array:
    """Flange pose by the modified Denavit–Hartenberg table, sources/cooperative §2.3, 4 × 4."""
    half, pose = np.pi / 2, np.eye(4)
    table = [
        (0.0, 0.0, 0.550, q[0]),
        (0.150, -half, 0.0, q[1] - half),
        (0.825, 0.0, 0.0, q[2] + half),
        (0.0, half, fore, q[3]),
        (0.0, -half, 0.0, q[4]),
        (0.0, half, 0.110, q[5]),
    ]
    for a, alpha, d, theta in table:
        c, s, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
        middle = [[s * ca, c * ca, -sa, -sa * d], [s * sa, c * sa, ca, ca * d]]
        pose = pose @ np.array([[c, -s, 0, a], *middle, [0, 0, 0, 1]])
    return pose


@experiment("F-02")
def forward_kinematics() -> Finding:
    """Largest error of position and axis; the DH table is an independent copy, for both arms."""
    arm, worst, apart = bare(), 0.0, 0.0
    for degrees, position, axis in FK:
        arm.update(np.array(degrees) * DEGREE, np.zeros(6))
        off = np.abs(arm.position - position).max(), np.abs(arm.rotation[:, 2] - axis).max()
        worst = max(worst, *off)
    rng = generator("kinematics")
    for variant, fore in (("rx160", 0.625), ("rx160l", 0.925)):
        arm = bare(variant)
        for q in rng.uniform(-np.pi, np.pi, (50, 6)):
            arm.update(q, np.zeros(6))
            pose = craig(q, fore)
            moved = np.abs(pose[:3, 3] - arm.position).max()
            apart = max(apart, moved, np.abs(pose[:3, :3] - arm.rotation).max())
    return Finding(worst, worst < 1e-6 and apart < 1e-12, f"against the DH form {apart:.1e}")


@experiment("F-03")
def inverse_kinematics() -> Finding:
    """Random joints inside the limits, cold; then 500 small steps along a path, warm."""
    robot = load_robot("rx160")
    solver, model = Solver(robot, 1e-9, 1e-9), Model(robot)
    rng, worst, missed = generator("inverse kinematics"), 0.0, 0
    for q in rng.uniform(robot.limits.lower, robot.limits.upper, (10_000, 6)):
        pose = model.pose(q)
        solution = solver.solve(pose)
        missed += solution.status != "solved"
        worst = max(worst, float(np.abs(model.error(pose, solution.q)).max()))
    q, branches = np.array([0.3, -0.2, 1.5, 0.4, 0.7, 0.2]), set()
    for step in range(500):
        goal = q + 0.3 * np.sin(0.01 * step + np.arange(6))
        branches.add(solver.branch(solver.solve(model.pose(goal), goal + 1e-3).q))
    note = (
        f"{missed} of 10 000 not solved; {len(branches)} branch along the path; "
        f"family {solver.family}"
    )
    return Finding(worst, worst < 1e-9 and missed == 0 and len(branches) == 1, note)


@experiment("F-04")
def orientations() -> Finding:
    """Random axes; angles from 0 to π; roll, pitch, yaw away from 90° of pitch."""
    rng, trip, size = generator("orientations"), 0.0, 0.0
    for angle in (0.0, 1e-9, 1e-3, 0.5, 1.5, 3.0, np.pi - 1e-3, np.pi):
        for k in rng.normal(size=(20, 3)):
            axis = k / np.linalg.norm(k)
            R0, turn = rotation_from_vector(rng.normal(size=3)), rotation_from_vector(angle * axis)
            again = (
                rotation_from_vector(rotation_vector(turn)),
                rotation_from_quaternion(quaternion_from_rotation(turn)),
                rotation_from_zyx(zyx_from_rotation(turn)),
            )
            trip = max(trip, *(np.abs(R - turn).max() for R in again))
            for kind, length in (("axis-angle", angle), ("quaternion", angle / 2)):
                error = attitude_error(R0, turn @ R0, kind)
                size = max(size, abs(np.linalg.norm(error) - np.sin(length)))
    small = np.array([1e-5, -2e-5, 3e-5])
    turn = rotation_from_vector(small)
    errors = [attitude_error(np.eye(3), turn, kind) for kind in ("axis-angle", "rpy")]
    alike = max(np.abs(error - small).max() for error in errors)
    note = f"sizes to {size:.1e}; rpy and axis-angle agree near zero to {alike:.1e}"
    return Finding(trip, trip < 1e-9 and size < 1e-12 + 1e-15 and alike < 1e-9, note)


@experiment("F-05", "F-06")
def jacobian() -> dict[str, Finding]:
    """Central differences of poses and of the Jacobian."""
    arm, rng, h, jacobi, drift = bare(), generator("jacobian"), 1e-6, 0.0, 0.0
    for _ in range(100):
        q, v = rng.uniform(-2, 2, 6), rng.uniform(-1, 1, 6)
        arm.update(q, v)
        J, slope = arm.J.copy(), arm.drift.copy()
        poses = []
        for sign in (1.0, -1.0):
            arm.update(q + sign * h * v, v)
            poses.append((arm.position.copy(), arm.rotation.copy(), arm.J.copy()))
        (p_after, R_after, J_after), (p_before, R_before, J_before) = poses
        turned = rotation_vector(R_after @ R_before.T)
        moved = np.concatenate([p_after - p_before, turned]) / (2 * h)
        jacobi = max(jacobi, np.abs(moved - J @ v).max())
        drift = max(drift, np.abs((J_after - J_before) @ v / (2 * h) - slope).max())
    return {"F-05": Finding(jacobi, jacobi < 1e-6), "F-06": Finding(drift, drift < 1e-6)}


@experiment("F-08")
def newton_euler() -> Finding:
    """Against A and C from the kinetic energy; the energy drift of a 1 ms Runge–Kutta run."""
    arm, worst, apart, least = bare(), 0.0, 0.0, np.inf
    rest = (0.0,) * 6
    for degrees, speed, rate, torque in RNE:
        state = (np.array(degrees) * DEGREE, np.array(speed or rest), np.array(rate or rest))
        worst = max(worst, np.abs(pin.rnea(arm.model, arm.data, *state) - torque).max())
    rng = generator("newton-euler")
    for _ in range(3):
        q, v = rng.uniform(-2, 2, 6), rng.uniform(-1, 1, 6)
        arm.update(q, v)
        least = min(least, float(np.linalg.eigvalsh(arm.M)[0]))
        euler = pin.rnea(arm.model, arm.data, q, v, np.ones(6))
        lagrange = np.abs(_lagrange(arm, q, v) - euler).max()
        apart = max(apart, np.abs(arm.M - arm.M.T).max(), lagrange)
    drift = _energy_drift()
    note = (
        f"Lagrange oracle {apart:.1e}, least eigenvalue {least:.1e} kg·m², energy drift {drift:.1e}"
    )
    return Finding(worst, worst < 1e-3 and apart < 1e-9 and least > 0.0 and drift < 1e-3, note)


def _lagrange(arm: Arm, q: Array, v: Array) -> Array:
    """A q̈ + C q̇ + Q for q̈ = 1 from A alone, its derivatives by sixth-order differences, and U."""
    model, data, h = arm.model, arm.data, 2e-3
    weights = ((1, 0.75), (2, -0.15), (3, 1.0 / 60.0))

    def derivative(function: Callable[[Array], Array], k: int) -> Array:
        step = np.eye(6)[k] * h
        return sum(w * (function(q + n * step) - function(q - n * step)) for n, w in weights) / h

    def inertia(at: Array) -> Array:
        M = np.triu(pin.crba(model, data, at))
        return M + np.triu(M, 1).T

    def potential(at: Array) -> Array:
        return np.array([pin.computePotentialEnergy(model, data, at)])

    # ∂A/∂q_k, and from it the Christoffel symbols
    slopes = np.array([derivative(inertia, k) for k in range(6)])
    coriolis = 0.5 * (np.einsum("kij->ijk", slopes) + np.einsum("jik->ijk", slopes) - slopes)
    gravity = np.array([float(derivative(potential, k)[0]) for k in range(6)])
    return inertia(q) @ np.ones(6) + np.einsum("ijk,j,k->i", coriolis, v, v) + gravity


def _energy_drift() -> float:
    """Relative change of the energy in 5 s of falling, 1 ms Runge–Kutta, with spring and rotors."""
    robot = load_robot("rx160")
    start = np.array([0.0, 0.3, 0.5, 0.1, 0.4, 0.0])
    plant = RigidPlant("arm", Arm.of(robot, gravity=GRAVITY), start, 1_000_000, "rk4")
    spring = robot.springs[1]

    def energy() -> float:
        plant.arm.update(plant.q, plant.v)
        weight = pin.computePotentialEnergy(plant.arm.model, plant.arm.data, plant.q)
        return plant.arm.kinetic_energy() + float(weight) + spring.energy(float(plant.q[1]))

    initial, scale = energy(), 0.0
    for ms in range(0, 5000, 50):
        plant.advance(ms * 1_000_000)
        scale = max(scale, plant.arm.kinetic_energy())
    plant.advance(5_000_000_000)
    return abs(energy() - initial) / scale


@experiment("F-11")
def spring() -> Finding:
    """Unit 2's curve; the other units at 20, 45 and 90°; arm and world use the same object."""
    arm, worst = Arm.of(load_robot("rx160"), gravity=GRAVITY), 0.0
    for degrees, torque in SPRING.items():
        arm.update(np.array([0.0, degrees, 0.0, 0.0, 0.0, 0.0]) * DEGREE, np.zeros(6))
        worst = max(worst, abs(arm.spring[1] - torque))
    others = 0.0
    for variant, row in (("unit-1", (157.2, 353.2, 581.7)), ("rx160l", (142.0, 319.8, 519.8))):
        other = load_robot("rx160", variant).springs[1]
        torques = np.array([other.torque(degrees * DEGREE) for degrees in (20, 45, 90)])
        others = max(others, float(np.abs(torques - row).max()))
    curve = load_robot("rx160").springs[1]
    held = curve.torque(2.3) == curve.torque(100 * DEGREE)
    ok = worst < 0.01 and others < 0.06 and held and not curve.known(2.3) and curve.known(1.7)
    return Finding(worst, ok, f"unit 1 and RX160L within {others:.3f} N·m")


GEAR_TORQUES = (
    ("zengin", 1e-9, (55.32, 30.85, 40.48, 168.43, 3.77, 0.36)),
    ("zengin", 0.5, (126.29, 47.52, 39.69, 15.92, 21.67, 8.03)),
    ("akbas", 1e-9, (30.0, 10.0, 20.0, 20.0, 2.0, 1.5)),
    ("akbas", 0.1, (37.45, 4.61, 9.94, 4.04, 4.91, 2.34)),
    ("akbas", 1.0, (120.05, 50.0, 20.09, 10.0, 17.71, 7.46)),
    ("reduced", 1e-9, (18.0, 6.0, 12.0, 12.0, 1.2, 0.9)),
)
"""Set, speed of all joints [rad/s] and torques [N·m]: sources/cooperative §2.6, derived.

0⁺ is 1e-9 rad/s: Zengin's joint 4 falls from 168.44 N·m at zero to 168.43 N·m there."""


@experiment("F-09")
def gears() -> Finding:
    """Against the table; friction takes power at every pair of wrist speeds and is odd."""
    curves = ((Gears(set=name).steady(np.full(6, v)), row) for name, v, row in GEAR_TORQUES)
    worst = max(float(np.abs(curve - row).max()) for curve, row in curves)
    grid = np.linspace(-3.0, 3.0, 61)
    v = np.zeros((61, 61, 6))
    v[..., 4], v[..., 5] = np.meshgrid(grid, grid)
    v[..., :4] = v[..., 4:5]
    power, odd = np.inf, 0.0
    for name in GEAR_SETS:
        model = Gears(set=name)
        power = min(power, float((model.curve(v) * v).sum(axis=-1).min()))
        odd = max(odd, float(np.abs(model.curve(v) + model.curve(-v)).max()))
    ok = worst <= 0.01 and power >= 0.0 and odd == 0.0
    return Finding(worst, ok, f"least power {power:.3g} W; odd to {odd:g}")


def _creep(gears_model: str) -> float:
    """How far joint 4 moves in 5 s without a command when the controller has these gears, [°]."""
    # The noise of the raw joint velocities is assumed
    setup = BenchSetup(gears_model=gears_model, noise=0.05)
    idle = PoseLoop(kp=0.0, kd=0.0, kpo=0.0, kdo=0.0)
    log = ArmBench(setup, setup.computed_torque(idle)).run(5.0)
    return float(np.abs(log.q[:, 3] - log.q[0, 3]).max()) / DEGREE


@shared
def moved(compensated: bool, oriented: bool) -> BenchLog:
    """TA.1 with or without friction compensation and orientation loop.

    The published model has no rotors, so without the loop it hardly commands the wrist. With the
    loop the rotors are known, or it could not turn the wrist either way.
    """
    loop = PoseLoop(**GAINS["G7"] if oriented else {**GAINS["G7"], "kpo": 0.0, "kdo": 0.0})
    setup = BenchSetup(gears_model="reduced" if compensated else "", rotors=oriented)
    return tracked("TA.1", loop, setup)


@experiment("F-10", "X-04")
def friction_compensation() -> Finding:
    """Noisy velocities; the creep of joint 4 under too much compensation."""
    over, right = _creep("akbas"), _creep("reduced")
    still = moved(False, False)
    stuck = float(np.abs(still.q[:, 4:] - still.q[0, 4:]).max()) / DEGREE
    gain = moved(False, True).metrics[2] / moved(True, True).metrics[2]
    ok = over > 1.0 and right < 0.1 and stuck < 1.0 and gain >= 2.0
    note = (
        f"creep {over:.2f}° with 20 N·m, {right:.3f}° with 12; joints 5, 6 move {stuck:.3f}°; "
        f"error falls {gain:.1f} ×"
    )
    return Finding(over, ok, note)


POSTURE = np.array([0.0, 0.0, 90.0, 0.0, 20.0, 0.0]) * DEGREE
"""The other joints while joint 2 is measured, [rad]."""


class StiffArm:
    """The arm of the rig with its gears and spring; every joint is held by a stiff servo.

    Args:
        q: where it starts, [rad].
        model: variant of the arm whose weight and spring the servos support.
    """

    def __init__(self, q: Array, model: str = "rx160") -> None:
        self.world = World({"arm": Placed(load_robot("rx160"), q=q)}, PLANT_NS, GRAVITY)
        self.world.add_friction("arm", GearFriction(Gears(set="reduced")))
        self.port = self.world.ports["arm"]
        self._known = Arm.of(load_robot("rx160", model), gravity=GRAVITY)
        self._ticks = 0

    def step(self, goal: Array, rate: Array, frequency: float) -> Array:
        """The torques of one step of the world towards a goal [rad] and its rate, [N·m]."""
        port, known = self.port, self._known
        known.update(port.q, port.v)
        servo = frequency**2 * (goal - port.q) + 2.0 * frequency * (rate - port.v)
        port.torque[:] = known.gravity + np.diag(known.M) * servo
        self._ticks += 1
        self.world.advance(self._ticks * PLANT_NS)
        return port.torque


def _weight(q2: Array) -> Array:
    """Q₂ with the other joints at (0, ·, 90, 0, 20, 0)°, [N·m]."""
    arm, torques = Arm.of(load_robot("rx160"), gravity=GRAVITY), []
    for angle in q2:
        arm.update(np.where(np.arange(6) == 1, angle, POSTURE), np.zeros(6))
        torques.append(arm.gravity[1] - arm.spring[1])
    return np.array(torques)


@shared
def settled(side: float) -> tuple[Array, Array]:
    """Angle [rad] and holding torque [N·m] of joint 2 at 41 stops, going up (+1) or down (−1).

    From stop to stop in 0.3 s; what was asked for in the last 50 ms of 0.3 s at rest counts. The
    servos are given the arm's weight but no spring.
    """
    stops = side * np.arange(-100, 101, 5) * DEGREE
    start = np.where(np.arange(6) == 1, stops[0] - side * 5 * DEGREE, POSTURE)
    arm, h, angles, torques = StiffArm(start), 1e-9 * PLANT_NS, [], []
    moving, count, last = round(0.3 / h), round(0.6 / h), round(0.05 / h)
    goal, still = start.copy(), np.zeros(6)
    for stop in stops:
        before, mean = goal[1], 0.0
        for k in range(count):
            goal[1] = before + (stop - before) * min((k + 1) / moving, 1.0)
            torque = arm.step(goal, still, 60.0)
            mean += torque[1] / last if k >= count - last else 0.0
        angles.append(float(arm.port.q[1]))
        torques.append(mean)
    order = np.argsort(angles)
    return np.array(angles)[order], np.array(torques)[order]


@experiment("F-12", "X-01")
def spring_identification() -> Finding:
    """41 stops from below and above on the arm; mean of both holding torques minus the weight."""
    (q_up, up), (q_down, down) = settled(1.0), settled(-1.0)
    q = 0.5 * (q_up + q_down)
    fitted = CubicSpring.fit(q, 0.5 * (up + down) - _weight(q))
    truth = load_robot("rx160").springs[1]
    assert isinstance(truth, CubicSpring)
    c, t = np.array(fitted.coefficients), np.array(truth.coefficients)
    grid = np.linspace(-100, 100, 201) * DEGREE
    worst = max(abs(fitted.torque(a) - truth.torque(a)) for a in grid)
    odd = (abs(c[[1, 3]] / t[[1, 3]] - 1.0) < 0.03).all()
    even = (abs(c[[0, 2]] - t[[0, 2]]) < 3.0).all()
    skewed, own = _skew("unit-1"), _skew("rx160")
    friction = 0.5 * float(np.abs(up - down).mean())
    note = (
        f"({c[3]:.2f}, {c[2]:.2f}, {c[1]:.2f}, {c[0]:.2f}) for "
        f"({t[3]:g}, {t[2]:g}, {t[1]:g}, {t[0]:g}); the two ways differ by ± {friction:.1f} N·m; "
        f"mean error of joint 2 on a symmetric motion {skewed:.3f}° with unit 1's curve, "
        f"{own:.3f}° with its own"
    )
    ok = odd and even and worst < 10.0 and abs(skewed) > 5.0 * abs(own) and abs(skewed) > 0.02
    return Finding(worst, bool(ok), note)


def _skew(model: str) -> float:
    """Mean error of joint 2 that swings ±20° with another unit's spring compensated, [°]."""
    arm, h, errors, omega = StiffArm(POSTURE, model), 1e-9 * PLANT_NS, [], np.pi
    goal, rate = POSTURE.copy(), np.zeros(6)
    for step in range(round(4.0 / h)):
        goal[1] = 20 * DEGREE * np.sin(omega * step * h)
        rate[1] = 20 * DEGREE * omega * np.cos(omega * step * h)
        arm.step(goal, rate, 10.0)
        # One whole period
        if step >= round(2.0 / h):
            errors.append(float(goal[1] - arm.port.q[1]))
    return float(np.mean(errors)) / DEGREE


MUTATIONS = Mutations()


@MUTATIONS.of(CubicSpring, "torque", "F-11")
def spring_without_cube(torque, self: CubicSpring, q: float) -> float:
    """The cubic term of the balance spring is missing."""
    return torque(self, q) - self.coefficients[3] * q**3


@MUTATIONS.of(Guard, "limit", "F-01")
def torque_never_trips(limit, self: Guard, torque: Array, now_ns: int) -> bool:
    """A torque beyond the limit is cut and forgotten."""
    return True


@MUTATIONS.of(sys.modules[__name__], "attitude_error", "F-04")
def sine_is_half(error, a: Array, b: Array, kind: str) -> Array:
    """The axis-angle error lacks the factor one half of its cross products."""
    return error(a, b, kind) * (2.0 if kind == "axis-angle" else 1.0)


@MUTATIONS.of(Gears, "curve", "F-09")
def gears_not_coupled(curve, self: Gears, v: Array) -> Array:
    """Joints 5 and 6 share no gear."""
    return self.terms.curve(v @ self.directions.T)[..., :6]


@MUTATIONS.of(GearFriction, "at", "X-04")
def no_stiction(at, self: GearFriction, v: Array, dry: Array, torque: Array) -> None:
    """The plant's gears resist motion but do not hold a joint at rest."""


@MUTATIONS.of(CubicSpring, "fit", "X-01 F-12")
def weight_left_in(fit, q: Array, torque: Array) -> CubicSpring:
    """The arm's weight is not subtracted from the holding torque."""
    return fit(q, torque + _weight(q))

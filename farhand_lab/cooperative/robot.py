"""The RX160 itself: kinematics, dynamics, spring and limits: F-01 to F-06, F-08 and F-11."""

from __future__ import annotations

import sys

import numpy as np
import pinocchio as pin

from farhand import spatial
from farhand.arm import Arm
from farhand.mapping.ik import Model, Solver
from farhand.plants.plant import Sample
from farhand.robots import Robot, load_robot, springs
from farhand.robots.edits import set_armature
from farhand.safety.guard import Guard
from farhand.spatial import (
    attitude_error,
    quaternion_from_rotation,
    rotation_from_quaternion,
    rotation_from_vector,
    rotation_from_zyx,
    rotation_vector,
    zyx_from_rotation,
)
from farhand_lab.cooperative.bench import DEGREE, GRAVITY
from farhand_lab.harness import Finding, experiment, generator
from farhand_lab.mutation import Mutation, changed, patched

Array = np.ndarray


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

SPRING = (
    (-100, -571.68),
    (-60, -412.11),
    (-20, -151.60),
    (0, -3.34),
    (20, 146.35),
    (60, 418.24),
    (90, 566.86),
)
"""Angle [°] and torque [N·m] of unit 2's spring: sources/cooperative §2.7, derived from (4.1)."""


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
                right += sum(found is trips for found in _trips(robot, joint, share))
    return Finding(right, right == 72, ", ".join(names))


def _trips(robot: Robot, joint: int, share: float) -> list[bool]:
    """Whether a joint at this share of its largest position, speed and torque trips."""
    found = []
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
        found.append(guard.trip is not None and guard.trip.kind == kind)
    return found


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
        rows = [
            [c, -s, 0, a],
            [s * ca, c * ca, -sa, -sa * d],
            [s * sa, c * sa, ca, ca * d],
            [0, 0, 0, 1],
        ]
        pose = pose @ np.array(rows)
    return pose


@experiment("F-02")
def forward_kinematics() -> Finding:
    """Largest error of position and axis; the DH table is written out here independently, for both arms."""
    arm, worst, apart = bare(), 0.0, 0.0
    for q, position, axis in FK:
        arm.update(np.array(q) * DEGREE, np.zeros(6))
        worst = max(
            worst, np.abs(arm.position - position).max(), np.abs(arm.rotation[:, 2] - axis).max()
        )
    rng = generator("kinematics")
    for variant, fore in (("rx160", 0.625), ("rx160l", 0.925)):
        arm = bare(variant)
        for q in rng.uniform(-np.pi, np.pi, (50, 6)):
            arm.update(q, np.zeros(6))
            pose = craig(q, fore)
            apart = max(
                apart,
                np.abs(pose[:3, 3] - arm.position).max(),
                np.abs(pose[:3, :3] - arm.rotation).max(),
            )
    return Finding(worst, worst < 1e-6 and apart < 1e-12, f"against the DH form {apart:.1e}")


@experiment("F-03")
def inverse_kinematics() -> Finding:
    """Random joints inside the limits, cold; then 500 small steps along a path, warm."""
    robot = load_robot("rx160")
    solver, model = Solver(robot, 1e-9, 1e-9), Model(robot)
    rng, worst, missed = generator("inverse kinematics"), 0.0, 0
    for q in rng.uniform(robot.limits.lower, robot.limits.upper, (10_000, 6)):
        pose = model.pose(q)
        found = solver.solve(pose)
        missed += found.status != "solved"
        worst = max(worst, float(np.abs(model.error(pose, found.q)).max()))
    q, branches = np.array([0.3, -0.2, 1.5, 0.4, 0.7, 0.2]), set()
    for step in range(500):
        wanted = q + 0.3 * np.sin(0.01 * step + np.arange(6))
        branches.add(solver.branch(solver.solve(model.pose(wanted), wanted + 1e-3).q))
    note = f"{missed} of 10 000 not solved; {len(branches)} branch along the path; family {solver.family}"
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
            sine, half = (
                attitude_error(R0, turn @ R0, kind) for kind in ("axis-angle", "quaternion")
            )
            size = max(
                size,
                abs(np.linalg.norm(sine) - np.sin(angle)),
                abs(np.linalg.norm(half) - np.sin(angle / 2)),
            )
    small = rotation_from_vector(np.array([1e-5, -2e-5, 3e-5]))
    alike = max(
        np.abs(attitude_error(np.eye(3), small, k) - [1e-5, -2e-5, 3e-5]).max()
        for k in ("axis-angle", "rpy")
    )
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
        moved = np.concatenate(
            [poses[0][0] - poses[1][0], rotation_vector(poses[0][1] @ poses[1][1].T)]
        ) / (2 * h)
        jacobi = max(jacobi, np.abs(moved - J @ v).max())
        drift = max(drift, np.abs((poses[0][2] - poses[1][2]) @ v / (2 * h) - slope).max())
    return {"F-05": Finding(jacobi, jacobi < 1e-6), "F-06": Finding(drift, drift < 1e-6)}


@experiment("F-08")
def newton_euler() -> Finding:
    """The oracle builds A from kinetic energy and C from its derivatives; the drift is of a 1 ms Runge–Kutta run."""
    arm, worst, apart, least = bare(), 0.0, 0.0, np.inf
    for degrees, speed, rate, torque in RNE:
        q = np.array(degrees) * DEGREE
        found = pin.rnea(
            arm.model, arm.data, q, np.array(speed or (0.0,) * 6), np.array(rate or (0.0,) * 6)
        )
        worst = max(worst, np.abs(found - torque).max())
    rng = generator("newton-euler")
    for _ in range(3):
        q, v = rng.uniform(-2, 2, 6), rng.uniform(-1, 1, 6)
        arm.update(q, v)
        least = min(least, float(np.linalg.eigvalsh(arm.M)[0]))
        euler = pin.rnea(arm.model, arm.data, q, v, np.ones(6))
        apart = max(
            apart, np.abs(arm.M - arm.M.T).max(), np.abs(_lagrange(arm, q, v) - euler).max()
        )
    drift = _energy_drift()
    note = (
        f"Lagrange oracle {apart:.1e}, least eigenvalue {least:.1e} kg·m², energy drift {drift:.1e}"
    )
    return Finding(worst, worst < 1e-3 and apart < 1e-9 and least > 0.0 and drift < 1e-3, note)


def _lagrange(arm: Arm, q: Array, v: Array) -> Array:
    """A q̈ + C q̇ + Q for q̈ = 1 from A alone, its derivatives by sixth-order differences, and U."""
    model, data, h = arm.model, arm.data, 2e-3
    weights = ((1, 0.75), (2, -0.15), (3, 1.0 / 60.0))

    def derivative(function: object, k: int) -> Array:
        step = np.eye(6)[k] * h
        assert callable(function)
        return sum(w * (function(q + n * step) - function(q - n * step)) for n, w in weights) / h

    def inertia(at: Array) -> Array:
        M = np.triu(pin.crba(model, data, at))
        return M + np.triu(M, 1).T

    def potential(at: Array) -> Array:
        return np.array([pin.computePotentialEnergy(model, data, at)])

    slopes = np.array([derivative(inertia, k) for k in range(6)])  # ∂A/∂q_k
    coriolis = 0.5 * (
        np.einsum("kij->ijk", slopes)
        + np.einsum("jik->ijk", slopes)
        - np.einsum("ijk->ijk", slopes)
    )
    gravity = np.array([float(derivative(potential, k)[0]) for k in range(6)])
    return inertia(q) @ np.ones(6) + np.einsum("ijk,j,k->i", coriolis, v, v) + gravity


def _energy_drift() -> float:
    """Relative change of kinetic plus potential energy in 5 s of falling, 1 ms Runge–Kutta, spring and rotors in."""
    from farhand.plants.simulated.rigid import RigidPlant

    robot = load_robot("rx160")
    plant = RigidPlant(
        "arm",
        Arm.of(robot, gravity=GRAVITY),
        np.array([0.0, 0.3, 0.5, 0.1, 0.4, 0.0]),
        1_000_000,
        "rk4",
    )
    spring = robot.springs[1]

    def energy() -> float:
        plant.arm.update(plant.q, plant.v)
        weight = pin.computePotentialEnergy(plant.arm.model, plant.arm.data, plant.q)
        return plant.arm.kinetic_energy() + float(weight) + spring.energy(float(plant.q[1]))

    start, scale = energy(), 0.0
    for ms in range(0, 5000, 50):
        plant.advance(ms * 1_000_000)
        scale = max(scale, plant.arm.kinetic_energy())
    plant.advance(5_000_000_000)
    return abs(energy() - start) / scale


@experiment("F-11")
def spring() -> Finding:
    """Unit 2's curve; the other units at 20, 45 and 90°; arm and world use the same object."""
    arm, worst = Arm.of(load_robot("rx160"), gravity=GRAVITY), 0.0
    for degrees, torque in SPRING:
        arm.update(np.array([0.0, degrees, 0.0, 0.0, 0.0, 0.0]) * DEGREE, np.zeros(6))
        worst = max(worst, abs(arm.spring[1] - torque))
    curve, others = load_robot("rx160").springs[1], 0.0
    for variant, row in (("unit-1", (157.2, 353.2, 581.7)), ("rx160l", (142.0, 319.8, 519.8))):
        found = [load_robot("rx160", variant).springs[1].torque(a * DEGREE) for a in (20, 45, 90)]
        others = max(others, float(np.abs(np.array(found) - row).max()))
    held = (
        curve.torque(2.3) == curve.torque(100 * DEGREE)
        and not curve.known(2.3)
        and curve.known(1.7)
    )
    return Finding(
        worst, worst < 0.01 and others < 0.06 and held, f"unit 1 and RX160L within {others:.3f} N·m"
    )


MUTATIONS = [
    Mutation(
        "spring-without-cube",
        "the cubic term of the balance spring is missing",
        ("F-11",),
        lambda: changed(
            springs.CubicSpring,
            "torque",
            lambda old: lambda self, q: old(self, q) - self.coefficients[3] * q**3,
        ),
    ),
    Mutation(
        "torque-never-trips",
        "a torque beyond the limit is cut and forgotten",
        ("F-01",),
        lambda: changed(Guard, "limit", lambda old: lambda self, torque, now_ns: True),
    ),
    Mutation(
        "sine-is-half",
        "the axis-angle error lacks the half before its cross products",
        ("F-04",),
        lambda: patched(
            sys.modules[__name__],
            "attitude_error",
            lambda a, w, kind: (
                spatial.attitude_error(a, w, kind) * (2.0 if kind == "axis-angle" else 1.0)
            ),
        ),
    ),
]
"""Parts broken on purpose."""

"""Kinematics of the published arm, judged by its DH table: chain, Jacobians, frames, errors."""

from __future__ import annotations

import functools
import sys
from dataclasses import replace

import numpy as np

from farhand.arm import Arm
from farhand.coupling.coupling import Coupling
from farhand.robots import load_robot
from farhand.spatial import (
    ORIENTATION_ERRORS,
    adjoint,
    euler_xyz,
    orientation_error,
    rotation_from_vector,
    rotation_vector,
    skew,
    twist_in_parent,
    wrench_at,
    wrench_in_parent,
)
from farhand_lab.dh import DHArm
from farhand_lab.dual_arm.pair import CoupledArms, largest, rig_pair, slope, states
from farhand_lab.harness import Finding, experiment, generator
from farhand_lab.mutation import Mutation, Mutations

Array = np.ndarray

# tool position of set cb, [m]
PUBLISHED_POSITIONS = {
    "zero": (-0.817, -0.231, 0.063),
    "q_A": (0.131, 0.492, 0.488),
    "q_B": (-0.131, 0.817, 0.079),
    "q_L": (-0.131, 0.917, 0.063),
}
GRIP = np.array([0.0, -0.03, 0.05])  # top of the published handle in the tool's frame, [m]
# translation of T56 along its z-axis as corrected, [m]; printed with the other sign
WRIST = -0.051
ERRATUM_ANGLES = (1e-6, 0.5 * np.pi, np.radians(170.0))  # of erratum E-03, [rad]


@experiment("D-01")
def tables() -> Finding:
    """The tool of both parameter sets against the published poses and the DH product."""
    arms = {name: Arm.of(load_robot("ur5e", name)) for name in ("cb", "ur")}
    cb, ur = arms.values()
    postures = load_robot("ur5e", "cb").postures
    published = PUBLISHED_POSITIONS.items()
    off = max(largest(_tool(cb, postures[name])[:3, 3] - p) for name, p in published)
    sampled = [q for q, _ in states("tables", 1000)]
    dh_error = max(
        largest(_tool(arm, q) - table.pose(q))
        for name, arm in arms.items()
        for table in (DHArm.load("ur5e", name),)
        for q in (*postures.values(), *sampled)
    )
    apart = 1e3 * np.array([np.linalg.norm((_tool(cb, q) - _tool(ur, q))[:3, 3]) for q in sampled])
    ok = off < 1e-3 and dh_error < 1e-12 and abs(apart.mean() - 2.40) < 0.05 and apart.max() < 2.9
    note = (
        f"DH product met to {dh_error:.0e}; the sets are {apart.mean():.2f} mm apart, "
        f"at most {apart.max():.2f} mm"
    )
    return Finding(off, ok, note)


@experiment("D-02")
def chain() -> Finding:
    """The chain with the corrected wrist and the printed one, against its own DH table and ours."""
    cb, arm = DHArm.load("ur5e", "cb"), Arm.of(load_robot("ur5e", "cb"))
    own = replace(cb, d=np.array([0.163, 0.0, 0.0, 0.134, 0.1, 0.1]))
    sampled = [q for q, _ in states("chain", 1000)]
    worst = max(largest(_chain(q, WRIST) - own.pose(q)) for q in sampled)
    d4, printed = (
        np.array([np.linalg.norm((_chain(q, wrist) - _tool(arm, q))[:3, 3]) for q in sampled])
        for wrist in (WRIST, 0.051)
    )
    ok = worst < 1e-12 and np.ptp(d4) < 1e-12 and abs(d4[0] - 3e-3) < 1e-12
    ok = ok and abs(np.mean(printed) - 0.102) < 1e-3
    note = (
        f"{1e3 * d4[0]:.1f} mm from the arm of set CB; as printed {1e3 * np.mean(printed):.0f} mm"
    )
    return Finding(worst, bool(ok), note)


@experiment("D-03")
def jacobian() -> Finding:
    """J of both arms of the rig against central differences of the DH pose."""
    pair = rig_pair()
    worst = 0.0
    for q, v in states("jacobian", 100):
        pair.set_state(q, v, q, v)
        numeric = _numeric_jacobian(pair.tables[0], q)
        worst = max(worst, *(largest(arm.J - numeric) for arm in pair.arms))
    return Finding(worst, worst < 1e-8)


@experiment("D-04")
def drift() -> Finding:
    """J̇q̇ of each arm, and their difference Ġq̇, against differences of the DH Jacobian."""
    pair, worst = rig_pair(), 0.0
    for q_a, v_a, q_b, v_b in pair.random_states("drift", 100):
        one, two = (
            slope(lambda t, q=q, v=v, table=table: table.jacobian(q + t * v) @ v)  # type: ignore[misc]
            for q, v, table in zip((q_a, q_b), (v_a, v_b), pair.tables, strict=True)
        )
        leader, follower = (arm.drift for arm in pair.arms)
        worst = max(worst, largest(leader - one, follower - two, follower - leader - (two - one)))
    return Finding(worst, worst < 1e-8)


@experiment("D-05")
def body_jacobian() -> Finding:
    """One wrench gives one joint torque, in any axes and about any reference point."""
    arm, table, rng = Arm.of(load_robot("ur5e")), DHArm.load("ur5e"), generator("wrenches")
    torque = shifted = 0.0
    for q, v in states("body jacobian", 100):
        arm.update(q, v)
        R, wrench = arm.rotation.copy(), rng.normal(size=6)
        wrench_base = wrench_in_parent(R, np.zeros(3), wrench)
        torque = max(torque, largest(table.body_jacobian(q).T @ wrench - arm.J.T @ wrench_base))
        # the same wrench, known about the grip
        at_tool = wrench_at(wrench_base, -(R @ GRIP))
        torque = max(torque, largest(table.tool_jacobian(q, GRIP).T @ wrench - arm.J.T @ at_tool))
        numeric = _numeric_jacobian(table, q, GRIP)
        numeric = np.concatenate([R.T @ numeric[:3], R.T @ numeric[3:]])
        shifted = max(shifted, largest(table.tool_jacobian(q, GRIP) - numeric))
    ok = torque < 1e-12 and shifted < 1e-8
    return Finding(torque, ok, f"J_t within {shifted:.0e} of its differences")


@experiment("D-06")
def frames() -> Finding:
    """Power of a wrench on a twist is equal in both frames; Ad_T on wrenches creates power."""
    rng, worst, printed = generator("frames"), 0.0, 0.0
    for _ in range(1000):
        R, p = rotation_from_vector(rng.normal(size=3)), rng.uniform(-1.0, 1.0, 3)
        twist, wrench = rng.uniform(-1.0, 1.0, 6), rng.uniform(-1.0, 1.0, 6)
        there = twist_in_parent(R, p, twist)
        power = wrench @ twist
        off = abs(wrench_in_parent(R, p, wrench) @ there - power)
        worst = max(worst, off, largest(adjoint(R, p) @ twist - there))
        printed = max(printed, abs(adjoint(R, p) @ wrench @ there - power))
    note = f"with Ad_T on wrenches, as printed, up to {printed:.1f} W"
    return Finding(worst, worst < 1e-12 and printed > 0.1, note)


@experiment("D-11")
def constraint_rate() -> Finding:
    """The rate that the law reports against the change of its own error along the motion."""
    pair, worst = rig_pair(), 0.0
    for q_a, v_a, q_b, v_b in pair.random_states("rate", 50):
        pair.law.engage(pair.a, pair.b)
        pair.law.measure(pair.a, pair.b)
        rate = pair.law.rate.copy()  # −ẏ
        G = np.hstack([-pair.tables[0].jacobian(q_a), pair.tables[1].jacobian(q_b)])
        differences = slope(lambda t: _error(pair, q_a + t * v_a, q_b + t * v_b), 1e-5)  # noqa: B023
        worst = max(worst, largest(rate - differences, rate + G @ np.concatenate([v_a, v_b])))
    return Finding(worst, worst < 1e-6)


@experiment("D-16")
def orientation_errors() -> Finding:
    """Rotations of known angle and axis, through the logarithm and each closed form."""
    rng, worst = generator("orientation errors"), 0.0
    near = np.logspace(-12, -1, 45)
    for angle in (0.0, *near, *np.linspace(0.1, 3.1, 61), *(np.pi - near[near >= 1e-6])):
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        vector, sine = rotation_vector(_turn(axis, angle)), np.sin(0.5 * angle)
        for kind, size in (("rotvec", angle), ("eps", sine), ("two-eps", 2.0 * sine)):
            worst = max(worst, largest(orientation_error(vector, kind) - size * axis))
    half_turns = (np.diag(2.0 * k * k - 1.0) for k in np.eye(3))
    ends = [rotation_vector(R) for R in (np.eye(3), *half_turns)]
    kinds = ("rotvec", "eps", "two-eps")
    finite = all(np.isfinite(orientation_error(e, kind)).all() for e in ends for kind in kinds)
    off_pi = largest(np.linalg.norm(ends[1:], axis=1) - np.pi)
    printed = [
        float(np.linalg.norm(orientation_error(t * ends[1] / np.pi, "printed"))) / t
        for t in ERRATUM_ANGLES
    ]
    matches = np.allclose(printed, (2.086, 2.60, 15.4), rtol=2e-3) and len(ORIENTATION_ERRORS) == 4
    note = "as printed ‖e_o‖/θ = " + ", ".join(f"{ratio:.4g}" for ratio in printed)
    return Finding(worst, worst < 1e-9 and finite and off_pi < 1e-9 and bool(matches), note)


@experiment("D-17")
def euler_display() -> Finding:
    """Angles from a matrix, and the matrix from three plain rotations about x, y and z."""
    rng, worst = generator("euler"), 0.0
    for _ in range(1000):
        alpha, gamma = rng.uniform(-np.pi, np.pi, 2)
        R = _rotations(alpha, np.radians(rng.uniform(-89.0, 89.0)), gamma)
        worst = max(worst, largest(_rotations(*euler_xyz(R)) - R))
    return Finding(worst, worst < 1e-10)


def _tool(arm: Arm, q: Array) -> Array:
    arm.update(q, np.zeros(arm.nv))
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = arm.rotation, arm.position
    return pose


def _chain(q: Array, wrist: float) -> Array:
    """T07 of the seven printed matrices, with the translation of T56 given, [m]."""
    (c1, c2, c3, c4, c5, c6), (s1, s2, s3, s4, s5, s6) = np.cos(q), np.sin(q)
    last = [0.0, 0.0, 0.0, 1.0]
    matrices = [
        [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.1], last],
        [[c1, 0, s1, 0.069 * s1], [s1, 0, -c1, -0.069 * c1], [0, 1, 0, 0.063], last],
        [[c2, -s2, 0, -0.425 * c2], [s2, c2, 0, -0.425 * s2], [0, 0, 1, 0], last],
        [[c3, -s3, 0, -0.392 * c3], [s3, c3, 0, -0.392 * s3], [0, 0, 1, 0], last],
        [[c4, 0, s4, 0.05 * s4], [s4, 0, -c4, -0.05 * c4], [0, 1, 0, 0.065], last],
        [[c5, 0, -s5, wrist * s5], [s5, 0, c5, -wrist * c5], [0, -1, 0, 0.05], last],
        [[c6, -s6, 0, 0], [s6, c6, 0, 0], [0, 0, 1, 0.049], last],
    ]
    return functools.reduce(np.matmul, map(np.array, matrices))


def _numeric_jacobian(table: DHArm, q: Array, shift: Array | None = None) -> Array:
    """J in base axes by differences of the pose, of a point ``shift`` [m] in the tool's axes."""
    R = table.pose(q)[:3, :3]
    columns = []
    for joint in np.eye(len(q)):
        rate = slope(lambda t, joint=joint: table.pose(q + t * joint))  # type: ignore[misc]
        spin = rate[:3, :3] @ R.T
        velocity = rate[:3, 3] + (0.0 if shift is None else rate[:3, :3] @ shift)
        columns.append([*velocity, spin[2, 1], spin[0, 2], spin[1, 0]])
    return np.array(columns).T


def _error(pair: CoupledArms, q_a: Array, q_b: Array) -> Array:
    pair.set_state(q_a, np.zeros(6), q_b, np.zeros(6))
    pair.law.measure(pair.a, pair.b)
    return pair.law.error.copy()


def _turn(axis: Array, angle: float) -> Array:
    """Rodrigues' formula, with 1 − cos written so that small angles lose nothing."""
    S = skew(axis)
    return np.eye(3) + np.sin(angle) * S + 2.0 * np.sin(0.5 * angle) ** 2 * (S @ S)


def _rotations(alpha: float, beta: float, gamma: float) -> Array:
    """Rx(α) Ry(β) Rz(γ)."""
    x, y, z = np.eye(3)
    return _turn(x, alpha) @ _turn(y, beta) @ _turn(z, gamma)


_HERE = sys.modules[__name__]

MUTATIONS = Mutations()
MUTATIONS += [
    Mutation("kinematic set", "set UR is loaded as set CB", ("D-01",)).change(
        _HERE, "load_robot", lambda load: lambda name, variant=None: load(name, "ur")
    ),
    Mutation("printed wrist", "T56 as printed (E-07)", ("D-02",)).patch(_HERE, "WRIST", 0.051),
    Mutation("wrench by Ad_T", "wrenches change frame as twists do (E-14)", ("D-06",)).patch(
        _HERE, "wrench_in_parent", lambda R, p, wrench: adjoint(R, p) @ wrench
    ),
    Mutation("no lever arm", "a wrench keeps its moment when its point moves", ("D-05",)).patch(
        _HERE, "wrench_at", lambda wrench, shift: wrench
    ),
    Mutation("printed orientation error", "e_o as printed (E-03)", ("D-16",)).change(
        _HERE, "orientation_error", lambda whole: lambda vector, kind: whole(vector, "printed")
    ),
    Mutation("euler order", "angles of the transposed matrix", ("D-17",)).change(
        _HERE, "euler_xyz", lambda whole: lambda R: -whole(R.T)
    ),
]


@MUTATIONS.of(Coupling, "measure", "D-11")
def half_spin(measure, self, a, b):
    """ẏ has half the angular rate."""
    measure(self, a, b)
    self.rate[3:] *= 0.5


@MUTATIONS.of(Arm, "compute", "D-03 D-04 D-05 D-11")
def jacobian_axes(compute, self):
    """The Jacobian is in the tool's axes."""
    compute(self)
    for half in (slice(3), slice(3, 6)):
        self.J[half] = self.rotation.T @ self.J[half]
        self.drift[half] = self.rotation.T @ self.drift[half]
    self.J.dot(self.v, self.twist)


@MUTATIONS.of(Arm, "compute", "D-04")
def no_drift(compute, self):
    """J̇q̇ is left out."""
    compute(self)
    self.drift[:] = 0.0

"""Kinematics of the published pair of arms, and both mappings: C-01 to C-05."""

from __future__ import annotations

import sys

import numpy as np

from farhand.mapping import joint_map
from farhand.mapping.ik import Levenberg, Model
from farhand.mapping.joint_map import JointMapping
from farhand.mapping.workspace import IIWA_POWERBALL, RobotPair
from farhand.robots import load_robot
from farhand.spatial import rotation_vector
from farhand_lab.harness import Finding, experiment, generator
from farhand_lab.mutation import Mutation, Mutations

Array = np.ndarray


UPPER, FORE, FLANGE, SHOULDER = 0.350, 0.305, 0.075, 0.205  # lengths of Table 2.1, [m]
REACH_LEADER, REACH_FOLLOWER = 0.955, 0.705  # Table 2.2, [m]


def joints(
    stream: str, count: int, low: float | Array = -np.pi, high: float | Array = np.pi, n: int = 6
) -> Array:
    """Random joints, [rad]."""
    return generator(stream).uniform(low, high, (count, n))


def reach(q: Array) -> tuple[float, float]:
    """Signed distance of the wrist centre from the base axis, and height, [m]."""
    r = UPPER * np.sin(q[1]) + FORE * np.sin(q[1] - q[2])
    return float(r), float(UPPER * np.cos(q[1]) + FORE * np.cos(q[1] - q[2]))


@experiment("C-01")
def forward_kinematics() -> Finding:
    """The tool at zero joints, and the wrist centre at random joints against its closed form."""
    model = Model(load_robot("lwa4p"))
    up = model.pose(np.zeros(6))
    tip = float(np.abs(up.position - [0.0, 0.0, 0.935]).max())
    turned = float(np.abs(up.rotation - np.eye(3)).max())
    worst = 0.0
    for q in joints("forward kinematics", 1000):
        pose, (r, h) = model.pose(q), reach(q)
        wrist = pose.position - FLANGE * pose.rotation[:, 2]
        expected = [r * np.cos(q[0]), r * np.sin(q[0]), SHOULDER + h]
        worst = max(worst, float(np.abs(wrist - expected).max()))
    return Finding(
        worst, tip < 1e-9 and turned < 1e-9 and worst < 1e-12, f"tip off by {tip:.0e} m at q = 0"
    )


@experiment("C-02")
def jacobian() -> Finding:
    """J against differences, its determinant against the closed form, its rank at zero."""
    model, worst, determinant = Model(load_robot("lwa4p")), 0.0, 0.0
    for q in joints("jacobian", 300):
        J = model.jacobian(q).copy()
        worst = max(worst, float(np.abs(J - _differences(model, q)).max()))
        expected = UPPER * FORE * abs(np.sin(q[2]) * np.sin(q[4]) * reach(q)[0])
        determinant = max(determinant, abs(abs(np.linalg.det(J)) - expected))
    sigma = np.linalg.svd(model.jacobian(np.zeros(6)), compute_uv=False)
    rank = int((sigma > 1e-9).sum())
    values = ", ".join(f"{value:.3f}" for value in sigma[:3])
    note = f"det J met to {determinant:.0e}; at q = 0 the singular values are {values}, 0"
    return Finding(worst, worst < 1e-6 and determinant < 1e-12 and rank == 3, note)


def _differences(model: Model, q: Array, step: float = 1e-6) -> Array:
    columns = []
    for unit in np.eye(len(q)):
        ahead, behind = model.pose(q + step * unit), model.pose(q - step * unit)
        spin = rotation_vector(ahead.rotation @ behind.rotation.T)
        columns.append(np.concatenate([ahead.position - behind.position, spin]) / (2.0 * step))
    return np.array(columns).T


@experiment("C-03")
def arms_as_data() -> Finding:
    """The published solver on two unlike arms, 300 targets 0.05 rad from the start."""
    shares = {}
    for name in ("lwa4p", "elbow6"):
        solver = Levenberg(load_robot(name))
        model, rng, met = solver.model, generator(f"warm targets of {name}"), 0
        for q in rng.uniform(model.lower, model.upper, (300, 6)):
            target = model.pose(q)
            answer = solver.solve(target, q + rng.uniform(-0.05, 0.05, 6))
            error = model.error(target, answer.q)
            met += bool(np.linalg.norm(error[:3]) < 1e-4 and np.linalg.norm(error[3:]) < 2e-3)
        shares[name] = 100.0 * met / 300
    worst = min(shares.values())
    return Finding(
        worst, worst >= 99.0, ", ".join(f"{name} {share:.1f} %" for name, share in shares.items())
    )


@experiment("C-04")
def joint_to_joint() -> Finding:
    """Orientation of both tools, position beside the Cartesian map, and a plain copy."""
    leader, follower = Model(load_robot("iiwa14")), Model(load_robot("lwa4p"))
    mapping = JointMapping(**joint_map.IIWA_TO_POWERBALL)
    copy = JointMapping(tuple(range(6)), (1.0,) * 6, 6)
    cartesian = RobotPair(
        REACH_FOLLOWER / REACH_LEADER, (0.0, 0.0, 0.360), (0.0, 0.0, SHOULDER)
    ).mapping()
    worst = same = 0.0
    apart = []
    for q in generator("joint to joint").uniform(leader.lower, leader.upper, (1000, 7)):
        held = mapping.lock(q)
        mapping.forward(held, np.zeros(7))
        one, two = leader.pose(held), follower.pose(mapping.q)
        worst = max(worst, float(np.linalg.norm(rotation_vector(one.rotation.T @ two.rotation))))
        cartesian.forward(one.position, one.rotation, np.zeros(6))
        apart.append(1e3 * np.linalg.norm(cartesian.position - two.position))
        copy.forward(mapping.q, np.zeros(6))
        same = max(same, float(np.abs(follower.pose(copy.q).position - two.position).max()))
    note = (
        f"positions {np.mean(apart):.0f} mm from the scaled Cartesian map on average, at most "
        f"{max(apart):.0f} mm"
    )
    return Finding(worst, worst < 1e-9 and same == 0.0 and abs(np.mean(apart) - 43.0) < 3.0, note)


@experiment("C-05")
def cartesian() -> Finding:
    """Moves of 100 mm, the sphere of the leader's reach, and lines that stay straight."""
    mapping, rng = IIWA_POWERBALL.mapping(), generator("cartesian")

    def mapped(p: Array) -> Array:
        mapping.forward(p, np.eye(3), np.zeros(6))
        return mapping.position.copy()

    moves, edge, bent = [], 0.0, 0.0
    for _ in range(1000):
        way = rng.normal(size=3)
        way /= np.linalg.norm(way)
        start = rng.uniform(-0.5, 0.5, 3)
        moves.append(1e3 * float(np.linalg.norm(mapped(start + 0.1 * way) - mapped(start))))
        sphere = mapped(np.array(IIWA_POWERBALL.centre_leader) + REACH_LEADER * way)
        edge = max(edge, float(np.linalg.norm(sphere - IIWA_POWERBALL.centre_follower)))
        middle = 0.5 * (mapped(start) + mapped(start + 0.1 * way)) - mapped(start + 0.05 * way)
        bent = max(bent, float(np.abs(middle).max()))
    off = max(abs(move - 73.8) for move in moves)
    note = f"the leader's reach maps to {edge:.4f} m about the follower's shoulder"
    return Finding(max(moves), off < 0.1 and edge < REACH_FOLLOWER + 1e-9 and bent < 1e-12, note)


_HERE = sys.modules[__name__]
_UNSIGNED = {**joint_map.IIWA_TO_POWERBALL, "signs": (1, 1, 1, 1, 1, 1)}


MUTATIONS = Mutations(
    [
        Mutation("the other forearm", "the forearm is 10 mm longer", ("C-01", "C-02")).patch(
            _HERE, "FORE", 0.315
        ),
        Mutation(
            "no sign on joint 6", "leader joint 6 is copied without its sign", ("C-04",)
        ).patch(joint_map, "IIWA_TO_POWERBALL", _UNSIGNED),
        Mutation("scale of the heights", "the ratio of the full heights is used", ("C-05",)).patch(
            _HERE, "IIWA_POWERBALL", RobotPair(910.0 / 1305.0, (0.0, 0.0, 0.350), (0.0, 0.0, 0.205))
        ),
    ]
)


@MUTATIONS.of(Model, "jacobian", "C-02")
def wrist_axis_turned(jacobian, self, q):
    """Joint 5 turns the other way in J."""
    J = jacobian(self, q).copy()
    J[3:, 4] *= -1.0
    return J


@MUTATIONS.of(JointMapping, "lock", "C-04")
def joint_3_free(_, self, q):
    """Leader joint 3 is not locked."""
    return np.array(q)

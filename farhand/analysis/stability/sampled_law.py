"""A law along one axis as numbers: how its efforts answer to position, velocity and force of either side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.coupling import Coupling, Side
from farhand.errors import Mismatch
from farhand.spatial import rotation_from_vector

Array = np.ndarray

SIGNALS = ("position", "velocity", "force")
STEPS = {"position": 1e-5, "velocity": 1e-4, "force": 1e-2}
"""Differences by which a law is probed, [m] and [rad], [m/s] and [rad/s], [N] and [N·m]."""


@dataclass(frozen=True)
class SampledLaw:
    """A law's efforts along one axis, linear in what it sees.

    Attributes:
        on_leader: ∂w_a over (x_a, v_a, h_a) and (x_b, v_b, h_b), 2 × 3, [N/m], [N·s/m], [-].
        on_follower: ∂w_b over the same, 2 × 3.
    """

    on_leader: Array
    on_follower: Array

    @property
    def local(self) -> Array:
        """Answers to one's own side: rows leader and follower, columns position, velocity, force."""
        return np.array([self.on_leader[0], self.on_follower[1]])

    @property
    def remote(self) -> Array:
        """Answers to the other side, over the link: the leader's to the follower's signals, and the other way round."""
        return np.array([self.on_leader[1], self.on_follower[0]])


def sample_law(law: Coupling, a: Side, b: Side, axis: Array) -> SampledLaw:
    """What a law answers along one axis, probed about the present state of both sides, which must be at rest.

    A mapping that turns the leader's axes turns the axis at the leader likewise.

    Args:
        law: any law without a memory of its own; it is engaged here, so hand over a copy of one that runs.
        a: the leader.
        b: the follower.
        axis: unit vector in world, at the follower, into the wall.
    """
    whole = probe_law(law, a, b)
    at_leader = law.mapping.matrix[:3, :3].T @ axis
    axes = np.zeros((2, 6))
    axes[0, :3], axes[1, :3] = at_leader / np.linalg.norm(at_leader), axis
    kinds = whole.reshape(2, 2, 6, 3, 6)  # effort on, signal of, effort along, kind of signal, signal along
    along = np.einsum("abikj,ai,bj->abk", kinds, axes, axes)
    return SampledLaw(along[0], along[1])


def probe_law(law: Coupling, a: Side, b: Side) -> Array:
    """How both efforts answer to pose, twist and wrench of both sides, by central differences; 2 × 2 × 6 × 18.

    Poses and wrenches are shifted alone. Velocities are probed by moving the joints such that the tool moves along one
    direction, because laws that use an arm's model look at its joints; what the joints cannot do is left out.

    Args:
        law: as of :func:`sample_law`.
        a: the leader.
        b: the follower.

    Raises:
        Mismatch: the law keeps a state, which a table of gains cannot hold.
    """
    if hasattr(law, "handle") or "observers" in law.needs:
        raise Mismatch(f"law {law.name!r} has a state of its own; its stability is found by simulation, not predicted")
    law.engage(a, b)
    for side in (a, b):
        side.wrench = np.zeros(6)
    answers = np.zeros((2, 2, 6, 18))
    for number, side in enumerate((a, b)):
        for kind, signal in enumerate(SIGNALS):
            for direction in range(6):
                column = 6 * kind + direction
                answers[:, number, :, column] = _difference(law, (a, b), side, signal, np.eye(6)[direction])
    return answers


def _difference(law: Coupling, sides: tuple[Side, Side], side: Side, signal: str, direction: Array) -> Array:
    """Central difference of both efforts for one signal of one side."""
    found, h = [], STEPS[signal]
    for step in (h, -h):
        kept = side.rotation.copy()
        _shift(side, signal, step * direction)
        found.append(np.array([effort.wrench for effort in law.step(*sides, 1e-3)]))
        _shift(side, signal, -step * direction)
        side.rotation[:] = kept
    return (found[0] - found[1]) / (2.0 * h)


def _shift(side: Side, signal: str, by: Array) -> None:
    """Change one signal of a side by a step along or about an axis."""
    arm = side.arm
    if signal == "velocity" and arm is not None:
        arm.update(arm.q.copy(), arm.v + np.linalg.pinv(arm.J, rcond=1e-3) @ by)
    elif signal == "velocity":
        side.twist += by
    elif signal == "force":
        assert side.wrench is not None  # set before
        side.wrench += by
    else:
        side.position += by[:3]
        side.rotation[:] = rotation_from_vector(by[3:]) @ side.rotation

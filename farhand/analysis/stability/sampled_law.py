"""A law along one axis as numbers: how its efforts answer to position, velocity and force of either side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.coupling import Coupling, Side
from farhand.errors import Mismatch

Array = np.ndarray

SIGNALS = ("position", "velocity", "force")
STEPS = {"position": 1e-5, "velocity": 1e-4, "force": 1e-2}
"""Differences by which a law is probed, [m], [m/s], [N]."""


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
    """Probe a law about the present state of both sides, which must be at rest, by differences along ``axis``.

    Positions are probed by shifting the tool's position alone, velocities and forces likewise, so a law that uses the
    arms' models uses them as they are at this posture.

    Args:
        law: any law without a memory of its own.
        a: the leader.
        b: the follower.
        axis: unit vector in world, from the follower into the wall.
    """
    if hasattr(law, "handle"):
        raise Mismatch(f"law {law.name!r} has a state of its own; its stability is found by simulation, not predicted")
    law.engage(a, b)
    for side in (a, b):
        side.wrench = np.zeros(6)
    answers = np.zeros((2, 2, 3))  # effort on, signal of, kind
    for number, side in enumerate((a, b)):
        for kind, signal in enumerate(SIGNALS):
            answers[:, number, kind] = _difference(law, a, b, side, signal, axis)
    return SampledLaw(answers[0], answers[1])


def _difference(law: Coupling, a: Side, b: Side, side: Side, signal: str, axis: Array) -> tuple[float, float]:
    """Central difference of both efforts for one signal of one side."""
    array = {"position": side.position, "velocity": side.twist[:3], "force": side.wrench[:3]}[signal]
    h, kept, found = STEPS[signal], array.copy(), []
    for sign in (1.0, -1.0):
        array[:] = kept + sign * h * axis
        on_a, on_b = law.step(a, b, 1e-3)
        found.append((float(on_a.wrench[:3] @ axis), float(on_b.wrench[:3] @ axis)))
    array[:] = kept
    plus, minus = found
    return (plus[0] - minus[0]) / (2.0 * h), (plus[1] - minus[1]) / (2.0 * h)

"""Coupling: the bilateral law. Both sides in, one effort per side out, once per tick."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from farhand.coupling.port import port_of
from farhand.coupling.side import Effort, Side
from farhand.errors import BadValue, Mismatch
from farhand.mapping import WorkspaceMapping
from farhand.plants.plant import Channels

Array = np.ndarray

NEEDS = {
    "follower-wrench": "a measured contact wrench of the follower",
    "leader-wrench": "a measured wrench of the hand on the leader",
    "models": "a dynamic model of both sides",
    "observers": "torque-driven arms on both sides, whose momentum tells what touches them",
}
"""What a law may need, and how it is said."""

PROPERTIES = frozenset({"reciprocal", "symmetric", "velocity-force-port"})
"""What a law may promise.

Reciprocal: the two efforts are equal and opposite up to the mapping. Symmetric: exchanging the
sides exchanges the efforts. Velocity–force port: an effort depends on the other side's motion
alone.
"""


@dataclass
class Coupling(ABC):
    """A bilateral law between side a (the leader) and side b (the follower).

    A law keeps no hidden state beyond its parameters unless it says so, so that the same law can be
    evaluated on two machines. It never sees whether it is engaged: efforts are faded in and out
    around it.

    Attributes:
        name: on the command line.
        needs: keys of :data:`NEEDS`.
        properties: members of :data:`PROPERTIES`.
        shares_arms: whether an arm may have other bridges beside this one.
        mapping: from the leader's workspace to the follower's, a
            :class:`~farhand.mapping.WorkspaceMapping`, or from joints to joints, a
            :class:`~farhand.mapping.joint_map.JointMapping`.
        port: what the mapping couples: the tools, or the joints.
        motion: the following two in one array.
        error: how far the follower is from the mapped leader at the last step, e = [p_t − p_b;
            log(R_t R_bᵀ)] or q_t − q_b, [m], [rad].
        rate: velocity of the mapped leader minus the follower's, [m/s] and [rad/s].
    """

    name: ClassVar[str]
    shares_arms: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = frozenset()
    properties: ClassVar[frozenset[str]] = frozenset()

    mapping: Any = field(default_factory=WorkspaceMapping)

    def __post_init__(self) -> None:
        """Prepare the work arrays."""
        self.port = port_of(self.mapping)
        self.motion = np.zeros(2 * self.port.size)
        self.error, self.rate = self.motion[: self.port.size], self.motion[self.port.size :]

    @abstractmethod
    def step(self, a: Side, b: Side, dt: float) -> tuple[Effort, Effort]:
        """Efforts for both sides from both states; ``dt`` is the time since the last call, [s]."""

    def engage(self, a: Side, b: Side) -> None:
        """Make the present poses of both sides the ones that belong together."""
        self.port.capture(self.mapping, a, b)

    def settle(self) -> None:
        """Skip what only follows an engagement; for predictions of the law as it runs on."""
        return

    def record(self, stream: Channels) -> None:
        """Declare channels for what the law publishes beside its error; most have nothing."""
        return

    def measure(self, a: Side, b: Side) -> None:
        """Compute ``error`` and ``rate``; every law's step begins with it."""
        self.port.compare(self.mapping, a, b, self.motion)

    def require(self, available: frozenset[str] | set[str], who: str = "this rig does") -> None:
        """Refuse to run where something the law needs is missing; ``who`` does not have it."""
        missing = sorted(self.needs - available)
        if missing:
            needed = " and ".join(NEEDS.get(need, repr(need)) for need in missing)
            raise Mismatch(f"law {self.name!r} needs {needed}, which {who} not have")


def per_axis(gains: Array, size: int) -> Array:
    """Gains of a law, one per axis of its port; equal ones serve a port of any size.

    Raises:
        BadValue: they differ, and there are not as many as axes.
    """
    if len(gains) == size:
        return gains
    if (gains == gains[0]).all():
        return np.full(size, gains[0])
    raise BadValue(f"{len(gains)} unlike gains for {size} axes: give {size}, or one for all")

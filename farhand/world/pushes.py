"""Pushes: what acts on an arm's links beside its tool, as joint torque."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass
class JointPush:
    """A joint torque that someone exerts on an arm's links for a while.

    Attributes:
        torque: while it lasts, [N·m], one per joint.
        start: when it begins, [s].
        duration: how long it lasts, [s].
        now: at the last :meth:`at`, [N·m]; a law that is to know of the push looks at this array.
    """

    torque: Array
    start: float = 0.0
    duration: float = 1.0

    def __post_init__(self) -> None:
        """Begin without a push."""
        self.now = np.zeros(len(self.torque))

    def at(self, t: float) -> None:
        """Write the torque at time ``t`` [s] into ``now``."""
        self.now[:] = self.torque if self.start <= t < self.start + self.duration else 0.0

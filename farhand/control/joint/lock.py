"""Joint lock: a spring and a damper that keep single joints of a redundant arm where they are."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from farhand.parameters import parameter

Array = np.ndarray


@dataclass
class JointLock:
    r"""Torque :math:`\tau_i = -k\,(q_i - q_{0,i}) - d\,\dot q_i` on the locked joints, nothing on the others.

    Attributes:
        angles: q_0 by the joint's number, from 0, [rad].
    """

    stiffness: float = parameter(3000.0, "N·m/rad", "stiffness of a locked joint", 0.0, 1e5)
    damping: float = parameter(60.0, "N·m·s/rad", "damping of a locked joint", 0.0, 1e4)
    angles: dict[int, float] = field(default_factory=dict)

    def add(self, q: Array, v: Array, torque: Array) -> None:
        """Add the lock's torque to ``torque`` [N·m] for joints at ``q`` [rad], moving at ``v`` [rad/s]."""
        for joint, angle in self.angles.items():
            torque[joint] -= self.stiffness * (q[joint] - angle) + self.damping * v[joint]

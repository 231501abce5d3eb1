"""Joint damping: a drag on every joint, whatever else it is told; calms a device that nobody holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.arm import Arm
from farhand.parameters import parameter

Array = np.ndarray


@dataclass
class JointDamping:
    r"""A torque against every joint's velocity, :math:`\tau = -B\,\dot q`; usable beside any torque controller.

    Attributes:
        damping: B, one number for all joints, [N·m·s/rad] or [N·s/m] for slides.
    """

    damping: float = parameter(0.0, "N·s/m, N·m·s/rad", "drag on every joint", 0.0, 1e3)

    def torque(self, arm: Arm, commanded: Array, wrench: Array | None) -> Array:
        """The drag, [N·m] or [N]."""
        return -self.damping * arm.v

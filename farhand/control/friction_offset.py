"""Friction offset: a torque that helps a joint over its dry friction, in the direction it moves or is about to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.arm import Arm
from farhand.parameters import parameter

Array = np.ndarray


@dataclass
class FrictionOffset:
    r"""Add a share of every joint's dry friction, along its motion or, at rest, along what pushes it.

    .. math:: s_v = \tanh(\dot q / v_0), \quad s_\tau = \tanh\bigl((\tau + J^\top h)/\tau_0\bigr), \qquad
              \tau_{fc} = \alpha\,\tau_C \odot \bigl(s_v + (1 - |s_v|)\,s_\tau\bigr)

    :math:`\tau` is the commanded torque without gravity and h the measured wrench. At rest both count: a law that ties
    two arms answers the hand with a torque *against* it, so the command alone points the wrong way (docs/errata.md,
    D-50). A share near 1 over-compensates wherever the true friction is lower, and the joint then creeps by itself.

    Attributes:
        coulomb: τ_C, [N·m], one per joint.
        share: α, [-].
        speed: v_0, [rad/s].
        threshold: τ_0, [N·m].
        feels_hand: whether h counts at rest; without it the command alone does.
    """

    coulomb: Array = parameter((0.0,) * 6, "N·m", "dry friction to help against", 0.0, 100.0)
    share: float = parameter(0.7, "-", "share of it that is compensated", 0.0, 1.0)
    speed: float = parameter(0.02, "rad/s", "speed from which the direction of motion counts", 1e-6, 10.0)
    threshold: float = parameter(0.5, "N·m", "torque from which the direction of the push counts", 1e-6, 100.0)
    feels_hand: bool = parameter(True, "-", "whether the measured wrench counts at rest")

    def torque(self, arm: Arm, commanded: Array, wrench: Array | None) -> Array:
        """The offset, [N·m].

        Args:
            arm: the controller's model at the present state.
            commanded: joint torque without gravity, [N·m].
            wrench: measured on the tool, [N] and [N·m]; None when there is no measurement.
        """
        moving = np.tanh(arm.v / self.speed)
        pushed = commanded if wrench is None or not self.feels_hand else commanded + wrench.dot(arm.J)
        return self.share * self.coulomb * (moving + (1.0 - np.abs(moving)) * np.tanh(pushed / self.threshold))

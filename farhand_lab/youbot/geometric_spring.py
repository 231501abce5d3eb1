"""Geometric spring: pulls a tool to a setpoint in SE(3), with a potential."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from farhand.parameters import parameter
from farhand.spatial import rotation_vector

Array = np.ndarray


@dataclass
class GeometricSpring:
    r"""Wrench on a tool from an isotropic spring, in world axes at the tool point.

    .. math::
        f = k_t\,(p_{set} - p), \qquad m = k_r \sin\theta\; n, \qquad
        U = \tfrac12 k_t |p_{set} - p|^2 + k_r (1 - \cos\theta)

    θ and n are angle and axis of the turn from the tool to the setpoint. With ``angle`` the moment
    is k_r θ n and its potential ½ k_r θ²: stiffer far out, and discontinuous at 180°, where the
    sine has gone to zero.
    """

    stiffness: float = parameter(700.0, "N/m", "stiffness", 0.0, 1e5)
    rotational_stiffness: float = parameter(30.0, "N·m/rad", "rotational stiffness", 0.0, 1e4)
    moment: str = parameter(
        "sine", "-", "how the moment grows with the angle", choices=("sine", "angle")
    )

    def wrench(self, p_set: Array, R_set: Array, p: Array, R: Array) -> Array:
        """On the tool, [N] and [N·m]."""
        vector = rotation_vector(R_set @ R.T)
        angle = math.sqrt(float(vector.dot(vector)))
        share = math.sin(angle) / angle if self.moment == "sine" and angle > 0.0 else 1.0
        return np.concatenate(
            [self.stiffness * (p_set - p), self.rotational_stiffness * share * vector]
        )

    def potential(self, p_set: Array, R_set: Array, p: Array, R: Array) -> float:
        """U, [J]."""
        shift, angle = p_set - p, float(np.linalg.norm(rotation_vector(R_set @ R.T)))
        turn = 1.0 - np.cos(angle) if self.moment == "sine" else 0.5 * angle * angle
        return 0.5 * self.stiffness * float(shift @ shift) + self.rotational_stiffness * float(turn)

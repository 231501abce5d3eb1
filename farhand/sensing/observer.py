"""Momentum observer: external joint torque and tool wrench of an arm without a force sensor."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from farhand.arm import Arm
from farhand.errors import BadValue
from farhand.spatial import damped_inverse

Array = np.ndarray

DRY_SPEED = 0.02
"""Below it the direction of dry friction fades, as nobody knows it at rest, [rad/s]."""


class MomentumObserver:
    r"""Estimates the torque that the world exerts on an arm, from its momentum.

    .. math:: p = M v, \qquad r = K_o \Big(p - p_0 - \int (\tau + C^\top v - g - D v + r)\,dt\Big)

    r follows the external torque through a low-pass of rate K_o per joint; no acceleration is
    needed. Friction that the model lacks appears as external torque. Dry friction that it knows
    (``arm.dry``) is taken off, in proportion to the speed below :data:`DRY_SPEED`.

    Args:
        arm: updated to the measured state before each :meth:`update`.
        gain: K_o, one number or one per joint, [1/s].
    """

    def __init__(self, arm: Arm, gain: Array | float = 50.0) -> None:
        self.gain = np.broadcast_to(np.asarray(gain, dtype=float), (arm.nv,)).copy()
        if not (np.isfinite(self.gain) & (self.gain > 0.0)).all():
            raise BadValue(f"the observer's gain must be positive, not {self.gain.tolist()}")
        self.arm = arm
        self.torque = np.zeros(arm.nv)  #: r, external joint torque, [N·m]
        self._sum: Array | None = None

    def reset(self) -> None:
        """Start again at the next update, without external torque."""
        self.torque[:] = 0.0
        self._sum = None

    def update(self, torque: Array, dt: float, coarse: bool = False) -> Array:
        """External torque after a step of ``dt`` [s] with this motor torque, [N·m].

        A ``coarse`` step is taken implicitly, so that it may be longer than 1/K_o.
        """
        arm = self.arm
        momentum = arm.M @ arm.v
        if self._sum is None:
            self._sum = momentum.copy()
            return self.torque
        pin.computeCoriolisMatrix(arm.model, arm.data, arm.q, arm.v)
        modelled = torque + arm.data.C.T @ arm.v - arm.gravity - arm.viscous * arm.v
        if arm.dry is not None:
            modelled -= arm.dry * np.clip(arm.v / DRY_SPEED, -1.0, 1.0)
        if coarse:
            ahead = self.gain * (momentum - self._sum - dt * modelled)
            np.divide(ahead, 1.0 + self.gain * dt, out=self.torque)
        self._sum += dt * (modelled + self.torque)
        np.multiply(self.gain, momentum - self._sum, out=self.torque)
        return self.torque

    def wrench(self, damping: float = 1e-3) -> Array:
        """Wrench on the tool point, world axes, that explains the torque, [N] and [N·m]."""
        return damped_inverse(self.arm.J.T, damping) @ self.torque

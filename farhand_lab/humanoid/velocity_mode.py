"""Velocity mode: the pen's speed becomes joint speeds, as the published system tried and dropped; with a guard."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from farhand.errors import BadValue
from farhand.mapping.limbs import SINGULAR, ArmChain
from farhand.parameters import parameter

Array = np.ndarray


class MeanVelocity:
    """Velocity from positions, as the mean of the last differences; it lags by half the window.

    Args:
        window: how many differences.
    """

    def __init__(self, window: int = 20) -> None:
        if window < 1:
            raise BadValue(f"a mean needs a window of 1 or more, not {window}")
        self.window = window
        self._past: deque[Array] = deque(maxlen=window)
        self._last: Array | None = None

    def step(self, position: Array, dt: float) -> Array:
        """Mean velocity after a new position [m] that comes ``dt`` [s] after the one before, [m/s]."""
        if self._last is not None:
            self._past.append((position - self._last) / dt)
        self._last = np.array(position, dtype=float)
        return np.sum(self._past, axis=0) / self.window if self._past else np.zeros_like(self._last)


class JointSpeeds(NamedTuple):
    """What the servos are told in velocity mode.

    Attributes:
        targets: where each joint is sent: a limit, or where it was read to be, [rad].
        speeds: how fast each goes there, [rad/s].
        wanted: joint velocities before the guard, [rad/s].
        singular: whether the guard acted.
    """

    targets: Array
    speeds: Array
    wanted: Array
    singular: bool


@dataclass
class VelocityMode:
    r"""Joint speeds for a speed of the wrist, and the trick that turns them into position commands.

    .. math:: \dot q = J(q)^{-1}\,k\,v, \qquad \text{target}_i = \text{the limit that } \dot q_i \text{ leads to}

    Each joint is sent to its far limit at the speed :math:`|\dot q_i|`; a joint that should rest is
    sent where it was read. What is wrong with it: joints never come to rest by themselves, so
    forces are computed at postures already left; near a straight elbow speeds blow up; places are
    never compared, so errors add up. The guard shrinks all speeds alike where one would exceed its
    servo, and below a small determinant uses damped least squares.

    Attributes:
        chain: of the arm.
    """

    chain: ArmChain = field(default_factory=ArmChain)
    top: Array = parameter(
        (5.943, 4.592, 4.592), "rad/s", "largest speed of each joint", 0.0, 100.0
    )
    scale: float = parameter(2.0, "-", "robot speed per hand speed", 0.01, 100.0)
    guarded: bool = parameter(True, "-", "whether the singular guard acts")
    # assumed
    damping: float = parameter(0.02, "m", "of the least squares near a singularity", 0.0, 1.0)

    def step(self, velocity: Array, q: Array) -> JointSpeeds:
        """Commands for a hand's velocity [m/s] at joints as read [rad]."""
        J, v = self.chain.jacobian(q), self.scale * np.asarray(velocity, dtype=float)
        near = bool(self.chain.singular(q, SINGULAR))
        if near and self.guarded:
            wanted = J.T @ np.linalg.solve(J @ J.T + self.damping**2 * np.eye(3), v)
        else:
            wanted = np.linalg.lstsq(J, v, rcond=1e-12)[0]
        over = float((np.abs(wanted) / self.top).max())
        speeds = wanted / over if self.guarded and over > 1.0 else wanted
        low, high = np.array(self.chain.lowest), np.array(self.chain.highest)
        targets = np.where(speeds > 0.0, high, np.where(speeds < 0.0, low, q))
        return JointSpeeds(targets, np.abs(speeds), wanted, self.guarded and (near or over > 1.0))

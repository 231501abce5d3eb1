"""Force by virtual springs: a short spring whose stiffness is set anew at every update, and the mode it replaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from farhand.control.impedance import CartesianImpedance
from farhand.parameters import parameter

Array = np.ndarray

DEVICE_ORDER = np.array([0, 1, 2, 5, 4, 3])
"""Axes of the device's springs, x y z A B C, in a wrench: A turns about z, B about y, C about x."""


def device_axes(wrench: Array) -> Array:
    """A wrench (or stiffness, or offset) in the device's order x, y, z, A, B, C; the same function leads back."""
    return np.asarray(wrench)[..., DEVICE_ORDER]


class Springs(NamedTuple):
    """What one update sends.

    Attributes:
        offset: from the measured pose to the target, [m] ×3 then [rad] ×3, world axes.
        stiffness: per axis, [N/m] ×3 then [N·m/rad] ×3.
    """

    offset: Array
    stiffness: Array


@dataclass
class SpringForce:
    r"""Make a wanted wrench by springs of fixed length, one per axis.

    .. math:: x_d = x + \mathrm{sign}(F_i)\,\Delta x_i, \qquad k_i = |F_i| / \Delta x_i

    The hand can be pushed no further than Δx, and the force cannot rise faster than the spring is stretched: that is
    why a force is made this way. Between updates the hand moves by v T while the target stands, so the force is off
    by up to ``v T / Δx`` of itself, too large while the hand moves against it and too small while it moves with it.

    Attributes:
        length: Δx, [m].
        angle: Δx of the rotations, [rad].
        stiffest: largest stiffness of the device, [N/m].
        stiffest_turn: of its rotations, [N·m/rad].
    """

    length: float = parameter(0.010, "m", "length of a virtual spring", 1e-4, 0.2)
    angle: float = parameter(0.1, "rad", "angle of a virtual spring", 1e-3, 1.0)
    stiffest: float = parameter(5000.0, "N/m", "largest stiffness of the device", 1.0, 1e5)
    stiffest_turn: float = parameter(300.0, "N·m/rad", "largest rotational stiffness", 0.1, 1e4)

    def __post_init__(self) -> None:
        """Derive the vectors."""
        self.refresh()

    def refresh(self) -> None:
        """Recompute what depends on the parameters."""
        self._lengths = np.repeat([self.length, self.angle], 3)
        self._stiffest = np.repeat([self.stiffest, self.stiffest_turn], 3)

    def springs(self, wanted: Array) -> Springs:
        """Springs for a wrench on the hand, world axes, [N] and [N·m]; leading axes are kept."""
        stiffness = np.minimum(np.abs(wanted) / self._lengths, self._stiffest)
        return Springs(np.sign(wanted) * self._lengths, stiffness)

    def update(self, impedance: CartesianImpedance, position: Array, rotation: Array, wanted: Array) -> None:
        """Set the impedance's target and stiffness so that it pulls with ``wanted`` from this pose."""
        offset, impedance.stiffness = self.springs(wanted)
        impedance.aim(position, rotation, offset)

    def along(self, t: Array, displacement: Array, wanted: Array, period: float, delay: float = 0.0) -> Array:
        """Wrench that the hand feels along a given motion, n × 6, [N] and [N·m].

        Args:
            t: times, rising, [s].
            displacement: of the tool from its start, n × 6, small rotations, [m] and [rad].
            wanted: wrench to render, n × 6.
            period: between updates, [s].
            delay: from reading the pose to the springs being in place, [s].
        """
        update = np.maximum(np.floor((t - delay) / period + 1e-9) * period, t[0])
        read = np.clip(np.searchsorted(t, update - 1e-12), 0, len(t) - 1)
        offset, stiffness = self.springs(wanted[read])
        return stiffness * (displacement[read] + offset - displacement)


@dataclass
class DirectForce:
    """A force commanded directly, on a device that drops it for a moment whenever it changes.

    The published device passed through zero from one force to the next (16 N → 0 → 16.05 N), which shakes the hand.

    Attributes:
        gap: how long the force is gone after a change, [s]; 0 for a device without the fault.
    """

    gap: float = parameter(0.003, "s", "how long the force is gone after a change", 0.0, 1.0)

    def __post_init__(self) -> None:
        """No force yet."""
        self._last: Array = np.zeros(6)
        self._left: Array = np.zeros(6)

    def step(self, wanted: Array, dt: float) -> Array:
        """The wrench on the hand for the next ``dt`` [s], [N] and [N·m]."""
        changed = wanted != self._last
        self._left = np.where(changed, self.gap, self._left - dt)
        self._last = np.array(wanted)
        return np.where(self._left > 1e-12, 0.0, wanted)

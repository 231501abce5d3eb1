"""Cartesian impedance: springs and dampers to a target pose, and forces rendered with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from farhand.parameters import parameter
from farhand.spatial import Array, rotation_from_vector, rotation_vector


@dataclass
class CartesianImpedance:
    r"""Pull the tool to a target with one spring and one damper per axis of the world.

    .. math:: h = K\,e + D\,(\nu_d - \nu) + h_0, \qquad
              e = \begin{bmatrix} p_d - p \\ \log(R_d R^\top) \end{bmatrix}

    h is the wrench the arm's motors put on its tool, so the hand feels it. ``stiffness`` may change
    at every tick; raising it while e ≠ 0 adds energy, ½ ΔK e², which is how :class:`SpringForce`
    makes forces. Hand guidance is :meth:`relax` at every tick: every spring is slack.

    Attributes:
        position: p_d, in world, [m].
        rotation: R_d, in world.
        twist: ν_d, in world, [m/s] and [rad/s].
        feedforward: h_0, such as the force that accelerates the tool with its target, [N] and
            [N·m].
    """

    stiffness: Array = parameter((0.0,) * 6, "N/m, N·m/rad", "stiffness of the springs", 0.0, 1e5)
    damping: Array = parameter((0.0,) * 6, "N·s/m, N·m·s/rad", "damping beside them", 0.0, 1e5)

    def __post_init__(self) -> None:
        self.position, self.rotation, self.twist = np.zeros(3), np.eye(3), np.zeros(6)
        self.feedforward = np.zeros(6)

    def aim(
        self,
        position: Array,
        rotation: Array,
        offset: Array | None = None,
        twist: Array | None = None,
    ) -> None:
        """Set the target to a pose, or to the pose an offset away from it, without feedforward.

        Args:
            position: in world, [m].
            rotation: in world.
            offset: translation and rotation vector in world axes to add, [m] and [rad].
            twist: of the target, [m/s] and [rad/s]; at rest if not given.
        """
        self.position[:], self.rotation[:] = position, rotation
        self.twist[:] = 0.0 if twist is None else twist
        self.feedforward[:] = 0.0
        if offset is not None:
            self.position += offset[:3]
            self.rotation[:] = rotation_from_vector(offset[3:]) @ rotation

    def relax(self, position: Array, rotation: Array) -> None:
        """Hand guidance: the target is where the tool is."""
        self.aim(position, rotation)

    def error(self, position: Array, rotation: Array) -> Array:
        """Error e of a tool at this pose, [m] and [rad]."""
        turn = rotation_vector(self.rotation @ rotation.T)
        return np.concatenate([self.position - position, turn])

    def wrench(self, position: Array, rotation: Array, twist: Array) -> Array:
        """Wrench h on a tool at this pose, moving with ``twist``, in world axes, [N] and [N·m]."""
        spring = self.stiffness * self.error(position, rotation)
        return spring + self.damping * (self.twist - twist) + self.feedforward


DEVICE_ORDER = np.array([0, 1, 2, 5, 4, 3])
"""Axes of the device's springs, x y z A B C, in a wrench: A turns about z, B about y, C about x."""


def device_axes(wrench: Array) -> Array:
    """A wrench, stiffness or offset in the device's order x, y, z, A, B, C; its own inverse."""
    return np.asarray(wrench)[..., DEVICE_ORDER]


class Springs(NamedTuple):
    """What one update sends to the device."""

    offset: Array  #: from the measured pose to the target, [m] ×3 then [rad] ×3, world axes
    stiffness: Array  #: per axis, [N/m] ×3 then [N·m/rad] ×3


@dataclass
class SpringForce:
    r"""Make a wrench by springs of fixed length, one per axis, set at every update.

    .. math:: x_d = x + \mathrm{sign}(F_i)\,\Delta x_i, \qquad k_i = |F_i| / \Delta x_i

    A force is made this way because the hand can be pushed no further than Δx, and the force cannot
    rise faster than the spring is stretched. Between updates the hand moves by v T while the target
    stands, so the force is off by up to ``v T / Δx`` of itself: too large while the hand moves
    against it, too small while it moves with it.
    """

    length: float = parameter(0.010, "m", "length of a virtual spring", 1e-4, 0.2)
    angle: float = parameter(0.1, "rad", "angle of a virtual spring", 1e-3, 1.0)
    stiffest: float = parameter(5000.0, "N/m", "largest stiffness of the device", 1.0, 1e5)
    stiffest_turn: float = parameter(300.0, "N·m/rad", "largest rotational stiffness", 0.1, 1e4)

    def __post_init__(self) -> None:
        self.refresh()

    def refresh(self) -> None:
        """Recompute what depends on the parameters."""
        self._lengths = np.repeat([self.length, self.angle], 3)
        self._stiffest = np.repeat([self.stiffest, self.stiffest_turn], 3)

    def springs(self, wrench: Array) -> Springs:
        """Springs for a wrench on the hand, world axes, [N] and [N·m]; leading axes are kept."""
        stiffness = np.minimum(np.abs(wrench) / self._lengths, self._stiffest)
        return Springs(np.sign(wrench) * self._lengths, stiffness)

    def update(
        self, impedance: CartesianImpedance, position: Array, rotation: Array, wrench: Array
    ) -> None:
        """Set the impedance's target and stiffness so that it pulls with ``wrench`` from here."""
        offset, impedance.stiffness = self.springs(wrench)
        impedance.aim(position, rotation, offset)

    def along(
        self, t: Array, displacement: Array, wrench: Array, period: float, delay: float = 0.0
    ) -> Array:
        """Wrench that the hand feels along a motion, n × 6, [N] and [N·m].

        Args:
            t: times, rising, [s].
            displacement: of the tool from its start, n × 6, small rotations, [m] and [rad].
            wrench: to render, n × 6.
            period: between updates, [s].
            delay: from reading the pose to the springs being in place, [s].
        """
        update = np.maximum(np.floor((t - delay) / period + 1e-9) * period, t[0])
        read = np.clip(np.searchsorted(t, update - 1e-12), 0, len(t) - 1)
        offset, stiffness = self.springs(wrench[read])
        return stiffness * (displacement[read] + offset - displacement)


@dataclass
class DirectRendering:
    """A force commanded directly, on a device that drops it for a moment whenever it changes.

    The published device passed through zero from one force to the next (16 N → 0 → 16.05 N), which
    shakes the hand.
    """

    gap: float = parameter(0.003, "s", "how long the force is gone after a change", 0.0, 1.0)

    def __post_init__(self) -> None:
        self._last: Array = np.zeros(6)
        self._left: Array = np.zeros(6)

    def step(self, wrench: Array, dt: float) -> Array:
        """The wrench on the hand for the next ``dt`` [s], [N] and [N·m]."""
        changed = wrench != self._last
        self._left = np.where(changed, self.gap, self._left - dt)
        self._last = np.array(wrench)
        return np.where(self._left > 1e-12, 0.0, wrench)


@dataclass
class Rendering:
    """Turns a coupling's wrench into the one that the hand gets: direct, or by virtual springs."""

    mode: str = parameter(
        "direct", "-", "how the force on the hand is made", choices=("direct", "springs")
    )
    rate: float = parameter(350.0, "Hz", "how often the springs are set", 1.0, 10_000.0)
    springs: SpringForce = field(default_factory=SpringForce)
    direct: DirectRendering = field(default_factory=lambda: DirectRendering(gap=0.0))

    def __post_init__(self) -> None:
        self.pull = CartesianImpedance()
        self._due_ns = 0

    def wrench(
        self, effort: Array, position: Array, rotation: Array, twist: Array, now_ns: int, dt: float
    ) -> Array:
        """The wrench on the hand for an effort at this tool state, world axes, [N], [N·m]."""
        if self.mode == "direct":
            return self.direct.step(effort, dt) if self.direct.gap > 0.0 else effort
        if now_ns >= self._due_ns:
            period_ns = round(1e9 / self.rate)
            self._due_ns = now_ns + period_ns - now_ns % period_ns
            self.springs.update(self.pull, position, rotation, effort)
        return self.pull.wrench(position, rotation, twist)

"""Cartesian impedance: springs and dampers between a tool and a target pose, with stiffness set at any time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.parameters import parameter
from farhand.spatial import rotation_from_vector, rotation_vector

Array = np.ndarray


@dataclass
class CartesianImpedance:
    r"""Pull the tool to a target with one spring and one damper per axis of the world.

    .. math:: h = K\,e + D\,(\nu_d - \nu) + h_0, \qquad e = \begin{bmatrix} p_d - p \\ \log(R_d R^\top) \end{bmatrix}

    h is the wrench the arm's motors put on its tool, so the hand feels it. ``stiffness`` may be set at every tick;
    raising it while e ≠ 0 adds energy, ½ ΔK e², which is how :mod:`farhand.control.spring_force` makes forces.

    Hand guidance is :meth:`relax` at every tick: the target is where the tool is, and every spring is slack.

    Attributes:
        stiffness: diagonal of K, [N/m] ×3 then [N·m/rad] ×3.
        damping: diagonal of D, [N·s/m] ×3 then [N·m·s/rad] ×3.
        position: p_d, in world, [m].
        rotation: R_d, in world.
        twist: ν_d, in world, [m/s] and [rad/s].
        feedforward: h_0, such as what accelerates the tool along with a moving target, [N] and [N·m].
    """

    stiffness: Array = parameter((0.0,) * 6, "N/m, N·m/rad", "stiffness of the springs", 0.0, 1e5)
    damping: Array = parameter((0.0,) * 6, "N·s/m, N·m·s/rad", "damping beside them", 0.0, 1e5)

    def __post_init__(self) -> None:
        """The target is the world's origin until it is set."""
        self.position, self.rotation, self.twist = np.zeros(3), np.eye(3), np.zeros(6)
        self.feedforward = np.zeros(6)

    def aim(self, position: Array, rotation: Array, offset: Array | None = None, twist: Array | None = None) -> None:
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
        return np.concatenate([self.position - position, rotation_vector(self.rotation @ rotation.T)])

    def wrench(self, position: Array, rotation: Array, twist: Array) -> Array:
        """Wrench h on a tool at this pose, moving with ``twist``, in world axes, [N] and [N·m]."""
        return self.stiffness * self.error(position, rotation) + self.damping * (self.twist - twist) + self.feedforward

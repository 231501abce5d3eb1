"""Workspace mappings: turn, scale and shift the leader's motion, and bring forces back."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from farhand.errors import BadValue
from farhand.parameters import parameter
from farhand.spatial import (
    Array,
    quaternion_from_rotation,
    rotation_from_quaternion,
    rotation_from_vector,
    rotation_vector,
)

if TYPE_CHECKING:
    from farhand.plants.plant import Channels

SCALE_LIMITS = (0.01, 100.0)
"""Smallest and largest scale of motion, [-]."""


@dataclass
class WorkspaceMapping:
    r"""The follower's target for a pose of the leader, and the hand's wrench for the follower's.

    .. math::
        p_t = s\,A\,p_a + \Delta p, \qquad R_t = A\,R_a\,\Delta R

        \dot p_t = s\,A\,\dot p_a, \qquad \omega_t = A\,\omega_a

        f_a = s_f\,s\,A^\top f_b, \qquad \tau_a = s_f\,A^\top \tau_b

    The way back is the power dual of the way forward times the declared force scale, so with
    :math:`s_f = 1` no power is made or lost:
    :math:`f_b\cdot\dot p_t + \tau_b\cdot\omega_t = f_a\cdot\dot p_a + \tau_a\cdot\omega_a`. The
    offsets :math:`\Delta p, \Delta R` are captured at engagement, so that the target starts where
    the follower is.

    Attributes:
        plain: True when the workspace is neither turned nor scaled.
        straight: True when it is plain, and no subclass maps in a way of its own.
        revision: counts changes of the map, so that an end of a link notices them.
        target: the following two in one array, the rotation row by row.
        position: p_t at the last :meth:`forward`, [m].
        rotation: R_t at the last :meth:`forward`.
        twist: at the last :meth:`forward`, [m/s] and [rad/s].
    """

    motion_scale: float = parameter(1.0, "-", "follower metres per leader metre", *SCALE_LIMITS)
    force_scale: float = parameter(1.0, "-", "how strongly the hand feels", 0.0, SCALE_LIMITS[1])
    axes: Array = parameter(
        (0.0, 0.0, 0.0), "rad", "rotation vector from leader axes to follower axes", -6.3, 6.3
    )

    def __post_init__(self) -> None:
        #: Δp and ΔR row by row, as compiled functions take them
        self.offsets = np.array([0.0, 0.0, 0.0, *np.eye(3).reshape(9)])
        self.target, self.twist = self.offsets.copy(), np.zeros(6)
        self.position, self.rotation = self.target[:3], self.target[3:].reshape(3, 3)
        self._A, self._scale, self.revision = np.eye(3), 1.0, 0
        self._leader: tuple[Array, Array] | None = None
        self.refresh()

    @property
    def offset_position(self) -> Array:
        """Δp, [m]; setting it copies."""
        return self.offsets[:3]

    @offset_position.setter
    def offset_position(self, position: Array) -> None:
        self.offsets[:3] = position

    @property
    def offset_rotation(self) -> Array:
        """ΔR; setting it copies."""
        return self.offsets[3:].reshape(3, 3)

    @offset_rotation.setter
    def offset_rotation(self, rotation: Array) -> None:
        self.offsets[3:] = rotation.reshape(9)

    @property
    def shape(self) -> tuple[float, ...]:
        """Motion scale, force scale and axes: what both ends of a link must have in common."""
        return (self.motion_scale, self.force_scale, *self.axes.tolist())

    @property
    def numbers(self) -> Array:
        """ΔR as a quaternion, Δp and the shape: the whole map, as packets carry it (12)."""
        turn = quaternion_from_rotation(self.offset_rotation)
        return np.concatenate([turn, self.offsets[:3], self.shape])

    def adopt(self, numbers: Array) -> tuple[float, float]:
        """Take over the map of the other end; by how much that moves the target, [m] and [rad].

        Args:
            numbers: as :attr:`numbers`.
        """
        before = self._target()
        if not self._take_shape(numbers[7:]):
            return math.inf, math.inf
        self._take_offsets(numbers)
        after = self._target()
        turned = rotation_vector(after[1] @ before[1].T)
        return float(np.linalg.norm(after[0] - before[0])), float(np.linalg.norm(turned))

    def _take_offsets(self, numbers: Array) -> None:
        self.offset_position = numbers[4:7]
        self.offset_rotation = rotation_from_quaternion(numbers[:4])

    def _take_shape(self, shape: Array) -> bool:
        """Set the parameters from the other end's; False, and nothing done, if out of range."""
        motion, force, *axes = shape.tolist()
        if not (SCALE_LIMITS[0] <= motion <= SCALE_LIMITS[1] and 0.0 <= force <= SCALE_LIMITS[1]):
            return False
        if (motion, force, *axes) != self.shape:
            self.motion_scale, self.force_scale, self.axes = motion, force, np.array(axes)
            self._lay_axes()
        return True

    def _target(self) -> tuple[Array, Array]:
        """Where the target is for the last pose of the leader."""
        if self._leader is not None:
            self._map_pose(*self._leader)
        return self.position.copy(), self.rotation.copy()

    def _lay_axes(self) -> None:
        """Take the axes and the scale from the parameters."""
        self._A, self._scale = rotation_from_vector(self.axes), self.motion_scale
        self.plain = self._scale == 1.0 and not self.axes.any()
        own = type(self)
        ours = own.forward is WorkspaceMapping.forward and own.back is WorkspaceMapping.back
        self.straight = self.plain and ours
        self.revision += 1

    def refresh(self) -> None:
        """Recompute what depends on the parameters; a change during a run moves no target."""
        # where the target is under the old axes and scale
        if self._leader is not None:
            self._map_pose(*self._leader)
        self._lay_axes()
        if self._leader is not None:
            self._set_offsets(*self._leader, self.position, self.rotation)

    def capture(self, p_a: Array, R_a: Array, p_b: Array, R_b: Array) -> None:
        """Choose the offsets so that the leader's pose a maps onto the follower's pose b.

        The leader's arrays are kept, not copied: they are live, and give its pose when a parameter
        changes.
        """
        self._leader = (p_a, R_a)
        self._set_offsets(p_a, R_a, p_b, R_b)

    def record(self, stream: Channels) -> None:
        """Declare channels for what the map decides by itself; most decide nothing."""
        return

    def take(self, p_a: Array, R_a: Array, twist_a: Array) -> None:
        """Keep the leader's arrays, which are live; a plain map's target has its twist."""
        self._leader, self.twist = (p_a, R_a), twist_a

    def forward(self, p_a: Array, R_a: Array, twist_a: Array) -> None:
        """Map the leader's pose and twist to the follower's target, into the attributes."""
        self.take(p_a, R_a, twist_a)
        self._map_pose(p_a, R_a)
        if self.plain:
            return
        linear = self._scale * self._A.dot(twist_a[:3])
        self.twist = np.concatenate([linear, self._A.dot(twist_a[3:])])

    def back(self, wrench_b: Array, out: Array) -> None:
        """Map a wrench in the follower's workspace to the leader's, [N] and [N·m]."""
        if self.plain:
            np.multiply(wrench_b, self.force_scale, out=out)
            return
        wrench_b[:3].dot(self._A, out=out[:3])
        wrench_b[3:].dot(self._A, out=out[3:])
        out[:3] *= self._scale
        out *= self.force_scale

    @property
    def matrix(self) -> Array:
        """S with ẋ_t = S ẋ_a: s A for translation, A for rotation, 6 × 6."""
        matrix = np.zeros((6, 6))
        matrix[:3, :3], matrix[3:, 3:] = self._scale * self._A, self._A
        return matrix

    def _set_offsets(self, p_a: Array, R_a: Array, p_b: Array, R_b: Array) -> None:
        self.offset_position = p_b - self._scale * (self._A @ p_a)
        self.offset_rotation = (self._A @ R_a).T @ R_b

    def _map_pose(self, p_a: Array, R_a: Array) -> None:
        self._A.dot(p_a, self.position)
        self.position *= self._scale
        self.position += self.offset_position
        self._A.dot(R_a).dot(self.offset_rotation, self.rotation)


@dataclass
class PositionOnlyMapping(WorkspaceMapping):
    r"""The follower's tool goes where the leader's goes and keeps its orientation.

    .. math:: p_t = s\,A\,p_a + \Delta p, \quad R_t = \Delta R, \quad \omega_t = 0, \quad \tau_a = 0

    :math:`\Delta R` is the follower's orientation at engagement. No torque comes back: it is the
    power dual of a rotation that is not followed.
    """

    def forward(self, p_a: Array, R_a: Array, twist_a: Array) -> None:
        """Map the leader's position and velocity, into the attributes."""
        super().forward(p_a, R_a, twist_a)
        self.rotation[:] = self.offset_rotation
        self.twist = np.concatenate([self.twist[:3], np.zeros(3)])

    def back(self, wrench_b: Array, out: Array) -> None:
        """Map a force back; torques are left out."""
        super().back(wrench_b, out)
        out[3:] = 0.0

    @property
    def matrix(self) -> Array:
        """S with ẋ_t = S ẋ_a, 6 × 6; nothing of the rotation passes."""
        matrix = super().matrix
        matrix[3:] = 0.0
        return matrix

    def _set_offsets(self, p_a: Array, R_a: Array, p_b: Array, R_b: Array) -> None:
        super()._set_offsets(p_a, R_a, p_b, R_b)
        self.offset_rotation = np.array(R_b)

    def _map_pose(self, p_a: Array, R_a: Array) -> None:
        super()._map_pose(p_a, R_a)
        self.rotation[:] = self.offset_rotation


@dataclass(frozen=True)
class RobotPair:
    r"""How one arm's workspace lies over another's: a scale about centres, and fixed turns.

    .. math:: p_b = c_b + s\,A\,(p_a - c_a), \qquad R_b = A\,R_a\,R_\mathrm{tool}
    """

    motion_scale: float  #: s, [-]
    #: c_a in the leader's base, such as its shoulder, [m]
    centre_leader: tuple[float, float, float]
    centre_follower: tuple[float, float, float]  #: c_b in the follower's base, [m]
    #: rotation vector of A, from the leader's base to the follower's, [rad]
    axes: tuple[float, float, float] = (0.0, 0.0, 0.0)
    #: rotation vector of R_tool, from the follower's tool axes to the leader's, [rad]
    tool: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def mapping(self, force_scale: float = 1.0) -> WorkspaceMapping:
        """A mapping with these constants as offsets, until an engagement captures others."""
        mapping = WorkspaceMapping(self.motion_scale, force_scale, np.array(self.axes))
        turned = rotation_from_vector(np.array(self.axes)) @ np.array(self.centre_leader)
        mapping.offset_position = np.array(self.centre_follower) - self.motion_scale * turned
        mapping.offset_rotation = rotation_from_vector(np.array(self.tool))
        return mapping


IIWA_POWERBALL = RobotPair(705.0 / 955.0, (0.0, 0.0, 0.350), (0.0, 0.0, 0.205))
"""The published pair: ratio of the reaches of Table 2.2, about the shoulders that it implies
(sources/hazardous §2.4, E-06)."""


def missing(owner: str, part: str) -> Callable[[], Any]:
    """A default factory of a dataclass field that must be given: it raises :class:`BadValue`."""

    def refuse() -> Any:
        raise BadValue(f"{owner} needs its {part}")

    return refuse

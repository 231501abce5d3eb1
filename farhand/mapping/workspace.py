"""Workspace mapping: turn, scale and shift the leader's motion into the follower's workspace, and forces back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.parameters import parameter
from farhand.spatial import rotation_from_vector

Array = np.ndarray


@dataclass
class WorkspaceMapping:
    r"""Where the follower's tool should be for a pose of the leader's, and what a follower's wrench is for the hand.

    .. math::
        p_t = s\,A\,p_a + \Delta p, \qquad R_t = A\,R_a\,\Delta R

        \dot p_t = s\,A\,\dot p_a, \qquad \omega_t = A\,\omega_a

        f_a = s_f\,s\,A^\top f_b, \qquad \tau_a = s_f\,A^\top \tau_b

    The way back is the power dual of the way forward times the declared force scale, so with
    :math:`s_f = 1` no power is made or
    lost: :math:`f_b\cdot\dot p_t + \tau_b\cdot\omega_t = f_a\cdot\dot p_a + \tau_a\cdot\omega_a`.
    The offsets
    :math:`\Delta p, \Delta R` are captured at engagement, so that the target starts where the
    follower is.

    Attributes:
        offset_position: Δp, [m].
        offset_rotation: ΔR.
        plain: True when the workspace is neither turned nor scaled.
        position: p_t at the last :meth:`forward`, [m].
        rotation: R_t at the last :meth:`forward`.
        twist: at the last :meth:`forward`, [m/s] and [rad/s].
    """

    motion_scale: float = parameter(1.0, "-", "follower metres per leader metre", 0.01, 100.0)
    force_scale: float = parameter(1.0, "-", "how strongly the hand feels", 0.0, 100.0)
    axes: Array = parameter(
        (0.0, 0.0, 0.0), "rad", "rotation vector from leader axes to follower axes", -6.3, 6.3
    )

    def __post_init__(self) -> None:
        """Start with zero offsets."""
        self.offset_position, self.offset_rotation = np.zeros(3), np.eye(3)
        self.position, self.rotation, self.twist = np.zeros(3), np.eye(3), np.zeros(6)
        self._A, self._scale = np.eye(3), 1.0
        self._leader: tuple[Array, Array] | None = None
        self.refresh()

    def refresh(self) -> None:
        """Recompute what depends on the parameters; the target stays, so a live change of scale makes no jump."""
        if self._leader is not None:
            self._map_pose(*self._leader)  # where the target is under the old axes and scale
        self._A, self._scale = rotation_from_vector(self.axes), self.motion_scale
        self.plain = self._scale == 1.0 and not self.axes.any()
        if self._leader is not None:
            p_a, R_a = self._leader
            self.offset_position = self.position - self._scale * (self._A @ p_a)
            self.offset_rotation = (self._A @ R_a).T @ self.rotation

    def capture(self, p_a: Array, R_a: Array, p_b: Array, R_b: Array) -> None:
        """Choose the offsets so that the leader's pose a maps onto the follower's pose b.

        The leader's arrays are kept, not copied: they are live, and tell where it is when a
        parameter changes.
        """
        self._leader = (p_a, R_a)
        self.offset_position = p_b - self._scale * (self._A @ p_a)
        self.offset_rotation = (self._A @ R_a).T @ R_b

    def forward(self, p_a: Array, R_a: Array, twist_a: Array) -> None:
        """Map the leader's pose and twist to the follower's target pose and twist, into the attributes."""
        self._leader = (p_a, R_a)
        if self.plain:  # neither turned nor scaled: a third of the work
            np.add(p_a, self.offset_position, self.position)
            R_a.dot(self.offset_rotation, self.rotation)
            self.twist = twist_a
            return
        self._map_pose(p_a, R_a)
        linear = self._scale * self._A.dot(twist_a[:3])
        self.twist = np.concatenate([linear, self._A.dot(twist_a[3:])])

    def _map_pose(self, p_a: Array, R_a: Array) -> None:
        self._A.dot(p_a, self.position)
        self.position *= self._scale
        self.position += self.offset_position
        self._A.dot(R_a).dot(self.offset_rotation, self.rotation)

    @property
    def matrix(self) -> Array:
        """S with ẋ_t = S ẋ_a: s A for translation, A for rotation, 6 × 6."""
        matrix = np.zeros((6, 6))
        matrix[:3, :3], matrix[3:, 3:] = self._scale * self._A, self._A
        return matrix

    def back(self, wrench_b: Array, out: Array) -> None:
        """Map a wrench in the follower's workspace to the leader's, [N] and [N·m]."""
        if self.plain:
            np.multiply(wrench_b, self.force_scale, out=out)
            return
        wrench_b[:3].dot(self._A, out=out[:3])
        wrench_b[3:].dot(self._A, out=out[3:])
        out[:3] *= self._scale
        out *= self.force_scale

"""Position-only mapping: the follower's tool goes where the leader's goes and keeps its orientation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.mapping.workspace import WorkspaceMapping

Array = np.ndarray


@dataclass
class PositionOnlyMapping(WorkspaceMapping):
    r"""As :class:`~farhand.mapping.workspace.WorkspaceMapping` in translation; the orientation is that of engagement.

    .. math:: p_t = s\,A\,p_a + \Delta p, \qquad R_t = \Delta R, \qquad \omega_t = 0, \qquad \tau_a = 0

    :math:`\Delta R` is the follower's orientation at engagement. No torque comes back: it is the
    power dual of a rotation that is not followed.
    """

    def refresh(self) -> None:
        """Recompute what depends on the parameters; the target stays."""
        kept = self.offset_rotation
        super().refresh()
        self.offset_rotation = kept

    def capture(self, p_a: Array, R_a: Array, p_b: Array, R_b: Array) -> None:
        """Choose the offset so that a maps onto b, and keep b's orientation."""
        super().capture(p_a, R_a, p_b, R_b)
        self.offset_rotation = np.array(R_b)

    def forward(self, p_a: Array, R_a: Array, twist_a: Array) -> None:
        """Map the leader's position and velocity, into the attributes."""
        super().forward(p_a, R_a, twist_a)
        self.rotation[:] = self.offset_rotation
        self.twist = np.concatenate([self.twist[:3], np.zeros(3)])

    @property
    def matrix(self) -> Array:
        """S with ẋ_t = S ẋ_a, 6 × 6; nothing of the rotation passes."""
        matrix = super().matrix
        matrix[3:] = 0.0
        return matrix

    def back(self, wrench_b: Array, out: Array) -> None:
        """Map a force back; torques are left out."""
        super().back(wrench_b, out)
        out[3:] = 0.0

"""Axis map: a pen's axes laid over a robot's, the dual force map, and the pen's angles as a tool rotation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue
from farhand.spatial import quaternion_from_rotation, rotation_from_vector

Array = np.ndarray


@dataclass(frozen=True)
class AxisMap:
    r"""A signed permutation of axes, which is exact in floating point, and its dual for forces.

    .. math:: h = A\,p, \qquad f_m = A^\top f, \qquad f\cdot\dot h = f_m\cdot\dot p

    Attributes:
        rows: for each axis of the robot the pen's axis it follows, as a signed number from 1: (−1,
            −2, 3) is h = (−x, −y, +z).

    Raises:
        BadValue: an axis is used twice, or the map would mirror the workspace.
    """

    rows: tuple[int, int, int] = (-1, -2, 3)

    def __post_init__(self) -> None:
        """Only proper rotations: a mirrored hand cannot be told from a wrong sign."""
        if sorted(abs(row) for row in self.rows) != [1, 2, 3]:
            raise BadValue(f"axes {self.rows} must name each of 1, 2, 3 once, with a sign")
        if np.linalg.det(self.matrix) < 0.0:
            raise BadValue(
                f"axes {self.rows} mirror the workspace; change one sign or swap two axes"
            )

    @property
    def matrix(self) -> Array:
        """A, 3 × 3, of zeros and ±1."""
        matrix = np.zeros((3, 3))
        for axis, row in enumerate(self.rows):
            matrix[axis, abs(row) - 1] = math.copysign(1.0, row)
        return matrix

    def forward(self, vector_pen: Array) -> Array:
        """A position or velocity of the pen in robot axes."""
        return self.matrix @ vector_pen

    def back(self, force_robot: Array) -> Array:
        """A force in robot axes as the pen sees it, [N]: the power dual, before any force scale."""
        return self.matrix.T @ force_robot


PEN = AxisMap((-1, -2, 3))
"""The published map: pen x and y point the other way, a half turn about z (sources/youbot §3.1)."""

TOOL_TURN = (0.0, 0.75 * math.pi, 0.0)
"""Rotation vector of the tool at zero pen angles: RotY(135°), forward and 45° down (stated in the
source), [rad]."""


def tool_rotation(angles: Array, turn: Array | tuple[float, ...] = TOOL_TURN) -> Array:
    r"""Tool rotation for the three angles a pen's wrist reports.

    .. math:: R = R_{turn}\,R_x(o_z)\,R_y(-o_y)\,R_z(-o_x)

    The order is that of the hinges in the pen's wrist (sources/youbot §3.2).

    Args:
        angles: o_x, o_y, o_z as the device reports them, [rad].
        turn: rotation vector of the tool at zero angles, [rad].
    """
    ox, oy, oz = np.asarray(angles, dtype=float)
    return rotation_from_vector(np.asarray(turn)) @ _about(0, oz) @ _about(1, -oy) @ _about(2, -ox)


def tool_quaternion(angles: Array) -> Array:
    """Tool quaternion (x, y, z, w) for the three angles a pen's wrist reports, [rad]."""
    return quaternion_from_rotation(tool_rotation(angles))


def pen_rotation(angles: Array) -> Array:
    """Rotation of the pen in its own device for the angles it reports, [rad]: Rx(−o_z) Ry(o_y) Rz(−o_x).

    The half turn A of :data:`PEN` changes the sign of angles about x and y, so that R_turn A R_pen
    Aᵀ is the published
    :func:`tool_rotation`.
    """
    ox, oy, oz = np.asarray(angles, dtype=float)
    return _about(0, -oz) @ _about(1, oy) @ _about(2, -ox)


def _about(axis: int, angle: float) -> Array:
    return rotation_from_vector(angle * np.eye(3)[axis])

"""Grasped objects: mass and centre of gravity from what a wrist cell reads in a few poses, and its frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue
from farhand.sensing.identification import identify
from farhand.sensing.profile import Load
from farhand.sensing.readings import Readings
from farhand.spatial import skew

Array = np.ndarray

LEAST_TURN = 0.17
"""Sine of the angle between two weights below which a centre of gravity is refused: 10°,
recommended, [-]."""

WRONG_FRAME = float(np.radians(5.0))
"""Yaw of a sensor beyond what its mounting says from which on its frame counts as wrong; assumed,
[rad]."""


def mass_of(force: Array, gravity: float = 9.804) -> float:
    """Mass of what weighs ``force`` [N] at rest, [kg]."""
    return float(np.linalg.norm(force)) / gravity


def centre_by_pairs(forces: Array, moments: Array) -> Array:
    r"""Centre of gravity from two poses by the published rule, [m], in the axes of the readings.

    From :math:`M_i = r \times F_i` equal rows of the two poses give two components of r each; of
    the two answers for each component that with the larger denominator of :math:`D = F_1 \times
    F_2` is kept.

    Args:
        forces: 2 × 3, weights in sensor axes, [N].
        moments: 2 × 3, [N·m].

    Raises:
        BadValue: the two weights are nearly parallel.
    """
    _refuse_parallel(forces)
    (F1, F2), (M1, M2) = forces, moments
    D = np.cross(F1, F2)
    r = np.empty(3)
    for component in range(3):
        rows = [row for row in range(3) if row != component]
        row = max(rows, key=lambda k: abs(D[k]))
        r[component] = (M2[row] * F1[component] - M1[row] * F2[component]) / D[row]
    return r


def centre_by_least_squares(forces: Array, moments: Array) -> Array:
    """Centre of gravity from two or more poses by stacked least squares, [m], in the axes of the readings.

    Args:
        forces: n × 3, weights in sensor axes, [N].
        moments: n × 3, [N·m].

    Raises:
        BadValue: all weights are nearly parallel.
    """
    _refuse_parallel(forces)
    rows = np.vstack([-skew(force) for force in forces])
    return np.linalg.lstsq(rows, np.concatenate(moments), rcond=None)[0]


def _refuse_parallel(forces: Array) -> None:
    """Refuse poses between which the weight turned too little in the tool."""
    forces = np.asarray(forces, dtype=float)
    sizes = np.linalg.norm(forces, axis=1)
    if not (sizes > 0.0).all():
        raise BadValue("no weight to be found in one of the poses")
    units = forces / sizes[:, None]
    sine = max(float(np.linalg.norm(np.cross(units[0], unit))) for unit in units[1:])
    if sine < LEAST_TURN:
        turned, least = np.degrees(np.arcsin(min(sine, 1.0))), np.degrees(np.arcsin(LEAST_TURN))
        raise BadValue(
            f"the tool turned by {turned:.1f}° only between the poses: turn it by {least:.0f}° or more"
        )


def estimate(
    forces: Array, moments: Array, method: str = "least-squares", gravity: float = 9.804
) -> Load:
    """Mass and centre of gravity of a grasped object.

    Args:
        forces: n × 3, mean weights in sensor axes with the tool's own taken off, [N].
        moments: n × 3, [N·m].
        method: ``"least-squares"``, or ``"pairs"`` for the published rule on the first two poses.
        gravity: [m/s²].
    """
    forces, moments = np.asarray(forces, dtype=float), np.asarray(moments, dtype=float)
    mass = float(np.mean([mass_of(force, gravity) for force in forces]))
    if method == "pairs":
        return Load(mass, centre_by_pairs(forces[:2], moments[:2]))
    return Load(mass, centre_by_least_squares(forces, moments))


@dataclass(frozen=True)
class FrameCheck:
    """Whether a sensor reads in the frame its mounting says.

    Attributes:
        yaw: of its axes beyond the mounting's, about the flange axis, [rad].
        deviation: standard deviation of it, [rad].
        ok: whether it is what the mounting says.
    """

    yaw: float
    deviation: float
    ok: bool

    @property
    def message(self) -> str:
        """What to do, in plain words; empty if all is well."""
        if self.ok:
            return ""
        return (
            f"the sensor's frame is turned by {np.degrees(self.yaw):.1f}° (± {np.degrees(2 * self.deviation):.1f}°) "
            "against its mounting: remove the tool frame in its controller or correct the mounting"
        )


def check_frame(readings: Readings, gravity: float = 9.804) -> FrameCheck:
    """Compare the direction of the tool's weight with gravity, from four or more poses at rest.

    Args:
        readings: with the orientation of the sensor as its mounting has it.
        gravity: [m/s²].

    Raises:
        BadValue: the poses do not tell.
    """
    tool = identify(readings, gravity=gravity, yaw=True).tool
    right = bool(abs(tool.yaw) < max(WRONG_FRAME, 3.0 * tool.yaw_deviation))
    return FrameCheck(tool.yaw, tool.yaw_deviation, right)

"""Joints on the servo bus: which servo moves which, and angles as counts and back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from farhand.errors import OutOfRange, UnknownName
from farhand.plants.servo_bus.frames import HIGHEST, LOWEST
from farhand.robots.description import load_toml

FOLDER = Path(__file__).parent
GRAVITY = 9.80665
"""For torques rated in kilogram-force, [m/s²]."""


@dataclass(frozen=True)
class BusJoint:
    """One joint and its servo."""

    name: str  #: of the joint in the robot's model
    id: int  #: of the servo on the bus
    servo: str  #: its type
    zero: int  #: position at zero angle, [counts]
    slope_below: float  #: counts per degree of negative angles
    slope_above: float  #: counts per degree of positive angles
    travel: tuple[float, float]  #: smallest and largest angle, [°]
    speed: float  #: of the shaft at the largest speed command, [counts/s]
    torque: float  #: of the shaft, [N·m]

    @property
    def gear(self) -> float:
        """Turns of the shaft per turn of the joint, without sign, above zero, [-]."""
        return abs(self.slope_above) / 10.0

    def counts(self, angle: float) -> int:
        """Position for an angle [rad] to the nearest count; OutOfRange beyond joint or servo."""
        degrees = math.degrees(angle)
        low, high = self.travel
        if not low - 1e-9 <= degrees <= high + 1e-9:
            raise OutOfRange(self.name, f"{degrees:.3f}", low, high, "°")
        counts = round(self.exact_counts(angle))
        if not LOWEST <= counts <= HIGHEST:
            what = f"position of {self.name} at {degrees:.2f}°"
            raise OutOfRange(what, counts, LOWEST, HIGHEST, "counts")
        return counts

    def exact_counts(self, angle: float) -> float:
        """Position for an angle [rad] without rounding or limits, [counts]."""
        degrees = math.degrees(angle)
        return self.zero + degrees * (self.slope_below if degrees < 0.0 else self.slope_above)

    def angle(self, counts: float) -> float:
        """Angle at a position [counts], [rad]."""
        off = counts - self.zero
        slope = self.slope_above if off * self.slope_above >= 0.0 else self.slope_below
        return math.radians(off / slope)

    @cached_property
    def limits(self) -> tuple[float, float]:
        """Smallest and largest angle that travel and servo both allow, [rad]."""
        ends = sorted(self.angle(counts) for counts in (LOWEST, HIGHEST))
        low, high = (math.radians(end) for end in self.travel)
        return max(low, ends[0]), min(high, ends[1])


@cache
def bus_joints() -> dict[str, BusJoint]:
    """Every joint on the bus, by name."""
    servos = load_toml(FOLDER / "servos.toml")
    joints = {}
    for name, row in load_toml(FOLDER / "joints.toml").items():
        rating = servos[row["servo"]]
        ratings = {"speed": 10.0 * rating["speed"], "torque": 0.01 * GRAVITY * rating["torque"]}
        joints[name] = BusJoint(name, **row | {"travel": tuple(row["travel"])} | ratings)
    return joints


def joints_named(*names: str) -> list[BusJoint]:
    """The joints of these names; UnknownName for one that is not on the bus."""
    known = bus_joints()
    for name in names:
        if name not in known:
            raise UnknownName("joint of the servo bus", name, known)
    return [known[name] for name in names]


LIMBS = {
    "left-arm": ("left_shoulder_flexion", "left_shoulder_abduction", "left_elbow"),
    "right-arm": ("right_shoulder_flexion", "right_shoulder_abduction", "right_elbow"),
    "left-leg": ("left_ankle_inversion", "left_ankle_flexion", "left_knee"),
    "right-leg": ("right_ankle_inversion", "right_ankle_flexion", "right_knee"),
}
"""Joints of each limb that is led, in the order of :mod:`farhand.mapping.limbs`."""

"""Calibration of a servo arm, in LeRobot's own files.

A file has, by joint, the servo's ``id``, its ``drive_mode`` (1 for turned round), the
``homing_offset`` stored in the servo, and the positions ``range_min`` and ``range_max`` at the ends
of the joint, [steps] of 4096 per turn. As in LeRobot, the middle of the range is the middle of the
joint's way; here that is the middle of the robot model's limits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from farhand.errors import BadValue, FileError
from farhand.files import write_text
from farhand.plants.servo_arm.description import MAX_ID, STEPS
from farhand.robots.description import whole

FARTHEST = 1_000_000
"""Largest offset and position of a Dynamixel, [steps]; of a Feetech servo they are smaller."""

RANGES = {
    "id": (0, MAX_ID),
    "drive_mode": (0, 255),
    "homing_offset": (-FARTHEST, FARTHEST),
    "range_min": (-FARTHEST, FARTHEST),
    "range_max": (-FARTHEST, FARTHEST),
}
"""Keys of an entry, and between which values they can be."""


@dataclass(frozen=True)
class JointCalibration:
    """One joint's entry of a calibration file."""

    id: int  #: of its servo
    drive_mode: int  #: 1 where positions fall as the joint's angle rises
    homing_offset: int  #: stored in the servo, [steps]
    range_min: int  #: smallest position, [steps]
    range_max: int  #: largest position, [steps]

    @property
    def middle(self) -> float:
        """Position in the middle of the range, [steps]."""
        return (self.range_min + self.range_max) / 2.0


@dataclass(frozen=True)
class Calibration:
    """The entries of an arm, by joint."""

    joints: Mapping[str, JointCalibration]

    @classmethod
    def read(cls, path: Path) -> Calibration:
        """Read a file of LeRobot's.

        Raises:
            FileError: it cannot be read.
            BadValue: it is no calibration.
        """
        try:
            table = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise FileError(f"cannot read {path}: {error.strerror}") from None
        except (ValueError, RecursionError) as error:
            raise BadValue(f"{path} is no calibration file: {error}") from None
        rows = table.values() if isinstance(table, dict) else [table]
        if not all(isinstance(row, dict) and set(row) == set(RANGES) for row in rows):
            keys = ", ".join(RANGES)
            raise BadValue(f"{path} is no calibration file: each joint must have {keys}")
        joints = {}
        for name, row in table.items():
            numbers = {
                key: whole(row[key], *limits, f"{key} of {name} in {path}")
                for key, limits in RANGES.items()
            }
            joints[name] = JointCalibration(**numbers)
        if len({joint.id for joint in joints.values()}) != len(joints):
            raise BadValue(f"{path}: two joints have the same id")
        for name, joint in joints.items():
            if not joint.range_min < joint.range_max:
                ends = f"range_min {joint.range_min} and range_max {joint.range_max}"
                raise BadValue(f"{path}: {ends} of {name}: the first must be the smaller one")
            if joint.range_max - joint.range_min >= 4 * STEPS:
                raise BadValue(f"{path}: the range of {name} is more than four turns")
        return cls(joints)

    def write(self, path: Path) -> None:
        """Write a file that LeRobot reads."""
        table = {name: asdict(joint) for name, joint in self.joints.items()}
        write_text(path, json.dumps(table, indent=4) + "\n")

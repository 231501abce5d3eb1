"""What a LeRobot policy sees of a session and answers: names and values of state and action.

The exporter of recordings and the plug-in for LeRobot both take them from here, so a dataset is
the same either way. Angles are in rad, nothing is scaled to LeRobot's −100 … 100.

====================  ========================================================================
``JOINT.pos``         position of the follower's joint, [rad] or [m]
``JOINT.vel``         its velocity, [rad/s] or [m/s]
``JOINT.torque``      torque that its motor was sent, weight included, [N·m] or [N]
``JOINT.ext_torque``  torque from outside, estimated; only where the session estimates it
``tool.x.pos`` …      place of the tool in world, [m]
``tool.xx.pos`` …     its x axis, then its y axis (``tool.yx.pos`` …), in world: six numbers that
                      determine its rotation and never jump
``tool.fx`` …         force on the tool in world, [N], and moment ``tool.tx`` …, [N·m]: measured,
                      or observed where nothing measures it; left out if neither is known
====================  ========================================================================

The action is where the leader wants the follower: ``JOINT.pos`` where joints are coupled, and
``tool.x.pos`` … ``tool.yz.pos`` where tools are. It is the leader's position in the follower's
terms, with the offsets that the coupling has captured. While nothing is coupled it is where the
follower is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

POSE = tuple(f"tool.{axis}.pos" for axis in ("x", "y", "z", "xx", "xy", "xz", "yx", "yy", "yz"))
WRENCH = tuple(f"tool.{axis}" for axis in ("fx", "fy", "fz", "tx", "ty", "tz"))
FORCES = {"torque_commanded": "torque", "torque_external": "ext_torque"}
"""Signals that are forces, one for each joint, and what their names end in."""

WRENCHES = ("wrench_measured_in_world", "wrench_observed_in_world")
"""Signals that may be the wrench on the tool, the better first."""


@dataclass(frozen=True)
class PolicyFeatures:
    """Names and values of the state and the action of one follower.

    Args:
        joints: names of the follower's joints.
        signals: of its stream that have values; the others are left out.
        of_joints: whether the coupling is one of joints.
        forces: whether torques and the wrench are part of the state.
    """

    joints: Sequence[str]
    signals: frozenset[str]
    of_joints: bool
    forces: bool = True

    @property
    def wrench(self) -> str:
        """The signal that is the wrench on the tool; empty without one."""
        return next((name for name in WRENCHES if self.forces and name in self.signals), "")

    @property
    def torques(self) -> list[str]:
        """The signals of the joints' forces that are there."""
        return [name for name in FORCES if self.forces and name in self.signals]

    @property
    def state_names(self) -> list[str]:
        """Names of the state's numbers."""
        kinds = ["pos", "vel", *(FORCES[name] for name in self.torques)]
        own = [f"{joint}.{kind}" for kind in kinds for joint in self.joints]
        return [*own, *POSE, *(WRENCH if self.wrench else ())]

    @property
    def action_names(self) -> list[str]:
        """Names of the action's numbers."""
        return [f"{joint}.pos" for joint in self.joints] if self.of_joints else list(POSE)

    def unit(self, name: str, units: Mapping[str, str]) -> str:
        """Unit of a number of the state or the action, from those of the follower's signals."""
        if name in POSE:
            return "m" if name in POSE[:3] else "-"
        if name in WRENCH:
            return "N" if name in WRENCH[:3] else "N·m"
        kinds = {"pos": "q", "vel": "v"} | {kind: signal for signal, kind in FORCES.items()}
        return units[kinds[name.rpartition(".")[2]]]

    def state(self, record: Mapping[str, Array]) -> Array:
        """The state, from one record of the follower's stream, or from many below each other."""
        pose = _pose(record["position_tool_in_world"], _rotation(record))
        parts = [record["q"], record["v"], *(record[name] for name in self.torques), pose]
        return np.concatenate([*parts, *([record[self.wrench]] if self.wrench else [])], axis=-1)

    def action(self, record: Mapping[str, Array], error: Array, engaged: Array) -> Array:
        """The action, from the follower's record and the coupling's error and engagement."""
        pull = np.where(engaged > 0.0, error, 0.0)
        if self.of_joints:
            return record["q"] + pull
        rotation = _turn(pull[..., 3:]) @ _rotation(record)
        return _pose(record["position_tool_in_world"] + pull[..., :3], rotation)


def pose_of(action: Array) -> Array:
    """Position and quaternion (x, y, z, w) of a tool whose nine numbers need not be exact."""
    x = action[3:6] / max(float(np.linalg.norm(action[3:6])), 1e-9)
    y = action[6:9] - x * (x @ action[6:9])
    y /= max(float(np.linalg.norm(y)), 1e-9)
    (a, b, c), (d, e, f), (g, h, i) = np.column_stack([x, y, np.cross(x, y)])
    # each row is the quaternion times four of its own numbers; the largest is the exact one
    rows = np.array(
        [
            [1 + a - e - i, b + d, c + g, h - f],
            [b + d, 1 - a + e - i, f + h, c - g],
            [c + g, f + h, 1 - a - e + i, d - b],
            [h - f, c - g, d - b, 1 + a + e + i],
        ]
    )
    best = rows[np.argmax(rows.diagonal())]
    return np.concatenate([action[:3], best / np.linalg.norm(best)])


def _rotation(record: Mapping[str, Array]) -> Array:
    flat = record["rotation_tool_in_world"]
    # column by column
    return flat.reshape(*flat.shape[:-1], 3, 3).swapaxes(-1, -2)


def _pose(position: Array, rotation: Array) -> Array:
    """Position, x axis and y axis."""
    return np.concatenate([position, rotation[..., :, 0], rotation[..., :, 1]], axis=-1)


def _turn(vector: Array) -> Array:
    """The rotation about a vector by its length, for one vector or many below each other."""
    angle = np.linalg.norm(vector, axis=-1)[..., None, None]
    x, y, z = np.moveaxis(vector, -1, 0)
    zero = np.zeros_like(x)
    skew = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(*x.shape, 3, 3)
    return (
        np.eye(3)
        + np.sinc(angle / np.pi) * skew
        + 0.5 * np.sinc(angle / (2 * np.pi)) ** 2 * (skew @ skew)
    )

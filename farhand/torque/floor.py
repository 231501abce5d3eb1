"""What an arm feels when nothing touches it: the least force at the tool that tells from that."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.arm import Arm
from farhand.robots import Robot
from farhand.sensing.observer import MomentumObserver
from farhand.spatial import damped_inverse
from farhand.torque.log import ArmLog
from farhand.torque.motion import rates
from farhand.torque.overlay import IdentifiedModel

Array = np.ndarray

DIRECTIONS = ("forward", "sideways", "up")
"""Along x, y and z of the robot's base."""

OBSERVER_GAIN = 50.0  # [1/s]
QUANTILE = 0.99
"""Share of the time in free motion that stays below the floor: a contact above it is one, [-]."""

DAMPING = 1e-3  # [m]
SETTLE_S = 0.5
MOST_SAMPLES = 20_000


@dataclass(frozen=True)
class NoiseFloor:
    """At the tool, in the axes of the robot's base: what 99 % of free motion stays below."""

    force: Array  #: along x, y, z, [N]
    moment: Array  #: about x, y, z, [N·m]
    torque: Array  #: of every joint, [N·m]


def external(
    robot: Robot, log: ArmLog, model: IdentifiedModel | None, gain: float = OBSERVER_GAIN
) -> tuple[Array, Array, Array]:
    """Time, tool wrench and joint torque that a momentum observer takes for contact, row by row.

    Args:
        robot: whose file is believed where there is no ``model``.
        log: of any motion, columns in the model's order.
        model: identified; readings are then divided by its scale, and its offset is taken off.
        gain: of the observer, [1/s].
    """
    arm = Arm.of(robot)
    joints = list(log.joints)
    scale, offset = np.ones(len(joints)), np.zeros(len(joints))
    if model is not None:
        model.apply(arm)
        scale, offset = model.scale[joints], model.offset[joints]
    observer = MomentumObserver(arm, gain)
    v = rates(log) if log.v is None else log.v
    torque = (log.effort - offset) / scale
    keep = slice(None, None, max(1, len(log.time) // MOST_SAMPLES))
    time, q, v, torque = log.time[keep], log.q[keep], v[keep], torque[keep]
    wrench, joint = np.zeros((len(time), 6)), np.zeros((len(time), len(joints)))
    full_q, full_v, full_t = robot.home.copy(), np.zeros(arm.nv), np.zeros(arm.nv)
    others = [k for k in range(arm.nv) if k not in joints]
    for k in range(len(time)):
        full_q[joints], full_v[joints], full_t[joints] = q[k], v[k], torque[k]
        arm.update(full_q, full_v)
        # a gripper that was not logged is held
        full_t[others] = arm.bias[others]
        observer.update(full_t, float(time[k] - time[k - 1]) if k else log.step, coarse=True)
        joint[k] = observer.torque[joints]
        wrench[k] = contact(arm, observer.torque)
    return time, wrench, joint


def contact(arm: Arm, torque: Array) -> Array:
    """The force alone, and the moment alone, at the tool that explain a joint torque best.

    Not both at once: where an arm is nearly stretched, a large force and a large moment together
    would explain nearly nothing.
    """
    parts = [damped_inverse(part.T, DAMPING) @ torque for part in (arm.J[:3], arm.J[3:])]
    return np.concatenate(parts)


def noise_floor(
    robot: Robot, log: ArmLog, model: IdentifiedModel | None, gain: float = OBSERVER_GAIN
) -> NoiseFloor:
    """The floor of a log of free motion with the data sheet, or with an identified model."""
    time, wrench, joint = external(robot, log, model, gain)
    settled = time > time[0] + SETTLE_S
    tool = np.quantile(np.abs(wrench[settled]), QUANTILE, axis=0)
    return NoiseFloor(tool[:3], tool[3:], np.quantile(np.abs(joint[settled]), QUANTILE, axis=0))

"""What an arm feels when nothing touches it: the least force at the tool that tells from that."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import minimum_filter1d

from farhand.arm import Arm
from farhand.robots import Robot
from farhand.sensing.observer import MomentumObserver
from farhand.spatial import damped_inverse
from farhand.torque.log import ArmLog
from farhand.torque.motion import FLOOR_SPEED, rates
from farhand.torque.overlay import IdentifiedModel

Array = np.ndarray

DIRECTIONS = ("forward", "sideways", "up")
"""Along x, y and z of the robot's base."""

OBSERVER_GAIN = 50.0  # [1/s]
QUANTILE = 0.99
"""Share of the time in free motion that stays below the threshold of contact, [-]."""

HARD = 0.9
"""Share of a log in which the threshold is lower than in its hard moments, [-]."""

LAGS = 3.0
"""How long the observer remembers, in times of its gain."""

DAMPING = 1e-3  # [m]
SETTLE_S = 0.5
MOST_SAMPLES = 20_000


@dataclass(frozen=True)
class NoiseFloor:
    """Least contact at the tool that tells from free motion, in the axes of the robot's base."""

    force: Array  #: along x, y, z, half of the time, [N]
    moment: Array  #: about x, y, z, half of the time, [N·m]
    torque: Array  #: of every joint: what 99 % of free motion stays below, [N·m]
    hard: Array  #: force along x, y, z that the hardest tenth of the time asks for, [N]


@dataclass(frozen=True)
class External:
    """What a momentum observer takes for contact, n rows."""

    time: Array  #: n [s]
    torque: Array  #: n × logged joints, [N·m]
    slow: Array  #: where the direction of a joint's friction is not known, n × logged joints, bool
    maps: Array  #: n × 6 × logged joints, from that torque to force and moment at the tool

    @property
    def wrench(self) -> Array:
        """At the tool, n × 6."""
        found: Array = np.einsum("nij,nj->ni", self.maps, self.torque)
        return found


@dataclass(frozen=True)
class Detector:
    """Tells contact at the tool from what a model leaves over.

    That is more error of the model than noise. In joint torque it is alike in all motions of an
    arm, but larger where a joint turns round; the force that it looks like depends on the posture
    and grows without limit near a singular one. So the threshold does too: the force that the
    left-over torque usually makes in a posture, times a level per direction.
    """

    moving: Array  #: left-over torque of each joint, rms, [N·m]
    slow: Array  #: likewise where it is slow
    alike: Array  #: correlation of joints
    level: Array  #: 6 [-]

    @staticmethod
    def of(free: External) -> Detector:
        """Wrong in 1 % of this free motion."""
        moving, slow = (
            np.sqrt(np.mean(free.torque**2, axis=0, where=rows) + 1e-18)
            for rows in (~free.slow, free.slow)
        )
        moving, slow = (
            np.where(np.isfinite(one), one, other)
            for one, other in ((moving, slow), (slow, moving))
        )
        scaled = free.torque / np.where(free.slow, slow, moving)
        plain = Detector(moving, slow, scaled.T @ scaled / len(scaled), np.ones(6))
        level = np.quantile(np.abs(free.wrench) / plain.threshold(free), QUANTILE, axis=0)
        return replace(plain, level=level)

    def threshold(self, run: External) -> Array:
        """Force and moment per row, n × 6."""
        usual = run.maps * np.where(run.slow, self.slow, self.moving)[:, None, :]
        square = np.einsum("nij,jk,nik->ni", usual, self.alike, usual)
        found: Array = self.level * np.sqrt(np.maximum(square, 1e-24))
        return found


def external(
    robot: Robot, log: ArmLog, model: IdentifiedModel | None, gain: float = OBSERVER_GAIN
) -> External:
    """What the observer sees in a log, once it has settled.

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
    maps, joint = np.zeros((len(time), 6, len(joints))), np.zeros((len(time), len(joints)))
    full_q, full_v, full_t = robot.home.copy(), np.zeros(arm.nv), np.zeros(arm.nv)
    others = [k for k in range(arm.nv) if k not in joints]
    for k in range(len(time)):
        full_q[joints], full_v[joints], full_t[joints] = q[k], v[k], torque[k]
        arm.update(full_q, full_v)
        # a gripper that was not logged is held
        full_t[others] = arm.bias[others]
        observer.update(full_t, float(time[k] - time[k - 1]) if k else log.step, coarse=True)
        joint[k] = observer.torque[joints]
        maps[k] = contact_map(arm)[:, joints]
    settled = time > time[0] + SETTLE_S
    # the observer still shows what was a moment ago
    lag = max(1, round(LAGS / gain / float(np.median(np.diff(time)))))
    slowest = minimum_filter1d(np.abs(v), 2 * lag + 1, axis=0, origin=lag)
    return External(*(one[settled] for one in (time, joint, slowest < FLOOR_SPEED, maps)))


def contact_map(arm: Arm) -> Array:
    """From joint torque to the force alone, and the moment alone, that explain it best, 6 × n.

    Not both at once: where an arm is nearly stretched, a large force and a large moment together
    would explain nearly nothing.
    """
    return np.vstack([damped_inverse(part.T, DAMPING) for part in (arm.J[:3], arm.J[3:])])


def noise_floor(
    robot: Robot, log: ArmLog, model: IdentifiedModel | None, gain: float = OBSERVER_GAIN
) -> NoiseFloor:
    """The floor of a log of free motion with the data sheet, or with an identified model."""
    free = external(robot, log, model, gain)
    threshold = Detector.of(free).threshold(free)
    middle = np.median(threshold, axis=0)
    return NoiseFloor(
        middle[:3],
        middle[3:],
        np.quantile(np.abs(free.torque), QUANTILE, axis=0),
        np.quantile(threshold[:, :3], HARD, axis=0),
    )

"""Motions: movej, servoj and the like as generators, one control cycle per ``yield``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from farhand.errors import BadValue
from farhand.plants.ur_sim.arm import CYCLE, ServoedArm, pose_of
from farhand.spatial import Array, damped_inverse, rotation_from_vector, rotation_vector

Motion = Iterator[None]

POSE_TOLERANCE = (1e-4, 1e-3)
"""Of inverse kinematics, [m] and [rad]."""


def servoj(arm: ServoedArm, q: Array, lookahead: float, gain: float) -> None:
    r"""One cycle towards joints ``q`` [rad].

    By the manual the lookahead time projects the present position forward with the present
    velocity, and the gain pulls the projection to the target: :math:`\ddot q = k\,(q_t - (q + T
    \dot q))`, so the arm is T late.
    """
    arm.accelerate(gain * (q - (arm.q_target + lookahead * arm.v_target)))


def speedj(arm: ServoedArm, velocity: Array, acceleration: float) -> None:
    """One cycle towards joint speeds [rad/s], at most at ``acceleration`` [rad/s²]."""
    arm.reach_velocity(_towards(arm.v_target, arm.speed_scaling * velocity, acceleration))


def speedl(arm: ServoedArm, twist: Array, acceleration: float) -> None:
    """One cycle towards a tool twist in base axes [m/s, rad/s] at ``acceleration`` [m/s²]."""
    J = arm.jacobian(arm.q_target)
    reached = _towards(J @ arm.v_target, arm.speed_scaling * twist, acceleration)
    arm.reach_velocity(damped_inverse(J, 0.01) @ reached)


def stop(arm: ServoedArm, deceleration: float) -> Motion:
    """Stop the joints together at ``deceleration`` [rad/s²]."""
    if arm.torque_mode:
        arm.stop_in_place()
    while not arm.slow_down(deceleration):
        yield


def stopl(arm: ServoedArm, deceleration: float) -> Motion:
    """Stop with the tool slowing down at ``deceleration`` [m/s²], joints in proportion."""
    if arm.torque_mode:
        arm.stop_in_place()
    J = arm.jacobian(arm.q_target)
    speed = float(np.linalg.norm((J @ arm.v_target)[:3]))
    fastest = float(np.abs(arm.v_target).max())
    rate = deceleration * fastest / speed if speed > 1e-3 * fastest else deceleration
    yield from stop(arm, rate)


def movej(arm: ServoedArm, q: Array, speed: float, acceleration: float) -> Motion:
    """Straight in joint space: the joint with the longest way at these limits [rad/s, rad/s²]."""
    yield from stop(arm, arm.joints.deceleration)
    start, way = arm.q_target.copy(), q - arm.q_target
    longest = float(np.abs(way).max())
    for s, ds in trapezoid(longest, speed, acceleration, lambda: arm.speed_scaling):
        arm.place(start + way * (s / longest), way * (ds / longest))
        yield


def movel(
    arm: ServoedArm, position: Array, rotation: Array, speed: float, acceleration: float
) -> Motion:
    """Straight in space at these limits [m/s, m/s²]; a pure turn counts a radian as a metre."""
    yield from stop(arm, arm.joints.deceleration)
    p, R = arm.pose(arm.q_target)
    way, turn = position - p, rotation_vector(rotation @ R.T)
    length = float(np.linalg.norm(way))
    length = length if length > 1e-6 else float(np.linalg.norm(turn))
    for s, _ in trapezoid(length, speed, acceleration, lambda: arm.speed_scaling):
        share = s / length
        q = inverse(arm, p + share * way, rotation_from_vector(share * turn) @ R, arm.q_target)
        arm.place(q, (q - arm.q_target) / CYCLE)
        yield
    arm.place(arm.q_target.copy(), np.zeros(len(arm.q)))


def trapezoid(
    length: float, speed: float, acceleration: float, scaling: Callable[[], float] = lambda: 1.0
) -> Iterator[tuple[float, float]]:
    """Distance and speed at the end of every cycle of a move from rest to rest.

    Its time passes ``scaling`` times as fast, [-].
    """
    if length <= 1e-9:
        return
    speed, acceleration = max(speed, 1e-3), max(acceleration, 1e-3)
    top = min(speed, math.sqrt(length * acceleration))
    ramp, whole = top / acceleration, length / top + top / acceleration
    passed, cycles = scaling(), math.ceil(whole / CYCLE)
    while passed < cycles and (t := passed * CYCLE) < whole:
        rate = scaling()
        if t < ramp:
            yield 0.5 * acceleration * t * t, rate * acceleration * t
        elif t > whole - ramp:
            left = whole - t
            yield length - 0.5 * acceleration * left * left, rate * acceleration * left
        else:
            yield top * (t - 0.5 * ramp), rate * top
        passed += scaling()
    yield length, 0.0


def inverse(
    arm: ServoedArm, position: Array, rotation: Array, near: Array, most: int = 60
) -> Array:
    """Joints [rad] near ``near`` for a pose of the TCP in the base; BadValue if there are none."""
    near_m, near_rad = POSE_TOLERANCE
    q: Array = np.array(near, dtype=float)
    for _ in range(most):
        p, R = arm.pose(q)
        error = np.concatenate([position - p, rotation_vector(rotation @ R.T)])
        shift, turn = np.linalg.norm(error[:3]), np.linalg.norm(error[3:])
        if shift < near_m * 0.01 and turn < near_rad * 0.01:
            break
        size = float(np.linalg.norm(error))
        q += damped_inverse(arm.jacobian(q), 0.003 + 0.1 * min(size, 0.3)) @ error
    p, R = arm.pose(q)
    turn = np.linalg.norm(rotation_vector(rotation @ R.T))
    if np.linalg.norm(position - p) > near_m or turn > near_rad:
        raise BadValue("get_inverse_kin found no joints for the pose")
    q = q - 2.0 * math.pi * np.round((q - near) / (2.0 * math.pi))
    limits = arm.robot.limits
    if (q < limits.lower).any() or (q > limits.upper).any():
        raise BadValue("the pose needs joints outside their limits")
    return q


def inverse_of(arm: ServoedArm, vector: Array, near: Array | None = None) -> Array:
    """:func:`inverse` of a pose as the controller writes it, near the present target by default."""
    return inverse(arm, *pose_of(vector), arm.q_target if near is None else near)


def _towards(now: Array, target: Array, acceleration: float) -> Array:
    """``now`` moved to ``target`` by one cycle at this acceleration, all components together."""
    left = target - now
    largest = float(np.abs(left).max())
    most = acceleration * CYCLE
    return target if largest <= most else now + left * (most / largest)

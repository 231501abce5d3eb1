"""The motion to log: every joint at once, as much as limits and self-collision allow."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from farhand.errors import BadValue
from farhand.robots import Robot
from farhand.torque.identify import PRIOR
from farhand.torque.regressor import BODY, DataSheet

Array = np.ndarray

PERIOD_S = 10.0
"""The sines' longest period; all repeat with it."""

HARMONICS = (1, 2, 3, 5, 7)
FADE_S = 2.0
"""From rest at home into the motion, and back."""

CANDIDATES = 12
SHRINK = 0.8
"""What collides is tried again with this share of its size, [-]."""

MIN_SIZE = 0.1
"""Motions smaller than this share of what the limits allow say too little, [-]."""

MOST_SPEED = 2.0  # [rad/s]
MOST_REACH = 1.2  # [rad]


@dataclass(frozen=True)
class Excitation:
    """Set points of all joints, gripper excepted; it begins and ends at rest at home."""

    time: Array  #: n [s]
    q: Array  #: n × joints [rad]
    v: Array  #: [rad/s]
    names: tuple[str, ...]  #: of the joints
    size: float  #: share of what the limits allow that is left after collisions, [-]
    speeds: Array  #: highest speed of each joint over its limit, [-]


def excitation(
    robot: Robot, seconds: float, speed: float, rate_hz: float, rng: np.random.Generator
) -> Excitation:
    """The most telling of some random motions that stay within limits and off the arm itself.

    Args:
        robot: whose limits hold.
        seconds: how long, fades included, [s].
        speed: largest share of each joint's speed limit, [-].
        rate_hz: of the set points, [Hz].
        rng: of the phases and sizes.

    Raises:
        BadValue: no motion is free of collisions.
    """
    compiled = robot.compile()
    n = compiled.nv - (robot.gripper is not None)
    if compiled.nq != compiled.nv:
        raise BadValue(f"{robot.name} has a floating base; the motion is for fixed arms")
    sheet = DataSheet(robot, tuple(range(n)))
    best: tuple[float, Excitation] | None = None
    time = np.arange(0.0, seconds, 1.0 / rate_hz)
    coarse = np.arange(0.0, min(seconds, PERIOD_S + 2.0 * FADE_S), 0.05)
    for _ in range(CANDIDATES):
        shape = rng.uniform(-1.0, 1.0, (2, len(HARMONICS), n))
        size = _free_size(robot, compiled, shape, speed, coarse, seconds, n)
        if size < MIN_SIZE:
            continue
        q, v, a = _motion(robot, shape, speed, coarse, seconds, n, size)
        score = _telling(sheet, q, v, a)
        if best is None or score > best[0]:
            q, v, _ = _motion(robot, shape, speed, time, seconds, n, size)
            names = tuple(compiled.joint(k).name or f"joint{k + 1}" for k in range(n))
            share = np.abs(v).max(axis=0) / robot.limits.velocity[:n]
            best = score, Excitation(time, q, v, names, size, share)
    if best is None:
        raise BadValue(
            f"{robot.name} touches itself in every motion tried around its home; "
            "give its toml another home = […] with more room"
        )
    return best[1]


def _motion(
    robot: Robot, shape: Array, speed: float, time: Array, seconds: float, n: int, size: float
) -> tuple[Array, Array, Array]:
    """Positions, rates and accelerations of one candidate."""
    home, reach, fastest = _room(robot, speed, n)
    omega = 2.0 * np.pi / PERIOD_S * np.array(HARMONICS)[:, None]
    ease = np.array(HARMONICS)[:, None] ** -0.7
    whole = np.arange(0.0, PERIOD_S, 0.02)
    way, rate = _series(shape, omega, ease, whole)
    factor = np.minimum(reach / np.abs(way).max(axis=0), fastest / np.abs(rate).max(axis=0))
    way, _ = _series(shape, omega, ease, time)
    s = np.clip(np.minimum(time, seconds - time) / FADE_S, 0.0, 1.0)
    # the fade adds to the speed: leave it a little room
    fade = (0.9 * size * (10 * s**3 - 15 * s**4 + 6 * s**5))[:, None]
    q = home + factor * fade * way
    v = np.gradient(q, time, axis=0)
    return q, v, np.gradient(v, time, axis=0)


def _series(shape: Array, omega: Array, ease: Array, time: Array) -> tuple[Array, Array]:
    angle = omega * time[:, None, None]
    way = (ease * (shape[0] * np.sin(angle) + shape[1] * np.cos(angle))).sum(axis=1)
    rate = (ease * omega * (shape[0] * np.cos(angle) - shape[1] * np.sin(angle))).sum(axis=1)
    return way, rate


def _room(robot: Robot, speed: float, n: int) -> tuple[Array, Array, Array]:
    """Around where, how far and how fast the joints go."""
    low, high = robot.limits.lower[:n], robot.limits.upper[:n]
    home = np.array(robot.home[:n])
    room = np.minimum(home - low, high - home)
    reach = np.minimum(0.9 * np.where(np.isfinite(room), room, np.inf), MOST_REACH)
    return home, reach, np.minimum(speed * robot.limits.velocity[:n], MOST_SPEED)


def _free_size(
    robot: Robot,
    compiled: mujoco.MjModel,
    shape: Array,
    speed: float,
    time: Array,
    seconds: float,
    n: int,
) -> float:
    """The largest size at which the arm does not touch itself, 0 to 1."""
    data, size = mujoco.MjData(compiled), 1.0
    data.qpos[:] = robot.home
    mujoco.mj_fwdPosition(compiled, data)
    touching = _touches(data)
    while size >= MIN_SIZE:
        q, _, _ = _motion(robot, shape, speed, time, seconds, n, size)
        free = True
        for row in q:
            data.qpos[:n] = row
            mujoco.mj_fwdPosition(compiled, data)
            # what touches at home is drawn so: it is no collision
            if _touches(data) - touching:
                free = False
                break
        if free:
            return size
        size *= SHRINK
    return 0.0


def _touches(data: mujoco.MjData) -> set[tuple[int, int]]:
    found = data.contact
    return {(int(one.geom1), int(one.geom2)) for one in found[: data.ncon] if one.dist < 0.0}


def _telling(sheet: DataSheet, q: Array, v: Array, a: Array) -> float:
    """How much a motion says about the bodies: the logarithm of a determinant."""
    columns = sheet.columns(q[::4], v[::4], a[::4])
    slope = [body.slope(np.zeros(BODY)) for body in sheet.bodies]
    total = np.eye(BODY * len(sheet.bodies))
    for j in range(q.shape[1]):
        own = columns.bodies[:, j]
        noise = 0.02 * max(float(np.std(own @ sheet.parameters())), 1e-6)
        parts = [own[:, BODY * k : BODY * (k + 1)] @ one * PRIOR for k, one in enumerate(slope)]
        Y = np.hstack(parts) / noise
        total += Y.T @ Y
    return float(np.linalg.slogdet(total)[1])

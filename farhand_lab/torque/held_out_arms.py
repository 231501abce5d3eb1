"""Forty simulated arms with known faults, made apart from what has to find them.

MuJoCo simulates; nothing of ``farhand.torque`` is used here. Every arm differs from its data sheet
in the ordinary way (:class:`TrueArm`), and four arms each have one of ten causes, :data:`CAUSES`.

How an answer is judged, fixed before the first run:

- A cause is **named** if the check has a finding of its kind for exactly the joints that have it,
  **unidentifiable** if the check says for that kind (and joint) that the log cannot tell, and
  **missed** otherwise.
- Every other finding is a **false alarm**; they are counted by log and by kind, on all 40 logs.
- **Coverage** is the share of 95 % intervals, of quantities that the check calls identified, that
  hold the truth: scale, offset, Coulomb and viscous friction and delay per joint, tool mass and
  both tilts per arm. A quantity that is not constant in an arm (friction or offset that drifts,
  friction with a Stribeck peak) has no truth and is left out. It should be 90 to 99 %.
- Wanted: no cause missed, false alarms on at most 2 of the 40 logs.

Series :data:`DEVELOPMENT` were looked at while the check was written; series :data:`JUDGED` was
first run when it was finished, and only its figures count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import mujoco
import numpy as np

from farhand.robots import Placement, Robot, load_robot
from farhand.robots.edits import add_payload, disable_contacts

Array = np.ndarray

CAUSES = (
    "none",
    "scale",
    "sign",
    "swapped",
    "quantised",
    "delay",
    "tool",
    "tilt",
    "stiction",
    "drift",
)
SIX, SEVEN = ("ur5e", "elbow6", "lwa4p", "vx300s"), ("openarm", "panda", "iiwa14", "xarm7")
DEVELOPMENT, JUDGED = (31, 32), 33
STEP = 1e-3  # [s]
SECONDS = 40.0
MOST_SPEED = 2.0  # [rad/s]
MASS_SPREAD, INERTIA_SPREAD, ROTOR_SPREAD = 0.05, 0.1, 0.15
"""Standard deviations of the logarithm: what a data sheet is off by; assumed, [-]."""

CENTRE_SPREAD = 0.004
"""Likewise of centres of mass, [m]."""


@dataclass
class TrueArm:
    """One arm as it is, and how its readings are made of it; joints in the model's order."""

    robot: Robot  #: as its data sheet says
    true: Robot  #: as it is
    joints: int  #: that are logged; a gripper is not
    coulomb: Array  #: [N·m]
    viscous: Array  #: [N·m·s/rad]
    scale: Array  #: reading over torque, [-]
    offset: Array  #: of the reading, [N·m]
    noise: Array  #: of the reading, [N·m]
    placement: Placement = field(default_factory=Placement)
    delay: int = 0  #: of torque readings, in samples
    step: float = 0.0  #: of torque readings, in multiples of the torque limit; 0 for none
    breakaway: Array | None = None  #: over Coulomb friction, [-]
    stribeck: float = 0.05  #: [rad/s]
    cooling: float = 0.0  #: share of the friction that is gone at the end, [-]
    offset_drift: float = 0.0  #: of the offset, over the torque limit, [-]
    mirrored: tuple[int, ...] = ()  #: joints whose position, velocity and torque have other signs
    torque_order: Array | None = None  #: which joint each torque column shows
    joint_order: Array | None = None  #: which joint each column of all kinds shows


@dataclass
class HeldOut:
    """A log and what is true of it."""

    name: str
    cause: str
    joints: tuple[int, ...]  #: that have it, from 1; empty for a cause of the whole arm
    robot: str
    columns: dict[str, Array]  #: of the CSV file
    decimals: int | None  #: of the numbers in the file; nine significant digits if None
    truth: dict[str, Any]  #: by quantity; NaN where there is no single truth
    arm: TrueArm


def held_out(series: int = JUDGED, count: int = 40) -> Iterator[HeldOut]:
    """The first ``count`` of the forty, ten causes after one another, four times."""
    for number in range(count):
        yield make(number, series)


def make(number: int, series: int = JUDGED) -> HeldOut:
    """One of the forty."""
    rng = np.random.default_rng([series, number])
    cause, round_ = CAUSES[number % len(CAUSES)], number // len(CAUSES)
    name = str(rng.choice(SIX if round_ % 2 == 0 else SEVEN))
    arm = ordinary_arm(load_robot(name).edited(disable_contacts), rng)
    affected = _spoil(arm, cause, round_, rng)
    rate_hz = int(rng.choice((250, 500, 1000)))
    # as in a user's log: continuous motion, or moves with rests between them
    plan = sines if rng.random() < 0.5 else _moves
    t, q, v, torque = simulate(arm, plan(arm, rng), rng)
    columns = readings(arm, t, q, v, torque, rate_hz, rng)
    if rng.random() < 0.25:
        columns = {key: value for key, value in columns.items() if not key.startswith("v")}
    decimals = 4 if cause != "quantised" and rng.random() < 0.33 else None
    return HeldOut(
        f"{number:02d}-{cause}-{name}",
        cause,
        affected,
        name,
        columns,
        decimals,
        _truth(arm, cause, rate_hz),
        arm,
    )


def ordinary_arm(robot: Robot, rng: np.random.Generator, friction: float = 1.0) -> TrueArm:
    """An arm that differs from its data sheet as real ones do, and has nothing else."""
    n = robot.actuated.size - (robot.gripper is not None)
    limit = robot.limits.torque[:n]
    speed = np.minimum(robot.limits.velocity[:n], MOST_SPEED)
    coulomb = friction * rng.uniform(0.01, 0.03, n) * limit
    viscous = friction * rng.uniform(0.005, 0.02, n) * limit / speed
    return TrueArm(
        robot,
        robot.edited(_off_the_sheet(rng)),
        n,
        coulomb,
        viscous,
        scale=np.ones(n),
        offset=rng.normal(0.0, 0.004, n) * limit,
        noise=rng.uniform(0.002, 0.006, n) * limit,
    )


def _off_the_sheet(rng: np.random.Generator) -> Any:
    """An edit: masses, centres and inertias of every body, and rotors, off by a little."""
    seed = int(rng.integers(2**31))

    def edit(spec: mujoco.MjSpec) -> None:
        own = np.random.default_rng(seed)
        copy = spec.copy()
        model = copy.compile()
        ids = [body.id for body in copy.bodies]
        for body, k in zip(spec.bodies, ids, strict=True):
            if model.body_mass[k] <= 0.0:
                continue
            factor = float(np.exp(own.normal(0.0, MASS_SPREAD)))
            body.explicitinertial = True
            body.fullinertia = np.full(6, np.nan)
            body.ialt.type = mujoco.mjtOrientation.mjORIENTATION_QUAT
            body.mass = float(model.body_mass[k]) * factor
            body.ipos = model.body_ipos[k] + own.normal(0.0, CENTRE_SPREAD, 3)
            body.iquat = model.body_iquat[k]
            body.inertia = (
                model.body_inertia[k] * factor * float(np.exp(own.normal(0.0, INERTIA_SPREAD)))
            )
        spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
        for joint in spec.joints:
            joint.armature *= float(np.exp(own.normal(0.0, ROTOR_SPREAD)))

    return edit


def _spoil(arm: TrueArm, cause: str, round_: int, rng: np.random.Generator) -> tuple[int, ...]:
    """Give the arm its cause; which joints have it, from 1."""
    n = arm.joints
    whole = round_ >= 2
    if cause == "scale":
        joints = tuple(range(n)) if whole else (int(rng.integers(n)),)
        arm.scale[list(joints)] *= 4.0
        return tuple(joint + 1 for joint in joints)
    if cause == "sign":
        if whole:
            arm.mirrored = (4,)
        else:
            arm.scale[4] *= -1.0
        return (5,)
    if cause == "swapped":
        first = int(rng.integers(n - 1))
        order = np.arange(n)
        order[[first, first + 1]] = first + 1, first
        if whole:
            arm.joint_order = order
        else:
            arm.torque_order = order
        return first + 1, first + 2
    if cause == "quantised":
        arm.step = 2.0 / 4096.0
        return tuple(range(1, n + 1))
    if cause == "delay":
        arm.delay = 3
    elif cause == "tool":
        centre = (*rng.uniform(-0.02, 0.02, 2), rng.uniform(0.03, 0.08))
        arm.true = arm.true.edited(add_payload(0.5, centre, (3e-4, 3e-4, 3e-4)))
    elif cause == "tilt":
        angle, about = np.radians(rng.uniform(3.0, 8.0)), rng.uniform(0.0, 2.0 * np.pi)
        sine = np.sin(0.5 * angle)
        x, y, w = sine * np.cos(about), sine * np.sin(about), np.cos(0.5 * angle)
        arm.placement = Placement(quaternion=(float(x), float(y), 0.0, float(w)))
    elif cause == "stiction":
        chosen = np.sort(rng.choice(n, 2, replace=False))
        arm.breakaway = np.ones(n)
        arm.breakaway[chosen] = rng.uniform(1.8, 2.5, 2)
        arm.coulomb[chosen] = 0.03 * arm.robot.limits.torque[chosen]
        arm.stribeck = float(rng.uniform(0.03, 0.08))
        return tuple(int(joint) + 1 for joint in chosen)
    elif cause == "drift":
        if whole:
            arm.offset_drift = float(rng.uniform(0.015, 0.03))
        else:
            arm.cooling = float(rng.uniform(0.4, 0.6))
    return ()


def sines(arm: TrueArm, rng: np.random.Generator) -> Any:
    """Four sines per joint, 0.1 to 0.6 Hz, within range and speed."""
    middle, reach, speed = _room(arm)
    n = arm.joints
    omega = 2.0 * np.pi * 0.1 * np.array([1, 2, 4, 6])[:, None] * rng.uniform(0.9, 1.1, n)
    size, phase = rng.uniform(0.3, 1.0, (4, n)) / (1.0 + omega), rng.uniform(0, 2 * np.pi, (4, n))
    t = np.arange(0.0, SECONDS, STEP)[:, None, None]
    way = (size * np.sin(omega * t + phase)).sum(axis=1)
    rate = (size * omega * np.cos(omega * t + phase)).sum(axis=1)
    factor = np.minimum(reach / np.abs(way).max(axis=0), speed / np.abs(rate).max(axis=0))
    pull = -(size * omega**2 * np.sin(omega * t + phase)).sum(axis=1)
    # the motion fades in, as the controller starts at rest
    fade = np.clip(t[:, 0] / 2.0, 0.0, 1.0)
    return middle + factor * fade * way, factor * fade * rate, factor * fade * pull


def _moves(arm: TrueArm, rng: np.random.Generator) -> Any:
    """Moves of least jerk between random postures, with rests."""
    middle, reach, speed = _room(arm)
    t = np.arange(0.0, SECONDS, STEP)
    q, v, a = (np.zeros((len(t), arm.joints)) for _ in range(3))
    start, begin = middle.copy(), 0.3
    q[:] = middle
    while begin < SECONDS:
        goal = middle + rng.uniform(-1.0, 1.0, arm.joints) * reach
        lasts = float(np.max(1.875 * np.abs(goal - start) / speed)) * rng.uniform(1.0, 2.0)
        s = np.clip((t - begin) / lasts, 0.0, 1.0)[:, None]
        on = (t >= begin)[:, None]
        way = goal - start
        q = np.where(on, start + way * (10 * s**3 - 15 * s**4 + 6 * s**5), q)
        v = np.where(on, way * (30 * s**2 - 60 * s**3 + 30 * s**4) / lasts, v)
        a = np.where(on, way * (60 * s - 180 * s**2 + 120 * s**3) / lasts**2, a)
        start, begin = goal, begin + lasts + rng.uniform(0.2, 0.8)
    return q, v, a


def _room(arm: TrueArm) -> tuple[Array, Array, Array]:
    """Around where, how far [rad] and how fast [rad/s] the joints move."""
    limits, n = arm.robot.limits, arm.joints
    low, high, middle = limits.lower[:n], limits.upper[:n], arm.robot.home[:n].copy()
    reach = np.minimum(0.8, 0.3 * np.where(np.isfinite(high - low), high - low, 10.0))
    middle = np.clip(middle, low + 1.1 * reach, high - 1.1 * reach)
    return middle, reach, np.minimum(0.5 * limits.velocity[:n], MOST_SPEED)


def simulate(
    arm: TrueArm, plan: Any, rng: np.random.Generator, push: Any = None
) -> tuple[Array, Array, Array, Array]:
    """Time [s], positions, velocities and motor torques of the tracked plan, one row per step.

    ``push(time)`` may give a force on the tool in world axes, [N].
    """
    model = arm.true.compile(arm.placement)
    model.opt.timestep = STEP
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    data, n, nv = mujoco.MjData(model), arm.joints, model.nv
    site = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, arm.robot.tool)
    body = int(model.site_bodyid[site])
    model.dof_frictionloss[:n], model.dof_damping[:n] = arm.coulomb, arm.viscous
    wanted_q, wanted_v, wanted_a = plan
    data.qpos[:] = arm.robot.home
    data.qpos[:n] = wanted_q[0]
    count = len(wanted_q)
    q, v, torque = (np.zeros((count, n)) for _ in range(3))
    full, asked, before = np.zeros((nv, nv)), np.zeros(nv), np.zeros(n)
    limit = arm.robot.limits.torque[:n]
    omega = 2.0 * np.pi * 5.0
    mujoco.mj_step1(model, data)
    for k in range(count):
        warm = np.exp(-2.0 * k / count)
        share = 1.0 - arm.cooling * (1.0 - warm) / (1.0 - np.exp(-2.0))
        if arm.breakaway is not None or arm.cooling:
            peak = 1.0
            if arm.breakaway is not None:
                slow = np.exp(-((data.qvel[:n] / arm.stribeck) ** 2))
                peak = 1.0 + (arm.breakaway - 1.0) * slow
            model.dof_frictionloss[:n] = share * peak * arm.coulomb
            model.dof_damping[:n] = share * arm.viscous
        q[k], v[k] = data.qpos[:n], data.qvel[:n]
        error, lag = wanted_q[k] - q[k], wanted_v[k] - v[k]
        asked[:] = 0.0
        asked[:n] = wanted_a[k] + omega**2 * error + 2.0 * omega * lag
        if nv > n:
            asked[n:] = -400.0 * (data.qpos[n:] - arm.robot.home[n:]) - 40.0 * data.qvel[n:]
        mujoco.mj_fullM(model, data, full)
        force = full @ asked + data.qfrc_bias
        force[:n] = np.clip(force[:n], -limit, limit)
        data.qfrc_applied[:] = force
        if push is not None:
            data.xfrc_applied[body, :3] = push(k * STEP)
            lever = data.site_xpos[site] - data.xipos[body]
            data.xfrc_applied[body, 3:] = np.cross(lever, data.xfrc_applied[body, :3])
        # a torque is held for a step: at its start, the mean of both steps acts
        torque[k] = 0.5 * (before + force[:n])
        before = force[:n].copy()
        mujoco.mj_step2(model, data)
        mujoco.mj_step1(model, data)
    return STEP * np.arange(count), q, v, torque


def readings(
    arm: TrueArm,
    t: Array,
    q: Array,
    v: Array,
    torque: Array,
    rate_hz: int,
    rng: np.random.Generator,
) -> dict[str, Array]:
    """The columns of the log that the arm's drives would give."""
    n, limit = arm.joints, arm.robot.limits.torque[: arm.joints]
    keep = slice(int(0.5 / STEP), None, round(1.0 / (rate_hz * STEP)))
    t, q, v, torque = t[keep], q[keep], v[keep], torque[keep]
    tick = 2.0 * np.pi / 2.0 ** int(rng.integers(14, 18))
    q = tick * np.round(q / tick)
    v = v + rng.normal(0.0, 0.003, v.shape)
    read = arm.scale * torque + arm.offset
    share = (t - t[0]) / np.ptp(t)
    read += np.outer(share, arm.offset_drift * limit)
    read += np.abs(arm.scale) * arm.noise * rng.standard_normal(read.shape)
    if arm.delay:
        read = np.vstack([np.repeat(read[:1], arm.delay, axis=0), read[: -arm.delay]])
    if arm.step:
        read = arm.step * limit * np.round(read / (arm.step * limit))
    for joint in arm.mirrored:
        for values in (q, v, read):
            values[:, joint] *= -1.0
    if arm.torque_order is not None:
        read = read[:, arm.torque_order]
    if arm.joint_order is not None:
        q, v, read = (values[:, arm.joint_order] for values in (q, v, read))
    columns = {"t": t - t[0]}
    for key, values in (("q", q), ("v", v), ("torque", read)):
        columns |= {f"{key}{joint + 1}": values[:, joint] for joint in range(n)}
    return columns


def _truth(arm: TrueArm, cause: str, rate_hz: int) -> dict[str, Any]:
    n = arm.joints
    unknown = np.full(n, np.nan)
    steady = arm.cooling == 0.0
    plain = np.ones(n) if arm.breakaway is None else np.where(arm.breakaway > 1.0, np.nan, 1.0)
    x, y, _, w = arm.placement.quaternion
    tilt = 2.0 * np.arctan2(np.array([x, y]), w)
    return {
        "scale": arm.scale.copy(),
        "offset": arm.offset.copy() if arm.offset_drift == 0.0 else unknown,
        "coulomb": arm.coulomb * plain if steady else unknown,
        "viscous": arm.viscous * plain if steady else unknown,
        "delay": np.full(n, arm.delay / rate_hz),
        "tool_mass": 0.5 if cause == "tool" else 0.0,
        "tilt": tilt,
    }

"""Faults in calibration recordings: dead, saturated or swapped axes, spikes, conventions, drift."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np

from farhand.errors import BadValue
from farhand.sensing.poses import FLAT_VARIANCE, SAME_POSE, Poses
from farhand.sensing.profile import AXES, UNITS
from farhand.sensing.readings import Readings, base_axis
from farhand.spatial import skew

Array = np.ndarray

MIN_POSES = 6
"""Poses below which the residual of the fit shows little about its cause."""

CLEARLY_BETTER_RATIO = 3.0
"""How many times better another reading of the data must explain the forces to be believed."""

GOOD_SHARE = 0.03
"""Residual of the forces over their change, below which nothing is wrong with them."""

NOISE_RATIO = 5.0
"""Residual of a pose's mean over what noise explains, above which there is another cause."""

HALF_NOISE_RATIO = np.sqrt(2.0)
"""The ratio at which half of the variance is not noise: more readings per pose hardly help."""

SPIKE_RATIO = 4.0
SPIKE_SHARE = 0.1
"""A spike is off its neighbours by this multiple of usual steps and this share of their size."""

SATURATED_SHARE = 0.02
SATURATED_READINGS = 20
"""Share and number of readings at exactly the largest value that show the end of a range …"""

SATURATED_RATIO = 3.0
"""… if it is this many times more frequent than any other value: a coarse sensor repeats all …"""

SATURATED_TURN = 0.1
"""… and noise shows beside it, or gravity moves by this much while it stays, [-]."""

DRIFT_DEVIATIONS = 6.0
"""Deviations of a slope over time from which it counts as drift."""

PARTS = ((slice(0, 3), "N"), (slice(3, 6), "N·m"))
"""Forces and torques."""


def spikes(readings: Readings) -> Array:
    """Single readings, n, far from their neighbours in the same orientation; not a contact."""
    up, wrong = readings.up, np.zeros(len(readings), dtype=bool)
    apart = (up[1:] * up[:-1]).sum(axis=1) < np.cos(SAME_POSE)
    for axis in range(6):
        value = readings.wrench[:, axis]
        part = readings.wrench[:, :3] if axis < 3 else readings.wrench[:, 3:]
        step = np.where(apart, np.inf, np.abs(np.diff(value)))
        if not (~apart).any():
            break
        usual, size = np.quantile(step[~apart], 0.95), np.median(np.linalg.norm(part, axis=1))
        limit = max(SPIKE_RATIO * float(usual), SPIKE_SHARE * float(size))
        least = np.minimum(np.append(step, np.inf), np.insert(step, 0, np.inf))
        wrong |= (least > limit) & np.isfinite(least)
    return wrong


def check_axes(readings: Readings, poses: Poses) -> None:
    """Refuse axes that are dead or saturated while the others are alive.

    Raises:
        BadValue: such an axis, by name.
    """
    dead = dead_axes(readings, poses)
    if dead:
        raise BadValue(dead[0])
    noisy = np.array([_noisy(readings.wrench[:, axis], poses) for axis in range(6)])
    for axis, name in enumerate(AXES):
        value = readings.wrench[:, axis]
        values, count = np.unique(value, return_counts=True)
        if len(values) < 8 or not noisy[axis]:
            continue
        for end, others in ((0, count[1:]), (-1, count[:-1])):
            share = max(SATURATED_SHARE * len(value), SATURATED_RATIO * others.max())
            if count[end] < max(SATURATED_READINGS, share):
                continue
            turn = np.ptp(readings.up[value == values[end]], axis=0).max()
            if noisy[axis] > 0.5 or turn > SATURATED_TURN:
                raise BadValue(
                    f"{name} is exactly {values[end]:g} {UNITS[axis]} in {count[end]} of "
                    f"{len(value)} readings and never beyond: the axis is saturated; use poses or "
                    "a tool that load it less"
                )


def dead_axes(readings: Readings, poses: Poses) -> list[str]:
    """Axes that never change while others of their kind do, one line each."""
    noisy = np.array([_noisy(readings.wrench[:, axis], poses) for axis in range(6)])
    dead = np.ptp(readings.wrench, axis=0) == 0.0
    alive = np.repeat([noisy[:3].any(), noisy[3:].any()], 3)
    return [
        f"{AXES[axis]} is always {readings.wrench[0, axis]:g} {UNITS[axis]} while other axes are "
        "alive; is it connected?"
        for axis in np.flatnonzero(dead & alive)
    ]


def _noisy(value: Array, poses: Poses) -> float:
    """Share of the poses whose readings differ."""
    first = np.searchsorted(poses.member, np.arange(len(poses)))
    return float(np.mean(np.maximum.reduceat(value, first) > np.minimum.reduceat(value, first)))


def check_orientation(readings: Readings, poses: Poses) -> None:
    """Refuse a quaternion of another convention: one that explains the forces far better.

    Raises:
        BadValue: names the convention that it seems to have.
    """
    if len(poses) < MIN_POSES:
        return
    force = poses.wrench[:, :3]
    given = _left(poses.up, force)
    if given < GOOD_SHARE * rms(force - force.mean(axis=0)):
        return
    x, y, z, w = readings.quaternion.T
    others = {
        "qw,qx,qy,qz in this order": base_axis(y, z, w, x, 2),
        "the rotation from the base to the sensor, not back": base_axis(-x, -y, -z, w, 2),
        "in a base whose y axis points up, not z": base_axis(x, y, z, w, 1),
        "in a base whose x axis points up, not z": base_axis(x, y, z, w, 0),
    }
    for convention, up in others.items():
        left = _left(poses.mean(up), force)
        if left * CLEARLY_BETTER_RATIO < given:
            raise BadValue(
                f"the quaternion seems to be {convention}: read that way, {left:.2g} N per pose "
                f"are left, not {given:.2g} N; write qx,qy,qz,qw that rotate sensor axes into a "
                "base with z up"
            )


def _left(up: Array, force: Array) -> float:
    """Root mean square per axis of the forces beside a weight and a bias, [N]."""
    u, f = up - up.mean(axis=0), force - force.mean(axis=0)
    return rms(f - (f * u).sum() / max((u * u).sum(), 1e-12) * u)


def rms(values: Array) -> float:
    """Root mean square; 0 of nothing."""
    return float(np.sqrt(np.mean(np.square(values)))) if values.size else 0.0


def mounting(poses: Poses) -> list[str]:
    """A line if the axes of the force are rotated or mirrored against those of the orientation."""
    u, f = poses.up - poses.up.mean(axis=0), poses.wrench[:, :3] - poses.wrench[:, :3].mean(axis=0)
    if len(poses) < MIN_POSES or np.linalg.eigvalsh(np.cov(u.T, bias=True))[0] < FLAT_VARIANCE:
        return []
    without = _left(poses.up, poses.wrench[:, :3])
    A = np.linalg.lstsq(u, f, rcond=None)[0]
    # Both errors per degree of freedom.
    free = rms(f - u @ A) * np.sqrt((3 * len(u) - 4) / (3 * len(u) - 12))
    if without < max(GOOD_SHARE * rms(f), CLEARLY_BETTER_RATIO * free):
        return []
    U, _, Vt = np.linalg.svd(-A)
    R = U @ Vt
    angle = np.rad2deg(np.arccos(np.clip(0.5 * (np.trace(R) - 1.0), -1.0, 1.0)))
    change = f"turned by {angle:.0f}°" if np.linalg.det(R) > 0.0 else "mirrored"
    return [
        f"fx,fy,fz are {change} against the axes of the quaternion ({free:.2g} N per pose are left "
        f"then, not {without:.2g} N): give the orientation of the sensor itself, and check the "
        "order and signs of fx,fy,fz"
    ]


def drifting(left: Array, noise: Array, readings: Readings, poses: Poses) -> list[str]:
    """A line about the axis that drifts most, if one drifts by more than noise explains.

    ``left`` is the residual of each pose, P × 6, ``noise`` the deviation of one reading, 6.
    """
    if len(poses) < MIN_POSES:
        return []
    time = poses.mean(readings.time)
    t = time - time.mean()
    slope = t @ left / max(t @ t, 1e-300)
    rest = left - np.outer(t, slope)
    deviation = np.sqrt((rest**2).sum(axis=0) / (len(t) - 2) / max(t @ t, 1e-300))
    amount = slope * np.ptp(t)
    sure = np.abs(slope) > DRIFT_DEVIATIONS * np.maximum(deviation, 1e-300)
    sure &= np.abs(amount) > NOISE_RATIO * noise / np.sqrt(np.median(poses.count))
    if not sure.any():
        return []
    axis = int(np.argmax(np.where(sure, np.abs(slope) / np.maximum(deviation, 1e-300), 0.0)))
    return [
        f"{AXES[axis]} drifts by about {amount[axis]:.2g} {UNITS[axis]} over the recording: "
        "let the sensor warm up, or record a column temp; the bias is that of the middle"
    ]


def beyond_noise(left: Array, noise: Array, poses: Poses) -> Array:
    """Residual over what noise explains, both per degree of freedom: of forces and of torques."""
    rows = 3 * len(poses)
    force = rms(left[:, :3]) * np.sqrt(rows / (rows - 4))
    torque = rms(left[:, 3:]) * np.sqrt(rows / (rows - 6))
    return np.array([force, torque]) / np.maximum(_noise_of_mean(noise, poses), 1e-300)


def _noise_of_mean(noise: Array, poses: Poses) -> Array:
    """Noise of a pose's mean, of forces and of torques."""
    return np.array([noise[:3].mean(), noise[3:].mean()]) / np.sqrt(np.median(poses.count))


def scattered(left: Array, noise: Array, poses: Poses) -> list[str]:
    """A line if forces or torques of the poses are off the fit by far more than noise explains."""
    if len(poses) < MIN_POSES:
        return []
    for (part, unit), known in zip(PARTS, _noise_of_mean(noise, poses), strict=True):
        off, value = rms(left[:, part]), poses.wrench[:, part]
        if off >= max(NOISE_RATIO * known, GOOD_SHARE * rms(value - value.mean(axis=0))):
            return [
                f"the poses are {off:.2g} {unit} off the fit, noise explains {known:.2g} {unit}: "
                "does a cable or a hand pull at the tool, and is the quaternion the sensor's "
                "orientation?"
            ]
    return []


def torque_axes(left: Array, noise: Array, poses: Poses) -> list[str]:
    r"""A line if tx, ty, tz seem swapped, reversed or of another unit.

    With any three axes the torques are :math:`\tau = B g + b`; the weight of one centre of mass
    makes B skew. Where any B leaves far less than a skew one, the order and signs of tx, ty, tz
    that make it skew are searched.
    """
    u = poses.up - poses.up.mean(axis=0)
    torque = poses.wrench[:, 3:] - poses.wrench[:, 3:].mean(axis=0)
    without = rms(left[:, 3:])
    if len(poses) < MIN_POSES or without < NOISE_RATIO * _noise_of_mean(noise, poses)[1]:
        return []
    if np.linalg.eigvalsh(np.cov(u.T, bias=True))[0] < FLAT_VARIANCE:
        return []
    # Both errors per degree of freedom.
    free = rms(torque - u @ np.linalg.lstsq(u, torque, rcond=None)[0])
    free *= np.sqrt((3 * len(u) - 6) / (3 * len(u) - 12))
    if without < CLEARLY_BETTER_RATIO * free:
        return []
    after = {change: _skew_left(u, torque[:, order] * sign) for change, order, sign in _orders()}
    limit = CLEARLY_BETTER_RATIO * free
    change = min(after, key=lambda key: (after[key] > limit, key.count(" for ")))
    if without > CLEARLY_BETTER_RATIO * after[change] and after[change] <= limit:
        return [
            f"the torques fit one centre of mass with {change} ({after[change]:.2g} N·m per pose "
            f"are left then, not {without:.2g} N·m): check the order and signs of tx,ty,tz, and "
            "calibrate again"
        ]
    if without < GOOD_SHARE * rms(torque):
        return []
    return [
        "the torques follow the orientation, but not like those of one centre of mass "
        f"({without:.2g} N·m per pose are left, not {free:.2g} N·m): check the order, signs and "
        "units of tx,ty,tz"
    ]


def _orders() -> list[tuple[str, list[int], Array]]:
    """Orders and signs of three axes, in words; of two opposites the one with fewer changes."""
    orders: dict[tuple[float, ...], tuple[str, list[int], Array]] = {}
    for order in permutations(range(3)):
        for sign in product((1.0, -1.0), repeat=3):
            changed = [k for k in range(3) if order[k] != k or sign[k] < 0.0]
            words = [
                f"{'−' if sign[k] < 0.0 else ''}{AXES[3 + order[k]]} for {AXES[3 + k]}"
                for k in changed
            ]
            key = (*order, *(np.array(sign) * sign[0]).tolist())
            if key not in orders or len(words) < orders[key][0].count(" for "):
                orders[key] = ", ".join(words), list(order), np.array(sign)
    return [one for one in orders.values() if one[0]]


def _skew_left(u: Array, torque: Array) -> float:
    """Root mean square per axis of the torques beside those of one centre of mass."""
    A = np.concatenate([skew(up) for up in u])
    return rms(torque.ravel() - A @ np.linalg.lstsq(A, torque.ravel(), rcond=None)[0])

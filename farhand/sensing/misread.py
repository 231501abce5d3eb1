"""Recordings that are not what they seem: dead, saturated or swapped axes, spikes, other conventions, drift."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np

from farhand.errors import BadValue
from farhand.sensing.poses import FLAT, SAME, Poses
from farhand.sensing.profile import AXES, UNITS
from farhand.sensing.readings import Readings
from farhand.spatial import skew

Array = np.ndarray

FEWEST = 6
"""Poses below which what the fit leaves says little about its cause."""

CLEARLY_BETTER_RATIO = 3.0
"""How many times better another reading of the orientation must explain the forces to be
believed."""

SHARE = 0.03
"""What the fit leaves of the forces, as a share of how much they change, below which nothing is
wrong with them."""

BEYOND_NOISE = 5.0
"""What the fit leaves of a pose's mean, over what noise explains of it, above which something else
is in it."""

HALF = np.sqrt(2.0)
"""The same ratio at which half of the variance is not noise: more readings per pose hardly help
from there on."""

SPIKE, SPIKE_SHARE = 4.0, 0.1
"""Times what 95 % of the readings stay within, and share of their size, that a spike is off the
readings beside it."""

SATURATED, SATURATED_LEAST = 0.02, 20
"""Share and number of readings at exactly the largest or smallest value that show the end of an
axis' range …"""

REPEATED = 3.0
"""… if it is this many times more frequent than any other value: a coarse sensor repeats all of
them."""

ELSEWHERE = 0.1
"""… and noise is to be seen beside it, or gravity moves by this much while it stays, [-]."""

STEADY = 6.0
"""Deviations of a slope over time that make it drift."""


def spikes(readings: Readings) -> Array:
    """Which single readings stand far out from those beside them in the same orientation, n; no contact does that."""
    up, wrong = readings.up, np.zeros(len(readings), dtype=bool)
    apart = (up[1:] * up[:-1]).sum(axis=1) < np.cos(SAME)
    for axis in range(6):
        value = readings.wrench[:, axis]
        part = readings.wrench[:, :3] if axis < 3 else readings.wrench[:, 3:]
        step = np.where(apart, np.inf, np.abs(np.diff(value)))
        if not (~apart).any():
            break
        usual, size = np.quantile(step[~apart], 0.95), np.median(np.linalg.norm(part, axis=1))
        limit = max(SPIKE * float(usual), SPIKE_SHARE * float(size))
        least = np.minimum(np.append(step, np.inf), np.insert(step, 0, np.inf))
        wrong |= (least > limit) & np.isfinite(least)
    return wrong


def check_axes(readings: Readings, poses: Poses) -> None:
    """Refuse axes that read the same all the time or stop at the end of their range while the others are alive.

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
            if count[end] < max(SATURATED_LEAST, SATURATED * len(value), REPEATED * others.max()):
                continue
            if (
                noisy[axis] > 0.5
                or np.ptp(readings.up[value == values[end]], axis=0).max() > ELSEWHERE
            ):
                raise BadValue(
                    f"{name} is exactly {values[end]:g} {UNITS[axis]} in {count[end]} of {len(value)} readings and "
                    "never beyond: the axis is saturated; take poses, or a tool, that load it less"
                )


def dead_axes(readings: Readings, poses: Poses) -> list[str]:
    """Says which axes read the same all the time while others of their kind are alive, a line each."""
    noisy = np.array([_noisy(readings.wrench[:, axis], poses) for axis in range(6)])
    dead = np.ptp(readings.wrench, axis=0) == 0.0
    alive = np.repeat([noisy[:3].any(), noisy[3:].any()], 3)
    return [
        f"{AXES[axis]} is {readings.wrench[0, axis]:g} {UNITS[axis]} all the time while other axes are alive; is it "
        "connected?"
        for axis in np.flatnonzero(dead & alive)
    ]


def _noisy(value: Array, poses: Poses) -> float:
    """Share of the poses whose readings differ."""
    first = np.searchsorted(poses.member, np.arange(len(poses)))
    return float(np.mean(np.maximum.reduceat(value, first) > np.minimum.reduceat(value, first)))


def check_orientation(readings: Readings, poses: Poses) -> None:
    """Refuse a quaternion of another convention: one that explains the forces far better than the one asked for.

    Raises:
        BadValue: the convention that it seems to have.
    """
    if len(poses) < FEWEST:
        return
    force = poses.wrench[:, :3]
    given = _left(poses.up, force)
    if given < SHARE * _rms(force - force.mean(axis=0)):
        return
    x, y, z, w = readings.quaternion.T
    others = {
        "qw,qx,qy,qz in this order": _row(y, z, w, x, 2),
        "the turn from the base into the sensor, not back": _row(-x, -y, -z, w, 2),
        "in a base whose y axis points up, not z": _row(x, y, z, w, 1),
        "in a base whose x axis points up, not z": _row(x, y, z, w, 0),
    }
    for words, up in others.items():
        left = _left(_means(up, poses), force)
        if left * CLEARLY_BETTER_RATIO < given:
            raise BadValue(
                f"the quaternion seems to be {words}: read so, {left:.2g} N per pose are left, not {given:.2g} N; "
                "write qx,qy,qz,qw that turn sensor axes into a base with z up"
            )


def _row(x: Array, y: Array, z: Array, w: Array, row: int) -> Array:
    """A base axis in sensor axes, n × 3: one row of the rotation."""
    rows = (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)),
        (2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)),
        (2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)),
    )
    return np.stack(rows[row], axis=1)


def _means(values: Array, poses: Poses) -> Array:
    total = np.zeros((len(poses), values.shape[1]))
    np.add.at(total, poses.member, values)
    return total / poses.count[:, None]


def _left(up: Array, force: Array) -> float:
    """Root mean square per axis of what a weight and a bias leave of the forces, [N]."""
    u, f = up - up.mean(axis=0), force - force.mean(axis=0)
    return _rms(f - (f * u).sum() / max((u * u).sum(), 1e-12) * u)


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def mounting(poses: Poses) -> list[str]:
    """Says that the axes of the force are turned or mirrored against those of the orientation, if they are."""
    u, f = poses.up - poses.up.mean(axis=0), poses.wrench[:, :3] - poses.wrench[:, :3].mean(axis=0)
    if len(poses) < FEWEST or np.linalg.eigvalsh(np.cov(u.T, bias=True))[0] < FLAT:
        return []
    without = _left(poses.up, poses.wrench[:, :3])
    A = np.linalg.lstsq(u, f, rcond=None)[0]
    # both per degree of freedom
    free = _rms(f - u @ A) * np.sqrt((3 * len(u) - 4) / (3 * len(u) - 12))
    if without < max(SHARE * _rms(f), CLEARLY_BETTER_RATIO * free):
        return []
    U, _, Vt = np.linalg.svd(-A)
    R = U @ Vt
    angle = np.rad2deg(np.arccos(np.clip(0.5 * (np.trace(R) - 1.0), -1.0, 1.0)))
    what = f"turned by {angle:.0f}°" if np.linalg.det(R) > 0.0 else "mirrored"
    return [
        f"fx,fy,fz are {what} against the axes of the quaternion ({free:.2g} N per pose are left then, not "
        f"{without:.2g} N): give the orientation of the sensor itself, and check the order and signs of fx,fy,fz"
    ]


def drifting(left: Array, noise: Array, readings: Readings, poses: Poses) -> list[str]:
    """Says which axis drifts most over the recording, if one does by more than noise explains.

    Args:
        left: P × 6, what the fit leaves of each pose, [N] and [N·m].
        noise: standard deviation of one reading, six numbers.
        readings: that were used.
        poses: of them.
    """
    if len(poses) < FEWEST:
        return []
    time = _means(readings.time[:, None], poses)[:, 0]
    t = time - time.mean()
    slope = t @ left / max(t @ t, 1e-300)
    rest = left - np.outer(t, slope)
    deviation = np.sqrt((rest**2).sum(axis=0) / (len(t) - 2) / max(t @ t, 1e-300))
    amount = slope * np.ptp(t)
    sure = np.abs(slope) > STEADY * np.maximum(deviation, 1e-300)
    sure &= np.abs(amount) > BEYOND_NOISE * noise / np.sqrt(np.median(poses.count))
    if not sure.any():
        return []
    axis = int(np.argmax(np.where(sure, np.abs(slope) / np.maximum(deviation, 1e-300), 0.0)))
    unit = "N" if axis < 3 else "N·m"
    return [
        f"{AXES[axis]} drifts by about {amount[axis]:.2g} {unit} over the recording: let the sensor warm up, or record "
        "a column temp; the bias is that of the middle of the recording"
    ]


def beyond_noise(left: Array, noise: Array, poses: Poses) -> Array:
    """What the fit leaves over what noise explains of it, root mean squares per degree of freedom: force and torque."""
    known = _known(noise, poses)
    rows = 3 * len(poses)
    found = [
        _rms(left[:, :3]) * np.sqrt(rows / (rows - 4)),
        _rms(left[:, 3:]) * np.sqrt(rows / (rows - 6)),
    ]
    return np.array(found) / np.maximum(known, 1e-300)


def _known(noise: Array, poses: Poses) -> Array:
    """What noise explains of a pose's mean, of forces and of torques."""
    return np.array([noise[:3].mean(), noise[3:].mean()]) / np.sqrt(np.median(poses.count))


def scattered(left: Array, noise: Array, poses: Poses) -> list[str]:
    """Says that forces or torques of the poses are off the fit by far more than noise explains, if they are."""
    if len(poses) < FEWEST:
        return []
    for part, unit, known in zip(
        (slice(0, 3), slice(3, 6)), ("N", "N·m"), _known(noise, poses), strict=True
    ):
        off, value = _rms(left[:, part]), poses.wrench[:, part]
        if off >= max(BEYOND_NOISE * known, SHARE * _rms(value - value.mean(axis=0))):
            return [
                f"the poses are {off:.2g} {unit} off the fit where noise explains {known:.2g} {unit}: does a cable or "
                "a hand pull at the tool, and is the quaternion the sensor's orientation?"
            ]
    return []


def torque_axes(left: Array, noise: Array, poses: Poses) -> list[str]:
    r"""Says that tx, ty, tz are swapped, reversed or of another unit, if the torques show it.

    With any three axes they are :math:`\tau = B g + b`; the weight of one centre of mass makes B
    skew. Where any B leaves far less than a skew one, the order and signs of tx, ty, tz that make
    it skew are looked for.

    Args:
        left: P × 6, what the fit leaves of each pose, [N] and [N·m].
        noise: standard deviation of one reading, six numbers.
        poses: that were fitted.
    """
    u, torque = (
        poses.up - poses.up.mean(axis=0),
        poses.wrench[:, 3:] - poses.wrench[:, 3:].mean(axis=0),
    )
    without = _rms(left[:, 3:])
    if len(poses) < FEWEST or without < BEYOND_NOISE * _known(noise, poses)[1]:
        return []
    if np.linalg.eigvalsh(np.cov(u.T, bias=True))[0] < FLAT:
        return []
    free = _rms(torque - u @ np.linalg.lstsq(u, torque, rcond=None)[0])
    free *= np.sqrt((3 * len(u) - 6) / (3 * len(u) - 12))  # both per degree of freedom
    if without < CLEARLY_BETTER_RATIO * free:
        return []
    after = {words: _skew_left(u, torque[:, order] * sign) for words, order, sign in _orders()}
    words = min(
        after, key=lambda key: (after[key] > CLEARLY_BETTER_RATIO * free, key.count(" for "))
    )
    if (
        without > CLEARLY_BETTER_RATIO * after[words]
        and after[words] <= CLEARLY_BETTER_RATIO * free
    ):
        return [
            f"the torques fit one centre of mass with {words} ({after[words]:.2g} N·m per pose are left then, not "
            f"{without:.2g} N·m): check the order and signs of tx,ty,tz, and calibrate again"
        ]
    if without < SHARE * _rms(torque):
        return []
    return [
        f"the torques go with the orientation, but not as those of one centre of mass do ({without:.2g} N·m per pose "
        f"are left, not {free:.2g} N·m): check the order, signs and units of tx,ty,tz"
    ]


def _orders() -> list[tuple[str, list[int], Array]]:
    """Every order and sign of three axes, in words; one of each pair of opposites, with the fewer changes."""
    found: dict[tuple[float, ...], tuple[str, list[int], Array]] = {}
    for order in permutations(range(3)):
        for sign in product((1.0, -1.0), repeat=3):
            changed = [k for k in range(3) if order[k] != k or sign[k] < 0.0]
            words = [
                f"{'−' if sign[k] < 0.0 else ''}{AXES[3 + order[k]]} for {AXES[3 + k]}"
                for k in changed
            ]
            key = (*order, *(np.array(sign) * sign[0]).tolist())
            if key not in found or len(words) < found[key][0].count(" for "):
                found[key] = ", ".join(words), list(order), np.array(sign)
    return [one for one in found.values() if one[0]]


def _skew_left(u: Array, torque: Array) -> float:
    """Root mean square per axis of what one centre of mass leaves of the torques, both without their means."""
    A = np.concatenate([skew(up) for up in u])
    return _rms(torque.ravel() - A @ np.linalg.lstsq(A, torque.ravel(), rcond=None)[0])

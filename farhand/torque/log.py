"""Logs of a whole arm: read from your own CSV file, matched to the robot's joints, and checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from farhand.errors import BadValue, Mismatch
from farhand.files import Table, read_csv
from farhand.robots import Robot

Array = np.ndarray

EFFORTS = ("torque", "current")
MIN_SAMPLES = 200
MIN_DURATION_S = 8.0
MIN_RATE_HZ = 20.0
MAX_PAUSED_SHARE = 0.5
OUTSIDE_LIMITS = 0.2
"""How far outside its limits a joint may be logged, [rad]: files' limits are rounded."""

MIN_TRAVEL = 0.02
"""A joint that moves less counts as resting, [rad]."""

MAX_JITTER = 0.2
"""Of times of arrival, standard deviation in sampling periods: up to this the fit was right."""

VELOCITY_FACTORS = {180.0 / np.pi: "deg/s", 30.0 / np.pi: "rpm", 1e-3: "rad/ms"}


@dataclass(frozen=True)
class ArmLog:
    """Samples of an arm; n rows, and a column for each logged joint in the model's order."""

    time: Array  #: n [s], increasing
    q: Array  #: [rad] or [m]
    v: Array | None  #: as the drives report it, [rad/s] or [m/s]; None if not logged
    effort: Array  #: as logged: [N·m], or [A]
    kind: str  #: of the effort: ``"torque"`` or ``"current"``
    joints: tuple[int, ...]  #: numbers of the logged joints in the model; a gripper may lack
    names: tuple[str, ...]  #: of those joints
    name: str = "log"  #: where it comes from

    @property
    def step(self) -> float:
        """Median time from sample to sample, [s]."""
        return float(np.median(np.diff(self.time)))


def read_log(path: str | Path, robot: Robot) -> ArmLog:
    """Read a CSV file with the columns t, q1…, v1… (may lack) and torque1… or current1….

    Joints' names serve in place of numbers: ``q_elbow``, ``torque_elbow``.

    Raises:
        FileError: the file cannot be read.
        BadValue: its content cannot be used; the message names the line.
        Mismatch: it is not a log of this robot.
    """
    model = robot.compile()
    if model.nq != model.nv:
        raise Mismatch(f"{robot.name} has a floating base; torque checks are for fixed arms")
    names = [model.joint(k).name or f"joint{k + 1}" for k in range(model.nv)]
    table = read_csv(Path(path), ("t",), "samples")
    positions = _columns(table, "q", names)
    kinds = [kind for kind in EFFORTS if _columns(table, kind, names)]
    if len(kinds) != 1:
        wanted = "torque1… [N·m] or current1… [A]"
        why = "has both torque and current" if kinds else "has neither torque nor current"
        raise BadValue(f"{table.name} {why} columns; keep one kind: {wanted}")
    efforts = _columns(table, kinds[0], names)
    needed = len(names) - (robot.gripper is not None)
    _check_count(table, robot, names, positions, efforts, kinds[0], needed)
    joints = tuple(sorted(positions))
    speeds = _columns(table, "v", names)
    if speeds and set(speeds) != set(joints):
        lacks = ", ".join(names[k] for k in joints if k not in speeds) or "none"
        raise BadValue(f"{table.name}: v columns lack {lacks}; give all of them, or none")
    time, is_new = table.new_times()

    def values(columns: dict[int, str]) -> Array:
        return table.numbers(*(columns[k] for k in joints))[is_new]

    log = ArmLog(
        time[is_new],
        values(positions),
        values(speeds) if speeds else None,
        values(efforts),
        kinds[0],
        joints,
        tuple(names[k] for k in joints),
        table.name,
    )
    return check_log(log, robot)


def check_log(log: ArmLog, robot: Robot) -> ArmLog:
    """The log, if it can be used at all.

    Raises:
        BadValue: too short or slow, joints at rest, wrong units, or no torque in it.
    """
    duration, rate = float(np.ptp(log.time)), 1.0 / log.step
    if len(log.time) < MIN_SAMPLES:
        raise BadValue(f"{log.name} has {len(log.time)} samples; a check needs {MIN_SAMPLES}")
    if rate < MIN_RATE_HZ:
        raise BadValue(
            f"{log.name} has {rate:.3g} samples per second; a check needs {MIN_RATE_HZ:g} "
            "(t is in seconds, not ms)"
        )
    if duration < MIN_DURATION_S:
        raise BadValue(
            f"{log.name} lasts {duration:.3g} s; a check needs {MIN_DURATION_S:g} s of motion "
            "(t is in seconds)"
        )
    paused = float(np.diff(log.time)[np.diff(log.time) > 0.25].sum()) / duration
    if paused > MAX_PAUSED_SHARE:
        raise BadValue(f"{log.name}: {100 * paused:.0f} % of its time are pauses without samples")
    travel = np.ptp(log.q, axis=0)
    if (travel < MIN_TRAVEL).all():
        raise BadValue(f"{log.name}: no joint moves more than {travel.max():.2g} rad; log a motion")
    limits, columns = robot.limits, list(log.joints)
    units = [limits.units(dof)[0] for dof in columns]
    jumps = np.abs(np.diff(log.q, axis=0)).max(axis=0)
    beyond = np.maximum(limits.lower[columns] - log.q, log.q - limits.upper[columns]).max(axis=0)
    worst = int(np.argmax(beyond))
    if beyond[worst] > OUTSIDE_LIMITS:
        far = float(log.q[np.argmax(np.abs(log.q[:, worst])), worst])
        why = "; are positions in degrees?" if abs(far) > 6.5 else ""
        if abs(jumps[worst] - 2.0 * np.pi) < 0.5:
            why = "; it jumps by a whole turn: count turns on"
        raise BadValue(
            f"{log.name}: q of {log.names[worst]} reaches {far:.4g}, beyond its limits "
            f"[{limits.lower[columns[worst]]:.4g}, {limits.upper[columns[worst]]:.4g}] "
            f"{units[worst]}{why}"
        )
    for k, name in enumerate(log.names):
        if jumps[k] > 1.0:
            raise BadValue(
                f"{log.name}: q of {name} jumps by {jumps[k]:.3g} {units[k]} between two samples; "
                "log again, or cut the log there"
            )
        constant = np.ptp(log.effort[:, k]) == 0.0
        if constant and travel[k] > MIN_TRAVEL:
            value = f"{log.effort[0, k]:g}"
            raise BadValue(
                f"{log.name}: {log.kind} of {name} is {value} throughout its motion; log what the "
                "drive measures"
            )
        for label, column in (("position", log.q), ("velocity", log.v)):
            if column is not None and np.array_equal(column[:, k], log.effort[:, k]):
                raise BadValue(
                    f"{log.name}: {log.kind} of {name} is its {label}, number by number; log what "
                    "the drive measures"
                )
    _check_stamps(log, travel)
    if log.v is not None:
        _check_velocity(log, log.v, travel)
    return log


def _check_stamps(log: ArmLog, travel: Array) -> None:
    """Refuse times that jitter while the samples themselves came evenly."""
    t, q = log.time, log.q[:, np.argsort(travel)[-3:]]
    steps = np.diff(t)
    jitter = float(np.std(steps[steps < 3.0 * log.step]))
    share = ((t[1:-1] - t[:-2]) / (t[2:] - t[:-2]))[:, None]
    # how far each sample is from between its neighbours, by the times and by counting
    by_time = q[1:-1] - q[:-2] - share * (q[2:] - q[:-2])
    by_count = q[1:-1] - 0.5 * (q[:-2] + q[2:])
    if jitter > MAX_JITTER * log.step and np.std(by_time) > 2.0 * np.std(by_count):
        raise BadValue(
            f"{log.name}: t jitters by {1e3 * jitter:.2g} ms while q moves evenly: these are times "
            "of arrival; log the device's clock, or the number of the sample times its period"
        )


def _check_velocity(log: ArmLog, v: Array, travel: Array) -> None:
    """Refuse velocities that are not the positions' rate."""
    moving = int(np.argmax(travel))
    reach = max(1, round(0.05 / log.step))
    time, q = log.time, log.q[:, moving]
    slope = (q[2 * reach :] - q[: -2 * reach]) / (time[2 * reach :] - time[: -2 * reach])
    logged = v[reach:-reach, moving]
    factor = float(slope @ logged) / max(float(slope @ slope), 1e-30)
    alike = abs(float(np.corrcoef(slope, logged)[0, 1])) if np.ptp(logged) > 0.0 else 0.0
    if 0.7 < factor < 1.4 and alike > 0.7:
        return
    units = (unit for size, unit in VELOCITY_FACTORS.items() if 0.8 < factor / size < 1.25)
    guess = next((f"; it looks like {unit}" for unit in units), "")
    raise BadValue(
        f"{log.name}: v of {log.names[moving]} is {factor:.3g} times the rate of q in rad/s"
        f"{guess}; convert it, or leave the v columns out"
    )


def _columns(table: Table, kind: str, names: list[str]) -> dict[int, str]:
    """Columns of one kind by the number of their joint."""
    found: dict[int, str] = {}
    for number, name in enumerate(names):
        labels = {f"{kind}{mark}{label}" for mark in ("", "_", ".") for label in (number + 1, name)}
        given = [column for column in table.header if column in labels]
        if len(given) > 1:
            raise BadValue(f"{table.name} has {' and '.join(given)} for one joint; keep one")
        if given:
            found[number] = given[0]
    return found


def _check_count(
    table: Table,
    robot: Robot,
    names: list[str],
    positions: dict[int, str],
    efforts: dict[int, str],
    kind: str,
    needed: int,
) -> None:
    numbered = [c for c in table.header if c[:1] == "q" and c[1:].isdecimal()]
    beyond = [c for c in numbered if int(c[1:]) > len(names)]
    if beyond:
        raise Mismatch(f"{table.name} has {beyond[0]}, but {robot.name} has {len(names)} joints")
    for found, label in ((positions, "q"), (efforts, kind)):
        lacks = [k for k in range(needed) if k not in found]
        if lacks:
            k = lacks[0]
            raise Mismatch(
                f"{table.name} lacks {label}{k + 1} (or {label}_{names[k]}) of {robot.name}, "
                f"which has {needed} joints"
            )
    if set(positions) != set(efforts):
        raise Mismatch(f"{table.name} has q and {kind} columns of different joints")

"""Is the motor torque of an arm good enough to feel? Causes, numbers and limits from one log."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from farhand.errors import BadValue
from farhand.friction.fit.sliding import Estimate
from farhand.robots import Robot
from farhand.torque.arrangement import Arrangement, arrange
from farhand.torque.identify import (
    HELD_OUT,
    Estimates,
    Problem,
    pose,
    residuals,
    solve,
    with_friction,
    with_slope,
)
from farhand.torque.log import ArmLog
from farhand.torque.motion import Samples, sample
from farhand.torque.regressor import DataSheet

Array = np.ndarray

SURE = 4.0
"""Standard deviations from which a cause is believed: an arm has forty numbers to be wrong."""

INTERVAL = 1.96
"""Half of a 95 % interval, in standard deviations."""

WRONG_SCALE = 0.25
"""Deviation from 1 that counts as a wrong factor; torque constants differ by less, [-]."""

UNITS = {"mN·m": 1000.0, "N·cm": 100.0}
"""What torque may be logged in by mistake, over N·m."""

MATTERS_SCALE, MATTERS_TOOL_KG, MATTERS_TILT_RAD = 0.5, 0.4, np.radians(2.0)
"""Sizes that must be excluded to say that there is nothing; else the log cannot tell."""

MIN_DELAY_S = 2e-3
DELAY_ERROR_S = 5e-4
"""What friction that differs from its model shifts a delay by, found on simulated arms, [s]."""

MIN_TOOL_KG = 0.1
MIN_TILT_RAD = np.radians(1.0)
MIN_PEAK_SHARE = 0.3
"""Of Coulomb friction, from which a break-away peak is stiction, [-]."""

MIN_DRIFT_SHARE = 0.25
"""Of Coulomb friction, that must come or go over the log, [-]."""

MIN_OFFSET_SHARE, MIN_OFFSET_DRIFT_SHARE = 0.05, 0.008
"""Of the torque limit, [-]."""

STRIBECK_RAD_S = (0.03, 0.06, 0.12)
"""Speeds of the peak that are tried."""

MAX_PRINTED_DECIMALS = 9

TOUCH_S, TOUCHES = 0.5, ((2, 7.0), (4, 3.0))
"""Torque that no free motion explains: length of a stretch [s], and how many on end must be off in
one direction by how many times what is usual. Of 28 simulated arms that nothing touched, two on end
were off by at most 3 and four by 1.4.
"""


@dataclass(frozen=True)
class Cause:
    """A cause that the log shows; joints count from 1, none for the whole arm."""

    kind: str
    joints: tuple[int, ...]
    text: str


@dataclass(frozen=True)
class Unclear:
    """A cause that the log can neither show nor exclude, and why."""

    kind: str
    joints: tuple[int, ...]
    reason: str


@dataclass(frozen=True)
class JointReport:
    """What the log says about one joint; torques in [N·m] at the joint."""

    name: str
    scale: Estimate  #: reading over torque, [-], or [A/(N·m)]
    offset: Estimate  #: of the reading, in the log's unit
    delay: Estimate  #: of the reading after the motion, [s]
    coulomb: Estimate
    viscous: Estimate
    peak: Estimate | None  #: break-away above Coulomb friction; None without stiction
    noise: float  #: of one reading, as torque
    step: float  #: of readings that lie on a grid, in the log's unit; 0 without
    left: float  #: torque that the fitted model leaves unexplained in motion, rms
    held_out: float  #: likewise, over a stretch that the fit had not seen
    torque: float  #: rms of the torque in motion
    data_sheet_left: float  #: what the data sheet and this friction leave unexplained, rms

    @property
    def hysteresis(self) -> float:
        """Torque between both directions at low speed, [N·m]."""
        return 2.0 * self.coulomb.value


@dataclass
class TorqueCheck:
    """What the log says about an arm."""

    robot: Robot
    log: ArmLog  #: in the model's order and direction
    arrangement: Arrangement
    joints: list[JointReport]
    tool_mass: Estimate  #: that the file lacks, [kg]
    tilt: tuple[Estimate, Estimate]  #: of the base about x and y, [rad]
    delay: Estimate  #: of all joints together, [s]
    gravity_error: float  #: of the data sheet's gravity torque, over its size, [-]
    inertia_error: float  #: of its inertial torque, likewise
    findings: list[Cause]
    unclear: list[Unclear]
    solution: Estimates = field(repr=False)

    def open_questions(self) -> list[str]:
        """What the log cannot tell and why, joints with the same reason on one line."""
        grouped: dict[tuple[str, str], list[str]] = {}
        for one in self.unclear:
            names = " and ".join(self.log.names[number - 1] for number in one.joints)
            grouped.setdefault((one.kind, one.reason), []).append(names)
        return [
            f"{kind}{' of ' if any(names) else ''}{', '.join(names)}: {reason}"
            for (kind, reason), names in grouped.items()
        ]


def check(log: ArmLog, robot: Robot) -> TorqueCheck:
    """Look for everything that keeps a log's torques from being the arm's.

    Raises:
        BadValue: no joint moves enough to say anything.
    """
    sheet = DataSheet(robot, log.joints)
    samples = sample(log)
    if not (samples.moving.sum(axis=0) > 50).any():
        raise BadValue(f"{log.name}: every joint is at rest nearly all the time; log a motion")
    arrangement = arrange(sheet, samples)
    log = arrangement.apply(log)
    samples = sample(log)
    problem = pose(sheet, samples, log.kind)
    solution = _solve(problem, frozenset())
    full, stribeck = _with_all_terms(problem, solution)
    terms = _terms(full, robot, log)
    for turn in range(3):
        late, _ = _common_delay(solution if turn or not terms else full)
        if turn and abs(late - samples.shift) < 0.25 * samples.step:
            break
        # a late jump of friction lies elsewhere than the reversal that causes it
        samples = sample(log, late)
        problem = with_friction(sheet, samples, problem.columns, log.kind, stribeck)
        solution = _solve(problem, terms)
    full, stribeck = _with_all_terms(problem, solution)
    held = _held_out(solution, terms, stribeck)
    joints = _joints(solution, full, held, samples, log, terms)
    findings, unclear = _arranged(arrangement, log)
    _judge_contact(solution, log, findings)
    _judge_joints(solution, full, joints, samples, log, robot, findings, unclear)
    tool, tilt, delay = _judge_arm(solution, samples, findings, unclear)
    _judge_drift(full, terms & _terms(full, robot, log), robot, log, findings, unclear)
    gravity, inertia = _sheet_errors(solution)
    return TorqueCheck(
        robot,
        log,
        arrangement,
        joints,
        tool,
        tilt,
        delay,
        gravity,
        inertia,
        findings,
        unclear,
        solution,
    )


def _solve(problem: Problem, terms: frozenset[str]) -> Estimates:
    """Without a delay first: the model's own rate of change is what a delay is seen by."""
    first = solve(problem, terms)
    second = solve(with_slope(first), terms | {"delay"}, first.z)
    return solve(with_slope(second), terms | {"delay"}, second.z)


def _with_all_terms(problem: Problem, plain: Estimates) -> tuple[Estimates, float]:
    """The fit with every optional term, and the Stribeck speed that leaves least."""
    best: tuple[float, Estimates, float] | None = None
    terms = frozenset({"peak", "warming", "offset_drift", "delay"})
    for speed in STRIBECK_RAD_S:
        posed = with_friction(problem.sheet, problem.samples, problem.columns, problem.kind, speed)
        sloped = with_slope(replace(plain, problem=posed))
        found = solve(sloped, terms, plain.z)
        size = float(np.sum(np.log(found.sigma) * [len(y) for y in problem.y]))
        if best is None or size < best[0]:
            best = size, found, speed
    assert best is not None
    return best[1], best[2]


def _terms(full: Estimates, robot: Robot, log: ArmLog) -> frozenset[str]:
    """Optional terms that some joint clearly shows."""
    chosen = set()
    if _stuck(full).any():
        chosen.add("peak")
    if _warmed(full).any():
        chosen.add("warming")
    if _offset_moved(full, robot, log).any():
        chosen.add("offset_drift")
    return frozenset(chosen)


def _sure(values: Array, deviations: Array, least: Array | float) -> Array:
    found: Array = (np.abs(values) > SURE * deviations) & (np.abs(values) > least)
    return found


def _clear(value: float, deviation: float, matters: float) -> bool:
    """Whether a size that matters can be excluded."""
    return abs(value) + INTERVAL * deviation < matters


def _moves(solution: Estimates) -> Array:
    return np.array([len(y) > 50 for y in solution.problem.y])


def _stuck(full: Estimates) -> Array:
    peak, least = full.value("peak"), MIN_PEAK_SHARE * np.abs(full.value("coulomb"))
    return _sure(peak, full.deviation("peak"), least) & (peak > 0.0) & _moves(full)


def _warmed(full: Estimates) -> Array:
    change, least = full.value("warming"), MIN_DRIFT_SHARE * np.abs(full.value("coulomb"))
    return _sure(change, full.deviation("warming"), least) & _moves(full)


def _limit(robot: Robot, log: ArmLog) -> Array:
    limits = robot.limits.torque[list(log.joints)]
    return np.where(np.isfinite(limits), limits, np.abs(log.effort).max(axis=0))


def _offset_moved(full: Estimates, robot: Robot, log: ArmLog) -> Array:
    scale = np.maximum(np.abs(full.value("scale")), 1e-9)
    least = MIN_OFFSET_DRIFT_SHARE * _limit(robot, log) * scale
    return _sure(full.value("offset_drift"), full.deviation("offset_drift"), least) & _moves(full)


def _held_out(solution: Estimates, terms: frozenset[str], stribeck: float) -> Array:
    """Errors over a stretch, of a fit that did not see it, [log's unit]."""
    problem = solution.problem
    share = np.linspace(0.0, 1.0, len(problem.samples.time))
    hidden = (share > HELD_OUT[0]) & (share < HELD_OUT[1])
    seen = with_friction(
        problem.sheet, problem.samples, problem.columns, problem.kind, stribeck, ~hidden
    )
    found = solve(seen, terms, None)
    test = with_friction(
        problem.sheet, problem.samples, problem.columns, problem.kind, stribeck, hidden
    )
    left = residuals(test, found.layout, found.z)
    return np.array([np.sqrt(np.mean(r**2)) if len(r) > 10 else np.nan for r in left])


def _estimate(value: float, deviation: float, unit: str, identified: bool) -> Estimate:
    half = INTERVAL * deviation
    if not identified:
        return Estimate(float(value), None, None, unit, False)
    return Estimate(float(value), float(value - half), float(value + half), unit, True)


def _joints(
    solution: Estimates,
    full: Estimates,
    held: Array,
    samples: Samples,
    log: ArmLog,
    terms: frozenset[str],
) -> list[JointReport]:
    moves, unit = _moves(solution), "-" if log.kind == "torque" else "A/(N·m)"
    scale = solution.value("scale")
    size = np.maximum(np.abs(scale), 1e-9)
    knows = moves & (solution.deviation("scale") < 0.3 * np.abs(scale))
    stuck, problem = _stuck(full), solution.problem
    model = problem.sheet.torque(problem.columns, samples.a)
    out = []
    for j, name in enumerate(log.names):
        known, rows = bool(knows[j]), problem.rows[j]
        get = {
            key: (solution.value(key)[j], solution.deviation(key)[j])
            for key in ("scale", "offset", "delay", "coulomb", "viscous", "peak")
        }
        get["delay"] = get["delay"][0], float(np.hypot(get["delay"][1], _stamp(solution)))
        v = samples.v[rows, j]
        unexplained = np.array([])
        if len(rows):
            friction = get["coulomb"][0] * np.sign(v) + get["viscous"][0] * v
            unexplained = samples.effort[rows, j] - scale[j] * (model[rows, j] + friction)
            unexplained = (unexplained - unexplained.mean()) / size[j]
        out.append(
            JointReport(
                name,
                scale=_estimate(*get["scale"], unit, known),
                offset=_estimate(*get["offset"], "N·m" if unit == "-" else "A", bool(moves[j])),
                delay=_estimate(*get["delay"], "s", bool(moves[j] and get["delay"][1] < 0.02)),
                coulomb=_estimate(*get["coulomb"], "N·m", known),
                viscous=_estimate(*get["viscous"], "N·m·s/rad", known),
                peak=_estimate(*get["peak"], "N·m", known) if stuck[j] else None,
                noise=float(samples.noise[j] / size[j]),
                step=float(samples.grid[j]),
                left=float(solution.sigma[j] / size[j]) if moves[j] else 0.0,
                held_out=float(held[j] / size[j]) if np.isfinite(held[j]) else 0.0,
                torque=float(np.std(samples.effort[rows, j]) / size[j]) if len(rows) else 0.0,
                data_sheet_left=float(np.sqrt(np.mean(unexplained**2)))
                if len(unexplained)
                else 0.0,
            )
        )
    return out


def _arranged(found: Arrangement, log: ArmLog) -> tuple[list[Cause], list[Unclear]]:
    """What the arrangement says, in words."""
    findings, unclear = [], []

    def named(joints: tuple[int, ...]) -> str:
        return " and ".join(log.names[joint] for joint in joints)

    for pair in found.swapped:
        numbers = tuple(sorted(joint + 1 for joint in pair))
        text = f"the columns of {named(pair)} are swapped (position, velocity and {log.kind})"
        findings.append(Cause("swapped", numbers, text))
    if found.torque_order:
        moved = tuple(j for j, column in enumerate(found.torque_order) if column != j)
        text = f"the {log.kind} columns of {named(moved)} are swapped"
        findings.append(Cause("swapped", tuple(j + 1 for j in moved), text))
    for joint in found.turned:
        text = f"{log.names[joint]} counts the other way than in the robot's file, {log.kind} too"
        findings.append(Cause("sign", (joint + 1,), text))
    for kind, joints in found.unclear:
        same = "turned round, it" if kind == "sign" else "exchanged, they"
        reason = f"{same} would read about the same in this motion"
        unclear.append(Unclear(kind, tuple(joint + 1 for joint in joints), reason))
    return findings, unclear


def _judge_contact(solution: Estimates, log: ArmLog, findings: list[Cause]) -> None:
    """Name the time in which something touched the arm, if a joint shows it."""
    problem = solution.problem
    touched, joints = list[int](), list[int]()
    time = problem.samples.time
    stretch = ((time - time[0]) / TOUCH_S).astype(int)
    left = residuals(problem, solution.layout, solution.z)
    for j, (rows, torque) in enumerate(zip(problem.rows, left, strict=True)):
        count = np.bincount(stretch[rows], minlength=stretch[-1] + 1)
        known = np.flatnonzero(count >= 10)
        if len(known) < 10:
            continue
        mean = np.bincount(stretch[rows], torque, minlength=len(count))[known] / count[known]
        mean -= np.median(mean)
        off = mean / max(1.4826 * float(np.median(np.abs(mean))), 1e-12)
        hits = set[int]()
        for n, least in TOUCHES:
            for k in range(len(known) - n + 1):
                on_end = known[k + n - 1] - known[k] == n - 1
                one_way = max(off[k : k + n].min(), -off[k : k + n].max())
                if on_end and one_way > least:
                    hits |= set(known[k : k + n].tolist())
        touched += hits
        joints += [j] if hits else []
    if joints:
        first, last = time[0] + TOUCH_S * min(touched), time[0] + TOUCH_S * (max(touched) + 1)
        names = " and ".join(log.names[j] for j in joints)
        text = (
            f"something touched the arm between {first:.1f} and {last:.1f} s: {names} had torque "
            "that no free motion explains; cut it out, or log again"
        )
        findings.insert(0, Cause("contact", tuple(j + 1 for j in joints), text))


def _judge_joints(
    solution: Estimates,
    full: Estimates,
    joints: list[JointReport],
    samples: Samples,
    log: ArmLog,
    robot: Robot,
    findings: list[Cause],
    unclear: list[Unclear],
) -> None:
    moves, limits = _moves(solution), _limit(robot, log)
    scale, deviation = solution.value("scale"), solution.deviation("scale")
    stuck = _stuck(full)
    for j, one in enumerate(joints):
        number, label = (j + 1,), one.name
        if not moves[j]:
            reason = "it hardly moves in this log"
            unclear += [Unclear(kind, number, reason) for kind in ("scale", "sign", "stiction")]
            continue
        c, sd = float(scale[j]), float(deviation[j])
        if c < 0.0:
            findings.append(Cause("sign", number, f"{label}: {log.kind} has the wrong sign"))
        off = abs(abs(c) - 1.0)
        if log.kind == "torque" and off > max(WRONG_SCALE, SURE * sd):
            half = INTERVAL * sd
            units = (unit for unit, size in UNITS.items() if abs(abs(c) - size) < half)
            guess = next((f"; is it in {unit}?" for unit in units), "")
            factor = f"{abs(c):.4g} ± {float(f'{half:.2g}'):g}"
            text = f"{label}: torque reads {factor} times what it is{guess}"
            findings.append(Cause("scale", number, text))
        elif not _clear(off, sd, MATTERS_SCALE * max(abs(c), 1e-9)):
            cause = "gravity hardly loads it, and it accelerates too little"
            unclear.append(Unclear("scale", number, f"{cause} beside its friction"))
        if _sure(
            solution.value("offset")[j],
            solution.deviation("offset")[j],
            MIN_OFFSET_SHARE * limits[j] * abs(c),
        ):
            text = f"{label}: {log.kind} is off by {one.offset.value:.3g} {one.offset.unit}"
            findings.append(Cause("offset", number, text))
        if text := _coarse(one, limits[j]):
            findings.append(Cause("quantised", number, text))
        peak, spread = full.value("peak")[j], full.deviation("peak")[j]
        if stuck[j]:
            text = (
                f"{label}: sticks, break-away is {peak:.2g} N·m above {one.coulomb.value:.2g} N·m"
            )
            findings.append(Cause("stiction", number, text))
        elif not _clear(
            max(peak, 0.0), spread, max(0.6 * abs(full.value("coulomb")[j]), 1e-3 * limits[j])
        ):
            reason = "it is seldom slow enough to show a break-away peak"
            unclear.append(Unclear("stiction", number, reason))


def _coarse(one: JointReport, limit: float) -> str:
    """What a joint's grid of readings means; empty if it is only how numbers were printed."""
    if one.step <= 0.0:
        return ""
    decimals = -np.log10(one.step)
    printed = abs(decimals - round(decimals)) < 1e-4 and decimals > -0.5
    torque = one.step / max(abs(one.scale.value), 1e-9)
    if printed and torque < 0.5 * one.noise:
        return ""
    bits = np.log2(2.0 * limit / torque)
    return f"{one.name}: readings have steps of {one.step:.3g}, {bits:.0f} bits of ±{limit:g} N·m"


def _judge_arm(
    solution: Estimates, samples: Samples, findings: list[Cause], unclear: list[Unclear]
) -> tuple[Estimate, tuple[Estimate, Estimate], Estimate]:
    mass, deviation = float(solution.value("tool")[0]), float(solution.deviation("tool")[0])
    if _sure(np.array(mass), np.array(deviation), MIN_TOOL_KG):
        half = INTERVAL * deviation
        what = "missing in" if mass > 0.0 else "too heavy in"
        text = f"a tool of {abs(mass):.2g} ± {half:.2g} kg is {what} the robot's file"
        findings.append(Cause("tool", (), text))
    elif not _clear(mass, deviation, MATTERS_TOOL_KG):
        unclear.append(Unclear("tool", (), "the motion hardly loads the wrist"))
    tilt, spread = solution.value("tilt"), solution.deviation("tilt")
    size = float(np.hypot(*tilt))
    along = float(np.sqrt(tilt @ np.diag(spread**2) @ tilt)) / max(size, 1e-12)
    if size > max(MIN_TILT_RAD, SURE * along):
        text = f"the base is not level: {np.degrees(size):.2g}° from what the file says"
        findings.append(Cause("tilt", (), text))
    elif not _clear(size, float(spread.max()), MATTERS_TILT_RAD):
        unclear.append(Unclear("tilt", (), "gravity hardly changes in this motion"))
    delay, late = _common_delay(solution)
    if abs(delay) > max(SURE * late, MIN_DELAY_S, 1.5 * samples.step):
        count = delay / samples.step
        length = f"{1e3 * delay:.2g} ± {1e3 * INTERVAL * late:.2g} ms"
        text = f"torque is {length} late ({count:.1f} samples)"
        findings.append(Cause("delay", (), text))
    elif not _clear(delay, late, max(2.5 * samples.step, 1.5 * MIN_DELAY_S)):
        unclear.append(Unclear("delay", (), f"a delay below {4e3 * late:.2g} ms would not show"))
    estimates = [
        _estimate(float(a), float(s), "rad", True) for a, s in zip(tilt, spread, strict=True)
    ]
    return (
        _estimate(mass, deviation, "kg", True),
        (estimates[0], estimates[1]),
        _estimate(delay, late, "s", True),
    )


def _common_delay(solution: Estimates) -> tuple[float, float]:
    """Delay of all joints that move, with its deviation, [s]."""
    moves, at = _moves(solution), solution.layout.at["delay"]
    C = solution.covariance[at, at][np.ix_(moves, moves)]
    ones = np.ones(len(C))
    weights = np.linalg.solve(C, ones)
    variance = 1.0 / float(ones @ weights)
    delay = variance * float(weights @ solution.value("delay")[moves])
    return delay, float(np.sqrt(variance + _stamp(solution) ** 2))


def _stamp(solution: Estimates) -> float:
    """What adds to the deviation of every delay, [s].

    Nobody knows when within a sample a reading was taken, and friction is not just as its model.
    """
    return float(np.hypot(solution.problem.samples.step / np.sqrt(12.0), DELAY_ERROR_S))


def _judge_drift(
    full: Estimates,
    terms: frozenset[str],
    robot: Robot,
    log: ArmLog,
    findings: list[Cause],
    unclear: list[Unclear],
) -> None:
    parts = []
    if "warming" in terms:
        joint = int(np.argmax(np.where(_warmed(full), np.abs(full.value("warming")), 0.0)))
        share = full.value("warming")[joint] / abs(full.value("coulomb")[joint])
        parts.append(f"friction of {log.names[joint]} changed by {100 * share:.0f} %")
    if "offset_drift" in terms:
        moved = np.where(_offset_moved(full, robot, log), np.abs(full.value("offset_drift")), 0.0)
        joint = int(np.argmax(moved))
        change = full.value("offset_drift")[joint]
        unit = "N·m" if log.kind == "torque" else "A"
        parts.append(f"the zero of {log.names[joint]} moved by {change:.2g} {unit}")
    if parts:
        text = f"it drifts, as with temperature: {' and '.join(parts)} over the log"
        findings.append(Cause("drift", (), text))
        return
    moves = _moves(full)
    blur = SURE * full.deviation("warming") > 0.5 * np.abs(full.value("coulomb"))
    if moves.any() and blur[moves].all():
        unclear.append(Unclear("drift", (), "friction is too small in this log to see it change"))


def _sheet_errors(solution: Estimates) -> tuple[float, float]:
    """Of the data sheet's gravity torque and inertial torque, rms over rms, [-]."""
    problem = solution.problem
    sheet, columns, samples = problem.sheet, problem.columns, problem.samples
    change = sheet.parameters(solution.delta) - sheet.parameters()
    extra = columns.tool @ solution.value("tool")
    moved = columns.bodies - columns.gravity
    sizes = []
    for part, more in ((columns.gravity, extra), (moved, 0.0)):
        known = part @ sheet.parameters()
        wrong = part @ change + more
        if part is moved:
            known = known + sheet.rotors * samples.a
            wrong = wrong + (solution.rotors - sheet.rotors) * samples.a
        sizes.append(float(np.sqrt(np.mean(wrong**2) / max(np.mean(known**2), 1e-30))))
    return sizes[0], sizes[1]


def to_json(result: TorqueCheck) -> dict[str, Any]:
    """Everything but the samples, for ``--json``."""
    from dataclasses import asdict

    return {
        "log": result.log.name,
        "robot": result.robot.name,
        "effort": result.log.kind,
        "findings": [asdict(one) for one in result.findings],
        "unclear": [asdict(one) for one in result.unclear],
        "joints": [asdict(one) | {"hysteresis": one.hysteresis} for one in result.joints],
        "tool_mass": asdict(result.tool_mass),
        "tilt": [asdict(one) for one in result.tilt],
        "delay": asdict(result.delay),
        "gravity_error": result.gravity_error,
        "inertia_error": result.inertia_error,
    }


__all__ = ["Cause", "JointReport", "TorqueCheck", "Unclear", "check", "to_json"]

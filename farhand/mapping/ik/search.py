"""Compiled stages of the search for one pose: near the start, branches, restarts, the closest."""

from __future__ import annotations

import math

import numpy as np

from farhand.compiled import compiled
from farhand.mapping.ik.closed_form import BRANCHES, ELBOW, NONE, angle_onto, branches, dot, turn
from farhand.mapping.ik.kernel import descend, pose_error

SOLVED, LIMITED, UNREACHABLE, JUMP, INVALID, UNDECIDED = 0, 1, 2, 3, 4, -1
CODES = ("solved", "limited", "unreachable", "jump", "invalid")

# a warm start that ends within this of where it began is taken at once, [rad]
NEAR_RAD = 0.5
WARM_STEPS = 15
# a pose farther from the start than this goes to the closed form at once, [m] and [rad]
WARM_ERROR = (0.3, 1.0)
ANY_ERROR = (np.inf, np.inf)
RESTARTS, RESTART_STEPS = 60, 60
# further starts of the search for the closest pose
EXTRA_STARTS = 8
ELBOW_ANGLES = 48
# elbow angles tried for a warm start after one fits, to find the nearest
MIN_ELBOW_ANGLES = 6
# weight of a radian against a metre, [m/rad], in the search for a solution
SEARCH_WEIGHT = 0.3
# the same for the closest pose: position first, as published
CLOSEST_WEIGHT = 0.01
# more than any squared distance, [rad²]
WRONG_SIDE = 1e6
GOLDEN = 0.6180339887498949


@compiled
def solve_from(chain, position, rotation, q, tolerance):
    """Descend from ``q`` to a solution: position error [m], rotation error [rad], steps."""
    return descend(
        chain, position, rotation, q, SEARCH_WEIGHT, RESTART_STEPS, 1e-3, 5, tolerance, ANY_ERROR
    )


@compiled
def approach(chain, position, rotation, q, steps, stall, tolerance):
    """Descend from ``q`` to the closest pose: position error [m], rotation error [rad], steps."""
    return descend(
        chain, position, rotation, q, CLOSEST_WEIGHT, steps, stall, 5, tolerance, ANY_ERROR
    )


@compiled
def follow(arm, settings, position, rotation, start, warm, q):
    """Look near the start: the whole search for a pose that moves along with the arm.

    Args:
        arm: ((steps, hinge, lower, upper), family, axes, points, tool position, tool rotation).
        settings: (position tolerance [m], rotation tolerance [rad], largest step [rad], elbow: 1
            above, −1 below, 0).
        position: of the target, [m].
        rotation: of the target.
        start: where the joints are; home for a cold start, [rad or m].
        warm: whether the answer should be near ``start``.
        q: result, [rad or m].

    Returns:
        Code of the status, position error [m], rotation error [rad], steps. The code is
            :data:`UNDECIDED`, and ``q`` the start inside the limits, if other stages must go on.
    """
    chain, family = arm[0], arm[1]
    lower, upper = chain[2], chain[3]
    n = len(q)
    valid, start_valid = _valid(position, rotation), True
    for i in range(n):
        start_valid = start_valid and math.isfinite(start[i])
        q[i] = min(max(start[i] if math.isfinite(start[i]) else 0.0, lower[i]), upper[i])
    if not (valid and start_valid):
        return INVALID, np.inf, np.inf, 0
    if family != NONE and not warm:
        return UNDECIDED, np.inf, np.inf, 0
    begin = q.copy()
    tolerance = (settings[0], settings[1])
    within = ANY_ERROR if family == NONE else WARM_ERROR
    linear, angular, done = descend(
        chain, position, rotation, q, SEARCH_WEIGHT, WARM_STEPS, 1e-3, 5, tolerance, within
    )
    away = _distance(q, begin)
    near = family == NONE or away < NEAR_RAD
    if _met(linear, angular, tolerance) and near and _preferred(arm, settings[3], q):
        if not warm or away <= settings[2]:
            return SOLVED, linear, angular, done
    q[:] = begin
    return UNDECIDED, linear, angular, done


@compiled
def _valid(position, rotation):
    """Whether these are numbers, and a rotation to 1e-3."""
    for i in range(3):
        if not math.isfinite(position[i]):
            return False
        for j in range(3):
            if not abs(dot(rotation[i], rotation[j]) - (1.0 if i == j else 0.0)) < 1e-3:
                return False
    a, b, c = rotation[0], rotation[1], rotation[2]
    volume = a[0] * (b[1] * c[2] - b[2] * c[1])
    volume += a[1] * (b[2] * c[0] - b[0] * c[2])
    volume += a[2] * (b[0] * c[1] - b[1] * c[0])
    return volume > 0.0


@compiled
def _met(linear, angular, tolerance):
    return linear <= tolerance[0] and angular <= tolerance[1]


@compiled
def _distance(a, b):
    largest = 0.0
    for i in range(len(a)):
        largest = max(largest, abs(a[i] - b[i]))
    return largest


@compiled
def hold(arm, position, rotation, begin, step_max, q):
    """Restore the start if ``q`` is too far away; returns if so, and its errors, [m] and [rad]."""
    if _distance(q, begin) <= step_max:
        return False, 0.0, 0.0
    n = len(q)
    q[:] = begin
    axes, levers, e = np.empty((n, 3)), np.empty((n, 3)), np.empty(6)
    linear, angular = pose_error(arm[0][0], arm[0][1], q, position, rotation, axes, levers, e)
    return True, linear, angular


@compiled
def elbow_height(arm, q):
    """How far the elbow is above the line from shoulder to wrist, [m]; 0 for an arm without one."""
    _, family, h, points, _, _ = arm
    if family == NONE:
        return 0.0
    shoulder, elbow, wrist = (0, 3, 4) if family == ELBOW else (1, 2, 3)
    fore, upper = points[wrist] - points[elbow], points[elbow] - points[shoulder]
    for i in range(elbow, shoulder - 1, -1):
        turn(h[i], q[i], fore, fore)
        if i < elbow:
            turn(h[i], q[i], upper, upper)
    for i in range(shoulder - 1, -1, -1):
        turn(h[i], q[i], fore, fore)
        turn(h[i], q[i], upper, upper)
    line = upper + fore
    return upper[2] - dot(upper, line) / max(dot(line, line), 1e-12) * line[2]


@compiled
def elbow_angle(arm, q):
    """ψ of a seven-joint arm, about the line from shoulder to wrist; 0 at the highest, [rad]."""
    _, _, h, points, _, _ = arm
    upper, fore, up = points[3] - points[0], points[4] - points[3], np.zeros(3)
    turn(h[3], q[3], fore, fore)
    for i in range(2, -1, -1):
        turn(h[i], q[i], fore, fore)
        turn(h[i], q[i], upper, upper)
    line = upper + fore
    line /= max(math.sqrt(dot(line, line)), 1e-12)
    up[2] = 1.0
    return angle_onto(line, up, upper)


@compiled
def _preferred(arm, side, q):
    return side == 0.0 or side * elbow_height(arm, q) > -1e-6


@compiled
def _fit(row, begin, lower, upper, hinge):
    """Shift hinges by whole turns inside the limits, near ``begin``; the largest violation."""
    worst = 0.0
    for i in range(len(row)):
        if hinge[i]:
            row[i] -= 2.0 * math.pi * round((row[i] - begin[i]) / (2.0 * math.pi))
            if row[i] > upper[i] and row[i] - 2.0 * math.pi >= lower[i] - (row[i] - upper[i]):
                row[i] -= 2.0 * math.pi
            elif row[i] < lower[i] and row[i] + 2.0 * math.pi <= upper[i] + (lower[i] - row[i]):
                row[i] += 2.0 * math.pi
        worst = max(worst, row[i] - upper[i], lower[i] - row[i])
    return worst


@compiled
def by_branches(arm, settings, position, rotation, begin, warm, q):
    """The branch inside the limits that is best for ``begin``.

    Returns:
        :data:`SOLVED`, with a ``q`` good to about 1e-9; or :data:`LIMITED` or :data:`UNREACHABLE`,
            if no branch fits, with the elbow angle that came closest to the limits, [rad].
    """
    chain, family = arm[0], arm[1]
    steps, hinge, lower, upper = chain
    n = len(q)
    rows, best = np.empty((BRANCHES, n)), np.empty(n)
    count = ELBOW_ANGLES if family == ELBOW else 1
    score, violation, reachable, angle = np.inf, np.inf, False, 0.0
    centre = elbow_angle(arm, begin) if warm and family == ELBOW else 0.0
    for k in range(count):
        psi = centre + (k + 1) // 2 * (2.0 * math.pi / ELBOW_ANGLES) * (1.0 if k % 2 == 0 else -1.0)
        exact = branches(family, arm[2], arm[3], arm[4], arm[5], position, rotation, psi, rows)
        reachable = reachable or exact != 0
        for row in range(BRANCHES):
            if not exact >> row & 1:
                continue
            outside = _fit(rows[row], begin, lower, upper, hinge)
            if outside > 1e-9:
                if score == np.inf and outside < violation:
                    violation, angle = outside, psi
                continue
            far = _score(arm, settings[3], rows[row], begin)
            if far < score:
                score = far
                best[:] = rows[row]
        good = score < WRONG_SIDE or (score < np.inf and k > ELBOW_ANGLES // 2)
        if good and (not warm or k >= MIN_ELBOW_ANGLES):
            break
    if score < np.inf:
        _inside(best, lower, upper, q)
        return SOLVED, angle
    return LIMITED if reachable else UNREACHABLE, angle


@compiled
def _score(arm, side, row, begin):
    """Squared distance from the start, plus a large number if the elbow is on the wrong side."""
    total = 0.0 if _preferred(arm, side, row) else WRONG_SIDE
    for i in range(len(row)):
        total += (row[i] - begin[i]) ** 2
    return total


@compiled
def _inside(best, lower, upper, q):
    for i in range(len(q)):
        q[i] = min(max(best[i], lower[i]), upper[i])


@compiled
def polish(arm, settings, position, rotation, q):
    """A short descent from a closed form: position error [m], rotation error [rad] and steps."""
    chain, tolerance = arm[0], (settings[0], settings[1])
    return descend(
        chain, position, rotation, q, SEARCH_WEIGHT, WARM_STEPS, 1e-3, 5, tolerance, ANY_ERROR
    )


@compiled
def _least_violation(arm, position, rotation, begin, psi, rows, best):
    """Violation of the limits by the best branch at one elbow angle, which goes into ``best``."""
    least = np.inf
    exact = branches(arm[1], arm[2], arm[3], arm[4], arm[5], position, rotation, psi, rows)
    for row in range(BRANCHES):
        if exact >> row & 1:
            outside = _fit(rows[row], begin, arm[0][2], arm[0][3], arm[0][1])
            if outside < least:
                least = outside
                best[:] = rows[row]
    return least


@compiled
def between(arm, position, rotation, begin, psi, q):
    """Golden-section search around the elbow angle that came closest; True if a branch fits."""
    rows, best = np.empty((BRANCHES, len(q))), np.empty(len(q))
    low, high = psi - 2.0 * math.pi / ELBOW_ANGLES, psi + 2.0 * math.pi / ELBOW_ANGLES
    at_low, at_high, angle, left = np.inf, np.inf, high - GOLDEN * (high - low), True
    a, b = angle, low + GOLDEN * (high - low)
    for k in range(27):
        outside = _least_violation(arm, position, rotation, begin, angle, rows, best)
        if outside <= 0.0:
            _inside(best, arm[0][2], arm[0][3], q)
            return True
        if left:
            at_low = outside
        else:
            at_high = outside
        left = k > 0 and at_low < at_high
        if k == 0:
            angle = b
        elif left:
            high, b, at_high = b, a, at_low
            a = angle = high - GOLDEN * (high - low)
        else:
            low, a, at_low = a, b, at_high
            b = angle = low + GOLDEN * (high - low)
    return False


@compiled
def _spread(index, base):
    """Van der Corput's sequence: numbers in (0, 1) that fill it evenly."""
    result, fraction = 0.0, 1.0 / base
    while index > 0:
        result += fraction * (index % base)
        index //= base
        fraction /= base
    return result


@compiled
def halton_posture(index, lower, upper, begin, q):
    """Start of a restart: Halton's sequence over the joint ranges, within a turn of ``begin``."""
    primes = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
    for i in range(len(q)):
        low, high = max(lower[i], begin[i] - math.pi), min(upper[i], begin[i] + math.pi)
        q[i] = low + (high - low) * _spread(index + 1, primes[i % 12])


@compiled
def restart(arm, settings, position, rotation, begin, q):
    """Descend from many places; or the closest pose, and whether it can be met without limits."""
    chain, tolerance = arm[0], (settings[0], settings[1])
    steps, hinge, lower, upper = chain
    best, least, done = q.copy(), np.inf, 0
    for index in range(RESTARTS):
        if index > 0:
            halton_posture(index, lower, upper, begin, q)
        linear, angular, more = solve_from(chain, position, rotation, q, tolerance)
        done = max(done, more)
        if _met(linear, angular, tolerance):
            return SOLVED, linear, angular, done
        if linear + CLOSEST_WEIGHT * angular < least:
            least = linear + CLOSEST_WEIGHT * angular
            best[:] = q
    free = (steps, hinge, np.full(len(q), -np.inf), np.full(len(q), np.inf))
    code = UNREACHABLE
    for index in range(RESTARTS // 4):
        halton_posture(index, lower, upper, begin, q)
        linear, angular, more = solve_from(free, position, rotation, q, tolerance)
        if _met(linear, angular, tolerance):
            code = LIMITED
            break
    q[:] = best
    linear, angular, more = approach(chain, position, rotation, q, 250, 1e-5, tolerance)
    code = SOLVED if _met(linear, angular, tolerance) else code
    return code, linear, angular, max(done, more)


@compiled
def closest(arm, settings, position, rotation, begin, reachable, q):
    """Descend from every branch of least squares, inside the limits; the closest pose wins."""
    chain, family, tolerance = arm[0], arm[1], (settings[0], settings[1])
    lower, upper, hinge = chain[2], chain[3], chain[1]
    n = len(q)
    rows, trial, best = np.empty((BRANCHES, n)), np.empty(n), begin.copy()
    least, linear, angular, done = np.inf, np.inf, np.inf, 0
    branches(family, arm[2], arm[3], arm[4], arm[5], position, rotation, 0.0, rows)
    for k in range(BRANCHES + 1 + EXTRA_STARTS):
        if k < BRANCHES:
            _fit(rows[k], begin, lower, upper, hinge)
            trial[:] = rows[k]
        elif k == BRANCHES:
            trial[:] = begin
        else:
            halton_posture(k, lower, upper, begin, trial)
        for i in range(n):
            trial[i] = min(max(trial[i], lower[i]), upper[i])
        # a continuum at a singularity, or a gap between two elbow angles, may hold a solution
        if reachable:
            far, turned, more = solve_from(chain, position, rotation, trial, tolerance)
            done = max(done, more)
            if _met(far, turned, tolerance):
                q[:] = trial
                return SOLVED, far, turned, done
        far, turned, more = approach(chain, position, rotation, trial, 100, 1e-4, tolerance)
        done = max(done, more)
        cost = far * far + (CLOSEST_WEIGHT * turned) ** 2
        if cost < least:
            least, linear, angular = cost, far, turned
            best[:] = trial
    q[:] = best
    linear, angular, more = approach(chain, position, rotation, q, 250, 1e-5, tolerance)
    code = LIMITED if reachable else UNREACHABLE
    # a stretched arm: rounding puts the pose beyond reach of every branch
    if _met(linear, angular, tolerance):
        code = SOLVED
    return code, linear, angular, max(done, more)


@compiled
def branch_of(arm, q):
    """Branch of the joints as three bits: shoulder, elbow, wrist; −1 without a closed form."""
    _, family, h, points, _, _ = arm
    if family == NONE:
        return -1
    if family == ELBOW:
        return (q[1] > 0.0) | (q[3] > 0.0) << 1 | (q[5] > 0.0) << 2
    fore, upper = points[3] - points[2], points[2] - points[1]
    turn(h[2], q[2], fore, fore)
    line = upper + fore
    across = np.empty(3)
    across[0] = h[1, 1] * h[0, 2] - h[1, 2] * h[0, 1]
    across[1] = h[1, 2] * h[0, 0] - h[1, 0] * h[0, 2]
    across[2] = h[1, 0] * h[0, 1] - h[1, 1] * h[0, 0]
    side = np.empty(3)
    side[0] = upper[1] * fore[2] - upper[2] * fore[1]
    side[1] = upper[2] * fore[0] - upper[0] * fore[2]
    side[2] = upper[0] * fore[1] - upper[1] * fore[0]
    turn(h[1], q[1], line, line)
    wrist = math.sin(q[4])
    return (dot(across, line) > 0.0) | (dot(h[1], side) > 0.0) << 1 | (wrist > 0.0) << 2

"""Closed-form inverse kinematics, compiled: every branch of three families of arms.

Which family an arm belongs to follows from its geometry, so a changed length, tool or mounting
needs no new formula:

- ``wrist``: six hinges, the last three through one point, the second and third parallel (Powerball,
  most industrial arms); 8 branches.
- ``parallel``: six hinges, the second to fourth parallel, the last two through one point (UR); 8
  branches.
- ``elbow``: seven hinges, three through the shoulder and three through the wrist (iiwa); 8 branches
  for each elbow angle ψ, measured about the line from shoulder to wrist from where the elbow is
  highest.

The closed forms consist of rotations about one axis that meet one condition (Paden–Kahan
subproblems 1 and 4; 3 reduces to 4). Where there is no exact answer, each returns the one of least
squares and says so, which is a good start for the closest reachable pose.
"""

from __future__ import annotations

import math

import numpy as np

from farhand.compiled import compiled
from farhand.mapping.ik.chain import Chain
from farhand.spatial import Array

NONE, WRIST, PARALLEL, ELBOW = 0, 1, 2, 3
FAMILIES = ("none", "wrist", "parallel", "elbow")
BRANCHES = 8
_CLOSE = 1e-9  # [m] and [-]
SLACK = 1e-9
"""Relative overshoot of a cosine that counts as rounding: a stretched arm is reachable, [-]."""


def family_of(chain: Chain) -> tuple[int, Array]:
    """The family of a chain, and its points, each moved along its axis to suit the closed form.

    Returns:
        The family (:data:`NONE` if there is no closed form) and n × 3 points, [m].
    """
    points, h = chain.points.copy(), chain.axes
    if not chain.hinge.all() or chain.n not in (6, 7):
        return NONE, points
    if chain.n == 7:
        shoulder, wrist = _meeting(chain, (0, 1, 2)), _meeting(chain, (4, 5, 6))
        if shoulder is None or wrist is None:
            return NONE, points
        points[:3], points[4:] = shoulder, wrist
        return ELBOW, points
    wrist = _meeting(chain, (3, 4, 5))
    if wrist is not None and _parallel(h[1], h[2]) and not _parallel(h[0], h[1]):
        points[3:] = wrist
        return WRIST, points
    last = _meeting(chain, (4, 5))
    planar = _parallel(h[1], h[2]) and _parallel(h[1], h[3]) and not _parallel(h[0], h[1])
    if last is not None and planar:
        points[4:] = last
        return PARALLEL, points
    return NONE, points


def _parallel(a: Array, b: Array) -> bool:
    return abs(float(a @ b)) > 1.0 - _CLOSE


def _meeting(chain: Chain, joints: tuple[int, ...]) -> Array | None:
    """The point where these axes meet, or None."""
    across = [np.eye(3) - np.outer(chain.axes[j], chain.axes[j]) for j in joints]
    rows = np.concatenate(across)
    sides = np.concatenate([A @ chain.points[j] for A, j in zip(across, joints, strict=True)])
    point = np.linalg.lstsq(rows, sides, rcond=None)[0]
    return point if np.abs(rows @ point - sides).max() < _CLOSE else None


@compiled
def dot(a: Array, b: Array) -> float:
    """A · b of two vectors of three."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@compiled
def turn(k: Array, angle: float, a: Array, out: Array) -> None:
    """Rotate a about the unit vector k, by Rodrigues' formula, into ``out`` (which may be a)."""
    c, s = math.cos(angle), math.sin(angle)
    along = (1.0 - c) * dot(k, a)
    x = c * a[0] + s * (k[1] * a[2] - k[2] * a[1]) + along * k[0]
    y = c * a[1] + s * (k[2] * a[0] - k[0] * a[2]) + along * k[1]
    z = c * a[2] + s * (k[0] * a[1] - k[1] * a[0]) + along * k[2]
    out[0], out[1], out[2] = x, y, z


@compiled
def times(R: Array, a: Array, out: Array) -> None:
    """R a into ``out``, which must not be a."""
    for i in range(3):
        out[i] = R[i, 0] * a[0] + R[i, 1] * a[1] + R[i, 2] * a[2]


@compiled
def back(R: Array, a: Array, out: Array) -> None:
    """Rᵀ a into ``out``, which must not be a."""
    for i in range(3):
        out[i] = R[0, i] * a[0] + R[1, i] * a[1] + R[2, i] * a[2]


@compiled
def angle_onto(k: Array, a: Array, b: Array) -> float:
    """Subproblem 1: the angle about k that brings a nearest to b, [rad]."""
    sine = (
        k[0] * (a[1] * b[2] - a[2] * b[1])
        + k[1] * (a[2] * b[0] - a[0] * b[2])
        + k[2] * (a[0] * b[1] - a[1] * b[0])
    )
    return math.atan2(sine, dot(a, b) - dot(k, a) * dot(k, b))


@compiled
def angles_at_height(k: Array, a: Array, h: Array, height: float) -> tuple[float, float, bool]:
    """Subproblem 4: two angles about k at which the rotated a has ``height`` along h; if exact."""
    hk, ka = dot(h, k), dot(k, a)
    A = dot(h, a) - hk * ka
    B = (
        h[0] * (k[1] * a[2] - k[2] * a[1])
        + h[1] * (k[2] * a[0] - k[0] * a[2])
        + h[2] * (k[0] * a[1] - k[1] * a[0])
    )
    C = height - hk * ka
    reach = math.sqrt(A * A + B * B)
    middle = math.atan2(B, A)
    exact = abs(C) <= reach + SLACK * (1.0 + reach)
    if reach < 1e-14:
        return 0.0, 0.0, exact
    half = math.acos(min(1.0, max(-1.0, C / reach)))
    return middle + half, middle - half, exact


@compiled
def angles_at_distance(k: Array, a: Array, b: Array, distance: float) -> tuple[float, float, bool]:
    """Subproblem 3: two angles about k that put the rotated a at ``distance`` from b; if exact."""
    return angles_at_height(k, a, b, 0.5 * (dot(a, a) + dot(b, b) - distance * distance))


@compiled
def three_rotations(h1: Array, h2: Array, h3: Array, R: Array, out: Array) -> bool:
    """The two ways to write R as rotations about three axes, as rows of ``out``, [rad].

    Where the outer axes line up, only their sum is known and it goes into θ3.
    """
    end, start = np.empty(3), np.empty(3)
    times(R, h3, end)
    back(R, h1, start)
    first, second, exact = angles_at_height(h2, h3, h1, dot(h1, end))
    middle = np.empty(3)
    for row in range(2):
        angle = first if row == 0 else second
        turn(h2, angle, h3, middle)
        out[row, 0] = angle_onto(h1, middle, end)
        out[row, 1] = angle
        along = dot(h1, middle)
        # the outer axes line up
        if along * along > 1.0 - 1e-14:
            out[row, 0] = 0.0
            out[row, 2] = _rest(h2, h3, angle, R)
        else:
            turn(h2, -angle, h1, middle)
            out[row, 2] = -angle_onto(h3, middle, start)
    return exact


@compiled
def _rest(h2: Array, h3: Array, second: float, R: Array) -> float:
    """The angle about h3 that is left when the first is zero and the second is known."""
    helper = np.zeros(3)
    smallest = 0
    for i in range(3):
        if abs(h3[i]) < abs(h3[smallest]):
            smallest = i
    helper[smallest] = 1.0
    image = np.empty(3)
    times(R, helper, image)
    turn(h2, -second, image, image)
    return angle_onto(h3, helper, image)


@compiled
def branches(family, h, points, tool_p, tool_R, position, rotation, psi, out):
    """Every branch for one pose.

    Args:
        family: one of :data:`FAMILIES` by index.
        h: axes at zero joints, n × 3.
        points: on them, from :func:`family_of`, [m].
        tool_p: tool at zero joints, [m].
        tool_R: tool at zero joints.
        position: of the target, [m].
        rotation: of the target.
        psi: elbow angle, for the family ``elbow`` only, [rad].
        out: 8 × n, joint angles in (−2π, 2π], [rad]; rows that meet the pose only in the sense of
            least squares are included.

    Returns:
        Bit k is set if row k is exact.
    """
    # turn of the last joint's frame since zero
    R = rotation @ np.ascontiguousarray(tool_R.T)
    last = len(h) - 1
    centre = np.empty(3)
    times(R, tool_p - points[last], centre)
    # where the last joint's point is
    for i in range(3):
        centre[i] = position[i] - centre[i]
    if family == WRIST:
        return _wrist(h, points, centre, R, out)
    if family == PARALLEL:
        return _parallel_arm(h, points, centre, R, out)
    return _elbow(h, points, centre, R, psi, out)


@compiled
def _wrist(h, points, centre, R, out):
    offset, target, inner, shifted = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    columns, angles = np.empty((3, 3)), np.empty((2, 3))
    offset[:] = centre - points[0]
    p12, p23, p34 = points[1] - points[0], points[2] - points[1], points[3] - points[2]
    lateral = dot(h[1], points[3] - points[0])
    # h1ᵀ rotated onto the arm's plane
    one, two, ok1 = angles_at_height(h[0], h[1], offset, lateral)
    exact, row = 0, 0
    for shoulder in range(2):
        q1 = one if shoulder == 0 else two
        turn(h[0], -q1, offset, target)
        target -= p12
        bend, unbend, ok3 = angles_at_distance(h[2], p34, -p23, np.sqrt(dot(target, target)))
        for elbow in range(2):
            q3 = bend if elbow == 0 else unbend
            turn(h[2], q3, p34, inner)
            inner += p23
            q2 = angle_onto(h[1], inner, target)
            for i in range(3):
                for j in range(3):
                    shifted[j] = R[j, i]
                turn(h[0], -q1, shifted, shifted)
                turn(h[1], -q2, shifted, shifted)
                turn(h[2], -q3, shifted, shifted)
                for j in range(3):
                    columns[j, i] = shifted[j]
            ok5 = three_rotations(h[3], h[4], h[5], columns, angles)
            for wrist in range(2):
                out[row, 0], out[row, 1], out[row, 2] = q1, q2, q3
                for i in range(3):
                    out[row, 3 + i] = angles[wrist, i]
                if ok1 and ok3 and ok5:
                    exact |= 1 << row
                row += 1
    return exact


@compiled
def _parallel_arm(h, points, centre, R, out):
    offset, arm, approach = np.empty(3), np.empty(3), np.empty(3)
    inner, start = np.empty(3), np.empty(3)
    offset[:] = centre - points[0]
    p12, p23 = points[1] - points[0], points[2] - points[1]
    p34, p45 = points[3] - points[2], points[4] - points[3]
    s3, s4 = dot(h[1], h[2]), dot(h[1], h[3])
    one, two, ok1 = angles_at_height(h[0], h[1], offset, dot(h[1], points[4] - points[0]))
    exact, row = 0, 0
    for shoulder in range(2):
        q1 = one if shoulder == 0 else two
        turn(h[0], -q1, offset, arm)
        arm -= p12
        times(R, h[5], approach)
        turn(h[0], -q1, approach, approach)
        flip, unflip, ok5 = angles_at_height(h[4], h[5], h[1], dot(h[1], approach))
        turn(h[0], q1, h[1], inner)
        # the parallel direction as the last joint sees it
        back(R, inner, start)
        for wrist in range(2):
            q5 = flip if wrist == 0 else unflip
            turn(h[4], q5, h[5], inner)
            total = angle_onto(h[1], inner, approach)  # q2 + q3 + q4
            turn(h[4], -q5, h[1], inner)
            q6 = -angle_onto(h[5], inner, start)
            turn(h[1], total, p45, inner)
            target = arm - inner
            bend, unbend, ok3 = angles_at_distance(h[2], p34, -p23, np.sqrt(dot(target, target)))
            for elbow in range(2):
                q3 = bend if elbow == 0 else unbend
                turn(h[2], q3, p34, inner)
                inner += p23
                q2 = angle_onto(h[1], inner, target)
                out[row, 0], out[row, 1], out[row, 2] = q1, q2, q3
                out[row, 3], out[row, 4], out[row, 5] = s4 * (total - q2 - s3 * q3), q5, q6
                if ok1 and ok3 and ok5:
                    exact |= 1 << row
                row += 1
    return exact


@compiled
def _elbow(h, points, centre, R, psi, out):
    reach, v, column = np.empty(3), np.empty(3), np.empty(3)
    shoulder, left = np.empty((3, 3)), np.empty((3, 3))
    angles, last = np.empty((2, 3)), np.empty((2, 3))
    reach[:] = centre - points[0]
    distance = np.sqrt(dot(reach, reach))
    upper, fore = points[3] - points[0], points[4] - points[3]
    bend, unbend, ok4 = angles_at_distance(h[3], fore, -upper, distance)
    exact, row = 0, 0
    for elbow in range(2):
        q4 = bend if elbow == 0 else unbend
        turn(h[3], q4, fore, v)
        v += upper
        _swivel(v, upper, h[3], reach, psi, shoulder)
        ok2 = three_rotations(h[0], h[1], h[2], shoulder, angles)
        for i in range(3):
            for j in range(3):
                column[j] = dot(shoulder[:, j], R[:, i])
            turn(h[3], -q4, column, column)
            for j in range(3):
                left[j, i] = column[j]
        ok6 = three_rotations(h[4], h[5], h[6], left, last)
        for first in range(2):
            for wrist in range(2):
                for i in range(3):
                    out[row, i], out[row, 4 + i] = angles[first, i], last[wrist, i]
                out[row, 3] = q4
                if ok4 and ok2 and ok6:
                    exact |= 1 << row
                row += 1
    return exact


@compiled
def _swivel(v, upper, axis, reach, psi, out):
    """A rotation that takes v along ``reach`` and the elbow ``psi`` away from its highest place."""
    here, there = np.empty((3, 3)), np.empty((3, 3))
    side, up = upper.copy(), np.zeros(3)
    if abs(dot(v, side)) > (1.0 - 1e-12) * np.sqrt(dot(v, v) * dot(side, side)):
        # the arm is straight: take the side to which it would bend
        side[0] = axis[1] * v[2] - axis[2] * v[1]
        side[1] = axis[2] * v[0] - axis[0] * v[2]
        side[2] = axis[0] * v[1] - axis[1] * v[0]
    if reach[0] * reach[0] + reach[1] * reach[1] < 1e-16:
        # the wrist is straight above the shoulder: no place is highest
        up[0] = 1.0
    else:
        up[2] = 1.0
    _triad(v, side, here)
    _triad(reach, up, there)
    for i in range(1, 3):
        turn(there[0], psi, there[i], there[i])
    for i in range(3):
        for j in range(3):
            out[i, j] = dot(there[:, i], here[:, j])


@compiled
def _triad(first, second, out):
    """Rows: first, the part of second across it, and their cross product, all of length one."""
    scale = 1.0 / max(np.sqrt(dot(first, first)), 1e-12)
    for i in range(3):
        out[0, i] = scale * first[i]
    along = dot(out[0], second)
    for i in range(3):
        out[1, i] = second[i] - along * out[0, i]
    scale = 1.0 / max(np.sqrt(dot(out[1], out[1])), 1e-12)
    for i in range(3):
        out[1, i] *= scale
    out[2, 0] = out[0, 1] * out[1, 2] - out[0, 2] * out[1, 1]
    out[2, 1] = out[0, 2] * out[1, 0] - out[0, 0] * out[1, 2]
    out[2, 2] = out[0, 0] * out[1, 1] - out[0, 1] * out[1, 0]


class ClosedForm:
    """Every branch of an arm that has a closed form."""

    def __init__(self, chain: Chain) -> None:
        self.family, self.points = family_of(chain)
        self.chain = chain

    def solve(self, position: Array, rotation: Array, elbow_angle: float = 0.0) -> Array:
        """The exact branches for a pose in the base, k × n with k ≤ 8, in (−π, π], [rad].

        Joint limits do not count. ``elbow_angle`` is ψ of a seven-joint arm, [rad].
        """
        chain, out = self.chain, np.empty((BRANCHES, self.chain.n))
        arm = (self.family, chain.axes, self.points, chain.tool_position, chain.tool_rotation)
        pose = np.ascontiguousarray(position), np.ascontiguousarray(rotation)
        exact = branches(*arm, *pose, elbow_angle, out)
        kept = out[[row for row in range(BRANCHES) if exact >> row & 1]]
        return -np.remainder(np.pi - kept, 2.0 * np.pi) + np.pi

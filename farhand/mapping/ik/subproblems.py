"""Rotations about one axis that meet one condition: the pieces that closed forms are put together from. Compiled.

The names are those of the literature (Paden–Kahan subproblems 1 and 4; 3 reduces to 4). Each
answers in the sense of least squares where there is no exact answer, and says so, which gives a
good start for the closest reachable pose.
"""

from __future__ import annotations

import math

import numpy as np

from farhand.mapping.ik.compiled import compiled

Array = np.ndarray

SLACK = 1e-9
"""Relative overshoot of a cosine that is put down to rounding: a stretched arm is still reachable,
[-]."""


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
def turned(k: Array, angle: float, a: Array) -> Array:
    """A new vector: a rotated about the unit vector k."""
    out = np.empty(3)
    turn(k, angle, a, out)
    return out


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
    """Subproblem 4: the two angles about k that give a rotated a the component ``height`` along h, and if exactly."""
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
    slack = SLACK * (1.0 + reach)
    exact = abs(C) <= reach + slack
    if reach < 1e-14:
        return 0.0, 0.0, exact
    half = math.acos(min(1.0, max(-1.0, C / reach)))
    return middle + half, middle - half, exact


@compiled
def angles_at_distance(k: Array, a: Array, b: Array, distance: float) -> tuple[float, float, bool]:
    """Subproblem 3: the two angles about k that put the rotated a at ``distance`` from b, and whether exactly."""
    return angles_at_height(k, a, b, 0.5 * (dot(a, a) + dot(b, b) - distance * distance))


@compiled
def three_rotations(h1: Array, h2: Array, h3: Array, R: Array, out: Array) -> bool:
    """The two ways to write R as rotations about three axes; rows of ``out`` are (θ1, θ2, θ3), [rad].

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
        if along * along > 1.0 - 1e-14:  # the outer axes line up
            out[row, 0] = 0.0
            out[row, 2] = _rest(h1, h2, h3, 0.0, angle, R)
        else:
            turn(h2, -angle, h1, middle)
            out[row, 2] = -angle_onto(h3, middle, start)
    return exact


@compiled
def _rest(h1: Array, h2: Array, h3: Array, first: float, second: float, R: Array) -> float:
    """The angle about h3 that is left when the other two are known."""
    helper = np.zeros(3)
    smallest = 0
    for i in range(3):
        if abs(h3[i]) < abs(h3[smallest]):
            smallest = i
    helper[smallest] = 1.0
    wanted = np.empty(3)
    times(R, helper, wanted)
    turn(h1, -first, wanted, wanted)
    turn(h2, -second, wanted, wanted)
    return angle_onto(h3, helper, wanted)

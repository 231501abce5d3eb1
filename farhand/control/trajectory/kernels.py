"""A hand's path at one time, as a compiled function."""

from __future__ import annotations

import math

from farhand.compiled import compiled
from farhand.kernels import turn_row
from farhand.spatial import Array

# Columns of a move: start, duration, translation and rotation vector; then, of all before it, the
# displacement and the rotation matrix.
STEP, BEFORE, TURNED, MOVE = 2, 8, 11, 20


@compiled
def displacement(moves: Array, t: float, pose: Array) -> None:
    """Where a path is at time ``t``, as displacement, rotation matrix and twist in ``pose``.

    Args:
        moves: one row each, in order; the last row is where they end.
        t: [s].
        pose: result, 18 numbers, [m] and so on.
    """
    index = len(moves) - 1
    while index > 0 and moves[index - 1, 0] > t:
        index -= 1
    # the move that began last
    if index > 0 and t < moves[index - 1, 0] + moves[index - 1, 1]:
        index -= 1
        s = (t - moves[index, 0]) / moves[index, 1]
        fraction = s * s * s * (10.0 + s * (6.0 * s - 15.0))
        rate = 30.0 * s * s * (1.0 - s) * (1.0 - s) / moves[index, 1]
    else:
        fraction, rate = 0.0, 0.0
    move = moves[index]
    for i in range(3):
        pose[i] = move[BEFORE + i] + fraction * move[STEP + i]
    for i in range(6):
        pose[12 + i] = rate * move[STEP + i]
    for i in range(9):
        pose[3 + i] = move[TURNED + i]
    x, y, z = fraction * move[STEP + 3], fraction * move[STEP + 4], fraction * move[STEP + 5]
    angle = math.sqrt(x * x + y * y + z * z)
    if angle > 0.0:
        axis = x / angle, y / angle, z / angle
        sine, versine = math.sin(angle), 1.0 - math.cos(angle)
        # the turn comes after those before it: a column of R is a row of its transpose
        for c in range(3, 6):
            column = turn_row((pose[c], pose[c + 3], pose[c + 6]), axis, -sine, versine)
            pose[c], pose[c + 3], pose[c + 6] = column

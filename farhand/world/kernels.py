"""What the world computes in every step beside the engine, as compiled functions."""

from __future__ import annotations

import numpy as np

from farhand.compiled import compiled
from farhand.control.trajectory.kernels import displacement
from farhand.kernels import cross, rotation_log, triple
from farhand.spatial import Array

MAX_SPEED_SQUARED = 1e12
"""Sum of squared velocities above which a simulation has diverged, [rad²/s²]."""


@compiled
def wall_force(position: Array, twist: Array, wall: Array, wrench: Array) -> None:
    """The force of a wall on a point.

    Args:
        position: of the tool point, [m].
        twist: of the tool, [m/s] and [rad/s].
        wall: normal (3), level of the plane [m], stiffness [N/m], damping [N·s/m]; results: depth
            of the point in the wall [m] and normal force [N].
        wrench: result, [N] and [N·m].
    """
    depth, rate, force = wall[3], 0.0, 0.0
    for i in range(3):
        depth -= wall[i] * position[i]
        rate -= wall[i] * twist[i]
    if depth > 0.0:
        force = max(0.0, wall[4] * depth + wall[5] * rate)
    for i in range(3):
        wrench[i], wrench[3 + i] = force * wall[i], 0.0
    wall[6], wall[7] = max(depth, 0.0), force


@compiled
def hand_wrench(
    moves: Array,
    path: Array,
    hand: Array,
    position: Array,
    rotation: Array,
    twist: Array,
    wrench: Array,
    t: float,
) -> None:
    """The wrench of a hand that holds a tool by springs and dampers about its path.

    Args:
        moves: of the path, as :func:`displacement` takes them.
        path: result: displacement (3), rotation (9) and twist (6) of the path at that time.
        hand: where the path starts: position (3) and rotation (9); stiffness (6) and damping (6) of
            each axis; result: stretch and twist of the springs (6), [m] and [rad].
        position: of the tool, [m].
        rotation: of the tool, 3 × 3.
        twist: of the tool, [m/s] and [rad/s].
        wrench: result, [N] and [N·m].
        t: [s].
    """
    displacement(moves, t, path)
    gains, error = hand[12:24], hand[24:]
    R, D = np.empty((3, 3)), np.empty((3, 3))
    for i in range(3):
        error[i] = hand[i] + path[i] - position[i]
        a, b, c = path[3 + 3 * i], path[4 + 3 * i], path[5 + 3 * i]
        for j in range(3):
            R[i, j] = a * hand[3 + j] + b * hand[6 + j] + c * hand[9 + j]
    for i in range(3):
        for j in range(3):
            D[i, j] = R[i, 0] * rotation[j, 0] + R[i, 1] * rotation[j, 1] + R[i, 2] * rotation[j, 2]
    rotation_log(D, error[3:])
    for i in range(6):
        wrench[i] = gains[i] * error[i] + gains[6 + i] * (path[12 + i] - twist[i])


@compiled
def rows_of(live: Array, n: int) -> int:
    """Six rows for each tool of a world with ``n`` velocities."""
    return (len(live) - 2 * n) // (n + 3)


@compiled
def tool_motion(
    anchors: Array, axes: Array, points: Array, v: Array, moves: Array, live: Array
) -> None:
    """Jacobians of all tools, one below the other, and their twists.

    Args:
        anchors: of every joint in world, [m].
        axes: of every joint in world.
        points: of all sites of the model, [m].
        v: joint velocities, [rad/s].
        moves: a row per tool: number of its site, then how each joint moves it: 1 a hinge, 2 a
            slide, 0 not at all.
        live: result, as :class:`farhand.world.ledger.Ledger` lays it out.
    """
    n = len(v)
    twist = live[len(live) - 6 * len(moves) :]
    for tool in range(len(moves)):
        at, point = 6 * tool, points[moves[tool, 0]]
        for r in range(6):
            twist[at + r] = 0.0
        for j in range(n):
            kind = moves[tool, 1 + j]
            if kind == 0:
                continue
            axis = triple(axes[j], 0)
            if kind == 1:
                anchor = anchors[j]
                lever = point[0] - anchor[0], point[1] - anchor[1], point[2] - anchor[2]
                linear, angular = cross(axis, lever), axis
            else:
                linear, angular = axis, (0.0, 0.0, 0.0)
            for r in range(3):
                live[(at + r) * n + j], live[(at + 3 + r) * n + j] = linear[r], angular[r]
                twist[at + r] += linear[r] * v[j]
                twist[at + 3 + r] += angular[r] * v[j]


@compiled
def sum_touches(touches: Array, n: int, live: Array) -> None:
    """The wrench on every tool: contact of the engine, and all touches.

    Args:
        touches: a row each: its wrench, [N] and [N·m], and the number of the tool it acts on.
        n: how many velocities there are.
        live: result, as :class:`farhand.world.ledger.Ledger` lays it out.
    """
    rows = rows_of(live, n)
    wrench = live[rows * n + 2 * n :]
    for i in range(rows):
        wrench[i] = wrench[rows + i]
    for k in range(len(touches)):
        at = 6 * int(touches[k, 6])
        for r in range(6):
            wrench[at + r] += touches[k, r]


@compiled
def begin_step(live: Array, v: Array, books: Array, applied: Array) -> None:
    """Joint torque that acts in the coming step, into ``applied``, and the velocities before it.

    Args:
        live: as :class:`farhand.world.ledger.Ledger` lays it out.
        v: velocities of all robots, [rad/s].
        books: result: the velocities, first of what :func:`end_step` needs.
        applied: result, [N·m].
    """
    n = len(v)
    rows = rows_of(live, n)
    torque = live[rows * n :]
    wrench = torque[2 * n :]
    for j in range(n):
        books[j] = v[j]
        applied[j] = torque[j] + torque[n + j]
    for i in range(rows):
        # the engine itself adds the torques of its contacts
        force = wrench[i] - wrench[rows + i]
        if force != 0.0:
            for j in range(n):
                applied[j] += force * live[i * n + j]


@compiled
def end_step(
    live: Array,
    touches: Array,
    v: Array,
    damping: Array,
    constraint: Array,
    half_step: float,
    books: Array,
) -> float:
    """Put the work of a step down; the sum of the squared velocities at its end, [rad²/s²].

    Args:
        live: as at the beginning of the step.
        touches: likewise.
        v: velocities at its end, [rad/s].
        damping: viscous friction of every joint, [N·m·s/rad].
        constraint: joint torques of constraints in the step, [N·m].
        half_step: [s].
        books: velocities at the beginning; work of actuators, damping, constraints and pushes on
            every joint so far; work of every touch so far, [J].
    """
    n, total = len(v), 0.0
    for j in range(n):
        total += v[j] * v[j]
    if not total < MAX_SPEED_SQUARED:
        return total
    torque = live[rows_of(live, n) * n :]
    for j in range(n):
        moved = half_step * (books[j] + v[j])
        books[j] = moved
        books[n + j] += torque[j] * moved
        # the engine damps with the velocity at the end of the step
        books[2 * n + j] -= damping[j] * v[j] * moved
        books[3 * n + j] += constraint[j] * moved
        books[4 * n + j] += torque[n + j] * moved
    for k in range(len(touches)):
        at = 6 * int(touches[k, 6]) * n
        for r in range(6):
            force = touches[k, r]
            if force != 0.0:
                way = 0.0
                for j in range(n):
                    way += live[at + r * n + j] * books[j]
                books[5 * n + k] += force * way
    return total

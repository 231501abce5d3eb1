"""What the world computes in every step beside the engine, as compiled functions."""

from __future__ import annotations

import numpy as np

from farhand.compiled import compiled
from farhand.control.trajectory.kernels import displacement
from farhand.kernels import cross, rotation_log, triple
from farhand.spatial import Array


@compiled
def wall_force(position: Array, twist: Array, wall: Array, wrench: Array) -> tuple[float, float]:
    """Depth of a point in a wall and the normal force on it, which goes into ``wrench``.

    Args:
        position: of the tool point, [m].
        twist: of the tool, [m/s] and [rad/s].
        wall: normal (3), level of the plane [m], stiffness [N/m], damping [N·s/m].
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
    return max(depth, 0.0), force


@compiled
def hand_wrench(
    moves: Array,
    t: float,
    path: Array,
    held: Array,
    gains: Array,
    position: Array,
    rotation: Array,
    twist: Array,
    error: Array,
    wrench: Array,
) -> None:
    """The wrench of a hand that holds a tool by springs and dampers about its path.

    Args:
        moves: of the path, as :func:`displacement` takes them.
        t: [s].
        path: result: displacement (3), rotation (9) and twist (6) of the path at that time.
        held: where the path starts: position (3) and rotation (9).
        gains: stiffness and damping of each axis.
        position: of the tool, [m].
        rotation: of the tool, 3 × 3.
        twist: of the tool, [m/s] and [rad/s].
        error: result: stretch and twist of the springs, [m] and [rad].
        wrench: result, [N] and [N·m].
    """
    displacement(moves, t, path)
    R, D = np.empty((3, 3)), np.empty((3, 3))
    for i in range(3):
        error[i] = held[i] + path[i] - position[i]
        a, b, c = path[3 + 3 * i], path[4 + 3 * i], path[5 + 3 * i]
        for j in range(3):
            R[i, j] = a * held[3 + j] + b * held[6 + j] + c * held[9 + j]
    for i in range(3):
        for j in range(3):
            D[i, j] = R[i, 0] * rotation[j, 0] + R[i, 1] * rotation[j, 1] + R[i, 2] * rotation[j, 2]
    rotation_log(D, error[3:])
    for i in range(6):
        wrench[i] = gains[i] * error[i] + gains[6 + i] * (path[12 + i] - twist[i])


@compiled
def tool_motion(
    anchors: Array,
    axes: Array,
    moves: Array,
    points: Array,
    sites: Array,
    v: Array,
    J: Array,
    twist: Array,
) -> None:
    """Jacobians of all tools, one below the other, and their twists.

    Args:
        anchors: of every joint in world, [m].
        axes: of every joint in world.
        moves: how a joint moves each tool: 1 a hinge, 2 a slide, 0 not at all.
        points: of all sites of the model, [m].
        sites: which of them are the tools.
        v: joint velocities, [rad/s].
        J: result, 6 rows for each tool.
        twist: result, [m/s] and [rad/s].
    """
    for tool in range(len(moves)):
        at = 6 * tool
        for r in range(6):
            twist[at + r] = 0.0
        for j in range(len(v)):
            kind = moves[tool, j]
            if kind == 0:
                continue
            axis = triple(axes[j], 0)
            if kind == 1:
                anchor, point = anchors[j], points[sites[tool]]
                lever = point[0] - anchor[0], point[1] - anchor[1], point[2] - anchor[2]
                linear, angular = cross(axis, lever), axis
            else:
                linear, angular = axis, (0.0, 0.0, 0.0)
            for r in range(3):
                J[at + r, j], J[at + 3 + r, j] = linear[r], angular[r]
                twist[at + r] += linear[r] * v[j]
                twist[at + 3 + r] += angular[r] * v[j]


@compiled
def sum_touches(touches: Array, owners: Array, contact: Array, wrench: Array) -> None:
    """The wrench on every tool: contact of the engine, and all touches.

    Args:
        touches: one wrench each, [N] and [N·m].
        owners: number of the tool that each acts on.
        contact: on all tools.
        wrench: result, on all tools.
    """
    for i in range(len(wrench)):
        wrench[i] = contact[i]
    for k in range(len(owners)):
        at = 6 * owners[k]
        for r in range(6):
            wrench[at + r] += touches[k, r]


@compiled
def begin_step(
    live: Array,
    wrench: Array,
    touches: Array,
    v: Array,
    row: int,
    page_live: Array,
    page_touch: Array,
    page_v: Array,
    applied: Array,
) -> None:
    """Joint torque that acts in the coming step, into ``applied``; what makes it is noted.

    Args:
        live: tool Jacobians of all robots, one below the other, their joint torques and pushes.
        wrench: on all tools, [N] and [N·m].
        touches: wrenches of the single touches.
        v: velocities of all robots, [rad/s].
        row: of the pages.
        page_live: where ``live`` is noted.
        page_touch: where ``touches`` are.
        page_v: where ``v`` is.
        applied: result, [N·m].
    """
    n, rows = len(v), len(wrench)
    for j in range(n):
        page_v[row, 0, j] = v[j]
        applied[j] = live[rows * n + j] + live[rows * n + n + j]
    for i in range(rows):
        if wrench[i] != 0.0:
            for j in range(n):
                applied[j] += wrench[i] * live[i * n + j]
    for k in range(len(live)):
        page_live[row, k] = live[k]
    for i in range(touches.shape[0]):
        for j in range(6):
            page_touch[row, i, j] = touches[i, j]


@compiled
def end_step(v: Array, row: int, page_v: Array) -> float:
    """Note the velocities at the end of a step; the sum of their squares, [rad²/s²]."""
    total = 0.0
    for j in range(len(v)):
        page_v[row, 1, j] = v[j]
        total += v[j] * v[j]
    return total

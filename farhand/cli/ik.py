"""``farhand ik``: joints for a file of poses."""

from __future__ import annotations

import csv
import io
import math
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from farhand.errors import BadValue, UnknownName
from farhand.report.output import Bar, JsonPath, check_files, note, stdout, write_json

if TYPE_CHECKING:
    from farhand.mapping.ik import Pose, Solution
    from farhand.robots import Robot

COLUMNS = ("x", "y", "z", "qx", "qy", "qz", "qw")
RESULTS = ("status", "position_error", "rotation_error", "iterations", "time_us")
SOLVERS = ("combined", "levenberg", "newton")
QUATERNION_TOLERANCE = 0.01
"""How far the length of a quaternion may be from 1: files are often rounded to a few digits."""

WHOLE = 6
"""Joints that it takes to choose a whole pose."""

FARTHEST = 1e6
"""Largest coordinate of a pose, [m]."""

RobotName = Annotated[
    str,
    typer.Argument(
        metavar="ROBOT", help="One of farhand list, or the path of an MJCF or URDF file."
    ),
]
Poses = Annotated[
    Path,
    typer.Argument(metavar="POSES.csv", help="Columns x,y,z,qx,qy,qz,qw: the tool in the base."),
]
Out = Annotated[Path, typer.Option("--out", metavar="Q.csv", help="Where the joints go.")]
SolverName = Annotated[
    str,
    typer.Option(
        "--solver",
        metavar="NAME",
        help="combined (recommended), or a published one: levenberg, newton.",
    ),
]
Variant = Annotated[
    str | None,
    typer.Option(
        "--variant",
        metavar="NAME",
        help="Parameter set of the robot, such as ur of ur5e; see farhand list.",
    ),
]
AsPath = Annotated[
    bool,
    typer.Option("--path", help="The poses are one path: start each where the last one ended."),
]


PositionOnly = Annotated[
    bool,
    typer.Option(
        "--position-only",
        help="Only x,y,z count, as for an arm that cannot choose how its tool turns.",
    ),
]


class BatchSolver(Protocol):
    """What all solvers have in common."""

    def solve(self, pose: Pose, q_start: Any) -> Solution:
        """Joints for one pose."""
        ...


def ik(
    robot: RobotName,
    poses: Poses,
    out: Out,
    solver: SolverName = "combined",
    path: AsPath = False,
    variant: Variant = None,
    position_only: PositionOnly = False,
    json: JsonPath = None,
) -> None:
    """Find joints for every pose of the tool in a file.

    The result has one line per pose: q1 … qn (rad or m), status, position_error (m), rotation_error
    (rad), iterations and time_us. Only joints with the status solved meet their pose inside the
    limits; the others are the closest found.

    With --position-only the file needs no qx,qy,qz,qw, and rotation_error is empty.

    Example: [bold]farhand ik ur5e poses.csv --out joints.csv[/bold]
    """
    check_files(out, json, read=[poses])
    if solver not in SOLVERS:
        raise UnknownName("solver", solver, SOLVERS)
    if position_only and solver != "combined":
        raise BadValue(
            f"--position-only needs --solver combined: the published {solver} solves whole poses"
        )
    targets = read_positions(poses) if position_only else read_poses(poses)
    from farhand.robots import load_robot

    arm = load_robot(robot, variant)
    for line in arm.notes:
        note(line)
    answers = _solve(
        _solver(arm, "position" if position_only else solver), arm, targets, follow=path
    )
    from farhand.files import write_text

    write_text(out, _table(answers, len(arm.home)))
    found = summary(robot, solver, answers)
    write_json(json, found)
    _show(found, out)
    if far_out(targets, [one for one, _ in answers]):
        note("every pose is more than ten times farther away than the arm reaches: are x,y,z in m?")
    elif not (position_only or found["solved"]) and len(arm.home) < WHOLE:
        note(
            f"{len(arm.home)} joints cannot choose how the tool is turned as well; --position-only leaves that open"
        )


def read_poses(path: Path) -> list[Pose]:
    """The poses of a CSV file with a header, in metres, quaternions (x, y, z, w); columns in any order.

    Raises:
        FileError: the file cannot be read.
        BadValue: what is in it cannot be used; the message names the line.
    """
    import numpy as np

    from farhand.files import read_csv
    from farhand.mapping.ik import Pose
    from farhand.spatial import rotation_from_quaternion

    table = read_csv(path, COLUMNS, "poses")
    found = []
    for line, row in zip(table.lines, table.numbers(*COLUMNS), strict=True):
        _check_near(table.name, line, row[:3])
        length = float(np.linalg.norm(row[3:]))
        if abs(length - 1.0) > QUATERNION_TOLERANCE:
            raise BadValue(
                f"{table.name} line {line}: the quaternion qx,qy,qz,qw has length {length:.4g}, not 1 "
                f"(tolerance {QUATERNION_TOLERANCE:g})"
            )
        found.append(Pose(row[:3], rotation_from_quaternion(row[3:])))
    return found


def read_positions(path: Path) -> list[Pose]:
    """The positions of a CSV file with a header, in metres; as poses that are not turned.

    Raises:
        FileError: the file cannot be read.
        BadValue: what is in it cannot be used; the message names the line.
    """
    import numpy as np

    from farhand.files import read_csv
    from farhand.mapping.ik import Pose

    table = read_csv(path, COLUMNS[:3], "poses")
    rows = list(zip(table.lines, table.numbers(*COLUMNS[:3]), strict=True))
    for line, row in rows:
        _check_near(table.name, line, row)
    return [Pose(row, np.eye(3)) for _, row in rows]


def _check_near(name: str, line: int, position: Any) -> None:
    if abs(position).max() > FARTHEST:
        raise BadValue(
            f"{name} line {line}: x,y,z must be within {FARTHEST:g} m, not {position.tolist()}"
        )


def far_out(poses: list[Pose], answers: list[Solution]) -> bool:
    """Whether the arm comes no more than a tenth of the way to any pose: another unit of length."""
    import numpy as np

    ways = [float(np.linalg.norm(pose.position)) for pose in poses]
    return all(one.position_error > 0.9 * way > 0.0 for one, way in zip(answers, ways, strict=True))


def _solver(robot: Robot, name: str) -> BatchSolver:
    from farhand.mapping.ik import Levenberg, Newton, PositionSolver, Solver

    kinds: dict[str, Any] = {
        "combined": Solver,
        "position": PositionSolver,
        "levenberg": Levenberg,
        "newton": Newton,
    }
    return kinds[name](robot)


def _solve(
    solver: BatchSolver, robot: Robot, poses: list[Pose], follow: bool
) -> list[tuple[Solution, float]]:
    """Solutions and their times, [µs]. Published solvers start every pose at zero joints, as published."""
    import numpy as np

    from farhand.mapping.ik import Pose, PositionSolver, Solver

    published = not isinstance(solver, (Solver, PositionSolver))
    start = np.clip(0.0 * robot.home, robot.limits.lower, robot.limits.upper) if published else None
    # load the compiled code, for poses in and out of reach
    for pose in (poses[0], Pose(np.full(3, 100.0), np.eye(3))):
        solver.solve(pose, start)
    bar, answers = Bar("solving"), []
    try:
        for index, pose in enumerate(poses):
            began = time.perf_counter()
            found = solver.solve(pose, start)
            answers.append((found, 1e6 * (time.perf_counter() - began)))
            if follow and found.status == "solved":
                start = found.q
            bar.update((index + 1) / len(poses))
    finally:
        bar.close()
    return answers


def _table(answers: list[tuple[Solution, float]], joints: int) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*(f"q{i + 1}" for i in range(joints)), *RESULTS])
    for found, took in answers:
        turned = "" if math.isnan(found.rotation_error) else f"{found.rotation_error:.6g}"
        errors = f"{found.position_error:.6g}", turned
        writer.writerow([*found.q.tolist(), found.status, *errors, found.iterations, f"{took:.1f}"])
    return text.getvalue()


def summary(robot: str, solver: str, answers: list[tuple[Solution, float]]) -> dict[str, Any]:
    """Counts of each status, the largest errors of what is solved, and the times, [µs]."""
    import numpy as np

    counts = Counter(found.status for found, _ in answers)
    solved = [found for found, _ in answers if found.status == "solved"]
    times = np.array([took for _, took in answers])
    turned_freely = any(math.isnan(found.rotation_error) for found, _ in answers)
    return {
        "robot": robot,
        "solver": solver,
        "poses": len(answers),
        "statuses": dict(sorted(counts.items())),
        "solved": len(solved) / len(answers),
        "max_position_error": max((found.position_error for found in solved), default=0.0),
        "max_rotation_error": None
        if turned_freely
        else max((found.rotation_error for found in solved), default=0.0),
        "median_us": round(float(np.median(times)), 1),
        "p99_us": round(float(np.percentile(times, 99)), 1),
    }


def _show(found: dict[str, Any], out: Path) -> None:
    counts = ", ".join(f"{count} {status}" for status, count in found["statuses"].items())
    stdout().print(
        f"{found['poses']} poses of {found['robot']}: {counts}; median {found['median_us']:g} µs, "
        f"99th percentile {found['p99_us']:g} µs; joints in {out}",
        soft_wrap=True,
    )

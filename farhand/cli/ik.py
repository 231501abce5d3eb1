"""``farhand ik``: joints for a file of poses."""

from __future__ import annotations

import csv
import io
import math
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from typer import Argument, Option

from farhand.cli.options import JsonPath
from farhand.errors import BadValue, UnknownName
from farhand.report.output import Bar, check_files, note, say, write_json

if TYPE_CHECKING:
    from farhand.mapping.ik import Pose, Solution
    from farhand.robots import Robot

COLUMNS = ("x", "y", "z", "qx", "qy", "qz", "qw")
RESULTS = ("status", "position_error", "rotation_error", "iterations", "time_us")
SOLVERS = ("combined", "levenberg", "newton")
QUATERNION_TOLERANCE = 0.01
"""How far the length of a quaternion may be from 1: files are often rounded to a few digits."""

POSE_JOINTS = 6
"""Joints that an arm needs to reach any pose."""

MAX_COORDINATE_M = 1e6

RobotName = Annotated[
    str, Argument(metavar="ROBOT", help="See farhand list; or the path of an MJCF or URDF.")
]
Poses = Annotated[
    Path, Argument(metavar="POSES.csv", help="Columns x,y,z,qx,qy,qz,qw: the tool in the base.")
]
Out = Annotated[Path, Option("--out", metavar="Q.csv", help="Where the joints go.")]
SolverName = Annotated[
    str, Option("--solver", metavar="NAME", help="combined (best), or levenberg, newton.")
]
Variant = Annotated[
    str | None, Option("--variant", metavar="NAME", help="Parameter set, such as ur of ur5e.")
]
AsPath = Annotated[
    bool, Option("--path", help="The poses are one path: start each where the last one ended.")
]
PositionOnly = Annotated[
    bool, Option("--position-only", help="Ignore the orientation; x,y,z are enough.")
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
        raise BadValue(f"--position-only needs --solver combined: {solver} solves whole poses")
    targets = read_positions(poses) if position_only else read_poses(poses)
    from farhand.robots import load_robot

    arm = load_robot(robot, variant)
    for line in arm.notes:
        note(line)
    chosen = _solver(arm, "position" if position_only else solver)
    answers = _solve(chosen, arm, targets, follow=path)
    from farhand.files import write_text

    joints = len(arm.home)
    write_text(out, _table(answers, joints))
    result = summary(robot, solver, answers)
    write_json(json, result)
    _show(result, out)
    if far_out(targets, [solution for solution, _ in answers]):
        note("every pose is more than ten times farther away than the arm reaches: are x,y,z in m?")
    elif not (position_only or result["solved"]) and joints < POSE_JOINTS:
        note(f"{joints} joints cannot also orient the tool; try --position-only")


def read_poses(path: Path) -> list[Pose]:
    """The poses of a CSV file with a header, in metres and quaternions (x, y, z, w).

    Raises:
        FileError: the file cannot be read.
        BadValue: what is in it cannot be used; the message names the line.
    """
    import numpy as np

    from farhand.files import read_csv
    from farhand.mapping.ik import Pose
    from farhand.spatial import rotation_from_quaternion

    table = read_csv(path, COLUMNS, "poses")
    poses = []
    for line, row in zip(table.lines, table.numbers(*COLUMNS), strict=True):
        _check_near(table.name, line, row[:3])
        length = float(np.linalg.norm(row[3:]))
        if abs(length - 1.0) > QUATERNION_TOLERANCE:
            expected = f"not 1 (tolerance {QUATERNION_TOLERANCE:g})"
            text = f"the quaternion qx,qy,qz,qw has length {length:.4g}, {expected}"
            raise BadValue(f"{table.name} line {line}: {text}")
        poses.append(Pose(row[:3], rotation_from_quaternion(row[3:])))
    return poses


def read_positions(path: Path) -> list[Pose]:
    """The positions of a CSV file with a header, in metres, as poses without rotation.

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
    if abs(position).max() > MAX_COORDINATE_M:
        limit = f"x,y,z must be within {MAX_COORDINATE_M:g} m"
        raise BadValue(f"{name} line {line}: {limit}, not {position.tolist()}")


def far_out(poses: list[Pose], answers: list[Solution]) -> bool:
    """Whether every pose is ten times out of reach, as with another unit of length."""
    import numpy as np

    ways = [float(np.linalg.norm(pose.position)) for pose in poses]
    return all(one.position_error > 0.9 * way > 0.0 for one, way in zip(answers, ways, strict=True))


def _solver(robot: Robot, name: str) -> BatchSolver:
    from farhand.mapping.ik import Levenberg, Newton, PositionSolver, Solver

    kinds: dict[str, Any] = {"combined": Solver, "position": PositionSolver}
    return (kinds | {"levenberg": Levenberg, "newton": Newton})[name](robot)


def _solve(
    solver: BatchSolver, robot: Robot, poses: list[Pose], follow: bool
) -> list[tuple[Solution, float]]:
    """Solutions and their times, [µs]."""
    import numpy as np

    from farhand.mapping.ik import Pose, PositionSolver, Solver

    # The published solvers start every pose at zero joints
    published = not isinstance(solver, (Solver, PositionSolver))
    start = np.clip(0.0 * robot.home, robot.limits.lower, robot.limits.upper) if published else None
    # Load the compiled code before the clock runs, for poses in and out of reach
    for pose in (poses[0], Pose(np.full(3, 100.0), np.eye(3))):
        solver.solve(pose, start)
    answers = []
    with Bar("solving") as bar:
        for index, pose in enumerate(poses):
            began = time.perf_counter()
            solution = solver.solve(pose, start)
            answers.append((solution, 1e6 * (time.perf_counter() - began)))
            if follow and solution.status == "solved":
                start = solution.q
            bar.update((index + 1) / len(poses))
    return answers


def _table(answers: list[tuple[Solution, float]], joints: int) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*(f"q{i + 1}" for i in range(joints)), *RESULTS])
    for solution, took in answers:
        rotation = solution.rotation_error
        errors = (
            f"{solution.position_error:.6g}",
            "" if math.isnan(rotation) else f"{rotation:.6g}",
        )
        rest = (solution.iterations, f"{took:.1f}")
        writer.writerow([*solution.q.tolist(), solution.status, *errors, *rest])
    return text.getvalue()


def summary(robot: str, solver: str, answers: list[tuple[Solution, float]]) -> dict[str, Any]:
    """Counts of each status, the largest errors of solved poses, and the times, [µs]."""
    import numpy as np

    solutions = [solution for solution, _ in answers]
    solved = [solution for solution in solutions if solution.status == "solved"]
    times = np.array([took for _, took in answers])
    rotation: float | None = max((solution.rotation_error for solution in solved), default=0.0)
    if any(math.isnan(solution.rotation_error) for solution in solutions):
        rotation = None
    return {
        "robot": robot,
        "solver": solver,
        "poses": len(answers),
        "statuses": dict(sorted(Counter(one.status for one in solutions).items())),
        "solved": len(solved) / len(answers),
        "max_position_error": max((one.position_error for one in solved), default=0.0),
        "max_rotation_error": rotation,
        "median_us": round(float(np.median(times)), 1),
        "p99_us": round(float(np.percentile(times, 99)), 1),
    }


def _show(result: dict[str, Any], out: Path) -> None:
    counts = ", ".join(f"{count} {status}" for status, count in result["statuses"].items())
    times = f"median {result['median_us']:g} µs, 99th percentile {result['p99_us']:g} µs"
    line = f"{result['poses']} poses of {result['robot']}: {counts}; {times}; joints in {out}"
    say(line)

"""Inverse kinematics, cold and warm, beside other solvers on the same poses.

Solved means: within 0.1 mm and 1 mrad of the pose by Pinocchio's kinematics, and inside the joint
limits. ``meta`` has the share of poses solved by Farhand and by each peer, with the median and the
99th percentile of one solve.
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
import operator
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from farhand.mapping.ik import Chain, Model, Pose, Solver
from farhand.robots import load_robot
from farhand_lab.benchmarks.kinematics import fast
from farhand_lab.benchmarks.measure import Benchmark, Prepared, Work

Array = np.ndarray
Solve = Callable[[Pose, Array | None], Array]
"""Joints [rad] for a pose, from a start or from the solver's own."""

ROBOTS = ("ur5e", "iiwa14", "lwa4p")
POSITION, ROTATION = 1e-4, 1e-3  # [m], [rad]
OURS, PEERS = 10_000, 500  # poses on which success is counted
WARM = 0.05  # standard deviation of a warm start from the answer, [rad]


def poses(robot: str, count: int, warm: bool) -> list[tuple[Pose, Array | None]]:
    """Random reachable poses inside the limits, each with a start near the answer or none."""
    model, rng = Model(load_robot(robot)), np.random.default_rng(2026)
    cases: list[tuple[Pose, Array | None]] = []
    for q in rng.uniform(model.lower, model.upper, (count, len(model.lower))):
        start = np.clip(rng.normal(q, WARM), model.lower, model.upper) if warm else None
        cases.append((model.pose(q), start))
    return cases


def judge(robot: str, solve: Solve, cases: list[tuple[Pose, Array | None]]) -> dict[str, float]:
    """Share of poses solved, and the median and 99th percentile of one solve, [µs]."""
    model, solved, times = Model(load_robot(robot)), 0, []
    for pose, start in cases:
        began = time.perf_counter()
        q = solve(pose, start)
        times.append(1e6 * (time.perf_counter() - began))
        error = model.error(pose, q) if len(q) else np.full(6, np.inf)
        met = np.linalg.norm(error[:3]) <= POSITION and np.linalg.norm(error[3:]) <= ROTATION
        solved += bool(met) and model.within(q)
    median, p99 = (round(float(np.percentile(times, q)), 1) for q in (50, 99))
    return {"solved": solved / len(cases), "median": median, "p99": p99}


def recommended(robot: str) -> Solve:
    """The recommended solver."""
    solver = Solver(load_robot(robot))
    return lambda pose, start: solver.solve(pose, start).q


def toolbox(robot: str) -> Solve:
    """Robotics Toolbox's compiled Levenberg–Marquardt, with its restarts."""
    from roboticstoolbox import ET

    chain = Chain.of(load_robot(robot))
    parts = []
    for step, low, high in zip(chain.steps, chain.lower, chain.upper, strict=False):
        parts += [ET.SE3(_matrix(step)), ET.Rz(qlim=[low, high])]
    ets: Any = functools.reduce(operator.mul, [*parts, ET.SE3(_matrix(chain.steps[-1]))])

    def solve(pose: Pose, start: Array | None) -> Array:
        target = np.eye(4)
        target[:3, 3], target[:3, :3] = pose
        return np.array(ets.ik_LM(target, q0=start, tol=0.5 * POSITION**2, joint_limits=True)[0])

    return solve


def trac_ik(robot: str) -> Solve:
    """TRAC-IK with its usual 5 ms; without a start it begins at the middle of the ranges."""
    import pytracik

    chain = Chain.of(load_robot(robot))
    core = pytracik.TRAC_IK(
        "base", "tool", urdf(chain), 0.005, 0.5 * POSITION, pytracik.SolveType.Speed
    )
    middle = 0.5 * (chain.lower + chain.upper)

    def solve(pose: Pose, start: Array | None) -> Array:
        from farhand.spatial import quaternion_from_rotation

        x, y, z, w = quaternion_from_rotation(pose.rotation)
        answer = pytracik.ik(core, middle if start is None else start, *pose.position, x, y, z, w)
        return answer[1:] if answer[0] >= 0.0 else np.empty(0)

    return solve


def urdf(chain: Chain) -> str:
    """A chain of hinges as a URDF, for solvers that read only that."""
    names = ["base", *(f"link_{i + 1}" for i in range(chain.n)), "tool"]
    text = ['<robot name="chain">', *(f'<link name="{name}"/>' for name in names)]
    for i, step in enumerate(chain.steps):
        R, (x, y, z) = step[:, :3], step[:, 3]
        roll = np.arctan2(R[2, 1], R[2, 2])
        pitch = -np.arcsin(np.clip(R[2, 0], -1, 1))
        yaw = np.arctan2(R[1, 0], R[0, 0])
        kind = "revolute" if i < chain.n else "fixed"
        text.append(f'<joint name="joint_{i + 1}" type="{kind}">')
        text.append(f'<parent link="{names[i]}"/><child link="{names[i + 1]}"/>')
        text.append(f'<origin xyz="{x} {y} {z}" rpy="{roll} {pitch} {yaw}"/><axis xyz="0 0 1"/>')
        if i < chain.n:
            bounds = f'lower="{chain.lower[i]}" upper="{chain.upper[i]}"'
            text.append(f'<limit {bounds} effort="1" velocity="1"/>')
        text.append("</joint>")
    return "\n".join([*text, "</robot>"])


def peers() -> dict[str, Callable[[str], Solve]]:
    """Other solvers that are installed (``pip install farhand[bench]``)."""
    known = {"roboticstoolbox": toolbox, "pytracik": trac_ik}
    return {name: make for name, make in known.items() if importlib.util.find_spec(name)}


def _matrix(step: Array) -> Array:
    return np.vstack([step, [0.0, 0.0, 0.0, 1.0]])


def _work(solve: Solve, cases: list[tuple[Pose, Array | None]]) -> Work:
    turn = itertools.cycle(cases)

    def work() -> None:
        solve(*next(turn))

    return work


def _prepare(robot: str, warm: bool, meta: dict[str, Any]) -> Prepared:
    cases = poses(robot, OURS, warm)
    few = cases[:PEERS]
    ours, others = recommended(robot), {name: make(robot) for name, make in peers().items()}
    for solve in (ours, *others.values()):
        # The first calls load and compile
        judge(robot, solve, cases[:50])
    meta["farhand"] = judge(robot, ours, cases)
    meta |= {name: judge(robot, solve, few) for name, solve in others.items()}
    evaluate, home = fast(robot), load_robot(robot).home

    def floor() -> None:
        evaluate(home)

    return _work(ours, few), floor, {name: _work(solve, few) for name, solve in others.items()}


def _benchmark(robot: str, start: str) -> Benchmark:
    meta: dict[str, Any] = {}
    prepare = functools.partial(_prepare, robot, start == "warm", meta)
    return Benchmark(f"ik/{robot}/{start}", prepare, calls=PEERS // 5, meta=meta)


BENCHMARKS = [_benchmark(robot, start) for robot in ROBOTS for start in ("cold", "warm")]

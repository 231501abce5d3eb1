"""Inverse kinematics of the follower along paths at 100 Hz: singularities, limits, local minima, the report."""

from __future__ import annotations

import functools
import itertools
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from farhand.mapping.ik import Levenberg, Model, Newton, Solution, Solver
from farhand.robots import load_robot
from farhand_lab.harness import Figure, Finding, experiment, generator, shared
from farhand_lab.mutation import Mutation, patched

Array = np.ndarray
Solve = Callable[[Any, Array], Solution]


RATE = 100.0  # [Hz]
APPLICATION = 1e-4  # tolerance that the published system settled on
BASE = np.array([0.3, 0.5, -1.2, 0.4, 0.8, 0.2])  # middle of the scripted paths, [rad]
STRAIGHT = 0.045  # an elbow straighter than this is flagged, [rad]
WIDTHS = (0.3, 0.6, 1.0)  # of the paths between two minima, [rad]
STEP_MAX = 0.1  # largest accepted step of any joint per sample, [rad]


class Track(NamedTuple):
    """A path and what a solver made of it: reference and returned joints [rad], statuses, seconds per solve."""

    reference: Array
    q: Array
    status: list[str]
    iterations: list[int]
    seconds: Array


def scripted(joint: int, low: float, high: float, seconds: float = 5.0) -> Array:
    """A smooth path on which one joint goes from ``low`` to ``high`` and back while the others sway, [rad]."""
    t = np.arange(0.0, seconds, 1.0 / RATE)
    phase = generator(f"path of joint {joint}").uniform(0.0, 2.0 * np.pi, 6)
    path = BASE + 0.15 * np.sin(2.0 * np.pi * t[:, None] / seconds + phase)
    path[:, joint] = low + 0.5 * (high - low) * (1.0 - np.cos(2.0 * np.pi * t / seconds))
    return path


def follow(
    solve: Solve, model: Model, path: Array, warm: bool = True, start: Array | None = None
) -> Track:
    """Solve every pose of a path, from the last answer or each time from the vertical pose."""
    joints: list[Array] = []
    q, statuses, steps, seconds = path[0] if start is None else start, [], [], []
    for reference in path:
        pose = model.pose(reference)
        began = time.perf_counter()
        found = solve(pose, q if warm else np.zeros(6))
        seconds.append(time.perf_counter() - began)
        q = found.q
        joints.append(q)
        statuses.append(found.status)
        steps.append(found.iterations)
    return Track(path, np.array(joints), statuses, steps, np.array(seconds))


def largest_step(track: Track) -> float:
    """Largest motion of a joint between two samples, [rad]."""
    return float(np.abs(np.diff(track.q, axis=0)).max())


def beyond(track: Track) -> float:
    """By how much a joint's step is larger than the largest step of the reference, [rad]."""
    return largest_step(track) - float(np.abs(np.diff(track.reference, axis=0)).max())


@experiment("C-10")
def singularities() -> Finding:
    """Both solvers along three paths; a flip is flagged where the elbow is straighter than 0.045 rad, only there."""
    robot = load_robot("lwa4p")
    published, solver = Levenberg(robot, tolerance=APPLICATION), Solver(robot)
    model, worst, solved, flips = published.model, 0.0, True, []
    for solve in (published.solve, solver.solve):
        wrist, near, across = (
            follow(solve, model, scripted(joint, low, high))
            for joint, low, high in ((4, 0.6, -0.6), (2, -1.0, -0.05), (2, -0.6, 0.6))
        )
        worst = max(worst, beyond(wrist), beyond(near))
        solved = solved and all(
            status == "solved" for t in (wrist, near, across) for status in t.status
        )
        flips.append(largest_step(across))
        solved = solved and _flagged(across) and not (_flagged(wrist) or _flagged(near))
    note = f"at q3 = 0 steps up to {flips[0]:.3f} rad, flagged; with the recommended solver {flips[1]:.3f} rad"
    return Finding(worst, solved and worst <= 0.02, note)


def _flagged(track: Track) -> bool:
    return bool((np.abs(np.sin(track.q[:, 2])) < STRAIGHT).any())


@experiment("C-13")
def limit_approach() -> Finding:
    """Joint 1, then joint 4, is led past its limit: held there, until the target comes back to where it is held."""
    robot = load_robot("lwa4p")
    solver, free = Solver(robot, step_max=STEP_MAX), Levenberg(robot, tolerance=APPLICATION)
    model, worst, inside, flagged, back, violent = free.model, 0.0, True, True, True, 0.0
    limit = float(model.upper[0])
    for joint in (0, 3):
        track = follow(solver.solve, model, scripted(joint, limit - 0.5, limit + 0.5))
        worst = max(worst, largest_step(track))
        inside = inside and all(model.within(q) for q in track.q)
        past = track.reference[:, joint] > limit + 0.05
        flagged = flagged and not any(
            status == "solved" for status, out in zip(track.status, past, strict=True) if out
        )
        flagged = flagged and "jump" in track.status
        ways = np.linspace(track.reference[-1], track.q[-1], 300)
        again = follow(solver.solve, model, ways, start=track.q[-1])
        back, worst = back and again.status[-1] == "solved", max(worst, largest_step(again))
        violent = max(violent, largest_step(follow(Solver(robot).solve, model, track.reference)))
    note = f"without step_max the same path makes a step of {violent:.1f} rad to another branch"
    return Finding(
        worst, inside and flagged and back and worst <= STEP_MAX and violent > STEP_MAX, note
    )


@experiment("C-62")
def history() -> Finding:
    """Two paths of each width through q5 = 0, where two branches meet: from the last answer, and from the vertical."""
    robot = load_robot("lwa4p")
    published, solver = Levenberg(robot, tolerance=APPLICATION), Solver(robot)
    cold: dict[float, list[Track]] = {width: [] for width in WIDTHS}
    ours, solved = 0, True
    for width, number in itertools.product(WIDTHS, range(2)):
        path = minima_path(width, number)
        cold[width].append(follow(published.solve, published.model, path, warm=False))
        track = follow(solver.solve, published.model, path)
        ours, solved = ours + _jumps(track), solved and set(track.status) == {"solved"}
    listed = "; ".join(
        f"{width:g} rad {', '.join(str(_jumps(t)) for t in cold[width])}" for width in WIDTHS
    )
    widest = cold[max(WIDTHS)]
    note = (
        f"the script is not given: two random paths of {len(path) - 1} steps for each width. Cold Levenberg–Marquardt "
        f"jumps by width {listed}, at the widest {', '.join(str(_jumps(t, 0.5)) for t in widest)} times beyond 0.5 rad "
        f"(prototype 9), and hardly on narrow ones; the recommended solver on none"
    )
    return Finding(ours, ours == 0 and min(map(_jumps, widest)) >= 1 and solved, note)


def _jumps(track: Track, size: float = 0.1) -> int:
    """Steps in which a joint moves by more than ``size`` [rad]."""
    return int((np.abs(np.diff(track.q, axis=0)).max(axis=1) > size).sum())


def minima_path(width: float, number: int) -> Array:
    """All joints sway, joint 5 through zero, so that the pose keeps passing between two equally good answers, [rad]."""
    t, rng = np.arange(0.0, 15.0, 1.0 / RATE)[:, None], generator(f"between minima {number}")
    middle = np.where(np.arange(6) == 4, 0.0, BASE)
    size = width * np.where(np.arange(6) == 2, 0.5, 1.0)
    return middle + size * np.sin(
        2.0 * np.pi * rng.uniform(0.1, 0.3, 6) * t + rng.uniform(0.0, 2.0 * np.pi, 6)
    )


@shared
def four_curves(run: int = 0) -> dict[str, dict[str, Array]]:
    """The published report: both solvers on free motion, near a singular pose, and between two minima, cold at 1e-5.

    Args:
        run: number of the repetition; the same path each time.

    Returns:
        By solver: ``t`` [s], ``runtime`` [s], ``error`` (mean joint difference from the reference)
            and ``overrun``
        (largest excess over the limits), both [rad].
    """
    robot = load_robot("lwa4p")
    path = np.concatenate(
        [scripted(0, -0.8, 0.8, 3.0), scripted(2, -1.2, -0.01, 3.0), scripted(4, 0.7, -0.7, 3.0)]
    )
    curves = {}
    for name, solver in (("newton", Newton(robot)), ("levenberg", Levenberg(robot))):
        track = follow(solver.solve, solver.model, path, warm=False)
        curves[name] = {
            "t": np.arange(len(path)) / RATE,
            "runtime": track.seconds,
            "error": np.abs(track.q - track.reference).mean(axis=1),
            "overrun": np.maximum(np.abs(track.q).max(axis=1) - solver.model.upper[0], 0.0),
        }
    return curves


def report(curves: dict[str, dict[str, Array]]) -> str:
    """The curves as CSV, one line per sample and solver."""
    lines = ["solver,t,runtime,error,overrun"]
    for name, series in curves.items():
        columns = zip(*(series[key] for key in ("t", "runtime", "error", "overrun")), strict=True)
        lines += [
            f"{name},{t:.2f},{runtime:.3e},{error:.9e},{over:.9e}"
            for t, runtime, error, over in columns
        ]
    return "\n".join(lines) + "\n"


@experiment("C-15")
def benchmark_report() -> Finding:
    """The report twice, compared without its runtimes; Newton overruns by far, Levenberg–Marquardt hardly."""
    one, two = (_without_runtime(report(four_curves(run))) for run in range(2))
    curves = four_curves(0)
    over = {name: float(series["overrun"].max()) for name, series in curves.items()}
    complete = one.count("\n") == 2 * len(curves["newton"]["t"]) + 1
    ok = one == two and complete and over["newton"] > 100.0 * max(over["levenberg"], 1.0)
    note = f"overrun of Levenberg–Marquardt at most {over['levenberg']:.1f} rad"
    return Finding(over["newton"], ok, note, figures=(_drawing(),))


def _without_runtime(text: str) -> str:
    rows = (line.split(",") for line in text.splitlines())
    return "\n".join(",".join([*row[:2], *row[3:]]) for row in rows) + "\n"


def _drawing() -> Figure:
    def make() -> Any:
        from matplotlib.figure import Figure as Drawing

        drawing = Drawing(figsize=(8.0, 6.0), layout="constrained")
        axes = drawing.subplots(2, 2).ravel()
        for name, series in four_curves(0).items():
            t, over = series["t"], np.maximum(series["overrun"], 1e-3)
            axes[0].semilogy(t, 1e3 * series["runtime"], lw=0.8, label=name)
            axes[1].semilogy(t, series["error"], lw=0.8)
            axes[2].semilogy(t, over, lw=0.8)
            axes[3].loglog(series["error"], over, ".", ms=3)
        axes[0].set(xlabel="t [s]", ylabel="runtime [ms]")
        axes[1].set(xlabel="t [s]", ylabel="mean joint difference [rad]")
        axes[2].set(xlabel="t [s]", ylabel="joint overrun [rad]")
        axes[3].set(xlabel="mean joint difference [rad]", ylabel="joint overrun [rad]")
        axes[0].legend(frameon=False)
        return drawing

    return Figure(
        "Both published solvers from the vertical pose at every sample: free, near singular, between minima",
        make,
    )


class _Unheld(Solver):
    """The recommended solver without its largest step."""

    def __init__(self, robot: Any, **_: Any) -> None:
        super().__init__(robot)


class _Forgetful(Solver):
    """The recommended solver that starts every pose at the vertical pose."""

    def solve(self, pose: Any, q_start: Any = None) -> Solution:
        """From the vertical pose."""
        return _cold_levenberg().solve(pose, np.zeros(6))


@functools.cache
def _cold_levenberg() -> Levenberg:
    return Levenberg(load_robot("lwa4p"), tolerance=APPLICATION)


def _restless(self: Levenberg, pose: Any, q_start: Array) -> Solution:
    return _solve(self, pose, np.zeros(6))


_solve = Levenberg.solve
_HERE = sys.modules[__name__]

MUTATIONS = [
    Mutation(
        "cold at every sample",
        "no warm start",
        ("C-10",),
        lambda: patched(Levenberg, "solve", _restless),
    ),
    Mutation(
        "no largest step",
        "a jump is not held",
        ("C-13",),
        lambda: patched(_HERE, "Solver", _Unheld),
    ),
    Mutation(
        "no history",
        "every pose starts afresh",
        ("C-62",),
        lambda: patched(_HERE, "Solver", _Forgetful),
    ),
    Mutation(
        "runtimes in the report",
        "a runtime is left in what must repeat",
        ("C-15",),
        lambda: patched(_HERE, "_without_runtime", lambda text: text),
    ),
]

"""Inverse kinematics of the follower on single targets: published solvers, the closed form, the recommended one."""

from __future__ import annotations

import sys
import time
from typing import Any, NamedTuple

import numpy as np

from farhand.mapping.ik import Chain, Levenberg, Newton, Pose, Solution, Solver
from farhand.mapping.ik.closed_form import ClosedForm
from farhand.robots import load_robot
from farhand.spatial import rotation_from_vector
from farhand_lab.harness import Figure, Finding, experiment, generator, shared
from farhand_lab.hazardous.kinematics import FLANGE, FORE, SHOULDER, UPPER, reach
from farhand_lab.mutation import Mutation, patched

Array = np.ndarray


SETS, TARGETS = 5, 1000
COLD = np.zeros(6)  # the published start of every solve: the vertical pose, [rad]


class Cold(NamedTuple):
    """What a solver made of random targets from the vertical pose, 5 × 1000."""

    converged: Array
    within: Array
    largest: Array
    iterations: Array


@shared
def cold(name: str) -> Cold:
    """The published cross-check: joints uniform in ±160°, cold start, 500 iterations, 1e-5."""
    robot = load_robot("lwa4p")
    solver = (
        Newton(robot)
        if name == "Newton"
        else Levenberg(robot, stall=1e-5 if "stall" in name else 0.0)
    )
    model, rng = solver.model, generator("cold targets")
    found = [
        solver.solve(model.pose(q), COLD)
        for q in rng.uniform(model.lower, model.upper, (SETS * TARGETS, 6))
    ]
    table = [
        (f.status in ("solved", "limited"), f.status == "solved", np.abs(f.q).max(), f.iterations)
        for f in found
    ]
    return Cold(*(np.array(column).reshape(SETS, TARGETS) for column in zip(*table, strict=True)))


@experiment("C-07")
def newton_warm() -> Finding:
    """500 random targets, each started 0.02 rad away in every joint."""
    solver, rng = Newton(load_robot("lwa4p")), generator("warm newton")
    model, steps, met = solver.model, [], 0
    for q in rng.uniform(model.lower, model.upper, (500, 6)):
        target = model.pose(q)
        found = solver.solve(target, q + 0.02 * rng.choice([-1.0, 1.0], 6))
        met += found.status != "failed" and bool(np.abs(model.error(target, found.q)).max() < 1e-5)
        steps.append(found.iterations)
    median = float(np.median(steps))
    return Finding(median, met == 500 and median <= 3, f"{met} of 500 solved")


@experiment("C-08")
def newton_cold() -> Finding:
    """The vertical pose has rank 3, so the first step divides by singular values that are almost zero."""
    run = cold("Newton")
    rate, largest = 100.0 * run.within.mean(axis=1), run.largest.max(axis=1)
    note = (
        f"converged {100 * run.converged.mean():.1f} %, in limits {rate.min():.1f}–{rate.max():.1f} %, "
        f"largest joint of each thousand {largest.min():.0f}–{largest.max():.0f} rad"
    )
    ok = bool(largest.max() >= 1e4 and rate.max() <= 15.0)
    return Finding(float(largest.max()), ok, note, figures=(_histogram(),))


@experiment("C-09")
def levenberg_cold() -> Finding:
    """The same targets and start; damping keeps the joints at hand."""
    run, stopped = cold("Levenberg"), cold("Levenberg with stall stop")
    rate = 100.0 * run.within.mean(axis=1)
    note = (
        f"largest joint {run.largest.max():.1f} rad, in limits {rate.min():.1f}–{rate.max():.1f} %, "
        f"median {np.median(run.iterations):.0f} iterations, at most {run.iterations.max()}, as published without a "
        f"stop for stalled steps; with it {stopped.converged.sum()} of {stopped.converged.size} converge, see "
        f"docs/errata.md C-09"
    )
    ok = bool(run.converged.all() and run.largest.max() < 12.0 and rate.min() >= 80.0)
    return Finding(100.0 * float(run.converged.mean()), ok, note)


def _histogram() -> Figure:
    def make() -> Any:
        from matplotlib.figure import Figure as Drawing

        drawing = Drawing(figsize=(7.0, 3.2), layout="constrained")
        axes = drawing.add_subplot()
        bins = np.logspace(-1, 5, 60)
        for name in ("Newton", "Levenberg"):
            axes.hist(cold(name).largest.ravel(), bins=list(bins), histtype="step", label=name)
        axes.axvline(np.radians(160.0), color="0.5", lw=0.8)
        axes.set(xscale="log", xlabel="largest joint returned [rad]", ylabel="targets")
        axes.legend(frameon=False)
        return drawing

    return Figure(
        "Largest joint returned from the vertical pose, 5000 targets; the line is the joint limit",
        make,
    )


def out_of_reach(count: int) -> list[Pose]:
    """Targets 0.95 m from a shoulder that reaches 0.73 m, in all directions."""
    rng, found = generator("out of reach"), []
    for _ in range(count):
        way = rng.normal(size=3)
        centre = np.array([0.0, 0.0, SHOULDER])
        found.append(
            Pose(
                centre + 0.95 * way / np.linalg.norm(way), rotation_from_vector(rng.normal(size=3))
            )
        )
    return found


@experiment("C-11")
def unreachable() -> Finding:
    """The recommended solver, inside limits that forbid a straight arm within 20° of straight down."""
    robot = load_robot("lwa4p")
    solver, published = Solver(robot), Levenberg(robot)
    found = [solver.solve(pose) for pose in out_of_reach(200)]
    free = [published.solve(pose, COLD) for pose in out_of_reach(200)]
    share, flagged, longest = _share(found)
    without, _, longest_free = _share(free)
    note = (
        f"inside the limits, at most {longest} iterations per descent; Levenberg–Marquardt without limits "
        f"{without:.1f} %, at most {longest_free}"
    )
    return Finding(share, share >= 95.0 and flagged and longest <= 250, note)


def _share(found: list[Solution]) -> tuple[float, bool, int]:
    """Per cent within a millimetre of the closest point, whether all are flagged, most iterations."""
    near = [abs(f.position_error - (0.95 - UPPER - FORE - FLANGE)) < 1e-3 for f in found]
    return (
        100.0 * float(np.mean(near)),
        all(f.status == "unreachable" for f in found),
        max(f.iterations for f in found),
    )


@experiment("C-12")
def elbow_above() -> Finding:
    """19 × 19 targets in front, tool pointing forward, from a cold start and from an arm with its elbow below."""
    robot = load_robot("lwa4p")
    solver, form, published = (
        Solver(robot, elbow="above"),
        ClosedForm(Chain.of(robot)),
        Levenberg(robot),
    )
    model, met, baseline, possible = published.model, 0, 0, 0
    for pose in _forward_targets():
        rows = [q for q in form.solve(*pose) if model.within(q)]
        if not any(_above(q) for q in rows):
            continue
        possible += 1
        below = next((q for q in rows if not _above(q)), None)
        answers = [solver.solve(pose), *([solver.solve(pose, below)] if below is not None else [])]
        met += all(f.status == "solved" and _above(f.q) for f in answers)
        baseline += _above(published.solve(pose, COLD).q)
    share = 100.0 * met / max(possible, 1)
    note = f"{possible} targets; Levenberg–Marquardt from the vertical pose {100.0 * baseline / max(possible, 1):.1f} %"
    return Finding(share, share >= 99.0 and possible >= 300, note)


def _above(q: Array) -> bool:
    """The exact rule of sources/hazardous §3.10, with q3 wrapped."""
    return bool(np.sign(reach(q)[0]) * -np.sin(q[2]) > 0.0)


def _forward_targets() -> list[Pose]:
    forward = rotation_from_vector(np.array([0.0, 0.5 * np.pi, 0.0]))  # tool z along the base's x
    spots = [(y, z) for y in np.linspace(-0.3, 0.3, 19) for z in np.linspace(0.1, 0.55, 19)]
    return [Pose(np.array([0.45, y, z]), forward) for y, z in spots]


@experiment("C-14")
def closed_form_reference() -> Finding:
    """All branches of random poses through forward kinematics; both timed on the same poses, as they are called."""
    robot = load_robot("lwa4p")
    form, published = ClosedForm(Chain.of(robot)), Levenberg(robot)
    model, worst, eight, kept = published.model, 0.0, 0, []
    poses = [
        model.pose(q) for q in generator("closed form").uniform(model.lower, model.upper, (1000, 6))
    ]
    for pose in poses:
        rows = form.solve(*pose)
        eight += len(rows) == 8
        kept.append(sum(model.within(q) for q in rows))
        worst = max(worst, *(float(np.abs(model.error(pose, q)).max()) for q in rows))
    fast = _fastest(lambda pose: form.solve(*pose), poses[:100])
    slow = _fastest(lambda pose: published.solve(pose, COLD), poses[:100])
    all_eight = 100.0 * np.mean(np.array(kept) == 8)
    note = f"{eight} of 1000 have 8 branches; within ±160° {all_eight:.0f} % keep all, {np.mean(kept):.1f} on average"
    return Finding(worst, worst < 1e-9 and eight == 1000 and slow > 20.0 * fast, note)


def _fastest(solve: Any, poses: list[Pose]) -> float:
    """Seconds per solve, the best of three rounds."""
    rounds = []
    for _ in range(3):
        began = time.perf_counter()
        for pose in poses:
            solve(pose)
        rounds.append((time.perf_counter() - began) / len(poses))
    return min(rounds)


def _undamped(self: Levenberg, robot: Any, **keywords: Any) -> None:
    _init(self, robot, **{**keywords, "damping": 1e-12})


def _wrapped(self: Newton, pose: Any, q_start: Array) -> Solution:
    found = _newton(self, pose, q_start)
    return found._replace(q=np.remainder(found.q + np.pi, 2.0 * np.pi) - np.pi)


def _transposed(self: Newton, J: Array) -> Array:
    return J.T


def _one_branch(
    self: ClosedForm, position: Array, rotation: Array, elbow_angle: float = 0.0
) -> Array:
    return _all(self, position, rotation, elbow_angle)[:4]


class _Upright(Levenberg):
    """Levenberg–Marquardt that minds the orientation as much as the position."""

    def __init__(self, robot: Any) -> None:
        super().__init__(robot, weights=(1.0,) * 6)

    def solve(self, pose: Any, q_start: Any = None) -> Solution:
        """From the vertical pose."""
        return super().solve(pose, COLD)


_init, _all, _newton, _Solver = Levenberg.__init__, ClosedForm.solve, Newton.solve, Solver
_HERE = sys.modules[__name__]

MUTATIONS = [
    Mutation(
        "transpose for inverse",
        "Newton steps along Jᵀe",
        ("C-07",),
        lambda: patched(Newton, "_inverse", _transposed),
    ),
    Mutation(
        "no damping",
        "λ starts at nothing",
        ("C-09",),
        lambda: patched(Levenberg, "__init__", _undamped),
    ),
    Mutation(
        "joints wrapped",
        "Newton wraps its joints to (−π, π]",
        ("C-08",),
        lambda: patched(Newton, "solve", _wrapped),
    ),
    Mutation(
        "elbow not asked for",
        "the preferred side is ignored",
        ("C-12",),
        lambda: patched(_HERE, "Solver", lambda robot, elbow="any": _Solver(robot)),
    ),
    Mutation(
        "half the branches",
        "one shoulder only",
        ("C-14",),
        lambda: patched(ClosedForm, "solve", _one_branch),
    ),
    Mutation(
        "orientation first",
        "the closest pose weighs a radian as a metre",
        ("C-11",),
        lambda: patched(_HERE, "Solver", _Upright),
    ),
]

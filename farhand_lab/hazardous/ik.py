"""Inverse kinematics of the follower, target by target and along paths: C-07 to C-15, C-62."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from farhand.mapping.ik import Chain, Levenberg, Model, Newton, Pose, Solution, Solver
from farhand.mapping.ik.closed_form import ClosedForm
from farhand.robots import load_robot
from farhand.spatial import rotation_from_vector
from farhand_lab.harness import Figure, Finding, experiment, generator, shared
from farhand_lab.hazardous.kinematics import FLANGE, FORE, SHOULDER, UPPER, reach
from farhand_lab.mutation import Mutations
from farhand_lab.plots import canvas

MEASURES_TIME = True
"""Whether these experiments read the wall clock."""

Array = np.ndarray
_THIS = sys.modules[__name__]

SETS, TARGETS = 5, 1000
COLD = np.zeros(6)  # the published start of every solve: the vertical pose, [rad]


class Cold(NamedTuple):
    """A solver's answers to random targets from the vertical pose, 5 × 1000 each."""

    converged: Array
    within: Array
    largest: Array
    iterations: Array


@shared
def cold(name: str) -> Cold:
    """The published cross-check: joints uniform in ±160°, cold start, 500 iterations, 1e-5."""
    robot = load_robot("lwa4p")
    stall = 1e-5 if "stall" in name else 0.0
    solver = Newton(robot) if name == "Newton" else Levenberg(robot, stall=stall)
    model, rng = solver.model, generator("cold targets")
    rows = []
    for q in rng.uniform(model.lower, model.upper, (SETS * TARGETS, 6)):
        answer = solver.solve(model.pose(q), COLD)
        converged, within = answer.status in ("solved", "limited"), answer.status == "solved"
        rows.append((converged, within, np.abs(answer.q).max(), answer.iterations))
    return Cold(*(np.array(column).reshape(SETS, TARGETS) for column in zip(*rows, strict=True)))


@experiment("C-07")
def newton_warm() -> Finding:
    """500 random targets, each started 0.02 rad away in every joint."""
    solver, rng = Newton(load_robot("lwa4p")), generator("warm newton")
    model, steps, met = solver.model, [], 0
    for q in rng.uniform(model.lower, model.upper, (500, 6)):
        target = model.pose(q)
        answer = solver.solve(target, q + 0.02 * rng.choice([-1.0, 1.0], 6))
        exact = bool(np.abs(model.error(target, answer.q)).max() < 1e-5)
        met += answer.status != "failed" and exact
        steps.append(answer.iterations)
    median = float(np.median(steps))
    return Finding(median, met == 500 and median <= 3, f"{met} of 500 solved")


@experiment("C-08")
def newton_cold() -> Finding:
    """The first step divides by singular values near zero: the vertical pose has rank 3."""
    run = cold("Newton")
    rate, largest = 100.0 * run.within.mean(axis=1), run.largest.max(axis=1)
    note = (
        f"converged {100 * run.converged.mean():.1f} %, in limits "
        f"{rate.min():.1f}–{rate.max():.1f} %, largest joint of each thousand "
        f"{largest.min():.0f}–{largest.max():.0f} rad"
    )
    ok = bool(largest.max() >= 1e4 and rate.max() <= 15.0)
    title = "Largest joint returned from the vertical pose; the line is the joint limit"
    return Finding(float(largest.max()), ok, note, figures=(Figure(title, _histogram),))


@experiment("C-09")
def levenberg_cold() -> Finding:
    """The same targets and start; damping keeps the joints small."""
    run, stopped = cold("Levenberg"), cold("Levenberg with stall stop")
    rate = 100.0 * run.within.mean(axis=1)
    note = (
        f"largest joint {run.largest.max():.1f} rad, in limits {rate.min():.1f}–{rate.max():.1f} "
        f"%, median {np.median(run.iterations):.0f} iterations, at most {run.iterations.max()}, as "
        f"published without a stop for stalled steps; with it {stopped.converged.sum()} of "
        f"{stopped.converged.size} converge, see docs/errata.md C-09"
    )
    ok = bool(run.converged.all() and run.largest.max() < 12.0 and rate.min() >= 80.0)
    return Finding(100.0 * float(run.converged.mean()), ok, note)


def _histogram():
    figure, axes = canvas("largest joint returned [rad]", "targets", xscale="log")
    for name in ("Newton", "Levenberg"):
        bins = list(np.logspace(-1, 5, 60))
        axes.hist(cold(name).largest.ravel(), bins=bins, histtype="step", label=name)
    axes.axvline(np.radians(160.0), color="0.5", lw=0.8)
    axes.legend(frameon=False)
    return figure


def out_of_reach(count: int) -> list[Pose]:
    """Targets 0.95 m from a shoulder that reaches 0.73 m, in all directions."""
    rng, targets = generator("out of reach"), []
    for _ in range(count):
        way = rng.normal(size=3)
        position = np.array([0.0, 0.0, SHOULDER]) + 0.95 * way / np.linalg.norm(way)
        targets.append(Pose(position, rotation_from_vector(rng.normal(size=3))))
    return targets


@experiment("C-11")
def unreachable() -> Finding:
    """The recommended solver inside limits that forbid a straight arm near straight down."""
    robot = load_robot("lwa4p")
    solver, published = Solver(robot), Levenberg(robot)
    targets = out_of_reach(200)
    share, flagged, longest = _share([solver.solve(pose) for pose in targets])
    without, _, longest_free = _share([published.solve(pose, COLD) for pose in targets])
    note = (
        f"inside the limits, at most {longest} iterations per descent; Levenberg–Marquardt without "
        f"limits {without:.1f} %, at most {longest_free}"
    )
    return Finding(share, share >= 95.0 and flagged and longest <= 250, note)


def _share(answers: list[Solution]) -> tuple[float, bool, int]:
    """Per cent within 1 mm of the closest point, whether all are flagged, most iterations."""
    closest = 0.95 - UPPER - FORE - FLANGE
    near = [abs(answer.position_error - closest) < 1e-3 for answer in answers]
    flagged = all(answer.status == "unreachable" for answer in answers)
    return 100.0 * float(np.mean(near)), flagged, max(answer.iterations for answer in answers)


@experiment("C-12")
def elbow_above() -> Finding:
    """19 × 19 targets in front, from a cold start and from an arm with its elbow below."""
    robot = load_robot("lwa4p")
    solver = Solver(robot, elbow="above")
    form = ClosedForm(Chain.of(robot))
    published = Levenberg(robot)
    model, met, baseline, possible = published.model, 0, 0, 0
    for pose in _forward_targets():
        rows = [q for q in form.solve(*pose) if model.within(q)]
        if not any(_above(q) for q in rows):
            continue
        possible += 1
        below = next((q for q in rows if not _above(q)), None)
        answers = [solver.solve(pose)] + ([] if below is None else [solver.solve(pose, below)])
        met += all(answer.status == "solved" and _above(answer.q) for answer in answers)
        baseline += _above(published.solve(pose, COLD).q)
    share = 100.0 * met / max(possible, 1)
    note = (
        f"{possible} targets; Levenberg–Marquardt from the vertical pose "
        f"{100.0 * baseline / max(possible, 1):.1f} %"
    )
    return Finding(share, share >= 99.0 and possible >= 300, note)


def _above(q: Array) -> bool:
    """The exact rule of sources/hazardous §3.10, with q3 wrapped."""
    return bool(np.sign(reach(q)[0]) * -np.sin(q[2]) > 0.0)


def _forward_targets() -> list[Pose]:
    # The tool's z is along the base's x
    forward = rotation_from_vector(np.array([0.0, 0.5 * np.pi, 0.0]))
    spots = [(y, z) for y in np.linspace(-0.3, 0.3, 19) for z in np.linspace(0.1, 0.55, 19)]
    return [Pose(np.array([0.45, y, z]), forward) for y, z in spots]


@experiment("C-14")
def closed_form_reference() -> Finding:
    """All branches of random poses through forward kinematics; both solvers timed."""
    robot = load_robot("lwa4p")
    form, published = ClosedForm(Chain.of(robot)), Levenberg(robot)
    model, worst, eight, kept = published.model, 0.0, 0, []
    joints = generator("closed form").uniform(model.lower, model.upper, (1000, 6))
    poses = [model.pose(q) for q in joints]
    for pose in poses:
        rows = form.solve(*pose)
        eight += len(rows) == 8
        kept.append(sum(model.within(q) for q in rows))
        worst = max(worst, *(float(np.abs(model.error(pose, q)).max()) for q in rows))
    fast = _fastest(lambda pose: form.solve(*pose), poses[:100])
    slow = _fastest(lambda pose: published.solve(pose, COLD), poses[:100])
    all_eight = 100.0 * np.mean(np.array(kept) == 8)
    note = (
        f"{eight} of 1000 have 8 branches; within ±160° {all_eight:.0f} % keep all, "
        f"{np.mean(kept):.1f} on average"
    )
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


Solve = Callable[[Any, Array], Solution]
RATE = 100.0  # [Hz]
PUBLISHED_TOLERANCE = 1e-4  # of the published system in use
BASE = np.array([0.3, 0.5, -1.2, 0.4, 0.8, 0.2])  # middle of the scripted paths, [rad]
STRAIGHT = 0.045  # an elbow straighter than this is flagged, [rad]
WIDTHS = (0.3, 0.6, 1.0)  # of the paths between two minima, [rad]
STEP_MAX = 0.1  # largest accepted step of any joint per sample, [rad]


class Track(NamedTuple):
    """A path [rad] and a solver's answers: joints [rad], statuses, iterations and times [s]."""

    reference: Array
    q: Array
    status: list[str]
    iterations: list[int]
    seconds: Array


def scripted(joint: int, low: float, high: float, seconds: float = 5.0) -> Array:
    """A path on which one joint goes from ``low`` to ``high`` and back, others sway, [rad]."""
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
        answer = solve(pose, q if warm else np.zeros(6))
        seconds.append(time.perf_counter() - began)
        q = answer.q
        joints.append(q)
        statuses.append(answer.status)
        steps.append(answer.iterations)
    return Track(path, np.array(joints), statuses, steps, np.array(seconds))


def largest_step(track: Track) -> float:
    """Largest motion of a joint between two samples, [rad]."""
    return float(np.abs(np.diff(track.q, axis=0)).max())


def beyond(track: Track) -> float:
    """By how much a joint's step is larger than the largest step of the reference, [rad]."""
    return largest_step(track) - float(np.abs(np.diff(track.reference, axis=0)).max())


@experiment("C-10")
def singularities() -> Finding:
    """Both solvers on three paths; only an elbow straighter than 0.045 rad is flagged."""
    robot = load_robot("lwa4p")
    published, solver = Levenberg(robot, tolerance=PUBLISHED_TOLERANCE), Solver(robot)
    model, worst, solved, flips = published.model, 0.0, True, []
    for solve in (published.solve, solver.solve):
        wrist, near, across = (
            follow(solve, model, scripted(joint, low, high))
            for joint, low, high in ((4, 0.6, -0.6), (2, -1.0, -0.05), (2, -0.6, 0.6))
        )
        worst = max(worst, beyond(wrist), beyond(near))
        statuses = {*wrist.status, *near.status, *across.status}
        solved = solved and statuses == {"solved"}
        flips.append(largest_step(across))
        solved = solved and _flagged(across) and not (_flagged(wrist) or _flagged(near))
    note = (
        f"at q3 = 0 steps up to {flips[0]:.3f} rad, flagged; with the recommended solver "
        f"{flips[1]:.3f} rad"
    )
    return Finding(worst, solved and worst <= 0.02, note)


def _flagged(track: Track) -> bool:
    return bool((np.abs(np.sin(track.q[:, 2])) < STRAIGHT).any())


@experiment("C-13")
def limit_approach() -> Finding:
    """Joints 1 and 4 are led past their limits, held there, and released on the way back."""
    robot = load_robot("lwa4p")
    solver, free = Solver(robot, step_max=STEP_MAX), Levenberg(robot, tolerance=PUBLISHED_TOLERANCE)
    model, worst, inside, flagged, back, violent = free.model, 0.0, True, True, True, 0.0
    limit = float(model.upper[0])
    for joint in (0, 3):
        track = follow(solver.solve, model, scripted(joint, limit - 0.5, limit + 0.5))
        worst = max(worst, largest_step(track))
        inside = inside and all(model.within(q) for q in track.q)
        past = track.reference[:, joint] > limit + 0.05
        outside = {status for status, out in zip(track.status, past, strict=True) if out}
        flagged = flagged and "solved" not in outside and "jump" in track.status
        ways = np.linspace(track.reference[-1], track.q[-1], 300)
        again = follow(solver.solve, model, ways, start=track.q[-1])
        back, worst = back and again.status[-1] == "solved", max(worst, largest_step(again))
        violent = max(violent, largest_step(follow(Solver(robot).solve, model, track.reference)))
    note = f"without step_max the same path makes a step of {violent:.1f} rad to another branch"
    ok = inside and flagged and back and worst <= STEP_MAX and violent > STEP_MAX
    return Finding(worst, ok, note)


@experiment("C-62")
def history() -> Finding:
    """Two paths of each width through q5 = 0, where two branches meet, warm and cold."""
    robot = load_robot("lwa4p")
    published, solver = Levenberg(robot, tolerance=PUBLISHED_TOLERANCE), Solver(robot)
    cold: dict[float, list[Track]] = {width: [] for width in WIDTHS}
    ours, solved = 0, True
    for width, number in itertools.product(WIDTHS, range(2)):
        path = minima_path(width, number)
        cold[width].append(follow(published.solve, published.model, path, warm=False))
        track = follow(solver.solve, published.model, path)
        ours, solved = ours + _jumps(track), solved and set(track.status) == {"solved"}
    jumps = {width: ", ".join(str(_jumps(track)) for track in cold[width]) for width in WIDTHS}
    listed = "; ".join(f"{width:g} rad {numbers}" for width, numbers in jumps.items())
    widest = cold[max(WIDTHS)]
    note = (
        f"the script is not given: two random paths of {len(path) - 1} steps for each width. Cold "
        f"Levenberg–Marquardt jumps by width {listed}, at the widest "
        f"{', '.join(str(_jumps(t, 0.5)) for t in widest)} times beyond 0.5 rad (prototype 9), and "
        "hardly on narrow ones; the recommended solver on none"
    )
    return Finding(ours, ours == 0 and min(map(_jumps, widest)) >= 1 and solved, note)


def _jumps(track: Track, size: float = 0.1) -> int:
    """Steps in which a joint moves by more than ``size`` [rad]."""
    return int((np.abs(np.diff(track.q, axis=0)).max(axis=1) > size).sum())


def minima_path(width: float, number: int) -> Array:
    """All joints sway, joint 5 through zero, so that two answers are equally good, [rad]."""
    t, rng = np.arange(0.0, 15.0, 1.0 / RATE)[:, None], generator(f"between minima {number}")
    middle = np.where(np.arange(6) == 4, 0.0, BASE)
    size = width * np.where(np.arange(6) == 2, 0.5, 1.0)
    angle = 2.0 * np.pi * rng.uniform(0.1, 0.3, 6) * t + rng.uniform(0.0, 2.0 * np.pi, 6)
    return middle + size * np.sin(angle)


@shared
def four_curves(run: int = 0) -> dict[str, dict[str, Array]]:
    """The published report: both solvers cold at 1e-5 on three parts of one path.

    Args:
        run: number of the repetition; the same path each time.

    Returns:
        By solver: ``t`` and ``runtime`` [s], ``error`` (mean joint difference from the reference)
        and ``overrun`` (largest excess over the limits), both [rad].
    """
    robot, parts = load_robot("lwa4p"), ((0, -0.8, 0.8), (2, -1.2, -0.01), (4, 0.7, -0.7))
    path = np.concatenate([scripted(*part, 3.0) for part in parts])
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
        rows = zip(*(series[key] for key in ("t", "runtime", "error", "overrun")), strict=True)
        lines += [
            f"{name},{t:.2f},{run:.3e},{error:.9e},{over:.9e}" for t, run, error, over in rows
        ]
    return "\n".join(lines) + "\n"


@experiment("C-15")
def benchmark_report() -> Finding:
    """The report twice, compared without its runtimes; only Newton overruns by far."""
    one, two = (_without_runtime(report(four_curves(run))) for run in range(2))
    curves = four_curves(0)
    over = {name: float(series["overrun"].max()) for name, series in curves.items()}
    complete = one.count("\n") == 2 * len(curves["newton"]["t"]) + 1
    ok = one == two and complete and over["newton"] > 100.0 * max(over["levenberg"], 1.0)
    note = f"overrun of Levenberg–Marquardt at most {over['levenberg']:.1f} rad"
    title = "Both published solvers from the vertical pose at every sample of three paths"
    return Finding(over["newton"], ok, note, figures=(Figure(title, _curves_plot),))


def _without_runtime(text: str) -> str:
    rows = (line.split(",") for line in text.splitlines())
    return "\n".join(",".join([*row[:2], *row[3:]]) for row in rows) + "\n"


def _curves_plot():
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(8.0, 6.0), layout="constrained")
    axes = figure.subplots(2, 2).ravel()
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
    return figure


def _cold_levenberg(robot: Any, **settings: Any) -> Any:
    """Levenberg–Marquardt that starts every pose at the vertical one, in the place of Solver."""
    solver = Levenberg(robot, **settings)
    return SimpleNamespace(solve=lambda pose, q_start=None: solver.solve(pose, COLD))


MUTATIONS = Mutations()


@MUTATIONS.of(_THIS, "Solver", "C-11")
def orientation_first(_, robot):
    """The closest pose weighs a radian as a metre."""
    return _cold_levenberg(robot, weights=(1.0,) * 6)


@MUTATIONS.of(_THIS, "Solver", "C-13")
def no_largest_step(make, robot, step_max=None):
    """A jump is not held."""
    return make(robot)


@MUTATIONS.of(_THIS, "Solver", "C-62")
def no_history(_, robot):
    """Every pose starts at the vertical pose."""
    return _cold_levenberg(robot, tolerance=PUBLISHED_TOLERANCE)


@MUTATIONS.of(Newton, "_inverse", "C-07")
def transpose_for_inverse(_, self, J):
    """Newton steps along Jᵀe."""
    return J.T


@MUTATIONS.of(Levenberg, "__init__", "C-09")
def no_damping(init, self, robot, **keywords):
    """The damping λ starts at almost zero."""
    init(self, robot, **{**keywords, "damping": 1e-12})


@MUTATIONS.of(Newton, "solve", "C-08")
def joints_wrapped(solve, self, pose, q_start):
    """Newton wraps its joints to (−π, π]."""
    answer = solve(self, pose, q_start)
    return answer._replace(q=np.remainder(answer.q + np.pi, 2.0 * np.pi) - np.pi)


@MUTATIONS.of(_THIS, "Solver", "C-12")
def elbow_not_asked_for(make, robot, elbow="any"):
    """The preferred side is ignored."""
    return make(robot)


@MUTATIONS.of(ClosedForm, "solve", "C-14")
def half_the_branches(solve, self, position, rotation, elbow_angle=0.0):
    """One shoulder only."""
    return solve(self, position, rotation, elbow_angle)[:4]


@MUTATIONS.of(Levenberg, "solve", "C-10")
def cold_at_every_sample(solve, self, pose, q_start):
    """No warm start."""
    return solve(self, pose, np.zeros(6))


@MUTATIONS.of(_THIS, "_without_runtime", "C-15")
def runtimes_in_the_report(_, text):
    """A runtime is left in what must repeat."""
    return text

"""Trajectories through points and the singularities on them: F-07 and F-13."""

from __future__ import annotations

import numpy as np

from farhand.control.tool import task
from farhand.control.tool.task import PoseLoop
from farhand.control.trajectory.feasibility import Feasibility
from farhand.control.trajectory.paths import Quintic, Reference, Trajectory, Waypoint
from farhand.robots import load_robot
from farhand.spatial import Array, rotation_vector
from farhand_lab.cooperative.bench import GAINS, POSES, POSTURES, BenchLog, path, tracked
from farhand_lab.harness import Finding, experiment, generator, shared
from farhand_lab.mutation import Mutations, patched
from farhand_lab.trial import refusal

NEAR_FROM = 11.0
"""From this time on T4.1 is near its singular way-point, [s]."""


@experiment("F-13")
def quintics() -> Finding:
    """Random boundary conditions; every published trajectory; refusals before the arm moves."""
    rng, worst = generator("quintics"), 0.0
    for _ in range(200):
        start, end, T = rng.normal(size=(3, 4)), rng.normal(size=(3, 4)), rng.uniform(0.3, 5.0)
        curve = Quintic(start, end, T)
        worst = max(worst, np.abs(curve.at(0.0) - start).max(), np.abs(curve.at(T) - end).max())
    slope = max(_slope(path(name)) for name in (*POSTURES, *POSES))
    moving = _slope(Trajectory.flowing(path("T3.3 feasible").points))
    refused = _refusals()
    note = f"ω_d and v_d to {max(slope, moving):.1e}; refused: {'; '.join(refused)}"
    return Finding(worst, worst < 1e-10 and max(slope, moving) < 1e-6 and len(refused) == 3, note)


def _slope(trajectory: Trajectory) -> float:
    """Largest difference of twist and acceleration from central differences, [SI]."""
    here, after, before, h, worst = Reference(), Reference(), Reference(), 1e-5, 0.0
    times = np.linspace(trajectory.points[0].time + 0.01, trajectory.duration - 0.01, 60)
    for t in times:
        if min(abs(t - point.time) for point in trajectory.points) < 2 * h:
            continue
        for place, at in ((here, t), (after, t + h), (before, t - h)):
            trajectory.at(float(at), place)
        turn = rotation_vector(after.rotation @ before.rotation.T) / (2 * h)
        move = (after.position - before.position) / (2 * h)
        rate = (after.twist - before.twist) / (2 * h)
        worst = max(worst, np.abs(move - here.twist[:3]).max(), np.abs(turn - here.twist[3:]).max())
        worst = max(worst, np.abs(rate - here.acceleration).max() * 1e-2)
    return worst


def _refusals() -> list[str]:
    """Messages about an unreachable point, a singular path and too much load."""
    check = Feasibility(load_robot("rx160"))
    good = path("TA.1").points[0]
    far = Waypoint(5.0, np.array([2.5, 0.0, 0.5]), good.rotation)
    paths = (Trajectory([good, far]), path("T4.1"))
    messages = [refusal(check.check, one) for one in paths]
    messages.append(refusal(check.check_load, 19.0, 2.3))
    return [message for message in messages if message]


@shared
def past(damped: bool) -> BenchLog:
    """T4.1 with G7 and a good model; the plain inverse stops before the singularity."""
    if damped:
        return tracked("T4.1", PoseLoop(**GAINS["G7"]))
    with patched(task, "robust_inverse", lambda matrix, near, most: (np.linalg.inv(matrix), 1.0)):
        return tracked("T4.1", PoseLoop(**GAINS["G7"]), seconds=NEAR_FROM)


@experiment("F-07")
def singularity() -> Finding:
    """The largest joint speed; joint 5 is zero at the fourth point."""
    log, plain = past(True), past(False)
    speed = 100.0 * float((np.abs(log.v) / load_robot("rx160").limits.velocity).max())
    rows = len(plain.time)
    off = [float(np.sqrt(np.mean(np.sum(x.error[:rows] ** 2, axis=1)))) for x in (log, plain)]
    apart = abs(off[0] / off[1] - 1.0)
    near = 1e3 * float(np.linalg.norm(log.error[rows:], axis=1).max())
    trip = log.trip.reason if log.trip else "none"
    note = (
        f"before {NEAR_FROM:g} s the error differs by {100 * apart:.2f} %; near it at most "
        f"{near:.1f} mm; trip: {trip}"
    )
    return Finding(speed, log.trip is None and speed < 100.0 and apart < 0.01, note)


MUTATIONS = Mutations()


@MUTATIONS.of(Quintic, "__init__", "F-13")
def quintic_without_end_acceleration(init, self: Quintic, start, end, T: float) -> None:
    """The acceleration at the end of a segment is not met."""
    init(self, start, [*end[:2], 0.0 * np.asarray(end[2])], T)


@MUTATIONS.of(task, "robust_inverse", "F-07")
def plain_inverse(inverse, matrix: Array, near: float, most: float) -> tuple[Array, float]:
    """The Jacobian is inverted without damping."""
    return np.linalg.pinv(matrix, 1e-12), 1.0

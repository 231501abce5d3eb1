"""The published solvers: where they work, and how they fail."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.errors import BadValue
from farhand.mapping.ik import Levenberg, Model, Newton, Pose
from farhand.robots import load_robot


def poses(model: Model, count: int, seed: int):
    rng = np.random.default_rng(seed)
    return [(q, model.pose(q)) for q in rng.uniform(model.lower, model.upper, (count, 6))]


@pytest.mark.parametrize("kind", [Newton, Levenberg])
def test_a_warm_start_is_solved_within_its_tolerance(kind) -> None:
    """Both converge from close by; the error they report is the one the arm has."""
    solver = kind(load_robot("lwa4p"))
    rng = np.random.default_rng(5)
    for q, pose in poses(solver.model, 50, 6):
        found = solver.solve(pose, q + rng.uniform(-0.02, 0.02, 6))
        assert found.status in ("solved", "limited")
        error = solver.model.error(pose, found.q)
        assert np.linalg.norm(error[:3]) == pytest.approx(found.position_error, abs=1e-12)
        assert found.position_error < 1e-5 and found.rotation_error < 2e-3


def test_newton_throws_the_joints_away_from_the_vertical_pose_and_levenberg_does_not() -> None:
    """The headline of the published comparison."""
    robot = load_robot("lwa4p")
    newton, levenberg = Newton(robot), Levenberg(robot)
    thrown = [
        np.abs(newton.solve(pose, np.zeros(6)).q).max() for _, pose in poses(newton.model, 100, 7)
    ]
    kept = [
        np.abs(levenberg.solve(pose, np.zeros(6)).q).max()
        for _, pose in poses(newton.model, 100, 7)
    ]
    assert max(thrown) > 1e3 and max(kept) < 12


def test_levenberg_stops_at_the_closest_pose_and_says_that_it_is_out_of_reach() -> None:
    """A point 0.95 m from the shoulder of an arm that reaches 0.73 m."""
    solver = Levenberg(load_robot("lwa4p"))
    found = solver.solve(Pose(np.array([0.95, 0.0, 0.205]), np.eye(3)), np.zeros(6))
    assert found.status == "unreachable"
    assert found.position_error == pytest.approx(0.22, abs=1e-3)
    assert found.iterations < 300


def test_newton_calls_a_failure_a_failure() -> None:
    """An unreachable pose ends after all its steps."""
    found = Newton(load_robot("lwa4p"), iterations=50).solve(
        Pose(np.array([2.0, 0, 0]), np.eye(3)), np.ones(6)
    )
    assert found.status == "failed" and found.iterations == 50


def test_a_solution_outside_the_limits_is_not_called_solved() -> None:
    """These solvers know no limits, so they say afterwards that they broke them."""
    solver = Levenberg(load_robot("lwa4p"))
    q = np.array([3.0, 0.3, -1.0, 0.2, 0.5, 0.1])
    assert solver.solve(solver.model.pose(q), q).status == "limited"


def test_a_pose_may_be_a_matrix_and_nothing_else() -> None:
    """Four by four, or a Pose."""
    solver = Newton(load_robot("lwa4p"))
    pose = solver.model.pose(solver.model.upper * 0.3)
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = pose.rotation, pose.position
    assert solver.solve(matrix, solver.model.upper * 0.3).status == "solved"
    with pytest.raises(BadValue, match="4 × 4"):
        solver.solve(np.zeros(7), np.zeros(6))


GOAL = np.array([0.3, 0.4, -1.2, 0.5, 0.8, 0.1])


def steps(solver, start: np.ndarray, count: int) -> np.ndarray:
    """Joints after a number of steps towards GOAL."""
    solver.iterations = count
    return solver.solve(solver.model.pose(GOAL), start).q


def test_newton_steps_by_the_pseudo_inverse_and_leaves_out_what_is_nearly_singular() -> None:
    """One step; with a large cut-off only along the directions that move the tool much."""
    solver = Newton(load_robot("lwa4p"), cut_off=0.3)
    start = GOAL + 0.1
    J, e = solver.model.jacobian(start), solver.model.error(solver.model.pose(GOAL), start)
    U, sigma, Vt = np.linalg.svd(J)
    assert sigma[2] > 0.3 > sigma[4]
    wanted = sum(v * (u @ e) / s for u, s, v in zip(U.T, sigma, Vt, strict=True) if s > 0.3)
    np.testing.assert_allclose(steps(solver, start, 1) - start, wanted, atol=1e-9)


def test_levenberg_steps_by_the_damped_least_squares_and_trusts_them_by_their_gain() -> None:
    """Nielsen's rule: λ falls to a third at best, or by how far the gain was off."""
    weights, start = np.diag([1, 1, 1, 0.01, 0.01, 0.01]), GOAL + 0.3
    for damping in (10.0, 0.1, 1e-3):
        solver = Levenberg(load_robot("lwa4p"), damping=damping)
        q, model, pose = start, solver.model, solver.model.pose(GOAL)
        for count in (1, 2, 3):
            J, e = weights @ model.jacobian(q), weights @ model.error(pose, q)
            step = np.linalg.solve(J.T @ J + damping * np.eye(6), J.T @ e)
            left = weights @ model.error(pose, q + step)
            # what a linear arm would gain, times two
            gain = (e @ e - left @ left) / (step @ (damping * step + J.T @ e))
            q, damping = q + step, damping * max(1 / 3, 1 - (2 * gain - 1) ** 3)
            np.testing.assert_allclose(steps(solver, start, count), q, atol=1e-12)


def test_levenberg_takes_no_step_that_leads_away_and_damps_the_next_ever_more() -> None:
    """Twice, then four, then eight times as much, until one leads nearer."""
    solver = Levenberg(load_robot("lwa4p"), damping=1e-7)
    start, pose = np.full(6, 1e-3), solver.model.pose(GOAL)
    W = np.diag(solver.weights)
    J, e = W @ solver.model.jacobian(start), W @ solver.model.error(pose, start)
    damping = 1e-7
    for refused in range(1, 20):
        step = np.linalg.solve(J.T @ J + damping * np.eye(6), J.T @ e)
        left = W @ solver.model.error(pose, start + step)
        if left @ left < e @ e:
            break
        np.testing.assert_array_equal(steps(solver, start, refused), start)
        damping *= 2**refused
    assert refused > 2
    np.testing.assert_allclose(steps(solver, start, refused), start + step, atol=1e-9)


def test_levenberg_stops_when_met_when_stalled_or_after_all_its_steps() -> None:
    """Counted in steps; a stall must last, and may be switched off."""
    robot = load_robot("lwa4p")
    met = Levenberg(robot).solve(Levenberg(robot).model.pose(GOAL), GOAL)
    assert met.status == "solved" and met.iterations == 0
    far, stops = Pose(np.array([0.95, 0.0, 0.205]), np.eye(3)), []
    for changes in ({}, {"stalled_steps": 1}, {"stall": 0.0, "iterations": 90}, {"stall": 0.0}):
        found = Levenberg(robot, **changes).solve(far, np.full(6, 0.3))
        assert found.status == "unreachable"
        stops.append(found.iterations)
    assert stops == [39, 22, 90, 500]

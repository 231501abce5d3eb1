"""The kernels, on chains of any shape: every axis, point and tool counts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farhand.compiled import prepare
from farhand.kernels import rotation_log
from farhand.mapping.ik import Chain, Model
from farhand.mapping.ik.chain import _steps
from farhand.mapping.ik.kernel import _limit_cost, _step, descend, forward, jacobian, pose_error
from farhand.robots import load_robot
from farhand.spatial import rotation_from_vector

HINGE = np.array([True, False, True, True, False])
FAR = (np.inf, np.inf)


def crooked(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A chain of hinges and slides in which nothing is zero: axes, points, tool."""
    axes = rng.normal(size=(5, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    return axes, rng.normal(size=(5, 3)), rng.normal(size=3), turned(rng)


def turned(rng: np.random.Generator) -> np.ndarray:
    return rotation_from_vector(rng.normal(size=3))


def exponentials(axes, points, q, p, R) -> tuple[np.ndarray, np.ndarray]:
    """The same pose as a product of exponentials: screws at zero joints, the last first."""
    for axis, point, hinge, angle in reversed(
        list(zip(axes, points, HINGE[: len(q)], q, strict=True))
    ):
        turn = rotation_from_vector(angle * axis) if hinge else np.eye(3)
        p = turn @ (p - point) + point if hinge else p + angle * axis
        R = turn @ R
    return p, R


def test_the_pose_and_every_joint_are_where_the_product_of_exponentials_puts_them() -> None:
    """Tool, axes and origins of a crooked chain."""
    rng = np.random.default_rng(1)
    found, there, R, p = np.empty((5, 3)), np.empty((5, 3)), np.empty((3, 3)), np.empty(3)
    for _ in range(10):
        axes, points, tool, tool_R = crooked(rng)
        q = rng.uniform(-2, 2, 5)
        forward(_steps(axes, points, tool, tool_R), HINGE, q, found, there, R, p)
        place, rotation = exponentials(axes, points, q, tool, tool_R)
        np.testing.assert_allclose(p, place, atol=1e-12)
        np.testing.assert_allclose(R, rotation, atol=1e-12)
        for i in range(5):
            at, turn = exponentials(axes[:i], points[:i], q[:i], points[i], np.eye(3))
            np.testing.assert_allclose(there[i], at, atol=1e-12)
            np.testing.assert_allclose(found[i], turn @ axes[i], atol=1e-12)


def test_the_error_and_the_jacobian_are_those_of_finite_differences() -> None:
    """Of a crooked chain; the angular part of the Jacobian carries the weight of a radian."""
    rng = np.random.default_rng(2)
    axes, points, tool, tool_R = crooked(rng)
    steps, q, h = _steps(axes, points, tool, tool_R), rng.uniform(-1, 1, 5), 1e-6
    found, levers, J = np.empty((5, 3)), np.empty((5, 3)), np.empty((5, 6))
    target, target_R = rng.normal(size=3), turned(rng)

    def error(q: np.ndarray, p: np.ndarray, R: np.ndarray) -> np.ndarray:
        e = np.empty(6)
        sizes = pose_error(steps, HINGE, q, p, R, found, levers, e)
        lengths = np.linalg.norm(e[:3]), np.linalg.norm(e[3:])
        np.testing.assert_allclose(sizes, lengths, rtol=1e-12)
        return e

    e = error(q, target, target_R)
    place, rotation = exponentials(axes, points, q, tool, tool_R)
    np.testing.assert_allclose(e[:3], target - place, atol=1e-12)
    np.testing.assert_allclose(rotation_from_vector(e[3:]) @ rotation, target_R, atol=1e-12)
    jacobian(HINGE, found, levers, 0.3, J)
    for row, step in zip(J, h * np.eye(5), strict=True):
        twist = (error(q - step, place, rotation) - error(q + step, place, rotation)) / (2 * h)
        np.testing.assert_allclose(row, twist * [1, 1, 1, 0.3, 0.3, 0.3], atol=1e-8)


@pytest.mark.parametrize("name", ["ur5e", "iiwa14", "lwa4p", "elbow6", "rx160", "point3"])
def test_the_compiled_kinematics_are_those_of_pinocchio(name: str) -> None:
    """Pose error and Jacobian, hinges and slides."""
    robot = load_robot(name)
    chain, model = Chain.of(robot), Model(robot)
    rng = np.random.default_rng(14)
    axes, levers, e, J = (
        np.empty((chain.n, 3)),
        np.empty((chain.n, 3)),
        np.empty(6),
        np.empty((chain.n, 6)),
    )
    for q, other in rng.uniform(-1, 1, (50, 2, chain.n)):
        pose = model.pose(other)
        pose_error(chain.steps, chain.hinge, q, *pose, axes, levers, e)
        jacobian(chain.hinge, axes, levers, 1.0, J)
        np.testing.assert_allclose(e, model.error(pose, q), atol=1e-9)
        np.testing.assert_allclose(J.T, model.jacobian(q), atol=1e-12)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 1e-9, 1e-3, 1.0, 3.0, np.pi - 1e-5, np.pi - 1e-9, np.pi]),
)
@settings(deadline=None)
def test_the_compiled_logarithm_is_exact_at_every_angle(seed: int, angle: float) -> None:
    """Zero and the half turn included."""
    axis = np.random.default_rng(seed).normal(size=3)
    axis /= np.linalg.norm(axis)
    R, out = rotation_from_vector(angle * axis), np.empty(3)
    rotation_log(R, out)
    assert np.linalg.norm(out) == pytest.approx(angle, abs=1e-7)
    np.testing.assert_allclose(rotation_from_vector(out), R, atol=1e-7)


@pytest.mark.parametrize("away", [0.0, 1e-12, 1e-9, 1e-5, 9e-5, 2e-4, 1e-3, 0.1])
def test_the_logarithm_near_a_half_turn_is_exact_about_any_axis(away: float) -> None:
    """Along an edge, a face diagonal, a space diagonal and between, in both senses."""
    out = np.empty(3)
    for axis in itertools.product((-1.0, -0.3, 0.0, 1.0), repeat=3):
        if any(axis):
            vector = (np.pi - away) * np.array(axis) / np.linalg.norm(axis)
            R = rotation_from_vector(vector)
            rotation_log(R, out)
            np.testing.assert_allclose(rotation_from_vector(out), R, atol=3e-9)
            assert np.linalg.norm(out) == pytest.approx(np.pi - away, abs=3e-9)


def test_a_step_solves_the_damped_normal_equations_of_the_joints_that_are_free() -> None:
    """A joint at a limit is held if it would leave it, and moves if it comes back."""
    rng = np.random.default_rng(3)
    lower, upper = np.full(6, -1.0), np.full(6, 2.0)
    held = 0
    for _ in range(20):
        J, e, weight, damping = rng.normal(size=(6, 6)), rng.normal(size=6), 0.3, rng.uniform(0, 2)
        q = np.array([-1.0, 2.0, -1.0, 2.0, 0.3, 0.9])
        slope = J @ (e * np.repeat([1.0, weight], 3))
        free = ((q > lower) | (slope > 0.0)) & ((q < upper) | (slope < 0.0))
        A, g, dq, given = np.empty((6, 6)), np.empty(6), np.empty(6), J.copy()
        _step(given, e, weight, damping, q, lower, upper, A, g, dq)
        cost = np.array([_limit_cost(x, -1.0, 2.0) for x in q])
        matrix = (J @ J.T + damping * np.diag(cost))[np.ix_(free, free)]
        np.testing.assert_allclose(g, np.where(free, slope, 0.0), atol=1e-12)
        np.testing.assert_allclose(dq[free], np.linalg.solve(matrix, slope[free]), rtol=1e-9)
        np.testing.assert_array_equal(dq[~free], 0.0)
        held += int((~free).sum())
    assert 20 < held < 60


def test_a_joint_costs_more_by_the_square_of_the_room_that_is_lost() -> None:
    """Twice as much in the middle of its range as without limits; bounded at a limit."""
    for lower, upper in ((1.0, 3.0), (-5.0, -1.0)):
        middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
        for share in (1.0, 0.5, 0.1):
            for side in (-1.0, 1.0):
                cost = _limit_cost(middle + side * half * (1.0 - share), lower, upper)
                assert cost == pytest.approx(1.0 + 1.0 / share**2)
        assert _limit_cost(upper, lower, upper) == _limit_cost(lower, lower, upper) == 1.0 + 1e6
    assert _limit_cost(0.0, -0.6e6, 0.6e6) == 1.0 < _limit_cost(0.0, -0.4e6, 0.4e6)


@pytest.fixture(scope="module")
def powerball() -> tuple[tuple[np.ndarray, ...], Model]:
    """Chain of the Powerball as the kernels take it, and its model."""
    chain = Chain.of(load_robot("lwa4p"))
    return (chain.steps, chain.hinge, chain.lower, chain.upper), Model(load_robot("lwa4p"))


def test_a_descent_says_how_far_it_came_and_in_how_many_steps(powerball) -> None:
    """Met from close by in a few; not tried from too far; over at once where it begins."""
    chain, model = powerball
    goal = np.array([0.3, 0.4, -1.2, 0.5, 0.8, 0.1])
    pose, tolerance, most = model.pose(goal), (1e-6, 1e-6), 60

    def run(q: np.ndarray, most: int = most, within: tuple[float, float] = FAR):
        return descend(chain, *pose, q, 0.3, most, 1e-3, 5, tolerance, within)

    assert run(goal.copy())[2] == 0
    q = goal + 0.1
    linear, angular, steps = run(q)
    error = model.error(pose, q)
    assert linear == pytest.approx(np.linalg.norm(error[:3]), abs=1e-12) and linear <= 1e-6
    assert angular == pytest.approx(np.linalg.norm(error[3:]), abs=1e-9) and angular <= 1e-6
    assert 2 <= steps <= 5
    np.testing.assert_allclose(q, goal, atol=1e-5)
    # the steps are counted, and a bound on them ends it
    q = goal + 0.1
    assert run(q, most=1)[2] == 1 and 1e-6 < np.abs(q - goal).max() < 0.1
    # errors of the start: just inside and just outside of what is tried
    start = goal + 0.1
    error = model.error(pose, start)
    sizes = np.array([np.linalg.norm(error[:3]), np.linalg.norm(error[3:])])
    assert run(start.copy(), within=tuple(1.001 * sizes))[2] > 0
    for share in ((0.999, 1.001), (1.001, 0.999)):
        q = start.copy()
        left = run(q, within=tuple(sizes * share))
        np.testing.assert_allclose(left[:2], sizes, atol=1e-12)
        assert left[2] == 0 and (q == start).all()


def test_a_descent_takes_no_more_steps_than_it_ever_did(powerball) -> None:
    """Far starts: the damping grows and shrinks as it should, or it takes longer or fails."""
    chain, model = powerball
    rng, met, total = np.random.default_rng(6), 0, 0
    for goal, q in rng.uniform(-1.5, 1.5, (60, 2, 6)):
        pose = model.pose(goal)
        linear, angular, steps = descend(chain, *pose, q, 0.3, 60, 1e-3, 5, (1e-6, 1e-6), FAR)
        met, total = met + (max(linear, angular) <= 1e-6), total + steps
        assert model.within(q)
    # 46 and 605 today
    assert met >= 45 and total <= 620


def test_a_descent_that_cannot_go_on_gives_up(powerball) -> None:
    """At a limit after ten refusals; out of reach when its steps bring next to nothing."""
    chain = Chain.of(load_robot("point3"))
    slides = (chain.steps, chain.hinge, chain.lower, chain.upper)
    place = Model(load_robot("point3")).pose(chain.upper)
    q = chain.upper.copy()
    away = place.position + [0.01, 0.02, 0.02]
    linear, _, steps = descend(slides, away, place.rotation, q, 0.3, 60, 1e-3, 5, (1e-6, 1e-6), FAR)
    assert (q == chain.upper).all() and linear == pytest.approx(0.03) and steps == 10
    far, ends = np.array([1.7, 0.0, 0.4]), []
    for stalled in (1, 5):
        q = np.array([0.1, 0.5, -0.5, 0.1, 0.5, 0.2])
        stop = (0.3, 200, 1e-3, stalled, (1e-6, 1e-6), FAR)
        ends.append(descend(powerball[0], far, np.eye(3), q, *stop))
    assert [steps for _, _, steps in ends] == [13, 17]
    # four more steps of less than a thousandth each
    before, cost = (linear**2 + (0.3 * angular) ** 2 for linear, angular, _ in ends)
    assert 0.995 * before < cost < before


def test_there_is_nothing_to_prepare_where_the_compiler_is_switched_off() -> None:
    """A kernel is then a plain function: a solver in a debugger used to end in an error here."""
    prepare({crooked: ()})

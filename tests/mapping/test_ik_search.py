"""The stages of the search: the elbow, the branches, the best of them, and further starts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import qmc

from farhand.mapping.ik import Chain, Model, Pose, Solver, search
from farhand.mapping.ik.closed_form import ELBOW, NONE, PARALLEL, WRIST, ClosedForm
from farhand.robots import load_robot
from farhand.spatial import rotation_from_vector

TURN = 2.0 * np.pi


def arm_of(name: str) -> tuple:
    """An arm as the stages take it."""
    return Solver(load_robot(name))._arm


def crooked(rng: np.random.Generator, family: int) -> tuple:
    """An arm of no real shape, of which every number counts."""
    n = 7 if family == ELBOW else 6
    axes = rng.normal(size=(n, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    limits = np.full(n, -3.0), np.full(n, 3.0)
    chain = (np.zeros((n + 1, 3, 4)), np.full(n, True), *limits)
    return chain, family, axes, rng.normal(size=(n, 3)), np.zeros(3), np.eye(3)


def carried(arm: tuple, q: np.ndarray, point: int, first: int = 0) -> np.ndarray:
    """Where the joints before it bring the point of a joint, [m]."""
    axes, points = arm[2:4]
    place = points[point]
    for i in reversed(range(first, point)):
        place = points[i] + rotation_from_vector(q[i] * axes[i]) @ (place - points[i])
    return place


@pytest.mark.parametrize(("family", "joints"), [(ELBOW, (0, 3, 4)), (WRIST, (1, 2, 3))])
def test_the_elbow_is_as_high_as_it_stands_over_the_line_from_shoulder_to_wrist(
    family: int, joints: tuple[int, int, int]
) -> None:
    """The part of the upper arm across that line, upwards; on arms of any shape.

    Shoulder, elbow and wrist are carried along by the joints before them, so only directions count.
    """
    rng = np.random.default_rng(1)
    for _ in range(20):
        arm = crooked(rng, family)
        q = rng.uniform(-3, 3, len(arm[2]))
        axes, points = arm[2:4]
        shoulder, elbow, wrist = joints
        upper, fore = points[elbow] - points[shoulder], points[wrist] - points[elbow]
        for i in reversed(range(elbow + 1)):
            turn = rotation_from_vector(q[i] * axes[i])
            fore = turn @ fore
            upper = turn @ upper if i < elbow else upper
        line = (upper + fore) / np.linalg.norm(upper + fore)
        across = upper - line * (line @ upper)
        assert search.elbow_height(arm, q) == pytest.approx(across[2], abs=1e-12)
    assert search.elbow_height((*arm[:1], NONE, *arm[2:]), q) == 0.0


def test_the_elbow_angle_of_a_branch_is_the_one_it_was_solved_for() -> None:
    """All branches of a seven-joint arm, all round; at 0 the elbow is highest."""
    arm, model = arm_of("iiwa14"), Model(load_robot("iiwa14"))
    form, rng = ClosedForm(Chain.of(load_robot("iiwa14"))), np.random.default_rng(2)
    for q in rng.uniform(-1.5, 1.5, (10, 7)):
        for psi in rng.uniform(-np.pi, np.pi, 3):
            for row in form.solve(*model.pose(q), elbow_angle=psi):
                apart = search.elbow_angle(arm, row) - psi
                assert abs(np.remainder(apart + np.pi, TURN) - np.pi) < 1e-6


def test_the_bits_of_a_branch_are_sides_of_shoulder_elbow_and_wrist() -> None:
    """Before or behind the first axis, elbow to this or that side, wrist flipped or not."""
    rng = np.random.default_rng(3)
    for family in (WRIST, PARALLEL):
        for _ in range(40):
            arm = crooked(rng, family)
            axes, points = arm[2:4]
            q = rng.uniform(-3, 3, 6)
            upper = points[2] - points[1]
            fore = rotation_from_vector(q[2] * axes[2]) @ (points[3] - points[2])
            line = rotation_from_vector(q[1] * axes[1]) @ (upper + fore)
            sides = [
                np.cross(axes[1], axes[0]) @ line,
                axes[1] @ np.cross(upper, fore),
                np.sin(q[4]),
            ]
            bits = sum(1 << bit for bit, side in enumerate(sides) if side > 0.0)
            assert search.branch_of(arm, q) == bits
    arm = crooked(rng, ELBOW)
    for signs in np.ndindex(2, 2, 2):
        q = rng.normal(size=7)
        q[[1, 3, 5]] = np.where(signs, 0.5, -0.5)
        assert search.branch_of(arm, q) == signs[0] + 2 * signs[1] + 4 * signs[2]


def test_further_starts_are_haltons_sequence_within_the_limits_and_a_turn() -> None:
    """Against SciPy's; beyond twelve joints the bases begin again."""
    points = qmc.Halton(12, scramble=False).random(40)
    lower, upper, begin = np.full(14, -5.0), np.full(14, 1.0), np.zeros(14)
    lower[3], upper[5], begin[7] = -0.5, 9.0, -4.0
    low, high = np.maximum(lower, begin - np.pi), np.minimum(upper, begin + np.pi)
    q = np.empty(14)
    for index in range(39):
        search.halton_posture(index, lower, upper, begin, q)
        shares = points[index + 1][np.arange(14) % 12]
        np.testing.assert_allclose(q, low + (high - low) * shares, atol=1e-12)


@pytest.mark.parametrize("name", ["lwa4p", "rx160", "ur5e"])
def test_the_branch_that_is_taken_is_the_nearest_of_all_that_fit(name: str) -> None:
    """By brute force over branches and whole turns; nothing fits beyond limits or reach."""
    robot = load_robot(name)
    arm, model, form = arm_of(name), Model(robot), ClosedForm(Chain.of(robot))
    settings, rng, q = (1e-6, 1e-6, np.inf, 0.0), np.random.default_rng(4), np.empty(6)
    turns = TURN * np.arange(-2, 3)
    for goal, begin in rng.uniform(model.lower, model.upper, (40, 2, 6)):
        pose = model.pose(goal)
        code, _ = search.by_branches(arm, settings, *pose, begin, True, q)
        assert code == search.SOLVED and model.within(q)
        assert np.abs(model.error(pose, q)).max() < 1e-7
        least = np.inf
        for row in form.solve(*pose):
            copies = row[:, None] + turns
            fits = (copies >= model.lower[:, None] - 1e-9) & (copies <= model.upper[:, None] + 1e-9)
            if fits.any(axis=1).all():
                apart = np.where(fits, np.abs(copies - begin[:, None]), np.inf).min(axis=1)
                least = min(least, float(apart @ apart))
        away = float((q - begin) @ (q - begin))
        assert away == pytest.approx(least, abs=1e-6)


def narrowed(q: np.ndarray, room: float) -> tuple:
    """The seven-joint arm with so little room about a posture that only its own branch fits."""
    (steps, hinge, _, _), *rest = arm_of("iiwa14")
    return (steps, hinge, q - room, q + room), *rest


POSTURES = np.random.default_rng(5).uniform(0.3, 1.2, (6, 7)) * np.array([1, 1, 1, -1, 1, 1, 1])
ANY_ELBOW = (1e-6, 1e-6, np.inf, 0.0)


@pytest.mark.parametrize("posture", POSTURES)
def test_elbow_angles_are_tried_all_round_and_the_one_nearest_the_limits_is_told(posture) -> None:
    """48 of them, from the start's own or from the highest: one is near enough, or nearly so."""
    model, q, step = Model(load_robot("iiwa14")), np.empty(7), TURN / 48
    pose, wide, tight = model.pose(posture), narrowed(posture, 0.3), narrowed(posture, 1e-3)
    psi = search.elbow_angle(wide, posture)
    code, _ = search.by_branches(wide, ANY_ELBOW, *pose, posture, False, q)
    assert code == search.SOLVED and np.abs(q - posture).max() <= 0.3
    assert np.abs(model.error(pose, q)).max() < 1e-7
    code, angle = search.by_branches(tight, ANY_ELBOW, *pose, posture, False, q)
    apart = abs(np.remainder(angle - psi + np.pi, TURN) - np.pi)
    near = abs(np.remainder(psi / step + 0.5, 1.0) - 0.5) * step
    if near > 0.01:
        assert code == search.LIMITED and apart == pytest.approx(near, abs=1e-6)
        # a search between the angles that were tried finds what lies there
        assert search.between(tight, *pose, posture, angle, q)
        assert np.abs(q - posture).max() <= 1e-3 + 1e-12
        assert np.abs(model.error(pose, q)).max() < 1e-7
    # a warm start begins at its own elbow angle, and its posture is the nearest answer
    code, _ = search.by_branches(tight, ANY_ELBOW, *pose, posture, True, q)
    assert code == search.SOLVED
    np.testing.assert_allclose(q, posture, atol=1e-6)
    far = pose.position + [5.0, 0.0, 0.0]
    code, _ = search.by_branches(wide, ANY_ELBOW, far, pose.rotation, posture, True, q)
    assert code == search.UNREACHABLE


@pytest.mark.parametrize("posture", POSTURES[:3])
def test_a_search_between_elbow_angles_reaches_one_step_to_either_side(posture) -> None:
    """And no further."""
    pose, q = Model(load_robot("iiwa14")).pose(posture), np.empty(7)
    tight = narrowed(posture, 2e-3)
    psi = search.elbow_angle(tight, posture)
    for share, found in ((0.0, True), (0.5, True), (0.9, True), (1.2, False), (1.9, False)):
        for side in (1.0, -1.0):
            start = psi + side * share * TURN / 48
            assert search.between(tight, *pose, posture, start, q) is found


@pytest.mark.parametrize("reachable", [False, True])
def test_the_closest_pose_is_no_worse_than_from_the_start_and_its_steps_are_the_longest(
    reachable: bool,
) -> None:
    """A pose out of reach; the reported error is the one that the joints have."""
    arm, model = arm_of("lwa4p"), Model(load_robot("lwa4p"))
    chain, begin = arm[0], np.array([0.3, 0.5, -0.8, 0.2, 0.6, 0.1])
    far, turned = np.array([0.9, 0.4, 0.5]), rotation_from_vector(np.array([0.4, 0.2, 1.0]))
    tolerance, q, own = (1e-6, 1e-6), np.empty(6), begin.copy()
    linear, angular, steps = search.approach(chain, far, turned, own, 100, 1e-4, tolerance)
    found = search.closest(arm, ANY_ELBOW, far, turned, begin, reachable, q)
    assert found[0] == (search.LIMITED if reachable else search.UNREACHABLE)
    error = model.error(Pose(far, turned), q)
    sizes = np.linalg.norm(error[:3]), np.linalg.norm(error[3:])
    assert found[1:3] == pytest.approx(sizes, abs=1e-7) and model.within(q)
    assert sizes[0] ** 2 + (0.01 * sizes[1]) ** 2 <= linear**2 + (0.01 * angular) ** 2 + 1e-9
    assert steps <= found[3] <= 250
    # near the edge of its reach, it comes as far as it can: shoulder to tool, stretched
    reach = np.linalg.norm(far - [0.0, 0.0, 0.205]) - sizes[0]
    assert reach == pytest.approx(0.35 + 0.305 + 0.075, abs=0.01)


def test_restarts_tell_the_longest_descent_and_a_closest_pose_inside_the_limits() -> None:
    """Three slides: too far for the limits, and a turn that no slide makes."""
    arm, model = arm_of("point3"), Model(load_robot("point3"))
    lower, upper = arm[0][2:]
    begin, tolerance = 0.5 * (lower + upper), (1e-6, 1e-6)
    home = model.pose(begin)
    outside = home.position + 1.5 * (upper - begin)
    for position, turn, code, left in (
        (outside, 0.0, search.LIMITED, 0.5 * np.linalg.norm(upper - begin)),
        (home.position, 0.3, search.UNREACHABLE, 0.0),
    ):
        rotation = home.rotation @ rotation_from_vector(np.array([turn, 0.0, 0.0]))
        q, own = begin.copy(), begin.copy()
        *_, steps = search.solve_from(arm[0], position, rotation, own, tolerance)
        found = search.restart(arm, ANY_ELBOW, position, rotation, begin, q)
        assert found[0] == code and model.within(q) and found[3] >= steps > 0
        assert found[1] == pytest.approx(left, abs=1e-6)
        assert found[2] == pytest.approx(turn, abs=1e-6)


@pytest.mark.parametrize(("stretch", "valid"), [(1.0004, True), (1.0006, False)])
def test_a_rotation_may_be_off_by_a_thousandth(stretch: float, valid: bool) -> None:
    """In the length of its rows and between them."""
    R = rotation_from_vector(np.array([0.4, -0.2, 0.9]))
    for row in range(3):
        scaled, sheared = R.copy(), R.copy()
        scaled[row] *= stretch
        sheared[row] += 2.0 * (stretch - 1.0) * R[row - 1]
        for matrix in (scaled, sheared):
            assert bool(search._valid(np.zeros(3), matrix)) is valid
    assert not search._valid(np.array([0.0, np.inf, 0.0]), R)


def test_a_start_is_held_if_the_answer_is_further_away_than_allowed() -> None:
    """In any joint and sense; the error is then that of the start."""
    arm, model = arm_of("lwa4p"), Model(load_robot("lwa4p"))
    begin = np.array([0.3, 0.5, -0.8, 0.2, 0.6, 0.1])
    pose = model.pose(begin + 0.2)
    error = model.error(pose, begin)
    for joint in range(6):
        for step, held in ((0.0999, False), (-0.0999, False), (0.1001, True), (-0.1001, True)):
            q = begin + step * np.eye(6)[joint]
            was, linear, angular = search.hold(arm, *pose, begin, 0.1, q)
            assert was is held and bool((q == begin).all()) is held
            if held:
                sizes = np.linalg.norm(error[:3]), np.linalg.norm(error[3:])
                assert (linear, angular) == pytest.approx(sizes, abs=1e-9)


@given(
    row=st.floats(-9.0, 9.0),
    begin=st.floats(0.0, 1.0),
    lower=st.floats(-6.0, -0.5),
    upper=st.floats(0.5, 6.0),
)
def test_a_hinge_is_turned_to_where_it_breaks_its_limits_least(row, begin, lower, upper) -> None:
    """Of all angles that are the same to the tool."""
    limits = np.array([lower]), np.array([upper])
    angle, start = np.array([row]), np.array([lower + begin * (upper - lower)])
    worst = search._fit(angle, start, *limits, np.array([True]))
    same = row + 2.0 * np.pi * np.arange(-3, 4)
    least = np.maximum(np.maximum(lower - same, same - upper), 0.0).min()
    assert worst == pytest.approx(least, abs=1e-9)
    assert (angle[0] - row) / (2.0 * np.pi) == pytest.approx(
        round((angle[0] - row) / (2.0 * np.pi)), abs=1e-9
    )

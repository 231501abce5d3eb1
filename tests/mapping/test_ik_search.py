"""The stages of the search: the elbow, the branches, the best of them, and further starts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import qmc

from farhand.mapping.ik import Chain, Model, Solver, search
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

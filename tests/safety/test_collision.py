"""Collision: only a stuck tool retreats, away from what it hit, and then waits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.safety.retreating import CollisionRetreat, RetreatPhase

DT = 0.01
PUSH = np.array([0.0, 0.0, 80.0])  # a floor, on a tool that presses down


def stuck(
    guard: CollisionRetreat,
    steps: int,
    force: np.ndarray = PUSH,
    speed: float = 0.0,
    commanded: float = 0.1,
):
    """The last answer after so many steps in the same place."""
    for _ in range(steps):
        goal = guard.step(np.zeros(3), speed, commanded, force, DT)
    return goal


@pytest.mark.parametrize("kind", [{"force": 0.7 * PUSH}, {"speed": 0.01}, {"commanded": 0.0}])
def test_a_tool_that_is_not_stuck_stays_in_the_operators_hands(kind):
    """Pressing lightly, still moving, or not commanded to move."""
    guard = CollisionRetreat()
    assert stuck(guard, 100, **kind) is None and guard.phase is RetreatPhase.CLEAR


def test_a_short_blow_is_not_a_collision():
    """The patience starts again each time; meanwhile the tool is held, however slow the command."""
    guard = CollisionRetreat()
    for _ in range(10):
        np.testing.assert_array_equal(stuck(guard, 1), np.zeros(3))
        np.testing.assert_array_equal(stuck(guard, 3, commanded=0.0), np.zeros(3))
        assert guard.phase is RetreatPhase.CLEAR
        assert stuck(guard, 1, 0.0 * PUSH) is None


@given(
    st.tuples(st.floats(-1, 1), st.floats(-1, 1), st.floats(-1, 1)).filter(
        lambda d: np.linalg.norm(d) > 0.1
    )
)
def test_the_retreat_goes_out_of_the_obstacle(direction):
    """Along the force on the tool, at its speed."""
    force = 80.0 * np.array(direction) / np.linalg.norm(direction)
    guard = CollisionRetreat()
    start = stuck(guard, 6, force)
    after = stuck(guard, 10, force)
    np.testing.assert_allclose(after - start, 10 * DT * 0.020 * force / 80.0, atol=1e-12)


def test_the_distance_counts_from_where_contact_ends_and_then_the_tool_is_held():
    """An arm that yields has pushed its joints past the surface."""
    guard = CollisionRetreat()
    stuck(guard, 6)
    pressed = stuck(guard, 100).copy()
    assert guard.phase is RetreatPhase.RETREATING
    free = stuck(guard, 60, 0.0 * PUSH).copy()
    assert guard.phase is RetreatPhase.HOLDING
    assert free[2] - pressed[2] == pytest.approx(0.010)
    np.testing.assert_array_equal(stuck(guard, 100), free)
    assert guard.peak == pytest.approx(80.0)


def test_a_tool_that_still_presses_a_little_has_not_come_free():
    """30 N is no collision any more, but still contact: the distance does not count yet."""
    guard = CollisionRetreat()
    stuck(guard, 6)
    pressed = stuck(guard, 100, 0.375 * PUSH).copy()
    assert guard.phase is RetreatPhase.RETREATING
    free = stuck(guard, 60, 0.0 * PUSH)
    assert free[2] - pressed[2] == pytest.approx(0.010)


def test_only_engaging_ends_the_hold():
    """Then the next collision is a new one."""
    guard = CollisionRetreat()
    stuck(guard, 6)
    stuck(guard, 60, 0.0 * PUSH)
    guard.engage()
    stuck(guard, 4)
    assert guard.phase is RetreatPhase.CLEAR
    stuck(guard, 2)
    assert guard.phase is RetreatPhase.RETREATING


def test_a_force_that_never_ceases_does_not_lead_the_tool_away_for_ever():
    """A sensor that is wrong: the retreat ends at its reach."""
    guard = CollisionRetreat(reach=0.03)
    stuck(guard, 1000)
    assert guard.phase is RetreatPhase.HOLDING
    assert np.linalg.norm(guard.target) == pytest.approx(0.03, abs=guard.speed * DT)


def test_a_retreat_that_is_asked_for_without_a_force_just_holds():
    """There is no direction to go in."""
    guard = CollisionRetreat()
    guard.begin(np.ones(3), np.array([0.0, 0.0, 1.0]))
    assert guard.phase is RetreatPhase.HOLDING
    np.testing.assert_array_equal(stuck(guard, 5), np.ones(3))


def test_a_suspected_tool_is_let_go_when_the_force_has_fallen_to_half():
    """Of the force of a collision, 60 N: not before."""
    for force, held in ((31.0, True), (29.0, False)):
        guard = CollisionRetreat()
        stuck(guard, 2)
        answer = stuck(guard, 1, np.array([0.0, force, 0.0]), commanded=0.0)
        assert (answer is not None) is held
        assert guard.phase is RetreatPhase.CLEAR

"""A goal may jump; the joints that go to it may not."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.control.trajectory.playout import BoundedPlayout

DT = 1e-3
SPEED, ACCELERATION = np.array([1.0, 0.5, 2.0]), np.array([4.0, 1.0, 10.0])


def play(goals, playout=None, pace=1.0):
    """Positions and velocities on the way to a goal per tick."""
    playout = playout or BoundedPlayout(SPEED, ACCELERATION)
    rows = []
    for goal in goals:
        playout.step(goal - playout.q, DT, pace)
        rows.append((playout.q.copy(), playout.v.copy()))
    q, v = zip(*rows, strict=True)
    return np.array(q), np.array(v)


@pytest.mark.parametrize("seed", range(5))
def test_no_goal_makes_a_joint_faster_than_its_limits(seed):
    """Goals that jump at random, twice a second: speed and acceleration stay in bounds."""
    jumps = np.random.default_rng(seed).uniform(-3.0, 3.0, (20, 3))
    _, v = play(np.repeat(jumps, 500, axis=0))
    assert (np.abs(v) <= SPEED + 1e-12).all()
    assert (np.abs(np.diff(v, axis=0, prepend=0.0)) <= ACCELERATION * DT + 1e-12).all()
    # it does use them
    assert (np.abs(v).max(axis=0) > 0.9 * SPEED).any()


def test_a_goal_that_stands_is_reached_by_all_joints_together_without_overshoot():
    """And at rest."""
    goal = np.array([1.0, -0.3, 0.5])
    q, v = play(np.tile(goal, (4000, 1)))
    np.testing.assert_allclose(q[-1], goal, atol=1e-6)
    assert np.abs(v[-1]).max() < 1e-5
    assert ((q - goal) * np.sign(goal) <= 1e-9).all()
    arrived = (np.abs(q - goal) < 0.05 * np.abs(goal)).argmax(axis=0)
    assert np.ptp(arrived) < 0.02 / DT


def test_a_joint_that_is_there_already_does_not_hold_up_the_others():
    """One joint moves, two stand."""
    q, _ = play(np.tile([0.5, 0.0, 0.0], (2000, 1)))
    np.testing.assert_allclose(q[-1], [0.5, 0.0, 0.0], atol=1e-6)


def test_a_goal_that_moves_evenly_is_followed_evenly():
    """At its speed, later by 1/ω = 50 ms, and by what the slowest joint needs to stop."""
    t = DT * np.arange(1, 3001)[:, None]
    fast = 0.2 / (2.0 * 1.0) + 1.0 / (2.0 * 20.0**2 * 0.2)
    for rate, late in (([0.1, -0.04, 0.1], 0.05), ([0.4, -0.2, 0.1], fast)):
        q, v = play(t * rate)
        np.testing.assert_allclose(v[1500:], np.tile(rate, (1500, 1)), rtol=1e-3)
        np.testing.assert_allclose(q[-1], (t[-1] - late) * rate, atol=1e-3)


def test_a_goal_that_stops_in_its_way_is_not_run_past_its_last_place():
    """A stream that stops: the joints stand still where its last goal is."""
    t = DT * np.arange(1, 1001)[:, None]
    goals = np.vstack([0.3 * t * np.ones(3), np.full((1000, 3), 0.3)])
    q, v = play(goals)
    assert q.max() <= 0.3 + 1e-9
    assert np.abs(v[-1]).max() < 1e-4
    np.testing.assert_allclose(q[-1], 0.3, atol=1e-4)


def test_without_pace_the_joints_brake_and_wait():
    """And go on when they may again."""
    goal = np.full(3, 1.0)
    playout = BoundedPlayout(SPEED, ACCELERATION)
    play(np.tile(goal, (500, 1)), playout)
    _, v = play(np.tile(goal, (1000, 1)), playout, pace=0.0)
    assert np.abs(v[-1]).max() < 1e-9
    q, _ = play(np.tile(goal, (4000, 1)), playout)
    np.testing.assert_allclose(q[-1], goal, atol=1e-5)

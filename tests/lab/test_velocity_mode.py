"""Velocity mode: what it asks of the joints, and what its guard keeps it from asking."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.errors import BadValue
from farhand_lab.humanoid.velocity_mode import MeanVelocity, VelocityMode

Q = np.radians([30.0, 40.0, 60.0])


def test_the_joints_move_the_wrist_as_the_hand_moves_times_the_scale() -> None:
    """J q̇ = k v away from singular postures."""
    mode, v = VelocityMode(scale=3.0), np.array([0.01, -0.02, 0.03])
    told = mode.step(v, Q)
    np.testing.assert_allclose(mode.chain.jacobian(Q) @ told.wanted, 3.0 * v, atol=1e-12)
    assert not told.singular


def test_a_joint_goes_to_the_limit_ahead_of_it_and_a_resting_hand_keeps_the_posture() -> None:
    """The published trick."""
    mode = VelocityMode()
    told = mode.step(np.array([0.05, 0.0, 0.0]), Q)
    ahead = np.where(told.wanted > 0.0, mode.chain.highest, mode.chain.lowest)
    np.testing.assert_array_equal(told.targets, ahead)
    rest = mode.step(np.zeros(3), Q)
    np.testing.assert_array_equal(rest.targets, Q)
    assert not rest.speeds.any()


@pytest.mark.parametrize("elbow", [0.0, 0.1, 1.0])
def test_the_guard_keeps_every_joint_within_its_servo(elbow: float) -> None:
    """However fast the hand and however straight the elbow."""
    mode = VelocityMode()
    told = mode.step(np.array([2.0, 1.0, -3.0]), np.radians([30.0, 40.0, elbow]))
    assert (told.speeds <= mode.top + 1e-9).all()
    assert told.singular


def test_the_mean_of_a_steady_speed_is_that_speed_once_the_window_is_full() -> None:
    """And before that less, as if the hand had rested."""
    mean = MeanVelocity(4)
    found = [float(mean.step(np.array([0.002 * k]), 1e-3)[0]) for k in range(8)]
    np.testing.assert_allclose(found, [0.0, 0.5, 1.0, 1.5, 2.0, 2.0, 2.0, 2.0], atol=1e-12)


def test_a_window_of_nothing_is_refused() -> None:
    """One line."""
    with pytest.raises(BadValue, match="window"):
        MeanVelocity(0)

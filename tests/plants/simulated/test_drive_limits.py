"""Drive limits: what is inside them is taken, what is beyond is named by its joint."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.plants.simulated.velocity import POWERBALL_STEP, POWERBALL_VELOCITY, DriveLimits

REST = np.zeros(6)


@given(st.lists(st.floats(-1.0, 1.0), min_size=6, max_size=6))
def test_a_command_inside_both_limits_is_taken(shares):
    """However the six shares are chosen."""
    limits = DriveLimits()
    last = np.array(shares) * (limits.velocity_limit - limits.step_limit)
    assert limits.objection(last + np.array(shares) * limits.step_limit, last) is None


@pytest.mark.parametrize("joint", range(6))
def test_a_step_of_1_1_times_the_limit_names_the_joint(joint):
    """The published protocol: one joint, a tenth too much."""
    command = REST.copy()
    command[joint] = 1.1 * POWERBALL_STEP[joint]
    assert f"joint {joint + 1} switched the arm off" in (
        DriveLimits().objection(command, REST) or ""
    )


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1.01])
def test_too_fast_and_not_a_number_are_beyond_the_limit(wrong):
    """From a command that was allowed just before."""
    last = np.array(POWERBALL_VELOCITY)
    command = last.copy()
    command[5] = wrong
    assert "joint 6" in (DriveLimits().objection(command, last) or "")


def test_leading_axes_are_independent_arms():
    """One of three arms breaks a limit; the flags say which."""
    commands = np.zeros((3, 6))
    commands[1, 2] = 0.07
    fast, steep = DriveLimits().breaches(commands, np.zeros((3, 6)))
    assert not fast.any()
    assert np.argwhere(steep).tolist() == [[1, 2]]

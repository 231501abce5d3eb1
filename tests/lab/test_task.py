"""Task metrics: against closed forms."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from farhand.errors import BadValue
from farhand_lab.youbot.measures import judge_task

T = np.linspace(0.0, 2.0, 2001)


def test_a_task_is_done_when_the_goal_is_reached_for_good():
    """An overshoot out of the tolerance counts until it is over."""
    position = (1.0 - np.exp(-2.0 * T) * np.cos(10.0 * T))[:, None]
    result = judge_task(T, position, np.zeros((len(T), 1)), np.ones(1), 0.1)
    away = np.abs(position[:, 0] - 1.0) > 0.1
    assert result.completion_time == T[np.flatnonzero(away)[-1] + 1] and result.completed


def test_passing_through_the_goal_is_not_arriving():
    """And JSON has no infinity."""
    result = judge_task(T, T[:, None], np.zeros((len(T), 1)), np.ones(1), 0.1)
    assert result.completion_time == math.inf and not result.completed
    assert json.loads(json.dumps(result.to_json()))["completion_time"]["value"] is None


@pytest.mark.parametrize("rate", [100, 1000])
def test_the_integral_of_squared_force_does_not_depend_on_the_rate_and_the_sum_does(rate):
    """A constant force of (3, 4) N for 2 s: 25 N² × 2 s."""
    t = np.linspace(0.0, 2.0, 2 * rate + 1)
    force = np.tile([3.0, 4.0], (len(t), 1))
    result = judge_task(t, np.zeros((len(t), 2)), force, np.zeros(2), 0.1)
    assert result.largest_force == pytest.approx(
        5.0
    ) and result.squared_force_time == pytest.approx(50.0)
    assert (
        result.squared_force_sum == pytest.approx(25.0 * len(t)) and result.completion_time == 0.0
    )


def test_arrays_of_unlike_length_are_refused():
    """With their lengths."""
    with pytest.raises(BadValue, match="2001, 5 and 2001"):
        judge_task(T, np.zeros((5, 1)), np.zeros((2001, 1)), np.zeros(1), 0.1)

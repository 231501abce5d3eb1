"""Tunables: stages of the stiffness, and live changes without jerks."""

from __future__ import annotations

import pytest

from farhand.control.haptic.engage import Tunables
from farhand.errors import OutOfRange
from farhand.parameters import assign


def test_the_stiffness_goes_from_slack_by_soft_to_full():
    """Slack and soft at once, full at the slew."""
    tunables = Tunables()
    assert (tunables.kt.value, tunables.kr.value) == (0.0, 0.0)
    tunables.enter("soft")
    assert (tunables.kt.value, tunables.kr.value) == (100.0, 10.0)
    tunables.enter("full")
    tunables.step(1.0)
    assert (tunables.kt.value, tunables.kr.value) == (200.0, 15.0) and not tunables.settled
    for _ in range(4):
        tunables.step(1.0)
    assert (tunables.kt.value, tunables.kr.value) == (600.0, 30.0) and not tunables.settled
    tunables.step(1.0)
    assert (tunables.kt.value, tunables.kr.value) == (700.0, 30.0) and tunables.settled


def test_a_live_change_slides_from_the_present_value():
    """Up and down, while the ramp is still under way."""
    tunables = Tunables()
    tunables.enter("full")
    tunables.step(1.0)
    assign({"t": tunables}, "t.stiffness", 50.0)
    assert tunables.kt.value == 100.0
    tunables.step(0.1)
    assert tunables.kt.value == pytest.approx(90.0)


def test_speed_and_divisor_slide_as_well():
    """Each at its own slew."""
    tunables = Tunables()
    assign({"t": tunables}, "t.speed", 0.2)
    assign({"t": tunables}, "t.force_divisor", 5.0)
    tunables.step(0.1)
    assert (tunables.v.value, tunables.kf.value) == (pytest.approx(0.15), pytest.approx(9.0))
    tunables.step(1.0)
    assert (tunables.v.value, tunables.kf.value) == (0.2, 5.0)


def test_a_change_while_slack_waits_for_its_stage():
    """A new full stiffness must not stiffen a slack tool."""
    tunables = Tunables()
    assign({"t": tunables}, "t.stiffness", 500.0)
    tunables.step(1.0)
    assert tunables.kt.value == 0.0


def test_a_divisor_that_would_amplify_is_refused():
    """Kf below 1 makes the hand stronger than the robot."""
    with pytest.raises(OutOfRange, match="force_divisor"):
        assign({"t": Tunables()}, "t.force_divisor", 0.1)

"""The makers' loop on two simulated buses: what friction fed forward and a full bus do."""

from __future__ import annotations

import pytest

from farhand_lab.openarm_shaking import STILL, ArmPair, run


def test_arms_with_the_friction_that_is_fed_forward_come_to_rest() -> None:
    found = run(ArmPair(seconds=0.7, motor_rate=1000.0))
    assert found.stopped is None and found.speed < STILL and found.age < 2e-3


def test_arms_with_half_of_it_do_not() -> None:
    """The torque against friction is more than the friction: what moves, moves on."""
    found = run(ArmPair(seconds=0.7, motor_rate=1000.0, true_friction=0.5))
    assert found.speed > 5 * STILL or found.stopped is not None


@pytest.mark.parametrize(("rate", "most"), [(400.0, 3e-3), (1000.0, 1.0)])
def test_on_classic_frames_at_1_khz_the_program_never_hears_the_second_motor(
    rate: float, most: float
) -> None:
    """Commands have the smaller identifiers and go before answers."""
    found = run(ArmPair(seconds=0.3, motor_rate=1000.0, rate=rate, fd=False))
    assert found.age < most
    if rate == 1000.0:
        assert found.age > 0.29 and found.oldest == 2

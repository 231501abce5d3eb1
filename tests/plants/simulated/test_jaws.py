"""Simulated jaws: they move as told, feel an object, and never crush harder than they can."""

from __future__ import annotations

import pytest

from farhand.plants.simulated.grippers import SimulatedJaws


def close(jaws: SimulatedJaws, seconds: float, speed: float = 0.02) -> None:
    """Close for so long."""
    for _ in range(round(1000 * seconds)):
        jaws.step(speed, 1e-3)


def test_the_jaws_travel_at_the_speed_they_are_told():
    """A second at 20 mm/s."""
    jaws = SimulatedJaws()
    close(jaws, 1.0)
    assert jaws.opening == pytest.approx(0.140 - 0.020)
    assert jaws.force == 0.0


def test_an_object_pushes_back_with_its_stiffness():
    """1 mm into 2 kN/m."""
    jaws = SimulatedJaws()
    close(jaws, (0.140 - 0.049) / 0.02)
    assert jaws.force == pytest.approx(2.0, rel=0.02)


def test_the_motor_stands_at_its_strongest():
    """However long it is told to close."""
    jaws = SimulatedJaws(object_stiffness=1e4)
    close(jaws, 20.0)
    assert jaws.force == pytest.approx(jaws.strongest)


def test_without_an_object_the_jaws_meet_and_open_to_their_stroke():
    """Both ends are reached and not passed."""
    jaws = SimulatedJaws(object_width=0.0)
    close(jaws, 20.0)
    assert (jaws.opening, jaws.force) == (0.0, 0.0)
    close(jaws, 20.0, -0.02)
    assert jaws.opening == jaws.stroke

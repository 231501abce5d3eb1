"""Gripper command: the ring gives the sign of the speed; closing keeps the force limit."""

from __future__ import annotations

import pytest

from farhand.control.haptic.gripper import GripperCommand
from farhand.errors import OutOfRange


def test_the_ring_gives_the_sign_of_the_speed():
    """Left opens, right closes, the middle stands."""
    command = GripperCommand(speed=0.02)
    assert [command.velocity(ring, 0.0) for ring in (-1, 0, 1)] == [-0.02, 0.0, 0.02]


def test_closing_holds_the_force_limit_and_gives_way_above_it():
    """Opening is never held up by the force."""
    command = GripperCommand(force_limit=2.0, gain=0.005)
    assert command.velocity(1, 2.0) == 0.0
    assert command.velocity(1, 3.0) == pytest.approx(-0.005)
    assert command.velocity(1, 1e3) == -command.speed
    assert command.velocity(-1, 1e3) == -command.speed


def test_without_a_force_reading_the_ring_alone_decides():
    """No measurement is not zero force, but nothing can be limited by it."""
    assert GripperCommand().velocity(1, None) == GripperCommand().speed


@pytest.mark.parametrize("stiffness", [200.0, 2000.0, 5000.0])
def test_an_object_is_closed_to_the_limit_without_overshoot(stiffness):
    """First-order approach for a fresh reading, at 100 Hz."""
    command, closed, force, largest = GripperCommand(force_limit=2.0), 0.0, 0.0, 0.0
    for _ in range(1000):
        closed += 0.01 * command.velocity(1, force)
        force = stiffness * max(closed - 0.003, 0.0)
        largest = max(largest, force)
    assert force == pytest.approx(2.0, abs=1e-3) and largest <= 2.0 + 1e-6


def test_a_ring_between_its_switches_is_an_error():
    """There are three positions."""
    with pytest.raises(OutOfRange, match="ring"):
        GripperCommand().velocity(2, 0.0)

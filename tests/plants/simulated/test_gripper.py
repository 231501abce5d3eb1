"""The gripper drive: it gets there at its own speed, stays within its travel, and refuses what is
not a number.
"""

from __future__ import annotations

import pytest

from farhand.errors import BadValue
from farhand.plants.simulated.grippers import GripperDrive


def test_the_jaws_go_to_the_command_at_their_speed() -> None:
    """20 mm at 20 mm/s take a second, and not a tick more."""
    gripper = GripperDrive()
    gripper.command(0.02)
    openings = [gripper.step(1e-3) for _ in range(1100)]
    assert openings[499] == pytest.approx(0.01)
    assert openings[-1] == 0.02 and openings[989] < 0.02


def test_a_command_beyond_the_travel_ends_at_its_end() -> None:
    """23 mm, and zero."""
    gripper = GripperDrive()
    for wanted, reached in ((0.05, 0.023), (-1.0, 0.0)):
        gripper.command(wanted)
        for _ in range(2000):
            gripper.step(1e-3)
        assert gripper.position == pytest.approx(reached, abs=1e-12)


def test_what_is_not_a_number_is_refused() -> None:
    """One line with the value."""
    with pytest.raises(BadValue, match="nan"):
        GripperDrive().command(float("nan"))

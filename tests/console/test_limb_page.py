"""A place can be tried out without moving the limb, and the answer is what would be sent."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.console.tuning import try_place
from farhand.mapping.limbs import ArmChain


def test_a_place_in_reach_gives_the_angles_of_the_closed_form():
    """In degrees, in the order of the joints."""
    angles = np.degrees(ArmChain(side=-1).solve(np.array([0.12, -0.1, -0.08]), np.zeros(3)).q)
    assert try_place("right-arm", "0.12,-0.1,-0.08") == "solved: " + ", ".join(
        f"{angle:.1f}°" for angle in angles
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("0.9,0,0", "unreachable"),
        ("a,b,c", "three numbers"),
        ("1,2", "three numbers"),
        ("nan,0,0", "invalid"),
    ],
)
def test_what_cannot_be_reached_or_read_is_said_in_words(text, why):
    """And nothing is raised into the page."""
    assert why in try_place("left-leg", text)

"""Colours that people with any colour vision can distinguish (Okabe and Ito, 2008)."""

from __future__ import annotations

Colour = tuple[int, int, int]

ORANGE: Colour = (230, 159, 0)
SKY: Colour = (86, 180, 233)
GREEN: Colour = (0, 158, 115)
BLUE: Colour = (0, 114, 178)
VERMILION: Colour = (213, 94, 0)
PURPLE: Colour = (204, 121, 167)
GREY: Colour = (110, 110, 120)
STOP: Colour = (200, 30, 30)

ROLES = {"leader": VERMILION, "follower": BLUE}
"""Colour of what belongs to one side: its force, its trail, its curves."""

HAND, COUPLING, WALL, SPRING, LIMITS = GREEN, SKY, PURPLE, ORANGE, GREY


def role_colour(role: str) -> Colour:
    """The colour of a role; grey for others."""
    return ROLES.get(role, GREY)


def css(colour: Colour) -> str:
    """A colour as a style sheet has it."""
    return f"rgb{colour}"

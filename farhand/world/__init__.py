"""Simulated physics: robots in one MuJoCo model, and what touches their tools."""

from farhand.world.contacts import ToolContact
from farhand.world.objects import Grip, Jaws, add_pads, box
from farhand.world.touches import (
    CompressionSpring,
    ForceHand,
    ForcePulse,
    GroundSpring,
    GuidedSpring,
    ImpedanceHand,
    Tie,
    Tool,
    ToolSpring,
    Touch,
    Wall,
)
from farhand.world.world import Placed, Port, World

__all__ = [
    "CompressionSpring",
    "ForceHand",
    "ForcePulse",
    "Grip",
    "GroundSpring",
    "GuidedSpring",
    "ImpedanceHand",
    "Jaws",
    "Placed",
    "Port",
    "Tie",
    "Tool",
    "ToolContact",
    "ToolSpring",
    "Touch",
    "Wall",
    "World",
    "add_pads",
    "box",
]

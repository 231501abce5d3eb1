"""The simulated physics: robots in one MuJoCo model, and the hands, walls and springs that touch their tools."""

from farhand.world.hands import ForceHand, ForcePulse, ImpedanceHand
from farhand.world.jaws import Jaws, add_pads
from farhand.world.objects import Grip, box
from farhand.world.springs import CompressionSpring, GroundSpring, GuidedSpring, ToolSpring
from farhand.world.touch import Tie, Tool, Touch
from farhand.world.walls import Wall
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
    "ToolSpring",
    "Touch",
    "Wall",
    "World",
    "add_pads",
    "box",
]

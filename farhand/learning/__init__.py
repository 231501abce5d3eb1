"""Skills from demonstrations: learn a movement with its forces from recordings, perform it again.

Two methods, dynamic and probabilistic movement primitives, model pose and force over one phase.
Both can be adapted to a new goal or a via-point.
"""

from farhand.learning.demonstration import Demonstration, demonstrations_in
from farhand.learning.skill import METHODS, Skill, learn, load_skill

__all__ = ["METHODS", "Demonstration", "Skill", "demonstrations_in", "learn", "load_skill"]

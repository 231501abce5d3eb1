"""Skills from demonstrations: recordings in, a movement with its forces out, performed again where things have moved.

A skill is learnt by one of two methods, dynamic movement primitives or probabilistic movement
primitives. Both carry pose and force over one phase, and both can be bent to a new goal or through
a via-point.
"""

from farhand.learning.demonstration import Demonstration, demonstrations_in
from farhand.learning.skill import METHODS, Skill, learn, load_skill

__all__ = ["METHODS", "Demonstration", "Skill", "demonstrations_in", "learn", "load_skill"]

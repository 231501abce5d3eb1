"""Dead-man switch: nothing is coupled while nobody holds it."""

from __future__ import annotations

from dataclasses import dataclass

from farhand.parameters import parameter


@dataclass
class Switch:
    """A switch that the operator holds for as long as the follower may move."""

    held: bool = parameter(True, "-", "whether the operator holds the dead-man switch")

"""Board: a surface in front of a limb that is known by three touches, for drawing on it without seeing its depth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.control.haptic.haptic_objects import HalfSpace
from farhand.errors import BadValue
from farhand.parameters import parameter

Array = np.ndarray

CORNERS = 3


@dataclass
class Board:
    """Three places that the limb's end touched make a plane, free on the side that it came from.

    Attributes:
        surface: the plane in the limb's base, once there is one.
    """

    touches: int = parameter(
        0, "-", "one more takes this place as a corner of the board; 0 forgets it", 0, CORNERS
    )

    def __post_init__(self) -> None:
        """No board yet."""
        self.surface: HalfSpace | None = None
        self._corners: list[Array] = []
        self._free: Array | None = None
        self._here: Array | None = None

    def see(self, place: Array) -> None:
        """Take note of where the limb's end is, in its base, [m]; where it is first is on the free side."""
        self._here = place
        if self._free is None:
            self._free = np.array(place)

    def refresh(self) -> None:
        """Take one corner more, or forget all.

        Raises:
            BadValue: a corner is left out, nothing leads the limb, or the three lie on a line.
        """
        known = len(self._corners)
        if self.touches == known:
            return
        if self.touches == 0:
            self._corners, self._free, self.surface = [], None, None
            return
        if self.touches != known + 1:
            raise BadValue(
                f"touches = {self.touches}: corner {known + 1} of the board comes next, 0 forgets it"
            )
        if self._here is None or self._free is None:
            raise BadValue("the pen leads no limb yet that could touch a board: engage first")
        corners = [*self._corners, np.array(self._here)]
        if len(corners) == CORNERS:
            self.surface = HalfSpace.through(
                corners[0], corners[1], corners[2], self._free, "board"
            )
        self._corners = corners

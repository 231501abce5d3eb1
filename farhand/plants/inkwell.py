"""Inkwell: the place a pen is put into to see whether its counters begin where they should."""

from __future__ import annotations

from dataclasses import dataclass

from farhand.parameters import parameter

REACH = 5e-3
"""How far from its origin a pen still counts as in its inkwell, [m]; assumed."""

VERDICTS = ("not checked", "good", "was off, now corrected", "not in its inkwell")
"""What a check may find; a recording has the index."""


@dataclass
class Inkwell:
    """A check of the counters, once for every time it is asked for.

    A device that is switched on in the wrong place counts from there. In its inkwell, at its origin, the true place is
    known: counters that are off by more than their own resolution are set right, others are left alone.

    Attributes:
        offset: by how much the counters are off on every axis, [m].
        check: whether a check is asked for; set it to False and True again for another one.
        verdict: index of what the last check found, in :data:`VERDICTS`.
    """

    offset: float = parameter(0.0, "m", "by how much the counters are off", -0.1, 0.1)
    check: bool = parameter(False, "-", "whether to check the counters, the pen in its inkwell")

    def __post_init__(self) -> None:
        """Nothing checked yet."""
        self.verdict, self._checked = 0, False

    @property
    def asked(self) -> bool:
        """Whether a check is due."""
        if not self.check:
            self._checked = False
        return self.check and not self._checked

    def look(self, away: float, resolution: float) -> None:
        """Check, the pen truly ``away`` [m] from its origin, its counters of a ``resolution`` [m]."""
        self._checked = True
        if away > REACH:
            self.verdict = 3
        elif abs(self.offset) > max(resolution, 1e-9):
            self.verdict, self.offset = 2, 0.0
        else:
            self.verdict = 1

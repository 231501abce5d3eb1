"""Contact: when a compensated force says that the tool touches something."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.parameters import parameter

Array = np.ndarray


@dataclass
class ContactDetector:
    """Contact where the force is longer than a threshold, until it is shorter than a lower one.

    Attributes:
        contact: whether there is contact now.
    """

    threshold: float = parameter(8.0, "N", "force from which on there is contact", 0.01, 10_000.0)
    release: float = parameter(6.0, "N", "force below which contact ends", 0.0, 10_000.0)

    def __post_init__(self) -> None:
        """Begin without contact."""
        self.contact = False

    def update(self, force: Array) -> bool:
        """Take the compensated force, [N], and say whether there is contact."""
        size = float(np.linalg.norm(force[:3]))
        self.contact = size > (self.release if self.contact else self.threshold)
        return self.contact

    def scan(self, forces: Array) -> Array:
        """The same for n forces at once, n × 3 or n × 6; starts from the present state."""
        size = np.linalg.norm(np.asarray(forces)[:, :3], axis=1)
        known = np.where(size > self.threshold, 1, np.where(size <= self.release, -1, 0))
        last = np.maximum.accumulate(np.where(known != 0, np.arange(len(known)), -1))
        found = np.where(last >= 0, known[np.maximum(last, 0)] > 0, self.contact)
        if len(found):
            self.contact = bool(found[-1])
        return found

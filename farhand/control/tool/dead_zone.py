"""Dead zone: small readings of a force cell made smaller, so that what its compensation leaves moves nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.parameters import parameter

Array = np.ndarray


@dataclass
class DeadZone:
    r"""Below c a reading counts less, above it fully: :math:`\mathrm{sgn}(p)\,c^{1-b} |p|^b` for :math:`|p| < c`.

    Odd, and continuous at c for any b ≥ 1. The published zone is a·p^b with a, b and c free; a is
    what makes it continuous. A blunt tool: it also weakens a gentle hand.
    """

    force: float = parameter(1.0, "N", "force below which a reading counts less", 0.0, 1e3)
    moment: float = parameter(0.1, "N·m", "moment below which a reading counts less", 0.0, 1e2)
    exponent: float = parameter(3.0, "-", "how much less: power of the reading", 1.0, 20.0)

    def __post_init__(self) -> None:
        """Prepare the widths."""
        self.refresh()

    def refresh(self) -> None:
        """Stack the widths of the six axes, [N] and [N·m]."""
        self.width = np.repeat([self.force, self.moment], 3)

    def apply(self, wrench: Array) -> Array:
        """The wrench that counts, [N] and [N·m]."""
        share = np.abs(wrench) / np.maximum(self.width, 1e-300)
        return wrench * np.minimum(share, 1.0) ** (self.exponent - 1.0)

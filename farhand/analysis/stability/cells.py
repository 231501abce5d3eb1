"""Compare prediction and simulation on a grid of rate, damping, encoder, delay, hand and law."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Literal

import numpy as np

from farhand.analysis.stability.limits import MAX_STIFFNESS, MIN_STIFFNESS
from farhand.analysis.stability.loop import HANDS, Contact, Loop, LoopTool
from farhand.analysis.stability.onset import Bump, onset, shakes
from farhand.analysis.stability.sampled_law import SampledLaw
from farhand.analysis.stability.spectrum import largest_stable, largest_stable_delay

TOLERANCE = 0.15
"""Largest relative error of the prediction, [-]."""

MAX_DELAY_S = 0.5
"""Delay one way up to which the search goes."""

Question = Literal["wall", "spring", "delay"]


@dataclass(frozen=True)
class Cell:
    """One loop and one question about it."""

    law: str  #: ``rendered-wall``, ``position-force`` or ``position-position``
    question: Question  #: what grows until the loop shakes: wall or spring stiffness, or delay
    rate: float  #: of the ticks, [Hz]
    damping: float  #: of the device for a rendered wall, else of the law, [N·s/m]
    quantum: float  #: encoder step, [m]
    delay: float  #: of the link one way, [s]; not used where the question is the delay
    hand: str  #: by name
    friction: float = 0.0  #: dry, of the leader, [N]

    @property
    def name(self) -> str:
        """All fields in one word."""
        values = asdict(self).values()
        return "/".join(f"{v:g}" if isinstance(v, float) else v for v in values)

    @property
    def bump(self) -> Bump:
        """The disturbance."""
        size = max(1e-4, 20.0 * self.quantum)
        return Bump(self.quantum, size, 10.0 * size)

    def loop(self, value: float) -> Loop:
        """The loop for a stiffness [N/m] or a delay [ticks]."""
        ticks = round(value) if self.question == "delay" else round(self.delay * self.rate)
        hand, period, follower = HANDS[self.hand], 1.0 / self.rate, LoopTool(1.0, 5.0)
        if self.law == "rendered-wall":
            device = LoopTool(0.5, self.damping, self.friction)
            return Loop(rendered_wall(value), device, follower, hand, Contact(1e3, 50.0), period)
        leader = LoopTool(0.5, 2.0, self.friction)
        if self.law == "position-force":
            wall = Contact(value if self.question == "wall" else 3000.0, 10.0)
            law = position_force(2000.0, 60.0, self.damping)
        else:
            wall = Contact(5000.0, 20.0)
            law = position_position(value if self.question == "spring" else 4000.0, self.damping)
        return Loop(law, leader, follower, hand, wall, period, ticks, 100.0)


def rendered_wall(stiffness: float, damping: float = 0.0) -> SampledLaw:
    """A wall that the leader's motors render."""
    return SampledLaw(np.array([[-stiffness, -damping, 0.0], [0.0, 0.0, 0.0]]), np.zeros((2, 3)))


def position_force(stiffness: float, damping: float, leader_damping: float) -> SampledLaw:
    """The position–force law along one axis."""
    on_follower = np.array([[stiffness, damping, 0.0], [-stiffness, -damping, 0.0]])
    return SampledLaw(np.array([[0.0, -leader_damping, 0.0], [0.0, 0.0, 1.0]]), on_follower)


def position_position(stiffness: float, damping: float) -> SampledLaw:
    """The position–position law along one axis."""
    on_follower = np.array([[stiffness, damping, 0.0], [-stiffness, -damping, 0.0]])
    return SampledLaw(-on_follower, on_follower)


def grid() -> list[Cell]:
    """All cells."""
    quanta, hands = (1e-6, 5e-6, 25e-6), ("soft", "relaxed", "firm")
    wall, both = ["rendered-wall"], ("position-force", "position-position")
    # Law, question, rates [Hz], dampings [N·s/m], encoder steps, delays [s], hands, friction [N].
    tables: list[tuple[Any, ...]] = [
        (wall, ["wall"], (500.0, 1000.0, 4000.0), (1.0, 5.0, 20.0), quanta, [0.0], hands),
        (wall, ["wall"], (1000.0,), (5.0,), quanta, [0.0], hands, (0.2, 1.0)),
        (both[:1], ["wall"], (500.0, 2000.0), (5.0, 40.0), quanta, (0.005, 0.02), hands),
        (both[1:], ["spring"], (500.0, 2000.0), (5.0, 20.0), quanta, (0.0, 0.01), hands),
        (both, ["delay"], (1000.0,), (10.0, 30.0), quanta, [0.0], hands),
    ]
    return [Cell(*row) for table in tables for row in product(*table)]


def judge(cell: Cell) -> dict[str, Any]:
    """Predict and simulate one cell: its fields, both limits, their ratio, if within tolerance.

    Stiffness is in [N/m], delay in [s] one way; None means that it never shakes within the range.
    """
    limits = (_delays if cell.question == "delay" else _stiffnesses)(cell)
    predicted, simulated = (value if math.isfinite(value) else None for value in limits)
    ratio = predicted / simulated if predicted is not None and simulated else None
    agree = predicted is simulated is None or (ratio is not None and abs(ratio - 1.0) <= TOLERANCE)
    numbers = {"predicted": predicted, "simulated": simulated, "ratio": ratio, "within": agree}
    return {**asdict(cell), **numbers}


def _stiffnesses(cell: Cell) -> tuple[float, float]:
    bump, rendered = cell.bump, cell.law == "rendered-wall"
    ends = MIN_STIFFNESS, MAX_STIFFNESS
    predicted = largest_stable(cell.loop, *ends, bump=bump.size, quanta=bump.cycle)
    return predicted, onset(lambda value: shakes(cell.loop(value), bump, rendered), *ends)


def _delays(cell: Cell) -> tuple[float, float]:
    bump, most = cell.bump, round(MAX_DELAY_S * cell.rate)
    predicted = largest_stable_delay(cell.loop(0.0), most, bump.size, bump.cycle)
    ticks = next((ticks for ticks in range(most) if shakes(cell.loop(ticks), bump)), math.inf)
    return (predicted + 1.0) / cell.rate, ticks / cell.rate

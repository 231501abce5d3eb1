"""The grid on which the prediction is held against simulation: rate, damping, quantisation, delay, hand, law."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Literal

import numpy as np

from farhand.analysis.stability.loop import HANDS, Contact, Loop, LoopTool
from farhand.analysis.stability.onset import Bump, onset, shakes
from farhand.analysis.stability.sampled_law import SampledLaw
from farhand.analysis.stability.spectrum import largest_stable, largest_stable_delay

TOLERANCE = 0.15
"""How far the prediction may be from the simulated onset, as a share of it, [-]."""

STIFFEST = 1e6
"""Stiffness up to which is looked, [N/m]."""

SOFTEST = 10.0
"""Stiffness from which is looked, [N/m]."""

LONGEST = 0.5
"""Delay one way up to which is looked, [s]."""

Question = Literal["wall", "spring", "delay"]


@dataclass(frozen=True)
class Cell:
    """One loop and one question about it.

    Attributes:
        law: ``rendered-wall``, ``position-force`` or ``position-position``.
        question: what is raised until the loop shakes: the wall's stiffness, the law's spring, or
            the delay.
        rate: of the ticks, [Hz].
        damping: of the device for a rendered wall, else of the law at the leader or in its spring,
            [N·s/m].
        quantum: encoder step, [m].
        delay: of the link one way, [s]; where the question is the delay, it is not used.
        hand: by name.
        friction: dry, of the leader, [N].
    """

    law: str
    question: Question
    rate: float
    damping: float
    quantum: float
    delay: float
    hand: str
    friction: float = 0.0

    @property
    def name(self) -> str:
        """All of it in one word, to tell cells apart."""
        return "/".join(
            f"{value:g}" if isinstance(value, float) else value for value in asdict(self).values()
        )

    @property
    def bump(self) -> Bump:
        """What is done to it."""
        size = max(1e-4, 20.0 * self.quantum)
        return Bump(self.quantum, size, 10.0 * size)

    def loop(self, value: float) -> Loop:
        """The loop for a stiffness [N/m] or a delay [ticks]."""
        ticks = round(value) if self.question == "delay" else round(self.delay * self.rate)
        hand, period, leader = HANDS[self.hand], 1.0 / self.rate, LoopTool(0.5, 2.0, self.friction)
        if self.law == "rendered-wall":
            device = LoopTool(0.5, self.damping, self.friction)
            return Loop(
                rendered_wall(value), device, LoopTool(1.0, 5.0), hand, Contact(1e3, 50.0), period
            )
        if self.law == "position-force":
            wall = Contact(value if self.question == "wall" else 3000.0, 10.0)
            law = position_force(2000.0, 60.0, self.damping)
            return Loop(law, leader, LoopTool(1.0, 5.0), hand, wall, period, ticks, 100.0)
        spring = value if self.question == "spring" else 4000.0
        law = position_position(spring, self.damping)
        return Loop(
            law, leader, LoopTool(1.0, 5.0), hand, Contact(5000.0, 20.0), period, ticks, 100.0
        )


def rendered_wall(stiffness: float, damping: float = 0.0) -> SampledLaw:
    """A wall that the leader's motors show by themselves."""
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
    """Every cell: what is asked, and of which loop."""
    quanta, hands = (1e-6, 5e-6, 25e-6), ("soft", "relaxed", "firm")
    rows: list[tuple[Any, ...]] = []
    rows += product(
        ["rendered-wall"], ["wall"], (500.0, 1000.0, 4000.0), (1.0, 5.0, 20.0), quanta, [0.0], hands
    )
    rows += product(
        ["rendered-wall"], ["wall"], (1000.0,), (5.0,), quanta, [0.0], hands, (0.2, 1.0)
    )
    rows += product(
        ["position-force"], ["wall"], (500.0, 2000.0), (5.0, 40.0), quanta, (0.005, 0.02), hands
    )
    rows += product(
        ["position-position"], ["spring"], (500.0, 2000.0), (5.0, 20.0), quanta, (0.0, 0.01), hands
    )
    laws, dampings = ("position-force", "position-position"), (10.0, 30.0)
    rows += product(laws, ["delay"], (1000.0,), dampings, quanta, [0.0], hands)
    return [Cell(*row) for row in rows]


def judge(cell: Cell) -> dict[str, Any]:
    """Predict and simulate one cell: the cell with both answers, their ratio and whether it is within tolerance.

    Stiffness is in [N/m], delay in [s] one way; None means that it never shakes within the range
    looked at.
    """
    answers = (_delays if cell.question == "delay" else _stiffnesses)(cell)
    predicted, simulated = (value if math.isfinite(value) else None for value in answers)
    ratio = predicted / simulated if predicted is not None and simulated else None
    agree = predicted is simulated is None or (ratio is not None and abs(ratio - 1.0) <= TOLERANCE)
    return {
        **asdict(cell),
        "predicted": predicted,
        "simulated": simulated,
        "ratio": ratio,
        "within": agree,
    }


def _stiffnesses(cell: Cell) -> tuple[float, float]:
    bump, rendered = cell.bump, cell.law == "rendered-wall"
    predicted = largest_stable(cell.loop, SOFTEST, STIFFEST, bump=bump.size, quanta=bump.cycle)
    return predicted, onset(
        lambda value: shakes(cell.loop(value), bump, rendered), SOFTEST, STIFFEST
    )


def _delays(cell: Cell) -> tuple[float, float]:
    bump, most = cell.bump, round(LONGEST * cell.rate)
    predicted = largest_stable_delay(cell.loop(0.0), most, bump.size, bump.cycle)
    found = next((ticks for ticks in range(most) if shakes(cell.loop(ticks), bump)), math.inf)
    return (predicted + 1.0) / cell.rate, found / cell.rate

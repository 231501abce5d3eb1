"""Operators against published human figures: ``python -m farhand_lab.people`` prints the verdicts.

The hand is free here: its path is where the tip is, so that only the person is judged. The
criteria were fixed before the first run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from farhand.spatial import Array
from farhand.tasks import Operator, Phase, make_person
from farhand.tasks.operator import PERIOD_NS
from farhand.tasks.task import SITE, TIP
from farhand.world import ImpedanceHand, Tool

DISTANCES, WIDTHS = (0.04, 0.08, 0.16, 0.32), (0.01, 0.02, 0.04)
"""Of aimed moves, [m]."""


@dataclass(frozen=True)
class HumanFigure:
    """One published figure, and what the operator gives."""

    name: str
    value: float
    unit: str
    low: float
    high: float
    source: str

    @property
    def verdict(self) -> str:
        """Whether it is within the published range."""
        return "pass" if self.low <= self.value <= self.high else "differs"


class Aiming:
    """A person with a free hand and a target that appears.

    Args:
        name: of the operator.
        distance: to the target, [m].
        width: of the target, [m].
        seed: of the person's scatter.
        appears: when the target is seen away from the hand, [s].
    """

    def __init__(
        self, name: str, distance: float, width: float, seed: int, appears: float = 1.0
    ) -> None:
        person = make_person(name)
        person.caution = 1.0
        self.hand = ImpedanceHand(stiffness=1e4, damping=1e3)
        self.appears, self.distance, self.now = appears, distance, 0.0
        self.left: float | None = None
        self.arrived: float | None = None
        self._half = 0.5 * width
        rng = np.random.default_rng([seed, round(1e4 * distance), round(1e4 * width)])
        self.operator = Operator(person, self.hand, self._look, 2, np.zeros(3), self._plan, rng)

    def _look(self, points: Array) -> None:
        self.hand.path.at(self.now)
        points[TIP] = self.hand.path.translation
        points[SITE] = (self.distance if self.now >= self.appears else 0.0, 0.0, 0.0)

    def _plan(self) -> Iterator[Phase]:
        yield Phase(lambda view: view.away(), self._half, until=lambda view: False)

    def run(self, seconds: float = 6.0) -> None:
        """Note when the hand leaves, and since when it rests in the target."""
        points = np.zeros((2, 3))
        for tick in range(round(seconds * 1e9 / PERIOD_NS)):
            self.now = tick * PERIOD_NS * 1e-9
            self.operator.step(tick * PERIOD_NS)
            self._look(points)
            if self.left is None and np.linalg.norm(points[TIP]) > 0.02 * self.distance:
                self.left = self.now
            inside = float(np.linalg.norm(points[TIP] - points[SITE])) < self._half
            if self.now > self.appears and not inside:
                self.arrived = None
            elif self.now > self.appears and self.arrived is None:
                self.arrived = self.now


def fitts(name: str, repetitions: int = 12) -> tuple[float, float]:
    """Slope [s/bit] and R² of movement time over log₂(2D/W)."""
    indices, times = [], []
    for distance in DISTANCES:
        for width in WIDTHS:
            took = []
            for seed in range(repetitions):
                trial = Aiming(name, distance, width, seed)
                trial.run()
                if trial.left is not None and trial.arrived is not None:
                    took.append(trial.arrived - trial.left)
            indices.append(np.log2(2.0 * distance / width))
            times.append(np.mean(took))
    slope, start = np.polyfit(indices, times, 1)
    rest = np.asarray(times) - (slope * np.asarray(indices) + start)
    return float(slope), float(1.0 - rest.var() / np.var(times))


def reaction(name: str, repetitions: int = 20) -> float:
    """Mean time from the appearance of a target to the first motion, [s]."""
    found = []
    for seed in range(repetitions):
        trial = Aiming(name, 0.16, 0.02, seed, appears=1.0 + 0.037 * seed)
        trial.run(3.0)
        assert trial.left is not None
        found.append(trial.left - trial.appears)
    return float(np.mean(found))


def impedance(name: str, push: float = 0.0) -> tuple[float, float]:
    """Stiffness and damping of a hand that pushes with a force, by moving what it holds.

    [N/m] and [N·s/m], means over the three directions.
    """
    hand = ImpedanceHand(stiffness=1e4, damping=1e3)
    felt = np.array([push, 0.0, 0.0])
    operator = Operator(
        make_person(name), hand, lambda points: None, 2, felt, lambda: iter(()), _quiet()
    )
    operator.step(0)
    hand.drag[:] = 0.0
    hand.refresh()
    tool, wrench = Tool(np.zeros(3), np.eye(3), np.zeros(6)), np.zeros(6)
    hand.push(tool, 0.0, wrench)
    stiffness, damping = [], []
    for axis in range(3):
        tool.position[axis] = 0.01
        hand.push(tool, 0.0, wrench)
        stiffness.append(-wrench[axis] / 0.01)
        tool.position[axis] = 0.0
        tool.twist[axis] = 0.1
        hand.push(tool, 0.0, wrench)
        damping.append(-wrench[axis] / 0.1)
        tool.twist[axis] = 0.0
    return float(np.mean(stiffness)), float(np.mean(damping))


def _quiet() -> np.random.Generator:
    return np.random.default_rng(0)


def figures(name: str = "expert", repetitions: int = 12) -> list[HumanFigure]:
    """Every figure of one operator."""
    slope, fit = fitts(name, repetitions)
    relaxed, damping = impedance(name)
    firm, _ = impedance(name, 10.0)
    return [
        HumanFigure(
            "movement time per bit", slope, "s/bit", 0.07, 0.25, "Fitts 1954; MacKenzie 1992"
        ),
        HumanFigure("straight over the index of difficulty, R²", fit, "-", 0.9, 1.0, "Fitts 1954"),
        HumanFigure("reaction to something seen", reaction(name), "s", 0.18, 0.35, "Welford 1980"),
        HumanFigure("stiffness at rest", relaxed, "N/m", 100.0, 500.0, "Tsuji et al. 1995"),
        HumanFigure("damping at rest", damping, "N·s/m", 5.0, 30.0, "Tsuji et al. 1995"),
        HumanFigure(
            "stiffness at 10 N over at rest", firm / relaxed, "-", 1.1, 3.0, "Gomi, Osu 1998"
        ),
    ]


def main() -> None:
    """Print the verdicts of all operators."""
    for name in ("expert", "novice", "tired"):
        for one in figures(name):
            value = f"{one.value:.3g} {one.unit}".removesuffix(" -")
            allowed = f"{one.low:g} to {one.high:g}"
            print(f"{name:8s} {one.name:42s} {value:14s} {allowed:14s} {one.verdict}")


if __name__ == "__main__":
    main()

"""What a user asks before a run: passive to, stable to, how far away that is, and what to change if it shakes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from farhand.analysis.stability.operating_point import Point
from farhand.analysis.stability.passive import passive_stiffness
from farhand.analysis.stability.spectrum import calm, largest_stable, largest_stable_delay, loudest

STIFFEST, SOFTEST = 1e6, 10.0  # [N/m]
LONGEST = 0.25
"""Delay one way up to which is looked, [s]."""

BUMP = 1e-4
"""Size of the bump that dry friction has to still, [m]."""

CYCLE = 5.0
"""Amplitude of the smallest limit cycle that counts, in encoder steps."""


@dataclass(frozen=True)
class Answers:
    """Limits of a loop at an operating point; infinity where none was found in the range looked at.

    Attributes:
        stable: whether it is stable as it is.
        passive: stiffness to which the leader by itself is passive whatever holds it, [N/m].
        wall: stiffness to which the loop is stable, at its delay, [N/m].
        delay: round-trip delay to which it is stable, at its wall, [s]; negative if it is unstable
            without any.
        frequency: at which it shakes, or would be the first to shake, [Hz].
    """

    stable: bool
    passive: float
    wall: float
    delay: float
    frequency: float


def answers(point: Point) -> Answers:
    """All limits at an operating point."""
    whole, quanta = point.whole, _quanta(point)
    wall = wall_limit(point)
    ticks = largest_stable_delay(whole, round(LONGEST / whole.period), BUMP, quanta)
    shaken = point.at_wall(wall) if 0.0 < wall < math.inf else whole
    return Answers(
        calm(whole, BUMP, quanta),
        passive_to(point),
        wall,
        2.0 * ticks * whole.period,
        loudest(shaken).frequency,
    )


def passive_to(point: Point) -> float:
    """Stiffness to which the leader by itself is passive whatever holds it, [N/m]."""
    loop = point.loop
    rendered = float(loop.law.on_leader[0, 1])
    return passive_stiffness(
        loop.leader.damping, loop.period, rendered, loop.leader.friction, point.quantum
    )


def wall_limit(point: Point, points: int = 30) -> float:
    """Stiffness of the wall to which all is calm, [N/m]."""
    return largest_stable(point.at_wall, SOFTEST, STIFFEST, 0.01, points, BUMP, _quanta(point))


@dataclass(frozen=True)
class Remedy:
    """One change that makes a shaking loop stable.

    Attributes:
        parameter: what to change, as ``--set`` or a flag names it.
        limit: largest value that is stable with everything else as it is.
        now: its present value.
        unit: of both.
    """

    parameter: str
    limit: float
    now: float
    unit: str

    def __str__(self) -> str:
        """As advice."""
        unit = f" {self.unit}" if self.unit != "-" else ""
        return f"{self.parameter} ≤ {self.limit:.3g}{unit} (now {self.now:.3g})"


def remedies(point: Point, force_scale: float = 1.0) -> list[Remedy]:
    """What would make an unstable loop stable, one change at a time; empty if it is predicted to be stable.

    Args:
        point: in question.
        force_scale: how strongly the hand feels now, [-].
    """
    whole, quanta = point.whole, _quanta(point)
    if calm(whole, BUMP, quanta):
        return []
    found = []
    ticks = largest_stable_delay(whole, max(whole.delay, 1), BUMP, quanta)
    if 0 <= ticks < whole.delay:
        found.append(
            Remedy("--delay", 2e3 * ticks * whole.period, 2e3 * whole.delay * whole.period, "ms")
        )
    share = largest_stable(
        lambda times: replace(whole, law=point.reflecting(times)), 0.01, 1.0, 0.02, 12, BUMP, quanta
    )
    if 0.0 < share < 1.0:
        found.append(Remedy("law.mapping.force_scale", share * force_scale, force_scale, "-"))
    wall = largest_stable(
        point.at_wall, SOFTEST, max(whole.wall.stiffness, 2 * SOFTEST), 0.02, 20, BUMP, quanta
    )
    if 0.0 < wall < whole.wall.stiffness:
        found.append(Remedy("wall.stiffness", wall, whole.wall.stiffness, "N/m"))
    return found


def _quanta(point: Point) -> float:
    return CYCLE if point.quantum > 0.0 else 0.0

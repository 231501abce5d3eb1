"""Stability limits of a rig: passive and stable up to where, and what to change if it shakes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from farhand.analysis.stability.loop import WholeLoop
from farhand.analysis.stability.operating_point import Point
from farhand.analysis.stability.spectrum import (
    is_calm,
    largest_stable,
    largest_stable_delay,
    least_damped,
)
from farhand.errors import BadValue

MAX_STIFFNESS = 1e6
MIN_STIFFNESS = 10.0
"""Range of wall stiffness that is searched, [N/m]."""

MAX_DELAY_S = 0.25
"""Delay one way up to which the search goes."""

BUMP = 1e-4
"""Size of the bump that dry friction must damp out, [m]."""

CYCLE_STEPS = 5.0
"""Amplitude of the smallest limit cycle that counts, in encoder steps."""


ADVISED_SHARE = 0.7
"""Share of a predicted limit that is advised: 3 dB below it, because at the limit itself it still
rings, [-]."""


@dataclass(frozen=True)
class StabilityLimits:
    """Limits of a loop at an operating point; infinity where the search found none."""

    stable: bool  #: whether it is stable as it is
    passive: float  #: stiffness up to which the leader alone is passive with any hand, [N/m]
    wall: float  #: stiffness up to which the loop is stable, at its delay, [N/m]
    delay: float  #: stable round trip, at its wall, [s]; negative if unstable without delay
    frequency: float  #: of the least damped oscillation, [Hz]


def calm(point: Point, bump: float = BUMP) -> bool:
    """Whether nothing shakes at an operating point; forecasts and advice both go by this.

    ``bump`` is the size that dry friction must damp out, [m]; 0 leaves friction out.
    """
    return is_calm(point.whole, bump, _cycle_steps(point))


def find_limits(point: Point) -> StabilityLimits:
    """All limits at an operating point."""
    whole, steps = point.whole, _cycle_steps(point)
    wall = wall_limit(point)
    ticks = largest_stable_delay(whole, round(MAX_DELAY_S / whole.period), BUMP, steps)
    # Just beyond the limit, where the motion that shakes is the least damped one.
    at_limit = point.at_wall(1.02 * wall) if 0.0 < wall < math.inf else whole
    return StabilityLimits(
        stable=calm(point),
        passive=passive_limit(point),
        wall=wall,
        delay=2.0 * ticks * whole.period,
        frequency=least_damped(at_limit).frequency,
    )


def passive_limit(point: Point) -> float:
    """Stiffness up to which the leader alone is passive with any hand, [N/m]."""
    loop = point.loop
    rendered = float(loop.law.on_leader[0, 1])
    return passive_stiffness(
        loop.leader.damping, loop.period, rendered, loop.leader.friction, point.quantum
    )


def passive_stiffness(
    damping: float,
    period: float,
    virtual_damping: float = 0.0,
    friction: float = 0.0,
    quantum: float = 0.0,
) -> float:
    r"""Largest stiffness that a device can render and stay passive with any hand, [N/m].

    .. math:: K \le \frac{2 (b - |B|)}{T}, \qquad K \le \frac{2 f_c}{\Delta}

    The first limit comes from sampling (Colgate and Schenkel), the second from the encoder (Abbott
    and Okamura), whose energy dry friction must absorb. They hold for a wall, a spring with virtual
    damping, rendered by one device without further delay; a bilateral loop is no better.

    Args:
        damping: b, physical, of the device, [N·s/m].
        period: T, [s].
        virtual_damping: B, rendered, [N·s/m].
        friction: f_c, dry, of the device, [N].
        quantum: Δ, of position, [m]; 0 for none.

    Raises:
        BadValue: the period is not above zero, or a value is not a number.
    """
    values = (damping, period, virtual_damping, friction, quantum)
    if not period > 0.0 or any(math.isnan(value) for value in values):
        raise BadValue(f"a passive stiffness needs numbers and a period above 0 s, not {values}")
    sampled = max(0.0, 2.0 * (damping - abs(virtual_damping)) / period)
    quantised = 2.0 * friction / quantum if quantum > 0.0 else math.inf
    return min(sampled, quantised)


def wall_limit(
    point: Point,
    points: int = 30,
    low: float = MIN_STIFFNESS,
    high: float = MAX_STIFFNESS,
    tolerance: float = 0.01,
    bump: float = BUMP,
) -> float:
    """Stiffness of the wall from ``low`` to ``high`` up to which nothing shakes, [N/m]."""
    steps = _cycle_steps(point)
    return largest_stable(point.at_wall, low, high, tolerance, points, bump, steps)


def force_limit(point: Point, high: float, points: int = 4, tolerance: float = 0.05) -> float:
    """How many times stronger the force at the hand could be, up to ``high``; 0 if it shakes."""
    whole, steps = point.whole, _cycle_steps(point)

    def with_scale(times: float) -> WholeLoop:
        return replace(whole, law=point.reflecting(times))

    return min(high, largest_stable(with_scale, 1.0, high, tolerance, points, BUMP, steps))


@dataclass(frozen=True)
class Remedy:
    """One change that makes a shaking loop stable."""

    parameter: str  #: as ``--set`` or a flag names it
    limit: float  #: advised, :data:`ADVISED_SHARE` of the largest value that is stable
    now: float  #: its present value
    unit: str  #: of both

    def __str__(self) -> str:
        """As advice."""
        unit = f" {self.unit}" if self.unit != "-" else ""
        return f"{self.parameter} ≤ {self.limit:.3g}{unit} (now {self.now:.3g})"


def remedies(point: Point, force_scale: float = 1.0, bump: float = BUMP) -> list[Remedy]:
    """Changes that would each make an unstable loop stable.

    Empty if it is :func:`calm`, or if no single one would.

    Args:
        point: where the rig stands.
        force_scale: how strongly the hand feels now, [-].
        bump: see :func:`calm`.
    """
    whole, steps = point.whole, _cycle_steps(point)
    if calm(point, bump):
        return []
    changes = []
    ticks = largest_stable_delay(whole, max(whole.delay, 1), bump, steps)
    if 0 <= ticks < whole.delay:
        advised = math.floor(ADVISED_SHARE * ticks)
        limit, now = 2e3 * advised * whole.period, 2e3 * whole.delay * whole.period
        changes.append(Remedy("--delay", limit, now, "ms"))

    def with_scale(times: float) -> WholeLoop:
        return replace(whole, law=point.reflecting(times))

    share = largest_stable(with_scale, 0.01, 1.0, 0.02, 12, bump, steps)
    if 0.0 < share < 1.0:
        gentler = ADVISED_SHARE * share * force_scale
        changes.append(Remedy("law.mapping.force_scale", gentler, force_scale, "-"))
    stiffest = max(whole.wall.stiffness, 2 * MIN_STIFFNESS)
    wall = wall_limit(point, 20, high=stiffest, tolerance=0.02, bump=bump)
    if 0.0 < wall < whole.wall.stiffness:
        softer = ADVISED_SHARE * wall
        changes.append(Remedy("wall.stiffness", softer, whole.wall.stiffness, "N/m"))
    return changes


def _cycle_steps(point: Point) -> float:
    return CYCLE_STEPS if point.quantum > 0.0 else 0.0

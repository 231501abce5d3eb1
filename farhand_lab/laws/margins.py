"""The bare law's margin: where the loop is predicted to go unstable over delay, and whether it does."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from farhand.analysis.stability.loop import Contact
from farhand.analysis.stability.operating_point import Point, operating_point
from farhand.analysis.stability.spectrum import largest_stable_delay
from farhand.analysis.stability.whole import WholeLoop
from farhand.rigs import Options, build_rig
from farhand.running.stability_trial import SECONDS, Trial, attempt
from farhand_lab.harness import Finding, experiment, shared
from farhand_lab.mutation import Mutation, patched
from farhand_lab.trial import QUIET

BELOW, ABOVE = 0.85, 1.15
"""Where the rig is tried, as a share of the predicted delay: calm at the first, shaking at the
second."""

SLOW = 0.2
"""Round trip beyond which an oscillation grows so slowly that trials take longer, [s]."""

LONG = 20.0
"""Length of a trial over such a link, [s]."""


@dataclass(frozen=True)
class HandGrip:
    """Who holds the leader and what the follower presses on. A simulated hand has no mass.

    Attributes:
        law: which bare law.
        hand: stiffness and damping, [N/m] and [N·s/m].
        wall: stiffness and damping, [N/m] and [N·s/m].
    """

    law: str
    hand: tuple[float, float] = (200.0, 5.0)
    wall: tuple[float, float] = (1000.0, 20.0)


SPRINGS = (
    HandGrip("position-force"),
    HandGrip("position-force", (500.0, 20.0), (6000.0, 20.0)),
    HandGrip("position-position"),
)
MODELS = (HandGrip("four-channel"), HandGrip("four-channel-sensorless"))
HANDLE = (HandGrip("admittance"), HandGrip("admittance", (500.0, 20.0)))


@shared
def predicted(grip: HandGrip) -> float:
    """Longest round trip at which the linear loop is stable, [s]; up to 1 s is looked."""
    rig = build_rig("dual-arm", Options(law=grip.law, delay=2.0, settings=list(QUIET)))
    try:
        hand = f"{grip.hand[0]},{grip.hand[1]},0"
        loop = operating_point(rig.session, rig.world, hand, Contact(*grip.wall)).whole
    finally:
        rig.close()
    return 2.0 * loop.period * largest_stable_delay(loop, round(0.5 / loop.period))


@shared
def shakes(grip: HandGrip, share: float) -> bool:
    """Whether the rig itself shakes at that share of the predicted round trip."""
    delay = share * predicted(grip)
    seconds = LONG if delay > SLOW else SECONDS
    trial = Trial(
        "dual-arm", grip.law, 1e3 * delay, *grip.wall, grip.hand, tuple(QUIET), seconds=seconds
    )
    return bool(attempt(trial)["shakes"])


def judge(grips: tuple[HandGrip, ...]) -> Finding:
    """All of these calm below and shaking above what is predicted; the value is the first one's prediction, [ms]."""
    told, right = [], True
    for grip in grips:
        limit = predicted(grip)
        below, above = shakes(grip, BELOW), shakes(grip, ABOVE)
        right &= above and not below
        seen = f"{'shakes' if below else 'calm'} at {BELOW:g}, {'shakes' if above else 'calm'} at {ABOVE:g} of it"
        held = f"hand {grip.hand[0]:g} N/m, wall {grip.wall[0]:g} N/m"
        told.append(f"{grip.law}, {held}: {1e3 * limit:.0f} ms, {seen}")
    return Finding(1e3 * predicted(grips[0]), right, "; ".join(told))


@experiment("L-25")
def springs() -> Finding:
    """The value is the predicted round trip of position–force in the soft hand."""
    return judge(SPRINGS)


@experiment("L-26")
def four_channels_bare() -> Finding:
    """The value is the predicted round trip of four channels in the soft hand."""
    return judge(MODELS)


@experiment("L-27")
def admittance_bare() -> Finding:
    """The value is the predicted round trip in the soft hand."""
    return judge(HANDLE)


@contextmanager
def _soft_wall() -> Iterator[None]:
    whole = WholeLoop.matrices

    def matrices(self: WholeLoop):
        return whole(replace(self, wall=Contact(0.2 * self.wall.stiffness, self.wall.damping)))

    with patched(WholeLoop, "matrices", matrices):
        yield


@contextmanager
def _heavy_handle() -> Iterator[None]:
    whole = operating_point

    def heavier(*args: Any) -> Point:
        point = whole(*args)
        memory = point.whole.memory
        assert memory is not None
        return replace(point, whole=replace(point.whole, memory=replace(memory, Q=0.4 * memory.Q)))

    with patched(sys.modules[__name__], "operating_point", heavier):
        yield


MUTATIONS = [
    Mutation(
        "soft-wall", "the prediction takes the wall for five times softer", ("L-25",), _soft_wall
    ),
    Mutation(
        "heavy-handle",
        "the prediction takes the handle for heavier than it is",
        ("L-27",),
        _heavy_handle,
    ),
]

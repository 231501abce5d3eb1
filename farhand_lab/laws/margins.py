"""The bare law's margin: the predicted delay at which the loop goes unstable, and the real one."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any

from farhand.analysis.stability.loop import Contact, WholeLoop
from farhand.analysis.stability.operating_point import Point, operating_point
from farhand.analysis.stability.spectrum import largest_stable_delay
from farhand.rigs import Options, build_rig
from farhand.running.stability_trial import TRIAL_S, StabilityTrial, attempt
from farhand_lab.harness import Finding, experiment, shared
from farhand_lab.mutation import Mutations
from farhand_lab.trial import QUIET

BELOW, ABOVE = 0.85, 1.15
"""Shares of the predicted delay: the rig must be calm at the first and shake at the second."""

SLOW_DELAY_S, LONG_TRIAL_S = 0.2, 20.0
"""Beyond this round trip an oscillation grows slowly and a trial takes this long, [s]."""


@dataclass(frozen=True)
class HandGrip:
    """A law, the hand on the leader and the wall at the follower. A simulated hand has no mass."""

    law: str
    hand: tuple[float, float] = (200.0, 5.0)  #: stiffness and damping, [N/m] and [N·s/m]
    wall: tuple[float, float] = (1000.0, 20.0)  #: stiffness and damping, [N/m] and [N·s/m]


SPRINGS = (
    HandGrip("position-force"),
    HandGrip("position-force", (500.0, 20.0), (6000.0, 20.0)),
    HandGrip("position-position"),
)
MODELS = (HandGrip("four-channel"), HandGrip("four-channel-sensorless"))
HANDLE = (HandGrip("admittance"), HandGrip("admittance", (500.0, 20.0)))


@shared
def predicted(grip: HandGrip) -> float:
    """Longest round trip at which the linear loop is stable, up to 1 s, [s]."""
    rig = build_rig("dual-arm", Options(law=grip.law, delay=2.0, settings=list(QUIET)))
    try:
        hand = f"{grip.hand[0]},{grip.hand[1]},0"
        loop = operating_point(rig.session, rig.world, rig.parts, hand, Contact(*grip.wall)).whole
    finally:
        rig.close()
    return 2.0 * loop.period * largest_stable_delay(loop, round(0.5 / loop.period))


@shared
def shakes(grip: HandGrip, share: float) -> bool:
    """Whether the rig itself shakes at that share of the predicted round trip."""
    delay = share * predicted(grip)
    seconds = LONG_TRIAL_S if delay > SLOW_DELAY_S else TRIAL_S
    setup = ("dual-arm", grip.law, 1e3 * delay, *grip.wall, grip.hand, tuple(QUIET))
    return bool(attempt(StabilityTrial(*setup, seconds=seconds))["shakes"])


def judge(grips: tuple[HandGrip, ...]) -> Finding:
    """Calm below and shaking above the prediction; the value is the first prediction, [ms]."""
    notes, right = [], True
    for grip in grips:
        tests = {share: shakes(grip, share) for share in (BELOW, ABOVE)}
        right &= tests[ABOVE] and not tests[BELOW]
        shown = ", ".join(f"{'shakes' if bad else 'calm'} at {x:g}" for x, bad in tests.items())
        held = f"hand {grip.hand[0]:g} N/m, wall {grip.wall[0]:g} N/m"
        notes.append(f"{grip.law}, {held}: {1e3 * predicted(grip):.0f} ms, {shown} of it")
    return Finding(1e3 * predicted(grips[0]), right, "; ".join(notes))


@experiment("L-25")
def springs() -> Finding:
    """The predicted round trip of position–force in the soft hand."""
    return judge(SPRINGS)


@experiment("L-26")
def four_channels_bare() -> Finding:
    """The predicted round trip of four channels in the soft hand."""
    return judge(MODELS)


@experiment("L-27")
def admittance_bare() -> Finding:
    """The predicted round trip in the soft hand."""
    return judge(HANDLE)


MUTATIONS = Mutations()


@MUTATIONS.of(WholeLoop, "matrices", "L-25")
def soft_wall(matrices, self: WholeLoop) -> Any:
    """The prediction assumes a wall that is five times softer."""
    return matrices(replace(self, wall=Contact(0.2 * self.wall.stiffness, self.wall.damping)))


@MUTATIONS.of(sys.modules[__name__], "operating_point", "L-27")
def heavy_handle(linearise, *inputs: Any) -> Point:
    """The prediction assumes a handle that is too heavy."""
    point = linearise(*inputs)
    memory = point.whole.memory
    assert memory is not None
    return replace(
        point,
        whole=replace(point.whole, memory=replace(memory, Q=[0.4 * part for part in memory.Q])),
    )

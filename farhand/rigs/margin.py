"""How far a rig is from shaking, by the prediction of :mod:`farhand.analysis.stability`."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from farhand.analysis.oscillation import IntendedMotion
from farhand.analysis.stability.limits import BUMP, MAX_STIFFNESS, calm, force_limit, wall_limit
from farhand.analysis.stability.loop import HANDS
from farhand.analysis.stability.operating_point import Point, operating_point
from farhand.control.trajectory.paths import HandPath
from farhand.coupling.unilateral import Unilateral
from farhand.errors import FarhandError
from farhand.plants.plant import JointPosition
from farhand.rigs.rig import Rig
from farhand.world import ImpedanceHand

NOT_LINEAR = "for small motions only, because the law is not linear"
MAX_SEARCH_TICKS = 5
"""Ticks of delay up to which the limit itself is computed before a run; that must be quick."""

FAR = 10.0
"""Times the force at the hand that a rig far from its limit may still be given: 20 dB."""


def margin(rig: Rig, brief: bool = False) -> str | None:
    """One line on how far the rig is from shaking where it was built, or None if unknown.

    A ``brief`` one leaves the stiffest wall out and says only whether a hand holds the leader, not
    which: in nobody's hand the same wall shakes at a much shorter delay.

    What :func:`farhand.running.margin.shaking` says after the run goes by the same prediction.
    """
    # a prediction is of one coupling
    if len(rig.session.bridges) > 1:
        return None
    try:
        point = point_of(rig)
    except FarhandError:
        return None
    whole = point.whole
    # with drives inside the limits depend on the load: farhand stability says more than one line
    if any(whole.drives):
        return None
    stiffness, trip = whole.wall.stiffness, f"{2e3 * whole.delay * whole.period:g} ms of round trip"
    task = f"a wall of {stiffness:g} N/m" if stiffness > 0.0 else "free motion"
    hand = f"hand: {point.hand}"
    if brief:
        held = point.loop.hand != HANDS["none"]
        hand = "leader held" if held else "leader not held"
        trip = trip.removesuffix(" of round trip")
    if not point.linear:
        hand = f"{NOT_LINEAR}; {hand}"
    if not calm(point):
        layer = rig.options.layer
        bare = "" if layer == "none" else f", without the layer {layer}, which is not modelled"
        return f"predicted to shake{bare}: {task} at {trip}; {hand}"
    if not calm(point, bump=0.0):
        limit = f"larger bumps than {1e3 * BUMP:g} mm may start it shaking"
        return f"predicted to be calm by dry friction alone: {task} at {trip}; {limit}; {hand}"
    if brief or whole.delay > MAX_SEARCH_TICKS or stiffness == 0.0:
        return f"predicted to be calm: {task} at {trip}; {hand}"
    stiffest = max(MAX_STIFFNESS, 2.0 * stiffness)
    most = wall_limit(point, 6, stiffness, stiffest, 0.05)
    reach = f"{most:.3g} N/m" if math.isfinite(most) else f"more than {MAX_STIFFNESS:,.0f} N/m"
    return f"predicted to be calm: {task}, up to {reach}; {hand}"


def nearness(rig: Rig) -> float:
    r"""How near the rig is to its predicted limit, 0 (far) to 1 (there or beyond); NaN if unknown.

    .. math:: 1 - \log_{10} g

    g is the gain margin: how many times stronger the force at the hand could be before it shakes.
    Ten times (20 dB) and more are 0. Wall, hand and delay are those of now; a layer is left out.
    """
    try:
        point = point_of(rig)
    except FarhandError:
        return math.nan
    gain = force_limit(point, FAR)
    return min(1.0, max(0.0, 1.0 - math.log10(gain))) if gain > 0.0 else 1.0


def point_of(rig: Rig) -> Point:
    """Where the rig was built, with its parameters of now, as late as the latest packet."""
    point = operating_point(rig.session, rig.world, rig.parts, standing=rig.standing)
    jitter = 0.0 if rig.parts.link is None else rig.parts.link.jitter
    late = round(1e-3 * jitter / point.whole.period)
    return replace(point, whole=replace(point.whole, delay=point.whole.delay + late))


def scripted_motion(rig: Rig) -> IntendedMotion | None:
    """The motion of the scenario's hand; None if an arm, a device or a force moves the tool."""
    hand = rig.parts.hand
    if not isinstance(hand, ImpedanceHand) or rig.world.externally_driven:
        return None
    path = HandPath(hand.path.moves)

    def motion(times: np.ndarray) -> np.ndarray:
        rows = np.empty((len(times), 3))
        for row, time in zip(rows, times, strict=True):
            path.at(float(time))
            row[:] = path.translation
        return rows

    return motion


def is_open_loop(rig: Rig) -> bool:
    """Whether drives get positions and send nothing back: an oscillation is then their lag."""
    laws = [law for bridge in rig.session.bridges for law in bridge.laws]
    followers = [station for station in rig.session.stations if station.role == "follower"]
    by_position = [station.plant.accepts for station in followers] == [frozenset({JointPosition})]
    return by_position and all(isinstance(law, Unilateral) for law in laws)

"""What ``farhand run`` says about stability: a margin before, and advice after a run that shook."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from farhand.analysis.metrics import Metrics
from farhand.analysis.oscillation import IntendedMotion, oscillation
from farhand.analysis.stability.limits import BUMP, MAX_STIFFNESS, calm, remedies, wall_limit
from farhand.analysis.stability.operating_point import Point, operating_point
from farhand.control.trajectory.paths import HandPath
from farhand.coupling.unilateral import Unilateral
from farhand.errors import FarhandError
from farhand.plants.plant import JointPosition
from farhand.rigs import Rig
from farhand.world import ImpedanceHand

NOT_LINEAR = "for small motions only, because the law is not linear"
MAX_SEARCH_TICKS = 5
"""Ticks of delay up to which the limit itself is computed before a run; that must be quick."""


def margin(rig: Rig) -> str | None:
    """One line on how far the rig is from shaking where it was built, or None if unknown.

    What :func:`shaking` says after the run goes by the same prediction.
    """
    try:
        point = _point(rig)
    except FarhandError:
        return None
    whole = point.whole
    stiffness, trip = whole.wall.stiffness, f"{2e3 * whole.delay * whole.period:g} ms of round trip"
    task = f"a wall of {stiffness:g} N/m" if stiffness > 0.0 else "free motion"
    hand = f"hand: {point.hand}" if point.linear else f"{NOT_LINEAR}; hand: {point.hand}"
    if not calm(point):
        layer = rig.options.layer
        bare = "" if layer == "none" else f", without the layer {layer}, which is not modelled"
        return f"predicted to shake{bare}: {task} at {trip}; {hand}"
    if not calm(point, bump=0.0):
        limit = f"larger bumps than {1e3 * BUMP:g} mm may start it shaking"
        return f"predicted to be calm by dry friction alone: {task} at {trip}; {limit}; {hand}"
    if whole.delay > MAX_SEARCH_TICKS or stiffness == 0.0:
        return f"predicted to be calm: {task} at {trip}; {hand}"
    stiffest = max(MAX_STIFFNESS, 2.0 * stiffness)
    most = wall_limit(point, 6, stiffness, stiffest, 0.05)
    reach = f"{most:.3g} N/m" if math.isfinite(most) else f"more than {MAX_STIFFNESS:,.0f} N/m"
    return f"predicted to be calm: {task}, up to {reach}; {hand}"


def shaking(rig: Rig) -> Iterator[str]:
    """What a run that shook did, and what to change by how much.

    Like :func:`margin` it holds for where the rig was before the run, but with the parameters of
    its end.
    """
    metrics = rig.metrics
    # One side alone does not know the other
    if not rig.session.bridges or not isinstance(metrics, Metrics):
        return
    shake = oscillation(metrics.history, metrics.other, _intended_motion(rig), metrics.driven)
    if shake is None or (shake.signal == "tracking error" and _open_loop(rig)):
        return
    yield f"it shakes: {shake}"
    try:
        point = _point(rig)
    except FarhandError as error:
        yield f"what to change cannot be predicted: {error}"
        return
    scale = float(rig.session.bridges[0].laws[0].mapping.force_scale)
    # It did shake, so dry friction does not hold it
    changes = [str(remedy) for remedy in remedies(point, scale, bump=0.0)]
    if changes:
        yield f"calm again with {', or '.join(changes)}; predicted for this hand: {point.hand}"
    elif calm(point, bump=0.0):
        yield "the prediction for its start does not explain it; farhand stability tells more"
    else:
        what = "a shorter delay, a weaker force at the hand or a softer wall"
        yield f"it was predicted to; none of {what} is predicted to calm it alone"


def _point(rig: Rig) -> Point:
    """Where the rig was built, with its parameters of now, as late as the latest packet."""
    point = operating_point(rig.session, rig.world, rig.parts, standing=rig.standing)
    late = round(1e-3 * rig.options.jitter / point.whole.period)
    return replace(point, whole=replace(point.whole, delay=point.whole.delay + late))


def _intended_motion(rig: Rig) -> IntendedMotion | None:
    """The motion of the scenario's hand; None if a person, an arm or a device moves it."""
    hand = rig.parts.hand
    dragged = any(logged.request.path == "hand.drag" for logged in rig.session.commands.log)
    if not isinstance(hand, ImpedanceHand) or rig.world.externally_driven or dragged:
        return None
    path = HandPath(hand.path.moves)

    def motion(times: np.ndarray) -> np.ndarray:
        rows = np.empty((len(times), 3))
        for row, time in zip(rows, times, strict=True):
            path.at(float(time))
            row[:] = path.translation
        return rows

    return motion


def _open_loop(rig: Rig) -> bool:
    """Whether drives get positions and send nothing back: an oscillation is then their lag."""
    laws = [law for bridge in rig.session.bridges for law in bridge.laws]
    followers = [station for station in rig.session.stations if station.role == "follower"]
    by_position = [station.plant.accepts for station in followers] == [frozenset({JointPosition})]
    return by_position and all(isinstance(law, Unilateral) for law in laws)

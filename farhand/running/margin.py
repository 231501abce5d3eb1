"""What ``farhand run`` says about stability: the margin before the run, and what to change after one that shook."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from farhand.analysis.oscillation import IntendedMotion, oscillation
from farhand.analysis.side_metrics import SideMetrics
from farhand.analysis.stability.limits import MAX_STIFFNESS, remedies
from farhand.analysis.stability.operating_point import operating_point
from farhand.analysis.stability.spectrum import largest_stable, stable
from farhand.control.trajectory.paths import HandPath
from farhand.coupling.unilateral import Unilateral
from farhand.errors import FarhandError
from farhand.plants.plant import JointPosition
from farhand.rigs import Rig
from farhand.world import ImpedanceHand

QUICK = 5
"""Ticks of delay up to which the limit itself is looked for before a run; beyond, only whether it
is calm."""


def margin(rig: Rig) -> str | None:
    """One line on how far the rig is from shaking where it stood when built, or None where that cannot be predicted.

    It leaves out encoder steps and dry friction, which ``farhand stability`` counts in: it must not
    hold up a run.
    """
    try:
        point = operating_point(rig.session, rig.world, standing=rig.standing)
    except FarhandError:
        return None
    whole = point.whole
    stiffness, trip = whole.wall.stiffness, 2e3 * whole.delay * whole.period
    what = f"a wall of {stiffness:g} N/m" if stiffness > 0.0 else "free motion"
    if not stable(whole):
        layer = rig.options.layer
        bare = (
            "" if layer == "none" else f" but for the layer {layer}, which is not in the prediction"
        )
        return f"predicted to shake{bare}: {what} at {trip:g} ms of round trip; hand: {point.hand}"
    if whole.delay > QUICK or stiffness == 0.0:
        return f"predicted to be calm: {what} at {trip:g} ms of round trip; hand: {point.hand}"
    most = largest_stable(point.at_wall, stiffness, max(MAX_STIFFNESS, 2.0 * stiffness), 0.05, 6)
    reach = f"{most:.3g} N/m" if math.isfinite(most) else f"more than {MAX_STIFFNESS:,.0f} N/m"
    return f"predicted to be calm: {what}, up to {reach}; hand: {point.hand}"


def shaking(rig: Rig) -> Iterator[str]:
    """What a run that shook did, and what to change by how much.

    It is predicted for where the rig stood before the run, as :func:`margin` is, so that the two
    agree; parameters are those of the end, for they may have been changed on the way.
    """
    # one side alone does not know the other
    if not rig.session.bridges or isinstance(rig.metrics, SideMetrics):
        return
    found = oscillation(rig.metrics.history, rig.metrics.other, _asked(rig), rig.metrics.driven)
    if found is None or (found.signal == "tracking error" and _open_loop(rig)):
        return
    yield f"it shakes: {found}"
    try:
        point = operating_point(rig.session, rig.world, standing=rig.standing)
    except FarhandError as error:
        yield f"what to change is not predicted: {error}"
        return
    if rig.options.jitter or rig.options.loss:  # as late as the latest packet
        late = round(1e-3 * rig.options.jitter / point.whole.period)
        point = replace(point, whole=replace(point.whole, delay=point.whole.delay + late))
    scale = float(rig.session.bridges[0].laws[0].mapping.force_scale)
    changes = [str(remedy) for remedy in remedies(point, scale)]
    if changes:
        yield f"calm again with {', or '.join(changes)}; predicted for this hand: {point.hand}"
    else:
        yield "no reason is predicted where it stood at first; farhand stability tells more"


def _asked(rig: Rig) -> IntendedMotion | None:
    """What the scenario asks of the hand; None where a person has it: an arm or a device, or a drag on the page."""
    hand = rig.session.parameters.get("hand")
    dragged = any(logged.request.path == "hand.drag" for logged in rig.session.commands.log)
    if not isinstance(hand, ImpedanceHand) or rig.world.externally_driven or dragged:
        return None
    way = HandPath(hand.path.moves)

    def asked(times: np.ndarray) -> np.ndarray:
        rows = np.empty((len(times), 3))
        for row, time in zip(rows, times, strict=True):
            way.at(float(time))
            row[:] = way.translation
        return rows

    return asked


def _open_loop(rig: Rig) -> bool:
    """Whether drives are sent positions and nothing comes back: an error that swings is then their lag, in steps."""
    laws = [law for bridge in rig.session.bridges for law in bridge.laws]
    drives = [
        station.plant.accepts for station in rig.session.stations if station.role == "follower"
    ]
    return all(isinstance(law, Unilateral) for law in laws) and drives == [
        frozenset({JointPosition})
    ]

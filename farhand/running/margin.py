"""What ``farhand run`` says after a run that shook: what it did, and what to change."""

from __future__ import annotations

from collections.abc import Iterator

from farhand.analysis.metrics import Metrics
from farhand.analysis.oscillation import IntendedMotion, oscillation
from farhand.analysis.stability.limits import calm, remedies
from farhand.errors import FarhandError
from farhand.rigs import Rig
from farhand.rigs.margin import is_open_loop, point_of, scripted_motion


def shaking(rig: Rig) -> Iterator[str]:
    """What a run that shook did, and what to change by how much.

    Like :func:`farhand.rigs.margin.margin` it holds for where the rig was before the run, but with
    the parameters of its end.
    """
    metrics = rig.metrics
    # One side alone does not know the other
    if not rig.session.bridges or not isinstance(metrics, Metrics):
        return
    history, joints = metrics.history, bool(metrics.joints)
    shake = oscillation(history, metrics.other, _intended_motion(rig), metrics.driven, joints)
    if shake is None or (shake.signal == "tracking error" and is_open_loop(rig)):
        return
    yield f"it shakes: {shake}"
    try:
        point = point_of(rig)
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


def _intended_motion(rig: Rig) -> IntendedMotion | None:
    """The motion of the scenario's hand; None if it is not known, or somebody dragged it."""
    dragged = any(logged.request.path == "hand.drag" for logged in rig.session.commands.log)
    return None if dragged else scripted_motion(rig)

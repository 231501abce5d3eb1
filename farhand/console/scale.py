"""Scale: which force an arrow of ten centimetres stands for, to suit what a rig's device can show."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from farhand.rigs import Rig

USUAL_FORCE = 100.0
"""Largest force that most of a picture is meant for where no device bounds it, [N]."""

PEAK_SHARE = 0.6
"""Share of a device's peak force that its picture is meant for, [-]: a peak is rare."""

FULL_ARROW = 0.25
"""How long an arrow of that force is, [m]; shorter where all the rig's robots are small."""

STEPS = (1.0, 2.0, 4.0)
"""Leading digits of the force that ten centimetres stand for."""


def force_scale(rig: Rig, size: float) -> float:
    """Force that an arrow of ten centimetres stands for, [N]: 1, 2 or 4 times a power of ten.

    A haptic device that shows 3 N would have arrows nobody sees on the scale of an arm that pushes
    with 100 N.

    Args:
        rig: whose devices bound the force.
        size: of what is drawn, from the middle outward, [m]; at most one counts.
    """
    peaks = [station.plant.force_peak for station in rig.session.stations]
    most = min([USUAL_FORCE, *(PEAK_SHARE * peak for peak in peaks)])
    exact = 0.1 * most / (FULL_ARROW * size)
    decade = 10.0 ** math.floor(math.log10(exact))
    choices = [step * decade * tens for tens in (1.0, 10.0) for step in STEPS]
    return float(f"{min(choices, key=lambda choice: abs(math.log(choice / exact))):g}")


def scale_in_words(scale: float) -> str:
    """What the page says of its arrows."""
    return f"arrows: 10 cm = {scale:g} N"

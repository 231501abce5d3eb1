"""How stiff a wall may be rendered before the sampled device could create energy."""

from __future__ import annotations

import math

from farhand.errors import BadValue


def passive_stiffness(
    damping: float,
    period: float,
    virtual_damping: float = 0.0,
    friction: float = 0.0,
    quantum: float = 0.0,
) -> float:
    r"""Largest stiffness that a device can show and stay passive whatever holds it, [N/m].

    .. math:: K \le \frac{2 (b - |B|)}{T}, \qquad K \le \frac{2 f_c}{\Delta}

    The first is the sampling's price (Colgate and Schenkel), the second that of the encoder (Abbott
    and Okamura), whose energy dry friction has to take up. It holds for a wall, a spring with
    virtual damping, rendered by one device without further delay; a bilateral loop is no better
    than that.

    Args:
        damping: b, physical, of the device, [N·s/m].
        period: T, [s].
        virtual_damping: B, rendered, [N·s/m].
        friction: f_c, dry, of the device, [N].
        quantum: Δ, of position, [m]; 0 for none.

    Raises:
        BadValue: the period is not above zero, or something is not a number.
    """
    given = (damping, period, virtual_damping, friction, quantum)
    if not period > 0.0 or any(math.isnan(value) for value in given):
        raise BadValue(f"a passive stiffness needs numbers and a period above 0 s, not {given}")
    sampled = max(0.0, 2.0 * (damping - abs(virtual_damping)) / period)
    quantised = 2.0 * friction / quantum if quantum > 0.0 else math.inf
    return min(sampled, quantised)

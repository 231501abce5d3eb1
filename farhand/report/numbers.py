"""How numbers are written in every report and table."""

from __future__ import annotations

import math

RESOLUTION = 1e-12
"""Below this no quantity of a report differs from zero, in any of its units."""

SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float | None, digits: int = 3, resolution: float = RESOLUTION) -> str:
    """A number with this many digits, without an exponent where a person would not write one.

    Args:
        value: None is a dash.
        digits: shown, also zeros at the end; a whole number has no decimals.
        resolution: of the quantity. Nothing finer is shown: less than that is ``< 0.001``.
    """
    if value is None:
        return "–"
    if value == 0.0 or not math.isfinite(value):
        return f"{value:g}".removeprefix("-0") or "0"
    finest = math.floor(math.log10(resolution))
    if abs(value) < resolution:
        return f"< {resolution:g}" if finest >= -4 else f"< 10{_superscript(finest)}"
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    power = int(exponent)
    if not -4 <= power < 9:
        return f"{mantissa}·10{_superscript(power)}"
    decimals = 0 if value == int(value) else max(0, min(digits - 1 - power, -finest))
    return f"{value:,.{decimals}f}" if power >= 4 else f"{value:.{decimals}f}"


def _superscript(power: int) -> str:
    return str(power).translate(SUPERSCRIPT)

"""Wheel curves: the published terms, computed by hand, and their table."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

import numpy as np
import pytest

from farhand.friction import make
from farhand.friction.models import wheels

PRINTED = tomllib.loads(Path(wheels.__file__).with_name("wheels.toml").read_text())
WHEELS = ("wheel-1", "wheel-2", "wheel-3", "wheel-4")


def by_hand(wheel: str, v: float) -> float:
    """The printed formula at one speed, [N·m]."""
    data, x = PRINTED[wheel], abs(v)

    def term(name: str, u: float) -> float:
        if name in data["poly"]:
            *rest, last = data["poly"][name]
            return last + sum(c * u**n for n, c in enumerate(reversed(rest), start=1))
        a, b, c, d = data["exp"][name]
        return a * math.exp(b * u) + c * math.exp(d * u)

    beyond = [name for limit, name in data["negative"] if v <= limit]
    if beyond:
        return term(beyond[-1], v)
    _, n, *names = [row for row in data["segments"] if x >= row[0]][-1]
    values = [term(name, x) for name in names]
    size = sum(value**-n for value in values) ** (-1.0 / n) if n else values[0]
    return math.copysign(size, v)


@pytest.mark.parametrize("wheel", WHEELS)
def test_a_curve_is_what_was_printed(wheel):
    """In every range, at its edges, and both ways."""
    edges = [row[0] for row in PRINTED[wheel]["segments"][1:]]
    limits = [row[0] for row in PRINTED[wheel]["negative"]]
    speeds = [*np.linspace(-14.0, 14.0, 160), *edges, *limits, 60.0, -60.0]
    found = wheels.curve_of(wheel, np.array(speeds))
    np.testing.assert_allclose(found, [by_hand(wheel, v) for v in speeds], rtol=1e-9)
    looked_up = wheels.looked_up(wheel, np.array([-20.0, -0.5, 0.003, 0.5, 20.0]))
    expected = [by_hand(wheel, v) for v in (-20.0, -0.5, 0.003, 0.5, 20.0)]
    np.testing.assert_allclose(looked_up, expected, atol=2e-6)


def test_the_table_reaches_as_far_as_it_says_and_is_as_fine():
    """A step at control rate looks the curve up; load scales both."""
    speeds, torques = wheels.table("wheel-2")
    assert speeds[0] == -15.0 and speeds[-1] == 15.0 and len(torques) == len(speeds)
    np.testing.assert_allclose(np.diff(speeds), 1e-4, rtol=1e-6)
    assert wheels.curve_of("wheel-2", np.zeros(1))[0] == 0.0
    model, v = make("youbot-wheels", 8, load=2.0), np.linspace(-4.0, 4.0, 8)
    expected = [2.0 * by_hand(WHEELS[k % 4], one) for k, one in enumerate(v)]
    np.testing.assert_allclose(model.steady(v), expected, rtol=1e-9)
    np.testing.assert_allclose(model.step(v, 1e-3), expected, atol=4e-6)
    np.testing.assert_allclose(model.quick(v), expected, atol=4e-6)
    np.testing.assert_allclose(model.steady(np.stack([v, v]))[1], expected, rtol=1e-9)

"""Measured friction curves of the youBot's wheel blocks, which no classical model fits."""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from farhand.friction.models.model import Array, ForceAndState, StaticFriction, register
from farhand.parameters import parameter

TABLE_SPEED = 15.0
"""Speed up to which a step looks the curve up in a table, [rad/s]."""
TABLE_STEP = 1e-4
"""Spacing of that table, [rad/s]; linear interpolation is then within 2e-6 N·m of the curve."""


@functools.cache
def coefficients(wheel: str) -> dict[str, Any]:
    """The published terms and ranges of one wheel."""
    return tomllib.loads(Path(__file__).with_name("wheels.toml").read_text())[wheel]


def smooth_minimum(values: Array, n: float) -> Array:
    r"""Smooth minimum over the first axis, :math:`(\sum r_i^{-n})^{-1/n}`, without overflow."""
    least = values.min(axis=0)
    return least * ((least / values) ** n).sum(axis=0) ** (-1.0 / n)


def term(wheel: str, name: str, u: Array) -> Array:
    """One branch of a wheel's curve at u, [N·m]."""
    data = coefficients(wheel)
    if name in data["poly"]:
        return np.polyval(data["poly"][name], u)
    a, b, c, d = data["exp"][name]
    return a * np.exp(b * u) + c * np.exp(d * u)


def curve_of(wheel: str, velocity: Array) -> Array:
    """A wheel's friction at these speeds [rad/s], [N·m]; branch by branch where it counts."""
    data, speed = coefficients(wheel), np.abs(velocity)
    result = np.empty(velocity.shape)
    starts = [segment[0] for segment in data["segments"]]
    for (low, n, *names), high in zip(data["segments"], [*starts[1:], np.inf], strict=True):
        inside = (speed >= low) & (speed < high)
        if inside.any():
            branches = np.array([term(wheel, name, speed[inside]) for name in names])
            result[inside] = smooth_minimum(branches, n) if n else branches[0]
    result *= np.sign(velocity)
    limits = [limit for limit, _ in data["negative"]]
    for (limit, name), further in zip(data["negative"], [*limits[1:], -np.inf], strict=True):
        beyond = (velocity <= limit) & (velocity > further)
        if beyond.any():
            result[beyond] = term(wheel, name, velocity[beyond])
    return result


@functools.cache
def table(wheel: str) -> tuple[Array, Array]:
    """Speeds and torques for quick lookup."""
    speeds = np.linspace(-TABLE_SPEED, TABLE_SPEED, round(2 * TABLE_SPEED / TABLE_STEP) + 1)
    return speeds, curve_of(wheel, speeds)


def looked_up(wheel: str, velocity: Array) -> Array:
    """A wheel's friction from the table, [N·m]; beyond its ends every curve is a straight line."""
    speeds, torques = table(wheel)
    beyond = velocity - np.clip(velocity, speeds[0], speeds[-1])
    slopes = (torques[1] - torques[0]) / TABLE_STEP, (torques[-1] - torques[-2]) / TABLE_STEP
    return np.interp(velocity, speeds, torques) + beyond * np.where(velocity < 0.0, *slopes)


@dataclass(kw_only=True)
class WheelCurve(StaticFriction):
    r"""Smooth minima of exponentials and polynomials, range by range, times sgn v.

    Falls up to 1 rad/s like a Stribeck curve, stays low until 2, jumps to a bump at 3 rad/s and
    grows from 4 rad/s on, faster for negative speeds. Near zero it is 5|v|, steep but continuous.
    Measured without load: ``load`` scales it.
    """

    wheels: ClassVar[tuple[str, ...]]  #: the curve of each joint; repeated for more joints

    load: Array = parameter(1.0, "-", "factor for the load", 0.0, 100.0)

    def curve(self, velocity: Array) -> Array:
        """F(v), [N·m]."""
        return self.load * self._each(velocity, curve_of)

    def move(self, velocity: Array, dt: float, applied: Array | None) -> ForceAndState:
        """The curve, looked up."""
        return self.quick(velocity), self.state

    def quick(self, velocity: Array) -> Array:
        """The curve from a table, [N·m]."""
        return self.load * self._each(velocity, looked_up)

    def _each(self, velocity: Array, function: Any) -> Array:
        if len(self.wheels) == 1:
            return function(self.wheels[0], velocity)
        v = np.broadcast_to(velocity, (*np.shape(velocity)[:-1], self.joints))
        result = np.empty(v.shape)
        for k, wheel in enumerate(self.wheels):
            result[..., k :: len(self.wheels)] = function(wheel, v[..., k :: len(self.wheels)])
        return result


@register
class Wheel1(WheelCurve):
    """Front left."""

    name = "youbot-wheel-1"
    wheels = ("wheel-1",)


@register
class Wheel2(WheelCurve):
    """Front right."""

    name = "youbot-wheel-2"
    wheels = ("wheel-2",)


@register
class Wheel3(WheelCurve):
    """Rear left."""

    name = "youbot-wheel-3"
    wheels = ("wheel-3",)


@register
class Wheel4(WheelCurve):
    """Rear right."""

    name = "youbot-wheel-4"
    wheels = ("wheel-4",)


@register
class Wheels(WheelCurve):
    """All four, joint by joint: front left, front right, rear left, rear right."""

    name = "youbot-wheels"
    wheels = ("wheel-1", "wheel-2", "wheel-3", "wheel-4")

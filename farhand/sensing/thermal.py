"""Heat: how a sensor warms up, a thermometer on it, and the line of its bias over temperature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue

Array = np.ndarray


@dataclass(frozen=True)
class ThermalLine:
    r"""A straight line by least squares, and how well it fits."""

    slope: float  #: per °C
    intercept: float  #: at 0 °C
    r_squared: float  #: :math:`R^2 = 1 - \sum (y - f)^2 / \sum (y - \bar y)^2`, [-]
    error: float  #: :math:`\sqrt{\sum (y - f)^2 / N}`, standard error in the unit of y


def fit_line(x: Array, y: Array) -> ThermalLine:
    """Ordinary least squares in closed form.

    Raises:
        BadValue: fewer than two different x, or a value that is not finite.
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if x.ndim != 1 or x.shape != y.shape:
        raise BadValue(f"a line needs as many values as temperatures, not {y.shape} and {x.shape}")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise BadValue("a line needs finite temperatures and values")
    if len(x) < 2 or np.ptp(x) == 0.0:
        raise BadValue("a line needs at least two different temperatures")
    dx, dy = x - x.mean(), y - y.mean()
    slope = float(dx @ dy) / float(dx @ dx)
    left = dy - slope * dx
    total = float(dy @ dy)
    square = float(left @ left)
    r_squared = 1.0 - square / total if total > 0.0 else 1.0
    intercept = float(y.mean() - slope * x.mean())
    return ThermalLine(slope, intercept, r_squared, float(np.sqrt(square / len(x))))


def common_slope(x: Array, y: Array, run: Array) -> float:
    """One slope for several runs, each with an intercept of its own (analysis of covariance).

    Args:
        x: temperatures, [°C].
        y: biases.
        run: which run each pair belongs to.
    """
    x, y, run = np.asarray(x, dtype=float), np.asarray(y, dtype=float), np.asarray(run)
    _, member = np.unique(run, return_inverse=True)
    count = np.bincount(member)
    dx = x - (np.bincount(member, x) / count)[member]
    dy = y - (np.bincount(member, y) / count)[member]
    if not dx @ dx > 0.0:
        raise BadValue("a slope needs at least two different temperatures in a run")
    return float(dx @ dy) / float(dx @ dx)


@dataclass(frozen=True)
class Warming:
    """A first-order rise from ambient temperature."""

    ambient: float = 21.0  #: at the start, [°C]
    final: float = 45.0  #: at the end, [°C]
    time_constant: float = 3600.0  #: [s]

    def at(self, time: Array) -> Array:
        """Temperature after this time [s], [°C]."""
        decay = np.exp(-np.asarray(time) / self.time_constant)
        return self.final + (self.ambient - self.final) * decay


@dataclass(frozen=True)
class Thermometer:
    """A digital thermometer on a slow bus: steps, offset, conversion time, flicker."""

    resolution: float = 0.0625  #: one step, [°C]
    conversion: float = 0.75  #: a new value comes at most this often, [s]
    flicker: float = 0.02  #: largest error before rounding, [°C]; the output jumps between steps
    offset: float = 0.0  #: constant error, [°C]
    low: float = -55.0  #: of the range, [°C]
    high: float = 125.0  #: of the range, [°C]

    def stream(self, time: Array, temperature: Array, rng: np.random.Generator) -> Array:
        """Readings at these times, [°C]; between conversions the last value is repeated."""
        time, temperature = np.asarray(time, dtype=float), np.asarray(temperature, dtype=float)
        slot = np.floor((time - time[0]) / self.conversion + 1e-9).astype(int)
        _, first, member = np.unique(slot, return_index=True, return_inverse=True)
        taken = temperature[first] + self.offset + self.flicker * rng.uniform(-1.0, 1.0, len(first))
        steps = np.rint(np.clip(taken, self.low, self.high) / self.resolution)
        return (steps * self.resolution)[member]

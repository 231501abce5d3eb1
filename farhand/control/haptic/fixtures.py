"""Virtual fixtures: forces that guide a tool along a plane, line or tube, or keep it out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue
from farhand.parameters import parameter
from farhand.spatial import Array

RAMP_TIME_S = 0.5
"""Time to full strength after a fixture was chosen or moved, [s]."""


def _to_plane(x: Array, u: Array, radius: float) -> Array:
    return -u * float(u.dot(x))


def _to_line(x: Array, u: Array, radius: float) -> Array:
    return u * float(u.dot(x)) - x


def _into_tube(x: Array, u: Array, radius: float) -> Array:
    across = _to_line(x, u, radius)
    distance = math.sqrt(float(across.dot(across)))
    return across * max(0.0, 1.0 - radius / distance) if distance > 0.0 else across


def _out_of_region(x: Array, u: Array, radius: float) -> Array:
    distance = math.sqrt(float(x.dot(x)))
    if distance >= radius:
        return np.zeros(3)
    return x * (radius / distance - 1.0) if distance > 1e-9 else u * radius


def _to_point(x: Array, u: Array, radius: float) -> Array:
    return -x


KINDS: dict[str, Callable[[Array, Array, float], Array]] = {
    "plane": _to_plane,
    "line": _to_line,
    "tube": _into_tube,
    "forbidden": _out_of_region,
    "attractor": _to_point,
}
"""Way from a place to the nearest allowed one by kind of fixture, both from its point, [m]."""


@dataclass
class Fixture:
    r"""A spring towards the nearest place that is allowed, and a damper that only resists.

    .. math:: f = \min(k\,|d|,\, f_{max})\,\hat d - c\,\hat d\,\hat d^\top \dot x

    d leads from the tool to the nearest allowed place: on a ``plane`` through ``point`` with normal
    ``direction``, on a ``line`` along it, in a ``tube`` of ``radius`` around that line, outside the
    ball of ``radius`` around the point (``forbidden``), or at the point itself (``attractor``). The
    spring's force depends on |d| alone, so it is the slope of a potential and gives back exactly
    the energy put in; the damper only takes energy. A fixture that is chosen or moved grows from
    zero.

    Attributes:
        strength: share of its full force that has grown so far, [-].
        stored: energy in the spring at the last :meth:`push`, [J].
        attached: whether it pushes on anything; if not, you cannot choose it.
    """

    kind: str = parameter("none", "-", "which fixture guides the tool", choices=("none", *KINDS))
    side: str = parameter("leader", "-", "whose tool is guided", choices=("leader", "follower"))
    point: Array = parameter((0.0, 0.0, 0.0), "m", "a point of the fixture in world", -10.0, 10.0)
    direction: Array = parameter((0.0, 0.0, 1.0), "-", "normal, or axis of a line", -1.0, 1.0)
    radius: float = parameter(0.05, "m", "radius of tube and forbidden region", 0.0, 10.0)
    stiffness: float = parameter(500.0, "N/m", "stiffness of the fixture", 0.0, 1e5)
    damping: float = parameter(20.0, "N·s/m", "damping across the fixture", 0.0, 1e4)
    limit: float = parameter(40.0, "N", "largest push of the fixture", 0.0, 1e3)

    def __post_init__(self) -> None:
        self.strength, self.stored, self.attached = 0.0, 0.0, True
        self.refresh()

    def refresh(self) -> None:
        """Normalise the direction, and grow from zero."""
        if not self.attached and self.kind != "none":
            remedy = "start it with --set fixture.kind=none or another kind"
            raise BadValue(f"this run has no fixture to change; {remedy}")
        length = float(np.linalg.norm(self.direction))
        if length < 1e-9:
            raise BadValue("fixture.direction = 0,0,0 has no direction; give it a length above 0")
        self._unit = self.direction / length
        self.strength = 0.0

    def push(self, position: Array, velocity: Array, dt: float, force: Array) -> None:
        """Write the force [N] on a tool at a place [m] that moves [m/s], every ``dt`` [s]."""
        force[:] = 0.0
        self.stored = 0.0
        if self.kind == "none":
            return
        self.strength = min(1.0, self.strength + dt / RAMP_TIME_S)
        way = KINDS[self.kind](position - self.point, self._unit, self.radius)
        distance = math.sqrt(float(way.dot(way)))
        if distance < 1e-12:
            return
        way /= distance
        size = min(self.stiffness * distance, self.limit)
        self.stored = self.strength * self._potential(distance)
        resisting = self.damping * float(way.dot(velocity))
        np.multiply(way, self.strength * (size - resisting), force)

    def _potential(self, distance: float) -> float:
        """Work of the spring from here to the nearest allowed place, [J]."""
        if self.stiffness * distance <= self.limit:
            return 0.5 * self.stiffness * distance**2
        return self.limit * (distance - 0.5 * self.limit / self.stiffness)

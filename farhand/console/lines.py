"""Lines: springs as coils, limits as boxes, and the trails that tools leave, as segments for a scene."""

from __future__ import annotations

from collections import deque

import numpy as np

Array = np.ndarray

TURNS, PER_TURN, COIL_RADIUS = 8, 10, 0.012  # [-], [-], [m]
ROD_HALF = 0.015  # [m], half the width of a lattice bar
TRAIL_SECONDS, TRAIL_POINTS = 6.0, 120

_CORNERS = np.array([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)])
_EDGES = [
    (i, j) for i in range(8) for j in range(i) if np.abs(_CORNERS[i] - _CORNERS[j]).sum() == 1
]


def segments(points: Array) -> Array:
    """A line through points, shape (n, 3), as segments, shape (n - 1, 2, 3)."""
    return np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)


def coil(a: Array, b: Array) -> Array:
    """A spring from ``a`` to ``b`` [m]: a straight end, turns, a straight end; always the same number of segments."""
    along = b - a
    length = float(np.linalg.norm(along))
    z = along / length if length > 1e-9 else np.array([0.0, 0.0, 1.0])
    x = np.cross(z, [1.0, 0.0, 0.0] if abs(z[0]) < 0.9 else [0.0, 1.0, 0.0])
    x /= np.linalg.norm(x)
    share = np.linspace(0.12, 0.88, TURNS * PER_TURN)
    angle = 2.0 * np.pi * TURNS * (share - 0.12) / 0.76
    radius = min(COIL_RADIUS, 0.4 * length)
    round_it = radius * (np.outer(np.cos(angle), x) + np.outer(np.sin(angle), np.cross(z, x)))
    return segments(np.vstack([a, a + np.outer(share, along) + round_it, b]))


def dashes(a: Array, b: Array, count: int = 24) -> Array:
    """A dashed line from ``a`` to ``b`` [m]."""
    share = np.linspace(0.0, 1.0, 2 * count)[:, None]
    return (a + share * (b - a)).reshape(count, 2, 3).astype(np.float32)


def rod(a: Array, b: Array, rungs: int = 16) -> Array:
    """A lattice bar from ``a`` to ``b`` [m], for what holds two tools together: two edges with diagonals between."""
    along = b - a
    x = np.cross(along, [0.0, 0.0, 1.0])
    size = float(np.linalg.norm(x))
    across = (x / size if size > 1e-9 else np.array([1.0, 0.0, 0.0])) * ROD_HALF
    share = np.linspace(0.0, 1.0, rungs + 1)[:, None]
    zigzag = a + share * along + across * np.where(np.arange(rungs + 1) % 2, 1.0, -1.0)[:, None]
    edges = [np.array([a + side * across, b + side * across]) for side in (1.0, -1.0)]
    return np.concatenate([segments(edges[0]), segments(edges[1]), segments(zigzag)])


def torus_circles(
    centre: Array, axes: Array, major: float, minor: float, tubes: int = 8, sides: int = 32
) -> Array:
    """The inner and outer rim of a torus about the third of ``axes`` (columns), and rings of its tube, [m]."""
    angles = np.linspace(0.0, 2.0 * np.pi, sides + 1)
    flat = np.stack([np.cos(angles), np.sin(angles), np.zeros(sides + 1)], axis=1)
    found = [segments(centre + (major + side * minor) * flat @ axes.T) for side in (1.0, -1.0)]
    for angle in np.linspace(0.0, 2.0 * np.pi, tubes, endpoint=False):
        out = np.array([np.cos(angle), np.sin(angle), 0.0])
        ring = major * out + minor * (
            np.outer(np.cos(angles), out) + np.outer(np.sin(angles), [0.0, 0.0, 1.0])
        )
        found.append(segments(centre + ring @ axes.T))
    return np.concatenate(found)


def ball_circles(centre: Array, radius: float, sides: int = 32) -> Array:
    """Three great circles of a ball, [m]."""
    angles = np.linspace(0.0, 2.0 * np.pi, sides + 1)
    flat = radius * np.stack([np.cos(angles), np.sin(angles), np.zeros(sides + 1)], axis=1)
    return np.concatenate([segments(centre + np.roll(flat, axis, axis=1)) for axis in range(3)])


def box_edges(low: Array, high: Array) -> Array:
    """The twelve edges of a box between two corners, [m]."""
    corners = np.where(_CORNERS, high, low)
    return np.array([[corners[i], corners[j]] for i, j in _EDGES], dtype=np.float32)


class Trail:
    """Where a tool has been in the last seconds.

    Attributes:
        points: segments, oldest first; a trail of fewer points than there is room for begins with
            empty ones.
    """

    def __init__(self) -> None:
        self._places: deque[Array] = deque(maxlen=TRAIL_POINTS + 1)
        self._last_ns: int | None = None

    def add(self, t_ns: int, place: Array) -> bool:
        """Take in where the tool is, if the last place is old enough; whether the trail changed."""
        if self._last_ns is not None:
            if t_ns < self._last_ns or t_ns - self._last_ns > 1e9 * TRAIL_SECONDS:
                # Another time altogether: a replay was moved, or a new session began
                self._places.clear()
            elif t_ns - self._last_ns < 1e9 * TRAIL_SECONDS / TRAIL_POINTS:
                return False
        self._last_ns = t_ns
        self._places.append(np.array(place))
        return True

    @property
    def points(self) -> Array:
        """The segments, shape (120, 2, 3), [m]."""
        places = np.array(self._places)
        lead = np.repeat(places[:1], TRAIL_POINTS + 1 - len(places), axis=0)
        return segments(np.concatenate([lead, places]))

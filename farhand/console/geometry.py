"""Meshes and line segments of what a scene shows."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import mujoco
import numpy as np

if TYPE_CHECKING:
    from farhand.console.scene import Geom

Array = np.ndarray

FACETS = 40  # round a cylinder
BEVEL = 0.003  # [m], width on the edge of a cylinder; less on small ones
PLANE_HALF_EXTENT = 5.0  # [m], drawn of a plane without edges

Mesh = tuple[Array, Array]
"""Vertices, shape (n, 3), [m], and triangles, shape (m, 3); shared vertices are shaded smoothly."""

TURNS, PER_TURN, COIL_RADIUS = 8, 10, 0.012  # [-], [-], [m]
ROD_HALF = 0.015  # [m], half the width of a lattice bar
TRAIL_SECONDS, TRAIL_POINTS = 6.0, 120
_CORNERS = np.array([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)])
_EDGES = [(a, a | bit) for a in range(8) for bit in (1, 2, 4) if not a & bit]


def mesh_of(geom: Geom, model: mujoco.MjModel) -> Mesh | None:
    """Mesh of a shape in its body's frame; None for a kind that is not drawn (a height field)."""
    mesh = _in_own_frame(geom, model)
    if mesh is None:
        return None
    vertices, triangles = mesh
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, np.array(geom["quaternion_wxyz"]))
    return vertices @ rotation.reshape(3, 3).T + geom["position"], triangles


def joined(meshes: list[Mesh]) -> Mesh:
    """Several meshes as one."""
    starts = np.cumsum([0, *(len(vertices) for vertices, _ in meshes)])
    triangles = [triangles + start for (_, triangles), start in zip(meshes, starts, strict=False)]
    return np.concatenate([vertices for vertices, _ in meshes]), np.concatenate(triangles)


def cylinder(radius: float, half: float) -> Mesh:
    """About z, with bevelled edges; radius and half-length in [m]."""
    bevel = min(BEVEL, 0.2 * radius, 0.5 * half)
    rim, low = radius - bevel, half - bevel
    outline = [(0.0, -half), (rim, -half), (radius, -low), (radius, low), (rim, half), (0.0, half)]
    return joined([_turned(outline[i : i + 2]) for i in range(len(outline) - 1)])


def capsule(radius: float, half: float) -> Mesh:
    """About z, with round ends; half-length without the ends, [m]."""
    # An even number: none on the equator, which is there twice
    angles = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 18)
    heights = radius * np.sin(angles) + np.where(angles < 0.0, -half, half)
    return _turned(list(zip(radius * np.cos(angles), heights, strict=True)))


def box(half: Array) -> Mesh:
    """With sharp edges; half-lengths in [m]."""
    square = np.array([[-1.0, -1.0, 1.0], [1.0, -1.0, 1.0], [1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]])
    faces = []
    for axis in range(3):
        turned = np.roll(square, axis + 1, axis=1)
        for sign in (1.0, -1.0):
            corners = turned * np.where(np.arange(3) == axis, sign, 1.0)
            triangles = np.array([[0, 1, 2], [0, 2, 3]])
            faces.append((corners * half, triangles if sign > 0 else triangles[:, ::-1]))
    return joined(faces)


def _in_own_frame(geom: Geom, model: mujoco.MjModel) -> Mesh | None:
    size = np.array(geom["size"])
    kind = geom["type"]
    if kind == "cylinder":
        return cylinder(size[0], size[1])
    if kind == "capsule":
        return capsule(size[0], size[1])
    if kind == "sphere":
        return capsule(size[0], 0.0)
    if kind == "ellipsoid":
        vertices, triangles = capsule(1.0, 0.0)
        return vertices * size, triangles
    if kind == "box":
        return box(size)
    if kind == "plane":
        half = np.where(size[:2] > 0.0, size[:2], PLANE_HALF_EXTENT)
        return box(np.array([*half, 1e-4]))
    return _stored_mesh(geom["mesh"], model) if kind == "mesh" else None


def _stored_mesh(index: int, model: mujoco.MjModel) -> Mesh:
    mesh = model.mesh(index)
    vertices = model.mesh_vert[int(mesh.vertadr[0]) : int(mesh.vertadr[0] + mesh.vertnum[0])]
    triangles = model.mesh_face[int(mesh.faceadr[0]) : int(mesh.faceadr[0] + mesh.facenum[0])]
    return np.array(vertices, dtype=float), np.array(triangles)


def _turned(outline: list[tuple[float, float]]) -> Mesh:
    """The surface that an outline of (radius, height), from the bottom up, sweeps about z."""
    angles = np.linspace(0.0, 2.0 * np.pi, FACETS, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles), np.zeros(FACETS)], axis=1)
    vertices = np.concatenate([radius * circle + [0.0, 0.0, height] for radius, height in outline])
    here = np.arange(FACETS)
    following = (here + 1) % FACETS
    triangles = []
    for ring in range(len(outline) - 1):
        a, b = ring * FACETS + here, ring * FACETS + following
        triangles += [
            np.stack([a, b, b + FACETS], axis=1),
            np.stack([a, b + FACETS, a + FACETS], axis=1),
        ]
    return vertices, np.concatenate(triangles)


def segments(points: Array) -> Array:
    """A line through points, shape (n, 3), as segments, shape (n - 1, 2, 3)."""
    return np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)


def coil(a: Array, b: Array) -> Array:
    """A spring from ``a`` to ``b`` [m], always with the same number of segments."""
    along = b - a
    length = float(np.linalg.norm(along))
    x, y, _ = facing(along / length if length > 1e-9 else np.array([0.0, 0.0, 1.0])).T
    share = np.linspace(0.12, 0.88, TURNS * PER_TURN)
    angle = 2.0 * np.pi * TURNS * (share - 0.12) / 0.76
    radius = min(COIL_RADIUS, 0.4 * length)
    round_it = radius * (np.outer(np.cos(angle), x) + np.outer(np.sin(angle), y))
    return segments(np.vstack([a, a + np.outer(share, along) + round_it, b]))


def dashes(a: Array, b: Array, count: int = 24) -> Array:
    """A dashed line from ``a`` to ``b`` [m]."""
    share = np.linspace(0.0, 1.0, 2 * count)[:, None]
    return (a + share * (b - a)).reshape(count, 2, 3).astype(np.float32)


def rod(a: Array, b: Array, rungs: int = 16) -> Array:
    """A lattice bar from ``a`` to ``b`` [m]: two edges with diagonals between them."""
    along = b - a
    across = ROD_HALF * facing(along)[:, 0]
    share = np.linspace(0.0, 1.0, rungs + 1)[:, None]
    zigzag = a + share * along + across * np.where(np.arange(rungs + 1) % 2, 1.0, -1.0)[:, None]
    edges = [np.array([a + side * across, b + side * across]) for side in (1.0, -1.0)]
    return np.concatenate([segments(edges[0]), segments(edges[1]), segments(zigzag)])


def circle(centre: Array, a: Array, b: Array, sides: int = 32) -> Array:
    """An ellipse about a centre with two half-axes, [m]."""
    angles = np.linspace(0.0, 2.0 * np.pi, sides + 1)
    return segments(centre + np.outer(np.cos(angles), a) + np.outer(np.sin(angles), b))


def facing(normal: Array) -> Array:
    """A rotation that turns z into ``normal`` and keeps x level."""
    level = np.cross([0.0, 0.0, 1.0], normal)
    size = float(np.linalg.norm(level))
    x = level / size if size > 1e-9 else np.array([1.0, 0.0, 0.0])
    return np.stack([x, np.cross(normal, x), normal], axis=1)


def crossed_square(centre: Array, normal: Array, size: float) -> Array:
    """A square of an edge ``size`` [m] across a normal, and its diagonals."""
    corners = np.array([[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]])
    places = centre + 0.5 * size * corners @ facing(normal).T
    return segments(places[[0, 1, 2, 3, 0, 2, 1, 3]])


def torus_circles(centre: Array, axis: Array, major: float, minor: float, tubes: int = 8) -> Array:
    """The rims of a torus about an axis, and rings of its tube, [m]."""
    x, y, z = facing(axis).T
    rings = [circle(centre, rim * x, rim * y) for rim in (major + minor, major - minor)]
    for angle in np.linspace(0.0, 2.0 * np.pi, tubes, endpoint=False):
        out = np.cos(angle) * x + np.sin(angle) * y
        rings.append(circle(centre + major * out, minor * out, minor * z))
    return np.concatenate(rings)


def ball_circles(centre: Array, radius: float) -> Array:
    """Three great circles of a ball, [m]."""
    x, y, z = radius * np.eye(3)
    return np.concatenate([circle(centre, *pair) for pair in ((x, y), (y, z), (z, x))])


def box_edges(low: Array, high: Array) -> Array:
    """The twelve edges of a box between two corners, [m]."""
    corners = np.where(_CORNERS, high, low)
    return np.array([[corners[i], corners[j]] for i, j in _EDGES], dtype=np.float32)


class Trail:
    """Where a tool has been in the last seconds.

    Attributes:
        points: segments, oldest first; a short trail begins with empty ones.
    """

    def __init__(self) -> None:
        self._places: deque[Array] = deque(maxlen=TRAIL_POINTS + 1)
        self._last_ns: int | None = None

    def add(self, t_ns: int, place: Array) -> bool:
        """Add where the tool is, if the last place is old enough; whether the trail changed."""
        if self._last_ns is not None:
            if t_ns < self._last_ns or t_ns - self._last_ns > 1e9 * TRAIL_SECONDS:
                # A replay was moved, or a new session began
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

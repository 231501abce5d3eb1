"""Shapes: the primitives of a model as triangle meshes, with the small bevels that make a cylinder look machined."""

from __future__ import annotations

import mujoco
import numpy as np

from farhand.console.scene import Geom

Array = np.ndarray

SEGMENTS = 40
"""Facets round a cylinder."""

BEVEL = 0.003
"""Width of the bevel on the edge of a cylinder, [m]; less on small ones."""

PLANE_HALF_EXTENT = 5.0
"""Half the edge drawn of a plane without edges, [m]."""

Mesh = tuple[Array, Array]
"""Vertices, shape (n, 3), [m], and triangles, shape (m, 3). Vertices that triangles share are
shaded smoothly."""


def mesh_of(geom: Geom, model: mujoco.MjModel) -> Mesh | None:
    """Mesh of a shape in its body's frame; ``None`` for a kind that is not drawn (a height field)."""
    made = _in_own_frame(geom, model)
    if made is None:
        return None
    vertices, triangles = made
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
    # an even number: none on the equator, which is there twice
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
    """The surface that an outline of (radius, height) from bottom to top sweeps about z, shaded smoothly."""
    angles = np.linspace(0.0, 2.0 * np.pi, SEGMENTS, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles), np.zeros(SEGMENTS)], axis=1)
    vertices = np.concatenate([radius * circle + [0.0, 0.0, height] for radius, height in outline])
    here = np.arange(SEGMENTS)
    following = (here + 1) % SEGMENTS
    triangles = []
    for ring in range(len(outline) - 1):
        a, b = ring * SEGMENTS + here, ring * SEGMENTS + following
        triangles += [
            np.stack([a, b, b + SEGMENTS], axis=1),
            np.stack([a, b + SEGMENTS, a + SEGMENTS], axis=1),
        ]
    return vertices, np.concatenate(triangles)

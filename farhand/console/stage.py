"""Stage: floor, light and camera of a scene, chosen so that everything a rig has is in the picture."""

from __future__ import annotations

import numpy as np
import viser

Array = np.ndarray

FLOOR = (246, 247, 249)
FIELD_OF_VIEW = np.radians(38.0)
WIDE = 1.35
"""Width over height of a window that needs no more distance."""
LOWER = 0.28
"""By how much of the window's height a narrow one looks below the middle, its panel being there."""
VIEW_DIRECTION = np.array([0.72, -0.56, 0.36])  # from the middle of the scene to the camera

CAMERAS = {
    "youbot": np.array([0.62, -0.62, 0.42]),
    "cooperative": np.array([0.55, -0.75, 0.55]),
    "humanoid": np.array([0.85, 0.10, 0.30]),
}
"""From where a rig is looked at, where not from the usual side."""

FARTHER = {"youbot": 1.15}
"""How much farther away than usual, where an arrow and its number reach beyond all that is drawn,
[-]."""


def set_stage(
    server: viser.ViserServer, points: Array, floor: float, rig: str, shadows: bool = True
) -> tuple[Array, Array]:
    """Light, a floor at a height [m], and a camera that sees all points, shape (n, 3), [m].

    Returns:
        where the camera looks, and where it stands from there, [m].
    """
    scene = server.scene
    scene.set_up_direction("+z")
    scene.configure_default_lights(cast_shadow=shadows)
    scene.world_axes.visible = False
    _lay_floor(scene, floor)
    middle, back = camera_of(points, rig)
    camera = server.initial_camera
    camera.fov = FIELD_OF_VIEW
    camera.look_at = middle
    camera.position = middle + back
    return middle, back


def camera_of(points: Array, rig: str) -> tuple[Array, Array]:
    """Where the camera looks to see all points, and where it stands from there, [m]."""
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    radius = max(0.25, float(np.linalg.norm(points - middle, axis=1).max()))
    away = CAMERAS.get(rig, VIEW_DIRECTION)
    distance = 1.25 * FARTHER.get(rig, 1.0) * radius / np.tan(0.5 * FIELD_OF_VIEW)
    return middle, away / np.linalg.norm(away) * distance


def suit(client: viser.ClientHandle, middle: Array, back: Array) -> None:
    """Step back until a narrow window, such as a phone's, shows as much from side to side, above its panel."""
    aspect = client.camera.aspect
    if aspect < WIDE:
        farther = back * WIDE / aspect
        lower = middle - [
            0.0,
            0.0,
            LOWER * 2.0 * float(np.linalg.norm(farther)) * np.tan(0.5 * FIELD_OF_VIEW),
        ]
        client.camera.position = lower + farther  # first: it takes along what is looked at
        client.camera.look_at = lower


def floor_height(lowest: float) -> float:
    """Height of the floor below a scene whose lowest base is at ``lowest``, [m]."""
    return min(0.0, lowest)


def _lay_floor(scene: viser.SceneApi, height: float) -> None:
    scene.add_grid(
        "/world/floor",
        width=6.0,
        height=6.0,
        cell_size=0.1,
        section_size=0.5,
        cell_color=(225, 228, 232),
        section_color=(190, 195, 202),
        infinite_grid=True,
        fade_distance=7.0,
        fade_from="origin",
        shadow_opacity=0.25,
        plane_color=FLOOR,
        plane_opacity=1.0,
        position=(0.0, 0.0, height),
    )

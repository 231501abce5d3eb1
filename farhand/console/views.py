"""Floor, light and cameras: an overview, or the follower's own eyes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import viser

from farhand.console.live import Live
from farhand.console.scene import Kinematics, RobotScene, Scene

Array = np.ndarray

FLOOR = (246, 247, 249)
FIELD_OF_VIEW = np.radians(38.0)
MIN_ASPECT = 1.35  # width over height of a window; a narrower one needs more distance
NARROW_SHIFT = 0.28  # share of its height that a narrow window, with its panel below, looks lower
VIEW_DIRECTION = np.array([0.72, -0.56, 0.36])  # from the middle of the scene to the camera

CAMERAS = {
    "youbot": np.array([0.62, -0.62, 0.42]),
    "cooperative": np.array([0.55, -0.75, 0.55]),
    "humanoid": np.array([0.85, 0.10, 0.30]),
}
"""View direction of a rig, if it is not the usual one."""

FARTHER = {"youbot": 1.15}
"""How much farther away than usual the camera of a rig is, [-], for long arrows."""

OVERVIEW, EYES = "overview", "eyes"
EYE_FIELD = float(np.radians(70.0))  # of a camera on a robot
BEHIND, BESIDE, AHEAD = 0.30, 0.12, 0.25  # [m], of the eye from the tool, and of what it looks at
BEFORE = 0.09  # [m], of an eye from the middle of its head
HEAD = "head"  # body from which a robot looks, if it has one


def set_stage(
    server: viser.ViserServer, points: Array, floor: float, rig: str, walls: Sequence[Array] = ()
) -> tuple[Array, Array]:
    """Light, a floor at a height [m], and a camera that sees all points, shape (n, 3), [m].

    The camera is on the free side of the first wall, given by its normal.

    Returns:
        where the camera looks, and where it is from there, [m].
    """
    scene = server.scene
    scene.set_up_direction("+z")
    scene.configure_default_lights(cast_shadow=True)
    scene.world_axes.visible = False
    _lay_floor(scene, floor)
    middle, back = camera_of(points, rig, walls)
    camera = server.initial_camera
    camera.fov = FIELD_OF_VIEW
    camera.look_at = middle
    camera.position = middle + back
    return middle, back


def camera_of(points: Array, rig: str, walls: Sequence[Array] = ()) -> tuple[Array, Array]:
    """Where the camera looks to see all points, and where it is from there, [m]."""
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    radius = max(0.25, float(np.linalg.norm(points - middle, axis=1).max()))
    away = CAMERAS.get(rig, VIEW_DIRECTION)
    for normal in walls[:1]:
        away = away - 2.0 * min(0.0, float(away @ normal)) * normal
    distance = 1.25 * FARTHER.get(rig, 1.0) * radius / np.tan(0.5 * FIELD_OF_VIEW)
    return middle, away / np.linalg.norm(away) * distance


def fit_camera(client: viser.ClientHandle, middle: Array, back: Array, sheet: bool) -> None:
    """Move the camera back until a narrow window shows as much.

    Args:
        client: whose camera.
        middle: where it looks, [m].
        back: where it is from there, [m].
        sheet: whether the panel lies over the lower half of the picture, as on a phone.
    """
    aspect = client.camera.aspect
    farther = back * max(1.0, MIN_ASPECT / aspect)
    height = 2.0 * float(np.linalg.norm(farther)) * np.tan(0.5 * FIELD_OF_VIEW)
    looked_at = middle - [0.0, 0.0, NARROW_SHIFT * height] if sheet else middle
    # First the position: it moves what is looked at as well
    client.camera.position = looked_at + farther
    client.camera.look_at = looked_at


def _lay_floor(scene: viser.SceneApi, height: float) -> None:
    look: Any = {"infinite_grid": True, "fade_distance": 7.0, "fade_from": "origin"}
    look |= {"cell_size": 0.1, "cell_color": (225, 228, 232)}
    look |= {"section_size": 0.5, "section_color": (190, 195, 202)}
    look |= {"plane_color": FLOOR, "plane_opacity": 1.0, "shadow_opacity": 0.25}
    scene.add_grid("/world/floor", width=6.0, height=6.0, position=(0.0, 0.0, height), **look)


class Views:
    """The cameras of all visitors.

    A robot with a head looks from there at its tool. Any other carries its camera on the wrist:
    behind the tool along the tool's own axis, and above it.

    Args:
        live: which client is whose.
        overview: where the camera looks, and where it is from there, [m].
    """

    def __init__(
        self,
        server: viser.ViserServer,
        scene: Scene,
        kinematics: Kinematics,
        overview: tuple[Array, Array],
        live: Live,
    ) -> None:
        self._server, self._kinematics, self._overview = server, kinematics, overview
        self._live = live
        followers = (robot for robot in scene["robots"] if robot["role"] == "follower")
        self._robot = next(followers, None)
        self._inside: set[int] = set()

    @property
    def has_eyes(self) -> bool:
        """Whether there is a follower to look from."""
        return self._robot is not None

    def choose(self, number: str, view: str) -> None:
        """Give one visitor a view; nobody else's picture changes."""
        clients = self._server.get_clients()
        for place, whose in list(self._live.clients.items()):
            if whose == number and place in clients:
                self.give(clients[place], view)

    def give(self, client: viser.ClientHandle | None, view: str) -> None:
        """Give one window a view."""
        if client is None:
            return
        if view == EYES and self._robot is not None:
            self._inside.add(client.client_id)
            client.camera.fov = EYE_FIELD
            self._look(client)
            return
        self._inside.discard(client.client_id)
        client.camera.fov = FIELD_OF_VIEW
        visitor = self._live.visitors.get(self._live.clients.get(client.client_id, ""))
        fit_camera(client, *self._overview, sheet=visitor is not None and visitor.narrow)

    def update(self) -> None:
        """Move the cameras that are on the follower."""
        if not self._inside:
            return
        clients = self._server.get_clients()
        self._inside &= clients.keys()
        for number in self._inside:
            self._look(clients[number])

    def _look(self, client: viser.ClientHandle) -> None:
        if self._robot is not None:
            eye, at = eye_of(self._robot, self._kinematics)
            client.camera.position = eye
            client.camera.look_at = at


def eye_of(robot: RobotScene, kinematics: Kinematics) -> tuple[Array, Array]:
    """Where a robot's eye is, and what it looks at, in world, [m]."""
    tool = kinematics.tool_position[robot["name"]]
    heads = [body["index"] for body in robot["bodies"] if body["name"] == HEAD]
    if heads:
        middle = kinematics.body_position[heads[0]] + [0.0, 0.0, 0.05]
        return middle + BEFORE * (tool - middle) / float(np.linalg.norm(tool - middle)), tool.copy()
    ahead = kinematics.tool_axes(robot["name"])[:, 2]
    up = np.array([0.0, 0.0, 1.0])
    above = up - ahead * float(up @ ahead)
    size = float(np.linalg.norm(above))
    # A tool that points up or down has its camera on the side away from the base
    if size < 0.3:
        above = tool - kinematics.body_position[robot["bodies"][0]["index"]]
        above = above - ahead * float(above @ ahead)
        size = float(np.linalg.norm(above))
    above = above / size if size > 1e-6 else np.zeros(3)
    return tool - BEHIND * ahead + BESIDE * above, tool + AHEAD * ahead

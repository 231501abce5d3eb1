"""Floor, light and cameras: an overview, or the follower's own eyes."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable
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

FARTHER = {"youbot": 1.15, "cooperative": 1.2, "pair": 0.8}
"""How much farther away than usual the camera of a rig is, [-]: long arrows, many names; nearer
where arms are small beside the room between them."""

OVERVIEW, EYES = "overview", "eyes"
EYE_FIELD = float(np.radians(60.0))  # of a camera on a robot
MIN_EYE_DISTANCE = 0.48  # [m], from the tool
EYE_DISTANCE = 1.8  # from the tool, [-] of half the robot: a large wrist hides more
AROUND = 0.03  # [m], from the tool to the places that the eye should see as well
TURNS = tuple(np.radians([0.0, 25.0, -25.0, 50.0, -50.0, 75.0, -75.0]))  # from behind the tool
RISES = tuple(np.radians([35.0, 20.0, 50.0, 65.0]))  # [rad], above the tool; the best first
TURN_COST = 1.0  # how many more places an eye must see that is turned by one radian more
STEEP = 0.95  # height of a direction that counts as vertical, [-]
HEAD = "head"  # body from which a robot looks, if it has one
EYE_IN_HEAD, BEFORE = np.array([0.0, 0.0, 0.05]), 0.09  # [m], above and before its middle
LIMITS = "/limits"  # of the picture, which would lie across the view from a robot


def set_stage(
    server: viser.ViserServer, view: Scene, kinematics: Kinematics
) -> tuple[Array, Array]:
    """Light and a floor below all robots; where a camera sees them, as :func:`camera_of`."""
    scene = server.scene
    scene.set_up_direction("+z")
    scene.configure_default_lights(cast_shadow=True)
    scene.world_axes.visible = False
    _lay_floor(scene, min([0.0, *(robot["position"][2] for robot in view["robots"])]))
    # Each visitor is given his camera when he comes. An initial one for all would be applied after
    # that in a slow browser, which takes both in the same frame.
    server.initial_camera.fov = FIELD_OF_VIEW
    return camera_of(view, kinematics)


def camera_of(scene: Scene, kinematics: Kinematics) -> tuple[Array, Array]:
    """Where the camera looks to see all robots and walls, and where it is from there, [m].

    It is on the free side of the first wall.
    """
    walls = [thing for thing in scene["things"] if thing["kind"] == "wall"]
    points = np.array([*kinematics.body_position[1:], *kinematics.tool_position.values()])
    points = np.array([*points, *(wall["point"] for wall in walls)])
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    radius = max(0.25, float(np.linalg.norm(points - middle, axis=1).max()))
    away = CAMERAS.get(scene["rig"], VIEW_DIRECTION)
    for wall in walls[:1]:
        normal = np.array(wall["normal"])
        away = away - 2.0 * min(0.0, float(away @ normal)) * normal
    distance = 1.25 * FARTHER.get(scene["rig"], 1.0) * radius / np.tan(0.5 * FIELD_OF_VIEW)
    return middle, _unit(away) * distance


def fit_camera(
    client: viser.ClientHandle, middle: Array, back: Array, sheet: bool, aspect: float
) -> None:
    """Move the camera back until a narrow picture shows as much.

    Args:
        client: whose camera.
        middle: where it looks, [m].
        back: where it is from there, [m].
        sheet: whether the panel lies over the lower half of the picture, as on a phone.
        aspect: width over height of the picture, [-].
    """
    farther = back * max(1.0, MIN_ASPECT / aspect)
    height = 2.0 * float(np.linalg.norm(farther)) * np.tan(0.5 * FIELD_OF_VIEW)
    looked_at = middle - [0.0, 0.0, NARROW_SHIFT * height] if sheet else middle
    # First the position: it moves what is looked at as well
    client.camera.position = looked_at + farther
    # viser does not send what it takes for the present view, and a slow browser reports old views
    # in between; a point that is different is always sent
    client.camera.look_at = looked_at + 1e-3 * back
    client.camera.look_at = looked_at


def _lay_floor(scene: viser.SceneApi, height: float) -> None:
    look: Any = {"infinite_grid": True, "fade_distance": 7.0, "fade_from": "origin"}
    look |= {"cell_size": 0.1, "cell_color": (225, 228, 232)}
    look |= {"section_size": 0.5, "section_color": (190, 195, 202)}
    look |= {"plane_color": FLOOR, "plane_opacity": 1.0, "shadow_opacity": 0.25}
    scene.add_grid("/world/floor", width=6.0, height=6.0, position=(0.0, 0.0, height), **look)


class Views:
    """The cameras of all visitors.

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
        self._server, self._scene, self._kinematics = server, scene, kinematics
        self._overview, self._live = overview, live
        self._giving = threading.Lock()  # two at once would each send a half of a view
        self._inside: dict[int, tuple[Eye, Array]] = {}  # the eye, and what it looks at, by client
        followers = (robot for robot in scene["robots"] if robot["role"] == "follower")
        self._robot = next(followers, None)

    @property
    def has_eyes(self) -> bool:
        """Whether there is a follower to look from."""
        return self._robot is not None

    def greet(self, number: str) -> None:
        """Give a visitor the overview, as soon as both his page and viser's have said hello."""
        visitor = self._live.visitors.get(number)
        if visitor is not None and math.isfinite(visitor.aspect):
            self.choose(number, OVERVIEW)

    def choose(self, number: str, view: str) -> None:
        """Give one visitor a view; nobody else's picture changes."""
        clients = self._server.get_clients()
        for place, whose in list(self._live.clients.items()):
            if whose == number and place in clients:
                with self._giving:
                    self.give(clients[place], view)

    def give(self, client: viser.ClientHandle | None, view: str) -> None:
        """Give one window a view."""
        if client is None:
            return
        self._inside.pop(client.client_id, None)
        client.scene.remove_by_name(LIMITS)
        if view == EYES and self._robot is not None:
            # Hides them in this window only
            client.scene.add_frame(LIMITS, show_axes=False, visible=False)
            self._inside[client.client_id] = eye_of(self._robot, self._scene, self._kinematics)
            client.camera.fov = EYE_FIELD
            self.update()
            return
        client.camera.fov = FIELD_OF_VIEW
        visitor = self._live.visitors.get(self._live.clients.get(client.client_id, ""))
        sheet, aspect = False, client.camera.aspect
        if visitor is not None:
            sheet = visitor.narrow
            if math.isfinite(visitor.aspect):
                # viser's own changes while a page is laid out, and at first counts no panel
                aspect = visitor.aspect
        fit_camera(client, *self._overview, sheet, aspect)

    def update(self) -> None:
        """Move the cameras that are on the follower."""
        clients = self._server.get_clients() if self._inside else {}
        for number, (eye, tool) in list(self._inside.items()):
            if number in clients:
                # First the position: it moves what is looked at as well
                clients[number].camera.position = eye()
                clients[number].camera.look_at = tool
            else:
                del self._inside[number]


Eye = Callable[[], Array]
"""Where a robot's eye is now, in world, [m]."""


def eye_of(robot: RobotScene, scene: Scene, kinematics: Kinematics) -> tuple[Eye, Array]:
    """A robot's eye, and its tool, at which the eye looks, [m]; a live view.

    The eye is in the robot's head. Without a head it is behind and above the tool, seen in the
    direction of its wall or of the tool's own axis: where the robots hide least of the tool now.
    From there it goes with the tool.
    """
    name = robot["name"]
    tool = kinematics.tool_position[name]
    heads = [body["index"] for body in robot["bodies"] if body["name"] == HEAD]
    if heads:
        head = kinematics.body_position[heads[0]]
        return lambda: head + EYE_IN_HEAD + BEFORE * _unit(tool - head), tool
    walls = [t for t in scene["things"] if t["kind"] == "wall" and t["robot"] == name]
    ahead = -np.array(walls[0]["normal"]) if walls else kinematics.tool_axes(name)[:, 2]
    if abs(ahead[2]) > STEEP:
        ahead = tool - np.array(robot["position"])
    up, ahead = np.array([0.0, 0.0, 1.0]), _unit(ahead * [1.0, 1.0, 0.0])
    side = np.cross(up, ahead)
    body = np.array([*kinematics.body_position[[b["index"] for b in robot["bodies"]]], tool])
    size = 0.5 * float(np.linalg.norm(np.ptp(body, axis=0)))
    distance = max(MIN_EYE_DISTANCE, EYE_DISTANCE * size)
    near = tool + AROUND * np.array([0.0 * up, ahead, side, -side, up, -up])

    def offset(turn: float, rise: float) -> Array:
        behind = -np.cos(turn) * ahead - np.sin(turn) * side
        return distance * (np.cos(rise) * behind + np.sin(rise) * up)

    def worth(angles: tuple[float, float]) -> float:
        eye = tool + offset(*angles)
        return sum(kinematics.sees(eye, place) for place in near) - TURN_COST * abs(angles[0])

    best = offset(*max(itertools.product(TURNS, RISES), key=worth))
    return lambda: tool + best, tool


def _unit(vector: Array) -> Array:
    return vector / max(1e-9, float(np.linalg.norm(vector)))

"""Views: where a visitor looks from: beside the rig, or out of the follower's own eyes, each visitor for himself."""

from __future__ import annotations

import numpy as np
import viser

from farhand.console.kinematics import Kinematics
from farhand.console.scene import RobotScene, Scene
from farhand.console.stage import FIELD_OF_VIEW, suit

Array = np.ndarray

OVERVIEW, EYES = "Overview", "Follower's eyes"
EYE_FIELD = float(np.radians(70.0))  # of a camera on a robot
BEHIND, BESIDE, AHEAD = 0.30, 0.12, 0.25  # [m], of the eye from the tool, and of what it looks at
BEFORE = 0.09  # [m], of an eye from the middle of its head
HEAD = "head"
"""Body from which a robot looks, where it has one."""


class Views:
    """The cameras of all visitors.

    A robot with a head looks from there at its tool. Any other carries its camera on the wrist:
    behind the tool along the tool's own axis, and above it.

    Args:
        server: where they are shown.
        scene: whose follower has eyes.
        kinematics: where it is.
        overview: where the camera looks, and where it stands from there, [m].
    """

    def __init__(
        self,
        server: viser.ViserServer,
        scene: Scene,
        kinematics: Kinematics,
        overview: tuple[Array, Array],
    ) -> None:
        self._server, self._kinematics, self._overview = server, kinematics, overview
        self._robot = next(
            (robot for robot in scene["robots"] if robot["role"] == "follower"), None
        )
        self._inside: set[int] = set()
        if self._robot is not None:
            buttons = server.gui.add_button_group("view", (OVERVIEW, EYES))
            buttons.on_click(lambda event: self.choose(event.client, buttons.value))

    def choose(self, client: viser.ClientHandle | None, view: str) -> None:
        """Take one visitor to a view; nobody else's picture changes."""
        if client is None:
            return
        if view == EYES:
            self._inside.add(client.client_id)
            client.camera.fov = EYE_FIELD
            self._look(client)
            return
        self._inside.discard(client.client_id)
        client.camera.fov = FIELD_OF_VIEW
        middle, back = self._overview
        client.camera.position = middle + back
        client.camera.look_at = middle
        suit(client, middle, back)

    def update(self) -> None:
        """Carry along those who look out of the follower's eyes."""
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
    if size < 0.3:  # a tool that points up or down has its camera on the side away from the base
        above = tool - kinematics.body_position[robot["bodies"][0]["index"]]
        above = above - ahead * float(above @ ahead)
        size = float(np.linalg.norm(above))
    above = above / size if size > 1e-6 else np.zeros(3)
    return tool - BEHIND * ahead + BESIDE * above, tool + AHEAD * ahead

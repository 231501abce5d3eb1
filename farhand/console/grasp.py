"""The visitor's hand on the leader's tool: a spring that the mouse or the arrow keys pull."""

from __future__ import annotations

from typing import Any

import numpy as np
import viser

from farhand.console import palette
from farhand.console.geometry import coil
from farhand.console.source import Requests
from farhand.console.status import Reading, newtons
from farhand.console.things import Thing
from farhand.control.trajectory.paths import HandPath, Move

Array = np.ndarray

MAX_SPEED = 0.5  # [m/s], of the hand; a mouse is faster than any arm
MAX_FRAME_S = 0.1  # a page that was delayed does not catch up in one step
MIN_STEP_M = 2e-4
MIN_STRETCH_M = 2e-3  # less is not drawn
HANDLE_SIZE_M = 0.20
AT_LIMIT = 0.97  # share of the hand's limit at which it counts as reached
KEY_STEP_M = 0.01
"""By how much a key moves the hand, [m]."""


class Grasp:
    """A handle at the far end of the hand's spring.

    The hand is the spring and damper of :class:`farhand.world.ImpedanceHand` about its path;
    dragging adds ``hand.drag`` to it, and closes an open hand. The far end stays so near to the
    tool that the force keeps below the hand's limit.

    Args:
        live: whether it can be dragged; a recorded hand cannot.
        size: of the rig, to scale the handle, [m].
        width: of its coil's wire, [m].

    Attributes:
        robot: whose tool it holds.
        most: force it pulls with at most, [N].
        stiffness: of its spring, [N/m].
        drag: displacement beside the path, [m], world axes.
        dragging: whether somebody holds the handle.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        thing: Thing,
        requests: Requests,
        live: bool = True,
        size: float = 1.0,
        width: float = 0.004,
    ) -> None:
        self._requests, self._live = requests, live
        self.robot, self.most, self.stiffness = thing["robot"], thing["most"], thing["stiffness"]
        self._owner, self._open = thing.get("path", "hand"), thing["open"]
        self._path = HandPath(Move(**move) for move in thing["moves"])
        self._start = np.array(thing["start"])
        self.drag, self._goal, self._handle_at = np.zeros(3), np.zeros(3), self._start.copy()
        self.dragging = self._at_limit = False
        scene, nothing = server.scene, np.zeros((1, 2, 3), dtype=np.float32)
        self._line = scene.add_line_segments("/hand/spring", nothing, palette.HAND, thickness=width)
        self._label = scene.add_label("/hand/size", "", visible=False, anchor="top-right")
        self._line.visible = False
        self._below = 0.05 * size
        self._handle = scene.add_transform_controls(
            "/hand/handle", HANDLE_SIZE_M * size, disable_rotations=True, depth_test=False
        )
        self._handle.position, self._handle.visible = self._start, live
        self._handle.on_update(self._moved)

    def nudge(self, step: Array) -> None:
        """Move the hand by a step, [m]."""
        self._take_hold()
        self._goal = self._goal + step

    def release(self) -> None:
        """Bring the hand back to its path."""
        self._goal = np.zeros(3)

    def update(self, reading: Reading, tool: Array, dt: float) -> None:
        """Request the next step of the hand, and draw it; ``dt`` [s] since the last call."""
        for path, value in reading.changes.items():
            self._change(path, value, tool)
        if reading.time_ns is None:
            return
        self._path.at(1e-9 * reading.time_ns)
        middle = self._start + self._path.translation
        if self._open:
            # An open hand moves with the tool
            self._start += tool - middle - self.drag
            middle = self._start + self._path.translation
        elif self.dragging:
            self._goal = self._handle_at - middle
        if self._live and not self._open:
            self._approach(middle, tool, dt)
        far = middle + self.drag
        force = self.stiffness * (far - tool)
        visible = not self._open and bool(np.linalg.norm(far - tool) > MIN_STRETCH_M)
        self._line.visible = self._label.visible = visible
        if visible:
            self._line.points = coil(tool, far)
            self._redden(float(np.linalg.norm(force)) >= AT_LIMIT * self.most)
            self._label.position = far - [0.0, 0.0, self._below]
            limit = ", its limit" if self._at_limit else ""
            self._label.text = f"hand {newtons(force)}{limit}"
        behind = np.linalg.norm(np.array(self._handle.position) - far) > MIN_STEP_M
        if behind and not self.dragging:
            self._handle.position = far

    def _change(self, path: str, value: Any, tool: Array) -> None:
        """Take over a parameter of the hand that was set, here or elsewhere."""
        if path == f"{self._owner}.stiffness":
            self.stiffness = float(value)
        elif path == f"{self._owner}.open":
            self._open = str(value).lower() in ("true", "1", "on", "yes")
            # Where it takes hold again
            self._start = tool - self._path.translation - self.drag
        elif path == f"{self._owner}.drag" and not self.dragging and not isinstance(value, list):
            parts = np.array([float(part) for part in str(value).split(",")])
            self.drag = self._goal = parts * np.ones(3)

    def _redden(self, at_limit: bool) -> None:
        """A hand at its limit is red: pulling farther adds nothing."""
        if at_limit != self._at_limit:
            self._at_limit = at_limit
            self._line.colors = np.array(palette.STOP if at_limit else palette.HAND)

    def _take_hold(self) -> None:
        if self._open:
            self._requests.send("set", f"{self._owner}.open", False)

    def _approach(self, middle: Array, tool: Array, dt: float) -> None:
        """Move the spring's far end towards the goal, as fast and as far as a hand can."""
        stretch = middle + self._goal - tool
        reach = self.most / max(self.stiffness, 1e-9)
        size = float(np.linalg.norm(stretch))
        moving = self.dragging or bool(np.linalg.norm(self._goal - self.drag) > MIN_STEP_M)
        goal = self._goal
        if size > 0.0 and moving:
            goal = tool + stretch * min(1.0, reach / size) - middle
        step = goal - self.drag
        length = float(np.linalg.norm(step))
        if length <= MIN_STEP_M:
            return
        self.drag = self.drag + step * min(1.0, MAX_SPEED * min(dt, MAX_FRAME_S) / length)
        self._requests.send("set", f"{self._owner}.drag", self.drag.round(5).tolist())

    async def _moved(self, event: viser.TransformControlsEvent) -> None:
        self.dragging = event.phase != "end"
        if self.dragging:
            self._take_hold()
        self._handle_at = np.array(event.target.position, dtype=float)
        # Whoever lets go of the mouse lets go of the arm
        if event.phase == "end":
            self.release()

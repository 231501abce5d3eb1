"""Grasp: the visitor's hand on the leader's tool, a spring whose far end follows the mouse or the arrow keys."""

from __future__ import annotations

from typing import Any

import numpy as np
import viser

from farhand.console import palette
from farhand.console.lines import coil
from farhand.console.requests import Requests
from farhand.console.status import Reading, newtons
from farhand.console.things import Thing
from farhand.control.trajectory.paths import HandPath, Move

Array = np.ndarray

SPEED = 0.5
"""How fast the hand moves at most, [m/s]; a mouse is faster than any arm."""

LONGEST_FRAME = 0.1  # [s], a page that was held up does not catch up in one step
SMALLEST_STEP = 2e-4  # [m]
SMALLEST_STRETCH = 2e-3  # [m], less is not drawn
HANDLE = 0.20  # [m]
STEP = 0.01
"""By how much a key moves the hand, [m]."""


class Grasp:
    """A handle at the far end of the hand's spring.

    The hand is the spring and damper of :class:`farhand.world.ImpedanceHand` about its path;
    dragging adds ``hand.drag`` to it, and closes a hand that had let go. It never pulls the tool
    with more than it has strength for: the far end stays that near.

    Args:
        server: where it is shown.
        thing: the hand.
        requests: the way to the session.
        live: whether it can be dragged; a recorded hand cannot.
        size: of the rig, to which the handle is made, [m].

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
    ) -> None:
        self._requests, self._live = requests, live
        self.robot, self.most, self._owner = (
            thing["robot"],
            thing["most"],
            thing.get("path", "hand"),
        )
        self._path = HandPath(Move(**move) for move in thing["moves"])
        self._start, self.stiffness, self._open = (
            np.array(thing["start"]),
            thing["stiffness"],
            thing["open"],
        )
        self.drag, self._goal, self._wanted = np.zeros(3), np.zeros(3), self._start.copy()
        self.dragging = False
        scene = server.scene
        self._line = scene.add_line_segments(
            "/hand/spring", _nothing(), palette.HAND, thickness=0.004, visible=False
        )
        self._label, self._below = (
            scene.add_label("/hand/size", "", visible=False, anchor="top-right"),
            0.05 * size,
        )
        self._handle = scene.add_transform_controls(
            "/hand/handle",
            HANDLE * size,
            disable_rotations=True,
            depth_test=False,
            position=self._start,
            visible=live,
        )
        self._handle.on_update(self._moved)

    def nudge(self, step: Array) -> None:
        """Move the hand by a step, [m]."""
        self._take_hold()
        self._goal = self._goal + step

    def release(self) -> None:
        """Bring the hand back to its path."""
        self._goal = np.zeros(3)

    def change(self, path: str, value: Any, tool: Array) -> None:
        """Take over a parameter of the hand that was set, by this page or another way."""
        if path == f"{self._owner}.stiffness":
            self.stiffness = float(value)
        elif path == f"{self._owner}.open":
            self._open = str(value).lower() in ("true", "1", "on", "yes")
            self._start = tool - self._path.translation - self.drag  # where it takes hold again
        elif path == f"{self._owner}.drag" and not self.dragging and not isinstance(value, list):
            self.drag = self._goal = np.array(
                [float(part) for part in str(value).split(",")]
            ) * np.ones(3)

    def update(self, reading: Reading, tool: Array, dt: float) -> None:
        """Ask for the next step of the hand, and draw it; ``dt`` [s] since the last call."""
        if reading.time_ns is None:
            return
        self._path.at(1e-9 * reading.time_ns)
        middle = self._start + self._path.translation
        if self._open:
            self._start += tool - middle - self.drag  # an open hand goes along
            middle = self._start + self._path.translation
        elif self.dragging:
            self._goal = self._wanted - middle
        if self._live and not self._open:
            self._approach(middle, tool, dt)
        far = middle + self.drag
        force = self.stiffness * (far - tool)
        seen = not self._open and bool(np.linalg.norm(far - tool) > SMALLEST_STRETCH)
        self._line.visible = self._label.visible = seen
        if seen:
            self._line.points = coil(tool, far)
            self._label.position = far - [0.0, 0.0, self._below]
            self._label.text = f"hand {newtons(force)}"
        if (
            not self.dragging
            and np.linalg.norm(np.array(self._handle.position) - far) > SMALLEST_STEP
        ):
            self._handle.position = far

    def _take_hold(self) -> None:
        if self._open:
            self._requests.send("set", f"{self._owner}.open", False)

    def _approach(self, middle: Array, tool: Array, dt: float) -> None:
        """Move the spring's far end towards the goal, no faster and no farther from the tool than a hand can."""
        stretch = middle + self._goal - tool
        reach = self.most / max(self.stiffness, 1e-9)
        size = float(np.linalg.norm(stretch))
        moving = self.dragging or bool(np.linalg.norm(self._goal - self.drag) > SMALLEST_STEP)
        goal = (
            tool + stretch * min(1.0, reach / size) - middle
            if size > 0.0 and moving
            else self._goal
        )
        step = goal - self.drag
        length = float(np.linalg.norm(step))
        if length <= SMALLEST_STEP:
            return
        self.drag = self.drag + step * min(1.0, SPEED * min(dt, LONGEST_FRAME) / length)
        self._requests.send("set", f"{self._owner}.drag", self.drag.round(5).tolist())

    async def _moved(self, event: viser.TransformControlsEvent) -> None:
        self.dragging = event.phase != "end"
        if self.dragging:
            self._take_hold()
        self._wanted = np.array(event.target.position, dtype=float)
        if event.phase == "end":
            self._goal = self.drag.copy()


def _nothing() -> Array:
    return np.zeros((1, 2, 3), dtype=np.float32)

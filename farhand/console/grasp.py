"""The visitor's hand on the leader's tool: a spring that the mouse or the arrow keys pull."""

from __future__ import annotations

from typing import Any

import numpy as np
import viser

from farhand.console import palette
from farhand.console.geometry import coil
from farhand.console.scene import Kinematics
from farhand.console.source import Requests
from farhand.console.status import Reading, newtons
from farhand.console.things import Thing
from farhand.control.trajectory.paths import HandPath, Move

Array = np.ndarray

MAX_FRAME_S = 0.1  # a page that was delayed does not catch up in one step
MIN_STEP_M = 2e-4
MIN_STRETCH_M = 2e-3  # less is not drawn
HANDLE_SIZE_M, HANDLE_WIDTH = 0.20, 4.0  # [m] in a rig of 1 m, and [px]
THING_SHARE = 1.6  # of that size, on what several arms hold: they hide a part of it
HINT = "drag an arrow"  # until somebody has
AT_LIMIT = 0.9  # share of a limit of the hand at which it counts as reached
FARTHER_M = 0.01  # by which a follower that is beyond already may be led on
EASE_S = 2.0  # in which a load is forgotten: an arm that bounces off a wall comes back within 1 s
STOP_RAD = np.radians(1.0)  # nearer to its limit, a joint counts as stopped by it
BACK_M = 2e-3  # from its path, at which a hand that gave way counts as back
KEY_STEP_M = 0.01
"""By how much a key moves the hand, [m]."""


class Grasp:
    """A handle at the far end of the hand's spring.

    The hand is the spring and damper of :class:`farhand.world.ImpedanceHand` about its path;
    dragging adds ``hand.drag`` to it, and closes an open hand. The far end stays so near to the
    tool that the force keeps below the hand's limit. The more it loads the follower, the slower it
    goes on, and above a limit it goes back: what the hand feels may be bounded, and late. A hand on
    a pen that has led the follower to where it cannot go lets it return to its path, until the
    handle is taken again.

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
        gave_way: whether it goes back because the follower cannot go on.
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
        self._speed, self._follower = thing["speed"], thing.get("other", "")
        self._gives_way = thing.get("gives_way", np.inf)
        self._load = np.zeros(3)  # of the follower over that, along the pull that brought it there
        self._limits = np.array(thing.get("lower", ())), np.array(thing.get("upper", ()))
        self._far = thing.get("far", np.inf)
        self._began: Array | None = None  # where the follower's goal was at first, [m]
        self._away = self._least = 0.0  # of the follower's goal from where it began, [m]
        self._owner, self._open = thing.get("path", "hand"), thing["open"]
        self._path = HandPath(Move(**move) for move in thing["moves"])
        self._start = np.array(thing["start"])
        self.drag, self._goal, self._handle_at = np.zeros(3), np.zeros(3), self._start.copy()
        self._end = self._start
        self.dragging = self.gave_way = self._at_limit = False
        self._new = live  # whether nobody has held it yet
        scene, nothing = server.scene, np.zeros((1, 2, 3), dtype=np.float32)
        self._line = scene.add_line_segments("/hand/spring", nothing, palette.HAND, thickness=width)
        self._label = scene.add_label("/hand/size", "", visible=False, anchor="top-right")
        self._line.visible = False
        self._below = 0.05 * size
        self._handle = scene.add_transform_controls(
            "/hand/handle",
            HANDLE_SIZE_M * size * (THING_SHARE if thing["open"] else 1.0),
            line_width=HANDLE_WIDTH,
            disable_rotations=True,
            depth_test=False,
        )
        below = np.array([0.0, 0.0, -self._below])
        self._hint = scene.add_label(
            "/hand/handle/hint", HINT, visible=live, position=below, anchor="top-center"
        )
        self._handle.position, self._handle.visible = self._start, live
        self._handle.on_update(self._moved)

    def nudge(self, step: Array) -> None:
        """Move the hand by a step, [m]."""
        self._begin()
        self._goal = self._goal + step

    def release(self) -> None:
        """Bring the hand back to its path."""
        self._goal = np.zeros(3)

    def update(self, reading: Reading, kinematics: Kinematics, dt: float) -> None:
        """Request the next step of the hand, and draw it; ``dt`` [s] since the last call."""
        tool = kinematics.tool_position[self.robot]
        for path, value in reading.changes.items():
            self._change(path, value, tool)
        if reading.time_ns is None:
            return
        self._give_way(reading, kinematics)
        self._weigh(reading, self._end - tool, dt)
        self._path.at(1e-9 * reading.time_ns)
        middle = self._start + self._path.translation
        if self._open:
            # An open hand moves with the tool
            self._start += tool - middle - self.drag
            middle = self._start + self._path.translation
        elif self.dragging and not self.gave_way:
            self._goal = self._handle_at - middle
        if self._live and not self._open:
            self._approach(middle, tool, dt)
        self._end = far = middle + self.drag
        force = self.stiffness * (far - tool)
        visible = not self._open and bool(np.linalg.norm(far - tool) > MIN_STRETCH_M)
        self._line.visible = self._label.visible = visible
        # Its number stands at the same place
        self._hint.visible = self._new and not visible
        if visible:
            self._line.points = coil(tool, far)
            strong = float(np.linalg.norm(force)) >= AT_LIMIT * self.most
            self._redden(strong or bool(np.linalg.norm(self._load) >= AT_LIMIT))
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
            opened = str(value).lower() in ("true", "1", "on", "yes")
            # Where it takes hold again; the same change comes in several frames
            if opened != self._open:
                self._start = tool - self._path.translation - self.drag
            self._open = opened
        elif path == f"{self._owner}.drag" and not self.dragging and not isinstance(value, list):
            parts = np.array([float(part) for part in str(value).split(",")])
            self.drag = self._goal = parts * np.ones(3)

    def _begin(self) -> None:
        """Pull again: back, or on by a little at most if the follower is too far already."""
        self._take_hold()
        self.gave_way = self._hint.visible = self._new = False
        self._least = self._away + FARTHER_M

    def _weigh(self, reading: Reading, stretch: Array, dt: float) -> None:
        """Take what the follower is loaded with under a stretch of the spring, [m]."""
        name, nothing = self._follower, np.zeros(3)
        forces = reading.measured(name), reading.commanded.get(name, nothing)
        load = float(np.nan_to_num(np.linalg.norm(forces, axis=1)).max()) / self._gives_way
        size, length = float(np.linalg.norm(self._load)), float(np.linalg.norm(stretch))
        remembered = max(0.0, size - dt / EASE_S)
        if load < remembered:
            self._load = self._load * (remembered / size)
        elif length > 0.0:
            self._load = stretch * (load / length)

    def _give_way(self, reading: Reading, kinematics: Kinematics) -> None:
        """Go back once a pen's follower is far out, or a joint of it is at its limit.

        The arm would slide along that limit faster and faster.
        """
        if not np.isfinite(self._far):
            return
        self._away = self._distance(reading, kinematics)
        far = self._away > (self._least if self._stopped(reading) else max(self._far, self._least))
        if far and np.linalg.norm(self._goal) > BACK_M:
            self.gave_way = True
            self.release()
        elif not self.dragging and np.linalg.norm(self.drag) < BACK_M:
            self.gave_way = False
        reading.gave_way = self.gave_way

    def _distance(self, reading: Reading, kinematics: Kinematics) -> float:
        """How far the goal of a pen's follower is from where it began, [m]."""
        place = kinematics.tool_position[self._follower] + sum(reading.errors.values())
        if self._began is None:
            self._began = np.array(place)
        return float(np.linalg.norm(place - self._began))

    def _stopped(self, reading: Reading) -> bool:
        """Whether a joint of a pen's follower is at its limit."""
        lower, upper = self._limits
        q = reading.q.get(self._follower)
        if q is None or len(q) != len(lower):
            return False
        return bool((np.minimum(q - lower, upper - q) < STOP_RAD).any())

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
        # A dragged hand does not move with its path as well
        began = self._end - middle if self.dragging else self.drag
        step = goal - began
        length = float(np.linalg.norm(step))
        most = self._speed * min(dt, MAX_FRAME_S)
        load = float(self._load @ step) / max(length, 1e-9)
        if load > 1.0:
            step, length = -self._load, float(np.linalg.norm(self._load))
        most *= min(1.0, abs(1.0 - max(0.0, load)))
        drag = began + step * min(1.0, most / max(length, 1e-9))
        if np.linalg.norm(drag - self.drag) <= MIN_STEP_M:
            return
        self.drag = drag
        self._requests.send("set", f"{self._owner}.drag", self.drag.round(5).tolist())

    async def _moved(self, event: viser.TransformControlsEvent) -> None:
        began = event.phase != "end" and not self.dragging
        self.dragging = event.phase != "end"
        if began:
            self._begin()
        elif self.dragging:
            self._take_hold()
        self._handle_at = np.array(event.target.position, dtype=float)
        # Whoever lets go of the mouse lets go of the arm
        if event.phase == "end":
            self.release()

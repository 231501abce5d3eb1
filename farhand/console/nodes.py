"""Parts of the picture that show forces and balance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import viser

from farhand.console import palette
from farhand.console.geometry import circle, facing, segments
from farhand.console.scene import Kinematics, Scene
from farhand.console.status import Reading, newtons
from farhand.console.things import Thing
from farhand.mapping.limbs import LegChain
from farhand.mapping.pen import PenMapping
from farhand.spatial import quaternion_from_rotation, rotation_from_vector

Array = np.ndarray

MIN_ARROW_M = 1.25e-3  # a shorter one is not drawn
MIN_CHANGE = 0.02  # [N], or a fortieth of that in [m]; an arrow that changed less stays
RING_S = 0.6  # in which the ring of a contact becomes narrow
MAX_ARROW_M = 1.0  # a crash must not send an arrow through the roof
HEAD_LENGTH, HEAD_RADIUS, SHAFT_RADIUS = 0.06, 0.025, 0.010  # [m]

CENTRE_RADIUS = 0.008  # [m], of the ball that stands for the centre of gravity
LIFT = 0.001  # [m], of what is drawn on the ground
SOLE_OPACITY = 0.35
LABEL_BELOW = 0.11  # [m], of the margin's text from the ground
INSIDE, OUTSIDE = palette.GREEN, palette.VERMILION
AXES_SHARE = 0.16  # length of the axes of a pen's map over the size of the rig, [-]


@dataclass
class Arrow:
    """The force on one tool: an arrow from the tool point along the force, and its size in [N]."""

    arrow: viser.ArrowsHandle  # the node of the scene
    label: viser.LabelHandle  # its number
    scale: float  # force that ten centimetres stand for, [N]
    aside: Array  # where the number is from the tip, [m], so that numbers of tools that meet do not
    shown: Array = field(default_factory=lambda: np.full(6, np.inf))  # tool and force as drawn

    def point(self, tool: Array, force: Array, word: str = "") -> None:
        """Show the force [N] at the tool [m], unless it is small or unknown."""
        size = float(np.linalg.norm(force))
        length = min(0.1 * size / self.scale, MAX_ARROW_M)
        # False for NaN too
        self.arrow.visible = self.label.visible = length >= MIN_ARROW_M
        shown = np.array([*(40.0 * tool), *force])
        if not self.arrow.visible or np.abs(shown - self.shown).max() < MIN_CHANGE:
            return
        self.shown = shown
        along = force * (length / size)
        shrink = min(1.0, 0.6 * length / HEAD_LENGTH)
        self.arrow.head_length, self.arrow.head_radius = HEAD_LENGTH * shrink, HEAD_RADIUS * shrink
        self.arrow.shaft_radius = SHAFT_RADIUS * shrink
        self.arrow.points = np.array([[[0.0, 0.0, 0.0], along]], dtype=np.float32)
        self.arrow.position = tool
        self.label.position = tool + along * (1.0 + 0.03 / length) + self.aside
        self.label.text = f"{word} {newtons(force)}".strip()


@dataclass
class ContactRing:
    """A ring about a tool that touches something, wide at the first moment."""

    line: viser.LineSegmentsHandle  # the node of the scene
    radius: float  # of the widest ring, [m]
    began_ns: int | None = None  # when it began to touch

    def update(self, tool: Array, reading: Reading, name: str) -> None:
        """Draw it across the force on the tool [m], or hide it."""
        self.line.visible = touching = reading.touching.get(name, False)
        if not touching or reading.time_ns is None:
            self.began_ns = None
            return
        if self.began_ns is None:
            self.began_ns = reading.time_ns
        age = 1e-9 * (reading.time_ns - self.began_ns)
        force = reading.force[name]
        radius = self.radius * (0.5 + 0.5 * max(0.0, 1.0 - age / RING_S))
        x, y, _ = radius * facing(force / max(1e-9, float(np.linalg.norm(force)))).T
        self.line.points = circle(tool, x, y)


class Balance:
    """Centre of gravity, its projection on the ground, and the soles, of one robot.

    The centre of a leg is the published closed form, which the balance force uses; that of a whole
    robot is the model's. With several soles, the rectangle around them counts.
    """

    def __init__(self, server: viser.ViserServer, scene: Scene, thing: Thing) -> None:
        self._thing = thing
        soles = [t for t in scene["things"] if t["kind"] == "sole" and t["robot"] == thing["robot"]]
        self._low = np.min([sole["low"] for sole in soles], axis=0)
        self._high = np.max([sole["high"] for sole in soles], axis=0)
        self._leg = LegChain(side=thing["leg"]) if thing["leg"] else None
        #: distance of the projection to the nearest edge, [m]; negative outside
        self.margin = np.nan
        for sole in soles:
            _add_sole(server.scene, sole)
        node = f"/balance/{thing['robot']}"
        add, nothing = server.scene, np.zeros((9, 2, 3), dtype=np.float32)
        self._ball = add.add_icosphere(f"{node}/centre", CENTRE_RADIUS, INSIDE, cast_shadow=False)
        self._drop = add.add_line_segments(f"{node}/drop", nothing, INSIDE, thickness=0.002)
        self._label = add.add_label(f"{node}/margin", "", anchor="top-center")

    def centre(self, kinematics: Kinematics) -> Array:
        """Where the centre of gravity is in world, [m]."""
        robot = self._thing["robot"]
        if self._leg is not None:
            q = kinematics.configuration(robot)
            return np.asarray(self._thing["point"]) + self._leg.centre(q)
        return kinematics.centre_of_mass(robot)

    def update(self, kinematics: Kinematics) -> None:
        """Move it to where the robot is."""
        centre = self.centre(kinematics)
        self.margin = float(np.minimum(centre - self._low, self._high - centre)[:2].min())
        ground = np.array([centre[0], centre[1], self._low[2] + LIFT])
        colour = INSIDE if self.margin >= 0.0 else OUTSIDE
        self._ball.position, self._ball.color = centre, colour
        x, y, _ = 1.2 * CENTRE_RADIUS * np.eye(3)
        drop = segments(np.array([centre, ground]))
        self._drop.points = np.concatenate([drop, circle(ground, x, y, sides=8)])
        self._drop.colors = np.broadcast_to(np.array(colour, dtype=np.uint8), (9, 2, 3))
        self._label.position = ground - [0.0, 0.0, LABEL_BELOW]
        where = "inside" if self.margin >= 0.0 else "outside"
        self._label.text = f"centre of gravity {1e3 * abs(self.margin):.1f} mm {where} the sole"


class RegionNode:
    """Where a pen leads by position, and which way each of its axes moves the follower.

    Outside the region it drives the follower on: the outline changes its colour.
    """

    def __init__(
        self, server: viser.ViserServer, scene: Scene, thing: Thing, pen: PenMapping
    ) -> None:
        self._pen, self._follower = pen, thing["other"]
        node, length = f"/limits/{thing['robot']}_region", AXES_SHARE * scene["size"]
        nothing = np.zeros((1, 2, 3), dtype=np.float32)
        add = server.scene
        self._line = add.add_line_segments(node, nothing, palette.LIMITS, thickness=0.0015)
        look: Any = {"axes_length": length, "axes_radius": 0.04 * length, "origin_radius": 0.0}
        for axes in (f"{node}_axes", f"{node}_moves"):
            self._moves = add.add_frame(axes, **look)
            for name, tip in zip("xyz", 1.15 * length * np.eye(3), strict=True):
                add.add_label(f"{axes}/{name}", name, position=tip, anchor="center-center")
        self.redraw()

    def redraw(self) -> None:
        """Draw it as the pen's parameters say."""
        outline = self._pen.outline()
        self._line.points = np.concatenate([*map(segments, outline), np.zeros((1, 2, 3))])
        turn = quaternion_from_rotation(rotation_from_vector(self._pen.axes))
        self._moves.wxyz = np.roll(turn, 1)

    def update(self, kinematics: Kinematics, reading: Reading) -> None:
        """Move the axes to the follower's tool, and show which mode is on."""
        self._moves.position = kinematics.tool_position[self._follower]
        colour = palette.VERMILION if reading.rate_mode else palette.LIMITS
        if tuple(self._line.colors) != colour:
            self._line.colors = np.array(colour)


def _add_sole(scene: viser.SceneApi, sole: Thing) -> None:
    low, high = np.array(sole["low"]), np.array(sole["high"])
    corners = np.array([low, [high[0], low[1], low[2]], high, [low[0], high[1], low[2]]])
    corners += [0.0, 0.0, LIFT]
    node, triangles = f"/balance/{sole['robot']}/{sole['name']}", np.array([[0, 1, 2], [0, 2, 3]])
    look: Any = {"color": palette.LIMITS, "opacity": SOLE_OPACITY, "side": "double"}
    scene.add_mesh_simple(node, corners, triangles, cast_shadow=False, **look)
    edge = segments(corners[[0, 1, 2, 3, 0]])
    scene.add_line_segments(f"{node}_edge", edge, palette.LIMITS, thickness=0.0015)

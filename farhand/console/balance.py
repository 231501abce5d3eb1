"""Balance: the sole a robot stands on, its centre of gravity above it, and how far the one is inside the other."""

from __future__ import annotations

import numpy as np
import viser

from farhand.console import palette
from farhand.console.kinematics import Kinematics
from farhand.console.lines import segments
from farhand.console.scene import Scene
from farhand.console.things import Thing
from farhand.mapping.limbs import LegChain

Array = np.ndarray

RADIUS = 0.008  # [m], of the ball that stands for the centre
LIFT = 0.001  # [m], of what is drawn on the ground
OPACITY = 0.35
BELOW = 0.11  # [m], where the margin is written

INSIDE, OUTSIDE = palette.GREEN, palette.VERMILION
"""Colour of the centre; the words beside it say the same."""


class Balance:
    """Centre of gravity, its projection on the ground, and the soles, of one robot.

    The centre of a leg is the published closed form, which the balance force uses; that of a whole
    robot is the model's. Several soles carry together: what counts is the rectangle around them.

    Args:
        server: where it is shown.
        scene: with the soles.
        thing: the centre.

    Attributes:
        margin: distance of the projection to the nearest edge, [m]; negative outside.
    """

    def __init__(self, server: viser.ViserServer, scene: Scene, thing: Thing) -> None:
        self._thing = thing
        soles = [t for t in scene["things"] if t["kind"] == "sole" and t["robot"] == thing["robot"]]
        self._low = np.min([sole["low"] for sole in soles], axis=0)
        self._high = np.max([sole["high"] for sole in soles], axis=0)
        self._leg = LegChain(side=thing["leg"]) if thing["leg"] else None
        self.margin = np.nan
        for sole in soles:
            _add_sole(server.scene, sole)
        node = f"/balance/{thing['robot']}"
        self._ball = server.scene.add_icosphere(f"{node}/centre", RADIUS, INSIDE, cast_shadow=False)
        self._drop = server.scene.add_line_segments(
            f"{node}/drop", np.zeros((9, 2, 3), dtype=np.float32), INSIDE, thickness=0.002
        )
        self._label = server.scene.add_label(f"{node}/margin", "", anchor="top-center")

    def centre(self, kinematics: Kinematics) -> Array:
        """Where the centre of gravity is in world, [m]."""
        robot = self._thing["robot"]
        if self._leg is not None:
            return np.asarray(self._thing["point"]) + self._leg.centre(
                kinematics.configuration(robot)
            )
        return kinematics.centre_of_mass(robot)

    def update(self, kinematics: Kinematics) -> None:
        """Move it to where the robot is."""
        centre = self.centre(kinematics)
        self.margin = float(np.minimum(centre - self._low, self._high - centre)[:2].min())
        ground = np.array([centre[0], centre[1], self._low[2] + LIFT])
        colour = INSIDE if self.margin >= 0.0 else OUTSIDE
        self._ball.position, self._ball.color = centre, colour
        self._drop.points = np.concatenate([segments(np.array([centre, ground])), _ring(ground)])
        self._drop.colors = np.broadcast_to(np.array(colour, dtype=np.uint8), (9, 2, 3))
        self._label.position = ground - [0.0, 0.0, BELOW]
        where = "inside" if self.margin >= 0.0 else "outside"
        self._label.text = f"COG {1e3 * abs(self.margin):.1f} mm {where} the sole"


def _add_sole(scene: viser.SceneApi, sole: Thing) -> None:
    low, high = np.array(sole["low"]), np.array(sole["high"])
    corners = np.array([low, [high[0], low[1], low[2]], high, [low[0], high[1], low[2]]]) + [
        0.0,
        0.0,
        LIFT,
    ]
    node = f"/balance/{sole['robot']}/{sole['name']}"
    triangles = np.array([[0, 1, 2], [0, 2, 3]])
    scene.add_mesh_simple(
        node,
        corners,
        triangles,
        color=palette.LIMITS,
        opacity=OPACITY,
        side="double",
        cast_shadow=False,
    )
    scene.add_line_segments(
        f"{node}_edge", segments(corners[[0, 1, 2, 3, 0]]), palette.LIMITS, thickness=0.0015
    )


def _ring(middle: Array) -> Array:
    """A small circle on the ground, [m]."""
    angles = np.linspace(0.0, 2.0 * np.pi, 9)
    around = np.stack([np.cos(angles), np.sin(angles), np.zeros(9)], axis=1)
    return segments(middle + 1.2 * RADIUS * around)

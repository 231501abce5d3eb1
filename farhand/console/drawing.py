"""Drawing: robots, walls, springs and forces as nodes of a viser scene, moved at the viewer's rate."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import viser

from farhand.console.kinematics import Kinematics
from farhand.console.scene import Geom, RobotScene, Scene, Thing
from farhand.console.shapes import Mesh, box, joined, mesh_of
from farhand.console.status import ARROW_COLOURS, OTHER_COLOUR, Reading, newtons

Array = np.ndarray

METRES_PER_NEWTON = 0.25 / 100.0
SMALLEST_FORCE = 0.5  # [N], less is not drawn
LONGEST_ARROW = 1.0  # [m], a crash must not send an arrow through the roof
HEAD_LENGTH, HEAD_RADIUS, SHAFT_RADIUS = 0.06, 0.025, 0.010  # [m]

FLOOR = (246, 247, 249)
WALL_COLOUR, WALL_OPACITY = (220, 70, 60), 0.25
SPRING_COLOUR = (120, 90, 160)
FIELD_OF_VIEW = np.radians(38.0)
VIEW_DIRECTION = np.array([0.72, -0.56, 0.36])  # from the middle of the scene to the camera


@dataclass
class Arrow:
    """The force on one tool: an arrow from the tool point along the force on the arm, and its size in [N]."""

    arrow: viser.ArrowsHandle
    label: viser.LabelHandle

    def point(self, tool: Array, force: Array) -> None:
        """Show the force [N] at the tool [m], or nothing when it is small or not measured."""
        size = float(np.linalg.norm(force))
        self.arrow.visible = self.label.visible = size >= SMALLEST_FORCE  # False for NaN too
        if not self.arrow.visible:
            return
        length = min(size * METRES_PER_NEWTON, LONGEST_ARROW)
        along = force * (length / size)
        shrink = min(1.0, 0.6 * length / HEAD_LENGTH)
        self.arrow.head_length, self.arrow.head_radius = HEAD_LENGTH * shrink, HEAD_RADIUS * shrink
        self.arrow.shaft_radius = SHAFT_RADIUS * shrink
        self.arrow.points = np.array([[[0.0, 0.0, 0.0], along]], dtype=np.float32)
        self.arrow.position = tool
        self.label.position = tool + along * (1.0 + 0.03 / length)
        self.label.text = newtons(force)


class Drawing:
    """The picture of a scene.

    Args:
        server: where it is shown.
        scene: what is drawn.
    """

    def __init__(self, server: viser.ViserServer, scene: Scene) -> None:
        self._server, self._scene = server, scene
        self._kinematics = Kinematics(scene)
        self._frames: dict[int, viser.FrameHandle] = {}
        self._arrows: dict[str, Arrow] = {}
        self._springs: list[tuple[Thing, viser.LineSegmentsHandle]] = []
        self._stage()
        self._look()
        self._add_shapes("/world/fixed", scene["fixed"])
        for robot in scene["robots"]:
            self._add_robot(robot)
        for thing in scene["things"]:
            self._add_thing(thing)
        self.update(Reading())

    def update(self, reading: Reading) -> None:
        """Move everything to the newest state."""
        kinematics = self._kinematics
        kinematics.update(reading.q)
        with self._server.atomic():
            for index, frame in self._frames.items():
                frame.position = kinematics.body_position[index]
                frame.wxyz = kinematics.body_quaternion_wxyz[index]
            for name, arrow in self._arrows.items():
                arrow.point(kinematics.tool_position[name], reading.force.get(name, np.zeros(3)))
            for thing, line in self._springs:
                line.points = self._ends(thing)

    def _stage(self) -> None:
        scene = self._server.scene
        scene.set_up_direction("+z")
        scene.configure_default_lights(cast_shadow=True)
        scene.world_axes.visible = False
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
        )

    def _look(self) -> None:
        """Aim the camera at the middle of everything, from far enough to see it all."""
        walls = [thing["point"] for thing in self._scene["things"] if thing["kind"] == "wall"]
        points = np.array([*self._kinematics.body_position[1:], *self._kinematics.tool_position.values(), *walls])
        middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
        radius = max(0.25, float(np.linalg.norm(points - middle, axis=1).max()))
        camera = self._server.initial_camera
        camera.fov = FIELD_OF_VIEW
        camera.look_at = middle
        away = VIEW_DIRECTION / np.linalg.norm(VIEW_DIRECTION)
        camera.position = middle + away * 1.25 * radius / np.tan(0.5 * FIELD_OF_VIEW)

    def _add_robot(self, robot: RobotScene) -> None:
        scene, name, root = self._server.scene, robot["name"], f"/robots/{robot['name']}"
        for body in robot["bodies"]:
            geoms = [geom for geom in robot["geoms"] if geom["body"] == body["index"]]
            if geoms:
                node = f"{root}/{body['index']}_{body['name']}"
                self._frames[body["index"]] = scene.add_frame(node, show_axes=False)
                self._add_shapes(node, geoms)
        base = np.array(robot["position"])
        scene.add_label(f"{root}/name", name, position=base + [0.0, -0.14, 0.02], anchor="top-center")
        colour = ARROW_COLOURS.get(robot["role"], OTHER_COLOUR)
        nothing = np.zeros((1, 2, 3), dtype=np.float32)
        self._arrows[name] = Arrow(
            scene.add_arrows(f"/forces/{name}", nothing, colour, visible=False),
            scene.add_label(f"/forces/{name}_size", "", visible=False, anchor="center-center"),
        )

    def _add_shapes(self, node: str, geoms: list[Geom]) -> None:
        """One mesh per colour, which is far cheaper to show than one per shape."""
        by_colour: dict[tuple[float, ...], list[Mesh]] = defaultdict(list)
        for geom in geoms:
            mesh = mesh_of(geom, self._kinematics.model)
            if mesh is not None:
                by_colour[tuple(geom["rgba"])].append(mesh)
        for number, (rgba, meshes) in enumerate(by_colour.items()):
            vertices, triangles = joined(meshes)
            self._server.scene.add_mesh_simple(
                f"{node}/shape_{number}",
                vertices,
                triangles,
                color=np.array(rgba[:3]),
                opacity=None if rgba[3] >= 1.0 else rgba[3],
            )

    def _add_thing(self, thing: Thing) -> None:
        scene, node = self._server.scene, f"/things/{thing['robot']}_{thing['name']}"
        if thing["kind"] == "wall":
            half = 0.5 * thing["size"]
            vertices, triangles = box(np.array([half, half, 0.004]))
            vertices = vertices @ _facing(np.array(thing["normal"])).T - 0.004 * np.array(thing["normal"])
            scene.add_mesh_simple(
                node,
                vertices,
                triangles,
                color=WALL_COLOUR,
                opacity=WALL_OPACITY,
                position=np.array(thing["point"]),
                cast_shadow=False,
                receive_shadow=False,
            )
        elif thing["kind"] == "spring":
            line = scene.add_line_segments(node, self._ends(thing), SPRING_COLOUR, thickness=0.006)
            self._springs.append((thing, line))

    def _ends(self, spring: Thing) -> Array:
        tools = self._kinematics.tool_position
        far = tools[spring["other"]] if "other" in spring else np.array(spring["anchor"])
        return np.array([[tools[spring["robot"]], far]], dtype=np.float32)


def _facing(normal: Array) -> Array:
    """A rotation that turns z into ``normal`` and keeps x level."""
    level = np.cross([0.0, 0.0, 1.0], normal)
    size = float(np.linalg.norm(level))
    x = level / size if size > 1e-9 else np.array([1.0, 0.0, 0.0])
    return np.stack([x, np.cross(normal, x), normal], axis=1)

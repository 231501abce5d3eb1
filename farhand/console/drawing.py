"""Robots, walls, springs and forces as nodes of a viser scene, moved at the viewer's rate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import viser

from farhand.console import palette
from farhand.console.geometry import Mesh, Trail, box, coil, dashes, facing, joined, mesh_of, rod
from farhand.console.nodes import Arrow, Balance, ContactRing, RegionNode
from farhand.console.scene import Geom, Kinematics, RobotScene, Scene, line_width
from farhand.console.status import Reading
from farhand.console.things import Thing, wall_place
from farhand.console.views import set_stage
from farhand.mapping.pen import PenMapping
from farhand.parameters import assign, assign_all
from farhand.world import Wall

Array = np.ndarray
Part = TypeVar("Part")

WALL_OPACITY = 0.30
FORCE_LABEL_ASIDE = 0.40  # [m], from its arrow, in a team, where tools are near each other
NAME_ABOVE = 0.15  # [m], over the highest joint of a robot behind others
LAYERS = ("forces", "trails", "limits", "contacts")
"""Parts of the picture that can be hidden."""

MIN_TURN = 2e-5  # [rad] or [m]; a joint that moved less is not drawn again
MIN_ERROR_M = 0.003  # of the tool's position; less is not drawn


class Drawing:
    """The picture of a scene."""

    def __init__(self, server: viser.ViserServer, scene: Scene) -> None:
        self._server, self._scene = server, scene
        self.kinematics = Kinematics(scene)  #: where everything is
        self._frames: dict[int, viser.FrameHandle] = {}
        self._arrows: dict[str, Arrow] = {}
        self._trails: dict[str, tuple[Trail, viser.LineSegmentsHandle]] = {}
        self._lines: list[tuple[Thing, viser.LineSegmentsHandle]] = []
        # what live parameters move, by their owner's path, and how to draw it again
        self._twins: dict[str, tuple[Wall | PenMapping, Callable[[], None]]] = {}
        self._regions: list[RegionNode] = []
        self._balances: list[Balance] = []
        self._rings: dict[str, ContactRing] = {}
        self._drawn_q = np.zeros(0)
        self.moved = False  #: whether a joint has moved since it was last drawn
        #: where the camera looks, and where it is from there, [m]
        self.view = set_stage(server, scene, self.kinematics)
        #: what a visitor may hide, by name
        self.layers = {name: server.scene.add_frame(f"/{name}", show_axes=False) for name in LAYERS}
        self._add_shapes("/world/fixed", scene["fixed"])
        for robot in scene["robots"]:
            self._add_robot(robot)
        for thing in scene["things"]:
            self._add_thing(thing)
        self.update(Reading())

    def update(self, reading: Reading) -> None:
        """Move everything to the newest state."""
        kinematics = self.kinematics
        kinematics.update(reading.q)
        for path, value in reading.changes.items():
            self._change(path, value)
        with self._server.atomic():
            self.moved = self._has_moved(reading)
            if self.moved:
                for index, frame in self._frames.items():
                    frame.position = kinematics.body_position[index]
                    frame.wxyz = kinematics.body_quaternion_wxyz[index]
            for name, arrow in self._arrows.items():
                tool = kinematics.tool_position[name]
                arrow.point(tool, reading.measured(name), reading.origin(name))
            for name, ring in self._rings.items():
                ring.update(kinematics.tool_position[name], reading, name)
            for balance in self._balances:
                balance.update(kinematics)
            for region in self._regions:
                region.update(kinematics, reading)
            for thing, line in self._lines:
                self._stretch(thing, line, reading)
            for name, (trail, line) in self._trails.items():
                tool = kinematics.tool_position[name]
                if reading.time_ns is not None and trail.add(reading.time_ns, tool):
                    line.points = trail.points

    def _has_moved(self, reading: Reading) -> bool:
        """Whether a joint has moved since it was last drawn; arms at rest cost no traffic."""
        q = np.concatenate([np.zeros(0), *reading.q.values()])
        if len(q) and len(q) == len(self._drawn_q) and np.abs(q - self._drawn_q).max() < MIN_TURN:
            return False
        self._drawn_q = q
        return True

    def _change(self, path: str, value: Any) -> None:
        """Redraw what a live parameter moves."""
        for owner, (part, redraw) in self._twins.items():
            if path.startswith(f"{owner}."):
                assign(part, path.removeprefix(f"{owner}."), value)
                redraw()

    def _add_robot(self, robot: RobotScene) -> None:
        scene, name, root = self._server.scene, robot["name"], f"/robots/{robot['name']}"
        for body in robot["bodies"]:
            geoms = [geom for geom in robot["geoms"] if geom["body"] == body["index"]]
            if geoms:
                node = f"{root}/{body['index']}_{body['name']}"
                self._frames[body["index"]] = scene.add_frame(node, show_axes=False)
                self._add_shapes(node, geoms)
        if robot["role"] == "object":
            return
        scene.add_label(f"{root}/name", name, position=self._beside(robot), anchor="top-center")
        colour, nothing = palette.role_colour(robot["role"]), np.zeros((1, 2, 3), dtype=np.float32)
        self._arrows[name] = Arrow(
            scene.add_arrows(f"/forces/{name}", nothing, colour, visible=False),
            scene.add_label(f"/forces/{name}_size", "", visible=False, anchor="bottom-left"),
            self._scene["arrow"],
            self._aside(robot),
        )
        if robot["role"] == "follower":
            line = scene.add_line_segments(
                f"/contacts/{name}", nothing, palette.STOP, thickness=line_width(self._scene, 0.006)
            )
            self._rings[name] = ContactRing(line, 0.08 * self._scene["size"])
        tool = np.repeat(self.kinematics.tool_position[name][None], 2, axis=0)
        start = tool[None].astype(np.float32)
        line = scene.add_line_segments(f"/trails/{name}", start, colour, thickness=0.003)
        self._trails[name] = Trail(), line

    def _aside(self, robot: RobotScene) -> Array:
        """Where the number of a force is from its arrow, [m]: in a team, towards the base."""
        if not self._team:
            return np.zeros(3)
        back = np.array(robot["position"]) - self.kinematics.tool_position[robot["name"]]
        back[2] = 0.0
        return FORCE_LABEL_ASIDE * back / max(1e-6, float(np.linalg.norm(back)))

    @property
    def _team(self) -> bool:
        """Whether more than two robots work together, some behind others."""
        return sum(other["role"] != "object" for other in self._scene["robots"]) > 2

    def _beside(self, robot: RobotScene) -> Array:
        """Where a robot's name is, [m]: beside its foot, or above it behind others of its team."""
        middle, camera = self.view
        base, indices = np.array(robot["position"]), [body["index"] for body in robot["bodies"]]
        if self._team and float((base - middle) @ camera) < 0.0:
            top = max(float(self.kinematics.body_position[index][2]) for index in indices)
            return np.array([*base[:2], top + NAME_ABOVE])
        geoms = [geom for geom in robot["geoms"] if geom["body"] == indices[0]]
        shapes = [mesh_of(geom, self.kinematics.model) for geom in geoms]
        low = min((float(mesh[0][:, 2].min()) for mesh in shapes if mesh is not None), default=0.0)
        return base + [0.0, -0.14 * self._scene["size"], min(0.0, low) + 0.02]

    def _add_shapes(self, node: str, geoms: list[Geom]) -> None:
        """One mesh per colour: far cheaper to show than one per shape."""
        by_colour: dict[tuple[float, ...], list[Mesh]] = defaultdict(list)
        for geom in geoms:
            mesh = mesh_of(geom, self.kinematics.model)
            if mesh is not None:
                by_colour[tuple(geom["rgba"])].append(mesh)
        for number, (rgba, meshes) in enumerate(by_colour.items()):
            look: Any = {"color": np.array(rgba[:3])}
            look["opacity"] = None if rgba[3] >= 1.0 else rgba[3]
            self._server.scene.add_mesh_simple(f"{node}/shape_{number}", *joined(meshes), **look)

    def _add_thing(self, thing: Thing) -> None:
        kind = thing["kind"]
        if kind == "wall":
            self._add_wall(thing)
        elif kind in _LINES:
            colour, thickness = _LINES["rod" if thing.get("rigid") else kind]
            node = f"/things/{thing['robot']}_{thing['name']}_{kind}"
            nothing = np.zeros((1, 2, 3), dtype=np.float32)
            width = line_width(self._scene, thickness)
            line = self._server.scene.add_line_segments(node, nothing, colour, thickness=width)
            self._lines.append((thing, line))
        elif kind == "region":
            pen = self._twin(thing, PenMapping())
            region = RegionNode(self._server, self._scene, thing, pen)
            self._regions.append(region)
            self._twins[thing["path"]] = pen, region.redraw
        elif kind == "centre":
            self._balances.append(Balance(self._server, self._scene, thing))
        elif kind == "limits":
            node, lines = f"/limits/{thing['robot']}_{thing['name']}", np.array(thing["lines"])
            self._server.scene.add_line_segments(node, lines, palette.LIMITS, thickness=0.0015)

    def _add_wall(self, thing: Thing) -> None:
        node = self._server.scene.add_mesh_simple(
            f"/things/{thing['robot']}_{thing['name']}",
            *_plate(thing["size"], np.array(thing["normal"])),
            color=palette.WALL,
            opacity=WALL_OPACITY,
            position=np.array(thing["point"]),
            cast_shadow=False,
            receive_shadow=False,
            visible=thing.get("present", True),
        )
        wall = self._twin(thing, Wall())

        def redraw() -> None:
            tool = self.kinematics.tool_position[thing["robot"]]
            point, normal = wall_place(wall.point, wall.normal, tool, thing["lowest"])
            node.position, node.vertices = point, _plate(thing["size"], normal)[0]
            node.visible = wall.present

        self._twins[thing.get("path", thing["name"])] = wall, redraw

    def _twin(self, thing: Thing, part: Part) -> Part:
        """Give a part the values of the one that a thing shows, so that they can change here."""
        owner = f"{thing.get('path', thing['name'])}."
        knobs = [knob for knob in self._scene["knobs"] if knob["path"].startswith(owner)]
        assign_all(part, [(knob["path"].removeprefix(owner), knob["value"]) for knob in knobs])
        return part

    def _stretch(self, thing: Thing, line: viser.LineSegmentsHandle, reading: Reading) -> None:
        """Draw a spring or a coupling where its ends are now."""
        tools = self.kinematics.tool_position
        here = tools[thing["robot"]]
        if thing["kind"] == "spring":
            end = tools[thing["other"]] if "other" in thing else np.array(thing["anchor"])
            line.points = coil(here, end)
            return
        follower = tools[thing["other"]]
        error = reading.errors.get(thing["stream"], np.zeros(3))
        line.visible = reading.engagement > 0.0
        if not line.visible:
            return
        stretched = bool(np.linalg.norm(error) > MIN_ERROR_M)
        goal = follower + error if stretched else follower
        parts = [(rod if thing["rigid"] else dashes)(here, goal)]
        if stretched:
            parts.append(coil(goal, follower))
        line.points = np.concatenate(parts)


_LINES = {
    "spring": (palette.SPRING, 0.006),
    "tie": (palette.COUPLING, 0.004),
    "rod": (palette.COUPLING, 0.0025),
}


def _plate(size: float, normal: Array) -> Mesh:
    """A thin square whose face lies in the plane through its origin."""
    vertices, triangles = box(np.array([0.5 * size, 0.5 * size, 0.004]))
    return vertices @ facing(normal).T - 0.004 * normal, triangles

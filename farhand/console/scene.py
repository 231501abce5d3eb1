"""What to draw of a rig, as plain values that fit into JSON, and where it is."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

import mujoco
import numpy as np

from farhand.console.menus import Knob, Menus, knobs_of, menus_of
from farhand.console.things import Thing, things_of, tool_strength
from farhand.rigs.rig import rig_title
from farhand.robots import q_from_pinocchio, q_to_pinocchio

if TYPE_CHECKING:
    from farhand.rigs import Rig

USUAL_FORCE = 100.0
"""Force that fills a picture if no device bounds it, [N]."""

PEAK_SHARE = 0.6
"""Share of a device's peak force that fills its picture, [-]: a peak is rare."""

FULL_ARROW = 0.25
"""Length of an arrow of that force, [m]; shorter if all robots are small."""

STEPS = (1.0, 2.0, 4.0)
"""Leading digits of the force that ten centimetres stand for."""


def force_scale(rig: Rig, size: float, strengths: Sequence[float] = ()) -> float:
    """Force that an arrow of ten centimetres stands for, [N]: 1, 2 or 4 times a power of ten.

    On the scale of an arm that pushes with 100 N, the arrows of a device with 3 N are invisible.

    Args:
        rig: whose devices bound the force.
        size: of what is drawn, from the middle outward, [m]; at most one counts.
        strengths: of its arms at their tools, [N].
    """
    peaks = [station.plant.force_peak for station in rig.session.stations]
    most = min([USUAL_FORCE, *strengths, *(PEAK_SHARE * peak for peak in peaks)])
    exact = 0.1 * most / (FULL_ARROW * size)
    decade = 10.0 ** math.floor(math.log10(exact))
    choices = [step * decade * tens for tens in (1.0, 10.0) for step in STEPS]
    return float(f"{min(choices, key=lambda choice: abs(math.log(choice / exact))):g}")


def scale_in_words(scale: float) -> str:
    """What the page says about its arrows."""
    return f"arrows: 10 cm = {scale:g} N"


Array = np.ndarray

SUCCESSOR = "successor"
"""Kind of the last event of a session that another one replaces on the page."""

HIDDEN_GROUP = 3
"""Geoms of this group and above are for collision only."""

SKIN = 0.05  # [m], below the surface of a tool, to which a place counts as seen

SIZES = (0.25, 2.0)
"""Smallest and largest size of a rig that arrows, handles and labels are scaled to, [m]."""

FULL_WIDTH_SIZE = 0.65  # [m], of a rig from which on lines are as wide as given

# MuJoCo's default: a geom that has it takes its material's colour
_DEFAULT_RGBA = (0.5, 0.5, 0.5, 1.0)
_VISIBLE = (np.arange(6) < HIDDEN_GROUP).astype(np.uint8)  # groups of geoms, of MuJoCo's six


class Geom(TypedDict):
    """One shape, fixed to a body."""

    # ``sphere``, ``capsule``, ``ellipsoid``, ``cylinder``, ``box``, ``plane`` or ``mesh``
    type: str
    size: list[float]  # as MuJoCo has it: radii and half-lengths, [m]
    rgba: list[float]  # colour, 0 to 1
    body: int  # index in the model
    position: list[float]  # in the body, [m]
    quaternion_wxyz: list[float]  # in the body
    mesh: int  # index in the model, -1 for none


class Body(TypedDict):
    """One body of a robot."""

    name: str  # without the robot's prefix
    index: int  # in the model
    parent: int  # index of its parent, 0 for the world


class RobotScene(TypedDict):
    """One robot."""

    name: str  # in the rig
    role: str  # ``leader``, ``follower``, or ``object`` if it has no station
    position: list[float]  # of its base in the world, [m]
    quaternion_xyzw: list[float]  # of its base in the world
    stream: str  # of the telemetry ring, with its state
    channel: str  # of that stream, with its configuration in Pinocchio's convention
    q: list[int]  # first and last-but-one index of its part of the model's configuration
    tool_site: int  # index of its tool in the model
    bodies: list[Body]  # parents before children
    geoms: list[Geom]  # its shapes


class Twin(TypedDict):
    """How to build the rig of a session again, simulated and apart from it, for predictions."""

    rig: str  # name of the rig
    options: dict[str, Any]  # arguments of :class:`farhand.rigs.Options`; never a clock


class ShakingScene(TypedDict):
    """What :class:`farhand.console.shaking.Shaking` must know of a session."""

    contact: str  # stream of the station that touches something
    driven: str  # stream of the station whose tool the hand holds
    open_loop: bool  # whether its tracking error is the lag of its drives
    joints: bool  # whether joints are coupled


class Scene(TypedDict):
    """Everything a viewer needs beside the telemetry ring."""

    rig: str  # name of the rig
    title: str  # one line on the rig
    law: str  # name of the coupling law
    scenario: str  # one line on what happens
    seconds: float | None  # after which all of it has happened, [s]; None if nothing happens
    model: str  # the compiled MuJoCo model of all robots, MJB in base64
    posture: list[float]  # configuration at the start, in MuJoCo's convention, [rad] or [m]
    robots: list[RobotScene]  # in the order of the model
    fixed: list[Geom]  # shapes of the world itself
    things: list[Thing]  # walls, springs, hands, couplings and limits
    coupling: str  # stream with tracking error and engagement
    knobs: list[Knob]  # what can be set live
    menus: Menus  # what needs a new session to change
    rate: float  # nominal rate of the ticks, [Hz]
    size: float  # from the middle of the robots to the farthest of them, 0.25 to 2 m
    arrow: float  # force that an arrow of ten centimetres stands for, [N]
    margin: str  # the predicted stability of the run; empty if unknown
    twin: Twin | None  # for predictions while it runs; None if nothing can be predicted
    shaking: ShakingScene | None  # None if nothing is coupled, or only one side is here


def scene_of(rig: Rig) -> Scene:
    """Describe what to draw of a rig, from its compiled model, so that any robot works."""
    world = rig.world
    geoms, size = list(_geoms(world.model)), _size(world.data.xpos[1:])
    periods = [station.period_ns for station in rig.session.stations]
    strengths = [tool_strength(rig, station.name) for station in rig.session.stations]
    return {
        "rig": rig.name,
        "title": rig_title(rig.name),
        "law": rig.law,
        "scenario": rig.scenario.title,
        "seconds": rig.scenario.seconds if rig.scenario.eventful else None,
        "model": _packed(world.model),
        "posture": world.data.qpos.tolist(),
        "robots": list(_robots(rig, geoms)),
        "fixed": [geom for geom in geoms if geom["body"] == 0],
        "things": things_of(rig),
        "coupling": "coupling",
        "knobs": knobs_of(rig.session.parameters),
        "menus": menus_of(rig),
        "rate": 1e9 / min(periods, default=1_000_000),
        "size": size,
        "arrow": force_scale(rig, size, strengths),
        "margin": "",
        "twin": None,
        "shaking": None,
    }


def line_width(scene: Scene, width: float) -> float:
    """Width [m] of a line in a scene; thinner among small robots, where a coil would be a blob."""
    return width * min(1.0, scene["size"] / FULL_WIDTH_SIZE)


def model_of(scene: Scene) -> mujoco.MjModel:
    """The model in a scene, for a viewer's own kinematics."""
    content = base64.b64decode(scene["model"])
    return mujoco.MjModel.from_binary_path("scene.mjb", {"scene.mjb": content})


def _size(places: Array) -> float:
    """From the middle of places, shape (n, 3), to the farthest, [m], within :data:`SIZES`."""
    away = np.linalg.norm(places - 0.5 * (places.min(axis=0) + places.max(axis=0)), axis=1)
    return float(np.clip(away.max(), *SIZES))


def _packed(model: mujoco.MjModel) -> str:
    buffer = np.zeros(mujoco.mj_sizeModel(model), dtype=np.uint8)
    mujoco.mj_saveModel(model, None, buffer)
    return base64.b64encode(buffer.tobytes()).decode()


def _geoms(model: mujoco.MjModel) -> Iterator[Geom]:
    """The visible shapes of a model."""
    for index in range(model.ngeom):
        rgba = model.geom_rgba[index]
        material = int(model.geom_matid[index])
        if material >= 0 and np.allclose(rgba, _DEFAULT_RGBA):
            rgba = model.mat_rgba[material]
        if model.geom_group[index] >= HIDDEN_GROUP or rgba[3] == 0.0:
            continue
        kind = mujoco.mjtGeom(int(model.geom_type[index])).name.removeprefix("mjGEOM_").lower()
        yield {
            "type": kind,
            "size": model.geom_size[index].tolist(),
            "rgba": rgba.tolist(),
            "body": int(model.geom_bodyid[index]),
            "position": model.geom_pos[index].tolist(),
            "quaternion_wxyz": model.geom_quat[index].tolist(),
            "mesh": int(model.geom_dataid[index]) if kind == "mesh" else -1,
        }


def _robots(rig: Rig, geoms: list[Geom]) -> Iterator[RobotScene]:
    """The robots; in the model they follow the world's own body in the order of attachment."""
    model, first_body, first_q = rig.world.model, 1, 0
    roles = {station.name: station.role for station in rig.session.stations}
    for name, item in rig.world.placed.items():
        port = rig.world.ports[name]
        indices = range(first_body, first_body + item.robot.compile().nbody - 1)
        yield {
            "name": name,
            "role": roles.get(name, "object"),
            "position": list(item.placement.position),
            "quaternion_xyzw": list(item.placement.quaternion),
            "stream": name,
            "channel": "q",
            "q": [first_q, first_q + len(port.q)],
            "tool_site": int(port.site),
            "bodies": [_body(model, index, name) for index in indices],
            "geoms": [geom for geom in geoms if geom["body"] in indices],
        }
        first_body, first_q = indices.stop, first_q + len(port.q)


def _body(model: mujoco.MjModel, index: int, robot: str) -> Body:
    name = model.body(index).name.removeprefix(f"{robot}/") or f"body_{index}"
    return {"name": name, "index": index, "parent": int(model.body_parentid[index])}


class Kinematics:
    """Forward kinematics of all robots of a scene.

    Attributes:
        model: the compiled model of all robots.
        body_position: of every body in world, shape (bodies, 3), [m]; a live view.
        body_quaternion_wxyz: of every body in world, shape (bodies, 4); a live view.
        tool_position: of every robot's tool in world by name, [m]; live views.
    """

    def __init__(self, scene: Scene) -> None:
        self.model = model_of(scene)
        self._data = mujoco.MjData(self.model)
        self._parts = {robot["name"]: slice(*robot["q"]) for robot in scene["robots"]}
        self._q = np.array(q_to_pinocchio(self.model, np.array(scene["posture"])))
        self.body_position, self.body_quaternion_wxyz = self._data.xpos, self._data.xquat
        sites = {robot["name"]: robot["tool_site"] for robot in scene["robots"]}
        self.tool_position = {name: self._data.site_xpos[site] for name, site in sites.items()}
        self._tool_axes = {name: self._data.site_xmat[site] for name, site in sites.items()}
        self._roots = {r["name"]: r["bodies"][0]["index"] for r in scene["robots"] if r["bodies"]}
        self.update({})

    def update(self, configurations: dict[str, Array]) -> None:
        """Move robots to configurations in Pinocchio's convention, [rad] or [m]; NaN is skipped."""
        for name, q in configurations.items():
            if np.isfinite(q).all():
                self._q[self._parts[name]] = q
        self._data.qpos[:] = q_from_pinocchio(self.model, self._q)
        mujoco.mj_kinematics(self.model, self._data)

    def configuration(self, robot: str) -> Array:
        """A robot's joints in Pinocchio's convention, [rad] or [m]; a live view."""
        return self._q[self._parts[robot]]

    def tool_axes(self, robot: str) -> Array:
        """Axes of a robot's tool in world, one per column."""
        return self._tool_axes[robot].reshape(3, 3)

    def sees(self, eye: Array, place: Array) -> bool:
        """Whether no robot hides a place from an eye, both in world, [m]."""
        ray = place - eye
        distance, hit = float(np.linalg.norm(ray)), np.zeros(1, dtype=np.int32)
        first = mujoco.mj_ray(self.model, self._data, eye, ray / distance, _VISIBLE, True, -1, hit)
        return not 0.0 <= first < distance - SKIN

    def centre_of_mass(self, robot: str) -> Array:
        """Centre of mass of a robot in world, [m]."""
        mujoco.mj_comPos(self.model, self._data)
        return np.array(self._data.subtree_com[self._roots[robot]])

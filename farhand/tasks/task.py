"""A task: something that the follower's tool does with a mechanism, by the engine's own contact."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import mujoco
import numpy as np

from farhand.errors import ModelError
from farhand.robots import Limits, Placement, Robot
from farhand.robots.edits import Edit
from farhand.robots.model_file import TOOL, compile_spec
from farhand.spatial import Array, quaternion_from_rotation
from farhand.world import Jaws, Placed, ToolContact, World

MODELS = Path(__file__).parent / "models"
MECHANISM, FOLLOWER = "task", "follower"
TIP, SITE = 0, 1
"""Rows of what is seen: the tip of the tool, and the place of the mechanism that matters."""

DOWN = np.array([0.0, 0.0, -1.0])
TOOL_CONTACT: dict[str, Any] = {
    "contype": 1,
    "conaffinity": 1,
    "condim": 3,
    "mass": 0.0,
    "solref": [0.01, 1.0],
    "solimp": [0.95, 0.99, 0.0005, 0.5, 2.0],
    "friction": [0.4, 0.005, 0.0001],
    "rgba": [0.2, 0.2, 0.22, 1.0],
}
"""Contact of a tool, like that of the mechanisms. The engine needs a time constant of two steps or
more, so 10 ms are for steps of up to 5 ms. A geometry without mass leaves the arm's model true."""


@dataclass
class View:
    """What an operator knows: eyes and hand, both late and noisy."""

    points: Array  #: of the tool's tip and of the mechanism, in world, [m]
    felt: Array = field(default_factory=lambda: np.zeros(3))  #: force of the own hand, [N]

    def away(self, row: int = SITE) -> Array:
        """From the tip to a point, [m]."""
        found: Array = self.points[row] - self.points[TIP]
        return found


Goal = Callable[[View], Array]


@dataclass(frozen=True)
class Phase:
    """One thing to do, until it is seen or felt to be done."""

    goal: Goal | None = None  #: where to bring the tip, seen from there, [m]
    within: float = 0.003  #: near enough, [m]
    push: Array | None = None  #: direction of pushing, a unit vector
    force: float = 0.0  #: with which to push, [N]
    until: Callable[[View], bool] | None = None  #: seen to be done; at the goal by default
    search: bool = False  #: whether to feel about for a hole while it does not go on
    grip: bool | None = None  #: close or open the jaws


class Task:
    """What to do, with which tool, and how it is judged.

    The model's file is a fragment of MJCF with a site ``tool``, the place that matters. It is
    joined to the follower's world so that this site is ``ahead`` of the tool's tip at the start,
    moved at random by the seed. Its z axis is up and its x axis points away from the follower.

    Attributes:
        name: on the command line.
        title: one line.
        model: file of the mechanism.
        ahead: from the tip to the site at the start, [m].
        spread: largest random displacement of the start along x and y, [m].
        turn: largest random turn about the vertical, [rad].
        seconds: time to do it in, [s].
        damage: force on the tool that breaks something, [N].
        tip: of the tool from the tool point, axes of the mechanism, [m].
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    model: ClassVar[str] = ""
    ahead: ClassVar[tuple[float, float, float]] = (0.02, 0.02, -0.03)
    spread: ClassVar[float] = 0.01
    turn: ClassVar[float] = 0.0
    seconds: ClassVar[float] = 30.0
    damage: ClassVar[float] = 60.0
    tip: ClassVar[tuple[float, float, float]] = (0.0, 0.0, -0.04)
    #: how many points are seen
    points: ClassVar[int] = 2

    def __init__(self) -> None:
        #: axes of the mechanism in world, as columns
        self.axes = np.eye(3)
        #: the same before the random turn, those of the tool
        self.level = np.eye(3)
        self.jaws: Jaws | None = None  #: that grasp, where the task has them

    def geometry(self) -> list[dict[str, Any]]:
        """The tool: geoms about the tool point in axes of the mechanism. A stick by default."""
        return [stick(0.006, self.tip)]

    def plan(self) -> Iterator[Phase]:
        """What a person would do, one thing after the other."""
        raise NotImplementedError

    def done(self) -> bool:
        """Whether the task is done, by the simulator's truth."""
        raise NotImplementedError

    def observe(self, force: Array, dt: float) -> None:
        """Look at the force on the tool [N] after every step, for tasks that need it."""

    def joined(self) -> None:
        """Prepare what the mechanism needs beside its file, once the world is there."""

    @property
    def along(self) -> Array:
        """The mechanism's x axis in world."""
        return self.axes[:, 0]

    @property
    def side(self) -> Array:
        """The mechanism's y axis in world."""
        return self.axes[:, 1]

    # Joining the world

    def place(self, placed: dict[str, Placed], seed: int) -> dict[str, Placed]:
        """The robots with the tool at the follower, and the mechanism beside them."""
        follower = placed[FOLLOWER]
        position, rotation, base = _tool_pose(follower)
        away = (position - base) * (1.0, 1.0, 0.0)
        length = float(np.linalg.norm(away))
        x = away / length if length > 1e-3 else np.array([1.0, 0.0, 0.0])
        rng = np.random.default_rng([seed, 2])
        moved = [*rng.uniform(-self.spread, self.spread, 2), 0.0]
        angle = float(rng.uniform(-self.turn, self.turn))
        level = np.stack([x, np.cross((0.0, 0.0, 1.0), x), (0.0, 0.0, 1.0)], axis=1)
        turned = np.array(
            [[np.cos(angle), -np.sin(angle), 0.0], [np.sin(angle), np.cos(angle), 0.0], [0, 0, 1.0]]
        )
        self.level, self.axes = level, level @ turned
        mechanism = self._mechanism()
        site = mechanism.compile()
        data = mujoco.MjData(site)
        mujoco.mj_kinematics(site, data)
        at = position + level @ (np.array(self.tip) + self.ahead + moved)
        origin = at - self.axes @ data.site(TOOL).xpos
        placement = Placement(tuple(origin), tuple(quaternion_from_rotation(self.axes)))
        home = mechanism.home.copy()
        if site.nq > site.nv:
            # a loose object stands where the world says, not where its file does
            x_free, *_ = np.split(home, [3])
            home[:3] = origin + self.axes @ x_free
            qx, qy, qz, qw = placement.quaternion
            home[3:7] = qw, qx, qy, qz
        edit = _with_tool(self.geometry(), level.T @ rotation)
        held = replace(follower, robot=follower.robot.edited(edit))
        return {**placed, FOLLOWER: held, MECHANISM: Placed(mechanism, placement, home)}

    def join(self, world: World) -> None:
        """Let the tool feel the engine's contact."""
        self.world, self.port = world, world.ports[MECHANISM]
        self.tool = world.ports[FOLLOWER].tool
        # the tip turns with the tool
        self._tip = self.tool.rotation.T @ (self.level @ np.array(self.tip))
        names = [geom["name"] for geom in self.geometry()]
        if self.jaws is None:
            world.feel(FOLLOWER, ToolContact(names))
        else:
            world.grasp(FOLLOWER, MECHANISM, self.jaws)
        self.joined()

    def look(self, points: Array) -> None:
        """Write what there is to see: tip, site, and whatever else the task shows."""
        points[TIP] = self.tool.position + self.tool.rotation @ self._tip
        points[SITE] = self.port.tool.position

    def joint(self, name: str) -> float:
        """Position of a joint of the mechanism, [rad] or [m]."""
        return float(self.world.data.joint(f"{MECHANISM}/{name}").qpos[0])

    def _mechanism(self) -> Robot:
        path = MODELS / f"{self.model}.xml"
        spec = mujoco.MjSpec.from_file(str(path))
        model = compile_spec(spec, self.name)
        free = np.full(model.nv, np.inf)
        return Robot(
            name=self.name,
            variant="",
            variants=("",),
            source=path,
            home=model.qpos0.copy(),
            postures={},
            limits=Limits(-free, free, free, free),
            actuated=np.zeros(model.nv, dtype=bool),
            rates={},
            sources={"mechanism": "assumed"},
            description=self.title,
            _base=spec,
        )


def stick(radius: float, tip: tuple[float, float, float], name: str = "stick") -> dict[str, Any]:
    """A round rod from the tool point to its tip, [m]."""
    end = np.array(tip) * (1.0 - radius / float(np.linalg.norm(tip)))
    return {
        "name": name,
        "type": mujoco.mjtGeom.mjGEOM_CAPSULE,
        "fromto": np.concatenate([np.zeros(3), end]),
        "size": [radius, 0.0, 0.0],
    }


def _tool_pose(placed: Placed) -> tuple[Array, Array, Array]:
    """Position and rotation of a robot's tool in world at its start, and where it stands."""
    model = placed.robot.compile(placed.placement)
    data = mujoco.MjData(model)
    data.qpos[:] = placed.robot.home if placed.q is None else placed.q
    mujoco.mj_kinematics(model, data)
    site = data.site(placed.robot.tool)
    base = np.array(placed.placement.position)
    return site.xpos.copy(), site.xmat.reshape(3, 3).copy(), base


def _with_tool(geometry: list[dict[str, Any]], turn: Array) -> Edit:
    """Fix geoms to the tool; ``turn`` is the tool's rotation in the axes they are given in."""

    def edit(spec: mujoco.MjSpec) -> None:
        site = spec.site(TOOL)
        if site is None:
            raise ModelError(f"no site named {TOOL!r} to fix the tool of a task to")
        model = compile_spec(spec, "tool")
        index = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, TOOL)
        rotation = np.zeros(9)
        mujoco.mju_quat2Mat(rotation, model.site_quat[index])
        to_body, origin = rotation.reshape(3, 3) @ turn.T, model.site_pos[index]
        for geom in geometry:
            given = {**TOOL_CONTACT, **geom}
            if "fromto" in given:
                ends = given["fromto"].reshape(2, 3) @ to_body.T + origin
                given["fromto"] = ends.reshape(6)
            else:
                quaternion = np.zeros(4)
                mujoco.mju_mat2Quat(quaternion, to_body.reshape(9))
                given["pos"] = to_body @ np.asarray(given["pos"]) + origin
                given["quat"] = quaternion
            site.parent.add_geom(**given)

    return edit

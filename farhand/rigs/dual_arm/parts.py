"""The robots of the dual-arm rig: the published pair, or any other two, and their shape.

Values: sources/dual-arm (the published system) where it gives them, public Universal Robots data
for masses, and marked assumptions. They hold for the published pair. Any other robot keeps the
masses, rotor inertia and friction of its own file unless you set them; its links do not touch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.control.haptic.fixtures import Fixture
from farhand.errors import BadValue, UnknownName
from farhand.loop.session import Session
from farhand.loop.station import Station
from farhand.parameters import parameter
from farhand.plants.drivers.handle import ROBOT
from farhand.rigs import external_plants
from farhand.rigs.rig import configure
from farhand.robots import Placement, Robot, load_robot
from farhand.robots.edits import (
    Edit,
    disable_contacts,
    scale_mass,
    set_armature,
    set_damping,
    set_frictionloss,
)

Array = np.ndarray

ROLES = ("leader", "follower")
PUBLISHED = ("ur5e", ROBOT)
"""Robots that have the published armature and friction; an input device's handle is one of them."""

ARMATURE = (0.1,) * 6  # [kg·m²], assumed, as in a public model
VISCOUS = (2.0, 2.0, 2.0, 0.5, 0.5, 0.5)  # [N·m·s/rad], assumed
NONE = (0.0,) * 6
UR5E = {"published": "cb", "manufacturer": "ur"}
"""Variants of the robot ``ur5e`` by whose link lengths they have."""
DECIMALS = 12
"""Digits to which the numbers of two models are compared."""


@dataclass
class DualArm:
    """What shapes the rig's parts."""

    rate: float = parameter(1000.0, "Hz", "rate of plants, law and link", 20.0, 10_000.0)
    gravity: float = parameter(9.81, "m/s²", "downward acceleration", 0.0, 30.0)
    distance: float = parameter(0.75, "m", "between the bases, along y", -5.0, 5.0)  # published
    leader_robot: str = parameter("ur5e", "-", "which robot leads")  # published
    follower_robot: str = parameter("ur5e", "-", "which robot follows")  # published
    # published
    kinematics: str = parameter(
        "published",
        "-",
        "link lengths of a UR5e: as published, or the manufacturer's",
        choices=tuple(UR5E),
    )
    # published
    mass_scale: float = parameter(0.25, "-", "follower's masses over its robot's", 0.01, 10.0)
    armature: Array = parameter(ARMATURE, "kg·m²", "rotor inertia per joint", 0.0, 10.0)
    viscous: Array = parameter(VISCOUS, "N·m·s/rad", "viscous friction of the leader", 0.0, 100.0)
    coulomb: Array = parameter(
        NONE, "N·m", "Coulomb friction of the leader, unknown to its controller", 0.0, 100.0
    )
    friction_offset: bool = parameter(False, "-", "offset the leader's Coulomb friction")
    leader_posture: str = parameter("home", "-", "where the leader starts")
    follower_posture: str = parameter("home", "-", "where the follower starts")
    follower_offset: Array = parameter(NONE, "rad", "added to the follower's start", -6.3, 6.3)
    model_mass: float = parameter(
        1.0, "-", "follower plant's masses over what its controller believes", 0.1, 10.0
    )
    model_viscous: float = parameter(
        0.0, "N·m·s/rad", "follower plant's viscous friction unknown to its controller", 0.0, 100.0
    )
    observer_gain: float = parameter(200.0, "1/s", "gain of the momentum observers", 1.0, 900.0)
    driven: str = parameter("leader", "-", "whose tool the hand holds", choices=ROLES)
    hand: str = parameter("impedance", "-", "what the hand does", choices=("impedance", "force"))
    push_torque: Array = parameter(NONE, "N·m", "exerted on the leader's links", -150.0, 150.0)
    push_start: float = parameter(1.0, "s", "when the push on the leader's links begins", 0.0, 1e6)
    push_duration: float = parameter(1.0, "s", "how long it lasts", 0.0, 1e6)
    push_known: bool = parameter(False, "-", "whether the law knows it")
    leader_plant: str = parameter(
        "simulated", "-", "what leads: simulated, ur:HOST, spacemouse or gamepad"
    )
    follower_plant: str = parameter("simulated", "-", "what follows: simulated or ur:HOST")


@dataclass
class Arms:
    """Both robots by role: as controllers believe them, as they are, their places and postures."""

    believed: dict[str, Robot]
    true: dict[str, Robot]
    placements: dict[str, Placement]
    postures: dict[str, Array]

    def model(self, role: str, gravity: float) -> Arm:
        """A fresh model of the arm its controller believes in."""
        return Arm.of(self.believed[role], self.placements[role], gravity)


def shaped(settings: Sequence[tuple[str, object]]) -> tuple[DualArm, dict[str, Robot]]:
    """The rig's shape from ``rig.…`` settings, and its two robots by role."""
    shape = DualArm()
    # First the words: they choose the robots, which have the number of joints.
    texts = {f"rig.{name}" for name, value in vars(shape).items() if isinstance(value, str)}
    words = [pair for pair in settings if pair[0] in texts]
    configure(shape, words)
    shape.leader_robot = external_plants.leader_robot(shape.leader_plant, shape.leader_robot)
    names = {"leader": shape.leader_robot, "follower": shape.follower_robot}
    robots = {
        role: load_robot(name, UR5E[shape.kinematics] if name == "ur5e" else None)
        for role, name in names.items()
    }
    leader, follower = (robot.compile() for robot in robots.values())
    if names["leader"] not in PUBLISHED:
        shape.armature = leader.dof_armature.copy()
        shape.viscous = leader.dof_damping.copy()
        shape.coulomb = leader.dof_frictionloss.copy()
    if names["follower"] not in PUBLISHED:
        shape.mass_scale = 1.0
    shape.push_torque = np.zeros(leader.nv)
    shape.follower_offset = np.zeros(follower.nq)
    configure(shape, [pair for pair in settings if pair[0] not in texts])
    paths = {path for path, _ in settings}
    edits = {role: _edits(role, names[role], robots[role], shape, paths) for role in ROLES}
    return shape, {role: robots[role].edited(*edits[role]) for role in ROLES}


def _edits(role: str, name: str, robot: Robot, shape: DualArm, paths: set[str]) -> list[Edit]:
    """Published values for the published pair, and whatever the user has set."""
    edits: list[Edit] = [] if name in PUBLISHED else [disable_contacts]
    for path, values, published, edit in (
        ("rig.armature", shape.armature, ARMATURE, set_armature),
        ("rig.viscous", shape.viscous, VISCOUS, set_damping),
    ):
        if path in paths:
            edits.append(edit(_per_joint(path, values, role, robot)))
        elif name in PUBLISHED:
            edits.append(edit(published))
    return edits


def _per_joint(path: str, values: Array, role: str, robot: Robot) -> Array | float:
    """The leader's values for a robot: one for all if it has another number of joints."""
    joints = robot.actuated.size
    if values.size == joints:
        return values
    if (values == values[0]).all():
        return float(values[0])
    numbers = f"{path} has {values.size} numbers, the {role} {joints} joints"
    raise BadValue(f"{numbers}: give one number for all")


def arms_of(shape: DualArm, robots: dict[str, Robot]) -> Arms:
    """Both robots; what their controllers do not know is only in the true ones."""
    leader, follower = robots["leader"], robots["follower"]
    if shape.mass_scale != 1.0:
        follower = follower.edited(scale_mass(shape.mass_scale))
    true_follower = follower
    if shape.model_mass != 1.0:
        true_follower = true_follower.edited(scale_mass(shape.model_mass))
    if shape.model_viscous:
        viscous = follower.compile().dof_damping + shape.model_viscous
        true_follower = true_follower.edited(set_damping(viscous))
    true_leader = leader
    if shape.coulomb.any():
        true_leader = leader.edited(set_frictionloss(shape.coulomb), _hold_by_friction)
    postures = {
        "leader": _posture(leader, shape.leader_posture),
        "follower": _posture(follower, shape.follower_posture) + shape.follower_offset,
    }
    placements = {"leader": Placement(), "follower": Placement((0.0, shape.distance, 0.0))}
    believed = {"leader": leader, "follower": follower}
    true = {"leader": true_leader, "follower": true_follower}
    return Arms(believed, true, placements, postures)


def numbers_of(robot: Robot) -> list[Array]:
    """The links and joints of a robot, on which two machines have to agree."""
    m = robot.compile()
    tool = m.site(robot.tool)
    links = m.body_parentid, m.body_pos, m.body_quat, m.body_mass, m.body_inertia
    joints = m.jnt_type, m.jnt_pos, m.jnt_axis, m.dof_armature, m.dof_damping
    places = m.body_ipos, m.body_iquat, tool.bodyid, tool.pos, tool.quat
    numbers = (*links, *joints, *places)
    return [np.round(np.asarray(part, dtype=float), DECIMALS) for part in numbers]


def _posture(robot: Robot, name: str) -> Array:
    known = {**robot.postures, "home": robot.home}
    if name not in known:
        raise UnknownName(f"posture of {robot.name}", name, known)
    return known[name]


def _hold_by_friction(spec: Any) -> None:
    # With the engine's defaults a joint below its dry friction creeps by 0.01 rad/s.
    for joint in spec.joints:
        joint.solref_friction = [0.002, 1.0]
        joint.solimp_friction = [0.9999, 0.9999, 0.001, 0.5, 2.0]


class Guidance:
    """A virtual fixture that pushes the tool of the side it is set to, beside the couplings."""

    def __init__(self, fixture: Fixture, stations: Sequence[Station]) -> None:
        self.fixture = fixture
        self._ends = [(station, station.join()) for station in stations]
        self._last_ns = 0

    def step(self, now_ns: int) -> None:
        """Push on the fixture's side, and not on the other."""
        dt = (now_ns - self._last_ns) * 1e-9
        self._last_ns = now_ns
        for station, contribution in self._ends:
            if station.role == self.fixture.side:
                arm = station.arm
                self.fixture.push(arm.position, arm.twist[:3], dt, contribution.wrench[:3])
            else:
                contribution.wrench[:] = 0.0

    def attach(self, session: Session) -> None:
        """Run after the couplings and before the stations act."""
        session.add(self.step, session.stations[0].period_ns, after="law")

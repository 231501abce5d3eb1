"""The robots of the dual-arm rig: the published pair, or any other two, and what shapes them.

Values: sources/dual-arm (the published system) where it gives them, public Universal Robots data
for masses, and assumptions marked so. They are the published pair's: of any other robot the masses,
rotor inertia and friction of its own file hold unless they are set, vectors are as long as it has
joints, and its links do not touch each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
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
from farhand.robots.edits import Edit, scale_mass, set_armature, set_damping, set_frictionloss

Array = np.ndarray

ROLES = ("leader", "follower")
PUBLISHED = ("ur5e", ROBOT)
"""Robots that have the published armature and friction; an input device's handle is one of them."""

ARMATURE = (0.1,) * 6  # [kg·m²], assumed, as in a public model
VISCOUS = (2.0, 2.0, 2.0, 0.5, 0.5, 0.5)  # [N·m·s/rad], assumed
DECIMALS = 12  # to which the numbers of two models are compared


@dataclass
class DualArm:
    """What shapes the rig's parts."""

    rate: float = parameter(1000.0, "Hz", "rate of plants, law and link", 20.0, 10_000.0)
    gravity: float = parameter(9.81, "m/s²", "downward acceleration", 0.0, 30.0)
    distance: float = parameter(0.75, "m", "between the bases, along y", -5.0, 5.0)  # published
    leader_robot: str = parameter("ur5e", "-", "which robot leads")  # published
    follower_robot: str = parameter("ur5e", "-", "which robot follows")  # published
    # published
    parameter_set: str = parameter("cb", "-", "kinematics of a UR5e", choices=("cb", "ur"))
    # published
    mass_scale: float = parameter(0.25, "-", "follower's masses over its robot's", 0.01, 10.0)
    armature: Array = parameter(ARMATURE, "kg·m²", "rotor inertia per joint", 0.0, 10.0)
    viscous: Array = parameter(VISCOUS, "N·m·s/rad", "viscous friction of the leader", 0.0, 100.0)
    coulomb: Array = parameter(
        (0.0,) * 6, "N·m", "Coulomb friction of the leader, unknown to its controller", 0.0, 100.0
    )
    friction_offset: bool = parameter(
        False, "-", "help the leader's joints against Coulomb friction"
    )
    leader_posture: str = parameter("home", "-", "where the leader starts")
    follower_posture: str = parameter("home", "-", "where the follower starts")
    follower_offset: Array = parameter(
        (0.0,) * 6, "rad", "added to where the follower starts", -6.3, 6.3
    )
    model_mass: float = parameter(
        1.0, "-", "follower plant's masses over what its controller believes", 0.1, 10.0
    )
    model_viscous: float = parameter(
        0.0, "N·m·s/rad", "follower plant's viscous friction unknown to its controller", 0.0, 100.0
    )
    observer_gain: float = parameter(200.0, "1/s", "gain of the momentum observers", 1.0, 900.0)
    driven: str = parameter("leader", "-", "whose tool the hand holds", choices=ROLES)
    hand: str = parameter("impedance", "-", "what the hand does", choices=("impedance", "force"))
    push_torque: Array = parameter(
        (0.0,) * 6, "N·m", "exerted on the leader's links", -150.0, 150.0
    )
    push_start: float = parameter(1.0, "s", "when the push on the leader's links begins", 0.0, 1e6)
    push_duration: float = parameter(1.0, "s", "how long it lasts", 0.0, 1e6)
    push_known: bool = parameter(False, "-", "whether the law is told of it")
    leader_plant: str = parameter(
        "simulated", "-", "what leads: simulated, ur:HOST, spacemouse or gamepad"
    )
    follower_plant: str = parameter("simulated", "-", "what follows: simulated or ur:HOST")


@dataclass
class Arms:
    """Both robots by role: as their controllers believe them, as they are, where they stand and how."""

    believed: dict[str, Robot]
    true: dict[str, Robot]
    placements: dict[str, Placement]
    postures: dict[str, Array]

    def model(self, role: str, gravity: float) -> Arm:
        """A fresh model of the arm its controller believes in."""
        return Arm.of(self.believed[role], self.placements[role], gravity)


def shaped(settings: Sequence[tuple[str, object]]) -> tuple[DualArm, dict[str, Robot]]:
    """The shape that ``rig.…`` settings give the rig, and its two robots by role, as they are loaded."""
    shape = DualArm()
    words = [
        (path, value) for path, value in settings if isinstance(getattr(shape, path[4:], None), str)
    ]
    configure(shape, words)  # first which robots: they say how many joints there are
    shape.leader_robot = external_plants.leader_robot(shape.leader_plant, shape.leader_robot)
    names = {"leader": shape.leader_robot, "follower": shape.follower_robot}
    robots = {
        role: load_robot(name, shape.parameter_set if name == "ur5e" else None)
        for role, name in names.items()
    }
    leader, follower = (robot.compile() for robot in robots.values())
    if names["leader"] not in PUBLISHED:
        shape.armature, shape.viscous = leader.dof_armature.copy(), leader.dof_damping.copy()
        shape.coulomb = leader.dof_frictionloss.copy()
    if names["follower"] not in PUBLISHED:
        shape.mass_scale = 1.0
    shape.push_torque, shape.follower_offset = np.zeros(leader.nv), np.zeros(follower.nq)
    configure(shape, [pair for pair in settings if pair not in words])
    given = {path[4:] for path, _ in settings}
    edits = {role: _edits(role, names[role], robots[role], shape, given) for role in ROLES}
    return shape, {role: robots[role].edited(*edits[role]) for role in ROLES}


def _edits(role: str, name: str, robot: Robot, shape: DualArm, given: set[str]) -> list[Edit]:
    """What becomes of a robot: published values for the published pair, and whatever was given."""
    edits: list[Edit] = [] if name in PUBLISHED else [_apart]
    for field, published, edit in (
        ("armature", ARMATURE, set_armature),
        ("viscous", VISCOUS, set_damping),
    ):
        if field in given:
            edits.append(edit(_per_joint(f"rig.{field}", getattr(shape, field), role, robot)))
        elif name in PUBLISHED:
            edits.append(edit(published))
    return edits


def _per_joint(path: str, values: Array, role: str, robot: Robot) -> Array | float:
    """Values given for the leader's joints, for a robot's: one for all where it has another number of joints."""
    joints = robot.actuated.size
    if values.size == joints:
        return values
    if (values == values[0]).all():
        return float(values[0])
    raise BadValue(
        f"{path} has {values.size} numbers, the {role} {joints} joints: give one number for all"
    )


def _apart(spec: mujoco.MjSpec) -> None:
    """Links do not touch each other or anything: contact in this rig is at the tool."""
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0
    for pair in list(spec.pairs):
        spec.delete(pair)


def arms_of(shape: DualArm, robots: dict[str, Robot]) -> Arms:
    """Both robots; what their controllers do not know is only in the true ones."""
    leader, follower = robots["leader"], robots["follower"]
    if shape.mass_scale != 1.0:
        follower = follower.edited(scale_mass(shape.mass_scale))
    true_follower = follower
    if shape.model_mass != 1.0:
        true_follower = true_follower.edited(scale_mass(shape.model_mass))
    if shape.model_viscous:
        true_follower = true_follower.edited(
            set_damping(follower.compile().dof_damping + shape.model_viscous)
        )
    true_leader = (
        leader.edited(set_frictionloss(shape.coulomb), _dry) if shape.coulomb.any() else leader
    )
    postures = {
        "leader": _posture(leader, shape.leader_posture),
        "follower": _posture(follower, shape.follower_posture) + shape.follower_offset,
    }
    placements = {"leader": Placement(), "follower": Placement((0.0, shape.distance, 0.0))}
    believed, true = (
        {"leader": leader, "follower": follower},
        {"leader": true_leader, "follower": true_follower},
    )
    return Arms(believed, true, placements, postures)


def numbers_of(robot: Robot) -> list[Array]:
    """What two machines have to agree on about a robot: its links and joints, whatever its file is called."""
    model = robot.compile()
    tool = model.site(robot.tool)
    links = (
        model.body_parentid,
        model.body_pos,
        model.body_quat,
        model.body_mass,
        model.body_inertia,
    )
    joints = model.jnt_type, model.jnt_pos, model.jnt_axis, model.dof_armature, model.dof_damping
    places = model.body_ipos, model.body_iquat, tool.bodyid, tool.pos, tool.quat
    return [
        np.round(np.asarray(part, dtype=float), DECIMALS) for part in (*links, *joints, *places)
    ]


def _posture(robot: Robot, name: str) -> Array:
    known = {**robot.postures, "home": robot.home}
    if name not in known:
        raise UnknownName(f"posture of {robot.name}", name, known)
    return known[name]


def _dry(spec: Any) -> None:
    """Friction that holds: with the engine's defaults a joint below its dry friction creeps by 0.01 rad/s."""
    for joint in spec.joints:
        joint.solref_friction = [0.002, 1.0]
        joint.solimp_friction = [0.9999, 0.9999, 0.001, 0.5, 2.0]


# Guidance: a virtual fixture that pushes on one of a rig's stations, beside what couplings ask of
# it.


class Guidance:
    """Pushes a station's tool with a fixture, whichever side it is set to.

    Args:
        fixture: live.
        stations: of the rig.
    """

    def __init__(self, fixture: Fixture, stations: Sequence[Station]) -> None:
        self.fixture = fixture
        self._ends = [(station, station.join()) for station in stations]
        self._last_ns = 0

    def step(self, now_ns: int) -> None:
        """Write what the fixture pushes with; nothing on the other side."""
        dt, self._last_ns = (now_ns - self._last_ns) * 1e-9, now_ns
        for station, contribution in self._ends:
            if station.role == self.fixture.side:
                arm = station.arm
                self.fixture.push(arm.position, arm.twist[:3], dt, contribution.wrench[:3])
            else:
                contribution.wrench[:] = 0.0

    def attach(self, session: Session) -> None:
        """Run after the couplings and before the stations act."""
        session.add(self.step, session.stations[0].period_ns, after="law")

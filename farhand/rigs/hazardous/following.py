"""The shape of the hazardous-environment rig, and the ways in which its follower can follow."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import Controller
from farhand.control.joint.loops import LimitedPD
from farhand.control.tool.tracking import (
    ArmOnBase,
    IkSolver,
    JointModel,
    MobileController,
    TrackingController,
)
from farhand.errors import BadValue, Mismatch
from farhand.mapping import WorkspaceMapping
from farhand.mapping.ik import Pose, Solver
from farhand.mapping.joint_map import IIWA_TO_POWERBALL, JointCopy, JointMapping, JointTarget
from farhand.mapping.vehicle import RateMode, Vehicle, VehicleMapping
from farhand.mapping.workspace import IIWA_POWERBALL, PositionOnlyMapping, RobotPair
from farhand.parameters import parameter
from farhand.plants.simulated.velocity import POWERBALL_STEP, POWERBALL_VELOCITY
from farhand.robots import Placement, Robot, load_robot

MAPPINGS = ("cartesian", "joint", "position-only")
BASES = ("fixed", "mobile")
Array = np.ndarray

PLACES = {"leader": (0.0, 0.0, 0.0), "follower": (0.0, 1.2, 0.0)}
"""Where the robots stand, side by side to be seen together; assumed, [m]."""


@dataclass
class Hazardous:
    """What shapes the rig's parts."""

    rate: float = parameter(1000.0, "Hz", "rate of plants, law and link", 200.0, 10_000.0)
    gravity: float = parameter(9.81, "m/s²", "downward acceleration", 0.0, 30.0)
    # sources/hazardous §1.3 [D]
    pd_rate: float = parameter(120.0, "Hz", "rate of the follower's position loop", 10.0, 1000.0)
    # implied by Table 2.2
    leader_shoulder: float = parameter(0.350, "m", "height of the leader's shoulder", 0.0, 2.0)
    # published
    follower_shoulder: float = parameter(0.205, "m", "height of the follower's shoulder", 0.0, 2.0)
    # assumed
    leader_viscous: float = parameter(1.0, "N·m·s/rad", "friction of the leader", 0.0, 100.0)
    # published
    mapping: str = parameter("cartesian", "-", "how motion is mapped", choices=MAPPINGS)
    base: str = parameter("fixed", "-", "what the follower stands on", choices=BASES)
    # published
    force_map: bool = parameter(True, "-", "bend forces into the operator's range")
    # published, Tables 4.1 and 4.2
    operator: str = parameter("mean", "-", "whose range of forces")

    @property
    def period_ns(self) -> int:
        """Time between ticks, [ns]."""
        return round(1e9 / self.rate)

    @property
    def pair(self) -> RobotPair:
        """Scale and centres of the two workspaces."""
        centres = [(0.0, 0.0, height) for height in (self.leader_shoulder, self.follower_shoulder)]
        return RobotPair(IIWA_POWERBALL.motion_scale, *centres)


class Following:
    """One way to follow: robot, start, controller and mapping.

    This one is scaled about the shoulders, by inverse kinematics, on a fixed base.

    Args:
        shape: of the rig.
        leader: the robot that leads.
        placement: where the follower stands.

    Attributes:
        robot: the follower.
        locked: angles of the leader's locked joints, by number from 0, [rad].
        needs_models: whether the mapping needs both arms' joints.
        velocity_limit: of the drives, as a share of the joints' limits, [-].
        step_limit: its largest change per step of the drives, [-].
    """

    locked: dict[int, float] = {}
    needs_models = False

    def __init__(self, shape: Hazardous, leader: Robot, placement: Placement) -> None:
        self.shape = shape
        self.leader = leader
        self.placement = placement
        self.robot = self.arm_robot = load_robot("lwa4p")
        self.velocity_limit = np.array(POWERBALL_VELOCITY)
        self.step_limit = np.array(POWERBALL_STEP)
        # As deployed; the step is assumed.
        self.solver: IkSolver = Solver(self.arm_robot, 1e-4, 1e-3, step_max=0.5)

    def posture(self) -> Array:
        """Where the follower starts: at the image of the leader's home, [rad].

        Engagement captures offsets; from this start they are those of the published robots.
        """
        leader = Arm.of(self.leader)
        mapping = self.shape.pair.mapping()
        leader.update(self.leader.home, np.zeros(leader.nv))
        mapping.forward(leader.position, leader.rotation, leader.twist)
        solution = self.solver.solve(Pose(mapping.position, mapping.rotation))
        if solution.status != "solved":
            where = ", ".join(f"{value:.3f}" for value in mapping.position)
            why = f"where the leader's home maps to: {solution.status}"
            raise BadValue(f"the follower cannot start at ({where}) m, {why}")
        return solution.q

    def models(self) -> dict[str, Arm]:
        """Fresh models of both arms by role, as each side knows the other."""
        gravity = self.shape.gravity
        return {
            "leader": Arm.of(self.leader, gravity=gravity),
            "follower": Arm.of(self.robot, self.placement, gravity),
        }

    def controller(self, arm: Arm) -> Controller:
        """The controller that turns targets into joint velocities."""
        return self.tracking(arm)

    def tracking(self, joints: JointModel) -> TrackingController:
        """The loop of the arm's joints; gains as published."""
        speed = self.arm_robot.limits.velocity
        velocity, step = np.array(POWERBALL_VELOCITY), np.array(POWERBALL_STEP)
        pd = LimitedPD(velocity_limit=velocity, step_limit=step)
        rate = self.shape.pd_rate
        return TrackingController(joints, self.solver, self.placement, speed, pd, rate)

    def mapping(self, leader: Arm, follower: Arm, drives: bool) -> WorkspaceMapping:
        """The mapping for one end; forces come back one to one.

        Args:
            leader: model of the leader, up to date where the mapping needs models.
            follower: of the follower.
            drives: whether this end drives the follower.
        """
        scale = self.shape.pair.motion_scale
        return WorkspaceMapping(motion_scale=scale, force_scale=1.0 / scale)


class PositionOnly(Following):
    """As :class:`Following`, but the tool keeps its orientation."""

    def mapping(self, leader: Arm, follower: Arm, drives: bool) -> WorkspaceMapping:
        """Positions and forces, no turns and no torques."""
        scale = self.shape.pair.motion_scale
        return PositionOnlyMapping(motion_scale=scale, force_scale=1.0 / scale)


class JointToJoint(Following):
    """Joints copy joints, joint 3 of the leader locked; no inverse kinematics."""

    needs_models = True

    def __init__(self, shape: Hazardous, leader: Robot, placement: Placement) -> None:
        super().__init__(shape, leader, placement)
        limits = self.robot.limits
        self.joints = JointMapping(**IIWA_TO_POWERBALL, lower=limits.lower, upper=limits.upper)
        self.solver = JointCopy(self.joints)
        self.locked = dict(self.joints.locked)

    def posture(self) -> Array:
        """The leader's home, joint by joint."""
        self.joints.forward(self.leader.home, np.zeros(len(self.leader.home)))
        return self.joints.q.copy()

    def mapping(self, leader: Arm, follower: Arm, drives: bool) -> WorkspaceMapping:
        """The tool's pose by the copied joints."""
        joints = self.joints if drives else replace(self.joints)
        image = Arm.of(self.robot, self.placement, self.shape.gravity)
        return JointTarget(joints=joints, leader=leader, follower=follower, image=image)


class Mobile(Following):
    """As :class:`Following`, on a base with a crane that the leader drives in rate mode."""

    needs_models = True

    def __init__(self, shape: Hazardous, leader: Robot, placement: Placement) -> None:
        super().__init__(shape, leader, placement)
        self.robot = load_robot("cernbot")
        self.velocity_limit = np.concatenate([np.ones(4), self.velocity_limit])
        # Assumed for the base.
        self.step_limit = np.concatenate([np.full(4, 0.05), self.step_limit])
        arms = [Arm.of(robot) for robot in (self.robot, self.arm_robot)]
        for arm, robot in zip(arms, (self.robot, self.arm_robot), strict=True):
            arm.update(robot.home, np.zeros(arm.nv))
        self._mount = arms[0].position - arms[1].position

    def posture(self) -> Array:
        """The base at its origin, the arm as on a fixed base."""
        return np.concatenate([np.zeros(4), super().posture()])

    def controller(self, arm: Arm) -> Controller:
        """The arm's loop, and the base's rate mode."""
        vehicle = Vehicle(arm, self.placement, self._mount)
        tracking = self.tracking(ArmOnBase(arm))
        return MobileController(tracking, vehicle, RateMode(), 1.0 / self.shape.pd_rate)

    def mapping(self, leader: Arm, follower: Arm, drives: bool) -> WorkspaceMapping:
        """In the axes of the vehicle."""
        scale = self.shape.pair.motion_scale
        vehicle = Vehicle(follower, self.placement, self._mount)
        return VehicleMapping(motion_scale=scale, force_scale=1.0 / scale, vehicle=vehicle)


WAYS: dict[tuple[str, str], type[Following]] = {
    ("cartesian", "fixed"): Following,
    ("position-only", "fixed"): PositionOnly,
    ("joint", "fixed"): JointToJoint,
    ("cartesian", "mobile"): Mobile,
}
"""The ways by mapping and base."""


def following(shape: Hazardous, leader: Robot, placement: Placement) -> Following:
    """The way that the rig's shape names.

    Raises:
        Mismatch: a mapping that does not go with the base.
    """
    way = WAYS.get((shape.mapping, shape.base))
    if way is None:
        able = ", ".join(mapping for mapping, base in WAYS if base == shape.base)
        base = f"a {shape.base} base"
        raise Mismatch(f"mapping {shape.mapping!r} does not go with {base}; there are: {able}")
    return way(shape, leader, placement)

"""What inverse kinematics knows of a robot, exported from Pinocchio, and what a solver answers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from farhand.errors import BadValue, ModelError
from farhand.robots import Robot
from farhand.spatial import Array, rotation_vector

STATUSES = {
    "solved": "the pose is met inside the joint limits",
    "limited": "the pose can be met only outside the joint limits",
    "unreachable": "no configuration was found that meets the pose, with or without limits",
    "jump": "the pose needs a larger step from the start than allowed, so the start is held",
    "invalid": "the pose or the start is not a number or not a rotation, so the start is held",
    "failed": "a published solver did not converge: its joints must not be used",
}
"""Meaning of each :attr:`Solution.status`. Only ``solved`` is a solution."""

STATUS_INDEX = {name: float(index) for index, name in enumerate(STATUSES)}
"""The number under which each status is recorded."""


class Pose(NamedTuple):
    """Position [m] and rotation matrix of the tool in the base."""

    position: Array
    rotation: Array


class Solution(NamedTuple):
    """A solver's answer to one pose."""

    #: joint positions, always finite; those of the closest pose if it is not met, [rad or m]
    q: Array
    status: str  #: one of :data:`STATUSES`
    position_error: float  #: distance of the tool at ``q`` from the pose, [m]
    rotation_error: float  #: angle of the tool at ``q`` from the pose, [rad]
    iterations: int  #: steps of the longest numerical descent; 0 for a closed form


@dataclass(frozen=True)
class Chain:
    """A chain of n hinges and slides from the base to the tool.

    At zero joints, joint i has the direction ``axes[i]`` through the point ``points[i]``, in base
    axes. For the kernels the same chain is n + 1 fixed steps: step i leads from the frame of joint
    i − 1 (the base for i = 0) to the frame of joint i, whose z is the joint's axis; the last leads
    to the tool.
    """

    axes: Array  #: unit vectors, n × 3
    points: Array  #: n × 3, [m]
    hinge: Array  #: True for a hinge, False for a slide
    tool_position: Array  #: of the tool at zero joints, [m]
    tool_rotation: Array  #: of the tool at zero joints
    steps: Array  #: (n + 1) × 3 × 4, rotation and translation [m]
    lower: Array  #: joint limits, [rad or m]
    upper: Array  #: joint limits, [rad or m]
    home: Array  #: a configuration well inside the limits, [rad or m]

    @classmethod
    def of(cls, robot: Robot) -> Chain:
        """The chain of a robot whose every joint is a hinge or a slide on the way to the tool.

        Raises:
            ModelError: the robot branches, or has a ball or free joint.
        """
        model = robot.pinocchio()
        frame = model.getFrameId(robot.tool, pin.FrameType.OP_FRAME)
        carrying = set(model.supports[model.frames[frame].parentJoint]) - {0}
        joints = model.njoints - 1
        if not model.nq == model.nv == len(carrying) == joints:
            raise ModelError(
                f"{robot.name} is not a single chain of hinges and slides, "
                "which inverse kinematics needs"
            )
        data = model.createData()
        pin.computeJointJacobians(model, data, pin.neutral(model))
        pin.updateFramePlacements(model, data)
        spatial = np.array(data.J).reshape(6, model.nv)
        hinge = np.linalg.norm(spatial[3:], axis=0) > 0.5
        axes = np.where(hinge, spatial[3:], spatial[:3]).T.copy()
        points = np.array([data.oMi[i + 1].translation for i in range(model.nv)])
        position, rotation = data.oMf[frame].translation.copy(), data.oMf[frame].rotation.copy()
        steps = _steps(axes, points, position, rotation)
        lower = np.array(robot.limits.lower, dtype=float)
        upper = np.array(robot.limits.upper, dtype=float)
        home = np.clip(robot.home, lower, upper)
        return cls(axes, points, hinge, position, rotation, steps, lower, upper, home)

    @property
    def n(self) -> int:
        """How many joints there are."""
        return len(self.axes)


class Model:
    """The same robot in Pinocchio, for the published solvers and to check the compiled ones."""

    def __init__(self, robot: Robot) -> None:
        self.model = robot.pinocchio()
        self.data = self.model.createData()
        self.frame = self.model.getFrameId(robot.tool, pin.FrameType.OP_FRAME)
        self.lower, self.upper = robot.limits.lower, robot.limits.upper

    def pose(self, q: Array) -> Pose:
        """Pose of the tool."""
        pin.framesForwardKinematics(self.model, self.data, q)
        placement = self.data.oMf[self.frame]
        return Pose(placement.translation.copy(), placement.rotation.copy())

    def jacobian(self, q: Array) -> Array:
        """Geometric Jacobian in base axes, 6 × n, linear part first."""
        J = pin.computeFrameJacobian(self.model, self.data, q, self.frame, pin.LOCAL_WORLD_ALIGNED)
        return J.reshape(6, self.model.nv)

    def error(self, target: Pose, q: Array) -> Array:
        r"""Pose error :math:`e = [p_d - p;\ \log(R_d R^\top)^\vee]`, [m] and [rad]."""
        here = self.pose(q)
        turn = rotation_vector(target.rotation @ here.rotation.T)
        return np.concatenate([target.position - here.position, turn])

    def within(self, q: Array) -> bool:
        """Whether every joint is inside its limits."""
        return bool(((self.lower <= q) & (q <= self.upper)).all())

    def solution(
        self, q: Array, error: Array, steps: int, met: bool = True, otherwise: str = "failed"
    ) -> Solution:
        """The answer of a published solver, which checks the limits only at the end."""
        status = otherwise if not met else "solved" if self.within(q) else "limited"
        linear, angular = float(np.linalg.norm(error[:3])), float(np.linalg.norm(error[3:]))
        return Solution(q, status, linear, angular, steps)


def split(pose: Array | Pose) -> Pose:
    """Position and rotation of a 4 × 4 matrix; a :class:`Pose` is returned as it is.

    Raises:
        BadValue: neither.
    """
    if isinstance(pose, Pose):
        return pose
    try:
        matrix = np.asarray(pose, dtype=float)
        kind = f"an array of shape {matrix.shape}"
    except (TypeError, ValueError):
        matrix, kind = np.empty(0), type(pose).__name__
    if matrix.shape != (4, 4):
        raise BadValue(f"a pose must be a 4 × 4 matrix or a Pose, not {kind}")
    return Pose(np.ascontiguousarray(matrix[:3, 3]), np.ascontiguousarray(matrix[:3, :3]))


def _steps(axes: Array, points: Array, position: Array, rotation: Array) -> Array:
    frames = [np.eye(3), *(_frame(axis) for axis in axes), rotation]
    origins = [np.zeros(3), *points, position]
    steps = [
        np.column_stack([R.T @ R_next, R.T @ (p_next - p)])
        for (R, p), (R_next, p_next) in pairwise(zip(frames, origins, strict=True))
    ]
    return np.ascontiguousarray(steps)


def _frame(axis: Array) -> Array:
    """A rotation whose z is ``axis``, with x as near the base's x or y as it can be."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = helper - axis * (helper @ axis)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])

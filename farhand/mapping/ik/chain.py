"""A serial chain as plain arrays, exported from Pinocchio: what inverse kinematics needs to know of a robot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from farhand.errors import BadValue, ModelError
from farhand.robots import Robot
from farhand.spatial import rotation_vector

Array = np.ndarray


class Pose(NamedTuple):
    """Position [m] and rotation matrix of the tool in the base."""

    position: Array
    rotation: Array


@dataclass(frozen=True)
class Chain:
    """A chain of n hinges and slides from the base to the tool.

    At zero joints, joint i has the direction ``axes[i]`` through the point ``points[i]``, in base
    axes. For the kernels the same chain is n + 1 fixed steps: step i leads from the frame of joint
    i − 1 (the base for i = 0) to the frame of joint i, whose z is the joint's axis; the last leads
    to the tool.

    Attributes:
        axes: unit vectors, n × 3.
        points: n × 3, [m].
        hinge: True for a hinge, False for a slide.
        tool_position: of the tool at zero joints, [m].
        tool_rotation: of the tool at zero joints.
        steps: (n + 1) × 3 × 4, rotation and translation [m].
        lower: joint limits, [rad or m].
        upper: joint limits, [rad or m].
        home: a configuration in the middle of things, [rad or m].
    """

    axes: Array
    points: Array
    hinge: Array
    tool_position: Array
    tool_rotation: Array
    steps: Array
    lower: Array
    upper: Array
    home: Array

    @classmethod
    def of(cls, robot: Robot) -> Chain:
        """The chain of a robot whose every joint is a hinge or a slide on the way to the tool.

        Raises:
            ModelError: the robot branches, or has a ball or free joint.
        """
        model = robot.pinocchio()
        frame = model.getFrameId(robot.tool, pin.FrameType.OP_FRAME)
        carried = set(model.supports[model.frames[frame].parentJoint]) - {0}
        if (
            model.nq != model.nv
            or len(carried) != model.njoints - 1
            or model.nv != model.njoints - 1
        ):
            raise ModelError(
                f"{robot.name} is not a single chain of hinges and slides: inverse kinematics needs one"
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
        home = np.clip(robot.home, robot.limits.lower, robot.limits.upper)
        lower, upper = (
            np.array(limit, dtype=float) for limit in (robot.limits.lower, robot.limits.upper)
        )
        return cls(axes, points, hinge, position, rotation, steps, lower, upper, home)

    @property
    def n(self) -> int:
        """How many joints there are."""
        return len(self.axes)


class Model:
    """The same robot in Pinocchio: the plain path of the published solvers, and the judge of the compiled ones."""

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
        return np.concatenate(
            [target.position - here.position, rotation_vector(target.rotation @ here.rotation.T)]
        )

    def within(self, q: Array) -> bool:
        """Whether every joint is inside its limits."""
        return bool(((self.lower <= q) & (q <= self.upper)).all())


def split(pose: Array | Pose) -> Pose:
    """Position and rotation of a 4 × 4 matrix; a :class:`Pose` stays what it is.

    Raises:
        BadValue: neither.
    """
    if isinstance(pose, Pose):
        return pose
    try:
        matrix = np.asarray(pose, dtype=float)
    except (TypeError, ValueError):
        raise BadValue(
            f"a pose must be a 4 × 4 matrix or a Pose, not {type(pose).__name__}"
        ) from None
    if matrix.shape != (4, 4):
        raise BadValue(
            f"a pose must be a 4 × 4 matrix or a Pose, not an array of shape {matrix.shape}"
        )
    return Pose(np.ascontiguousarray(matrix[:3, 3]), np.ascontiguousarray(matrix[:3, :3]))


def _steps(axes: Array, points: Array, position: Array, rotation: Array) -> Array:
    frames = [np.eye(3), *(_frame(axis) for axis in axes), rotation]
    origins = [np.zeros(3), *points, position]
    steps = []
    for (R, p), (R_next, p_next) in zip(
        zip(frames, origins, strict=True), zip(frames[1:], origins[1:], strict=False), strict=False
    ):
        steps.append(np.column_stack([R.T @ R_next, R.T @ (p_next - p)]))
    return np.ascontiguousarray(steps)


def _frame(axis: Array) -> Array:
    """A rotation whose z is ``axis``, with x as near the base's x or y as it can be."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = helper - axis * (helper @ axis)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])

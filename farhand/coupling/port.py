"""Port: what a law couples, tools or joints, and what error, rate and effort are there."""

from __future__ import annotations

from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.coupling.constraint_terms import JointTerms, ToolTerms
from farhand.coupling.kernels import follow, pose_error
from farhand.coupling.side import Side
from farhand.mapping.joint_map import JointMapping
from farhand.mapping.workspace import WorkspaceMapping
from farhand.spatial import Array, rotation_from_vector, rotation_vector

SPACES = ("tool", "joints")
"""What may be coupled, by name on the command line."""

AXES = ("x", "y", "z", "rx", "ry", "rz")
"""The tool's axes, by name."""


class ToolHandle:
    """A virtual body without weight: where a leader's tool is to be.

    Attributes:
        position: in world, [m].
        rotation: rotation matrix in world.
        twist: in world axes, [m/s] and [rad/s].
    """

    def __init__(self) -> None:
        self.position, self.rotation, self.twist = np.zeros(3), np.eye(3), np.zeros(6)
        self.rate = self.twist
        self._error = np.zeros(6)

    def take(self, side: Side | ToolHandle) -> None:
        """Go to a side's tool, and move on with it."""
        self.position[:], self.rotation[:], self.twist[:] = side.position, side.rotation, side.twist

    def show(self, side: Side) -> None:
        """Let a side appear to be here."""
        side.position[:], side.rotation[:], side.twist[:] = self.position, self.rotation, self.twist

    def error(self, side: Side | ToolHandle) -> Array:
        """How far it is ahead of a tool, [m] and [rad]; the array is reused."""
        np.subtract(self.position, side.position, self._error[:3])
        self._error[3:] = rotation_vector(self.rotation.dot(side.rotation.T))
        return self._error

    def shift(self, step: Array) -> None:
        """Move on by a step, [m] and [rad]."""
        self.position += step[:3]
        self.rotation[:] = rotation_from_vector(step[3:]).dot(self.rotation)


class JointHandle:
    """The same for joints."""

    def __init__(self, n: int) -> None:
        self.q, self.v = np.zeros(n), np.zeros(n)
        self.rate = self.v

    def take(self, side: Side | JointHandle) -> None:
        """Go to a side's joints, and move on with them."""
        self.q[:], self.v[:] = side.q, side.v

    def show(self, side: Side) -> None:
        """Let a side appear to be here."""
        side.q[:], side.v[:] = self.q, self.v

    def error(self, side: Side | JointHandle) -> Array:
        """How far it is ahead of the joints, [rad]."""
        error: Array = self.q - side.q
        return error

    def shift(self, step: Array) -> None:
        """Move on by a step, [rad]."""
        self.q += step


class ToolPort:
    """The tools of two arms: six numbers on each side.

    Attributes:
        space: one of :data:`SPACES`.
        size: how many numbers error, rate and the follower's effort have.
        leader_size: how many the leader's effort has.
        axes: names of the follower's numbers.
        unit: of the error.
        drives: which of the leader's numbers drive anything.
        damper: what a layer's damper of 1 is along an axis and about it, [N·s/m] and [N·m·s/rad].
        damper_unit: unit of that damper.
    """

    space = "tool"
    size = leader_size = 6
    axes, unit = AXES, "m, rad"
    drives = np.ones(6, dtype=bool)
    damper, damper_unit = (1.0, 0.01), "N·s/m"

    def rate(self, side: Side) -> Array:
        """Velocity of a side's port: the twist of its tool, [m/s] and [rad/s]."""
        return side.twist

    def measured(self, side: Side) -> Array | None:
        """Effort measured at a side's port: the contact wrench, [N] and [N·m]; None if unknown."""
        return side.wrench

    def capture(self, mapping: WorkspaceMapping, a: Side, b: Side) -> None:
        """Make the present poses the ones that belong together."""
        mapping.capture(a.position, a.rotation, b.position, b.rotation)

    def compare(self, mapping: WorkspaceMapping, a: Side, b: Side, motion: Array) -> None:
        """Error [p_t − p_b; log(R_t R_bᵀ)] and its rate, one after the other, into ``motion``."""
        if mapping.straight:
            # the same in one call, because a tick has no time for more
            if mapping.twist is not a.twist:
                mapping.take(a.position, a.rotation, a.twist)
            follow(a.pose, mapping.offsets, b.pose, mapping.target, motion)
            return
        mapping.forward(a.position, a.rotation, a.twist)
        pose_error(mapping.target, mapping.twist, b.pose, motion)

    def spread(self, linear: Any, angular: Any, leader: bool = False) -> Array:
        """One number per axis of the follower's (or the leader's) port, by its kind."""
        return np.repeat([linear, angular], 3)

    def felt(self, mapping: WorkspaceMapping, linear: float, angular: float, out: Array) -> None:
        """What a gain of the follower's port is for the leader, per axis; unscaled if none is."""
        turned = mapping.force_scale or 1.0
        out[:3], out[3:] = turned * mapping.motion_scale**2 * linear, turned * angular

    def direction(self, mapping: WorkspaceMapping, a: Side, b: Side, axis: Array) -> Array:
        """How a unit force on the follower's tool along an axis comes back to the leader's, [-]."""
        back: Array = mapping.matrix[:3, :3].T @ axis
        return back

    def terms(self, arm: Arm) -> ToolTerms:
        """Terms of the tool."""
        return ToolTerms(arm.nv)

    def handle(self) -> ToolHandle:
        """A handle for the tool."""
        return ToolHandle()

    def bounded(self, step: Array, linear: float, angular: float) -> Array:
        """A step of the leader's port, shortened to at most these lengths, [m] and [rad]."""
        found = step.copy()
        for part, limit in ((found[:3], linear), (found[3:], angular)):
            length = float(np.sqrt(part.dot(part)))
            if length > limit:
                part *= limit / length
        return found


class JointPort:
    """The joints of two arms, one number each; otherwise as :class:`ToolPort`.

    Args:
        mapping: which joint drives which.
    """

    space = "joints"
    damper, damper_unit = (1.0, 1.0), "N·m·s/rad"

    def __init__(self, mapping: JointMapping) -> None:
        self.size, self.leader_size = mapping.matrix.shape
        self.axes, self.unit = mapping.names, mapping.unit
        self._slides, self._weights = mapping.slides, mapping.weights
        # a leader's joint is of the kind of the joint that it drives, and as strong as it feels it
        drives = mapping.matrix != 0.0
        self.drives = drives.any(axis=0)
        self._leader_slides = drives.T @ self._slides
        felt = np.square(mapping.matrix).T @ self._weights
        self._leader_weights = np.where(self.drives, felt, 1.0)

    def rate(self, side: Side) -> Array:
        """Joint velocities."""
        return side.v

    def measured(self, side: Side) -> Array | None:
        """External joint torque."""
        return side.torque

    def capture(self, mapping: JointMapping, a: Side, b: Side) -> None:
        """Make the present joint positions the ones that belong together."""
        mapping.capture(a.q, b.q)

    def compare(self, mapping: JointMapping, a: Side, b: Side, motion: Array) -> None:
        """Errors q_t − q_b and their rates."""
        mapping.forward(a.q, a.v)
        np.subtract(mapping.q, b.q, motion[: self.size])
        np.subtract(mapping.v, b.v, motion[self.size :])

    def spread(self, linear: Any, angular: Any, leader: bool = False) -> Array:
        """By slide or hinge, each times the joint's weight."""
        slides, weights = (
            (self._leader_slides, self._leader_weights) if leader else (self._slides, self._weights)
        )
        gains: Array = np.where(slides, linear, angular) * weights
        return gains

    def felt(self, mapping: JointMapping, linear: float, angular: float, out: Array) -> None:
        """What a gain of the follower's port is for the leader, per joint; unscaled if none is."""
        out[:] = self.spread(linear, angular, leader=True)
        out *= mapping.force_scale or 1.0

    def direction(self, mapping: JointMapping, a: Side, b: Side, axis: Array) -> Array:
        """The force at the leader's tool whose torques are nearest to what comes back."""
        assert a.arm is not None and b.arm is not None
        torque = mapping.matrix.T @ (b.arm.J[:3].T @ axis)
        back: Array = (np.linalg.pinv(a.arm.J.T, rcond=1e-3) @ torque)[:3]
        return back

    def terms(self, arm: Arm) -> JointTerms:
        """Terms of the joints."""
        return JointTerms(arm.nv)

    def handle(self) -> JointHandle:
        """A handle for the leader's joints."""
        return JointHandle(self.leader_size)

    def bounded(self, step: Array, linear: float, angular: float) -> Array:
        """A step, each joint for itself."""
        limit = np.where(self._leader_slides, linear, angular)
        shortened: Array = np.clip(step, -limit, limit)
        return shortened


Port = ToolPort | JointPort
Handle = ToolHandle | JointHandle
TOOL = ToolPort()


def port_of(mapping: WorkspaceMapping | JointMapping) -> Port:
    """The port that a mapping is made for."""
    return JointPort(mapping) if isinstance(mapping, JointMapping) else TOOL

"""Side: one end of a coupling as a law sees it, and the effort a law answers with."""

from __future__ import annotations

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import Target

Array = np.ndarray


NOTHING = np.zeros(6)
"""No effort at all."""
NOTHING.flags.writeable = False


NO_WRENCH = np.zeros(6)
"""Stands for a wrench that is not measured, where it counts as zero."""


class Effort:
    """What a law asks of one side.

    Attributes:
        wrench: on the arm at its tool point, world axes, [N] and [N·m]; of a law that couples
            joints, one torque per joint, [N·m].
        local: the part of the wrench that the arm's own motion alone causes, such as damping, [N]
            and [N·m].
        target: pose and twist the law pulls the tool to, for arms that take positions or
            velocities; None if it names none.
    """

    __slots__ = ("local", "target", "wrench")

    def __init__(self) -> None:
        self.wrench, self.local = np.zeros(6), NOTHING
        self.target: Target | None = None


class Side:
    """One end of a coupling: pose, twist, conditioned wrench and, where it is known, the model.

    A local side looks at the station's own :class:`Arm`; a remote one is filled from the last
    packet.

    Args:
        role: ``"leader"`` or ``"follower"``.
        arm: its model, if it is known.
        joints: how many joints a side without a model has.

    Attributes:
        role: ``"leader"`` or ``"follower"``.
        arm: dynamics at this state, None for a remote side whose model is not known.
        position: tool in world, [m].
        rotation: rotation matrix of the tool in world.
        twist: tool twist in world axes, [m/s] and [rad/s].
        pose: these three in one array, the rotation column by column.
        wrench: conditioned contact wrench on the arm, [N] and [N·m]; None when there is no
            measurement.
        commanded: wrench that a remote side was last asked for, [N] and [N·m]; None where it is not
            known.
        external_torque: joint torque known to act on the links beside the tool's wrench, [N·m];
            None when not known.
        cut: what the arm fell short of the joint torques it was last asked for, as its motors are
            not strong enough, [N·m]; None if nothing, or not known.
        q: joint positions, [rad] or [m]; empty for a remote side that couples tools.
        v: joint velocities, [rad/s] or [m/s].
        torque: joint torque of all that touches the arm, for laws that couple joints, [N·m]; None
            when there is no measurement.
        age: how old all this is, [s].
    """

    __slots__ = (
        "_effort",
        "_no_torque",
        "age",
        "arm",
        "commanded",
        "cut",
        "external_torque",
        "pose",
        "position",
        "q",
        "role",
        "rotation",
        "torque",
        "twist",
        "v",
        "wrench",
    )

    def __init__(self, role: str, arm: Arm | None = None, joints: int = 0) -> None:
        self.role, self.arm = role, arm
        self.q = np.zeros(joints) if arm is None else arm.q
        self.v = np.zeros(joints) if arm is None else arm.v
        self.torque: Array | None = None
        if arm is None:
            self.pose = np.zeros(18)
            self.position, self.twist = self.pose[:3], self.pose[12:]
            self.rotation = self.pose[3:12].reshape(3, 3).T
            self.rotation[:] = np.eye(3)
        else:
            self.pose = arm.pose
            self.position, self.rotation, self.twist = arm.position, arm.rotation, arm.twist
        self.wrench: Array | None = None
        self.commanded: Array | None = None
        self.external_torque: Array | None = None
        self.cut: Array | None = None
        self._no_torque = np.zeros(0 if arm is None else arm.nv)
        self.age = 0.0
        self._effort = Effort()

    @property
    def known_wrench(self) -> Array:
        """The wrench; zero where it is not measured."""
        return NO_WRENCH if self.wrench is None else self.wrench

    @property
    def known_torque(self) -> Array:
        """The external torque; zero where it is not known."""
        return self._no_torque if self.external_torque is None else self.external_torque

    def effort(
        self, wrench: Array | None = None, target: Target | None = None, local: Array = NOTHING
    ) -> Effort:
        """The effort of this side; it refers to ``wrench`` and is reused: copy what must last."""
        self._effort.wrench = NOTHING if wrench is None else wrench
        self._effort.target, self._effort.local = target, local
        return self._effort

"""Joint target: joint-to-joint mapping for laws that speak of tools, and the solver that copies its joints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.errors import BadValue
from farhand.mapping.ik import Pose, Solution
from farhand.mapping.joint_map import JointMapping
from farhand.mapping.workspace import WorkspaceMapping

Array = np.ndarray

DAMPING = 0.02
"""Of the inverse that turns joint torques into a wrench, against singular postures, [-]."""


@dataclass
class JointTarget(WorkspaceMapping):
    r"""Where the follower's tool is when its joints copy the leader's, and what its wrench is for the hand.

    .. math:: q_t = \sigma\,q_{a,s} + o, \quad x_t = \mathrm{fk}_b(q_t), \qquad
              w_a = s_f\,(J_{a,s}^\top)^{-1} \sigma\,J_b^\top w_b

    The offsets o are captured at engagement, so that the follower does not jump. The way back is
    the power dual of the way forward with the leader's other joints locked. The poses that a law
    hands over are not looked at: the leader's joints are.

    Attributes:
        joints: which joint drives which.
        leader: the leader's arm, kept up to date by whoever knows its joints.
        follower: the follower's arm, likewise.
        image: a second model of the follower, put where the target is.
    """

    joints: JointMapping = field(default_factory=lambda: _missing("joints"))
    leader: Arm = field(default_factory=lambda: _missing("leader"))
    follower: Arm = field(default_factory=lambda: _missing("follower"))
    image: Arm = field(default_factory=lambda: _missing("image"))

    def capture(self, p_a: Array, R_a: Array, p_b: Array, R_b: Array) -> None:
        """Choose the offsets so that the leader's joints map onto the follower's."""
        self.joints.capture(self.leader.q, self.follower.q)

    def forward(self, p_a: Array, R_a: Array, twist_a: Array) -> None:
        """Map the leader's joints, into the attributes."""
        self.joints.forward(self.leader.q, self.leader.v)
        self.image.update(self.joints.q, self.joints.v)
        self.position[:], self.rotation[:], self.twist = (
            self.image.position,
            self.image.rotation,
            self.image.twist,
        )

    def back(self, wrench_b: Array, out: Array) -> None:
        """Map a wrench on the follower to one on the leader, [N] and [N·m]."""
        torque = np.zeros(self.leader.nv)
        self.joints.back(self.follower.J.T @ wrench_b, torque)
        J = self.leader.J[:, list(self.joints.source)]
        inverse = np.linalg.inv(J @ J.T + DAMPING**2 * np.eye(6))
        out[:] = self.force_scale * (inverse @ (J @ torque[list(self.joints.source)]))


class JointCopy:
    """A solver that answers with the joints of a joint map, whatever the pose.

    Args:
        joints: the map, moved on by a :class:`JointTarget`.
    """

    def __init__(self, joints: JointMapping) -> None:
        self.joints = joints

    def solve(self, pose: Array | Pose, q_start: Array | None = None) -> Solution:
        """The mapped joints; ``limited`` where one of them is at a limit."""
        return Solution(
            self.joints.q.copy(), "solved" if self.joints.free.all() else "limited", 0.0, 0.0, 0
        )


def _missing(what: str) -> Any:
    raise BadValue(f"a joint target needs its {what}")

"""Joint map: the follower's joints copy the leader's one by one, and torques come back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.errors import BadValue
from farhand.mapping.ik import Pose, Solution
from farhand.mapping.workspace import WorkspaceMapping, missing
from farhand.spatial import Array

TORQUE_DAMPING = 0.02
"""Damping of the inverse from joint torques to a wrench, against singular postures, [-]."""


@dataclass
class JointMapping:
    r"""Which joint of the leader drives which joint of the follower.

    .. math::
        q_{b,i} = \sigma_i\, q_{a,s(i)} + o_i, \qquad
        \dot q_{b,i} = \sigma_i\, \dot q_{a,s(i)}, \qquad
        \tau_{a,s(i)} = s_f\, \sigma_i\, \tau_{b,i}

    It needs no inverse kinematics, but the tools move alike only if the arms are alike. A leader's
    joint that drives nothing has to be locked, at the angle that makes the arms alike. A joint that
    would leave the follower's limits stays at the limit and sends no torque back.

    Attributes:
        q: the follower's joints at the last :meth:`forward`, [rad].
        v: their velocities, [rad/s].
        free: which of them are not at a limit.

    Raises:
        BadValue: lists of unlike lengths, a joint that neither drives nor is locked, or one that
            does both.
    """

    source: tuple[int, ...]  #: s(i), for each joint of the follower the joint of the leader, from 0
    signs: tuple[float, ...]
    leader_joints: int
    offsets: tuple[float, ...] = ()
    #: angle of each locked joint of the leader, by its number, [rad]
    locked: dict[int, float] = field(default_factory=dict)
    lower: Array | None = None
    upper: Array | None = None
    force_scale: float = 1.0

    def __post_init__(self) -> None:
        n = len(self.source)
        lower = np.full(n, -np.inf) if self.lower is None else np.array(self.lower, dtype=float)
        upper = np.full(n, np.inf) if self.upper is None else np.array(self.upper, dtype=float)
        offsets = self.offsets or (0.0,) * n
        if any(len(column) != n for column in (self.signs, offsets, lower, upper)):
            raise BadValue(
                f"signs, offsets and limits must have {n} values, one per follower joint"
            )
        used = sorted([*self.source, *self.locked])
        if used != list(range(self.leader_joints)):
            joints = f"the leader's joints 0 … {self.leader_joints - 1}"
            raise BadValue(f"each of {joints} must drive one joint or be locked, not {used}")
        self._source, self._signs = np.array(self.source), np.array(self.signs, dtype=float)
        self._offsets = np.array(offsets, dtype=float)
        self._lower, self._upper = lower, upper
        self.q, self.v, self.free = np.zeros(n), np.zeros(n), np.ones(n, dtype=bool)

    def capture(self, q_a: Array, q_b: Array) -> None:
        """Choose the offsets so that the leader's joints map onto the follower's, [rad]."""
        self._offsets = q_b - self._signs * q_a[self._source]

    def forward(self, q_a: Array, v_a: Array) -> None:
        """Map the leader's joints [rad] and velocities [rad/s], into the attributes."""
        image = self._signs * q_a[self._source] + self._offsets
        np.clip(image, self._lower, self._upper, out=self.q)
        np.equal(image, self.q, out=self.free)
        np.multiply(self._signs * self.free, v_a[self._source], out=self.v)

    def back(self, torque_b: Array, out: Array) -> None:
        """Map the follower's joint torques to the leader's, [N·m]: the power dual times s_f."""
        out[:] = 0.0
        out[self._source] = self.force_scale * self._signs * self.free * torque_b

    def lock(self, q_a: Array) -> Array:
        """The leader's joints with the locked ones at their angles, [rad]."""
        held = np.array(q_a, dtype=float)
        for joint, angle in self.locked.items():
            held[joint] = angle
        return held


IIWA_TO_POWERBALL: dict[str, Any] = {
    "source": (0, 1, 3, 4, 5, 6),
    "signs": (1, 1, 1, 1, -1, 1),
    "leader_joints": 7,
    "locked": {2: 0.0},
}
"""The published pair, joint 3 of the leader locked: tool orientations are then equal
(sources/hazardous §3.4, derived)."""


@dataclass
class JointTarget(WorkspaceMapping):
    r"""A joint map for laws of tools: the follower's tool where its joints copy the leader's.

    .. math:: q_t = \sigma\,q_{a,s} + o, \quad x_t = \mathrm{fk}_b(q_t), \qquad
              w_a = s_f\,(J_{a,s}^\top)^{-1} \sigma\,J_b^\top w_b

    The offsets o are captured at engagement, so that the follower does not jump. The way back is
    the power dual of the way forward with the leader's other joints locked. The poses that a law
    passes are ignored: the leader's joints count.
    """

    #: which joint drives which
    joints: JointMapping = field(default_factory=missing("a joint target", "joints"))
    #: the leader's arm, kept up to date by whoever knows its joints
    leader: Arm = field(default_factory=missing("a joint target", "leader"))
    #: the follower's arm, likewise
    follower: Arm = field(default_factory=missing("a joint target", "follower"))
    #: a second model of the follower, put where the target is
    image: Arm = field(default_factory=missing("a joint target", "image"))

    def capture(self, p_a: Array, R_a: Array, p_b: Array, R_b: Array) -> None:
        """Choose the offsets so that the leader's joints map onto the follower's."""
        self.joints.capture(self.leader.q, self.follower.q)

    def forward(self, p_a: Array, R_a: Array, twist_a: Array) -> None:
        """Map the leader's joints, into the attributes."""
        image = self.image
        self.joints.forward(self.leader.q, self.leader.v)
        image.update(self.joints.q, self.joints.v)
        self.position[:], self.rotation[:], self.twist = image.position, image.rotation, image.twist

    def back(self, wrench_b: Array, out: Array) -> None:
        """Map a wrench on the follower to one on the leader, [N] and [N·m]."""
        torque = np.zeros(self.leader.nv)
        self.joints.back(self.follower.J.T @ wrench_b, torque)
        J = self.leader.J[:, list(self.joints.source)]
        inverse = np.linalg.inv(J @ J.T + TORQUE_DAMPING**2 * np.eye(6))
        out[:] = self.force_scale * (inverse @ (J @ torque[list(self.joints.source)]))


class JointCopy:
    """A solver that answers with the joints of a joint map, whatever the pose."""

    def __init__(self, joints: JointMapping) -> None:
        self.joints = joints

    def solve(self, pose: Array | Pose, q_start: Array | None = None) -> Solution:
        """The mapped joints; ``limited`` where one of them is at a limit."""
        status = "solved" if self.joints.free.all() else "limited"
        return Solution(self.joints.q.copy(), status, 0.0, 0.0, 0)

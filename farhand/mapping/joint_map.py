"""Joint map: the follower's joints copy the leader's one by one, and torques come back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from farhand.arm import Arm
from farhand.errors import BadValue
from farhand.mapping.ik import Pose, Solution
from farhand.mapping.workspace import WorkspaceMapping, missing
from farhand.parameters import parameter
from farhand.spatial import Array

if TYPE_CHECKING:
    from farhand.plants.plant import Channels

GRIPPER = "gripper"
"""Name of a joint that opens and closes a gripper."""

TORQUE_DAMPING = 0.02
"""Damping of the inverse from joint torques to a wrench, against singular postures, [-]."""


@dataclass
class JointMapping:
    r"""Which joint of the leader drives which joint of the follower.

    .. math::
        q_t = S\,q_a + o, \qquad \dot q_t = S\,\dot q_a, \qquad \tau_a = s_f\,S^\top \tau_b

    A row of S has one number: the scale, with its sign, of the joint that drives. The way back is
    the power dual of the way forward times the force scale. It needs no inverse kinematics, but the
    tools move alike only if the arms are alike. A joint that would leave the follower's limits
    stays at the limit and sends no torque back. A follower's joint that nothing drives keeps the
    place it had at engagement.

    Attributes:
        q: the follower's joints at the last :meth:`forward`, [rad].
        v: their velocities, [rad/s].
        free: which of them are not at a limit.
        unit: of the joints' positions.
        matrix: S, a row for each joint of the follower.
        offsets: o, [rad].
        plain: always False: it is never the identity for a law of tools.
        revision: counts changes of the map, so that an end of a link notices them.

    Raises:
        BadValue: lists of unlike lengths, a joint of the leader that neither drives nor is locked
            or idle, or one that does two of these.
    """

    #: for each joint of the follower the joint of the leader, from 0; -1 for one that is held
    source: tuple[int, ...]
    signs: tuple[float, ...]  #: scale of each, with its sign
    leader_joints: int
    offsets: Array = field(default_factory=lambda: np.zeros(0))
    #: angle of each locked joint of the leader, by its number, [rad]
    locked: dict[int, float] = field(default_factory=dict)
    lower: Array = field(default_factory=lambda: np.zeros(0))
    upper: Array = field(default_factory=lambda: np.zeros(0))
    force_scale: float = parameter(1.0, "-", "how strongly the hand feels", 0.0, 100.0)
    idle: tuple[int, ...] = ()  #: joints of the leader that drive nothing and move freely
    #: strength of gains at each joint of the follower, [-]
    weights: Array = field(default_factory=lambda: np.zeros(0))
    names: tuple[str, ...] = ()  #: of the follower's joints
    #: which of them are slides
    slides: Array = field(default_factory=lambda: np.zeros(0))

    plain: ClassVar[bool] = False

    def __post_init__(self) -> None:
        n = len(self.source)
        columns = {"offsets": 0.0, "lower": -np.inf, "upper": np.inf, "weights": 1.0, "slides": 0.0}
        for name, default in columns.items():
            given = getattr(self, name)
            setattr(self, name, np.array(given if len(given) else (default,) * n, dtype=float))
        if any(len(getattr(self, name)) != n for name in (*columns, "signs")):
            raise BadValue(
                f"signs, offsets and limits must have {n} values, one per follower joint"
            )
        self.slides = self.slides > 0.0
        self.names = self.names or tuple(f"joint {number}" for number in range(1, n + 1))
        self.unit = "m, rad" if self.slides.any() else "rad"
        driving = [joint for joint in self.source if joint >= 0]
        used = sorted([*driving, *self.locked, *self.idle])
        if used != list(range(self.leader_joints)):
            joints = f"the leader's joints 0 … {self.leader_joints - 1}"
            raise BadValue(f"each of {joints} must drive one joint, be locked or idle, not {used}")
        self.matrix = np.zeros((n, self.leader_joints))
        for row, (joint, sign) in enumerate(zip(self.source, self.signs, strict=True)):
            if joint >= 0:
                self.matrix[row, joint] = sign
        self.q, self.v, self.free = np.zeros(n), np.zeros(n), np.ones(n, dtype=bool)
        self._passed, self.revision = np.zeros(n), 0

    @classmethod
    def alike(cls, leader: Sequence[str], follower: Sequence[str], **more: Any) -> JointMapping:
        """A map between joints of the same names, or of the same order where names differ.

        A joint named :data:`GRIPPER` belongs to the other gripper only.

        Args:
            leader: names of the leader's joints.
            follower: names of the follower's.
            more: other fields.
        """
        more.setdefault("names", tuple(follower))
        shared = set(leader) & set(follower)
        if len(shared) == min(len(leader), len(follower)):
            source = [leader.index(name) if name in shared else -1 for name in follower]
        else:
            gripper = leader.index(GRIPPER) if GRIPPER in leader else -1
            others = iter(joint for joint in range(len(leader)) if joint != gripper)
            source = [gripper if name == GRIPPER else next(others, -1) for name in follower]
        idle = tuple(sorted(set(range(len(leader))) - set(source)))
        signs = more.pop("signs", (1.0,) * len(source))
        return cls(tuple(source), tuple(signs), len(leader), idle=idle, **more)

    def capture(self, q_a: Array, q_b: Array) -> None:
        """Choose the offsets so that the leader's joints map onto the follower's, [rad]."""
        self.offsets[:] = q_b - self.matrix @ q_a
        self.revision += 1

    def forward(self, q_a: Array, v_a: Array) -> None:
        """Map the leader's joints [rad] and velocities [rad/s], into the attributes."""
        image = self.matrix @ q_a
        image += self.offsets
        np.minimum(np.maximum(image, self.lower), self.upper, out=self.q)
        np.equal(image, self.q, out=self.free)
        self.matrix.dot(v_a, out=self.v)
        self.v *= self.free

    def back(self, torque_b: Array, out: Array) -> None:
        """Map the follower's joint torques to the leader's, [N·m]: the power dual times s_f."""
        np.multiply(torque_b, self.free, out=self._passed)
        self._passed.dot(self.matrix, out=out)
        out *= self.force_scale

    def record(self, stream: Channels) -> None:
        """Declare nothing: the map decides nothing by itself."""
        return

    @property
    def numbers(self) -> Array:
        """Offsets, scales and force scale: what both ends of a link must have in common."""
        return np.concatenate([self.offsets, self.matrix.sum(axis=1), [self.force_scale]])

    def adopt(self, numbers: Array) -> tuple[float, float]:
        """Take over the map of the other end; by how much that moves the target, [m] and [rad]."""
        n = len(self.q)
        if not np.allclose(numbers[n : 2 * n], self.matrix.sum(axis=1)):
            return math.inf, math.inf
        moved = np.abs(numbers[:n] - self.offsets)
        self.offsets[:], self.force_scale = numbers[:n], float(numbers[-1])
        slid, turned = (moved[kind].max(initial=0.0) for kind in (self.slides, ~self.slides))
        return float(slid), float(turned)

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

"""Joint map: the follower's joints copy the leader's, one by one, and their torques come back the same way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from farhand.errors import BadValue

Array = np.ndarray


@dataclass
class JointMapping:
    r"""Which joint of the leader drives which joint of the follower.

    .. math::
        q_{b,i} = \sigma_i\, q_{a,s(i)} + o_i, \qquad \dot q_{b,i} = \sigma_i\, \dot q_{a,s(i)}, \qquad
        \tau_{a,s(i)} = s_f\, \sigma_i\, \tau_{b,i}

    No inverse kinematics is needed, so none of its troubles occur; but the tools only do alike, not
    the same, unless the arms are alike. A leader's joint that drives nothing has to be locked, at
    the angle that makes the arms alike. A joint that would leave the follower's limits stays at the
    limit and sends no torque back.

    Args:
        source: s(i), for each joint of the follower the joint of the leader, from 0.
        signs: σ_i, 1 or −1.
        offsets: o_i, [rad].
        locked: angle at which each locked joint of the leader stands, by its number, [rad].
        leader_joints: how many joints the leader has.
        lower: limits of the follower, [rad].
        upper: limits of the follower, [rad].
        force_scale: s_f, how strongly the hand feels, [-].

    Raises:
        BadValue: lists of unlike lengths, a joint that neither drives nor is locked, or one that
            does both.
    """

    source: tuple[int, ...]
    signs: tuple[float, ...]
    leader_joints: int
    offsets: tuple[float, ...] = ()
    locked: dict[int, float] = field(default_factory=dict)
    lower: Array | None = None
    upper: Array | None = None
    force_scale: float = 1.0

    def __post_init__(self) -> None:
        """Check the table and prepare the results."""
        n = len(self.source)
        given = [
            self.signs,
            self.offsets or (0.0,) * n,
            *(x for x in (self.lower, self.upper) if x is not None),
        ]
        if any(len(column) != n for column in given):
            raise BadValue(
                f"signs, offsets and limits must have {n} values each, one per joint of the follower"
            )
        both = sorted([*self.source, *self.locked])
        if both != list(range(self.leader_joints)):
            last = self.leader_joints - 1
            raise BadValue(
                f"each of the leader's joints 0 … {last} must drive one joint or be locked, not {both}"
            )
        self._source, self._signs = np.array(self.source), np.array(self.signs, dtype=float)
        self._offsets = np.array(given[1], dtype=float)
        self._lower = (
            np.full(n, -np.inf) if self.lower is None else np.array(self.lower, dtype=float)
        )
        self._upper = (
            np.full(n, np.inf) if self.upper is None else np.array(self.upper, dtype=float)
        )
        self.q, self.v, self.free = np.zeros(n), np.zeros(n), np.ones(n, dtype=bool)

    def capture(self, q_a: Array, q_b: Array) -> None:
        """Choose the offsets so that the leader's joints ``q_a`` map onto the follower's ``q_b``, [rad]."""
        self._offsets = q_b - self._signs * q_a[self._source]

    def forward(self, q_a: Array, v_a: Array) -> None:
        """Map the leader's joints to the follower's, into ``q`` [rad], ``v`` [rad/s] and ``free`` (not at a limit)."""
        wanted = self._signs * q_a[self._source] + self._offsets
        np.clip(wanted, self._lower, self._upper, out=self.q)
        np.equal(wanted, self.q, out=self.free)
        np.multiply(self._signs * self.free, v_a[self._source], out=self.v)

    def back(self, torque_b: Array, out: Array) -> None:
        """Map the follower's joint torques to the leader's, [N·m]: the power dual of :meth:`forward` times s_f."""
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

"""Pen mapping: from a haptic pen's pose to a setpoint for a robot's tool, and the robot's wrench back to the pen."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from farhand.mapping.axis_map import TOOL_TURN
from farhand.mapping.hybrid import HybridPosition
from farhand.mapping.limiter import PoseLimiter
from farhand.mapping.workspace import WorkspaceMapping
from farhand.parameters import parameter
from farhand.spatial import (
    quaternion_from_rotation,
    rotation_from_quaternion,
    rotation_from_vector,
    rotation_vector,
)

Array = np.ndarray


@dataclass
class PenMapping(WorkspaceMapping):
    r"""Axes, position or rate, tool turn and limiter, in this order; and the power dual of the axes on the way back.

    .. math::
        h = s\,A\,p_a, \qquad p_t = \mathrm{lim}(\mathrm{hybrid}(h)), \qquad
        R_t = \mathrm{lim}(R_{turn}\,A\,R_a A^\top)

        f_a = s_f\,s\,A^\top f_b, \qquad \tau_a = s_f\,(R_{turn} A)^\top \tau_b

    In position mode, while the limiter passes the setpoint on, the way back is the power dual of
    the way forward times s_f. In rate mode the hand feels the same force, but its work is not the
    follower's: the target moves on its own. The pen's orientation is absolute: the tool turns to
    it, at the limiter's speed, however the pen was held at the start. Changing the scale moves
    nothing. The first engagement goes for the published first setpoint; later ones, after a clutch
    or a stop, begin where the tool is.

    Across a link the leader's end decides on mode, drift and limits. What it decided travels as the
    offsets of every packet, p_t = h + Δp and R_t = R_turn A R_a ΔR, so the other end only has to
    apply them (``drives`` is False there).

    Attributes:
        hybrid: position and rate.
        limiter: behind it.
        drives: whether this end decides.
    """

    force_scale: float = parameter(0.1, "-", "how strongly the hand feels, 1/kf", 0.0, 100.0)
    axes: Array = parameter(
        (0.0, 0.0, math.pi), "rad", "rotation vector from pen to robot", -6.3, 6.3
    )
    hybrid: HybridPosition = field(default_factory=HybridPosition)
    limiter: PoseLimiter = field(default_factory=PoseLimiter)
    turn: Array = parameter(
        TOOL_TURN, "rad", "rotation vector of the tool at a level pen", -6.3, 6.3
    )
    start: Array = parameter((0.35, 0.0, 0.35), "m", "target of the pen at its origin", -10.0, 10.0)
    absolute: bool = parameter(True, "-", "whether to engage at start, or where the follower is")
    period: float = parameter(0.001, "s", "time between ticks", 1e-5, 1.0)

    def __post_init__(self) -> None:
        """At the device's origin."""
        self.drives, self._engaged, self._placed = True, False, False
        self._h = np.zeros(3)
        super().__post_init__()
        self.twist = np.zeros(6)

    def refresh(self) -> None:
        """Recompute what depends on the parameters; a target that there is stays where it is."""
        A = rotation_from_vector(self.axes)
        near = np.round(A)
        self._A = np.where(np.abs(A - near) < 1e-9, near, A)  # half and quarter turns are exact
        self._scale, self.plain = self.motion_scale, False
        self._A_turn = rotation_from_vector(self.turn) @ self._A
        if self._leader is not None and self._placed:
            self.hybrid.place(self._pen(self._leader[0]), self.hybrid.position)
        else:
            self.hybrid.place(np.zeros(3), self.start)
            self.offset_rotation = self._A.T.copy()

    def capture(self, p_a: Array, R_a: Array, p_b: Array, R_b: Array) -> None:
        """Start the setpoint at the follower's pose; from there it goes, limited, to what the pen asks for."""
        self._leader = (p_a, R_a)
        h = self._pen(p_a)
        self.hybrid.place(h, self.start + h if self.absolute and not self._engaged else p_b)
        self._engaged = True
        self._begin(p_b, quaternion_from_rotation(R_b))
        self._publish(h, R_a)

    def forward(self, p_a: Array, R_a: Array, twist_a: Array, dt: float | None = None) -> None:
        """Map the pen's pose and twist to the setpoint, into the attributes; ``dt`` [s] since the last call."""
        self._leader = (p_a, R_a)
        dt = self.period if dt is None else dt
        h, hybrid, limiter = self._pen(p_a), self.hybrid, self.limiter
        if self.drives:
            position, offset = hybrid.step(h, dt), self._A.T
        else:
            position, offset = (
                np.add(h, self.offset_position, out=hybrid.position),
                self.offset_rotation,
            )
        quaternion = quaternion_from_rotation(self._A_turn.dot(R_a).dot(offset))
        if not self._placed:
            self._begin(position, quaternion)
        before, rotation_before = self.position.copy(), self.rotation.copy()
        limiter.step(position, quaternion, dt)
        self.position[:], self.rotation[:] = (
            limiter.position,
            rotation_from_quaternion(limiter.quaternion),
        )
        if limiter.limited:
            self.twist[:3] = (self.position - before) / dt
            self.twist[3:] = rotation_vector(self.rotation.dot(rotation_before.T)) / dt
        else:
            self.twist[:3] = (
                hybrid.velocity if hybrid.rate else self._scale * self._A.dot(twist_a[:3])
            )
            self.twist[3:] = self._A_turn.dot(twist_a[3:])
        if self.drives:
            self._publish(h, R_a)

    def _begin(self, position: Array, quaternion: Array) -> None:
        """Let the setpoint be here."""
        self._placed = True
        self.limiter.reset(position, quaternion)
        self.position[:], self.rotation[:] = position, rotation_from_quaternion(quaternion)
        self.twist[:] = 0.0

    def _publish(self, h: Array, R_a: Array) -> None:
        """What the other end needs in order to find the same setpoint."""
        self.offset_position = self.position - h
        self.offset_rotation = self._A_turn.dot(R_a).T.dot(self.rotation)

    def back(self, wrench_b: Array, out: Array) -> None:
        """Map a wrench in the follower's workspace to the pen's, [N] and [N·m]."""
        wrench_b[:3].dot(self._A, out=out[:3])
        wrench_b[3:].dot(self._A_turn, out=out[3:])
        out[:3] *= self._scale
        out *= self.force_scale

    @property
    def matrix(self) -> Array:
        """S with ẋ_t = S ẋ_a in position mode, while the limiter passes the setpoint on, 6 × 6."""
        matrix = np.zeros((6, 6))
        matrix[:3, :3], matrix[3:, 3:] = self._scale * self._A, self._A_turn
        return matrix

    def _pen(self, p_a: Array) -> Array:
        self._A.dot(p_a, self._h)
        self._h *= self._scale
        return self._h

"""Paths of a tool over time: quintics in translation and in rotation about a fixed axis.

:class:`HandPath` is a displacement from its start, made of moves that begin and end at rest.
:class:`Trajectory` goes through given poses at given times, with given velocities and
accelerations.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from farhand.arm import Arm
from farhand.control.trajectory.kernels import BEFORE, MOVE, STEP, TURNED, displacement
from farhand.errors import BadValue
from farhand.spatial import Array, rotation_from_vector, rotation_vector


@dataclass(frozen=True)
class Move:
    """One minimum-jerk move."""

    start: float  #: when it begins, [s]
    duration: float  #: how long it takes, [s]
    translation: tuple[float, float, float] = (0.0, 0.0, 0.0)  #: world axes, [m]
    rotation: tuple[float, float, float] = (0.0, 0.0, 0.0)  #: axis times angle, world axes, [rad]
    label: str = ""  #: a word for reports, such as ``"+z"``

    @property
    def end(self) -> float:
        """When it ends, [s]."""
        return self.start + self.duration


class HandPath:
    r"""Displacement from a start pose over time, made of moves that begin and end at rest.

    Within a move of duration :math:`T`, with :math:`s = (t - t_0)/T`, the travelled fraction is the
    quintic :math:`10 s^3 - 15 s^4 + 6 s^5`, whose speed and acceleration vanish at both ends
    (minimum jerk). Rotations are about the move's own axis, after the rotations of earlier moves.

    Attributes:
        translation: displacement at the last :meth:`at`, [m].
        rotation: rotation matrix from the start orientation at the last :meth:`at`, world axes.
        twist: rate of both, world axes, [m/s] and [rad/s].
        pose: these three in one array.
        rows: the moves as numbers, see :mod:`farhand.control.trajectory.kernels`.
    """

    def __init__(self, moves: Iterable[Move] = ()) -> None:
        self.moves = tuple(sorted(moves, key=lambda move: move.start))
        for earlier, later in pairwise(self.moves):
            if later.start < earlier.end - 1e-12:
                overlap = f"before {earlier.label!r} ends at {earlier.end:g} s"
                raise BadValue(f"move {later.label!r} starts at {later.start:g} s, {overlap}")
        if any(move.duration <= 0.0 for move in self.moves):
            raise BadValue("every move needs a duration above 0 s")
        self.rows = np.zeros((len(self.moves) + 1, MOVE))
        self.rows[0, TURNED:] = np.eye(3).reshape(9)
        for row, after, move in zip(self.rows, self.rows[1:], self.moves, strict=False):
            row[:STEP] = move.start, move.duration
            row[STEP:BEFORE] = *move.translation, *move.rotation
            after[BEFORE:TURNED] = row[BEFORE:TURNED] + move.translation
            turned = rotation_from_vector(np.array(move.rotation)) @ row[TURNED:].reshape(3, 3)
            after[TURNED:] = turned.reshape(9)
        self.pose = np.zeros(18)
        self.translation, self.twist = self.pose[:3], self.pose[12:]
        self.rotation = self.pose[3:12].reshape(3, 3)
        self.at(0.0)

    @property
    def duration(self) -> float:
        """End of the last move, [s]."""
        return self.moves[-1].end if self.moves else 0.0

    def at(self, t: float) -> None:
        """Evaluate the displacement and its rate at time ``t`` [s] into the attributes."""
        displacement(self.rows, t, self.pose)


class Reference:
    """Where a tool should be and how it should move, in world.

    Attributes:
        position: [m].
        rotation: rotation matrix.
        twist: [m/s] and [rad/s].
        acceleration: [m/s²] and [rad/s²].
    """

    def __init__(self) -> None:
        self.position, self.rotation = np.zeros(3), np.eye(3)
        self.twist, self.acceleration = np.zeros(6), np.zeros(6)

    def stand(self, position: Array, rotation: Array) -> None:
        """Rest at a pose."""
        self.position[:], self.rotation[:] = position, rotation
        self.twist[:] = self.acceleration[:] = 0.0


class Quintic:
    r"""A polynomial of fifth degree from one (x, ẋ, ẍ) to another in time T.

    .. math::
        a_0 = x_1, \quad a_1 = \dot x_1, \quad a_2 = \tfrac12 \ddot x_1, \quad
        a_3 = \frac{20 \Delta + T(\ddot x_2 T - 3 \ddot x_1 T - 8 \dot x_2 - 12 \dot x_1)}{2 T^3}

        a_4 = \frac{-30 \Delta
              + T(-2 \ddot x_2 T + 3 \ddot x_1 T + 14 \dot x_2 + 16 \dot x_1)}{2 T^4}, \quad
        a_5 = \frac{12 \Delta + T(\ddot x_2 T - \ddot x_1 T - 6 \dot x_2 - 6 \dot x_1)}{2 T^5}

    Args:
        start: x₁, ẋ₁ and ẍ₁, each a number or an array.
        end: x₂, ẋ₂ and ẍ₂.
        duration: T, [s].
    """

    def __init__(self, start: ArrayLike, end: ArrayLike, duration: float) -> None:
        (x1, v1, a1), (x2, v2, a2), T = (np.asarray(start), np.asarray(end), duration)
        gap = x2 - x1
        c3 = 20.0 * gap + T * ((a2 - 3.0 * a1) * T - 8.0 * v2 - 12.0 * v1)
        c4 = -30.0 * gap + T * ((3.0 * a1 - 2.0 * a2) * T + 14.0 * v2 + 16.0 * v1)
        c5 = 12.0 * gap + T * ((a2 - a1) * T - 6.0 * v2 - 6.0 * v1)
        scaled = c3 / (2.0 * T**3), c4 / (2.0 * T**4), c5 / (2.0 * T**5)
        self._a = np.array([x1, v1, 0.5 * a1, *scaled])

    def at(self, t: float) -> Array:
        """Rows x, ẋ and ẍ at time ``t`` since the start, [s]."""
        t2, t3 = t * t, t * t * t
        basis = [
            [1.0, t, t2, t3, t * t3, t2 * t3],
            [0.0, 1.0, 2.0 * t, 3.0 * t2, 4.0 * t3, 5.0 * t * t3],
            [0.0, 0.0, 2.0, 6.0 * t, 12.0 * t2, 20.0 * t3],
        ]
        return np.array(basis).dot(self._a)


@dataclass(frozen=True)
class Waypoint:
    """A pose that a trajectory goes through."""

    time: float  #: when, [s]
    position: Array  #: in world, [m]
    rotation: Array  #: rotation matrix in world
    velocity: Array = field(default_factory=lambda: np.zeros(3))  #: there, [m/s]
    acceleration: Array = field(default_factory=lambda: np.zeros(3))  #: there, [m/s²]
    turning: float = 0.0  #: speed about the axes of the turns that end and begin here, [rad/s]
    turning_rate: float = 0.0  #: its rate, [rad/s²]


class Trajectory:
    r"""Quintic segments through way-points, each with its own axis of rotation r.

    .. math:: R_d(t) = R_1 \exp(\hat r\,\alpha(t)), \qquad \omega_d = R_1 r\,\dot\alpha, \qquad
              \dot\omega_d = R_1 r\,\ddot\alpha

    α runs from zero to the angle between the two orientations, the short way. At a way-point where
    the axis changes, ω_d jumps unless the turning speed is zero.

    Args:
        points: in order of time, at least two.
    """

    def __init__(self, points: Iterable[Waypoint]) -> None:
        self.points = tuple(points)
        if len(self.points) < 2:
            raise BadValue(f"a trajectory needs at least 2 way-points, not {len(self.points)}")
        for number, (a, b) in enumerate(pairwise(self.points), start=1):
            if not b.time > a.time:
                after = f"must come after the one at {a.time:g} s"
                raise BadValue(f"way-point {number + 1} at {b.time:g} s {after}")
        self._times = [point.time for point in self.points]
        self._segments = [self._segment(a, b) for a, b in pairwise(self.points)]

    @classmethod
    def through_joints(
        cls, arm: Arm, postures: Sequence[Array], times: Sequence[float]
    ) -> Trajectory:
        """Rest-to-rest through the tool poses of joint configurations [rad]; moves the arm."""
        points = []
        for q, time in zip(postures, times, strict=True):
            arm.update(np.asarray(q, dtype=float), np.zeros(arm.nv))
            points.append(Waypoint(time, arm.position.copy(), arm.rotation.copy()))
        return cls(points)

    @classmethod
    def flowing(cls, points: Sequence[Waypoint]) -> Trajectory:
        """The same way-points without stops: each inner one at its neighbours' mean velocity."""
        inner = [
            Waypoint(p.time, p.position, p.rotation, (c.position - a.position) / (c.time - a.time))
            for a, p, c in zip(points, points[1:], points[2:], strict=False)
        ]
        return cls([points[0], *inner, points[-1]])

    @property
    def duration(self) -> float:
        """Time of the last way-point, [s]."""
        return self._times[-1]

    def at(self, t: float, reference: Reference) -> None:
        """Write pose, twist and acceleration at time ``t`` [s]; outside the points it rests."""
        if not self._times[0] <= t < self._times[-1]:
            point = self.points[0] if t < self._times[0] else self.points[-1]
            reference.stand(point.position, point.rotation)
            return
        index = bisect_right(self._times, t) - 1
        first, (curve, axis, along) = self.points[index], self._segments[index]
        rows = curve.at(t - first.time)
        reference.position[:], reference.twist[:3], reference.acceleration[:3] = rows[:, :3]
        angle, rate, growth = rows[:, 3].tolist()
        np.matmul(first.rotation, rotation_from_vector(axis * angle), out=reference.rotation)
        reference.twist[3:], reference.acceleration[3:] = along * rate, along * growth

    def _segment(self, a: Waypoint, b: Waypoint) -> tuple[Quintic, Array, Array]:
        """Curve of position and angle, axis in the first point's frame, and axis in world."""
        turn = rotation_vector(a.rotation.T @ b.rotation)
        angle = float(np.linalg.norm(turn))
        axis = turn / angle if angle > 1e-12 else np.array([0.0, 0.0, 1.0])
        start = [[*a.position, 0.0], [*a.velocity, a.turning], [*a.acceleration, a.turning_rate]]
        end = [[*b.position, angle], [*b.velocity, b.turning], [*b.acceleration, b.turning_rate]]
        return Quintic(start, end, b.time - a.time), axis, a.rotation @ axis

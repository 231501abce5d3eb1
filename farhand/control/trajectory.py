"""Rest-to-rest paths: minimum-jerk moves one after the other, in translation and in rotation about a fixed axis."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue
from farhand.spatial import rotation_from_vector

Array = np.ndarray


@dataclass(frozen=True)
class Move:
    """One minimum-jerk move.

    Attributes:
        start: when it begins, [s].
        duration: how long it takes, [s].
        translation: by how far it moves, [m], world axes.
        rotation: axis times angle it turns by, [rad], world axes.
        label: a word for reports, such as ``"+z"``.
    """

    start: float
    duration: float
    translation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rotation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    label: str = ""

    @property
    def end(self) -> float:
        """When it ends, [s]."""
        return self.start + self.duration


class Path:
    r"""Displacement from a start pose as a function of time, made of moves that begin and end at rest.

    Within a move of duration :math:`T`, with :math:`s = (t - t_0)/T`, the travelled fraction is the quintic
    :math:`10 s^3 - 15 s^4 + 6 s^5`, whose speed and acceleration vanish at both ends (minimum jerk). Rotations are
    about the move's own axis, after the rotations of all earlier moves.

    Attributes:
        translation: displacement at the last :meth:`at`, [m].
        rotation: rotation matrix from the start orientation at the last :meth:`at`, world axes.
        twist: rate of both, world axes, [m/s] and [rad/s].
        turning: whether the last :meth:`at` changed the rotation.
    """

    def __init__(self, moves: Iterable[Move] = ()) -> None:
        self.moves = tuple(sorted(moves, key=lambda move: move.start))
        for earlier, later in zip(self.moves, self.moves[1:], strict=False):
            if later.start < earlier.end - 1e-12:
                raise BadValue(
                    f"move {later.label!r} starts at {later.start:g} s, "
                    f"before {earlier.label!r} ends at {earlier.end:g} s"
                )
        if any(move.duration <= 0.0 for move in self.moves):
            raise BadValue("every move needs a duration above 0 s")
        self._starts = [move.start for move in self.moves]
        self._steps = [np.array([*move.translation, *move.rotation]) for move in self.moves]
        self._before = [np.zeros(3)]
        self._turned = [np.eye(3)]
        for step in self._steps:
            self._before.append(self._before[-1] + step[:3])
            self._turned.append(rotation_from_vector(step[3:]) @ self._turned[-1])
        self.translation, self.rotation, self.twist = np.zeros(3), np.eye(3), np.zeros(6)
        self.turning = True
        self._turns = [any(move.rotation) for move in self.moves]
        self._resting: int | None = None
        self._oriented: int | None = None

    @property
    def duration(self) -> float:
        """End of the last move, [s]."""
        return self.moves[-1].end if self.moves else 0.0

    def at(self, t: float) -> None:
        """Evaluate the displacement and its rate at time ``t`` [s] into the attributes."""
        index = bisect_right(self._starts, t) - 1
        if index < 0 or t >= self.moves[index].end:
            self._rest(index + 1)
            return
        self._resting = None
        move, step = self.moves[index], self._steps[index]
        s = (t - move.start) / move.duration
        fraction = s * s * s * (10.0 + s * (6.0 * s - 15.0))
        np.multiply(step[:3], fraction, out=self.translation)
        self.translation += self._before[index]
        np.multiply(step, 30.0 * s * s * (1.0 - s) * (1.0 - s) / move.duration, out=self.twist)
        if not self._turns[index]:
            self._face(index)
            return
        self.turning, self._oriented = True, None
        rotation_from_vector(fraction * step[3:]).dot(self._turned[index], self.rotation)

    def _face(self, index: int) -> None:
        """Take the orientation that the first ``index`` moves lead to, once."""
        self.turning = index != self._oriented
        if self.turning:
            self._oriented = index
            self.rotation[:] = self._turned[index]

    def _rest(self, index: int) -> None:
        """Stand where the first ``index`` moves lead to."""
        self._face(index)
        if index != self._resting:
            self._resting = index
            self.translation[:], self.twist[:] = self._before[index], 0.0

"""Inverse kinematics of the tool's position alone, for arms that cannot choose its orientation."""

from __future__ import annotations

import math

import numpy as np

from farhand.errors import BadValue, OutOfRange
from farhand.mapping.ik.chain import Chain, Pose, Solution, split
from farhand.robots import Robot
from farhand.spatial import Array


class PositionSolver:
    """Joints for a position of the tool, inside the joint limits; its orientation does not count.

    The steps are those of :class:`~farhand.mapping.ik.Solver` with no weight on the rotation: from
    the start first, then from evenly spread places. A redundant arm moves as little as it can.

    Args:
        tolerance: when a position counts as met, [m].

    Raises:
        FarhandError: the robot is no single chain, or the tolerance makes no sense.
    """

    def __init__(self, robot: Robot, tolerance: float = 1e-6) -> None:
        from farhand.mapping.ik import search

        if not tolerance > 0.0:
            raise OutOfRange("position tolerance", tolerance, 0.0, np.inf)
        self.chain, self._search = Chain.of(robot), search
        chain, wide = self.chain, np.full(len(self.chain.home), np.inf)
        self._limited = (chain.steps, chain.hinge, chain.lower, chain.upper)
        self._free = (chain.steps, chain.hinge, -wide, wide)
        self._tolerance = (float(tolerance), math.inf)

    def solve(self, pose: Array | Pose, q_start: Array | None = None) -> Solution:
        """Joints for the position of one pose; its rotation is ignored, ``rotation_error`` is NaN.

        Args:
            pose: of the tool in the base, 4 × 4 or a :class:`~farhand.mapping.ik.chain.Pose`, [m].
            q_start: where the joints are now, [rad or m]; home without it.

        Raises:
            BadValue: a pose or a start of the wrong shape.
        """
        target = np.array(split(pose).position, dtype=float)
        start = np.array(self.chain.home if q_start is None else q_start, dtype=float)
        if start.shape != self.chain.home.shape:
            raise BadValue(f"q_start must have {self.chain.n} values, not {start.size}")
        valid = bool(np.isfinite(target).all() and np.isfinite(start).all())
        begin = np.clip(np.nan_to_num(start), self.chain.lower, self.chain.upper)
        if not valid:
            return Solution(begin, "invalid", math.inf, math.nan, 0)
        best, least, steps = self._try(self._limited, target, begin, self._search.RESTARTS)
        if least <= self._tolerance[0]:
            return Solution(best, "solved", least, math.nan, steps)
        _, outside, _ = self._try(self._free, target, begin, self._search.RESTARTS // 4)
        status = "limited" if outside <= self._tolerance[0] else "unreachable"
        return Solution(best, status, least, math.nan, steps)

    def _try(
        self, chain: tuple[Array, ...], target: Array, begin: Array, places: int
    ) -> tuple[Array, float, int]:
        """The closest joints from ``begin`` and other places, their distance [m], most steps."""
        search, best, least, most = self._search, begin, math.inf, 0
        stop = (search.RESTART_STEPS, 1e-3, 5, self._tolerance, search.ANY_ERROR)
        for index in range(places):
            q = begin.copy()
            if index:
                search.halton_posture(index, self.chain.lower, self.chain.upper, begin, q)
            error, _, steps = search.descend(chain, target, np.eye(3), q, 0.0, *stop)
            most = max(most, steps)
            if error < least:
                best, least = q, error
            if least <= self._tolerance[0]:
                break
        return best, least, most

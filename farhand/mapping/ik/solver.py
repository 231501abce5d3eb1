"""The recommended inverse kinematics: a warm start, a closed form if there is one, and a status."""

from __future__ import annotations

import numpy as np

from farhand.compiled import prepare
from farhand.errors import BadValue, OutOfRange, UnknownName
from farhand.mapping.ik.chain import Chain, Pose, Solution, split
from farhand.robots import Robot
from farhand.spatial import Array

ELBOWS = {"above": 1.0, "below": -1.0, "any": 0.0}

# code of the status, position error [m], rotation error [rad], steps
_Result = tuple[int, float, float, int]


class Solver:
    r"""Joints for a pose of the tool, inside the joint limits.

    From a start, a few Levenberg–Marquardt steps inside the limits come first: they follow the tool
    with the smallest joint motion and pass through singularities. If they fail, or need a large
    motion, the solver takes the branch of the closed form that is nearest the start (without a
    closed form: it restarts from evenly spread places). If no branch fits, you get the closest pose
    inside the limits and a status that says so; closest in
    :math:`|p_d - p|^2 + (0.01\,\mathrm{m}\cdot\theta)^2`, so position counts first.

    The first solve of a process takes half a second to load the compiled code. The first ever takes
    about twenty to compile it.

    Args:
        robot: a single chain of hinges and slides.
        tolerance_position: when a pose counts as met, [m].
        tolerance_rotation: when a pose counts as met, [rad].
        step_max: largest motion of any joint away from a given start; a pose that needs more is
            answered with ``jump`` and the start. Infinite by default, [rad or m].
        elbow: ``"above"``, ``"below"`` or ``"any"``: on which side of the line from shoulder to
            wrist the elbow should be, wherever a branch inside the limits allows it.

    Raises:
        FarhandError: the robot is no single chain, or an argument makes no sense.
    """

    def __init__(
        self,
        robot: Robot,
        tolerance_position: float = 1e-6,
        tolerance_rotation: float = 1e-6,
        step_max: float = np.inf,
        elbow: str = "any",
    ) -> None:
        from farhand.mapping.ik import search
        from farhand.mapping.ik.closed_form import FAMILIES, family_of

        bounds = {
            "position tolerance": float(tolerance_position),
            "rotation tolerance": float(tolerance_rotation),
            "step_max": float(step_max),
        }
        for name, value in bounds.items():
            if not value > 0.0:
                raise OutOfRange(name, value, 0.0, np.inf)
        if elbow not in ELBOWS:
            raise UnknownName("elbow", elbow, ELBOWS)
        self.chain = Chain.of(robot)
        chain, self._shape = self.chain, self.chain.home.shape
        family, points = family_of(chain)
        self.family = FAMILIES[family]
        if elbow != "any" and self.family == "none":
            raise BadValue(f"{robot.name} has no closed form and so no elbow; use elbow 'any'")
        limited = (chain.steps, chain.hinge, chain.lower, chain.upper)
        self._arm = (limited, family, chain.axes, points, chain.tool_position, chain.tool_rotation)
        self._settings = (*bounds.values(), ELBOWS[elbow])
        self._stages, self._codes = search, search.CODES
        self._compile()

    def _compile(self) -> None:
        """Compile or load every stage now: the first use of one during a run would stall a tick."""
        stages, arm, settings, q = self._stages, self._arm, self._settings, self.chain.home
        p, R = np.zeros(3), np.eye(3)
        calls = {
            stages.follow: (arm, settings, p, R, q, True, q),
            stages.restart: (arm, settings, p, R, q, q),
            stages.by_branches: (arm, settings, p, R, q, True, q),
            stages.between: (arm, p, R, q, 0.0, q),
            stages.polish: (arm, settings, p, R, q),
            stages.closest: (arm, settings, p, R, q, True, q),
            stages.hold: (arm, p, R, q, settings[2], q),
            stages.branch_of: (arm, q),
            stages.elbow_height: (arm, q),
        }
        prepare(calls)

    def solve(self, pose: Array | Pose, q_start: Array | None = None) -> Solution:
        """Joints for one pose.

        Args:
            pose: of the tool in the base, 4 × 4 or a :class:`~farhand.mapping.ik.chain.Pose`, [m].
            q_start: where the joints are now, [rad or m]; without it the answer is near home if
                possible.

        Returns:
            Finite joints inside the limits; they meet the pose only if the status is ``solved``.

        Raises:
            BadValue: a pose or a start of the wrong shape.
        """
        target, warm = split(pose), q_start is not None
        # Always writable copies in C order: numba would compile again for another kind of array.
        try:
            p = np.array(target.position, dtype=float)
            R = np.array(target.rotation, dtype=float, order="C")
            start = np.array(q_start, dtype=float) if warm else self.chain.home
        except (TypeError, ValueError):
            raise BadValue("the pose and q_start must be numbers") from None
        if p.shape != (3,) or R.shape != (3, 3):
            shapes = f"not {p.shape} and {R.shape}"
            raise BadValue(f"a Pose has shapes (3,) and (3, 3), {shapes}")
        self._check_shape("q_start", start)
        q, follow = np.empty(self._shape), self._stages.follow
        code, position, rotation, steps = follow(self._arm, self._settings, p, R, start, warm, q)
        if code < 0:
            code, position, rotation, more = self._search(p, R, q, warm)
            steps = max(steps, more)
        return Solution(q, self._codes[code], position, rotation, steps)

    def _search(self, p: Array, R: Array, q: Array, warm: bool) -> _Result:
        """Search beyond the neighbourhood of the start, which is in ``q``, as is the answer."""
        stages, arm, settings = self._stages, self._arm, self._settings
        begin = q.copy()
        result: _Result
        if self.family == "none":
            result = stages.restart(arm, settings, p, R, begin, q)
        else:
            result = self._by_branches(p, R, begin, warm, q)
        if warm:
            held, position, rotation = stages.hold(arm, p, R, begin, settings[2], q)
            if held:
                return stages.JUMP, position, rotation, result[3]
        return result

    def _by_branches(self, p: Array, R: Array, begin: Array, warm: bool, q: Array) -> _Result:
        stages, arm, settings = self._stages, self._arm, self._settings
        code, elbow_angle = stages.by_branches(arm, settings, p, R, begin, warm, q)
        if code == stages.LIMITED and self.family == "elbow":
            code = stages.SOLVED if stages.between(arm, p, R, begin, elbow_angle, q) else code
        # solved to about 1e-9; near a singularity a step or two may be missing
        if code == stages.SOLVED:
            position, rotation, steps = stages.polish(arm, settings, p, R, q)
            if position <= settings[0] and rotation <= settings[1]:
                return code, position, rotation, steps
        return stages.closest(arm, settings, p, R, begin, code != stages.UNREACHABLE, q)

    def branch(self, q: Array) -> int:
        """Branch of the closed form: bit 0 shoulder, bit 1 elbow, bit 2 wrist; −1 without one.

        A change from one pose to the next is a flip: the arm went through a singularity.
        """
        return int(self._stages.branch_of(self._arm, self._joints(q)))

    def elbow_height(self, q: Array) -> float:
        """Height of the elbow over the line from shoulder to wrist, [m]; 0 without closed form."""
        return float(self._stages.elbow_height(self._arm, self._joints(q)))

    def _joints(self, q: Array) -> Array:
        joints = np.array(q, dtype=float)
        self._check_shape("q", joints)
        return joints

    def _check_shape(self, name: str, q: Array) -> None:
        # compiled code would read beyond the end of a shorter array
        if q.shape != self._shape:
            raise BadValue(
                f"{name} must have {self.chain.n} values, not an array of shape {q.shape}"
            )

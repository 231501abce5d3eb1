"""The recommended inverse kinematics: a warm start, a closed form where the arm has one, and an honest status."""

from __future__ import annotations

import numpy as np

from farhand.errors import BadValue, OutOfRange, UnknownName
from farhand.mapping.ik.chain import Array, Chain, Pose, split
from farhand.mapping.ik.solution import Solution
from farhand.robots import Robot

_VECTOR, _MATRIX = (3,), (3, 3)

ELBOWS = {"above": 1.0, "below": -1.0, "any": 0.0}


class Solver:
    r"""Joints for a pose of the tool, inside the joint limits.

    From a start, a few Levenberg–Marquardt steps inside the limits come first: they follow the tool
    with the smallest joint motion and pass through singularities. If they do not get there, or only
    by a large motion, every branch of the closed form is looked at and the one nearest the start is
    taken (without a closed form: restarts from evenly spread places). If no branch fits, the
    closest pose inside the limits comes back with a status that says so; closest in :math:`|p_d -
    p|^2 + (0.01\,\mathrm{m}\cdot\theta)^2`, so position counts first.

    The first solve of a process takes half a second to load the compiled code; the first ever about
    twenty to compile.

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

        for what, value in (
            ("position", tolerance_position),
            ("rotation", tolerance_rotation),
            ("step", step_max),
        ):
            if not value > 0.0:
                raise OutOfRange(
                    f"{what} tolerance" if what != "step" else "step_max", value, 0.0, np.inf
                )
        if elbow not in ELBOWS:
            raise UnknownName("elbow", elbow, ELBOWS)
        self.chain = Chain.of(robot)
        chain, self._shape = self.chain, self.chain.home.shape
        family, points = family_of(chain)
        self.family = FAMILIES[family]
        if elbow != "any" and self.family == "none":
            raise BadValue(
                f"{robot.name} has no closed form, so its elbow is not known; use elbow 'any'"
            )
        limited = (chain.steps, chain.hinge, chain.lower, chain.upper)
        self._arm = (limited, family, chain.axes, points, chain.tool_position, chain.tool_rotation)
        self._settings = (
            float(tolerance_position),
            float(tolerance_rotation),
            float(step_max),
            ELBOWS[elbow],
        )
        self._stages, self._codes = search, search.CODES
        self._compile()

    def _compile(self) -> None:
        """Compile every stage now, or load it: in the midst of a run the first use of one would stall a tick."""
        from farhand.mapping.ik.compiled import prepare

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
            q_start: where the joints are now, [rad or m]; without it the answer is near home but
                need not be.

        Returns:
            Always finite joints inside the limits; they meet the pose only if the status is
                ``solved``.

        Raises:
            BadValue: a pose or a start of the wrong shape.
        """
        given, warm = split(pose), q_start is not None
        # Copies are of one kind, writable and in C order, whatever was given: another kind would be
        # compiled for anew.
        try:
            p, R = (
                np.array(given.position, dtype=float),
                np.array(given.rotation, dtype=float, order="C"),
            )
            start = np.array(q_start, dtype=float) if warm else self.chain.home
        except (TypeError, ValueError):
            raise BadValue("a pose and q_start are made of numbers; one of them is not") from None
        # compiled code would read beyond the end of a shorter one
        if p.shape != _VECTOR or R.shape != _MATRIX:
            raise BadValue(
                f"a Pose has a position of shape (3,) and a rotation of (3, 3), not {p.shape} and {R.shape}"
            )
        if start.shape != self._shape:
            raise BadValue(
                f"q_start must have {self.chain.n} values, not an array of shape {start.shape}"
            )
        q = np.empty(self._shape)
        code, position, rotation, steps = self._stages.follow(
            self._arm, self._settings, p, R, start, warm, q
        )
        if code < 0:
            code, position, rotation, more = self._elsewhere(Pose(p, R), q, warm)
            steps = max(steps, more)
        return Solution(q, self._codes[code], position, rotation, steps)

    def _elsewhere(self, target: Pose, q: Array, warm: bool) -> tuple[int, float, float, int]:
        """Go on where the neighbourhood of the start, in ``q``, holds no answer; the answer goes into ``q``."""
        stages, arm, settings, (p, R) = self._stages, self._arm, self._settings, target
        begin = q.copy()
        if self.family == "none":
            found = stages.restart(arm, settings, p, R, begin, q)
        else:
            found = self._by_branches(p, R, begin, warm, q)
        if warm:
            held, position, rotation = stages.hold(arm, p, R, begin, settings[2], q)
            if held:
                return stages.JUMP, position, rotation, found[3]
        return found

    def _by_branches(
        self, p: Array, R: Array, begin: Array, warm: bool, q: Array
    ) -> tuple[int, float, float, int]:
        stages, arm, settings = self._stages, self._arm, self._settings
        code, elbow_angle = stages.by_branches(arm, settings, p, R, begin, warm, q)
        if code == stages.LIMITED and self.family == "elbow":
            code = stages.SOLVED if stages.between(arm, p, R, begin, elbow_angle, q) else code
        if code == stages.SOLVED:  # to about 1e-9; near a singularity a step or two may be missing
            position, rotation, steps = stages.polish(arm, settings, p, R, q)
            if position <= settings[0] and rotation <= settings[1]:
                return code, position, rotation, steps
        return stages.closest(arm, settings, p, R, begin, code != stages.UNREACHABLE, q)

    def branch(self, q: Array) -> int:
        """Which branch of the closed form the joints are on: bit 0 shoulder, bit 1 elbow, bit 2 wrist; −1 without one.

        A change from one pose to the next is a flip: the arm went through a singularity.
        """
        return int(self._stages.branch_of(self._arm, self._joints(q)))

    def elbow_height(self, q: Array) -> float:
        """How far the elbow is above the line from shoulder to wrist, [m]; 0 for an arm without a closed form."""
        return float(self._stages.elbow_height(self._arm, self._joints(q)))

    def _joints(self, q: Array) -> Array:
        """A copy of the joints for compiled code, which would read beyond the end of a shorter one."""
        joints = np.array(q, dtype=float)
        if joints.shape != self._shape:
            raise BadValue(
                f"q must have {self.chain.n} values, not an array of shape {joints.shape}"
            )
        return joints

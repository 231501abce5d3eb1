"""Feasibility: refuse a trajectory, with the reason, before an arm that cannot follow it moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.arm import Arm
from farhand.control.trajectory.paths import Reference, Trajectory
from farhand.errors import BadValue, OutOfRange
from farhand.mapping.ik import Pose, Solution, Solver
from farhand.mapping.ik.closed_form import FAMILIES, ClosedForm
from farhand.robots import Placement, Robot
from farhand.spatial import Array, rotation_from_vector

MAX_JUMP_RAD = 0.5
"""Largest step of a joint between two samples, [rad]; more is a change of branch."""


@dataclass(frozen=True)
class FeasibilityReport:
    """A trajectory that an arm can follow."""

    time: Array  #: n samples, [s]
    q: Array  #: joints along it, n × nv, [rad]
    margin: Array  #: smallest singular value of the tool's Jacobian at each, [-]
    speed: float  #: largest share of a joint's speed limit, [-]
    load: float  #: largest share of a joint's torque limit that weight and springs take, [-]
    notes: tuple[str, ...]  #: what to know all the same, in words


class Feasibility:
    """Checks trajectories of one arm.

    Args:
        robot: with limits, payload and springs; its tool as mounted.
        gravity: downward acceleration, [m/s²].
        margin: smallest singular value of the Jacobian that is accepted, [-].
        step: time between samples, [s].
    """

    def __init__(
        self,
        robot: Robot,
        placement: Placement | None = None,
        gravity: float = 9.804,
        margin: float = 0.02,
        step: float = 0.02,
    ) -> None:
        place = placement or Placement()
        self.robot, self.margin, self.step = robot, margin, step
        self._arm = Arm.of(robot, place, gravity)
        self._solver = Solver(robot)
        self._form = ClosedForm(self._solver.chain)
        self._base, self._R = place.pose()

    def check_load(self, mass: float, tool: float = 0.0, q: Array | None = None) -> None:
        """Refuse a load beyond the robot's payload.

        Args:
            mass: of the object, [kg].
            tool: of what is mounted on the flange already, [kg].
            q: where it is taken up, [rad]; the refusal then names the place and the joint with the
                highest load there.
        """
        if not 0.0 <= mass + tool <= self.robot.payload:
            name = " ".join(dict.fromkeys([self.robot.name, self.robot.variant])).strip()
            where = "" if q is None else self._describe_load(q)
            what = f"load of {name} at the flange ({mass:g} kg object and {tool:g} kg tool){where}"
            raise OutOfRange(what, f"{mass + tool:g}", 0.0, self.robot.payload, "kg")

    def check(self, trajectory: Trajectory, start: Array | None = None) -> FeasibilityReport:
        """Compute the joints along a trajectory and check them.

        Args:
            trajectory: of the tool in world.
            start: joints at its beginning, [rad]; those nearest to home if not given.

        Raises:
            BadValue: a way-point or a place between two cannot be reached, is singular, or is
                passed too fast or with too much weight; the joint, the limit and the place are
                named.
        """
        for number, point in enumerate(trajectory.points, start=1):
            where = f"way-point {number} (t = {point.time:g} s, {_at(point.position)})"
            self._solve(point.position, point.rotation, None, where)
        first, last = trajectory.points[0].time, trajectory.duration
        times = np.arange(first, last + 0.5 * self.step, self.step)
        q, rows, margins, load = start, [], [], 0.0
        reference = Reference()
        for t in times.tolist():
            trajectory.at(t, reference)
            where = self._describe_place(trajectory, t)
            q = self._solve(reference.position, reference.rotation, q, where)
            margins.append(self._check_singular(q, where))
            load = max(load, self._check_weight(q, where))
            rows.append(q)
        joints = np.array(rows)
        speed = self._check_speed(joints, times, trajectory)
        notes = self._spring_notes(times, joints)
        return FeasibilityReport(times, joints, np.array(margins), speed, load, notes)

    def _solve(self, position: Array, rotation: Array, start: Array | None, where: str) -> Array:
        pose = Pose(self._R.T @ (position - self._base), self._R.T @ rotation)
        solution = self._solver.solve(pose, start)
        if solution.status != "solved":
            raise BadValue(f"{where}: {self._reason(pose, start)}")
        if start is not None and np.abs(solution.q - start).max() > MAX_JUMP_RAD:
            joint = int(np.argmax(np.abs(solution.q - start)))
            jump = f"joint {joint + 1} would jump by {solution.q[joint] - start[joint]:.2f} rad"
            raise BadValue(f"{where}: {jump} to stay inside its limits ({self._limits(joint)})")
        return solution.q

    def _reason(self, pose: Pose, start: Array | None) -> str:
        """Why a pose cannot be met: the joint that leaves its range least, or the distance."""
        lower, upper = self.robot.limits.lower, self.robot.limits.upper
        branches = self._form.solve(*pose)
        if not len(branches):
            return self._describe_reach(pose, self._solver.solve(pose, start))
        if start is not None:
            away = np.abs(np.remainder(branches - start + np.pi, 2.0 * np.pi) - np.pi).max(axis=1)
            branches = branches[[int(np.argmin(away))]]
        over = np.maximum(lower - branches, branches - upper)
        row = int(np.argmin(over.max(axis=1)))
        joint = int(np.argmax(over[row]))
        needed = f"joint {joint + 1} would have to be at {branches[row, joint]:.3f} rad"
        return f"{needed} ({self._limits(joint)})"

    def _describe_reach(self, pose: Pose, near: Solution) -> str:
        """How far a place is beyond reach; for an arm with a wrist, at which joint."""
        if FAMILIES[self._form.family] != "wrist":
            return f"out of reach by {1e3 * near.position_error:.0f} mm"
        chain, points = self._form.chain, self._form.points
        flange = pose.rotation @ chain.tool_rotation.T
        wrist = pose.position - flange @ (chain.tool_position - points[-1])
        turn = rotation_from_vector(near.q[0] * chain.axes[0])
        shoulder = points[0] + turn @ (points[1] - points[0])
        upper, fore = np.linalg.norm(points[2] - points[1]), np.linalg.norm(points[3] - points[2])
        away = float(np.linalg.norm(wrist - shoulder))
        most, least = float(upper + fore), float(abs(upper - fore))
        limit = f"at least {least:.3f} m, joint 3 folded"
        if away > most:
            limit = f"at most {most:.3f} m, joint 3 straight"
        short = 1e3 * max(away - most, least - away)
        distance = f"the wrist would be {away:.3f} m from joint 2"
        return f"out of reach by {short:.0f} mm: {distance} (limit {limit})"

    def _limits(self, joint: int) -> str:
        limits = self.robot.limits
        return f"limits {limits.lower[joint]:.3f} to {limits.upper[joint]:.3f} rad"

    def _check_singular(self, q: Array, where: str) -> float:
        self._arm.update(q, np.zeros(len(q)))
        _, sigma, Vt = np.linalg.svd(self._arm.J)
        if sigma[-1] < self.margin:
            joint = int(np.argmax(np.abs(Vt[-1])))
            cause = f"joint {joint + 1} at {q[joint]:.3f} rad loses its effect on the tool"
            value = f"smallest singular value {sigma[-1]:.4f}, limit {self.margin:g}"
            raise BadValue(f"{where}: singular: {cause} ({value})")
        return float(sigma[-1])

    def _most_loaded(self) -> tuple[int, float, float]:
        """The joint that weight loads most at the arm's state, its torque and limit, [N·m]."""
        limit = self.robot.limits.torque
        joint = int(np.argmax(np.abs(self._arm.gravity) / limit))
        return joint, float(self._arm.gravity[joint]), float(limit[joint])

    def _check_weight(self, q: Array, where: str) -> float:
        """Share of the torque limits that standing still takes; the arm is at ``q``."""
        joint, torque, limit = self._most_loaded()
        if abs(torque) / limit > 1.0:
            needed = f"joint {joint + 1} would need {torque:.0f} N·m to stand still"
            raise BadValue(f"{where}: {needed} (limit {limit:g} N·m)")
        return abs(torque) / limit

    def _describe_load(self, q: Array) -> str:
        self._arm.update(q, np.zeros(len(q)))
        joint, torque, limit = self._most_loaded()
        needed = f"joint {joint + 1} would need {torque:.0f} N·m (limit {limit:g} N·m)"
        return f" {_at(self._arm.position)}, where {needed},"

    def _check_speed(self, joints: Array, times: Array, trajectory: Trajectory) -> float:
        share = np.abs(np.diff(joints, axis=0)) / self.step / self.robot.limits.velocity
        row, joint = np.unravel_index(int(np.argmax(share)), share.shape)
        if share[row, joint] > 1.0:
            limit = self.robot.limits.velocity[joint]
            where = self._describe_place(trajectory, float(times[row]))
            speed = f"{share[row, joint] * limit:.2f} rad/s (limit {limit:.2f} rad/s)"
            raise BadValue(f"{where}: joint {joint + 1} would have to turn at {speed}")
        return float(share[row, joint])

    def _spring_notes(self, times: Array, joints: Array) -> tuple[str, ...]:
        notes = []
        for joint, spring in self.robot.springs.items():
            known = np.array([spring.known(float(angle)) for angle in joints[:, joint]])
            if not known.all():
                t = times[int(np.argmin(known))]
                leaves = f"joint {joint + 1} leaves {spring.lower:.2f} to {spring.upper:.2f} rad"
                notes.append(f"{leaves} at t = {t:.2f} s, where its spring is not known")
        return tuple(notes)

    def _describe_place(self, trajectory: Trajectory, t: float) -> str:
        reference = Reference()
        trajectory.at(t, reference)
        passed = sum(point.time <= t + 1e-9 for point in trajectory.points)
        last = len(trajectory.points)
        between = f"between way-points {passed} and {passed + 1}"
        place = between if passed < last else f"at way-point {last}"
        return f"{place} (t = {t:.2f} s, {_at(reference.position)})"


def _at(position: Array) -> str:
    return "at ({:.3f}, {:.3f}, {:.3f}) m".format(*position)

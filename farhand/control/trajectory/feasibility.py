"""Feasibility: a trajectory is refused before the arm moves if the arm cannot follow it, and why is said."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.arm import Arm
from farhand.control.trajectory.paths import Reference, Trajectory
from farhand.errors import BadValue, OutOfRange
from farhand.mapping.ik import Pose, Solution, Solver
from farhand.mapping.ik.closed_form import FAMILIES, ClosedForm
from farhand.robots import Placement, Robot
from farhand.spatial import rotation_from_quaternion, rotation_from_vector

Array = np.ndarray


@dataclass(frozen=True)
class Feasible:
    """A trajectory that an arm can follow.

    Attributes:
        time: n samples, [s].
        q: joints along it, n × nv, [rad].
        margin: smallest singular value of the tool's Jacobian at each, [-].
        speed: largest share of a joint's speed limit, [-].
        load: largest share of a joint's torque limit that weight and springs take, [-].
        notes: what to know all the same, in plain words.
    """

    time: Array
    q: Array
    margin: Array
    speed: float
    load: float
    notes: tuple[str, ...]


class Feasibility:
    """Checks trajectories of one arm.

    Args:
        robot: with limits, payload and springs; its tool as mounted.
        placement: where its base stands.
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
        self._base, self._R = (
            np.array(place.position),
            rotation_from_quaternion(np.array(place.quaternion)),
        )

    def check_load(self, mass: float, tool: float = 0.0, q: Array | None = None) -> None:
        """Refuse a load beyond the robot's payload.

        Args:
            mass: of the object, [kg].
            tool: of what is mounted on the flange already, [kg].
            q: where it is taken up, [rad]; the refusal then names the place and the joint that
                suffers most there.
        """
        if not 0.0 <= mass + tool <= self.robot.payload:
            name = " ".join(dict.fromkeys([self.robot.name, self.robot.variant])).strip()
            where = "" if q is None else self._strained(q)
            what = f"load of {name} at the flange ({mass:g} kg object and {tool:g} kg tool){where}"
            raise OutOfRange(what, f"{mass + tool:g}", 0.0, self.robot.payload, "kg")

    def _strained(self, q: Array) -> str:
        """Where the tool is, and the joint that weight strains most there."""
        self._arm.update(q, np.zeros(len(q)))
        limit = self.robot.limits.torque
        joint = int(np.argmax(np.abs(self._arm.gravity) / limit))
        needs = f"joint {joint + 1} would need {self._arm.gravity[joint]:.0f} N·m (limit {limit[joint]:g} N·m)"
        return f" {_at(self._arm.position)}, where {needs},"

    def check(self, trajectory: Trajectory, start: Array | None = None) -> Feasible:
        """Follow a trajectory in thought.

        Args:
            trajectory: of the tool in world.
            start: joints at its beginning, [rad]; the way-point's nearest to home if not given.

        Raises:
            BadValue: a way-point or a place between two cannot be reached, is singular, or is
                passed too fast or with too much weight; the joint, the limit and the place are
                named.
        """
        self._check_points(trajectory)
        times = np.arange(
            trajectory.points[0].time, trajectory.duration + 0.5 * self.step, self.step
        )
        q, rows, margins, load, notes = start, [], [], 0.0, []
        reference = Reference()
        for t in times.tolist():
            trajectory.at(t, reference)
            where = self._place(trajectory, t)
            q = self._solve(reference.position, reference.rotation, q, where)
            margins.append(self._singular(q, where))
            load = max(load, self._weight(q, where))
            rows.append(q)
        joints = np.array(rows)
        speed = self._speed(joints, times, trajectory)
        for joint, spring in self.robot.springs.items():
            outside = [
                t
                for t, a in zip(times, joints[:, joint], strict=True)
                if not spring.known(float(a))
            ]
            if outside:
                notes.append(
                    f"joint {joint + 1} leaves {spring.lower:.2f} to {spring.upper:.2f} rad at t = {outside[0]:.2f} s, "
                    "where its spring is not known"
                )
        return Feasible(times, joints, np.array(margins), speed, load, tuple(notes))

    def _check_points(self, trajectory: Trajectory) -> None:
        for number, point in enumerate(trajectory.points, start=1):
            where = f"way-point {number} (t = {point.time:g} s, {_at(point.position)})"
            self._solve(point.position, point.rotation, None, where)

    def _solve(self, position: Array, rotation: Array, start: Array | None, where: str) -> Array:
        pose = Pose(self._R.T @ (position - self._base), self._R.T @ rotation)
        found = self._solver.solve(pose, start)
        if found.status == "solved":
            if start is not None and np.abs(found.q - start).max() > 0.5:
                joint = int(np.argmax(np.abs(found.q - start)))
                limits = self._limits(joint)
                raise BadValue(
                    f"{where}: joint {joint + 1} would have to jump by {found.q[joint] - start[joint]:.2f} rad to go "
                    f"on inside its limits ({limits})"
                )
            return found.q
        raise BadValue(f"{where}: {self._reason(pose, start)}")

    def _reason(self, pose: Pose, start: Array | None) -> str:
        """Why a pose cannot be met: the joint that would leave its range least, or the distance that is missing."""
        lower, upper = self.robot.limits.lower, self.robot.limits.upper
        branches = self._form.solve(*pose)
        if not len(branches):
            return self._stretched(pose, self._solver.solve(pose, start))
        if start is not None:
            away = np.abs(np.remainder(branches - start + np.pi, 2.0 * np.pi) - np.pi).max(axis=1)
            branches = branches[[int(np.argmin(away))]]
        over = np.maximum(lower - branches, branches - upper)
        row = int(np.argmin(over.max(axis=1)))
        joint = int(np.argmax(over[row]))
        return f"joint {joint + 1} would have to be at {branches[row, joint]:.3f} rad ({self._limits(joint)})"

    def _stretched(self, pose: Pose, near: Solution) -> str:
        """How far a place is beyond reach; of an arm with a wrist, what joint 3 has to do with it."""
        if FAMILIES[self._form.family] != "wrist":
            return f"out of reach by {1e3 * near.position_error:.0f} mm"
        chain, points = self._form.chain, self._form.points
        wrist = pose.position - pose.rotation @ chain.tool_rotation.T @ (
            chain.tool_position - points[-1]
        )
        shoulder = points[0] + rotation_from_vector(near.q[0] * chain.axes[0]) @ (
            points[1] - points[0]
        )
        upper, fore = np.linalg.norm(points[2] - points[1]), np.linalg.norm(points[3] - points[2])
        away, most, least = (
            float(np.linalg.norm(wrist - shoulder)),
            float(upper + fore),
            float(abs(upper - fore)),
        )
        limit = (
            f"at most {most:.3f} m, joint 3 straight"
            if away > most
            else f"at least {least:.3f} m, joint 3 folded"
        )
        short = 1e3 * max(away - most, least - away)
        return f"out of reach by {short:.0f} mm: the wrist would be {away:.3f} m from joint 2 (limit {limit})"

    def _limits(self, joint: int) -> str:
        limits = self.robot.limits
        return f"limits {limits.lower[joint]:.3f} to {limits.upper[joint]:.3f} rad"

    def _singular(self, q: Array, where: str) -> float:
        self._arm.update(q, np.zeros(len(q)))
        U, sigma, Vt = np.linalg.svd(self._arm.J)
        if sigma[-1] < self.margin:
            joint = int(np.argmax(np.abs(Vt[-1])))
            raise BadValue(
                f"{where}: singular: joint {joint + 1} at {q[joint]:.3f} rad loses its effect on the tool "
                f"(smallest singular value {sigma[-1]:.4f}, limit {self.margin:g})"
            )
        return float(sigma[-1])

    def _weight(self, q: Array, where: str) -> float:
        """Share of the torque limits that standing still takes; the arm is at ``q``."""
        limit = self.robot.limits.torque
        share = np.abs(self._arm.gravity) / limit
        joint = int(np.argmax(share))
        if share[joint] > 1.0:
            torque = self._arm.gravity[joint]
            raise BadValue(
                f"{where}: joint {joint + 1} would need {torque:.0f} N·m to stand still (limit {limit[joint]:g} N·m)"
            )
        return float(share[joint])

    def _speed(self, joints: Array, times: Array, trajectory: Trajectory) -> float:
        share = np.abs(np.diff(joints, axis=0)) / self.step / self.robot.limits.velocity
        row, joint = np.unravel_index(int(np.argmax(share)), share.shape)
        if share[row, joint] > 1.0:
            limit = self.robot.limits.velocity[joint]
            raise BadValue(
                f"{self._place(trajectory, float(times[row]))}: joint {joint + 1} would have to turn at "
                f"{share[row, joint] * limit:.2f} rad/s (limit {limit:.2f} rad/s)"
            )
        return float(share[row, joint])

    def _place(self, trajectory: Trajectory, t: float) -> str:
        reference = Reference()
        trajectory.at(t, reference)
        later = [
            number
            for number, point in enumerate(trajectory.points, start=1)
            if point.time > t + 1e-9
        ]
        last = len(trajectory.points)
        between = (
            f"between way-points {later[0] - 1} and {later[0]}" if later else f"at way-point {last}"
        )
        return f"{between} (t = {t:.2f} s, {_at(reference.position)})"


def _at(position: Array) -> str:
    return "at ({:.3f}, {:.3f}, {:.3f}) m".format(*position)

"""Stepping: whole-body postures for a full step, feet where they belong and the weight over the one that stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin
from scipy.optimize import lsq_linear

from farhand.robots import Robot, load_robot

Array = np.ndarray

HALF_HIPS = 0.045  # [m], half the distance of the hips
TIP = 0.090  # [m], from the ankle to the tip of the foot
LEGS = (
    "hip_flexion",
    "hip_abduction",
    "hip_rotation",
    "knee",
    "ankle_flexion",
    "ankle_inversion",
    "toe",
)
PER_STANCE = 12  # postures worked out between two stances
ITERATIONS = 15
AIR, TOES, FLAT = 0, 1, 2
"""How a foot touches the ground."""

PITCH = {AIR: 0.02, TOES: 1.0, FLAT: 1.0}
"""Weight of a foot's pitch."""

TOE = {AIR: 0.3, TOES: 5e-3, FLAT: 0.3}
"""Weight with which its toes stay in line with it."""


@dataclass(frozen=True)
class FootStance:
    """Where the feet are and where the weight is, at the end of a stretch of time.

    Attributes:
        seconds: how long it takes to get here, [s].
        left: x and z of the left sole under its ankle, [m].
        right: the same of the right.
        cog: x and y of the centre of gravity, [m].
        pelvis: wanted height of the pelvis, [m]; given up where legs are too short.
        contact: of the left and the right foot on the way here: in the air, on its toes, or flat.
    """

    seconds: float
    left: tuple[float, float]
    right: tuple[float, float]
    cog: tuple[float, float]
    pelvis: float
    contact: tuple[int, int] = (FLAT, FLAT)

    @property
    def numbers(self) -> Array:
        """All that is interpolated."""
        return np.array([*self.left, *self.right, *self.cog, self.pelvis, *self.contact])


@dataclass(frozen=True)
class FullStep:
    """Both feet up on a step, one after the other, slowly enough to stand at every moment.

    The publication ends where the free foot lands, for want of ground contact. All numbers here are
    assumed.

    Attributes:
        height: of the step, [m].
        forward: how far both feet go, [m].
        edge: where the step begins, [m] in front of the ankles; just ahead of the toes.
        clearance: how high above the step a foot passes, [m].
        crouch: how far the pelvis is lowered, [m].
        ahead: how far in front of the ankle the weight stands, [m].
        inward: how far from the middle of the foot towards the other the weight stands, [m].
        between: how far forward the weight is when the rear heel leaves the ground, [m]; over its
            toes.
        slow: factor on all times, [-].
    """

    height: float = 0.025
    forward: float = 0.125
    edge: float = 0.095
    clearance: float = 0.020
    crouch: float = 0.022
    ahead: float = 0.015
    inward: float = 0.004
    between: float = 0.095
    slow: float = 1.0

    def stances(self) -> list[FootStance]:
        """From standing in front of the step to standing on it."""
        h, d, up = self.height, self.forward, self.height + self.clearance
        side = HALF_HIPS - self.inward
        low, top = 0.382 - self.crouch, 0.382 - self.crouch + self.height
        middle = 0.5 * (low + top)
        there = d + self.ahead
        begin = FootStance(1.0, (0.0, 0.0), (0.0, 0.0), (self.ahead, 0.0), low)
        over_right = replace(begin, seconds=2.0, cog=(self.ahead, -side))
        lifted = replace(over_right, left=(0.0, up), contact=(AIR, FLAT))
        over_step = replace(lifted, left=(d, up))
        landed = replace(over_step, left=(d, h), seconds=1.5)
        shared = replace(
            landed, cog=(self.between, 0.0), pelvis=middle, seconds=2.5, contact=(FLAT, FLAT)
        )
        over_left = replace(
            shared, cog=(there, side), pelvis=top, seconds=2.0, contact=(FLAT, TOES)
        )
        raised = replace(over_left, right=(0.0, up), seconds=2.0, contact=(FLAT, AIR))
        across = replace(raised, right=(d, up))
        on_top = replace(across, right=(d, h), seconds=1.5)
        # fmt: skip
        return [
            begin,
            over_right,
            lifted,
            over_step,
            landed,
            shared,
            over_left,
            raised,
            across,
            on_top,
            replace(on_top, cog=(there, 0.0), seconds=2.0, contact=(FLAT, FLAT)),
        ]

    @property
    def duration(self) -> float:
        """Of the whole, [s]."""
        return self.slow * sum(stance.seconds for stance in self.stances())


@dataclass(frozen=True)
class Postures:
    """Configurations of a free-floating robot over time.

    Attributes:
        times: shape (n,), [s].
        q: in Pinocchio's order, shape (n, nq).
        error: how far feet and weight are from where they should be, shape (n,), [m].
    """

    times: Array
    q: Array
    error: Array

    def joints(self, t: float) -> Array:
        """Joint angles at a time, [rad]."""
        i = int(np.clip(np.searchsorted(self.times, t) - 1, 0, len(self.times) - 2))
        share = float(np.clip((t - self.times[i]) / (self.times[i + 1] - self.times[i]), 0.0, 1.0))
        return self.q[i, 7:] + share * (self.q[i + 1, 7:] - self.q[i, 7:])


class StepPlanner:
    """Finds postures by damped least squares over base, legs and toes, within the joints' ranges.

    Feet and weight come first; pelvis height, an upright pelvis, flat toes and small angles are
    wished for in that order, with ever smaller weights. Arms, torso and head stay as they are.

    Args:
        robot: a free-floating humanoid; PHUA by default.
    """

    def __init__(self, robot: Robot | None = None) -> None:
        self.robot = robot or load_robot("phua")
        self.model = self.robot.pinocchio()
        self.data = self.model.createData()
        names = list(self.model.names)[2:]
        legs = [names.index(f"{side}_{joint}") for side in ("left", "right") for joint in LEGS]
        self._moving = np.concatenate([np.arange(6), 6 + np.array(legs)])
        self._tips = [
            self.model.getFrameId(f"{side}_foot_tip", pin.FrameType.OP_FRAME)
            for side in ("left", "right")
        ]
        self._lower, self._upper = self.robot.limits.lower[6:], self.robot.limits.upper[6:]
        self._wish = np.array([2e-2 if name.endswith("hip_rotation") else 3e-4 for name in names])
        self._toes = [names.index("left_toe"), names.index("right_toe")]

    def postures(self, stances: Sequence[FootStance], slow: float = 1.0) -> Postures:
        """Postures along the stances, each worked out from the one before."""
        q = pin.neutral(self.model)
        q[2] = stances[0].pelvis
        bent = {"hip_flexion": 0.5, "knee": 0.9, "ankle_flexion": 0.3}
        for number, name in enumerate(list(self.model.names)[2:]):
            q[7 + number] = bent.get(name.partition("_")[2], 0.0)
        now = 0.0
        rows = [(0.0, *self._solve(q, stances[0].numbers))]
        for before, after in zip([stances[0], *stances[:-1]], stances, strict=True):
            for s in np.arange(1, PER_STANCE + 1) / PER_STANCE:
                share = s**3 * (10.0 - 15.0 * s + 6.0 * s * s)
                wanted = before.numbers + share * (after.numbers - before.numbers)
                wanted[7:] = after.contact
                rows.append((now + s * after.seconds * slow, *self._solve(rows[-1][1], wanted)))
            now = rows[-1][0]
        times, found, errors = zip(*rows, strict=True)
        return Postures(np.array(times), np.stack(found), np.array(errors))

    def _solve(self, q: Array, wanted: Array) -> tuple[Array, float]:
        moving = self._moving
        for _ in range(ITERATIONS):
            error, J, first = self._tasks(q, wanted)
            step = np.zeros(self.model.nv)
            step[moving] = self._step(J, error, *(limit[moving] for limit in self._room(q)))
            q = pin.integrate(self.model, q, step)
            if float(np.abs(step).max()) < 1e-4:
                break
        return q, float(np.abs(self._tasks(q, wanted)[0][:first]).max())

    def _room(self, q: Array) -> tuple[Array, Array]:
        """How far every velocity may go down and up, at most a fifth of a radian or metre in one step."""
        low, high = np.full(self.model.nv, -0.2), np.full(self.model.nv, 0.2)
        low[6:] = np.clip(self._lower - q[7:], -0.2, 0.0)
        high[6:] = np.clip(self._upper - q[7:], 0.0, 0.2)
        return low, high

    @staticmethod
    def _step(J: Array, error: Array, low: Array, high: Array) -> Array:
        """Least-squares step within bounds."""
        step = np.linalg.solve(J.T @ J + 1e-9 * np.eye(J.shape[1]), J.T @ error)
        if (step >= low).all() and (step <= high).all():
            return step
        return lsq_linear(J, error, (low - 1e-9, high + 1e-9), method="bvls").x

    def _tasks(self, q: Array, wanted: Array) -> tuple[Array, Array, int]:
        """Weighted errors and Jacobian; the first rows are feet and weight."""
        model, data, moving = self.model, self.data, self._moving
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        errors, rows = [], []
        feet = wanted[[0, 1, 7]], wanted[[2, 3, 8]]
        for tip, place, y in zip(self._tips, feet, (HALF_HIPS, -HALF_HIPS), strict=True):
            target = pin.SE3(np.eye(3), np.array([place[0] + TIP, y, place[1]]))
            weight = np.array([1.0, 1.0, 1.0, 1.0, PITCH[int(place[2])], 1.0])
            errors.append(weight * pin.log6(data.oMf[tip].actInv(target)).vector)
            rows.append(weight[:, None] * pin.getFrameJacobian(model, data, tip, pin.LOCAL))
        rows.append(pin.jacobianCenterOfMass(model, data, q)[:2])
        errors.append(wanted[4:6] - data.com[0][:2])
        first = sum(map(len, errors))
        base = np.zeros((4, model.nv))
        base[0, :3] = 0.1 * data.oMi[1].rotation[2]  # height of the pelvis
        base[1:, 3:6] = 0.02 * np.eye(3)
        errors.append(
            np.concatenate([[0.1 * (wanted[6] - q[2])], -0.02 * pin.log3(data.oMi[1].rotation)])
        )
        self._wish[self._toes] = [TOE[int(contact)] for contact in wanted[7:]]
        wish = np.zeros((len(self._wish), model.nv))
        wish[:, 6:] = np.diag(self._wish)
        errors.append(-self._wish * q[7:])
        return np.concatenate(errors), np.vstack([*rows, base, wish])[:, moving], first

r"""An arm's torque as a linear function of its inertial parameters, along the samples of a log.

.. math:: \tau_j = Y_j(q, \dot q, \ddot q)\,\theta + I_j \ddot q_j + \text{friction}_j

θ has ten parameters per moving body: mass, first moments and inertia at the joint. They come from a
vector δ, zero for the data sheet, by which no mass or inertia can become impossible: the mass is
:math:`m e^{\delta_0}`, the centre moves by δ₁₋₃, and the second moments about it become
:math:`B \Sigma B^\top` with a triangular B whose diagonal is positive.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from farhand.robots import Robot

Array = np.ndarray

GRAVITY = 9.81
BODY = 10  # parameters of a body

_TRIANGLE = ((0, 1), (0, 2), (1, 2))


@dataclass(frozen=True)
class MovingBody:
    """One moving body of the data sheet, with all that is fixed to it."""

    mass: float  #: [kg]
    centre: Array  #: in the joint's frame, [m]
    spread: Array  #: second moments about the centre, 3 × 3, [kg·m²]

    def inertia(self, delta: Array) -> pin.Inertia:
        """The body changed by its ten numbers."""
        B = np.diag(np.exp(delta[4:7]))
        for (row, column), value in zip(_TRIANGLE, delta[7:], strict=True):
            B[row, column] = value
        factor = float(np.exp(delta[0]))
        spread = factor * B @ self.spread @ B.T
        tensor = np.trace(spread) * np.eye(3) - spread
        return pin.Inertia(self.mass * factor, self.centre + delta[1:4], 0.5 * (tensor + tensor.T))

    def parameters(self, delta: Array) -> Array:
        """Its ten inertial parameters."""
        found: Array = self.inertia(delta).toDynamicParameters()
        return found

    def slope(self, delta: Array) -> Array:
        """How they change with each of the ten numbers, 10 × 10."""
        step = 1e-6
        columns = [
            (self.parameters(delta + step * unit) - self.parameters(delta - step * unit))
            / (2.0 * step)
            for unit in np.eye(BODY)
        ]
        return np.column_stack(columns)


def body_of(inertia: pin.Inertia) -> MovingBody:
    """A body of a model; what weighs next to nothing stays so."""
    tensor = inertia.inertia
    spread = 0.5 * np.trace(tensor) * np.eye(3) - tensor
    values, vectors = np.linalg.eigh(spread)
    # a point or a rod has moments of zero, which could not be scaled
    least = 1e-9 + 1e-4 * max(float(values[-1]), 0.0)
    spread = vectors @ np.diag(np.maximum(values, least)) @ vectors.T
    return MovingBody(max(float(inertia.mass), 1e-6), np.array(inertia.lever), spread)


@dataclass(frozen=True)
class Columns:
    """Columns that an arm's torque is made of, n samples × logged joints × columns."""

    bodies: Array  #: n × joints × 10 bodies
    tool: (
        Array  #: of a mass at the tool point, its moments along the tool's axes, its inertia; … × 5
    )
    tilt: Array  #: of a base turned about x and y, [N·m/rad]; … × 2
    spring: Array  #: known torque of passive springs, n × joints
    gravity: Array  #: the static part of ``bodies``, for what gravity explains


class DataSheet:
    """A robot's model as its file has it.

    Attributes:
        model: of Pinocchio, base at the origin.
        joints: numbers of the logged joints.
        bodies: of the data sheet.
        rotors: rotor inertia of the logged joints, [kg·m²].
        carrier: number of the joint that carries the tool, from 1.
        tool: where the tool is in the frame of that joint.
    """

    def __init__(self, robot: Robot, joints: tuple[int, ...]) -> None:
        self.robot, self.joints = robot, joints
        self.model = robot.pinocchio(gravity=GRAVITY)
        self.bodies = [body_of(self.model.inertias[k]) for k in range(1, self.model.njoints)]
        self.rotors = np.array(self.model.armature)[list(joints)]
        self.home = np.array(robot.home)
        frame = self.model.frames[self.model.getFrameId(robot.tool, pin.FrameType.OP_FRAME)]
        self.carrier, self.tool = int(frame.parentJoint), frame.placement

    def parameters(self, delta: Array | None = None) -> Array:
        """θ, ten per body; of the data sheet by default."""
        changes = np.zeros((len(self.bodies), BODY)) if delta is None else delta.reshape(-1, BODY)
        parts = [body.parameters(own) for body, own in zip(self.bodies, changes, strict=True)]
        return np.concatenate(parts)

    def full(self, values: Array, rest: Array | None = None) -> Array:
        """Rows of logged joints as rows of all joints; the others are at home, or at zero."""
        out = np.tile(np.zeros(self.model.nv) if rest is None else rest, (len(values), 1))
        out[:, list(self.joints)] = values
        return out

    def columns(self, q: Array, v: Array, a: Array) -> Columns:
        """The columns along samples of the logged joints."""
        model, data, rows = self.model, self.model.createData(), list(self.joints)
        q, v, a = self.full(q, self.home), self.full(v), self.full(a)
        n, width = len(q), BODY * len(self.bodies)
        bodies, static = np.empty((n, len(rows), width)), np.empty((n, len(rows), width))
        still = np.zeros(model.nv)
        for k in range(n):
            bodies[k] = pin.computeJointTorqueRegressor(model, data, q[k], v[k], a[k])[rows]
            static[k] = pin.computeJointTorqueRegressor(model, data, q[k], still, still)[rows]
        spring = np.zeros((n, len(rows)))
        for dof, known in self.robot.springs.items():
            if dof in rows:
                spring[:, rows.index(dof)] = [known.torque(float(one)) for one in q[:, dof]]
        return Columns(bodies, self._tool_columns(bodies), self._tilt(q), spring, static)

    def torque(self, columns: Columns, a: Array) -> Array:
        """What the data sheet says the torque should be without friction, n × joints."""
        found: Array = columns.bodies @ self.parameters() + self.rotors * a + columns.spring
        return found

    def _tool_columns(self, bodies: Array) -> Array:
        """One kilogram at the tool, what moving it by a metre changes, and 1 kg·m² there."""
        at = BODY * (self.carrier - 1)
        own = bodies[:, :, at : at + BODY]
        place, axes = self.tool.translation, self.tool.rotation
        point = pin.Inertia(1.0, place, np.zeros((3, 3))).toDynamicParameters()
        step = 1e-4
        moved = [
            (
                pin.Inertia(1.0, place + step * axes[:, k], np.zeros((3, 3))).toDynamicParameters()
                - point
            )
            / step
            for k in range(3)
        ]
        round_ = pin.Inertia(0.0, np.zeros(3), np.eye(3)).toDynamicParameters()
        return own @ np.column_stack([point, *moved, round_])

    def _tilt(self, q: Array) -> Array:
        """Torque per radian by which the base is turned about x and y."""
        rows = list(self.joints)
        out = np.empty((len(q), len(rows), 2))
        for axis, sign, column in ((1, -1.0, 0), (0, 1.0, 1)):
            model = self.model.copy()
            pull = np.zeros(3)
            pull[axis] = 1.0
            model.gravity = pin.Motion(pull, np.zeros(3))
            data = model.createData()
            for k in range(len(q)):
                torque = pin.computeGeneralizedGravity(model, data, q[k])
                out[k, :, column] = sign * GRAVITY * torque[rows]
        return out

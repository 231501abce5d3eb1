"""Arm: a robot's kinematics and dynamics at one state, computed once per tick."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pinocchio as pin

from farhand.compiled import bind, enabled
from farhand.errors import BadValue, ModelError
from farhand.rigid_body import RigidBody, take, terms
from farhand.robots import Placement, Robot
from farhand.robots.springs import JointSpring

Array = np.ndarray

_WORLD_ALIGNED = pin.LOCAL_WORLD_ALIGNED


class Arm:
    r"""The terms of :math:`M(q)\dot v + c(q, v) + g(q) + D v = \tau + J^\top w` at one state.

    Passive springs, which Pinocchio does not know, count with gravity: both are what it takes to
    hold the arm at rest.

    Pinocchio is underneath: configurations and velocities are in its order, with body-frame
    velocity for a floating base. The arrays are live: they are overwritten by the next update, so
    copy what must last.

    Attributes:
        motion: q and v in one array.
        q: configuration, [rad] or [m].
        v: velocity, [rad/s] or [m/s].
        M: mass matrix with rotor inertia, nv × nv, [kg·m²].
        bias: Coriolis, centrifugal and gravity torque c + g, [N·m].
        gravity: torque g that holds the arm at rest against its weight and its springs, [N·m].
        spring: the springs' share of it, [N·m].
        J: Jacobian of the tool, 6 × nv: twist of the tool point in world axes per joint velocity.
        drift: J̇ v, the tool's acceleration while no joint accelerates, [m/s²], [rad/s²].
        position: tool in world, [m].
        rotation: rotation matrix of the tool in world.
        twist: tool twist in world axes at the tool point, [m/s] and [rad/s].
        viscous: joint viscous friction the model knows of (the diagonal of D), [N·m·s/rad];
            Pinocchio's dynamics leave it out.
        dry: joint dry friction that observers take off, [N·m]; None if the model knows none.
        base: rotation matrix of the robot's origin in world.
        springs: passive springs by the number of their joint's velocity.
        state: q, v, position, rotation (column by column), twist, M, J, bias, gravity, drift and
            viscous in one array.
        recorded: the first five of them, in one array.
        pose: position, rotation and twist in one array.
        body: the arm as its compiled terms know it; None where Pinocchio computes them.
    """

    springs: Mapping[int, JointSpring] = {}
    dry: Array | None = None
    base: Array = np.eye(3)

    def __init__(self, model: pin.Model, tool: str = "tool", viscous: Array | float = 0.0) -> None:
        if not model.existFrame(tool, pin.FrameType.OP_FRAME):
            frames = ", ".join(frame.name for frame in model.frames)
            raise ModelError(f"model {model.name!r} has no frame {tool!r}; it has {frames}")
        self.model = model
        self.data = model.createData()
        self.tool = tool
        self.nq, self.nv = model.nq, model.nv
        self._frame = model.getFrameId(tool, pin.FrameType.OP_FRAME)
        self._lay_out()
        self.viscous[:] = viscous
        self.body = RigidBody(model, self._frame) if enabled() and RigidBody.suits(model) else None
        if self.body is not None:
            arrays = self.body.links, self.body.parents, self.body.bodies, self.state
            self._terms = bind(terms, *arrays)
            self._take = bind(take, *arrays, then=(self.state, np.zeros((4, 1))))
        self.update(pin.neutral(model), np.zeros(self.nv))

    def _lay_out(self) -> None:
        """Make one array of all terms, and a view of it for each."""
        nq, nv = self.nq, self.nv
        sizes = (nq, nv, 3, 9, 6, nv * nv, 6 * nv, nv, nv, 6, nv)
        self.state = np.zeros(sum(sizes))
        parts = np.split(self.state, np.cumsum(sizes)[:-1])
        self.q, self.v, self.position, columns, self.twist = parts[:5]
        inertia, jacobian, self.bias, self.gravity, self.drift, self.viscous = parts[5:]
        self.rotation = columns.reshape(3, 3).T
        self.M, self.J = inertia.reshape(nv, nv), jacobian.reshape(6, nv)
        self.motion, self.recorded = self.state[: nq + nv], self.state[: nq + nv + 18]
        self.pose = self.state[nq + nv : nq + nv + 18]
        self.spring = np.zeros(nv)

    @classmethod
    def of(
        cls,
        robot: Robot,
        placement: Placement | None = None,
        gravity: float = 9.81,
        viscous: Array | float | None = None,
    ) -> Arm:
        """Arm of a robot standing at ``placement`` in the world.

        Args:
            robot: the robot.
            placement: where its base stands; the world's origin by default.
            gravity: downward acceleration, [m/s²].
            viscous: joint viscous friction, [N·m·s/rad]; taken from the robot's model by default.
        """
        compiled = robot.compile(placement or Placement(), gravity)
        known = compiled.dof_damping.copy() if viscous is None else viscous
        arm = (SprungArm if robot.springs else cls)(
            robot.pinocchio(placement or Placement(), gravity), robot.tool, known
        )
        arm.springs = robot.springs
        arm.base = (placement or Placement()).pose()[1]
        arm.compute()
        return arm

    def update(self, q: Array, v: Array) -> None:
        """Compute all terms at configuration ``q`` and velocity ``v``.

        Raises:
            BadValue: they have another number of values than the arm.
        """
        try:
            self.q[:] = q
            self.v[:] = v
        except ValueError:
            given = f"q of {np.size(q)} and v of {np.size(v)} values"
            raise BadValue(f"an arm with {self.nq} and {self.nv} got {given}") from None
        self.compute()

    def compute(self) -> None:
        """Compute all terms at the state that ``motion`` holds."""
        if self.body is not None:
            self._terms()
            return
        model, data, frame = self.model, self.data, self._frame
        pin.computeAllTerms(model, data, self.q, self.v)
        pin.updateFramePlacement(model, data, frame)
        placement, J = data.oMf[frame], pin.getFrameJacobian(model, data, frame, _WORLD_ALIGNED)
        self.position[:], self.rotation[:] = placement.translation, placement.rotation
        # Pinocchio hands back a one-column Jacobian as a vector
        self.J[:] = J.reshape(self.J.shape)
        self.J.dot(self.v, self.twist)
        self.M[:], self.bias[:], self.gravity[:] = data.M, data.nle, data.g
        drift = pin.getFrameClassicalAcceleration(model, data, frame, _WORLD_ALIGNED)
        self.drift[:] = drift.vector

    def take(self, values: Array, bounds: Array) -> int:
        """Take over a sample that lies inside its bounds, and compute all terms.

        Args:
            values: of the sample: q, v and the wrench.
            bounds: of the guard: middle and one over the reach of each value, and two corners of
                the workspace.

        Returns:
            0 if a value may be out of bounds, and nothing is done; 1; 2 if the tool is outside its
            workspace.
        """
        if self.body is None:
            return 0
        taken: int = self._take(values, bounds)
        return taken

    def refresh(self) -> None:
        """Take masses and inertias from the model again, after they were changed."""
        if self.body is not None:
            self.body.refresh()

    @property
    def coriolis(self) -> Array:
        """Coriolis and centrifugal torque c(q, v), [N·m]."""
        torque: Array = self.bias - self.gravity
        return torque

    def integrate(self, q: Array, step: Array) -> Array:
        """The configuration that lies ``step`` (velocity × time) from ``q``."""
        reached: Array = pin.integrate(self.model, q, step)
        return reached

    def difference(self, q_from: Array, q_to: Array) -> Array:
        """The step between two configurations: ``integrate(q_from, step) = q_to``."""
        step: Array = pin.difference(self.model, q_from, q_to)
        return step

    def kinetic_energy(self) -> float:
        """½ vᵀ M v, rotor inertia included, [J]."""
        return 0.5 * float(self.v @ self.M @ self.v)

    def task_inertia(self) -> Array:
        """Λ = (J M⁻¹ Jᵀ)⁻¹: what the tool's mass and inertia feel like, 6 × 6, [kg] and [kg·m²]."""
        return np.linalg.inv(self.J @ np.linalg.solve(self.M, self.J.T))


class SprungArm(Arm):
    """An arm with passive springs at hinges; made by :meth:`Arm.of` for a robot that has any."""

    def compute(self) -> None:
        """Compute all terms, then add the springs to what holds the arm."""
        super().compute()
        self._add_springs()

    def take(self, values: Array, bounds: Array) -> int:
        """As an arm without springs does, then add them."""
        taken = super().take(values, bounds)
        if taken:
            self._add_springs()
        return taken

    def _add_springs(self) -> None:
        for joint, spring in self.springs.items():
            torque = spring.torque(float(self.q[joint]))
            self.spring[joint] = torque
            self.gravity[joint] += torque
            self.bias[joint] += torque

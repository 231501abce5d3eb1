"""Rigid plant: an arm by Pinocchio's forward dynamics, with the published integrators."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin

from farhand.arm import Arm
from farhand.errors import UnknownName
from farhand.plants.plant import Command, JointTorque, Plant, Sample
from farhand.spatial import Array
from farhand.world.touches import Tool, Touch

INTEGRATORS = ("zoh", "semi-implicit", "rk4")


class RigidPlant(Plant):
    r"""An arm with :math:`M\dot v = \tau - c - g - D v + J^\top w`, advanced in fixed steps h.

    ``zoh`` holds the acceleration over a step, :math:`q' = q + h v + \tfrac12 h^2 a,\ v' = v + h
    a`; ``semi-implicit`` uses the new velocity, :math:`q' = q + h v'`; ``rk4`` is the classical
    fourth order, with touches evaluated at every stage.

    Args:
        name: of this plant.
        arm: the true model of the arm; the controller needs another one.
        q: initial configuration, [rad].
        step_ns: h, [ns].
        integrator: one of :data:`INTEGRATORS`.
    """

    accepts: frozenset[type[Command]] = frozenset({JointTorque})
    unstable = ""

    def __init__(
        self, name: str, arm: Arm, q: Array, step_ns: int = 1_000_000, integrator: str = "zoh"
    ) -> None:
        if integrator not in INTEGRATORS:
            raise UnknownName("integrator", integrator, INTEGRATORS)
        self.name, self.arm, self.period_ns, self.integrator = name, arm, step_ns, integrator
        self.actuated = np.ones(arm.nv, dtype=bool)
        self.q, self.v = np.array(q, dtype=float), np.zeros(arm.nv)
        self.now_ns = 0
        self.torque = np.zeros(arm.nv)
        self.touches: list[Touch] = []
        self.wrench = np.zeros(6)
        self._pushed = np.zeros(6)
        self._tool = Tool(arm.position, arm.rotation, arm.twist)
        self._sample = Sample(arm.nq, arm.nv)
        steps = {"zoh": self._zoh, "semi-implicit": self._semi_implicit, "rk4": self._rk4}
        self._step: Callable[[float], None] = steps[integrator]
        self._sense(0.0)

    def touch(self, touch: Touch) -> None:
        """Let a hand, wall or spring act on the tool."""
        self.touches.append(touch)
        self._sense(self.now_ns * 1e-9)

    def advance(self, to_ns: int) -> None:
        """Step until ``to_ns``; steps are whole."""
        while self.now_ns + self.period_ns <= to_ns:
            self._step(self.period_ns * 1e-9)
            self.now_ns += self.period_ns
            self._sense(self.now_ns * 1e-9)

    def read(self, now_ns: int) -> Sample:
        """State and touch wrench at the last whole step."""
        self.advance(now_ns)
        sample = self._sample
        sample.time_ns = self.now_ns
        sample.q[:], sample.v[:] = self.q, self.v
        sample.set_wrench(self.wrench)
        return sample

    def write(self, command: Command, now_ns: int) -> None:
        """Set the joint torques that act from now on."""
        self.torque[:] = command.value

    def acceleration(self, q: Array, v: Array, t: float) -> Array:
        """Joint acceleration at a state and time, [rad/s²]; the arm stays at that state."""
        arm = self.arm
        arm.update(q, v)
        self._push(t)
        torque = self.torque - arm.bias - arm.viscous * v + arm.J.T @ self.wrench
        return np.linalg.solve(arm.M, torque)

    def _sense(self, t: float) -> None:
        self.arm.update(self.q, self.v)
        self._push(t)

    def _push(self, t: float) -> None:
        self.wrench[:] = 0.0
        for touch in self.touches:
            touch.push(self._tool, t, self._pushed)
            self.wrench += self._pushed

    def _zoh(self, h: float) -> None:
        a = self.acceleration(self.q, self.v, self.now_ns * 1e-9)
        self.q = pin.integrate(self.arm.model, self.q, h * self.v + 0.5 * h * h * a)
        self.v = self.v + h * a

    def _semi_implicit(self, h: float) -> None:
        self.v = self.v + h * self.acceleration(self.q, self.v, self.now_ns * 1e-9)
        self.q = pin.integrate(self.arm.model, self.q, h * self.v)

    def _rk4(self, h: float) -> None:
        model, q, v, t = self.arm.model, self.q, self.v, self.now_ns * 1e-9
        a1 = self.acceleration(q, v, t)
        v2 = v + 0.5 * h * a1
        a2 = self.acceleration(pin.integrate(model, q, 0.5 * h * v), v2, t + 0.5 * h)
        v3 = v + 0.5 * h * a2
        a3 = self.acceleration(pin.integrate(model, q, 0.5 * h * v2), v3, t + 0.5 * h)
        v4 = v + h * a3
        a4 = self.acceleration(pin.integrate(model, q, h * v3), v4, t + h)
        self.q = pin.integrate(model, q, h / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4))
        self.v = v + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)

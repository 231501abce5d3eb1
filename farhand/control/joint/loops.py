"""Loops of single joints: hold still, move, lock, and a position loop with drive limits."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from farhand.arm import Arm
from farhand.parameters import parameter
from farhand.spatial import Array


@dataclass
class Still:
    r"""Slow every joint down to rest at a bounded rate, then hold the posture.

    The reference starts at the arm's state and its velocity goes to zero no faster than
    ``deceleration``. The arm follows it by computed torque,

    .. math:: \tau = M\,\bigl(\dot v_r + 2\omega\,(v_r - v) + \omega^2 (q_r - q)\bigr) + c + D\,v_r,

    which starts at zero error, so nothing jumps. The caller adds gravity. Without a sensor, feed it
    its own reference as the measurement: it then predicts how the model would stop.

    Attributes:
        q: reference configuration, [rad].
        v: reference velocity, [rad/s].
    """

    deceleration: float = parameter(8.0, "rad/s²", "deceleration of a stopping joint", 0.1, 100.0)
    bandwidth: float = parameter(25.0, "rad/s", "natural frequency of holding still", 1.0, 200.0)

    def __post_init__(self) -> None:
        self.q, self.v = np.zeros(0), np.zeros(0)

    def begin(self, arm: Arm) -> None:
        """Start from the arm's present state."""
        self.q, self.v = arm.q.copy(), arm.v.copy()

    def step(self, arm: Arm, dt: float) -> Array:
        """Joint torque without gravity, [N·m]; the reference moves on by ``dt`` [s]."""
        brake = np.clip(-self.v / dt, -self.deceleration, self.deceleration)
        return self._track(arm, brake, dt)

    def _track(self, arm: Arm, acceleration: Array, dt: float) -> Array:
        self.q = arm.integrate(self.q, dt * self.v + 0.5 * dt * dt * acceleration)
        self.v = self.v + dt * acceleration
        w = self.bandwidth
        pull = acceleration + 2.0 * w * (self.v - arm.v) + w * w * arm.difference(arm.q, self.q)
        return arm.M.dot(pull) + arm.coriolis + arm.viscous * self.v


@dataclass
class JointMove(Still):
    """A held posture that moves to ``target`` on request; without a target it is :class:`Still`.

    Every joint speeds up and slows down at no more than ``deceleration``, so it arrives at rest.

    Attributes:
        target: where to go, [rad]; None to hold.
    """

    # assumed
    speed: float = parameter(0.5, "rad/s", "speed of a joint that is led to a target", 0.001, 10.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.target: Array | None = None

    def step(self, arm: Arm, dt: float) -> Array:
        """Joint torque without gravity, [N·m]; the reference moves on by ``dt`` [s]."""
        if self.target is None:
            return super().step(arm, dt)
        left = arm.difference(self.q, self.target)
        # 10 % below the speed from which the joint can still stop in time
        stopping = 0.9 * np.sqrt(2.0 * self.deceleration * np.abs(left))
        speed = np.minimum(np.minimum(self.speed, stopping), np.abs(left) / dt)
        change = (np.sign(left) * speed - self.v) / dt
        return self._track(arm, np.clip(change, -self.deceleration, self.deceleration), dt)


@dataclass
class JointLock:
    r"""Torque :math:`\tau_i = -k\,(q_i - q_{0,i}) - d\,\dot q_i` that locks single joints."""

    stiffness: float = parameter(3000.0, "N·m/rad", "stiffness of a locked joint", 0.0, 1e5)
    damping: float = parameter(60.0, "N·m·s/rad", "damping of a locked joint", 0.0, 1e4)
    #: q_0 by the joint's number, from 0, [rad]
    angles: dict[int, float] = field(default_factory=dict)

    def add_torque(self, q: Array, v: Array, torque: Array) -> None:
        """Add the lock to ``torque`` [N·m] for joints at ``q`` [rad], moving at ``v`` [rad/s]."""
        for joint, angle in self.angles.items():
            torque[joint] -= self.stiffness * (q[joint] - angle) + self.damping * v[joint]


@dataclass
class LimitedPD:
    r"""PD control of joint positions through a bounded and rate-bounded velocity.

    .. math:: w = P\,e + D\,\dot e, \qquad e = q_r - q, \qquad
              u_k = \mathrm{sat}\bigl(\mathrm{sat}(w, \pm v_{lim}),\ u_{k-1} \pm a_{lim}\bigr)

    There is no integral: it would wind up whenever a limit holds. The last axis of every array is
    the joint; gains may have leading axes, one entry per independent arm, for sweeps.

    Attributes:
        command: u, the last relative velocity sent, [-].
        limited: which joints the last step held back by their step limit.
    """

    proportional: float | Array = parameter(10.0, "1/rad", "proportional gain", 0.0, 1e4)
    derivative: float | Array = parameter(0.5, "s/rad", "derivative gain", 0.0, 1e4)
    velocity_limit: Array = parameter(
        (0.45, 0.5, 0.5, 0.6, 0.8, 1.0), "-", "largest relative velocity", 0.0, 1.0
    )
    step_limit: Array = parameter(
        (0.04, 0.06, 0.06, 0.1, 0.1, 0.2), "-", "largest change of it per step", 0.0, 2.0
    )
    smoothing: float = parameter(0.0, "s", "low-pass time constant of the error rate", 0.0, 10.0)

    def __post_init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start from rest: the next step has no error rate, and its command grows from zero."""
        self.command: Array = np.zeros(len(self.step_limit))
        self.limited: Array = np.zeros(len(self.step_limit), dtype=bool)
        self._error: Array | None = None
        self._rate: Array | float = 0.0

    def step(self, reference: Array, measured: Array, dt: float) -> Array:
        """Relative velocity to send for positions [rad], ``dt`` [s] after the last step, [-]."""
        error = reference - measured
        if self._error is not None:
            share = dt / (dt + self.smoothing)
            self._rate = self._rate + share * ((error - self._error) / dt - self._rate)
        self._error = error
        u = self.proportional * error + self.derivative * self._rate
        u = np.minimum(np.maximum(u, -self.velocity_limit), self.velocity_limit)
        change = u - self.command
        self.limited = np.abs(change) > self.step_limit
        change = np.minimum(np.maximum(change, -self.step_limit), self.step_limit)
        self.command = self.command + change
        return self.command

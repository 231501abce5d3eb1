"""Limited PD: a joint position controller whose velocity command never breaks the drive's limits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.parameters import parameter

Array = np.ndarray


@dataclass
class LimitedPD:
    r"""Proportional–derivative control of joint positions through a bounded and rate-bounded velocity.

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
    smoothing: float = parameter(
        0.0, "s", "time constant of the low-pass on the error rate", 0.0, 10.0
    )

    def __post_init__(self) -> None:
        """Nothing sent yet."""
        self.reset()

    def reset(self) -> None:
        """Start from rest: the next step has no error rate, and its command grows from zero."""
        self.command: Array = np.zeros(len(self.step_limit))
        self.limited: Array = np.zeros(len(self.step_limit), dtype=bool)
        self._error: Array | None = None
        self._rate: Array | float = 0.0

    def step(self, wanted: Array, measured: Array, dt: float) -> Array:
        """Relative velocity to send, [-].

        Args:
            wanted: reference positions, [rad].
            measured: positions, [rad].
            dt: time since the last step, [s].
        """
        error = wanted - measured
        if self._error is not None:
            share = dt / (dt + self.smoothing)
            self._rate = self._rate + share * ((error - self._error) / dt - self._rate)
        self._error = error
        u = self.proportional * error + self.derivative * self._rate
        u = np.minimum(np.maximum(u, -self.velocity_limit), self.velocity_limit)
        change = u - self.command
        self.limited = np.abs(change) > self.step_limit
        self.command = self.command + np.minimum(
            np.maximum(change, -self.step_limit), self.step_limit
        )
        return self.command

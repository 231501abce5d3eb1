"""Joint servos: velocity commands, a delay, and a shutdown when a command breaks a limit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue
from farhand.parameters import parameter
from farhand.plants.simulated.velocity import LIMIT_TOLERANCE, DriveLimits

Array = np.ndarray


@dataclass
class JointServo(DriveLimits):
    r"""Velocity-commanded joints, each an integrator behind a delay.

    .. math:: \dot q(t) = v_{max}\,\bigl(u(t - \theta_d) + u_0\bigr)

    u is the velocity relative to the joint's maximum, held for one period. A command beyond
    ``velocity_limit``, or one that differs from the last by more than ``step_limit``, shuts its
    joint down: the whole arm stops where it is and stays until :meth:`restart`. The motion between
    commands is exact for any delay.

    The last axis of every array is the joint; leading axes are independent arms, for sweeps.

    Attributes:
        q: joint positions, [rad].
        v: joint velocities at the end of the last period, [rad/s].
        tripped: which joints have shut down.
    """

    speed: float = parameter(1.257, "rad/s", "joint speed at a relative velocity of 1", 1e-3, 100.0)
    delay: float = parameter(0.05, "s", "from command to motion", 0.0, 10.0)
    period: float = parameter(1.0 / 120.0, "s", "time between commands", 1e-5, 1.0)
    drift: float = parameter(0.0, "-", "relative velocity the drive adds", -1.0, 1.0)

    def __post_init__(self) -> None:
        """At zero, at rest."""
        self.place(np.zeros(len(self.step_limit)))

    def place(self, q: Array) -> None:
        """Stand still at ``q`` [rad], switched on, with no command under way."""
        self.q = np.array(q, dtype=float)
        if self.q.shape[-1] != len(self.step_limit):
            raise BadValue(
                f"q has {self.q.shape[-1]} joints, the servo's limits have {len(self.step_limit)}"
            )
        self.restart()

    def restart(self) -> None:
        """Switch the arm on again: no trip, no command under way."""
        self.v = np.zeros_like(self.q)
        self.tripped = np.zeros(self.q.shape, dtype=bool)
        self._whole, rest = divmod(self.delay / self.period, 1.0)
        # share of a period that the older command still lasts
        self._late = rest if rest > LIMIT_TOLERANCE else 0.0
        if rest > 1.0 - LIMIT_TOLERANCE:
            self._whole, self._late = self._whole + 1.0, 0.0
        self._sent = [np.zeros_like(self.q) for _ in range(int(self._whole) + 1)]

    @property
    def off(self) -> Array:
        """Whether the arm has shut down, one flag per arm."""
        return np.asarray(self.tripped.any(axis=-1))

    def step(self, command: Array) -> Array:
        """Take a relative velocity [-], let one period pass, and return the positions [rad]."""
        last = self._sent[-1]
        fast, steep = self.breaches(command, last)
        self.tripped |= (fast | steep) & ~self.off[..., None]
        off = self.off[..., None]
        self._sent.append(np.where(off, last, command))
        older, newer = self._sent[0], self._sent[1]
        del self._sent[0]
        moved = self._late * older + (1.0 - self._late) * newer
        self.q = self.q + np.where(off, 0.0, self.speed * self.period * (moved + self.drift))
        self.v = np.where(off, 0.0, self.speed * (newer + self.drift))
        return self.q

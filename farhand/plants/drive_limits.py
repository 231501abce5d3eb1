"""Drive limits: what velocity-commanded joints put up with, the one home of it for every plant that has such drives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.parameters import parameter

Array = np.ndarray

POWERBALL_VELOCITY = (0.45, 0.5, 0.5, 0.6, 0.8, 1.0)
"""Largest velocity of the Powerball's joints, share of the largest speed, stated in the source (Table 2.3), [-]."""

POWERBALL_STEP = (0.04, 0.06, 0.06, 0.1, 0.1, 0.2)
"""Its largest change per command, the same share, stated in the source (Table 2.3), [-]."""

ROUNDING = 1e-9
"""What a command may exceed a limit by without being a breach, as a share of full speed, [-]."""


@dataclass
class DriveLimits:
    """Limits on relative joint velocities; a command beyond them makes the drives switch off.

    Attributes:
        velocity_limit: largest velocity, one per joint, as a share of the joint's largest speed, [-].
        step_limit: largest change between two commands, one per joint, as the same share, [-].
    """

    velocity_limit: Array = parameter(POWERBALL_VELOCITY, "-", "relative velocity that trips", 0.0, 1.0)
    step_limit: Array = parameter(POWERBALL_STEP, "-", "change per command that trips", 0.0, 2.0)

    def breaches(self, command: Array, last: Array) -> tuple[Array, Array]:
        """Which joints are asked for too much velocity, and which for too much change; NaN is beyond any limit.

        Args:
            command: relative velocities, joints on the last axis, [-].
            last: those before, [-].
        """
        fast = ~(np.abs(command) <= self.velocity_limit + ROUNDING)
        steep = ~(np.abs(command - last) <= self.step_limit + ROUNDING)
        return fast, steep

    def objection(self, command: Array, last: Array) -> str | None:
        """What the drives say to a command beyond their limits, naming the joint; None if they take it."""
        named = ("velocity", command, self.velocity_limit), ("change of velocity", command - last, self.step_limit)
        for (what, share, limit), beyond in zip(named, self.breaches(command, last), strict=True):
            if beyond.any():
                joint = int(np.argmax(beyond))
                asked = f"{what} of {share[joint]:.3f} of its largest speed (limit {limit[joint]:g})"
                return f"joint {joint + 1} switched the arm off: it was asked for a {asked}"
        return None

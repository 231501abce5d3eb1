"""Force map: contact forces scaled into what a hand can feel, and a cue for lighter contact."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from farhand.errors import BadValue, UnknownName
from farhand.parameters import parameter
from farhand.spatial import Array


@dataclass
class ForceMap:
    r"""Per axis, a line through three points, and flat beyond the last.

    .. math:: (0, 0) \to (f_1, F_{min}) \to (f_2, F_{max})

    Below f_1 the hand gets less than it can feel, so noise and leftovers of compensation stay
    unnoticed; above f_2 it never gets more than it tolerates. Torques have their own break-points.

    A change of operator or of a number during contact would step the force. So the map goes from
    the old line to the new one within ``ramp`` if you pass the time between calls.
    """

    force_low: float = parameter(8.0, "N", "follower force that is just felt", 1e-3, 1e4)
    force_high: float = parameter(50.0, "N", "follower force of the largest feel", 1e-3, 1e4)
    torque_low: float = parameter(0.8, "N·m", "follower torque that is just felt", 1e-4, 1e3)
    torque_high: float = parameter(5.0, "N·m", "follower torque of the largest feel", 1e-4, 1e3)
    least: Array = parameter(
        (8.25, 7.9, 8.9, 1.4, 1.1, 0.5), "N, N·m", "wrench that is just felt", 0.0, 1e3
    )
    most: Array = parameter(
        (24.85, 24.3, 25.3, 3.7, 4.6, 1.8), "N, N·m", "wrench still comfortable", 0.0, 1e3
    )
    operator: str = parameter("mean", "-", "whose limits the map has")
    ramp: float = parameter(0.5, "s", "how long a change of the map takes", 1e-3, 100.0)
    #: least and most by operator, for :attr:`operator`
    profiles: dict[str, tuple[Array, Array]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._operator = self.operator
        self.refresh()
        self._line, self._left = self._target.copy(), 0.0

    def refresh(self) -> None:
        """Recompute the line; :meth:`forward` goes there gradually if it gets the time."""
        if self.operator != self._operator:
            if self.operator not in self.profiles:
                raise UnknownName("operator", self.operator, self.profiles)
            self._operator, (least, most) = self.operator, self.profiles[self.operator]
            self.least, self.most = np.array(least, dtype=float), np.array(most, dtype=float)
        low = np.repeat([self.force_low, self.torque_low], 3)
        high = np.repeat([self.force_high, self.torque_high], 3)
        if not (low < high).all() or not (self.least <= self.most).all():
            raise BadValue(
                "a force map needs low < high of its inputs, least <= most of its outputs"
            )
        self._target: Array = np.stack([low, high, self.least, self.most])
        self._left = self.ramp

    def forward(self, wrench: Array, dt: float | None = None) -> Array:
        """Wrench for the hand from one on the follower, in the same axes, [N] and [N·m].

        Args:
            wrench: on the follower; leading axes are kept.
            dt: since the last call, [s]; without it, a change of the map holds at once.
        """
        if self._left > 0.0:
            share = 1.0 if dt is None else min(dt / self._left, 1.0)
            self._left = 0.0 if share == 1.0 else self._left - share * self._left
            self._line = self._line + share * (self._target - self._line)
        low, high, least, most = self._line
        size = np.abs(wrench)
        below = size / low * least
        above = least + (size - low) / (high - low) * (most - least)
        return np.sign(wrench) * np.minimum(np.where(size < low, below, above), most)

    def use(self, least: Array, most: Array) -> None:
        """Take another operator's limits."""
        before = self.least, self.most
        self.least, self.most = np.array(least, dtype=float), np.array(most, dtype=float)
        try:
            self.refresh()
        except BadValue:
            self.least, self.most = before
            raise


@dataclass
class VibrationCue:
    r"""A buzz in the handle for contact that is too light to be felt as a force.

    The force is compared with its own recent past: a fast low-pass minus a slow one, so that slow
    leftovers of gravity compensation make no cue. The threshold grows with the noise that the arm's
    acceleration shakes into the sensor, :math:`\max(f_0,\ n\,\sigma(a))`, and outlasts it a
    little, as the filtered noise does. In contact the slow one stands still, so the cue lasts as
    long as the contact; so would one from a lasting shift of the sensor. A light touch during hard
    acceleration is cued only if the arm calms down before ``slow`` has passed.
    """

    onset: float = parameter(1.2, "N", "smallest change of force that counts", 0.01, 100.0)
    sigmas: float = parameter(5.5, "-", "standard deviations of noise that make no cue", 0.0, 100.0)
    noise_still: float = parameter(0.1374, "N", "noise of the sensor at rest", 0.0, 100.0)
    noise_shaken: float = parameter(2.5888, "N", "noise at full acceleration", 0.0, 1000.0)
    felt: float = parameter(8.0, "N", "force that is felt without a cue", 0.1, 1000.0)
    fast: float = parameter(0.010, "s", "time constant of the fast low-pass", 1e-6, 1.0)
    slow: float = parameter(0.5, "s", "time constant of the slow low-pass", 0.001, 100.0)

    def __post_init__(self) -> None:
        self.active = self._contact = False
        self._acceleration = 0.0
        self._fast: Array | None = None
        self._slow: Array = np.zeros(3)

    def step(self, force: Array, acceleration: float, dt: float) -> bool:
        """Whether the handle buzzes.

        Args:
            force: compensated contact force, not smoothed, [N].
            acceleration: of the joints relative to their largest, [-].
            dt: since the last call, [s].
        """
        if self._fast is None:
            self._fast, self._slow = np.array(force), np.array(force)
        self._fast = self._fast + dt / (dt + self.fast) * (force - self._fast)
        decayed = self._acceleration * math.exp(-dt / (3.0 * self.fast))
        a = self._acceleration = max(min(abs(acceleration), 1.0), decayed)
        still, shaken = self.noise_still**2, self.noise_shaken**2
        sigma = math.sqrt(still + (shaken - still) * a * a)
        threshold = max(self.onset, self.sigmas * sigma)
        change = math.dist(self._fast, self._slow)
        self._contact = change > (0.5 * threshold if self._contact else threshold)
        self.active = self._contact and change < self.felt
        if not self._contact:
            self._slow = self._slow + dt / (dt + self.slow) * (force - self._slow)
        return self.active

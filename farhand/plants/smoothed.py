"""Smoothed plant: any plant whose measured wrench goes through the published Kalman filter before anyone sees it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.parameters import parameter
from farhand.plants.plant import Command, Plant, Sample
from farhand.sensing.kalman import ScalarKalman

Array = np.ndarray


@dataclass
class Smoothing:
    """How a measured wrench is smoothed: one scalar filter per channel, for a constant that wanders.

    Attributes:
        active: whether it is smoothed at all.
        rate: of the filter, [Hz].
        trust: variance that the state gains per sample over that of a reading, q/r; smaller is smoother and later, [-].
    """

    active: bool = parameter(True, "-", "whether the wrench is smoothed")
    rate: float = parameter(500.0, "Hz", "rate of the filter", 1.0, 10_000.0)
    trust: float = parameter(2.5e-4, "-", "variance gained per sample over that of a reading", 1e-9, 1e6)


class SmoothedPlant:
    """A plant with a filter on its wrench sensor.

    A missing measurement starts the filter anew; one that is not a number is passed on as it is, so that it is noticed.

    Args:
        plant: the plant.
        nq: size of its configuration.
        nv: size of its velocity.
        smoothing: the filter.
    """

    def __init__(self, plant: Plant, nq: int, nv: int, smoothing: Smoothing) -> None:
        self._plant, self.smoothing = plant, smoothing
        self.name, self.accepts, self.actuated = plant.name, plant.accepts, plant.actuated
        self.period_ns = plant.period_ns
        self._sample = Sample(nq, nv)
        self._kalman: ScalarKalman | None = None
        self._due_ns = 0

    @property
    def fault(self) -> str | None:
        """Why the plant switched itself off, or None."""
        return getattr(self._plant, "fault", None)

    def restart(self) -> None:
        """Switch the plant on again if it has switched itself off."""
        if hasattr(self._plant, "restart"):
            self._plant.restart()

    def read(self, now_ns: int) -> Sample:
        """The plant's sample with the filtered wrench."""
        raw, sample = self._plant.read(now_ns), self._sample
        wrench = raw.wrench
        if wrench is None or not self.smoothing.active or not np.isfinite(wrench).all():
            self._kalman = None
            return raw
        if self._kalman is None:
            ones = np.ones(6)
            self._kalman, self._due_ns = ScalarKalman(self.smoothing.trust * ones, ones, np.zeros(6)), now_ns
        if now_ns >= self._due_ns:
            self._due_ns += round(1e9 / self.smoothing.rate)
            self._kalman.q[:] = self.smoothing.trust
            self._kalman.step(wrench)
        sample.time_ns = raw.time_ns
        sample.motion[:] = raw.motion
        sample.set_wrench(self._kalman.x)
        return sample

    def write(self, command: Command, now_ns: int) -> None:
        """Pass the command on."""
        self._plant.write(command, now_ns)

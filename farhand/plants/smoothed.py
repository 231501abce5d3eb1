"""Smoothed plant: any plant whose measured wrench goes through the published Kalman filter before anyone sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from farhand.parameters import parameter
from farhand.plants.plant import Plant, Sample
from farhand.plants.wrapped import WrappedPlant
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


class SmoothedPlant(WrappedPlant):
    """A plant with a filter on its wrench sensor.

    A missing measurement starts the filter anew; one that is not a number is passed on as it is, so that it is noticed.

    Args:
        plant: the plant.
        nq: size of its configuration.
        nv: size of its velocity.
        smoothing: the filter.
    """

    def __init__(self, plant: Plant, nq: int, nv: int, smoothing: Smoothing) -> None:
        super().__init__(plant)
        self.smoothing = smoothing
        self._sample = Sample(nq, nv)
        self._kalman: ScalarKalman | None = None
        self._due_ns = 0
        self._raw, self._variance = np.zeros(6), np.zeros(6)

    def record(self, stream: Any) -> None:
        """Publish the wrench before the filter, and the variance that is left after it, beside the filtered one."""
        axes = ("fx", "fy", "fz", "tx", "ty", "tz")
        self._raw = stream.channel("wrench_raw_in_world", 6, "N, N·m", axes)
        self._variance = stream.channel("variance_wrench_measured_in_world", 6, "N², N²·m²", axes)
        self._raw[:] = self._variance[:] = np.nan

    def read(self, now_ns: int) -> Sample:
        """The plant's sample with the filtered wrench."""
        raw, sample = self._plant.read(now_ns), self._sample
        wrench = raw.wrench
        self._raw[:] = np.nan if wrench is None else wrench
        if wrench is None or not self.smoothing.active or not np.isfinite(wrench).all():
            self._kalman = None
            self._variance[:] = np.nan
            return raw
        if self._kalman is None:
            ones = np.ones(6)
            sigma = getattr(getattr(self._plant, "imperfections", None), "wrench_sigma", np.full(6, np.nan))
            self._reading = sigma * sigma  # variance of one reading, where it is known
            self._kalman, self._due_ns = ScalarKalman(self.smoothing.trust * ones, ones, np.zeros(6)), now_ns
        if now_ns >= self._due_ns:
            self._due_ns += round(1e9 / self.smoothing.rate)
            self._kalman.q[:] = self.smoothing.trust
            self._kalman.step(wrench)
            self._variance[:] = self._kalman.p * self._reading
        sample.time_ns = raw.time_ns
        sample.motion[:] = raw.motion
        sample.set_wrench(self._kalman.x)
        return sample

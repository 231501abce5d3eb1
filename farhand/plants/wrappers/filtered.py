"""Plants whose velocities or wrench go through scalar Kalman filters."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from farhand.parameters import parameter
from farhand.plants.plant import Channels, InnerLoop, Plant, Sample
from farhand.plants.wrappers.wrapped import WrappedPlant
from farhand.sensing.kalman import ScalarKalman, steady_gain, time_constant
from farhand.spatial import Array


@dataclass
class Filters:
    """Scalar filters, one per joint velocity and wrench component; variances may change live."""

    q: float = parameter(0.125, "-", "variance gained per sample", 1e-9, 1e6)
    r_velocity: float = parameter(
        20.0, "-", "variance of a velocity reading; 0: no filter", 0.0, 1e9
    )
    r_wrench: float = parameter(20.0, "-", "variance of a wrench reading; 0: no filter", 0.0, 1e9)


class FilteredPlant(WrappedPlant):
    """A plant with the published filters, which start at zero.

    A missing wrench only makes its filter less certain. A sample that is not a number is passed on
    as it is, so that the guard notices.
    """

    def __init__(self, plant: Plant, nq: int, nv: int, filters: Filters | None = None) -> None:
        super().__init__(plant)
        self.filters = filters or Filters()
        self._sample = Sample(nq, nv)
        self._velocity, self._wrench = _fresh(nv), _fresh(6)
        self._read_ns = -1

    def read(self, now_ns: int) -> Sample:
        """The plant's sample, filtered; the same until the plant has a new one."""
        raw, sample, filters = self._plant.read(now_ns), self._sample, self.filters
        if raw.time_ns == self._read_ns:
            return sample
        if not np.isfinite(raw.values).all():
            return raw
        self._read_ns = sample.time_ns = raw.time_ns
        sample.q[:] = raw.q
        sample.v[:] = self._filter(self._velocity, raw.v, filters.r_velocity)
        if raw.wrench is None:
            self._wrench.step(None)
            sample.set_wrench(None)
        else:
            sample.set_wrench(self._filter(self._wrench, raw.wrench, filters.r_wrench))
        return sample

    def _filter(self, kalman: ScalarKalman, reading: Array, r: float) -> Array:
        if r <= 0.0:
            assert kalman.x is not None
            kalman.x[:] = reading
            return reading
        if kalman.r[0] != r or kalman.q[0] != self.filters.q:
            kalman.retune(np.full(len(reading), self.filters.q), np.full(len(reading), r))
        filtered = kalman.step(reading)
        assert filtered is not None
        return filtered


def _fresh(size: int) -> ScalarKalman:
    return ScalarKalman(np.ones(size), np.ones(size), np.zeros(size), np.zeros(size))


@dataclass
class Smoothing:
    """How a measured wrench is smoothed: one filter per channel, for a drifting constant."""

    active: bool = parameter(True, "-", "whether the wrench is smoothed")
    rate: float = parameter(500.0, "Hz", "rate of the filter", 1.0, 10_000.0)
    trust: float = parameter(
        2.5e-4, "-", "variance gained per sample over that of a reading", 1e-9, 1e6
    )


class SmoothedPlant(WrappedPlant):
    """A plant with a filter on its wrench sensor.

    A measurement that is missing, or not a number, is passed on as it is, so that law and guard
    notice. The filter only loses certainty meanwhile and continues with the next reading.
    """

    def __init__(self, plant: Plant, nq: int, nv: int, smoothing: Smoothing) -> None:
        super().__init__(plant)
        self.smoothing = smoothing
        self._sample = Sample(nq, nv)
        self._kalman: ScalarKalman | None = None
        self._due_ns = 0
        self._raw, self._variance = np.zeros(6), np.zeros(6)

    @property
    def inner_loop(self) -> InnerLoop | None:
        """The loop of the plant inside, whose wrench is smoothed."""
        inner, rate = super().inner_loop, self.smoothing.rate
        if inner is None or not self.smoothing.active:
            return inner
        gain = steady_gain(self.smoothing.trust, 1.0)
        return replace(inner, wrench_rate=1.0 / time_constant(gain, 1.0 / rate))

    def record(self, stream: Channels) -> None:
        """Publish the wrench before the filter, and the variance that is left after it."""
        axes = ("fx", "fy", "fz", "tx", "ty", "tz")
        self._raw = stream.channel("wrench_raw_in_world", 6, "N, N·m", axes)
        self._variance = stream.channel("variance_wrench_measured_in_world", 6, "N², N²·m²", axes)
        self._raw[:] = self._variance[:] = np.nan

    def read(self, now_ns: int) -> Sample:
        """The plant's sample with the filtered wrench."""
        raw, sample = self._plant.read(now_ns), self._sample
        wrench = raw.wrench
        self._raw[:] = np.nan if wrench is None else wrench
        smoothing = self.smoothing
        good = smoothing.active and wrench is not None and bool(np.isfinite(wrench).all())
        if not smoothing.active:
            self._kalman = None
        elif good and self._kalman is None:
            ones = np.ones(6)
            # Variance of one reading, where it is known.
            self._reading = self._plant.wrench_sigma**2
            self._kalman = ScalarKalman(smoothing.trust * ones, ones, np.zeros(6))
            self._due_ns = now_ns
        kalman = self._kalman
        if kalman is not None and now_ns >= self._due_ns:
            self._due_ns += round(1e9 / smoothing.rate)
            kalman.q[:] = smoothing.trust
            kalman.step(wrench if good else None)
        if kalman is None or not good:
            self._variance[:] = np.nan
            return raw
        self._variance[:] = kalman.p * self._reading
        sample.time_ns = raw.time_ns
        sample.motion[:] = raw.motion
        sample.set_wrench(kalman.x)
        return sample

"""Filtered plant: any plant whose velocities and wrench go through scalar Kalman filters before anyone sees them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.parameters import parameter
from farhand.plants.plant import Plant, Sample
from farhand.plants.wrapped import WrappedPlant
from farhand.sensing.kalman import ScalarKalman

Array = np.ndarray


@dataclass
class Filters:
    """Scalar filters, one per joint velocity and per wrench component, one step per sample. Variances may change live.

    Attributes:
        q: variance that every state gains per sample, [-].
        r_velocity: variance of a velocity reading; 0 leaves velocities as they are, [-].
        r_wrench: variance of a wrench reading; 0 leaves the wrench as it is, [-].
    """

    q: float = parameter(0.125, "-", "variance gained per sample", 1e-9, 1e6)
    r_velocity: float = parameter(20.0, "-", "variance of a velocity reading; 0: no filter", 0.0, 1e9)
    r_wrench: float = parameter(20.0, "-", "variance of a wrench reading; 0: no filter", 0.0, 1e9)


class FilteredPlant(WrappedPlant):
    """A plant with the published filters. They start at zero, as published; a missing wrench starts its own anew.

    What is not a number is passed on as it is, so that the guard notices.

    Args:
        plant: the plant.
        nq: size of its configuration.
        nv: size of its velocity.
        filters: the variances.
    """

    def __init__(self, plant: Plant, nq: int, nv: int, filters: Filters | None = None) -> None:
        super().__init__(plant)
        self.filters = filters or Filters()
        self._sample = Sample(nq, nv)
        self._velocity, self._wrench = _fresh(nv), _fresh(6)
        self._read_ns = -1

    def read(self, now_ns: int) -> Sample:
        """The plant's sample, filtered; the same again until the plant has a new one."""
        raw, sample, filters = self._plant.read(now_ns), self._sample, self.filters
        if raw.time_ns == self._read_ns:
            return sample
        if not np.isfinite(raw.values).all():
            return raw
        self._read_ns = sample.time_ns = raw.time_ns
        sample.q[:] = raw.q
        sample.v[:] = self._passed(self._velocity, raw.v, filters.r_velocity)
        if raw.wrench is None:
            self._wrench = _fresh(6)
            sample.set_wrench(None)
        else:
            sample.set_wrench(self._passed(self._wrench, raw.wrench, filters.r_wrench))
        return sample

    def _passed(self, kalman: ScalarKalman, reading: Array, r: float) -> Array:
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

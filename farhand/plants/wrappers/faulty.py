"""Faulty plant: any plant with something going wrong at a given time, so that reactions can be tested and shown."""

from __future__ import annotations

import math

from farhand.errors import UnknownName
from farhand.plants.plant import Plant, Sample
from farhand.plants.wrappers.wrapped import WrappedPlant

FAULTS = ("nan-position", "nan-velocity", "nan-wrench", "frozen", "no-wrench")


def inject_fault(sample: Sample, fault: str) -> None:
    """Put a fault other than ``frozen`` into a sample."""
    if fault == "nan-position":
        sample.q[0] = math.nan
    elif fault == "nan-velocity":
        sample.v[0] = math.nan
    elif fault == "no-wrench":
        sample.set_wrench(None)
    elif sample.wrench is not None:
        sample.wrench[0] = math.nan


class FaultyPlant(WrappedPlant):
    """A plant whose samples go wrong from ``from_ns`` until ``to_ns``; commands still reach it.

    Args:
        plant: the plant that works.
        fault: one of :data:`FAULTS`. ``frozen`` repeats the last good sample with its old time.
        from_ns: when it begins, [ns].
        to_ns: when it ends, [ns]; never by default.
    """

    def __init__(self, plant: Plant, fault: str, from_ns: int, to_ns: int = 1 << 62) -> None:
        if fault not in FAULTS:
            raise UnknownName("fault", fault, FAULTS)
        super().__init__(plant)
        self._fault, self._from_ns, self._to_ns = fault, from_ns, to_ns
        self._last = Sample(0, 0)

    def read(self, now_ns: int) -> Sample:
        """The plant's sample, spoilt while the fault lasts."""
        if not self._from_ns <= now_ns < self._to_ns:
            sample = self._plant.read(now_ns)
            self._last = sample.copy()
            return sample
        sample = self._plant.read(now_ns).copy()
        if self._fault == "frozen":
            if not len(self._last.q):  # nothing good came before
                self._last = sample
            return self._last
        inject_fault(sample, self._fault)
        return sample

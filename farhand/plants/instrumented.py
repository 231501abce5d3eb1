"""Instrumented plant: any simulated plant whose wrench comes from a simulated sensor and its conditioner."""

from __future__ import annotations

import numpy as np

from farhand.arm import Arm
from farhand.plants.plant import Command, Plant, Sample
from farhand.sensing import Conditioner, ForceSensor

Array = np.ndarray


class InstrumentedPlant:
    """A plant with a force sensor between arm and tool, read at the sensor's own rate; the last value holds in between.

    The sample's wrench is None while the bias is taken and while the sensor is saturated.

    Args:
        plant: the plant, whose wrench is the true one.
        sensor: what measures it.
        conditioner: what makes sense of the counts.
        arm: a model of the plant of its own, for the tool's rotation.

    Attributes:
        counts: the sensor's last raw reading, [-].
    """

    def __init__(self, plant: Plant, sensor: ForceSensor, conditioner: Conditioner, arm: Arm) -> None:
        self._plant, self.sensor, self.conditioner, self._arm = plant, sensor, conditioner, arm
        self.name, self.accepts, self.actuated, self.period_ns = (
            plant.name,
            plant.accepts,
            plant.actuated,
            plant.period_ns,
        )
        self.counts = np.zeros(6)
        self._sample = Sample(arm.nq, arm.nv)
        self._wrench: Array | None = None
        self._sensor_ns = round(1e9 / sensor.profile.rate)
        self._due_ns = self._measured_ns = -1

    def read(self, now_ns: int) -> Sample:
        """The plant's sample with the conditioned wrench of the sensor's last reading."""
        true, sample = self._plant.read(now_ns), self._sample
        if now_ns >= self._due_ns:
            late_ns = now_ns - self._due_ns if self._due_ns >= 0 else 0
            self._due_ns = now_ns + self._sensor_ns - late_ns % self._sensor_ns
            self._measure(true, now_ns)
        sample.time_ns = true.time_ns
        sample.motion[:] = true.motion
        sample.set_wrench(self._wrench)
        return sample

    def write(self, command: Command, now_ns: int) -> None:
        """Pass the command on."""
        self._plant.write(command, now_ns)

    def _measure(self, true: Sample, now_ns: int) -> None:
        passed_ns = now_ns - self._measured_ns if self._measured_ns >= 0 else 0
        self._measured_ns = now_ns
        if true.wrench is None:
            self._wrench = None
            return
        self._arm.update(true.q, true.v)
        rotation = self._arm.rotation
        self.counts[:] = self.sensor.read(true.wrench, rotation, passed_ns * 1e-9)
        self._wrench = self.conditioner.update(self.counts, rotation)

"""Instrumented plant: any simulated plant whose wrench comes from a simulated sensor and its conditioner."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from farhand.arm import Arm
from farhand.plants.plant import Channels, Plant, Sample
from farhand.plants.wrappers.wrapped import WrappedPlant
from farhand.sensing import Conditioner, SensorProfile

Array = np.ndarray


class WrenchSensor(Protocol):
    """A simulated force sensor: from the true contact to raw counts.

    Attributes:
        profile: its data sheet.
    """

    profile: SensorProfile

    def read(
        self, wrench_contact_in_world: Array, rotation_tool_in_world: Array, dt: float | None = None
    ) -> Array:
        """Raw counts of one sample, as :meth:`farhand.sensing.ForceSensor.read`."""


class InstrumentedPlant(WrappedPlant):
    """A plant with a force sensor between arm and tool, read at the sensor's own rate; the last value holds in between.

    The sample's wrench is None while the bias is taken and from when the sensor saturates until the
    next engagement.

    Args:
        plant: the plant, whose wrench is the true one.
        sensor: what measures it.
        conditioner: what makes sense of the counts.
        arm: a model of the plant of its own, for the tool's rotation.

    Attributes:
        counts: the sensor's last raw reading, [-].
    """

    def __init__(
        self, plant: Plant, sensor: WrenchSensor, conditioner: Conditioner, arm: Arm
    ) -> None:
        super().__init__(plant)
        self.sensor, self.conditioner, self._arm = sensor, conditioner, arm
        self.counts = np.zeros(6)
        self._sample = Sample(arm.nq, arm.nv)
        self._wrench: Array | None = None
        self._sensor_ns = round(1e9 / sensor.profile.rate)
        self._due_ns = self._measured_ns = -1
        self._raw, self._covariance, self._known = np.zeros(6), np.zeros(36), ""

    def record(self, stream: Channels) -> None:
        """Publish the raw reading in sensor axes, and the covariance of the conditioned one in tool axes."""
        self._raw = stream.channel(
            "wrench_raw_in_sensor", 6, "N, N·m", ("fx", "fy", "fz", "tx", "ty", "tz")
        )
        self._covariance = stream.channel(
            "covariance_wrench_measured_in_tool", 36, "N², N²·m, N²·m²"
        )

    def rearm(self) -> None:
        """Believe a sensor again that was saturated."""
        super().rearm()
        self.conditioner.trust()

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
        self._raw[:] = self.conditioner.raw
        if self._known != self.conditioner.status:  # in tool axes it changes with the bias alone
            self._known = self.conditioner.status
            self._covariance[:] = self.conditioner.covariance(np.eye(3)).ravel()

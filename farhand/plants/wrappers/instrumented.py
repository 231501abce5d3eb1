"""Plants whose wrench comes from a simulated force sensor and its conditioner."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.spatial.transform import Rotation

from farhand.arm import Arm
from farhand.parameters import parameter
from farhand.plants.plant import Channels, Plant, Sample
from farhand.plants.wrappers.wrapped import WrappedPlant
from farhand.sensing import (
    Conditioner,
    Load,
    Readings,
    SensorProfile,
    Thermal,
    ToolCalibration,
    identify,
)
from farhand.sensing.simulated import ImperfectSensor, SensorFaults
from farhand.spatial import Array

CALIBRATION_POSES, READINGS_PER_POSE = 12, 100
"""Of a tool's calibration: directions of gravity, and readings at each."""

AXES_WITH_HEAT = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
"""Axes whose zero is corrected for temperature (sources/hazardous §2.8)."""


class WrenchSensor(Protocol):
    """A simulated force sensor with its data sheet: from the true contact to raw counts."""

    profile: SensorProfile

    def read(
        self, wrench_contact_in_world: Array, rotation_tool_in_world: Array, dt: float | None = None
    ) -> Array:
        """Raw counts of one sample, as :meth:`farhand.sensing.ForceSensor.read`."""


class InstrumentedPlant(WrappedPlant):
    """A plant with a force sensor between arm and tool, read at the sensor's own rate.

    The last value holds in between. The sample's wrench is None while the bias is taken, and from
    when the sensor saturates until the next engagement.

    Args:
        plant: the plant, whose wrench is the true one.
        sensor: what measures it.
        conditioner: from counts to a wrench.
        arm: a separate model of the plant, for the rotation of the tool.
    """

    def __init__(
        self, plant: Plant, sensor: WrenchSensor, conditioner: Conditioner, arm: Arm
    ) -> None:
        super().__init__(plant)
        self.sensor, self.conditioner, self._arm = sensor, conditioner, arm
        self.counts = np.zeros(6)  #: the sensor's last raw reading, [-]
        self._sample = Sample(arm.nq, arm.nv)
        self._wrench: Array | None = None
        self._sensor_ns = round(1e9 / sensor.profile.rate)
        self._due_ns = self._measured_ns = -1
        self._raw, self._covariance, self._known = np.zeros(6), np.zeros(36), ""

    def record(self, stream: Channels) -> None:
        """Publish the raw reading in sensor axes, and the covariance of the result in tool axes."""
        axes = ("fx", "fy", "fz", "tx", "ty", "tz")
        self._raw = stream.channel("wrench_raw_in_sensor", 6, "N, N·m", axes)
        unit = "N², N²·m, N²·m²"
        self._covariance = stream.channel("covariance_wrench_measured_in_tool", 36, unit)

    def rearm(self) -> None:
        """Trust a sensor again that was saturated."""
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
        # In tool axes the covariance changes with the bias alone.
        if self._known != self.conditioner.status:
            self._known = self.conditioner.status
            self._covariance[:] = self.conditioner.covariance(np.eye(3)).ravel()


@dataclass
class WristCompensation:
    """What is subtracted from the sensor's readings; each switch leaves one part in."""

    bias: bool = parameter(True, "-", "whether the calibrated bias is taken off")
    weight: bool = parameter(True, "-", "whether the weight of the tool is taken off")
    heat: bool = parameter(True, "-", "whether the bias follows the thermometer")
    # Assumed.
    slope_error: float = parameter(
        0.05, "-", "how far the slopes over temperature are misjudged", -1.0, 1.0
    )


class WristPlant(InstrumentedPlant):
    """A plant with an imperfect wrench sensor, conditioned with a calibration of its tool.

    The calibration is made at the first reading if not before, from simulated readings in several
    poses with all faults but the warming, so it knows no more than the sensor does. A tool that
    changes later is not calibrated again.

    Args:
        plant: the arm, whose wrench is the true one.
        profile: data sheet of the sensor.
        arm: a separate model of the plant, for the rotation of the tool.
        shake: norm of the joints' acceleration that shakes the sensor most, [rad/s²].
        gravity: downward acceleration, [m/s²].
        rng: source of noise.

    Attributes:
        gauges: the sensor.
        faults: of the sensor.
        compensation: what is subtracted.
        tool: the calibration, None before the first reading.
    """

    def __init__(
        self,
        plant: Plant,
        profile: SensorProfile,
        arm: Arm,
        shake: float,
        gravity: float,
        rng: np.random.Generator,
    ) -> None:
        self.faults, self.compensation = SensorFaults(), WristCompensation()
        self._profile, self._shake, self._gravity, self._rng = profile, shake, gravity, rng
        self.gauges = ImperfectSensor(profile, self.faults, gravity, rng.spawn(1)[0])
        super().__init__(plant, self.gauges, Conditioner(profile, gravity=gravity), arm)
        self.tool: ToolCalibration | None = None
        self._velocity = np.zeros(arm.nv)
        self._settled: tuple[bool, bool, bool, float] | None = None

    @property
    def contact(self) -> Array | None:
        """The last contact wrench, not smoothed, world axes, [N] and [N·m]; None without one."""
        return self._wrench

    def calibrate(self) -> None:
        """Identify bias and load; this takes about 30 ms, so call it before the first tick."""
        cold = replace(self.faults, warming=False)
        sensor = ImperfectSensor(self._profile, cold, self._gravity, self._rng)
        turns = np.repeat(
            Rotation.random(CALIBRATION_POSES, self._rng).as_quat(), READINGS_PER_POSE, axis=0
        )
        nothing = np.zeros(6)
        counts = np.array([sensor.read(nothing, R) for R in Rotation.from_quat(turns).as_matrix()])
        time = np.arange(len(counts)) / self._profile.rate
        readings = Readings(time, turns, counts * self._profile.resolution)
        tool = identify(readings, gravity=self._gravity).tool
        slope = (1.0 + self.compensation.slope_error) * AXES_WITH_HEAT * self.faults.slope
        self.tool = replace(tool, thermal=Thermal(self.faults.ambient, slope, 0.05 * np.abs(slope)))

    def _measure(self, true: Sample, now_ns: int) -> None:
        if self.tool is None:
            self.calibrate()
        self._settle()
        dt = (now_ns - self._measured_ns) * 1e-9 if self._measured_ns >= 0 else 0.0
        change = float(np.linalg.norm(true.v - self._velocity))
        self._velocity[:] = true.v
        moves = dt > 0.0 and change < np.inf
        self.gauges.acceleration = min(change / (dt * self._shake), 1.0) if moves else 0.0
        super()._measure(true, now_ns)
        # NaN, so that the guard notices.
        if self.conditioner.status == "invalid":
            self._wrench = np.full(6, np.nan)

    def _settle(self) -> None:
        """Let the conditioner subtract what the switches say, at the measured temperature."""
        tool, choice, internals = self.tool, self.compensation, self._profile.internals
        assert tool is not None and tool.thermal is not None
        settled = (choice.bias, choice.weight, choice.heat, self.gauges.reading)
        if settled == self._settled:
            return
        self._settled = settled
        load = tool.load if choice.weight else Load()
        # The same conditioner, which knows whether the sensor was saturated.
        self.conditioner.mount(load - internals)
        shift = choice.heat * tool.thermal.shift(np.array(self.gauges.reading))
        self.conditioner.set_bias(choice.bias * tool.bias + shift)

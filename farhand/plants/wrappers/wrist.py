"""Wrist plant: a simulated arm with the published wrist sensor, its tool calibrated and its zero kept as it warms."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from farhand.arm import Arm
from farhand.parameters import parameter
from farhand.plants.plant import Plant, Sample
from farhand.plants.wrappers.instrumented import InstrumentedPlant
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

Array = np.ndarray

POSES, SAMPLES = 12, 100
"""Of a tool's calibration: directions of gravity, and readings at each."""

WITH_HEAT = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
"""Axes whose zero is corrected for temperature (sources/hazardous §2.8)."""


@dataclass
class WristCompensation:
    """What is taken off the sensor's readings; each switch leaves one thing in."""

    bias: bool = parameter(True, "-", "whether the calibrated bias is taken off")
    weight: bool = parameter(True, "-", "whether the weight of the tool is taken off")
    heat: bool = parameter(True, "-", "whether the bias follows the thermometer")
    # assumed
    slope_error: float = parameter(
        0.05, "-", "how far the slopes over temperature are misjudged", -1.0, 1.0
    )


class WristPlant(InstrumentedPlant):
    """A plant whose wrench is measured by an imperfect sensor, and conditioned with a calibration of its tool.

    The calibration is made at the first reading if not before, from a simulated round of poses with
    all faults but the warming, so it knows no more than the sensor says. A tool that is changed
    later on is not calibrated anew.

    Args:
        plant: the arm, whose wrench is the true one.
        profile: data sheet of the sensor.
        arm: a model of the plant of its own, for the tool's rotation.
        shake: norm of the joints' acceleration that shakes the sensor most, [rad/s²].
        gravity: downward acceleration, [m/s²].
        rng: source of noise.

    Attributes:
        gauges: the sensor.
        faults: what is wrong with it.
        compensation: what is done about it.
        tool: the calibration, None before the first reading.
        contact: the last contact wrench, not smoothed, world axes, [N] and [N·m]; None when there
            is no measurement.
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
        """The last contact wrench, not smoothed."""
        return self._wrench

    def calibrate(self) -> None:
        """Identify bias and load from a round of poses; takes some 30 ms, so best before the first tick."""
        sensor = ImperfectSensor(
            self._profile, replace(self.faults, warming=False), self._gravity, self._rng
        )
        turns = np.repeat(Rotation.random(POSES, self._rng).as_quat(), SAMPLES, axis=0)
        nothing = np.zeros(6)
        counts = np.array([sensor.read(nothing, R) for R in Rotation.from_quat(turns).as_matrix()])
        time = np.arange(len(counts)) / self._profile.rate
        tool = identify(
            Readings(time, turns, counts * self._profile.resolution), gravity=self._gravity
        ).tool
        slope = (1.0 + self.compensation.slope_error) * WITH_HEAT * self.faults.slope
        self.tool = replace(tool, thermal=Thermal(self.faults.ambient, slope, 0.05 * np.abs(slope)))

    def _measure(self, true: Sample, now_ns: int) -> None:
        if self.tool is None:
            self.calibrate()
        self._settle()
        dt = (now_ns - self._measured_ns) * 1e-9 if self._measured_ns >= 0 else 0.0
        change = float(np.linalg.norm(true.v - self._velocity))
        self._velocity[:] = true.v
        self.gauges.acceleration = (
            min(change / (dt * self._shake), 1.0) if dt > 0.0 and change < np.inf else 0.0
        )
        super()._measure(true, now_ns)
        if self.conditioner.status == "invalid":
            self._wrench = np.full(6, np.nan)  # so that the guard notices

    def _settle(self) -> None:
        """Let the conditioner take off what the switches say, at the temperature that is read."""
        tool, choice, internals = self.tool, self.compensation, self._profile.internals
        assert tool is not None and tool.thermal is not None
        settled = (choice.bias, choice.weight, choice.heat, self.gauges.reading)
        if settled == self._settled:
            return
        self._settled = settled
        load = tool.load if choice.weight else Load()
        self.conditioner = Conditioner(self._profile, load=load - internals, gravity=self._gravity)
        shift = choice.heat * tool.thermal.shift(np.array(self.gauges.reading))
        self.conditioner.set_bias(choice.bias * tool.bias + shift)

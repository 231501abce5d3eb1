"""Imperfect sensor: a wrist force sensor sample by sample, with every fault of the published one on its own switch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.parameters import parameter
from farhand.sensing.noise import NoiseModel, pink
from farhand.sensing.profile import Load, SensorProfile
from farhand.sensing.sensor import ForceSensor
from farhand.sensing.thermal import Thermometer, Warming

Array = np.ndarray

BLOCK = 2048
"""Samples of noise that are drawn at once."""

OVERHEAT = 120.0
"""Temperature from which the sensor's own flag says that it is too hot,
sources/hazardous §2.5 [S], [°C]."""


@dataclass
class SensorFaults:
    """What is wrong with a wrist sensor; each switch takes one fault away."""

    biased: bool = parameter(True, "-", "whether the sensor has a bias")
    loaded: bool = parameter(True, "-", "whether a tool hangs on the sensor")
    noisy: bool = parameter(True, "-", "whether the sensor is noisy at rest")
    shaken: bool = parameter(True, "-", "whether the arm's acceleration shakes the sensor")
    warming: bool = parameter(True, "-", "whether the sensor warms up and drifts")
    bias: Array = parameter(
        (14.0, -9.0, 5.0, 0.4, -0.3, 0.1), "N, N·m", "bias at ambient temperature", -200.0, 200.0
    )
    mass: float = parameter(1.1213, "kg", "mass of the tool", 0.0, 20.0)
    com: Array = parameter((0.0, 0.0, 0.07), "m", "centre of mass of the tool", -1.0, 1.0)
    noise_still: Array = parameter(
        (0.1374, 0.1283, 0.1344, 0.0065, 0.0074, 0.0015), "N, N·m", "noise at rest", 0.0, 100.0
    )
    noise_shaken: Array = parameter(
        (2.4862, 2.4726, 2.5888, 0.191, 0.2184, 0.0342),
        "N, N·m",
        "noise at full acceleration",
        0.0,
        100.0,
    )
    noise_lowest: float = parameter(5.0, "Hz", "lower edge of the noise's band", 0.1, 1000.0)
    slope: Array = parameter(
        (0.175, 0.044, 1.26, 0.0052, 0.00043, 0.00075),
        "N/°C, N·m/°C",
        "zero over temperature",
        -100.0,
        100.0,
    )
    ambient: float = parameter(21.0, "°C", "temperature at the start", -50.0, 500.0)
    final: float = parameter(45.0, "°C", "temperature the sensor tends to", -50.0, 500.0)
    heating: float = parameter(3600.0, "s", "time constant of the warming", 0.01, 1e6)

    def __post_init__(self) -> None:
        """Derive the models."""
        self.refresh()

    def refresh(self) -> None:
        """Recompute what depends on the parameters."""
        still = self.noise_still * self.noisy
        self.noise = NoiseModel(
            still, np.maximum(self.noise_shaken, still) if self.shaken else still
        )
        self.warmth = Warming(
            self.ambient, self.final if self.warming else self.ambient, self.heating
        )
        self.load = Load(self.mass * self.loaded, np.array(self.com))
        self.offset = self.bias * self.biased


class ImperfectSensor:
    r"""Raw counts of a strain-gauge sensor at the wrist, one sample at a time.

    .. math:: w = w_c + w_g(R) + b + a\,(T - T_0) + \sigma(\ddot q)\,n

    w_c is the contact, w_g the weight of internals and tool, b the bias, T the temperature and n
    noise with a 1/f spectrum whose size goes with the acceleration of the joints.

    Args:
        profile: the data sheet; its own noise and drift are left to ``faults``.
        faults: what is wrong with it; may change at any time.
        gravity: downward acceleration, [m/s²].
        rng: source of noise and of the thermometer's flicker.

    Attributes:
        acceleration: of the joints relative to their largest at the next sample, [-]; set by
            whoever knows it.
        temperature: of the sensor, [°C].
        reading: what the thermometer on it says, [°C].
    """

    def __init__(
        self,
        profile: SensorProfile,
        faults: SensorFaults,
        gravity: float = 9.81,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.profile, self.faults, self._gravity = profile, faults, gravity
        self.acceleration, self.temperature = 0.0, faults.ambient
        self._rng = rng or np.random.default_rng(0)
        self._thermometer = Thermometer()
        self._noise, self._row, self._lowest = np.zeros((0, 6)), 0, 0.0
        self._load: Load | None = None
        self._time, self._convert = 0.0, 0.0
        self.reading = faults.ambient

    @property
    def hot(self) -> bool:
        """The sensor's own overheat flag."""
        return self.temperature > OVERHEAT

    def read(
        self, wrench_contact_in_world: Array, rotation_tool_in_world: Array, dt: float | None = None
    ) -> Array:
        """Raw counts, as :meth:`farhand.sensing.ForceSensor.read`, for one sample."""
        faults = self.faults
        self._warm(1.0 / self.profile.rate if dt is None else dt)
        sensor = self._sensor()
        sensor.bias[:] = faults.slope
        sensor.bias *= self.temperature - faults.ambient
        sensor.bias += faults.offset
        if faults.noisy or faults.shaken:
            sensor.bias += faults.noise.sigma(np.array(self.acceleration)) * self._draw()
        return sensor.read(wrench_contact_in_world, rotation_tool_in_world)

    def _sensor(self) -> ForceSensor:
        """The perfect sensor inside, made anew when the tool changes."""
        if self._load is not self.faults.load:
            self._load = self.faults.load
            self._inside = ForceSensor(
                self.profile.silent(), None, self._load, gravity=self._gravity
            )
        return self._inside

    def _warm(self, dt: float) -> None:
        """Let time pass; the thermometer converts now and then."""
        self._time += dt
        faults = self.faults
        self.temperature = float(faults.warmth.at(np.array(self._time)))
        if self._time >= self._convert:
            self._convert = self._time + self._thermometer.conversion
            self.reading = float(
                self._thermometer.stream(
                    np.array([self._time]), np.array([self.temperature]), self._rng
                )[0]
            )

    def _draw(self) -> Array:
        """One row of noise of unit variance; drawn in blocks."""
        if self._row >= len(self._noise) or self._lowest != self.faults.noise_lowest:
            self._lowest = self.faults.noise_lowest
            self._noise, self._row = pink(BLOCK, self.profile.rate, self._lowest, self._rng), 0
        self._row += 1
        return self._noise[self._row - 1]

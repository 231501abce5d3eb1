"""Simulated force sensors: from data sheet, from strain gauges, and with every fault switchable."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from farhand.errors import BadValue
from farhand.parameters import parameter
from farhand.sensing.profile import Load, Mounting, SensorProfile, rotation_about_z
from farhand.sensing.thermal import Thermometer, Warming
from farhand.spatial import adjoint, skew

Array = np.ndarray

NOISE_BLOCK = 2048
"""Samples of noise that are drawn at once."""

OVERHEAT = 120.0
"""Temperature of the sensor's own overheat flag, sources/hazardous §2.5 [S], [°C]."""


class ForceSensor:
    r"""A sensor between arm and tool, with the errors of its data sheet.

    .. math:: w = \sigma\,\big(\mathrm{Ad}_{T_{bs}}^\top\, h_b + w_g(R_s)\big) + b + d + n, \qquad
              \mathrm{counts} = \mathrm{clip}(\mathrm{round}(w / \mathrm{resolution}))

    h_b is the contact wrench in tool axes at the tool point, T_bs the sensor's pose in the tool
    frame, w_g the weight of the sensor's internals and of the load, b the static bias, d a random
    walk and n white noise. The inertia of the load is left out: the model is for tools that
    accelerate far less than gravity.

    One sample or many at once: wrenches 6 or n × 6, rotations 3 × 3 or n × 3 × 3, equally spaced in
    time.

    Args:
        profile: the sensor's data sheet.
        mounting: where it sits on the tool.
        load: on it beside its own internals.
        bias: static offset b, [N] ×3 and [N·m] ×3; none by default.
        gravity: downward acceleration, [m/s²].
        rng: source of noise and drift; needed unless the profile is silent.
    """

    def __init__(
        self,
        profile: SensorProfile,
        mounting: Mounting | None = None,
        load: Load | None = None,
        *,
        bias: Array | None = None,
        gravity: float = 9.81,
        rng: np.random.Generator | None = None,
    ) -> None:
        if rng is None and (profile.noise.any() or profile.drift.any()):
            need = "needs a random generator (or profile.silent())"
            raise BadValue(f"sensor {profile.name!r} has noise and {need}")
        mounting, load = mounting or Mounting(), profile.internals + (load or Load())
        self.profile = profile
        self.bias = np.zeros(6) if bias is None else np.array(bias, dtype=float)
        self.drift = np.zeros(6)  #: d after the last sample, [N] and [N·m]
        self._rng = rng
        self._noisy = bool(profile.noise.any())
        self._drifts = bool(profile.drift.any())
        # Maps for rows: h_bᵀ to wᵀ, and world z in tool axes to the weight as read.
        self._contact = mounting.sign * adjoint(mounting.rotation, mounting.position)
        weight = -mounting.sign * load.mass * gravity * mounting.rotation
        self._per_up = np.hstack([weight, weight @ skew(load.com).T])
        self._per_unit = 1.0 / profile.resolution

    def read(
        self, wrench_contact_in_world: Array, rotation_tool_in_world: Array, dt: float | None = None
    ) -> Array:
        """Raw counts, whole numbers.

        Args:
            wrench_contact_in_world: by hand or environment on the tool, world axes at the tool
                point, [N], [N·m].
            rotation_tool_in_world: rotation matrix of the tool.
            dt: time since the sample before, [s]; one period of the sensor by default.
        """
        wrench, rotation = np.asarray(wrench_contact_in_world), np.asarray(rotation_tool_in_world)
        # Rows times R are Rᵀ f and Rᵀ τ.
        in_tool = np.matmul(wrench.reshape(*wrench.shape[:-1], 2, 3), rotation)
        shape = in_tool.shape[:-2]
        reading = in_tool.reshape(*shape, 6) @ self._contact
        reading += rotation[..., 2, :] @ self._per_up
        reading += self.bias
        if self._drifts:
            reading += self._wander(shape, 1.0 / self.profile.rate if dt is None else dt)
        if self._noisy:
            assert self._rng is not None
            reading += self._rng.standard_normal((*shape, 6)) * self.profile.noise
        reading *= self._per_unit
        np.rint(reading, out=reading)
        limit = self.profile.counts
        return np.minimum(np.maximum(reading, -limit, out=reading), limit, out=reading)

    def rest(self, seconds: float) -> None:
        """Let time pass without a sample; only the drift goes on."""
        if self._drifts:
            self._wander((), seconds)

    def _wander(self, shape: tuple[int, ...], dt: float) -> Array:
        assert self._rng is not None
        steps = self._rng.standard_normal((*shape, 6)) * (self.profile.drift * np.sqrt(dt / 3600.0))
        walk = self.drift + (steps.cumsum(axis=0) if shape else steps)
        if walk.size:
            self.drift[:] = walk[-1] if shape else walk
        return walk


def pink(n: int, rate: float, lowest: float, rng: np.random.Generator, channels: int = 6) -> Array:
    """Noise, n × channels, of unit variance and 1/f power spectrum above ``lowest`` [Hz].

    There is none below that frequency, and none at all if it is beyond half the ``rate`` [Hz].
    """
    frequency = np.fft.rfftfreq(n, 1.0 / rate)
    shape = np.zeros(len(frequency))
    band = frequency >= max(lowest, frequency[1] if n > 1 else 0.0)
    shape[band] = frequency[band] ** -0.5
    spectrum = np.fft.rfft(rng.standard_normal((n, channels)), axis=0) * shape[:, None]
    expected = np.sqrt(2.0 * np.sum(shape**2) / n)  # of unit white noise through this shape
    return np.fft.irfft(spectrum, n, axis=0) / (expected or 1.0)


@dataclass(frozen=True)
class NoiseModel:
    r"""Six channels of noise whose size follows the acceleration of the arm's joints.

    .. math:: \sigma_i = \sqrt{s_i^2 + (d_i^2 - s_i^2)\,a^2}, \qquad
              a = \min(|\ddot q| / |\ddot q|_{max}, 1)
    """

    static: Array  #: s, standard deviation at rest, [N] and [N·m]
    dynamic: Array  #: d, at full acceleration
    lowest: float = 5.0  #: lower edge of the flicker's band, [Hz]
    white: float = 0.0  #: share of the variance that is white, [-]
    hum: float = 0.0  #: amplitude of a line at 50 Hz as a share of ``static``, [-]; 0 on a battery

    def sigma(self, acceleration: Array) -> Array:
        """Standard deviations, n × 6, for n accelerations relative to the largest, [-]."""
        a = np.clip(np.abs(acceleration), 0.0, 1.0)
        return np.sqrt(self.static**2 + np.multiply.outer(a**2, self.dynamic**2 - self.static**2))

    def sample(self, acceleration: Array, rate: float, rng: np.random.Generator) -> Array:
        """Samples, n × 6, [N] and [N·m], for n accelerations at ``rate`` samples per second."""
        n = len(acceleration)
        shape = pink(n, rate, self.lowest, rng)
        if self.white > 0.0:
            white = rng.standard_normal((n, 6))
            shape = np.sqrt(1.0 - self.white) * shape + np.sqrt(self.white) * white
        noise = self.sigma(acceleration) * shape
        if self.hum > 0.0:
            phase = 2.0 * np.pi * (50.0 / rate * np.arange(n) + rng.random())
            noise += self.hum * np.multiply.outer(np.sin(phase), self.static)
        return noise


@dataclass
class SensorFaults:
    """Faults of a wrist sensor; each switch removes one of them."""

    biased: bool = parameter(True, "-", "whether the sensor has a bias")
    loaded: bool = parameter(True, "-", "whether a tool hangs on the sensor")
    noisy: bool = parameter(True, "-", "whether the sensor is noisy at rest")
    shaken: bool = parameter(True, "-", "whether the arm's acceleration shakes the sensor")
    warming: bool = parameter(True, "-", "whether the sensor warms up and drifts")
    bias: Array = parameter(
        (14.0, -9.0, 5.0, 0.4, -0.3, 0.1), "N, N·m", "bias when cold", -200.0, 200.0
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
        self.refresh()

    def refresh(self) -> None:
        """Recompute what depends on the parameters."""
        still = self.noise_still * self.noisy
        shaken = np.maximum(self.noise_shaken, still) if self.shaken else still
        self.noise = NoiseModel(still, shaken)
        final = self.final if self.warming else self.ambient
        self.warmth = Warming(self.ambient, final, self.heating)
        self.load = Load(self.mass * self.loaded, np.array(self.com))
        self.offset = self.bias * self.biased


class ImperfectSensor:
    r"""Raw counts of a strain-gauge sensor at the wrist, one sample at a time.

    .. math:: w = w_c + w_g(R) + b + a\,(T - T_0) + \sigma(\ddot q)\,n

    w_c is the contact, w_g the weight of internals and tool, b the bias, T the temperature and n
    noise with a 1/f spectrum whose size follows the acceleration of the joints.

    Args:
        profile: the data sheet; ``faults`` replaces its noise and drift.
        faults: of the sensor; may change at any time.
        gravity: downward acceleration, [m/s²].
        rng: source of noise and of the thermometer's flicker.

    Attributes:
        acceleration: of the joints relative to their largest at the next sample, [-]; set it before
            each sample.
        temperature: of the sensor, [°C].
        reading: of the thermometer on it, [°C].
    """

    def __init__(
        self,
        profile: SensorProfile,
        faults: SensorFaults,
        gravity: float = 9.81,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.profile = profile
        self.faults = faults
        self.acceleration = 0.0
        self.temperature = self.reading = faults.ambient
        self._gravity = gravity
        self._rng = rng or np.random.default_rng(0)
        self._thermometer = Thermometer()
        self._noise = np.zeros((0, 6))
        self._row = 0
        self._lowest = 0.0
        self._load: Load | None = None
        self._time = self._next_conversion = 0.0

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
        """The perfect sensor inside, rebuilt when the tool changes."""
        if self._load is not self.faults.load:
            self._load = self.faults.load
            silent = self.profile.silent()
            self._inside = ForceSensor(silent, None, self._load, gravity=self._gravity)
        return self._inside

    def _warm(self, dt: float) -> None:
        """Let time pass; the thermometer converts now and then."""
        self._time += dt
        faults = self.faults
        self.temperature = float(faults.warmth.at(np.array(self._time)))
        if self._time >= self._next_conversion:
            self._next_conversion = self._time + self._thermometer.conversion
            time, temperature = np.array([self._time]), np.array([self.temperature])
            self.reading = float(self._thermometer.stream(time, temperature, self._rng)[0])

    def _draw(self) -> Array:
        """One row of noise of unit variance; drawn in blocks."""
        if self._row >= len(self._noise) or self._lowest != self.faults.noise_lowest:
            self._lowest = self.faults.noise_lowest
            self._noise, self._row = (
                pink(NOISE_BLOCK, self.profile.rate, self._lowest, self._rng),
                0,
            )
        self._row += 1
        return self._noise[self._row - 1]


def play(values: Array, width: Array) -> Array:
    """Play operator along the first axis of n × c: the output lags by half the width, c numbers."""
    half = 0.5 * np.broadcast_to(width, np.shape(values)[1:])
    out = np.array(values, dtype=float)
    state = out[0].copy()
    for k in range(1, len(out)):
        np.maximum(state, out[k] - half, out=state)
        np.minimum(state, out[k] + half, out=state)
        out[k] = state
    return out


@dataclass
class GaugeSensor:
    r"""Six raw dimensionless values whose calibration matrix gives the wrench.

    .. math:: SG = M^{-1}\,\big(h(w_g + w_c) + b + a\,(T - T_0) + n\big), \qquad w = M \cdot SG

    w_g is the tool's weight, w_c the contact, h a play operator, b the bias, a the thermal slope
    and n the noise.
    """

    matrix: Array = field(default_factory=lambda: np.eye(6))  #: M, 6 × 6, [N] and [N·m] per unit
    load: Load = field(default_factory=Load)
    bias: Array = field(default_factory=lambda: np.zeros(6))  #: b at T₀, [N] and [N·m]
    noise: NoiseModel | None = None
    hysteresis: Array = field(default_factory=lambda: np.zeros(6))  #: width of the loop per axis
    slope: Array = field(default_factory=lambda: np.zeros(6))  #: a, [N/°C] and [N·m/°C]
    reference: float = 21.0  #: T₀, [°C]
    yaw: float = 0.0  #: from the last joint's axes to the sensor's, about the common z axis, [rad]
    sign: float = 1.0  #: +1 if the sensor reports what acts on it, −1 if the reaction
    limit: float = np.inf  #: largest raw value, [-]; none by default
    step: float = 0.0  #: resolution of a raw value, [-]; none by default
    gravity: float = 9.81  #: [m/s²]

    def __post_init__(self) -> None:
        if np.shape(self.matrix) != (6, 6) or not np.linalg.cond(self.matrix) < 1e8:
            raise BadValue("the calibration matrix of a force sensor must be 6 × 6 and invertible")
        self._inverse = np.linalg.inv(self.matrix)

    def axes(self, rotations: Array) -> Array:
        """Sensor axes in the base, n × 3 × 3, from those of the last joint."""
        return rotations @ rotation_about_z(self.yaw)

    def weight(self, rotations: Array) -> Array:
        """Reading of the load, n × 6, in sensor axes."""
        force = -self.load.mass * self.gravity * self.axes(rotations)[:, 2, :]
        return np.hstack([force, np.cross(self.load.com, force)])

    def wrench(self, rotations: Array, contact_in_base: Array | None = None) -> Array:
        """Weight and contact without any error, n × 6, in sensor axes and the sensor's sign."""
        total = self.weight(rotations)
        if contact_in_base is not None:
            rows = np.broadcast_to(contact_in_base, (len(rotations), 6)).reshape(-1, 2, 3)
            total = total + np.matmul(rows, self.axes(rotations)).reshape(-1, 6)
        return self.sign * total

    def read(
        self,
        rotations: Array,
        contact_in_base: Array | None = None,
        *,
        temperature: Array | float | None = None,
        acceleration: Array | float = 0.0,
        rate: float = 500.0,
        rng: np.random.Generator | None = None,
    ) -> Array:
        """Raw readings, n × 6, [-].

        Args:
            rotations: n × 3 × 3, the last joint's axes in the base.
            contact_in_base: by the environment on the tool, base axes about the sensor's origin,
                [N] and [N·m].
            temperature: of the sensor, [°C]; the reference by default.
            acceleration: of the joints relative to the largest, [-].
            rate: samples per second, [Hz].
            rng: source of the noise.
        """
        n = len(rotations)
        total = self.wrench(rotations, contact_in_base)
        if self.hysteresis.any():
            total = play(total, self.hysteresis)
        total = total + self.bias
        if temperature is not None:
            total += np.multiply.outer(np.broadcast_to(temperature, n) - self.reference, self.slope)
        if self.noise is not None:
            if rng is None:
                raise BadValue("a sensor with noise needs a random generator")
            total += self.noise.sample(np.broadcast_to(acceleration, n), rate, rng)
        raw = total @ self._inverse.T
        if self.step > 0.0:
            raw = np.rint(raw / self.step) * self.step
        return np.clip(raw, -self.limit, self.limit)

    def convert(self, raw: Array) -> Array:
        """The wrench that raw values stand for, n × 6, [N] and [N·m]."""
        return raw @ self.matrix.T

"""Strain gauges: a force sensor from the inside, with calibration matrix, hysteresis, heat, noise, range and steps."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from farhand.errors import BadValue
from farhand.sensing.noise import NoiseModel
from farhand.sensing.profile import Load

Array = np.ndarray


def play(values: Array, width: Array) -> Array:
    """Play operator along the first axis: the output follows only when the input has moved by half the width.

    Args:
        values: n × c.
        width: full width of the loop, c numbers, same unit.
    """
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

    Attributes:
        matrix: M, 6 × 6, [N] and [N·m] per unit.
        load: what hangs on the sensor.
        bias: b at the reference temperature, [N] and [N·m].
        noise: the noise, none by default.
        hysteresis: width of the loop per axis, [N] and [N·m].
        slope: a, [N/°C] and [N·m/°C].
        reference: T₀, [°C].
        yaw: from the last joint's axes to the sensor's, about the common z axis, [rad].
        sign: +1 if the sensor reports what acts on it, −1 if the reaction.
        limit: largest raw value, [-]; none by default.
        step: resolution of a raw value, [-]; none by default.
        gravity: [m/s²].
    """

    matrix: Array = field(default_factory=lambda: np.eye(6))
    load: Load = field(default_factory=Load)
    bias: Array = field(default_factory=lambda: np.zeros(6))
    noise: NoiseModel | None = None
    hysteresis: Array = field(default_factory=lambda: np.zeros(6))
    slope: Array = field(default_factory=lambda: np.zeros(6))
    reference: float = 21.0
    yaw: float = 0.0
    sign: float = 1.0
    limit: float = np.inf
    step: float = 0.0
    gravity: float = 9.81

    def __post_init__(self) -> None:
        """Refuse a matrix that gives no wrench."""
        if np.shape(self.matrix) != (6, 6) or not np.linalg.cond(self.matrix) < 1e8:
            raise BadValue("the calibration matrix of a force sensor must be 6 × 6 and invertible")
        self._inverse = np.linalg.inv(self.matrix)

    def axes(self, rotations: Array) -> Array:
        """Sensor axes in the base, n × 3 × 3, from those of the last joint."""
        c, s = np.cos(self.yaw), np.sin(self.yaw)
        return rotations @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])

    def weight(self, rotations: Array) -> Array:
        """What the load reads, n × 6, in sensor axes."""
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

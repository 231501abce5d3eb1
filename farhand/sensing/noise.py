"""Noise of a force sensor: flicker, white, mains hum, and vibration that comes with the arm's acceleration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray


def pink(n: int, rate: float, lowest: float, rng: np.random.Generator, channels: int = 6) -> Array:
    """Noise, n × channels, with a 1/f power spectrum above ``lowest``, nothing below it, and unit variance.

    There is none if the band lies beyond half the rate.

    Args:
        n: samples.
        rate: samples per second, [Hz].
        lowest: lower edge of the band, [Hz].
        rng: source of randomness.
        channels: independent columns.
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

    .. math:: \sigma_i = \sqrt{s_i^2 + (d_i^2 - s_i^2)\,a^2}, \qquad a = \min(|\ddot q| / |\ddot q|_{max}, 1)

    Attributes:
        static: s, standard deviation at rest, [N] and [N·m].
        dynamic: d, at full acceleration.
        lowest: lower edge of the flicker's band, [Hz].
        white: share of the variance that is white, [-].
        hum: amplitude of a line at 50 Hz as a share of ``static``, [-]; 0 on a battery.
    """

    static: Array
    dynamic: Array
    lowest: float = 5.0
    white: float = 0.0
    hum: float = 0.0

    def sigma(self, acceleration: Array) -> Array:
        """Standard deviations, n × 6, for n accelerations relative to the largest, [-]."""
        a = np.clip(np.abs(acceleration), 0.0, 1.0)
        return np.sqrt(self.static**2 + np.multiply.outer(a**2, self.dynamic**2 - self.static**2))

    def sample(self, acceleration: Array, rate: float, rng: np.random.Generator) -> Array:
        """Samples, n × 6, [N] and [N·m], for n accelerations at ``rate`` samples per second."""
        n = len(acceleration)
        flicker = pink(n, rate, self.lowest, rng)
        shape = flicker
        if self.white > 0.0:
            shape = np.sqrt(1.0 - self.white) * flicker + np.sqrt(self.white) * rng.standard_normal(
                (n, 6)
            )
        noise = self.sigma(acceleration) * shape
        if self.hum > 0.0:
            phase = 2.0 * np.pi * (50.0 / rate * np.arange(n) + rng.random())
            noise += self.hum * np.multiply.outer(np.sin(phase), self.static)
        return noise

"""Recordings of an imagined sensor with a known truth, for the tests of identification and
compensation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from farhand.sensing import Readings

NOISE = np.repeat([0.3, 0.01], 3)


@dataclass(frozen=True)
class Truth:
    """What hangs on the imagined sensor."""

    mass: float
    com: np.ndarray
    bias: np.ndarray

    @property
    def values(self) -> np.ndarray:
        """In the order of a tool's covariance."""
        return np.concatenate([[self.mass], self.com, self.bias])


def random_truth(rng: np.random.Generator) -> Truth:
    """Any tool between 0.2 and 5 kg, any bias within ± 30 N."""
    bias = np.concatenate([rng.uniform(-30.0, 30.0, 3), rng.uniform(-1.0, 1.0, 3)])
    return Truth(float(rng.uniform(0.2, 5.0)), rng.uniform(-0.1, 0.1, 3), bias)


def reads(
    truth: Truth, rotations: Rotation, noise: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """The wrench as the convention states it: Rᵀ (0, 0, −m g) plus bias, torque by the cross
    product as written.
    """
    weight = rotations.inv().apply([0.0, 0.0, -9.81 * truth.mass])
    exact = np.hstack([weight, np.cross(truth.com, weight)]) + truth.bias
    return exact + noise * rng.standard_normal(exact.shape)


def recording(
    truth: Truth,
    poses: Rotation,
    count: int,
    rng: np.random.Generator,
    noise: np.ndarray = NOISE,
    dt: float = 0.01,
) -> Readings:
    """``count`` readings in each pose."""
    quaternion = np.repeat(poses.as_quat(), count, axis=0)
    wrench = reads(truth, Rotation.from_quat(quaternion), noise, rng)
    return Readings(dt * np.arange(len(quaternion)), quaternion, wrench)

"""Demonstrations made up for tests: a reach with a push in its middle, no two alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from farhand.learning.demonstration import DemonstratedRobot, Demonstration
from farhand.spatial import rotation_from_vector

ROBOT = DemonstratedRobot("dual-arm", "follower", "ur5e", ("a", "b"))


def made_up(seed: int, robot: DemonstratedRobot = ROBOT) -> Demonstration:
    """A reach of 0.3 m in x with a bow in y and 20 N in its middle, with a timing of its own."""
    rng = np.random.default_rng(seed)
    duration = 2.0 * rng.uniform(0.8, 1.2)
    times = np.linspace(0.0, duration, 800)
    s = times / duration
    s = s + rng.uniform(-0.12, 0.12) * np.sin(np.pi * s) ** 2  # a timing of its own
    reach = 10 * s**3 - 15 * s**4 + 6 * s**5
    bow = rng.normal(0.1, 0.004)
    position = np.stack(
        [0.3 * reach, bow * np.sin(np.pi * reach), np.full_like(s, 0.2) + rng.normal(0, 0.001)],
        axis=1,
    )
    turn = np.outer(reach, [0.0, 0.0, 0.5])
    force = np.zeros_like(position)
    force[:, 0] = -20.0 * np.exp(-0.5 * ((reach - 0.5) / 0.12) ** 2)
    rotation = np.stack([rotation_from_vector(v) for v in turn])
    return Demonstration(Path(f"demo{seed}.mcap"), robot, times, position, rotation, force)


def pressing(seed: int) -> Demonstration:
    """0.3 m in x to a wall of 5000 N/m, 0.2 m along y under 20 N, and back; 4 s or so."""
    rng = np.random.default_rng(seed)
    times = np.linspace(0.0, 4.0 * rng.uniform(0.9, 1.1), 800)
    s = times / times[-1]
    u = np.clip([s / 0.25, (s - 0.3) / 0.4, (s - 0.75) / 0.25], 0.0, 1.0)
    there, along, back = 10 * u**3 - 15 * u**4 + 6 * u**5
    x = 0.304 * (there - back)
    force = np.zeros((800, 3))
    force[:, 0] = -5000.0 * np.maximum(0.0, x - 0.3)
    position = np.stack([x, rng.normal(0.2, 0.004) * along, np.full(800, 0.2)], axis=1)
    return Demonstration(
        Path(f"press{seed}.mcap"), ROBOT, times, position, np.tile(np.eye(3), (800, 1, 1)), force
    )


@pytest.fixture(scope="session")
def shown() -> list[Demonstration]:
    """Six demonstrations."""
    return [made_up(seed) for seed in range(6)]

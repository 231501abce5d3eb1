"""Logs of joints whose friction is known: any motion, ticks, noise and faults."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter1d

from farhand.friction import Friction, make
from farhand.friction.fit.data import JointLog, make_log

TICK = 2.0 * np.pi / 4000
MOTIONS = ("sine", "sweep", "steps", "random")


@dataclass(frozen=True)
class Joint:
    """The truth."""

    coulomb: float = 0.06
    breakaway: float = 0.11
    stribeck_velocity: float = 0.12
    shape: float = 1.5
    viscous: float = 0.03
    inertia: float = 0.012

    @property
    def friction(self) -> Friction:
        """Its curve."""
        return make(
            "kfm",
            coulomb=self.coulomb,
            breakaway=self.breakaway,
            stribeck_velocity=self.stribeck_velocity,
            shape=self.shape,
            viscous=self.viscous,
        )


def motion(kind: str, time: np.ndarray, fastest: float, rng: np.random.Generator) -> np.ndarray:
    """A velocity, [rad/s]."""
    rate = 1.0 / (time[1] - time[0])
    if kind == "sine":
        return fastest * np.sin(2.0 * np.pi * 0.3 * time)
    if kind == "sweep":
        return fastest * np.sin(2.0 * np.pi * (0.05 * time + 1.5 / time[-1] * time**2 / 2.0))
    if kind == "random":
        noise = gaussian_filter1d(rng.standard_normal(len(time)), 0.15 * rate)
        return fastest / 3.0 * noise / noise.std()
    if kind == "one-way":
        return fastest * (0.55 + 0.45 * np.sin(2.0 * np.pi * 0.2 * time))
    if kind == "constant":
        return np.full(len(time), fastest) * np.minimum(time / 0.5, 1.0)
    levels = np.concatenate([np.geomspace(0.01, 1.0, 12), -np.geomspace(0.01, 1.0, 12)]) * fastest
    rng.shuffle(levels)
    held = levels[np.minimum((24 * time / time[-1]).astype(int), 23)]
    return gaussian_filter1d(held, 0.05 * rate)


def log(
    joint: Joint,
    kind: str = "random",
    *,
    rate: float = 1000.0,
    seconds: float = 60.0,
    fastest: float = 5.0,
    tick: float = TICK,
    noise: float = 0.02,
    offset: float = 0.0,
    seed: int = 0,
) -> JointLog:
    """What a logger would have written; velocity is the difference of ticks."""
    rng = np.random.default_rng(seed)
    time = np.arange(0.0, seconds, 1.0 / rate)
    v = motion(kind, time, fastest, rng)
    torque = joint.inertia * np.gradient(v, time) + joint.friction.steady(v)
    position = np.concatenate([[0.0], np.cumsum(0.5 * (v[1:] + v[:-1]) / rate)])
    position = np.round(position / tick) * tick if tick else position
    torque = torque + noise * np.sqrt(np.mean(torque**2)) * rng.standard_normal(len(time)) + offset
    seen = np.diff(position, prepend=position[0]) * rate
    return make_log(np.column_stack([time, position, seen, torque]))

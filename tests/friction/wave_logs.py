"""Logs of a joint along smooth motion and along stairs of speeds, with an encoder of 65,536
ticks.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.signal import lfilter

from farhand.friction import make
from farhand.friction.fit.data import JointLog, make_log
from farhand.friction.fit.fit import Fit
from farhand.friction.fit.motion import Motion

TICK = 2.0 * np.pi / 65536
SPEEDS = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.0)


class Wave:
    """The truth, [N·m], [N·m·s/rad], [kg·m²]."""

    coulomb, viscous, inertia = 0.5, 0.2, 0.05


def said(found: Fit, *words: str) -> bool:
    """Whether one line has all these words."""
    return any(all(word in line for word in words) for line in found.warnings)


def waves(rng: np.random.Generator, time: np.ndarray, size: float = 1.0) -> tuple[np.ndarray, ...]:
    """Position, velocity and acceleration of four sines up to 0.83 Hz and about 3 rad/s."""
    omega, phase = (
        2.0 * np.pi * np.array([[0.11], [0.29], [0.53], [0.83]]),
        rng.uniform(0.0, 6.0, (4, 1)),
    )
    way, angle = size * np.array([[1.2], [0.6], [0.35], [0.2]]), omega * time + phase
    x, v = (way * np.sin(angle)).sum(axis=0), (way * omega * np.cos(angle)).sum(axis=0)
    return x, v, -(way * omega**2 * np.sin(angle)).sum(axis=0)


def friction(
    v: np.ndarray, peak: float = 0.0, shape: float = 2.0, forward: float = 1.0, back: float = 1.0
) -> np.ndarray:
    """Steady friction of the joint, [N·m], with a peak over 0.1 rad/s; each direction times its own
    factor.
    """
    dry = Wave.coulomb + peak * np.exp(-(np.abs(v / 0.1) ** shape))
    return (np.sign(v) * dry + Wave.viscous * v) * np.where(v > 0.0, forward, back)


def logged(
    time: np.ndarray, x: np.ndarray, torque: np.ndarray, noise: np.ndarray, tick: float = TICK
) -> JointLog:
    """What a logger writes; velocity is the difference of ticks."""
    x = np.round(x / tick) * tick
    return make_log(np.column_stack([time, x, np.gradient(x, time), torque + noise]))


def wave(
    seed: int = 0,
    seconds: float = 20.0,
    late: float = 0.0,
    noise: float = 0.02,
    memory: float = 0.0,
    **curve: float,
) -> JointLog:
    """Smooth motion at 500 Hz, torque late by so many seconds, noise with a memory of so many
    seconds.
    """
    rng, time = np.random.default_rng(seed), np.arange(0.0, seconds, 2e-3)
    x, v, a = waves(rng, time)
    torque = np.interp(time - late, time, Wave.inertia * a + friction(v, **curve))
    keep = np.exp(-2e-3 / memory) if memory else 0.0
    rough = lfilter([np.sqrt(1.0 - keep**2)], [1.0, -keep], rng.standard_normal(len(time)))
    return logged(time, x, torque, noise * rough)


def stairs(seed: int = 0, noise: float = 0.02, **curve: float) -> JointLog:
    """Steady speeds both ways, 3 s each, at 500 Hz."""
    rng, kernel = np.random.default_rng(seed), np.hanning(50)
    held = np.repeat([way * speed for speed in SPEEDS for way in (1.0, -1.0)], 750)
    v = np.convolve(held, kernel / kernel.sum(), "same")
    time = 2e-3 * np.arange(len(v))
    x = np.concatenate([[0.0], np.cumsum(1e-3 * (v[1:] + v[:-1]))])
    torque = Wave.inertia * np.gradient(v, time) + friction(v, **curve)
    return logged(time, x, torque, noise * rng.standard_normal(len(time)))


def bristly(size: float, seconds: float, seed: int = 0, stiffness: float = 1000.0) -> JointLog:
    """The joint with LuGre friction along smooth motion of that size, at 1 kHz, encoder of 2²²
    ticks.
    """
    rng, time = np.random.default_rng(seed), np.arange(0.0, seconds, 1e-3)
    x, v, a = waves(rng, time, size)
    truth = {
        "coulomb": Wave.coulomb,
        "breakaway": 0.8,
        "stribeck_velocity": 0.1,
        "shape": 2.0,
        "viscous": Wave.viscous,
    }
    joint = make("lugre", **truth, stiffness=stiffness, damping=0.5)
    torque = Wave.inertia * a + np.array([joint.step(np.array([one]), 1e-3)[0] for one in v])
    return logged(time, x, torque, 0.005 * rng.standard_normal(len(time)), TICK / 64)


def swung(seconds: float = 10.0, step: float = 5e-3, **changes) -> Motion:
    """Two sines, known exactly."""
    time = step * np.arange(round(seconds / step))
    way, w = np.array([[1.2], [0.4]]), 2.0 * np.pi * np.array([[0.11], [0.37]])
    angle = w * time + np.array([[0.3], [2.0]])
    v = (way * w * np.cos(angle)).sum(axis=0)
    a = -(way * w**2 * np.sin(angle)).sum(axis=0)
    n = len(time)
    motion = Motion(
        *(time, (way * np.sin(angle)).sum(axis=0), v, a, np.zeros(n)),
        piece=np.zeros(n, dtype=int),
        step=step,
        bandwidth=20.0,
        min_speed=1e-3,
        tick=0.0,
        source="position",
        rate=200.0,
    )
    return replace(motion, **changes)

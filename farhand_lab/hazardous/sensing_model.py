"""What the force-sensor experiments share: published sensor and tools, the arm's wrist, its arc, a task's motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from farhand.sensing import GaugeSensor, Load, NoiseModel, Readings, ToolCalibration, identify_arc
from farhand.sensing.arc import Arc, ArcResult, calibration_arc

Array = np.ndarray

GRAVITY = 9.81
RATE = 500.0
"""Samples per second of the F/T sensor, [Hz]: assumed, sources/hazardous §1.3."""

STATIC = np.array([0.1374, 0.1283, 0.1344, 0.0065, 0.0074, 0.0015])
DYNAMIC = np.array([2.4862, 2.4726, 2.5888, 0.191, 0.2184, 0.0342])
"""Standard deviations at rest and at full speed, thesis Table 3.1, [N] and [N·m]."""

NOISE = NoiseModel(STATIC, DYNAMIC, lowest=5.0)
REST = NoiseModel(STATIC, STATIC, lowest=0.1, white=0.1)
"""At rest flicker reaches further down and a little is white (thesis §3.3.1): harder to
average than vibration."""

R = DYNAMIC**2
Q = 2.5e-4 * R
"""Kalman variances per sample, sources/hazardous §3.14."""

SLOPE = np.array([0.175, 0.044, 1.26, 0.0052, 0.00043, 0.00075])
"""Thermal slopes, derived from thesis Table 3.3 in sources/hazardous §2.8, [N/°C] and [N·m/°C]."""

SEE = np.array([0.1823, 0.3249, 1.6269, 0.0173, 0.01242, 0.0038])
R_SQUARED = np.array([0.9795, 0.4885, 0.9689, 0.8238, 0.05827, 0.667])
"""Standard error and R² of the bias over temperature, thesis Table 3.3."""

TOOLS = {"none": (1.5, 0.02), "2F-140": (11.0, 0.07), "PG 070": (14.0, 0.06)}
"""Weight [N] and lever arm [m]: weights of the grippers from the thesis, the rest
assumed, sources/hazardous §2.6."""

HYSTERESIS = np.array([0.3, 0.3, 0.3, 0.01, 0.01, 0.01])
"""Width of the loop, the lower end of what sources/hazardous §3.12 assumes, [N] and [N·m]."""

POSITION_ERROR = np.deg2rad(0.5)
LIMITS = np.deg2rad(np.tile([-160.0, 160.0], (6, 1)))
LEVEL = np.deg2rad([0.0, 45.0, -45.0, 0.0, 0.0, 0.0])
"""Forearm horizontal, elbow above."""

_ALPHA = np.array([-0.5, 1.0, -0.5, 0.5, -0.5, 0.0]) * np.pi
_OFFSET = np.array([0.0, -0.5, -0.5, 0.0, 0.0, 0.0]) * np.pi


def wrist(q: Array) -> Array:
    """Axes of the last joint in the base, from the thesis's Denavit–Hartenberg Table 2.1; n × 6 gives n × 3 × 3."""
    q = np.atleast_2d(q)
    turn = np.broadcast_to(np.eye(3), (len(q), 3, 3))
    for joint in range(6):
        step = Rotation.from_euler(
            "z", q[:, joint : joint + 1] + _OFFSET[joint]
        ) * Rotation.from_euler("x", _ALPHA[joint])
        turn = turn @ step.as_matrix()
    return turn


def arc(roll: float = 0.0) -> Arc:
    """The published calibration arc: forearm horizontal, J5 sweeps ± 140° with a stop at every degree."""
    posture = LEVEL.copy()
    posture[5] = roll
    return calibration_arc(lambda q: wrist(q)[0], posture, 4, LIMITS)


ARC = arc()
READINGS = 100
"""Readings at each stop."""


def load(tool: str) -> Load:
    """Mass and centre of mass of one of the published tools."""
    weight, lever = TOOLS[tool]
    return Load(weight / GRAVITY, np.array([0.0, 0.0, lever]))


def bias(rng: np.random.Generator) -> Array:
    """Any bias within ± 30 N and ± 1 N·m."""
    return np.concatenate([rng.uniform(-30.0, 30.0, 3), rng.uniform(-1.0, 1.0, 3)])


def sweep(
    sensor: GaugeSensor,
    rng: np.random.Generator,
    sloppy: float = 0.0,
    temperature: Array | float | None = None,
    path: Arc = ARC,
) -> Array:
    """Mean readings at the stops of an arc, with 100 readings each, 281 × 6, [N] and [N·m].

    Args:
        sensor: with its errors.
        rng: source of noise.
        sloppy: standard deviation of the joint at each stop, [rad].
        temperature: of the sensor, one or one per stop, [°C].
        path: the arc.
    """
    tilt = sloppy * rng.standard_normal(len(path.angle))
    across = np.cross(path.rotations[:, :, 2], [0.0, 0.0, 1.0])
    across /= np.linalg.norm(across, axis=1)[:, None]
    turned = Rotation.from_rotvec(tilt[:, None] * across).as_matrix() @ path.rotations
    exact = replace(sensor, noise=None)
    means = exact.convert(exact.read(turned, temperature=temperature))
    # the sensor has no steps and no range here, so the noise of a mean is the mean noise
    if sensor.noise is not None:
        noise = sensor.noise.sample(np.zeros(len(tilt) * READINGS), RATE, rng)
        means += noise.reshape(-1, READINGS, 6).mean(axis=1)
    return means


def tool_of(found: ArcResult, yaw: float = 0.0) -> ToolCalibration:
    """The result of an arc in the form that compensation takes."""
    com = np.array([0.0, 0.0, found.lever])
    return ToolCalibration(
        found.weight / GRAVITY, com, found.bias[:3], found.bias[3:], np.zeros((10, 10)), yaw=yaw
    )


def calibrated(
    sensor: GaugeSensor, rng: np.random.Generator, sloppy: float, temperature: float | None = None
) -> ToolCalibration:
    """One arc and what the thesis makes of it."""
    return tool_of(identify_arc(ARC.angle, sweep(sensor, rng, sloppy, temperature)), sensor.yaw)


def task_motion(seconds: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Orientations of a task-like motion, n × 3 × 3, and the joints' acceleration relative to the largest, n.

    Three sinusoids per wrist joint with periods of 3 to 12 s and a peak rate of about 1 rad/s.
    """
    t = np.arange(int(seconds * RATE)) / RATE
    q = np.tile(LEVEL, (len(t), 1))
    acceleration = np.zeros((len(t), 6))
    for joint in (3, 4, 5):
        for _ in range(3):
            omega, phase, rate = (
                2.0 * np.pi / rng.uniform(3.0, 12.0),
                rng.uniform(0.0, 6.28),
                rng.uniform(0.1, 0.33),
            )
            q[:, joint] += rate / omega * np.sin(omega * t + phase)
            acceleration[:, joint] -= rate * omega * np.sin(omega * t + phase)
    size = np.linalg.norm(acceleration, axis=1)
    return wrist(q), size / size.max()


def readings_of(wrench: Array, rotations: Array) -> Readings:
    """Readings in the form that compensation takes."""
    quaternion = Rotation.from_matrix(rotations).as_quat()
    return Readings(np.arange(len(wrench)) / RATE, quaternion, wrench)

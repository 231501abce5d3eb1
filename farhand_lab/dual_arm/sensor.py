"""The force sensor and its handle, off line: counts, bias, weight and drift, calibration, grip frame."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from farhand.errors import BadValue
from farhand.sensing import (
    Conditioner,
    ForceSensor,
    Load,
    Mounting,
    Readings,
    SensorProfile,
    ToolCalibration,
    identify,
    load_handle,
    load_sensor,
)
from farhand.sensing import identification as identification_module
from farhand.sensing import profile as profile_module
from farhand.spatial import adjoint, skew, twist_in_parent
from farhand_lab.harness import Finding, experiment, generator
from farhand_lab.mutation import Mutation, patched

Array = np.ndarray

HEX_E, HANDLE = load_sensor("optoforce-hex-e"), load_handle("dual-arm-handle")
GRIP = HANDLE.grip_position
SAMPLES = 100  # published: readings of the start-up's bias, 1 s
FORCES = (26.0, 75.5)  # published: to move freely along x, and where pushing stopped, [N]
HOURS = 4.0  # after which the thesis found a calibration spoilt


@experiment("D-41")
def counts_to_si() -> Finding:
    """Full counts through the conditioner, and every level that a slow sweep of the true wrench makes."""
    full = measured(plain_conditioner(), HEX_E.counts, np.eye(3))
    published = np.repeat([0.1, 0.001], 3)
    error = np.abs(full - [200.0, 200.0, 200.0, 10.0, 10.0, 6.5]) / published
    steps = np.array([_step_of(axis) for axis in range(6)])
    worst = max(float(error.max()), float(np.abs(steps / published - 1.0).max()))
    return Finding(
        worst,
        worst < 1e-9,
        f"steps {steps[0]:.4g} N and {steps[5]:.4g} N·m; largest deviation, in counts",
    )


@experiment("D-42")
def compensation() -> Finding:
    """Ten start-ups with unlike biases; then four hours of drift, and the bias taken anew."""
    rng = generator("D-42")
    # start-up × (fresh, 4 h later, anew) × (force, torque)
    found = np.array([_start_up(rng) for _ in range(10)])
    fresh, old, anew = found.max(axis=0)
    force, torque = np.maximum(fresh, anew)
    return Finding(
        force,
        force < 0.15 and torque < 0.005,
        f"torque {torque:.4f} N·m; after {HOURS:g} h of drift {old[0]:.2f} N until the bias is taken anew",
    )


@experiment("D-43")
def orientation_sweep() -> Finding:
    """Gravity along ±x, ±y, ±z for 1 s each, first the bare sensor, then with the handle, which is the difference."""
    worst = {samples: _worst_sweep(samples) for samples in (SAMPLES // 5, SAMPLES, 4 * SAMPLES)}
    mass, com, bias = worst[SAMPLES]
    others = ", ".join(f"{samples} {m:.2f} %" for samples, (m, _, _) in worst.items())
    note = (
        f"com {com:.2f} mm, bias {bias:.3f} N; worst of 10 sweeps, internals and handle, with the {SAMPLES} readings a "
        f"pose of the published start-up; mass by readings a pose: {others}"
    )
    return Finding(mass, mass < 2.0 and com < 2.0 and bias < 0.1, note)


@experiment("D-52")
def grip_frame() -> Finding:
    """One push told in the frames of twenty grips must read alike; one force at twenty grips must not.

    The pushes are the two published forces. A moment beyond the sensor's capacity must be refused,
    not read wrongly.
    """
    found = [_grips(size) for size in FORCES]
    spread, followed = max(f.spread for f in found), max(f.followed for f in found)
    refused = ", ".join(f"{f.refused} at {size:g} N" for f, size in zip(found, FORCES, strict=True))
    ok = (
        spread < 1e-9
        and followed < 0.0021
        and min(f.reach for f in found) > 1.0
        and all(f.honest for f in found)
    )
    return Finding(
        spread,
        bool(ok),
        f"forces of {FORCES[0]:g} and {FORCES[1]:g} N at twenty grips within 0.1 m follow r × f within "
        f"{1e3 * followed:.1f} mN·m (rounding); refused as beyond 95 % of capacity: {refused}",
    )


class Grips(NamedTuple):
    """Twenty grips of one force.

    Attributes:
        spread: of one push told in all their frames, [N] and [N·m].
        followed: how far the readings are from r × f, [N·m].
        reach: range of r × f among what is read, [N·m].
        refused: how many are beyond the sensor.
        honest: whether exactly those were refused.
    """

    spread: float
    followed: float
    reach: float
    refused: int
    honest: bool


def _grips(size: float) -> Grips:
    """Push with ``size`` [N] at twenty grips within 0.1 m on each axis."""
    rng = generator("D-52")
    rotation, mounting = (
        Rotation.random(rng=rng).as_matrix(),
        Mounting(GRIP, Rotation.random(rng=rng).as_matrix()),
    )
    sensor = ForceSensor(HEX_E.silent(), mounting, gravity=0.0)
    push = np.array([20.0, -12.0, 15.0, 1.0, -2.0, 0.5])  # in tool axes at the tool point
    push[:3] *= size / np.linalg.norm(push[:3])
    told, off, arms, refused, honest = [], [], [], 0, True
    for _ in range(20):
        grip = replace(
            HANDLE,
            grip_position=rng.uniform(-0.1, 0.1, 3),
            grip_rotation=Rotation.random(rng=rng).as_matrix(),
        )
        same = adjoint(grip.grip_rotation, grip.grip_position).T @ push
        told.append(_reading(sensor, rotation, grip.wrench_in_tool(same)))
        straight = np.concatenate([grip.grip_rotation.T @ push[:3], np.zeros(3)])
        reading = _reading(sensor, rotation, grip.wrench_in_tool(straight))
        moment = mounting.rotation.T @ np.cross(grip.grip_position - mounting.position, push[:3])
        true = np.concatenate([mounting.rotation.T @ push[:3], moment])
        beyond = bool((np.abs(true) >= 0.95 * HEX_E.capacity).any())
        kept = (
            plain_conditioner(limit=0.95).update(reading / HEX_E.resolution, rotation) is not None
        )
        honest, refused = honest and kept != beyond, refused + beyond
        if kept:
            off.append(np.abs(reading[3:] - moment).max())
            arms.append(moment)
    return Grips(
        float(np.ptp(told, axis=0).max()),
        float(max(off)),
        float(np.ptp(arms, axis=0).max()),
        refused,
        honest,
    )


def plain_conditioner(mounting: Mounting | None = None, limit: float = 2.0) -> Conditioner:
    """A conditioner without weight and bias, and without a limit unless one is given as a share of the capacity."""
    conditioner = Conditioner(
        replace(HEX_E, internals=Load()), mounting or Mounting(), gravity=0.0, limit=limit
    )
    conditioner.set_bias(np.zeros(6))
    return conditioner


def measured(conditioner: Conditioner, counts: Array, rotation: Array) -> Array:
    """What a conditioner makes of a reading that must be usable."""
    wrench = conditioner.update(counts, rotation)
    if wrench is None:
        raise BadValue(f"no measurement: {conditioner.reason}")
    return wrench.copy()


def _step_of(axis: int) -> float:
    """The largest deviation from one published step between neighbouring levels of a sweep, as a step, [N] or [N·m]."""
    sensor, conditioner = ForceSensor(HEX_E.silent(), gravity=0.0), plain_conditioner()
    wrenches = np.zeros((201, 6))
    wrenches[:, axis] = np.linspace(-0.005, 0.005, 201) * HEX_E.capacity[axis]
    outputs = [
        measured(conditioner, row, np.eye(3))[axis] for row in sensor.read(wrenches, np.eye(3))
    ]
    levels = np.unique(np.round(outputs, 9))
    steps = np.diff(levels)
    published = 0.1 if axis < 3 else 0.001
    return float(steps[np.argmax(np.abs(steps - published))])


def _start_up(rng: np.random.Generator) -> list[tuple[float, float]]:
    """Largest residuals (force, torque) after start-up, four hours later, and with the bias taken anew."""
    bias = rng.uniform(-1.0, 1.0, 6) * np.repeat([20.0, 0.5], 3)
    sensor = ForceSensor(HEX_E, Mounting(), HANDLE.load, bias=bias, rng=rng)
    conditioner = Conditioner(HEX_E, Mounting(), HANDLE.load)
    _take_bias(sensor, conditioner, rng)
    found = [_residual(sensor, conditioner, rng)]
    sensor.rest(HOURS * 3600.0)
    found.append(_residual(sensor, conditioner, rng))
    conditioner.tare()
    _take_bias(sensor, conditioner, rng)
    return [*found, _residual(sensor, conditioner, rng)]


def _take_bias(sensor: ForceSensor, conditioner: Conditioner, rng: np.random.Generator) -> None:
    rotation = Rotation.random(rng=rng).as_matrix()
    for counts in sensor.read(np.zeros((100, 6)), rotation):
        conditioner.update(counts, rotation)


def _residual(
    sensor: ForceSensor, conditioner: Conditioner, rng: np.random.Generator
) -> tuple[float, float]:
    """Largest mean force [N] and torque [N·m] over 50 orientations, two seconds of motion between them."""
    means = []
    for rotation in Rotation.random(50, rng=rng).as_matrix():
        sensor.rest(2.0)
        readings = sensor.read(np.zeros((20, 6)), rotation)
        means.append(
            np.mean([measured(conditioner, counts, rotation) for counts in readings], axis=0)
        )
    force, torque = (
        np.linalg.norm(part, axis=1).max() for part in np.split(np.array(means), 2, axis=1)
    )
    return float(force), float(torque)


def _worst_sweep(samples: int) -> tuple[float, float, float]:
    """Of ten calibrations: error of a mass [%], of a centre of mass [mm], of the bias [N]."""
    rng = generator("D-43")
    mass, com, bias = np.array([_sweep(rng, samples) for _ in range(10)]).max(axis=0)
    return 100.0 * float(mass), 1e3 * float(com), float(bias)


def _sweep(rng: np.random.Generator, samples: int) -> tuple[float, float, float]:
    """Errors of one calibration: largest relative error of a mass, of a centre of mass [m], of the bias [N]."""
    turns = (
        np.pi / 2.0 * np.array([(0, 0, 0), (2, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0)])
    )
    rotations = Rotation.from_rotvec(turns).as_matrix()
    bias = rng.uniform(-1.0, 1.0, 6) * np.repeat([20.0, 0.5], 3)
    bare, full = (
        _identified(ForceSensor(HEX_E, Mounting(), load, bias=bias, rng=rng), rotations, samples)
        for load in (Load(), HANDLE.load)
    )
    pairs = (bare.load, HEX_E.internals), (full.load - bare.load, HANDLE.load)
    mass = max(abs(fitted.mass / true.mass - 1.0) for fitted, true in pairs)
    com = max(float(np.linalg.norm(fitted.com - true.com)) for fitted, true in pairs)
    return (
        mass,
        com,
        max(float(np.linalg.norm(tool.bias_force - bias[:3])) for tool in (bare, full)),
    )


def _identified(sensor: ForceSensor, rotations: Array, samples: int) -> ToolCalibration:
    """What hangs on a sensor, from so many readings in every orientation."""
    counts = np.concatenate(
        [sensor.read(np.zeros((samples, 6)), rotation) for rotation in rotations]
    )
    quaternions = np.repeat(Rotation.from_matrix(rotations).as_quat(), samples, axis=0)
    return identify(
        Readings(0.01 * np.arange(len(counts)), quaternions, counts * HEX_E.resolution)
    ).tool


def _reading(sensor: ForceSensor, rotation: Array, wrench_in_tool: Array) -> Array:
    """What a sensor reports, [N] and [N·m], of a wrench in tool axes."""
    in_world = np.concatenate([rotation @ wrench_in_tool[:3], rotation @ wrench_in_tool[3:]])
    return sensor.read(in_world, rotation) * HEX_E.resolution


@contextlib.contextmanager
def _conditioners(**changed: object) -> Iterator[None]:
    """Every conditioner made meanwhile has some fields replaced."""
    prepare = Conditioner.__post_init__

    def broken(self: Conditioner) -> None:
        for name, value in changed.items():
            setattr(self, name, value)
        prepare(self)

    with patched(Conditioner, "__post_init__", broken):
        yield


def _thousandth(self: SensorProfile) -> Array:
    """Torque capacity divided by 1000 once more, as the published text says (E-21)."""
    return self.capacity / self.counts / np.repeat([1.0, 1000.0], 3)


def _once(self: Conditioner) -> None:
    if not hasattr(self, "_biased"):
        self.status, self._biased, self._taken = "bias", False, 0


MUTATIONS = [
    Mutation("torque counts", "torques are divided by 1000 once more (E-21)", ("D-41",)).patch(
        SensorProfile, "resolution", property(_thousandth)
    ),
    Mutation(
        "handle's weight",
        "the handle weighs nothing",
        ("D-42",),
        lambda: _conditioners(load=Load()),
    ),
    Mutation(
        "handle's lever",
        "the handle's weight is taken to hang from the sensor's origin",
        ("D-42",),
        lambda: _conditioners(load=replace(HANDLE.load, com=np.zeros(3))),
    ),
    Mutation(
        "short bias", "the bias is a single reading", ("D-42",), lambda: _conditioners(samples=1)
    ),
    Mutation("no bias anew", "the bias is never taken again", ("D-42",)).patch(
        Conditioner, "tare", _once
    ),
    Mutation("cross product", "the calibration takes m g × r for r × m g", ("D-43",)).patch(
        identification_module, "skew", lambda a: -skew(a)
    ),
    Mutation("grip as twist", "the grip's wrench changes frame as a twist does", ("D-52",)).patch(
        profile_module, "wrench_in_parent", twist_in_parent
    ),
]

"""Calibration by one arc: the arc, bias, weight, lever and yaw from it, repeatability, files, full centre of mass."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from farhand.errors import Mismatch
from farhand.sensing import (
    GaugeSensor,
    Load,
    Thermal,
    ToolCalibration,
    identify,
    identify_arc,
    identify_yaw,
    load_tool,
)
from farhand.sensing import arc as arc_module
from farhand.sensing import identification as identification_module
from farhand.sensing.arc import Sinusoids, fit_sinusoids
from farhand.spatial import skew
from farhand_lab.harness import Finding, experiment, generator, shared
from farhand_lab.hazardous.sensing_model import (
    ARC,
    LEVEL,
    LIMITS,
    POSITION_ERROR,
    READINGS,
    REST,
    TOOLS,
    arc,
    bias,
    load,
    readings_of,
    sweep,
    wrist,
)
from farhand_lab.mutation import Mutation, patched

Array = np.ndarray

YAW = 0.6
"""Some turn of the sensor, so that F_x and F_y both see the weight, [rad]; the published value is
not given."""


@experiment("C-27")
def arc_generator() -> Finding:
    """Which joints move, how far, and how far the z axis leaves the plane."""
    path = arc()
    moving = int((np.ptp(path.q, axis=0) > 0.0).sum())
    inside = bool(((path.q >= LIMITS[:, 0]) & (path.q <= LIMITS[:, 1])).all())
    span = np.rad2deg(np.ptp(path.angle))
    count = len(path.angle) * READINGS
    out = float(np.abs(wrist(path.q)[:, 1, 2]).max())  # the plane is the base's xz
    ok = (moving, inside, count) == (1, True, 28_100) and out < 1e-9 and abs(span - 280.0) < 1e-9
    return Finding(
        out, ok, f"{count} readings, {moving} joint moves over {span:.0f}°, within limits: {inside}"
    )


@shared
def arcs(sloppy: float) -> Array:
    """Errors of twenty calibrations of each tool: tool × trial × (force bias, weight, torque bias, lever)."""
    rng = generator(f"arcs {sloppy}")
    found = np.zeros((len(TOOLS), 20, 4))
    for i, (name, (weight, lever)) in enumerate(TOOLS.items()):
        for k in range(20):
            sensor = GaugeSensor(
                load=load(name), bias=bias(rng), noise=REST, yaw=rng.uniform(-np.pi, np.pi)
            )
            result = identify_arc(ARC.angle, sweep(sensor, rng, sloppy))
            error = np.abs(result.bias - sensor.bias)
            found[i, k] = (
                error[:3].max(),
                abs(result.weight - weight),
                error[3:].max(),
                abs(result.lever - lever),
            )
    return found


@experiment("C-28")
def force_identification() -> Finding:
    """The worst of twenty arcs with each tool, exact joints first, then with half a degree of error at every stop."""
    exact, sloppy = (arcs(s)[:, :, :2].max() for s in (0.0, POSITION_ERROR))
    note = f"with 0.5° position error {sloppy:.4f} N; worst of 60 arcs"
    return Finding(exact, exact < 0.01 and sloppy < 0.05, note)


@experiment("C-29")
def torque_identification() -> Finding:
    """The same arcs; beside it what the maximum over raw readings would have given."""
    errors = arcs(0.0)
    torque, lever = errors[:, :, 2].max(), 1e3 * errors[:, :, 3].max()
    note = f"torque bias {torque:.5f} N·m; the maximum over raw readings is {_raw_maximum():.1f} % too long"
    return Finding(lever, lever < 1.0 and torque < 0.001, note)


def _raw_maximum() -> float:
    """How much too long the lever of the PG 070 comes out from single readings, [%]."""
    rng = generator("raw maximum")
    sensor = GaugeSensor(load=load("PG 070"), noise=REST)
    raw = sensor.read(np.repeat(ARC.rotations, READINGS, axis=0), rng=rng)
    return 100.0 * (float(np.linalg.norm(raw[:, 3:], axis=1).max()) / (14.0 * 0.06) - 1.0)


@experiment("C-30")
def yaw_offset() -> Finding:
    """Arm horizontal, J6 turns from −160° to 160°; F_x is a cosine whose phase is the yaw."""
    rng = generator("C-30")
    q = np.tile(LEVEL, (321, 1))
    q[:, 5] = np.deg2rad(np.arange(-160, 161))
    rotations = wrist(q)
    # of the joint's x axis from the vertical
    up = np.unwrap(np.arctan2(-rotations[:, 2, 1], rotations[:, 2, 0]))
    worst = 0.0
    for yaw in rng.uniform(-np.pi, np.pi, 20):
        sensor = GaugeSensor(load=load("2F-140"), bias=bias(rng), noise=REST, yaw=yaw)
        raw = sensor.read(np.repeat(rotations, 20, axis=0), rng=rng).reshape(-1, 20, 6).mean(axis=1)
        error = np.angle(np.exp(1j * (identify_yaw(up, raw[:, 0]) - yaw)))
        worst = max(worst, abs(float(np.rad2deg(error))))
    return Finding(
        worst, worst <= 0.1, "R_J6←S = Rz(ψ), R_S←J6 = Rz(−ψ): farhand.sensing.arc.identify_yaw"
    )


@experiment("C-31")
def repeatability() -> Finding:
    """PG 070, static noise and half a degree of position error at every stop."""
    rng = generator("C-31")
    sensor = GaugeSensor(load=load("PG 070"), bias=bias(rng), noise=REST, yaw=YAW)
    fits = [fit_sinusoids(ARC.angle, sweep(sensor, rng, POSITION_ERROR)) for _ in range(100)]
    amplitude = np.std([fit.amplitude[:3] for fit in fits], axis=0).max()
    phase = np.std(
        [np.angle(np.exp(1j * (fit.phase[:5] - fits[0].phase[:5]))) for fit in fits], axis=0
    ).max()
    return Finding(
        amplitude,
        amplitude <= 0.017 and phase <= 0.003,
        f"phase {phase:.5f} rad (T_z sees no weight)",
    )


@experiment("C-41")
def persisted() -> Finding:
    """Three tools with thermal lines, written, read and compared to the bit; each refused under another's name."""
    rng, exact, refused = generator("C-41"), True, 0
    with tempfile.TemporaryDirectory() as folder:
        for name in TOOLS:
            numbers = rng.standard_normal(10)
            thermal = Thermal(rng.uniform(20, 45), rng.standard_normal(6), rng.random(6))
            square = rng.standard_normal((10, 10))
            tool = ToolCalibration(
                numbers[0], numbers[1:4], numbers[4:7], numbers[7:], square @ square.T
            )
            tool = replace(
                tool, thermal=thermal, tool_id=name, noise=rng.random(6), yaw=rng.random()
            )
            path = Path(folder) / "tool.json"
            tool.save(path)
            exact &= load_tool(path, tool_id=name).to_json() == tool.to_json()
            try:
                load_tool(path, tool_id=f"not {name}")
            except Mismatch:
                refused += 1
    return Finding(
        exact and refused == len(TOOLS),
        exact and refused == len(TOOLS),
        f"{refused} wrong tools refused",
    )


@experiment("C-63")
def full_centre_of_mass() -> Finding:
    """Two arcs with rolls of 0 and 90°, identified by least squares; then torques left in 500 other orientations."""
    rng = generator("C-63")
    truth = Load(14.0 / 9.81, np.array([0.010, 0.0, 0.060]))
    sensor = GaugeSensor(load=truth, bias=bias(rng), noise=REST)
    paths = [arc(), arc(np.pi / 2)]
    means = [sweep(sensor, rng, POSITION_ERROR, path=path) for path in paths]
    rotations = np.concatenate([path.rotations for path in paths])
    full = identify(readings_of(np.concatenate(means), rotations)).tool
    error = 1e3 * float(np.abs(full.com - truth.com).max())
    result = identify_arc(ARC.angle, means[0])
    axial = replace(full, com=np.array([0.0, 0.0, result.lever]), bias_torque=result.bias[3:])
    others = Rotation.random(500, rng=rng).as_matrix()
    exact = sensor.weight(others) + sensor.bias
    left = [_torque(exact - tool.weight(others[:, 2]) - tool.bias) for tool in (full, axial)]
    share = left[0] / left[1]
    note = f"residual torque {left[0]:.4f} N·m, {100 * share:.1f} % of the on-axis model's {left[1]:.4f} N·m"
    return Finding(error, error <= 1.0 and share <= 0.25, note)


def _torque(wrench: Array) -> float:
    return float(np.sqrt((wrench[:, 3:] ** 2).sum(axis=1).mean()))


def _shifted(fit: Callable[..., Sinusoids]) -> Callable[..., Sinusoids]:
    """Offsets taken as the mean of the readings, as if the arc were a whole turn."""

    def broken(x: Array, values: Array) -> Sinusoids:
        return replace(fit(x, values), offset=np.mean(values, axis=0))

    return broken


def _sloppier(measure: Callable[..., Array]) -> Callable[..., Array]:
    return lambda sensor, rng, sloppy=0.0, **rest: measure(sensor, rng, 5.0 * sloppy, **rest)


def _opposite(yaw: Callable[..., float]) -> Callable[..., float]:
    return lambda angle, force: -yaw(angle, force)


def _rounded(save: Callable[..., None]) -> Callable[..., None]:
    def broken(self: ToolCalibration, path: Path) -> None:
        save(replace(self, com=np.round(self.com, 6)), path)

    return broken


def _tilted(build: Callable[..., Any]) -> Callable[..., Any]:
    def broken(roll: float = 0.0) -> Any:
        path = build(roll)
        q = path.q.copy()
        q[:, 3] += 1e-6
        return replace(path, q=q)

    return broken


_THIS = sys.modules[__name__]

MUTATIONS = [
    Mutation(
        "sloppy arm",
        "stops are five times less exact",
        ("C-31",),
        lambda: patched(_THIS, "sweep", _sloppier(sweep)),
    ),
    Mutation(
        "arc plane",
        "joint 4 is a µrad off during the arc",
        ("C-27",),
        lambda: patched(_THIS, "arc", _tilted(arc)),
    ),
    Mutation(
        "arc offset",
        "the bias is the mean over the arc",
        ("C-28", "C-29"),
        lambda: patched(arc_module, "fit_sinusoids", _shifted(fit_sinusoids)),
    ),
    Mutation(
        "yaw convention",
        "the yaw has the other sign",
        ("C-30",),
        lambda: patched(_THIS, "identify_yaw", _opposite(identify_yaw)),
    ),
    Mutation(
        "tool file",
        "the file rounds the centre of mass",
        ("C-41",),
        lambda: patched(ToolCalibration, "save", _rounded(ToolCalibration.save)),
    ),
    Mutation(
        "com column",
        "the torque's regressor has the wrong sign",
        ("C-63",),
        lambda: patched(identification_module, "skew", lambda a: -skew(a)),
    ),
]

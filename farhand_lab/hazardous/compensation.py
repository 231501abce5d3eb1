"""Calibration by one arc and compensation at run time: C-27 to C-35, C-41, C-42, C-63."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from farhand.errors import Mismatch
from farhand.plants.wrappers.instrumented import WristPlant
from farhand.sensing import (
    Conditioner,
    ContactDetector,
    ForceSensor,
    GaugeSensor,
    Load,
    Thermal,
    ToolCalibration,
    compensate,
    identify,
    identify_arc,
    identify_yaw,
    load_tool,
)
from farhand.sensing import arc as arc_module
from farhand.sensing import identification as identification_module
from farhand.sensing.arc import ArcResult, Sinusoids, fit_sinusoids
from farhand.sensing.kalman import smooth
from farhand.sensing.simulated import play
from farhand.spatial import skew
from farhand_lab.harness import Figure, Finding, experiment, generator, shared
from farhand_lab.hazardous.follower import QUIET, Wrist, filter_ms
from farhand_lab.hazardous.sensing import (
    ARC,
    GRAVITY,
    HYSTERESIS,
    LEVEL,
    LIMITS,
    NOISE,
    POSITION_ERROR,
    RATE,
    READINGS,
    REST,
    SLOPE,
    TOOLS,
    Q,
    R,
    arc,
    bias,
    calibrated,
    load,
    postures,
    readings_of,
    sweep,
    task_joints,
    task_motion,
    tool_of,
    wrist,
)
from farhand_lab.mutation import Mutations
from farhand_lab.plots import canvas

Array = np.ndarray
_THIS = sys.modules[__name__]

YAW = 0.6
"""Turn of the sensor, so that F_x and F_y both see the weight, [rad]; none is published."""


@experiment("C-27")
def arc_generator() -> Finding:
    """Which joints move, how far, and how far the z axis leaves the plane."""
    path = arc()
    moving = int((np.ptp(path.q, axis=0) > 0.0).sum())
    inside = bool(((path.q >= LIMITS[:, 0]) & (path.q <= LIMITS[:, 1])).all())
    span = np.rad2deg(np.ptp(path.angle))
    count = len(path.angle) * READINGS
    # The plane is the base's xz
    out = float(np.abs(wrist(path.q)[:, 1, 2]).max())
    ok = (moving, inside, count) == (1, True, 28_100) and out < 1e-9 and abs(span - 280.0) < 1e-9
    note = f"{count} readings, {moving} joint moves over {span:.0f}°, within limits: {inside}"
    return Finding(out, ok, note)


@shared
def arcs(sloppy: float) -> Array:
    """Errors of force bias, weight, torque bias and lever, tool × 20 calibrations × 4."""
    rng = generator(f"arcs {sloppy}")
    errors = np.zeros((len(TOOLS), 20, 4))
    for i, (name, (weight, lever)) in enumerate(TOOLS.items()):
        for k in range(20):
            offset, yaw = bias(rng), rng.uniform(-np.pi, np.pi)
            sensor = GaugeSensor(load=load(name), bias=offset, noise=REST, yaw=yaw)
            result = identify_arc(ARC.angle, sweep(sensor, rng, sloppy))
            off = np.abs(result.bias - sensor.bias)
            errors[i, k, :2] = off[:3].max(), abs(result.weight - weight)
            errors[i, k, 2:] = off[3:].max(), abs(result.lever - lever)
    return errors


@experiment("C-28")
def force_identification() -> Finding:
    """The worst of twenty arcs per tool, with exact joints and with 0.5° of error."""
    exact, sloppy = (arcs(s)[:, :, :2].max() for s in (0.0, POSITION_ERROR))
    note = f"with 0.5° position error {sloppy:.4f} N; worst of 60 arcs"
    return Finding(exact, exact < 0.01 and sloppy < 0.05, note)


@experiment("C-29")
def torque_identification() -> Finding:
    """The same arcs, beside the maximum over raw readings."""
    errors = arcs(0.0)
    torque, lever = errors[:, :, 2].max(), 1e3 * errors[:, :, 3].max()
    note = (
        f"torque bias {torque:.5f} N·m; the maximum over raw readings is {_raw_maximum():.1f} % "
        "too long"
    )
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
    turns = [np.angle(np.exp(1j * (fit.phase[:5] - fits[0].phase[:5]))) for fit in fits]
    phase = np.std(turns, axis=0).max()
    note = f"phase {phase:.5f} rad (T_z sees no weight)"
    return Finding(amplitude, amplitude <= 0.017 and phase <= 0.003, note)


@experiment("C-41")
def persisted() -> Finding:
    """Three tools written, read and compared to the bit; each refused under another name."""
    rng, exact, refused = generator("C-41"), True, 0
    with tempfile.TemporaryDirectory() as folder:
        for name in TOOLS:
            numbers = rng.standard_normal(10)
            thermal = Thermal(rng.uniform(20, 45), rng.standard_normal(6), rng.random(6))
            square = rng.standard_normal((10, 10))
            parts = numbers[0], numbers[1:4], numbers[4:7], numbers[7:], square @ square.T
            noise, yaw = rng.random(6), rng.random()
            tool = replace(ToolCalibration(*parts), thermal=thermal, noise=noise, yaw=yaw)
            tool = replace(tool, tool_id=name)
            path = Path(folder) / "tool.json"
            tool.save(path)
            exact &= load_tool(path, tool_id=name).to_json() == tool.to_json()
            try:
                load_tool(path, tool_id=f"not {name}")
            except Mismatch:
                refused += 1
    ok = exact and refused == len(TOOLS)
    return Finding(ok, ok, f"{refused} wrong tools refused")


@experiment("C-63")
def full_centre_of_mass() -> Finding:
    """Two arcs with rolls of 0 and 90°, least squares; torques left in 500 orientations."""
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
    note = (
        f"residual torque {left[0]:.4f} N·m, {100 * share:.1f} % of the on-axis model's "
        f"{left[1]:.4f} N·m"
    )
    return Finding(error, error <= 1.0 and share <= 0.25, note)


def _torque(wrench: Array) -> float:
    return float(np.sqrt((wrench[:, 3:] ** 2).sum(axis=1).mean()))


ORDERS = ("filter, then subtract", "subtract, then filter")
PUBLISHED_MEAN = {"none": 0.52, "2F-140": 1.65, "PG 070": 1.92}
"""Mean of abs F, thesis Tables 3.4 to 3.6, [N]."""

TEMPERATURES = (21.0, 30.0, 40.0)
LOOP_STRIDE = 50
"""Samples between points of the hysteresis loop, which follows the slow weight only."""


def _offset(rng: np.random.Generator) -> Array:
    """A bias as large as in the thesis, 20 to 30 N per axis, either sign."""
    sign = rng.choice([-1.0, 1.0], 6)
    return sign * np.concatenate([rng.uniform(20.0, 30.0, 3), rng.uniform(0.2, 1.0, 3)])


def _exact(name: str, yaw: float, offset: Array) -> ToolCalibration:
    """The truth as a calibration."""
    weight, lever = TOOLS[name]
    none = Sinusoids(np.zeros(6), np.zeros(6), offset)
    return tool_of(ArcResult(offset, weight, lever, none), yaw)


@experiment("C-32")
def orientation() -> Finding:
    """No noise, a recording with exact parameters, and the rig as it calibrates itself."""
    rng = generator("C-32")
    rotations, worst, rig = Rotation.random(1000, rng=rng).as_matrix(), 0.0, 0.0
    for name, (weight, lever) in TOOLS.items():
        yaw, offset = rng.uniform(-np.pi, np.pi), _offset(rng)
        sensor = GaugeSensor(load=load(name), bias=offset, yaw=yaw)
        readings = readings_of(sensor.read(rotations), rotations)
        clean = compensate(readings, _exact(name, yaw, offset), "none")
        worst = max(worst, float(np.abs(clean.wrench_in_base()).max()))
        tool = ("sensor.mass", weight / GRAVITY), ("sensor.com", (0.0, 0.0, lever))
        settings = (*QUIET, *tool, ("sensor.bias", offset))
        held = Wrist(f"C-32 {name}", settings, stepless=True)
        q = postures(rng, 1000)
        rig = max(rig, float(np.abs(held.run(1000, q).contact).max()))
    note = f"a recording {worst:.1g} N, the rig's wrist {rig:.1g} N"
    return Finding(max(worst, rig), max(worst, rig) < 1e-9, note)


@experiment("C-33")
def contact_sign() -> Finding:
    """The rig's wrist as it calibrates itself; 0.5 s of readings at each push."""
    rig, rng, pushes = Wrist("C-33"), generator("C-33"), []
    for q in postures(rng, 20):
        for axis in range(6):
            push = np.zeros(6)
            push[axis % 3] = 10.0 if axis < 3 else -10.0
            felt = rig.run(250, np.tile(q, (250, 1)), push=push)
            pushes.append((push, felt.contact.mean(axis=0)))
    push, contact = map(np.array, zip(*pushes, strict=True))
    off = np.abs(contact[:, :3] - push[:, :3])
    signs = bool((np.einsum("ni,ni->n", contact, push) > 0.0).all())
    note = f"{len(push)} pushes; largest error of any component, mean {off.mean():.3f} N"
    return Finding(float(off.max()), bool(off.max() <= 0.1 and signs), note)


@experiment("C-34")
def gravity_torque() -> Finding:
    """Torques of the rig's sensor in 1000 poses, with r × F taken off, and with F_g·L."""
    lever = 0.06
    tool = (("sensor.mass", 14.0 / GRAVITY), ("sensor.com", (0.0, 0.0, lever)))
    rig = Wrist("C-34", (*QUIET, *tool), stepless=True)
    record = rig.run(1000, postures(generator("C-34"), 1000))
    weight = record.read - rig.follower.parameters["sensor"].bias
    about_z, left = float(np.abs(weight[:, 5]).max()), float(np.abs(record.unloaded[:, 3:]).max())
    own = rig.wrist.gauges.profile.internals
    whole = Load(14.0 / GRAVITY, np.array([0.0, 0.0, lever])) + own
    printed = float(np.abs(weight[:, 3:] - whole.com[2] * weight[:, :3]).max())
    largest = whole.mass * GRAVITY * float(whole.com[2])
    note = (
        f"r × F leaves {left:.1g} N·m of up to {largest:.2f} N·m; F_g·L as printed leaves up to "
        f"{printed:.2f} N·m"
    )
    return Finding(about_z, about_z < 1e-9 and left < 1e-9 and printed > 0.5 * largest, note)


@dataclass(frozen=True)
class StaticRun:
    """Two minutes without contact: abs F of the readings, and after each filter order, [N]."""

    raw: Array
    left: dict[str, Array]


@shared
def static_runs() -> dict[str, StaticRun]:
    """All temperatures of a tool pooled."""
    rng = generator("C-35")
    runs = {}
    for name in TOOLS:
        each = [_static(name, temperature, rng) for temperature in TEMPERATURES]
        left = {order: np.concatenate([run.left[order] for run in each]) for order in ORDERS}
        runs[name] = StaticRun(np.concatenate([run.raw for run in each]), left)
    return runs


def _static(name: str, temperature: float, rng: np.random.Generator) -> StaticRun:
    """One arc, then two minutes of motion with the arm's orientation half a degree off."""
    ideal = GaugeSensor(load=load(name), bias=_offset(rng), slope=SLOPE, yaw=YAW)
    sensor = replace(ideal, noise=REST, hysteresis=HYSTERESIS)
    tool = calibrated(sensor, rng, POSITION_ERROR, temperature)
    rotations, wrench = moving(sensor, temperature, rng, 120.0)
    believed = _kinematic_error(rng) @ rotations
    raw, settle = np.linalg.norm(wrench[:, :3], axis=1), int(RATE)
    first = compensate(readings_of(smooth(wrench, Q, R), believed), tool, "none").wrench
    second = smooth(compensate(readings_of(wrench, believed), tool, "none").wrench, Q, R)
    sizes = [np.linalg.norm(left[settle:, :3], axis=1) for left in (first, second)]
    return StaticRun(raw, dict(zip(ORDERS, sizes, strict=True)))


def _kinematic_error(rng: np.random.Generator) -> Array:
    """A rotation by the position error about a random axis."""
    direction = rng.standard_normal(3)
    return Rotation.from_rotvec(POSITION_ERROR * direction / np.linalg.norm(direction)).as_matrix()


def moving(
    sensor: GaugeSensor, temperature: float, rng: np.random.Generator, seconds: float
) -> tuple[Array, Array]:
    """Orientations and readings of a task, with vibration; hysteresis at every 50th point."""
    rotations, acceleration = task_motion(seconds, rng)
    conditions: dict[str, Any] = {"temperature": temperature, "acceleration": acceleration}
    without_loop = replace(sensor, noise=NOISE, hysteresis=GaugeSensor().hysteresis)
    wrench = without_loop.read(rotations, **conditions, rate=RATE, rng=rng)
    weight = sensor.weight(rotations[::LOOP_STRIDE])
    lag = play(weight, sensor.hysteresis) - weight
    samples = np.arange(len(rotations))
    points = samples[::LOOP_STRIDE]
    wrench += np.stack([np.interp(samples, points, channel) for channel in lag.T], axis=1)
    return rotations, wrench


@experiment("C-35")
def static_table() -> Finding:
    """Mean and largest abs F of each tool with each filter order, and of the raw readings."""
    runs = static_runs()
    means = {order: [float(run.left[order].mean()) for run in runs.values()] for order in ORDERS}
    largest = {o: max(float(run.left[o].max()) for run in runs.values()) for o in ORDERS}
    raw = min(float(run.raw.max()) for run in runs.values())
    limits = np.array([PUBLISHED_MEAN[name] for name in runs])
    ok = all((np.array(means[o]) <= limits).all() and largest[o] <= 4.44 for o in ORDERS)
    rig = _in_rig()
    ok = ok and raw >= 30.0 and rig.mean() <= PUBLISHED_MEAN["2F-140"] and rig.max() <= 4.44
    words = "; ".join(
        f"{o}: mean {' / '.join(f'{m:.2f}' for m in means[o])} N, max {largest[o]:.2f} N"
        for o in ORDERS
    )
    words += f"; the rig's wrist with 2F-140: mean {rig.mean():.2f} N, max {rig.max():.2f} N"
    value = max(means[ORDERS[0]])
    figure = Figure("What is left of the force, in both filter orders", _table_plot)
    return Finding(value, ok, f"{words}; raw up to {raw:.0f} N at least", figures=(figure,))


def _in_rig() -> Array:
    """Abs F that the rig's coupling gets in two minutes of the same kind of motion, [N]."""
    q, v, _ = task_joints(120.0, generator("C-35 rig"))
    settle = int(RATE)
    return np.linalg.norm(Wrist("C-35 rig").run(len(q), q, v).filtered[settle:, :3], axis=1)


def _table_plot():
    figure, axes = canvas("", "abs F, mean and 95th percentile [N]", height=4.0)
    x, runs = np.arange(len(TOOLS)), static_runs()
    for shift, order in zip((-0.15, 0.15), ORDERS, strict=True):
        means = [run.left[order].mean() for run in runs.values()]
        highest = [np.percentile(run.left[order], 95) for run in runs.values()]
        axes.bar(x + shift, means, 0.28, label=order)
        axes.vlines(x + shift, means, highest, color="0.25", linewidth=1.0)
    limits = [PUBLISHED_MEAN[name] for name in runs]
    axes.hlines(limits, x - 0.35, x + 0.35, color="r", label="thesis's mean")
    axes.set_xticks(x, list(TOOLS))
    axes.legend(frameon=False)
    return figure


@experiment("C-42")
def contact_detection() -> Finding:
    """Half an hour of the heaviest tool with all errors; then pushes of 10 N in motion."""
    rng = generator("C-42")
    ideal = GaugeSensor(load=load("PG 070"), bias=_offset(rng), yaw=YAW)
    sensor = replace(ideal, noise=REST, hysteresis=HYSTERESIS)
    tool = calibrated(sensor, rng, POSITION_ERROR)
    rotations, wrench = moving(sensor, sensor.reference, rng, 1800.0)
    believed = _kinematic_error(rng) @ rotations
    clean = compensate(readings_of(wrench, believed), tool, "none").wrench
    contact = ContactDetector().scan(smooth(clean, Q, R))
    alarms = int((np.diff(contact.astype(int), prepend=0) == 1).sum())
    starts = (np.arange(100) * 9 + 5) * int(RATE)
    delays = []
    for start, direction in zip(starts, rng.standard_normal((100, 3)), strict=True):
        stretch = clean[start : start + int(2 * RATE)].copy()
        stretch[int(RATE) // 2 :, :3] += 10.0 * direction / np.linalg.norm(direction)
        contact = ContactDetector().scan(smooth(stretch, Q, R))[int(RATE) // 2 :]
        delays.append(1e3 * np.argmax(contact) / RATE if contact.any() else np.nan)
    detected = int(np.isfinite(delays).sum())
    rig_alarms, rig_delays = _rig_contacts()
    found = int(np.isfinite(rig_delays).sum())
    note = (
        f"the rig's wrist and filter: {rig_alarms} false alarms in 30 min of motion, {found} of "
        f"100 pushes, delay up to {np.nanmax(rig_delays):.0f} ms; with position error and "
        f"hysteresis, beside the rig: {alarms} in 30 min, {detected} of 100, up to "
        f"{np.nanmax(delays):.0f} ms; the filter's time constant is {filter_ms():.0f} ms"
    )
    ok = alarms == rig_alarms == 0 and detected == found == 100
    return Finding(float(np.nanmedian(rig_delays)), ok, note)


def _rig_contacts() -> tuple[int, Array]:
    """False alarms of the rig in half an hour of motion, and delays of 100 pushes of 10 N, [ms]."""
    rng, each = generator("C-42 rig"), round(0.6 * RATE)
    q, v, _ = task_joints(1920.0, rng)
    push = np.zeros((len(q), 6))
    free = len(q) - 2 * 100 * each
    ways = rng.standard_normal((100, 3))
    for k, way in enumerate(ways):
        start = free + 2 * k * each
        push[start + each : start + 2 * each, :3] = 10.0 * way / np.linalg.norm(way)
    contact = ContactDetector().scan(Wrist("C-42 rig").run(len(q), q, v, push).filtered)
    pressed = contact[free:].reshape(100, 2 * each)[:, each:]
    delays = np.where(pressed.any(axis=1), 1e3 * pressed.argmax(axis=1) / RATE, np.nan)
    alarms = (np.diff(contact.astype(int), prepend=0) == 1) & ~push.any(axis=1)
    return int(alarms.sum()), delays


MUTATIONS = Mutations()


@MUTATIONS.of(_THIS, "sweep", "C-31")
def sloppy_arm(measure, sensor, rng, sloppy=0.0, **rest):
    """Stops are five times less exact."""
    return measure(sensor, rng, 5.0 * sloppy, **rest)


@MUTATIONS.of(_THIS, "arc", "C-27")
def arc_plane(build, roll=0.0):
    """Joint 4 is a µrad off during the arc."""
    path = build(roll)
    q = path.q.copy()
    q[:, 3] += 1e-6
    return replace(path, q=q)


@MUTATIONS.of(arc_module, "fit_sinusoids", "C-28 C-29")
def arc_offset(fit, x, values):
    """The bias is the mean over the arc."""
    return replace(fit(x, values), offset=np.mean(values, axis=0))


@MUTATIONS.of(_THIS, "identify_yaw", "C-30")
def yaw_convention(yaw, angle, force):
    """The yaw has the other sign."""
    return -yaw(angle, force)


@MUTATIONS.of(ToolCalibration, "save", "C-41")
def tool_file(save, self, path):
    """The file rounds the centre of mass."""
    save(replace(self, com=np.round(self.com, 6)), path)


@MUTATIONS.of(identification_module, "skew", "C-63")
def com_column(_, a):
    """The torque's regressor has the wrong sign."""
    return -skew(a)


@MUTATIONS.of(Conditioner, "update", "C-33 C-42")
def to_world(update, self, counts, rotation):
    """The rig's wrench is turned the wrong way."""
    wrench = update(self, counts, rotation)
    return None if wrench is None else (wrench.reshape(2, 3) @ rotation @ rotation).ravel()


@MUTATIONS.of(ForceSensor, "read", "C-34")
def printed_torque(read, self, wrench, rotation, dt=None):
    """The gravity torque is F_g·L."""
    counts = read(self, wrench, rotation, dt)
    return counts + np.r_[0.0, 0.0, 0.0, 0.06 * counts[:3]]


@MUTATIONS.of(ToolCalibration, "weight", "C-32 C-35 C-42")
def weight_sign(weight, self, up):
    """The weight is added."""
    return -weight(self, up)


@MUTATIONS.of(WristPlant, "calibrate", "C-32 C-33 C-35 C-42")
def no_tool(calibrate, self):
    """The rig's wrist is calibrated without the tool's weight."""
    calibrate(self)
    assert self.tool is not None
    self.tool = replace(self.tool, mass=self.gauges.profile.internals.mass)


@MUTATIONS.of(ToolCalibration, "pull", "C-32 C-35")
def no_yaw(_, self, up):
    """The sensor's yaw is forgotten."""
    return -self.gravity * np.asarray(up)

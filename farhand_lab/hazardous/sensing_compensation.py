"""Compensation at run time: orientation, sign, cross product, the static table with both filter orders, contact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure as Plot
from scipy.spatial.transform import Rotation

from farhand.sensing import Compensated, ContactDetector, GaugeSensor, ToolCalibration, compensate
from farhand.sensing.arc import ArcResult, Sinusoids
from farhand.sensing.gauges import play
from farhand.sensing.kalman import smooth
from farhand_lab.harness import Figure, Finding, experiment, generator, shared
from farhand_lab.hazardous.sensing_model import (
    HYSTERESIS,
    NOISE,
    POSITION_ERROR,
    RATE,
    REST,
    SLOPE,
    TOOLS,
    Q,
    R,
    calibrated,
    load,
    readings_of,
    task_motion,
    tool_of,
)
from farhand_lab.mutation import Mutation, patched

Array = np.ndarray

ORDERS = ("filter, then subtract", "subtract, then filter")
LIMITS = {"none": 0.52, "2F-140": 1.65, "PG 070": 1.92}
"""Mean of abs F that the thesis reports, Tables 3.4 to 3.6, [N]."""

TEMPERATURES = (21.0, 30.0, 40.0)
HELD = 50
"""Samples between points of the hysteresis loop, which follows the slow weight only."""


def _offset(rng: np.random.Generator) -> Array:
    """A bias of the size the thesis saw, 20 to 30 N per axis, either sign."""
    return rng.choice([-1.0, 1.0], 6) * np.concatenate(
        [rng.uniform(20.0, 30.0, 3), rng.uniform(0.2, 1.0, 3)]
    )


def _exact(name: str, yaw: float, offset: Array) -> ToolCalibration:
    """The truth as a calibration."""
    weight, lever = TOOLS[name]
    none = Sinusoids(np.zeros(6), np.zeros(6), offset)
    return tool_of(ArcResult(offset, weight, lever, none), yaw)


@experiment("C-32")
def orientation() -> Finding:
    """Exact parameters, a sensor turned against the wrist, no noise: nothing may be left."""
    rng = generator("C-32")
    rotations, worst = Rotation.random(1000, rng=rng).as_matrix(), 0.0
    for name in TOOLS:
        yaw, offset = rng.uniform(-np.pi, np.pi), _offset(rng)
        sensor = GaugeSensor(load=load(name), bias=offset, yaw=yaw)
        clean = compensate(
            readings_of(sensor.read(rotations), rotations), _exact(name, yaw, offset), "none"
        )
        worst = max(worst, float(np.abs(clean.wrench_in_base()).max()))
    return Finding(worst, worst < 1e-9)


@experiment("C-33")
def contact_sign() -> Finding:
    """After an arc with position error and noise; half a second of readings at each orientation and push."""
    rng = generator("C-33")
    sensor = GaugeSensor(load=load("2F-140"), bias=_offset(rng), noise=REST, yaw=0.6)
    tool, worst, signs = calibrated(sensor, rng, POSITION_ERROR), 0.0, True
    for turn in Rotation.random(20, rng=rng).as_matrix():
        rotations = np.broadcast_to(turn, (250, 3, 3))
        for axis in range(6):
            push = np.zeros(6)
            push[axis % 3] = 10.0 if axis < 3 else -10.0
            raw = sensor.read(rotations, push, rate=RATE, rng=rng)
            seen = (
                compensate(readings_of(raw, rotations), tool, "none").wrench_in_base().mean(axis=0)
            )
            worst = max(worst, float(np.abs(seen[:3] - push[:3]).max()))
            signs &= bool(seen[axis % 3] * push[axis % 3] > 0.0)
    return Finding(worst, worst <= 0.1 and signs, "120 pushes; largest error of any component")


@experiment("C-34")
def gravity_torque() -> Finding:
    """The compensated torque with r × F, and with F_g·L as printed."""
    rng = generator("C-34")
    rotations = Rotation.random(1000, rng=rng).as_matrix()
    sensor, tool = GaugeSensor(load=load("PG 070")), _exact("PG 070", 0.0, np.zeros(6))
    weight = tool.weight(rotations[:, 2])
    about_z = float(np.abs(weight[:, 5]).max())
    left = float(np.abs(sensor.weight(rotations) - weight)[:, 3:].max())
    printed = float(np.abs(sensor.weight(rotations)[:, 3:] - 0.06 * weight[:, :3]).max())
    note = f"r × F leaves {left:.1g} N·m; F_g·L as printed leaves {printed:.3f} N·m of 0.84 N·m"
    return Finding(about_z, about_z < 1e-12 and left < 1e-12 and printed > 0.5 * 0.84, note)


@dataclass(frozen=True)
class Static:
    """Two minutes without contact.

    Attributes:
        raw: abs F of the readings, [N].
        left: abs F after compensation by filter order, [N].
    """

    raw: Array
    left: dict[str, Array]


@shared
def static_runs() -> dict[str, Static]:
    """All temperatures of a tool pooled."""
    rng = generator("C-35")
    runs = {}
    for name in TOOLS:
        found = [_static(name, temperature, rng) for temperature in TEMPERATURES]
        left = {order: np.concatenate([run.left[order] for run in found]) for order in ORDERS}
        runs[name] = Static(np.concatenate([run.raw for run in found]), left)
    return runs


def _static(
    name: str, temperature: float, rng: np.random.Generator, seconds: float = 120.0
) -> Static:
    """Calibrate with one arc, then move for two minutes; the arm's orientation is half a degree off throughout."""
    sensor = GaugeSensor(
        load=load(name), bias=_offset(rng), noise=REST, hysteresis=HYSTERESIS, slope=SLOPE, yaw=0.6
    )
    tool = calibrated(sensor, rng, POSITION_ERROR, temperature)
    rotations, wrench = moving(sensor, temperature, rng, seconds)
    off = _misjudged(rng)
    told = readings_of(wrench, off @ rotations)
    raw = np.linalg.norm(wrench[:, :3], axis=1)
    settle = int(RATE)
    first = compensate(readings_of(smooth(wrench, Q, R), off @ rotations), tool, "none").wrench
    second = smooth(compensate(told, tool, "none").wrench, Q, R)
    sizes = [np.linalg.norm(found[settle:, :3], axis=1) for found in (first, second)]
    return Static(raw, dict(zip(ORDERS, sizes, strict=True)))


def _misjudged(rng: np.random.Generator) -> Array:
    """A rotation by the position error about any axis: the arm's kinematics are that far off."""
    direction = rng.standard_normal(3)
    return Rotation.from_rotvec(POSITION_ERROR * direction / np.linalg.norm(direction)).as_matrix()


def moving(
    sensor: GaugeSensor, temperature: float, rng: np.random.Generator, seconds: float
) -> tuple[Array, Array]:
    """A task's motion: orientations and readings, with vibration; the loop is run on every fiftieth point."""
    rotations, acceleration = task_motion(seconds, rng)
    smoothly = GaugeSensor(
        load=sensor.load, bias=sensor.bias, noise=NOISE, slope=sensor.slope, yaw=sensor.yaw
    )
    wrench = smoothly.read(
        rotations, temperature=temperature, acceleration=acceleration, rate=RATE, rng=rng
    )
    weight = sensor.weight(rotations[::HELD])
    lag = play(weight, sensor.hysteresis) - weight
    samples = np.arange(len(rotations))
    wrench += np.stack([np.interp(samples, samples[::HELD], channel) for channel in lag.T], axis=1)
    return rotations, wrench


@experiment("C-35")
def static_table() -> Finding:
    """Mean and largest abs F of each tool with each filter order, and of the raw readings."""
    runs = static_runs()
    means = {order: [float(run.left[order].mean()) for run in runs.values()] for order in ORDERS}
    largest = {
        order: max(float(run.left[order].max()) for run in runs.values()) for order in ORDERS
    }
    raw = min(float(run.raw.max()) for run in runs.values())
    limits = np.array([LIMITS[name] for name in runs])
    ok = (
        all((np.array(means[o]) <= limits).all() and largest[o] <= 4.44 for o in ORDERS)
        and raw >= 30.0
    )
    words = "; ".join(
        f"{o}: mean {' / '.join(f'{m:.2f}' for m in means[o])} N, max {largest[o]:.2f} N"
        for o in ORDERS
    )
    value = max(means[ORDERS[0]])
    figure = Figure("What is left of the force, in both filter orders", _table_plot)
    return Finding(value, ok, f"{words}; raw up to {raw:.0f} N at least", figures=(figure,))


def _table_plot() -> Plot:
    plot = Plot(figsize=(8.0, 4.0), layout="constrained")
    ax = plot.subplots()
    for i, (name, run) in enumerate(static_runs().items()):
        for k, (order, colour) in enumerate(zip(ORDERS, ("#d9730d", "#1f6fb4"), strict=True)):
            at = i + 0.3 * k - 0.15
            size = run.left[order]
            ax.bar(at, size.mean(), 0.28, color=colour, label=order if i == 0 else None)
            ax.plot(
                [at, at], [size.mean(), np.percentile(size, 95)], color="#39424e", linewidth=1.0
            )
        ax.plot(
            [i - 0.35, i + 0.35],
            [LIMITS[name]] * 2,
            color="#b3261e",
            label="thesis's mean" if i == 0 else None,
        )
    ax.set_xticks(range(len(TOOLS)), list(TOOLS))
    ax.set_ylabel("abs F, mean and 95th percentile [N]")
    ax.legend(frameon=False)
    return plot


@experiment("C-42")
def contact_detection() -> Finding:
    """Half an hour of the heaviest tool with all errors on; then a push of 10 N in 100 directions while moving."""
    rng = generator("C-42")
    sensor = GaugeSensor(
        load=load("PG 070"), bias=_offset(rng), noise=REST, hysteresis=HYSTERESIS, yaw=0.6
    )
    tool = calibrated(sensor, rng, POSITION_ERROR)
    rotations, wrench = moving(sensor, sensor.reference, rng, 1800.0)
    clean = compensate(readings_of(wrench, _misjudged(rng) @ rotations), tool, "none").wrench
    alarms = _rises(ContactDetector().scan(smooth(clean, Q, R)))
    starts = (np.arange(100) * 9 + 5) * int(RATE)
    delays = []
    for start, direction in zip(starts, rng.standard_normal((100, 3)), strict=True):
        stretch = clean[start : start + int(2 * RATE)].copy()
        stretch[int(RATE) // 2 :, :3] += 10.0 * direction / np.linalg.norm(direction)
        seen = ContactDetector().scan(smooth(stretch, Q, R))[int(RATE) // 2 :]
        delays.append(1e3 * np.argmax(seen) / RATE if seen.any() else np.nan)
    found = int(np.isfinite(delays).sum())
    value = float(np.nanmedian(delays))
    note = f"{alarms} false alarms in 30 min, {found} of 100 found; delay up to {np.nanmax(delays):.0f} ms"
    return Finding(
        value, alarms == 0 and found == 100, f"{note}; the filter's time constant is 126 ms"
    )


def _rises(contact: Array) -> int:
    return int((np.diff(contact.astype(int), prepend=0) == 1).sum())


def _turned(base: Callable[..., Array]) -> Callable[..., Array]:
    """The rotation to the base is applied the wrong way round."""

    def broken(self: Compensated) -> Array:
        rows = self.wrench.reshape(-1, 2, 3)
        return np.matmul(rows, self.readings.rotations).reshape(-1, 6)

    return broken


def _printed(weight: Callable[..., Array]) -> Callable[..., Array]:
    """The gravity torque is F_g·L, as printed."""

    def broken(self: ToolCalibration, up: Array) -> Array:
        force = weight(self, up)[..., :3]
        return np.concatenate([force, force * np.linalg.norm(self.com)], axis=-1)

    return broken


def _upward(weight: Callable[..., Array]) -> Callable[..., Array]:
    return lambda self, up: -weight(self, up)


def _no_yaw(pull: Callable[..., Array]) -> Callable[..., Array]:
    return lambda self, up: -self.gravity * np.asarray(up)


MUTATIONS = [
    Mutation(
        "to base",
        "the wrench is turned the wrong way",
        ("C-33",),
        lambda: patched(Compensated, "wrench_in_base", _turned(Compensated.wrench_in_base)),
    ),
    Mutation(
        "printed torque",
        "the gravity torque is F_g·L",
        ("C-32", "C-34"),
        lambda: patched(ToolCalibration, "weight", _printed(ToolCalibration.weight)),
    ),
    Mutation(
        "weight sign",
        "the weight is added",
        ("C-32", "C-33", "C-35", "C-42"),
        lambda: patched(ToolCalibration, "weight", _upward(ToolCalibration.weight)),
    ),
    Mutation(
        "no yaw",
        "the sensor's yaw is forgotten",
        ("C-32", "C-35"),
        lambda: patched(ToolCalibration, "pull", _no_yaw(ToolCalibration.pull)),
    ),
]

"""Heat: the thermometer, the warming sensor, the drift of its bias, the line through it, and its compensation."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure as Plot

from farhand.sensing import (
    GaugeSensor,
    Thermal,
    Thermometer,
    Warming,
    common_slope,
    compensate,
    fit_line,
)
from farhand.sensing.arc import fit_sinusoids
from farhand.sensing.thermal import ThermalLine
from farhand_lab.harness import Figure, Finding, experiment, generator, shared
from farhand_lab.hazardous.sensing_model import (
    ARC,
    POSITION_ERROR,
    R_SQUARED,
    RATE,
    REST,
    SEE,
    SLOPE,
    bias,
    calibrated,
    load,
    readings_of,
    sweep,
    task_motion,
)
from farhand_lab.mutation import Mutation, patched

Array = np.ndarray

RUNS, PAIRS = 9, 100
HOURS = 4.0
SERVED = np.array([True, True, True, True, False, False])
"""Channels whose slope is used in service, thesis §3.5."""


@experiment("C-36")
def thermometer() -> Finding:
    """An hour of warming, then ten minutes exactly between two steps."""
    rng = generator("C-36")
    time = np.arange(0.0, 3600.0, 0.01)
    truth = Warming().at(time)
    read = Thermometer().stream(time, truth, rng)
    error = float(np.abs(read - truth).max())
    steps = float(np.abs(read / 0.0625 - np.rint(read / 0.0625)).max())
    still = Thermometer().stream(time[:60_000], np.full(60_000, 25.03125), rng)
    flicker = int((np.diff(still) != 0.0).sum())
    quiet = int(
        (np.diff(Thermometer().stream(time[:60_000], np.full(60_000, 25.0), rng)) != 0.0).sum()
    )
    smallest = float(np.diff(np.unique(read)).min())
    ok = (
        error <= 0.06
        and steps < 1e-9
        and abs(smallest - 0.0625) < 1e-9
        and flicker > 10
        and quiet == 0
    )
    return Finding(
        error,
        ok,
        f"{flicker} jumps in 10 min between two steps, {quiet} on a step; {len(time)} values in 1 h",
    )


@experiment("C-37")
def thermal_plant() -> Finding:
    """A sensor at rest that warms up for four hours; its own readings, averaged over a second."""
    rng = generator("C-37")
    ends = Warming().at(np.array([0.0, HOURS * 3600.0]))
    sensor = GaugeSensor(load=load("PG 070"), noise=REST, slope=SLOPE)
    still = np.broadcast_to(np.eye(3), (500, 3, 3))
    cold, warm = (sensor.read(still, temperature=t, rate=RATE, rng=rng).mean(axis=0) for t in ends)
    drift = float(warm[2] - cold[2])
    ok = abs(ends[0] - 21.0) <= 1.0 and abs(ends[1] - 45.0) <= 1.0 and 25.0 <= drift <= 40.0
    return Finding(drift, ok, f"from {ends[0]:.1f} to {ends[1]:.1f} °C")


@shared
def heating() -> tuple[Array, Array, Array, Array]:
    """Two hundred arcs in four hours: mean temperature, amplitudes, phases and offsets of six channels."""
    rng = generator("C-38")
    sensor = GaugeSensor(load=load("PG 070"), bias=bias(rng), noise=REST, slope=SLOPE, yaw=0.6)
    arcs = 200
    length = HOURS * 3600.0 / arcs
    within = length * np.arange(len(ARC.angle)) / len(ARC.angle)
    temperatures, fits = [], []
    for k in range(arcs):
        temperature = Warming().at(k * length + within)
        fits.append(fit_sinusoids(ARC.angle, sweep(sensor, rng, POSITION_ERROR, temperature)))
        temperatures.append(float(temperature.mean()))
    columns = ("amplitude", "phase", "offset")
    amplitude, phase, offset = (np.array([getattr(fit, name) for fit in fits]) for name in columns)
    return np.array(temperatures), amplitude, phase, offset


@experiment("C-38")
def invariance() -> Finding:
    """The sensor warms up during the arcs too, as in the published run."""
    _, amplitude, _, offset = heating()
    ratio = offset.std(axis=0)[[0, 2]] / amplitude.std(axis=0)[[0, 2]]
    note = f"F_x {ratio[0]:.0f}, F_z {ratio[1]:.0f}; offset std {offset.std(axis=0)[2]:.2f} N of F_z (thesis 8.73 N)"
    figure = Figure("Offset and amplitude of F_z over temperature", _heating_plot)
    return Finding(float(ratio.min()), bool((ratio >= 50.0).all()), note, figures=(figure,))


def _heating_plot() -> Plot:
    temperature, amplitude, _, offset = heating()
    plot = Plot(figsize=(8.0, 4.0), layout="constrained")
    ax = plot.subplots()
    ax.plot(temperature, offset[:, 2] - offset[0, 2], ".", label="offset of F_z, from the first")
    ax.plot(
        temperature,
        amplitude[:, 2] - amplitude[0, 2],
        ".",
        label="amplitude of F_z, from the first",
    )
    ax.set_xlabel("temperature [°C]")
    ax.set_ylabel("change [N]")
    ax.legend(frameon=False)
    return plot


def drift_runs(rng: np.random.Generator, matched: bool) -> tuple[Array, Array, Array]:
    """Nine heating runs: temperatures (uniform on 20–45 °C as in the derivation of the slopes), biases, run numbers.

    Args:
        rng: source of the runs.
        matched: take the pooled line off the scatter and scale it to the standard error of thesis
            Table 3.3; else each run has an intercept of its own within ± 30 N (± 1 N·m), and a
            small wander.
    """
    temperature = rng.uniform(20.0, 45.0, RUNS * PAIRS)
    run = np.repeat(np.arange(RUNS), PAIRS)
    warm = temperature - 32.0
    y = np.zeros((len(run), 6))
    for channel in range(6):
        if matched:
            scatter = rng.standard_normal(RUNS)[run] + 0.1 * rng.standard_normal(RUNS)[run] * warm
            scatter += 0.005 * rng.standard_normal(RUNS)[run] * warm**2 + 0.1 * rng.standard_normal(
                len(run)
            )
            line = np.polynomial.Polynomial.fit(temperature, scatter, 1)
            scatter -= line(temperature)
            scatter *= SEE[channel] / scatter.std()
        else:
            scatter = (30.0 if channel < 3 else 1.0) * rng.uniform(-1.0, 1.0, RUNS)[run]
            scatter += 0.1 * SEE[channel] * rng.standard_normal(len(run))
        y[:, channel] = SLOPE[channel] * warm + scatter
    return temperature, y, run


@experiment("C-39")
def thermal_line() -> Finding:
    """Runs that scatter as table 3.3 says, by the closed form; runs with unlike intercepts, by one slope for all."""
    temperature, y, _ = drift_runs(generator("C-39"), matched=True)
    lines = [fit_line(temperature, channel) for channel in y.T]
    reference = np.array(
        [
            np.linalg.lstsq(np.column_stack([temperature, np.ones(len(y))]), c, rcond=None)[0]
            for c in y.T
        ]
    )
    apart = float(
        np.abs(np.array([(line.slope, line.intercept) for line in lines]) - reference).max()
    )
    pooled = np.array([line.slope for line in lines]) / SLOPE - 1.0
    apart_r = np.array([line.r_squared for line in lines]) / R_SQUARED - 1.0
    apart_s = np.array([line.error for line in lines]) / SEE - 1.0
    temperature, y, run = drift_runs(generator("C-39 runs"), matched=False)
    common = np.array([common_slope(temperature, c, run) for c in y.T]) / SLOPE - 1.0
    naive = np.array([fit_line(temperature, c).slope for c in y.T]) / SLOPE - 1.0
    worst = 100.0 * float(max(np.abs(pooled).max(), np.abs(common).max()))
    shown = ", ".join(f"{line.r_squared:.3f}/{line.error:.3g}" for line in lines)
    ok = (
        apart < 1e-10
        and worst <= 5.0
        and float(max(np.abs(apart_r).max(), np.abs(apart_s).max())) <= 0.1
    )
    note = f"R²/SEE {shown}; runs with unlike intercepts: one line for all is off by {100 * np.abs(naive).max():.0f} %, "
    note += f"one slope with an intercept per run by {100 * np.abs(common).max():.1f} %"
    return Finding(worst, ok, note)


@experiment("C-40")
def thermal_compensation() -> Finding:
    """Nine runs, each with a slope and a bend of its own about the common line; one arc at 23 °C, motion at 38 °C."""
    rng = generator("C-40")
    errors = np.array([_heated(rng) for _ in range(RUNS)])
    with_line, without = np.abs(errors).mean(axis=0)
    reduction = 1.0 - with_line / without
    note = f"without {without:.1f} N, reduction {100 * reduction:.0f} %; worst run {np.abs(errors[:, 0]).max():.2f} N"
    ok = with_line <= 3.6 and without >= 15.0 and reduction >= 0.8
    return Finding(with_line, ok, f"{note}; mean of {RUNS} runs")


def _heated(rng: np.random.Generator) -> tuple[float, float]:
    """Mean error of F_z at 38 °C, with the line and without.

    Half of the scatter of table 3.3 goes to the run's slope, half to its bend; temperatures are the
    thermometer's.
    """
    own = SLOPE + rng.standard_normal(6) * SEE / (np.sqrt(2.0) * 7.217)
    # 46.6 °C²: std of (T − 32)² over 20–45 °C
    bend = rng.standard_normal(6) * SEE / (np.sqrt(2.0) * 46.6)
    sensor = GaugeSensor(load=load("PG 070"), bias=bias(rng), noise=REST, slope=own, reference=23.0)
    tool = calibrated(sensor, rng, POSITION_ERROR, 23.0)
    rotations, acceleration = task_motion(20.0, rng)
    time = np.arange(len(rotations)) / RATE
    truth = np.full(len(time), 38.0)
    wrench = sensor.read(
        rotations, temperature=truth, acceleration=acceleration, rate=RATE, rng=rng
    )
    wrench += bend * ((38.0 - 32.0) ** 2 - (23.0 - 32.0) ** 2)
    told = replace(
        readings_of(wrench, rotations), temperature=Thermometer().stream(time, truth, rng)
    )
    line = Thermal(23.0, SLOPE * SERVED, np.zeros(6))
    with_line, without = (
        compensate(told, replace(tool, thermal=t), "none").wrench for t in (line, None)
    )
    return float(with_line[:, 2].mean()), float(without[:, 2].mean())


def _slanted(fit: Callable[..., ThermalLine]) -> Callable[..., ThermalLine]:
    return lambda x, y: replace(fit(x, y), slope=1.1 * fit(x, y).slope)


def _coarse(stream: Callable[..., Array]) -> Callable[..., Array]:
    return lambda self, time, temperature, rng: stream(
        replace(self, resolution=0.5), time, temperature, rng
    )


def _weakened(measure: Callable[..., Array]) -> Callable[..., Array]:
    """0.2 % per degree."""

    def broken(
        sensor: GaugeSensor, rng: np.random.Generator, sloppy: float, temperature: Array
    ) -> Array:
        return measure(sensor, rng, sloppy, temperature) * (
            1.0 - 0.002 * (np.mean(temperature) - 21.0)
        )

    return broken


def _cooling(shift: Callable[..., Array]) -> Callable[..., Array]:
    return lambda self, temperature: -shift(self, temperature)


def _slow(at: Callable[..., Array]) -> Callable[..., Array]:
    return lambda self, time: at(replace(self, time_constant=4.0 * self.time_constant), time)


_THIS = sys.modules[__name__]

MUTATIONS = [
    Mutation(
        "thermometer",
        "steps of half a degree",
        ("C-36",),
        lambda: patched(Thermometer, "stream", _coarse(Thermometer.stream)),
    ),
    Mutation(
        "warming",
        "the sensor warms four times slower",
        ("C-37",),
        lambda: patched(Warming, "at", _slow(Warming.at)),
    ),
    Mutation(
        "line",
        "slopes are a tenth too steep",
        ("C-39",),
        lambda: patched(_THIS, "fit_line", _slanted(fit_line)),
    ),
    Mutation(
        "warm gain",
        "the sensor's gain falls with temperature",
        ("C-38",),
        lambda: patched(_THIS, "sweep", _weakened(sweep)),
    ),
    Mutation(
        "thermal sign",
        "the drift is added",
        ("C-40",),
        lambda: patched(Thermal, "shift", _cooling(Thermal.shift)),
    ),
]

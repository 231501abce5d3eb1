"""Contact error against the regulator's rate, 20 Hz to 1 kHz, and how much of it depends on what had to be assumed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from farhand.control.trajectory.paths import Move
from farhand_lab.dual_arm.rates import MODEL, ThreadTrace, trace
from farhand_lab.dual_arm.threads import Rates, ThreadSetup
from farhand_lab.harness import Figure, Finding, experiment

if TYPE_CHECKING:
    import matplotlib.figure

PRESS = (Move(0.5, 2.0, (0.42, 0.0, 0.0), label="+x, into the wall"),)
SLOW_PRESS = (Move(0.5, 2.5, (0.42, 0.0, 0.0), label="+x, into the wall"),)
CURVE = (20.0, 30.0, 40.0, 47.0, 55.0, 65.0, 75.0, 100.0, 200.0, 500.0, 1000.0)  # [Hz]
FEW = (40.0, 47.0, 75.0, 200.0, 1000.0)  # [Hz]
# peak ‖e_p‖ [mm]
PROTOTYPE = {47.0: 56.4, 75.0: 35.0, 100.0: 28.0, 200.0: 16.5, 500.0: 7.6, 1000.0: 3.5}
ASSUMED: dict[str, tuple[float, float]] = {
    "armature": (0.05, 0.2),  # [kg·m²]
    "friction": (0.5, 2.0),  # [-]
    "hand_stiffness": (500.0, 2000.0),  # [N/m]
}
STILL, SHAKING = 1.0, 20.0  # standard deviation of the wall's force in the last second, [N]


def at(rate: float, sensor: bool = True) -> ThreadSetup:
    """Regulator at ``rate`` [Hz], the other threads faster: 500 and 1000 Hz and, for the sensor, 100 Hz or ``rate``."""
    return ThreadSetup(
        Rates(rate, max(500.0, rate), max(100.0, rate), 1000.0), PRESS, sensor=sensor
    )


def pressed(rate: float, **assumed: float) -> ThreadTrace:
    """The hand presses the follower into the wall and stays."""
    return trace(replace(at(rate), **assumed), 4.5 if assumed else 6.0)  # type: ignore[arg-type]


def peak(run: ThreadTrace) -> float:
    """Largest ‖e_p‖, [mm]; infinite if the run diverged."""
    return float(run.distance.max()) if np.isfinite(run.error).all() else np.inf


def shake(run: ThreadTrace) -> float:
    """Standard deviation of the wall's force in the last second, [N]; infinite if the run diverged."""
    return float(run.end(run.force).std()) if np.isfinite(run.error).all() else np.inf


@experiment("D-55")
def error_against_rate() -> Finding:
    """Pressed into the 6000 N/m wall at every rate; the value is the peak at 1 kHz."""
    peaks = {rate: peak(pressed(rate)) for rate in CURVE}
    fast = [peaks[rate] for rate in (100.0, 200.0, 500.0, 1000.0)]
    falls = all(later < earlier for earlier, later in zip(fast, fast[1:], strict=False))
    near = all(abs(peaks[rate] / PROTOTYPE[rate] - 1.0) <= 0.1 for rate in PROTOTYPE)
    slow, still = pressed(47.0), pressed(75.0)
    bounded = SHAKING < shake(slow) < np.inf and peak(slow) < 100.0
    figures = (
        Figure("Contact error against rate", _curve_plot),
        Figure("Wall force at 47 and 75 Hz", lambda: _cycle_plot(slow, still)),
    )
    listed = ", ".join(f"{rate:g} Hz {value:.1f}" for rate, value in peaks.items())
    force = slow.end(slow.force)
    note = (
        f"peaks [mm]: {listed.replace('inf', 'diverges')}; at 47 Hz {force.mean():.0f} ± {force.std():.0f} N; "
        f"steady force at 1 kHz {pressed(1000.0).end(pressed(1000.0).force).mean():.2f} N (prototype 86.57; ρ = 0.01 "
        f"takes the rest). {_rows()}. {_sensitivity()}. {_prompt()}; {MODEL}"
    )
    return Finding(
        fast[-1], falls and near and bounded and shake(still) < STILL, note, figures=figures
    )


def _rows() -> str:
    """The other rows of the prototype's contact table, ours beside them."""
    wild, lit = (
        trace(ThreadSetup(moves=SLOW_PRESS), 8.0),
        trace(ThreadSetup(moves=SLOW_PRESS, stepping="literal"), 8.0),
    )
    blind = {rate: trace(at(rate, sensor=False), 6.0) for rate in (47.0, 75.0, 100.0)}
    bouncing = ", ".join(
        f"{rate:g} Hz {run.end(run.force).mean():.1f} ± {run.end(run.force).std():.1f} N"
        for rate, run in blind.items()
    )
    return (
        f"Published rates, elapsed: peak {peak(wild):.0f} mm, {np.abs(wild.hand[:, :3]).max():.0f} N (274, 299: "
        f"chaotic); literal: {peak(lit):.0f} mm, then {lit.end(lit.force).mean():.1f} N (206, 86.6). "
        f"Without the sensor: {bouncing} (9.2 ± 15.2, 9.0 ± 8.5, 8.8 ± 0.1)"
    )


def _sensitivity() -> str:
    """What the assumed numbers change, in words."""
    words = []
    for name, values in ASSUMED.items():
        for value in values:
            slow, fast = pressed(47.0, **{name: value}), pressed(1000.0, **{name: value})
            words.append(
                f"{name} {value:g}: ± {shake(slow):.0f} N at 47 Hz, {peak(fast):.1f} mm at 1 kHz"
            )
    return "Sensitivity: " + "; ".join(words)


def _prompt() -> str:
    """What hangs on the reading that torques are published one period after the inputs were read."""
    runs = {rate: pressed(rate, latency=0.0) for rate in (47.0, 1000.0)}
    words = ", ".join(
        f"{rate:g} Hz {peak(run):.1f} mm ± {shake(run):.0f} N" for rate, run in runs.items()
    )
    return (
        "All this takes the prototype's torques as out one period after their inputs (sources/dual-arm §4.0) and its "
        f"arms as stepped by (4.2); out at once there is no limit cycle: {words}"
    )


def _curve_plot() -> matplotlib.figure.Figure:
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    styles = zip(ASSUMED, ("tab:orange", "tab:green", "tab:purple"), strict=True)
    for name, colour in styles:
        for value, style in zip(ASSUMED[name], (":", "--"), strict=True):
            peaks = [peak(pressed(rate, **{name: value})) for rate in FEW]
            axes.plot(FEW, peaks, style, color=colour, label=f"{name.replace('_', ' ')} {value:g}")
    axes.plot(
        CURVE, [peak(pressed(rate)) for rate in CURVE], "o-", color="black", label="as assumed"
    )
    axes.plot(list(PROTOTYPE), list(PROTOTYPE.values()), "x", color="tab:red", label="prototype")
    still = [rate for rate in CURVE if shake(pressed(rate)) < STILL]
    axes.axvspan(CURVE[0], min(still), alpha=0.15, label="shakes or diverges")
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="rate of the regulator [Hz]",
        ylabel="largest position error in contact [mm]",
        title="Contact error against rate, 6000 N/m wall (a model, not the original hardware)",
    )
    axes.legend(fontsize="small")
    return figure


def _cycle_plot(slow: ThreadTrace, still: ThreadTrace) -> matplotlib.figure.Figure:
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    for run, label in ((slow, "47 Hz"), (still, "75 Hz")):
        axes.plot(run.t, run.force, label=label)
    axes.set(
        xlabel="time [s]",
        ylabel="wall force [N]",
        title="Below the threshold the contact never comes to rest",
    )
    axes.legend()
    return figure

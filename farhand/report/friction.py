"""Plots, tables and the page of ``farhand friction``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from farhand.report.figures import BAND, GREY, dress, new_figure, thinned
from farhand.report.numbers import number
from farhand.report.page import ReportPage

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from farhand.friction.fit.data import JointLog
    from farhand.friction.fit.fit import Estimate, Fit

MODEL = "#c0392b"
VELOCITY, TORQUE = "velocity [rad/s]", "torque [N·m]"


def fit_page(fit: Fit, name: str) -> ReportPage:
    """The page of ``friction fit --report``."""
    page = ReportPage("Joint friction", f"{fit.model} fitted to {name}.")
    page.table(("what", "value ± half of the 95 % interval"), fit_rows(fit))
    if fit.warnings:
        page.section("What the data do not tell, and what is odd")
        for line in fit.warnings:
            page.paragraph(line)
    else:
        page.paragraph("Every parameter is identified, and nothing in the data is odd.")
    caption = "Friction over velocity: torque without inertia and offset, and the model"
    page.figure(_friction_figure(fit), caption)
    caption = "Torque over time, measured and modelled; the shaded part was not used for the fit"
    page.figure(_time_figure(fit), caption)
    return page


def curve_figure(content: dict[str, Any]) -> Figure:
    """The curve of a fitted model."""
    figure = new_figure(8.0, 4.5)
    ax = figure.add_subplot()
    _plot_curve(ax, np.array(content["curve"]))
    dress(ax, VELOCITY, TORQUE, f"{content['model']}, steady state")
    return figure


def log_figure(log: JointLog) -> Figure:
    """A log: position, velocity and torque over time, and torque over velocity."""
    figure, keep = new_figure(9.0, 8.0), thinned(len(log))
    axes = figure.subplots(4, 1)
    for ax, name, unit, values in (
        (axes[0], "position", "[rad]", log.position),
        (axes[1], "velocity", "[rad/s]", log.velocity),
        (axes[2], "torque", "[N·m]", log.torque),
    ):
        ax.plot(log.time[keep], values[keep], color=MODEL, linewidth=0.7)
        dress(ax, "time [s]", unit, name)
    axes[3].plot(log.velocity[keep], log.torque[keep], ".", color=GREY, markersize=2)
    dress(axes[3], VELOCITY, "[N·m]", "torque over velocity")
    return figure


def _plot_curve(ax: Axes, curve: np.ndarray, label: str | None = None) -> None:
    # Two halves, as dry friction jumps at rest
    middle = len(curve) // 2
    ax.plot(*curve[:middle].T, color=MODEL, label=label)
    ax.plot(*curve[middle:].T, color=MODEL)


def _friction_figure(fit: Fit) -> Figure:
    figure = new_figure(8.0, 4.5)
    ax, motion = figure.add_subplot(), fit.motion
    friction = motion.torque - fit.inertia.value * motion.acceleration - fit.offset.value
    rows = np.flatnonzero(fit.used)
    rows = rows[thinned(len(rows))]
    ax.plot(motion.velocity[rows], friction[rows], ".", color=GREY, markersize=2, label="measured")
    _plot_curve(ax, fit.curve, fit.model)
    ax.legend(frameon=False)
    dress(ax, VELOCITY, "friction [N·m]")
    return figure


def _time_figure(fit: Fit) -> Figure:
    figure, motion = new_figure(9.0, 5.0), fit.motion
    top, bottom = figure.subplots(2, 1, sharex=True)
    keep = thinned(len(motion))
    time = motion.time[keep]
    top.plot(time, motion.torque[keep], color=GREY, linewidth=0.8, label="measured")
    top.plot(time, fit.modelled[keep], color=MODEL, linewidth=0.8, label=fit.model)
    top.legend(frameon=False, ncols=2)
    residual = np.where(fit.used, motion.torque - fit.modelled, np.nan)
    bottom.plot(time, residual[keep], color=MODEL, linewidth=0.8)
    held_out = motion.time[fit.held_out]
    for ax in (top, bottom):
        ax.axvspan(held_out[0], held_out[-1], color=BAND, zorder=0)
    dress(top, y=TORQUE)
    dress(bottom, "time [s]", "residual [N·m]")
    return figure


def fit_rows(fit: Fit) -> list[tuple[str, str]]:
    """The fit as a table: value, half of the 95 % interval, or that it is not identified."""
    inertia, motion = fit.inertia, fit.motion
    known = (
        f"{number(inertia.value, 4)} kg·m² (given)"
        if inertia.low == inertia.high
        else _value(inertia)
    )
    rows = [(name, _value(estimate)) for name, estimate in fit.parameters.items()]
    rows.append(("inertia", known))
    if fit.offset.identified:
        rows.append(("offset", _value(fit.offset)))
    share = 100.0 / fit.rms_torque
    error = f"{number(fit.rms_error)} N·m, {number(share * fit.rms_error, 2)} % of the torque"
    step = f"encoder step {number(motion.tick)} rad" if motion.tick else "no encoder steps"
    source = f"from the {motion.source} column; {step}"
    return [
        *rows,
        ("error", f"{error} (root mean square)"),
        (
            "hold-out error",
            f"{number(fit.holdout_error)} N·m, {number(share * fit.holdout_error, 2)} %",
        ),
        ("motion", f"below {motion.bandwidth:g} Hz, {source}"),
        *((f"{name}, hold-out", f"{number(error)} N·m") for name, error in fit.compared.items()),
    ]


def _value(estimate: Estimate) -> str:
    low, high = estimate.low, estimate.high
    unit = "" if estimate.unit == "-" else f" {estimate.unit}"
    value = f"{number(estimate.value, 4)}{unit}"
    if not estimate.identified:
        known = "" if low is None or high is None else f", {number(low)} to {number(high)}"
        return f"{value} (not identified{known})"
    assert low is not None and high is not None
    return f"{value} ± {number(0.5 * (high - low), 2)}"

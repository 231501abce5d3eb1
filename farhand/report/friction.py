"""Pictures and pages of ``farhand friction``: torque over velocity, the fit over time, and what is left of it."""

from __future__ import annotations

import io
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from farhand.errors import FileError
from farhand.report.page import ReportPage

if TYPE_CHECKING:
    from farhand.friction.fit.fit import Fit
    from farhand.friction.fit.sliding import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from farhand.friction.fit.data import JointLog
    from farhand.friction.fit.fit import Fit

DATA, MODEL, SOFT = "#9aa4b1", "#c0392b", "#eef1f4"
MOST_POINTS = 4000
"""Points per line; more cannot be told apart on the page."""


def fit_page(found: Fit, name: str) -> ReportPage:
    """The page of ``friction fit --report``."""
    pass

    page = ReportPage("Joint friction", f"{found.model} fitted to {name}.")
    page.table(("what", "value ± half of the 95 % interval"), fit_rows(found))
    if found.warnings:
        page.section("What the data do not tell, and what is odd")
        for line in found.warnings:
            page.paragraph(line)
    else:
        page.paragraph("Every parameter is identified, and nothing in the data is odd.")
    page.figure(
        _friction_figure(found),
        "Friction over velocity: torque without inertia and offset, and the model",
    )
    page.figure(
        _time_figure(found),
        "Torque over time, measured and modelled; the shaded stretch was kept aside",
    )
    return page


def curve_figure(content: dict[str, Any]) -> Figure:
    """The curve of a fitted model."""
    figure, ax = _single()
    curve = np.array(content["curve"])
    middle = len(curve) // 2
    for half in (curve[:middle], curve[middle:]):  # dry friction jumps at rest
        ax.plot(half[:, 0], half[:, 1], color=MODEL)
    _dress(ax, "velocity [rad/s]", "torque [N·m]", f"{content['model']}, steady state")
    return figure


def log_figure(found: JointLog) -> Figure:
    """A log: position, velocity and torque over time, and torque over velocity."""
    from matplotlib.figure import Figure as Plot

    figure = Plot(figsize=(9.0, 8.0), layout="constrained")
    thin = slice(None, None, max(1, len(found) // MOST_POINTS))
    axes = figure.subplots(4, 1)
    for ax, values, label in zip(
        axes,
        (found.position, found.velocity, found.torque),
        ("[rad]", "[rad/s]", "[N·m]"),
        strict=False,
    ):
        ax.plot(found.time[thin], values[thin], color=MODEL, linewidth=0.7)
        _dress(
            ax,
            "time [s]",
            label,
            {"[rad]": "position", "[rad/s]": "velocity", "[N·m]": "torque"}[label],
        )
    axes[3].plot(found.velocity[thin], found.torque[thin], ".", color=DATA, markersize=2)
    _dress(axes[3], "velocity [rad/s]", "[N·m]", "torque over velocity")
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write a picture whole or not at all; its suffix says which kind."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=path.suffix[1:].lower(), dpi=150)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(buffer.getvalue())
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise FileError(f"cannot write {path}: {error.strerror or error}") from error


def _friction_figure(found: Fit) -> Figure:
    figure, ax = _single()
    motion, used = found.motion, found.used
    left = motion.torque - found.inertia.value * motion.acceleration - found.offset.value
    rows = np.flatnonzero(used)
    rows = rows[:: max(1, len(rows) // MOST_POINTS)]
    ax.plot(motion.velocity[rows], left[rows], ".", color=DATA, markersize=2, label="measured")
    curve = found.curve
    middle = len(curve) // 2
    ax.plot(*curve[:middle].T, color=MODEL, label=found.model)
    ax.plot(*curve[middle:].T, color=MODEL)
    ax.legend(frameon=False)
    _dress(ax, "velocity [rad/s]", "friction [N·m]", "")
    return figure


def _time_figure(found: Fit) -> Figure:
    from matplotlib.figure import Figure as Plot

    figure = Plot(figsize=(9.0, 5.0), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True)
    motion = found.motion
    thin = slice(None, None, max(1, len(motion) // MOST_POINTS))
    time = motion.time[thin]
    top.plot(time, motion.torque[thin], color=DATA, linewidth=0.8, label="measured")
    top.plot(time, found.modelled[thin], color=MODEL, linewidth=0.8, label=found.model)
    top.legend(frameon=False, ncols=2)
    left = np.where(found.used, motion.torque - found.modelled, np.nan)
    bottom.plot(time, left[thin], color=MODEL, linewidth=0.8)
    kept = motion.time[found.held_out]
    for ax in (top, bottom):
        ax.axvspan(kept[0], kept[-1], color=SOFT, zorder=0)
    _dress(top, "", "torque [N·m]", "")
    _dress(bottom, "time [s]", "left over [N·m]", "")
    return figure


def _single() -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure as Plot

    figure = Plot(figsize=(8.0, 4.5), layout="constrained")
    return figure, figure.add_subplot()


def _dress(ax: Axes, x: str, y: str, title: str) -> None:
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.set_title(title, loc="left", fontsize=10)
    ax.grid(True, color="#e3e6ea", linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)


def fit_rows(found: Fit) -> list[tuple[str, str]]:
    """The fit as a table: value, half of the 95 % interval, or that it is not identified."""
    given = found.inertia.low == found.inertia.high
    rows = [(name, _value(one)) for name, one in found.parameters.items()]
    rows.append(
        ("inertia", f"{found.inertia.value:.4g} kg·m² (given)" if given else _value(found.inertia))
    )
    if found.offset.identified:
        rows.append(("offset", _value(found.offset)))
    share = 100.0 / found.rms_torque
    rows += [
        (
            "error",
            f"{found.rms_error:.3g} N·m, {share * found.rms_error:.2g} % of the torque (root mean square)",
        ),
        ("hold-out error", f"{found.holdout_error:.3g} N·m, {share * found.holdout_error:.2g} %"),
        (
            "motion",
            f"below {found.motion.bandwidth:g} Hz, from the {found.motion.source} column; {_ticks(found)}",
        ),
    ]
    rows += [(f"{name}, hold-out", f"{error:.3g} N·m") for name, error in found.compared.items()]
    return rows


def _ticks(found: Fit) -> str:
    return (
        f"encoder step {found.motion.tick:.3g} rad"
        if found.motion.tick
        else "no encoder steps to see"
    )


def _value(one: Estimate) -> str:
    unit = "" if one.unit == "-" else f" {one.unit}"
    if not one.identified:
        known = "" if one.low is None or one.high is None else f", {one.low:.3g} to {one.high:.3g}"
        return f"{one.value:.4g}{unit} (not identified{known})"
    assert one.low is not None and one.high is not None
    return f"{one.value:.4g}{unit} ± {0.5 * (one.high - one.low):.2g}"

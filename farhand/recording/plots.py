"""A picture of a recording: motion, forces, error and energy, or chosen signals, with events."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from farhand.errors import BadValue
from farhand.files import write_bytes
from farhand.recording.export import component_names, component_units
from farhand.recording.loader import RecordedEvent, Recording

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = np.ndarray

COLOURS = ("#1f6fb4", "#d9730d", "#39424e", "#2b8a3e", "#8a4fbf", "#b3261e", "#0b7285", "#a98500")
MARKED = ("trip", "command", "coupling", "full", "lost")
MAX_POINTS = 4000  # per curve
DEFAULT_CHANNELS = ("position_tool_in_world", "wrench_measured_in_world", "error", "port_energy")


@dataclass(frozen=True)
class Curves:
    """What one panel shows: numbers of one signal that have one unit."""

    title: str  # of the panel
    unit: str  # of the numbers
    names: list[str]  # of the curves
    times: Array  # shape (n,), [s]
    values: Array  # shape (n, curves)


def draw(
    recording: Recording,
    out: Path,
    signals: list[str],
    since: float = 0.0,
    until: float | None = None,
) -> list[str]:
    """Write a picture with one panel per signal and unit.

    Args:
        recording: what to draw.
        out: PNG, SVG or PDF.
        signals: such as ``leader/q``; :data:`DEFAULT_CHANNELS` of all streams if empty.
        since: first time shown, [s].
        until: last time shown, [s].

    Returns:
        signals that have no panel because they were not measured in that time.

    Raises:
        UnknownName: there is no such signal.
        BadValue: there is nothing to draw.
        FileError: the picture cannot be written.
    """
    for signal in signals:
        recording[signal]
    names = signals or [s for s in recording.units if s.partition("/")[2] in DEFAULT_CHANNELS]
    end = max((s.times[-1] for s in recording.streams.values() if s.times_ns.size), default=0.0)
    until = end if until is None else until
    window, span = (since, until), f"from {since:g} s to {until:g} s"
    names = [name for name in names if _inside(recording.times(name), window).any()]
    if not names or not since < until:
        raise BadValue(f"{recording.path} has nothing to draw {span}")
    curves = {signal: curves_of(recording, signal, window) for signal in names}
    missing = [signal for signal, panels in curves.items() if not panels]
    shown = [panel for panels in curves.values() for panel in panels]
    if not shown:
        raise BadValue(f"{recording.path} has no reading of {', '.join(missing)} {span}")
    about = recording.metadata
    title = " · ".join(str(about[k]) for k in ("rig", "law", "scenario") if k in about)
    title = "\n".join([title, *(f"not measured: {signal}" for signal in missing)])
    marks = [event for event in recording.happened if event.kind in MARKED]
    _save(_figure(title, shown, marks, window), out)
    return missing


def _inside(times: Array, window: tuple[float, float]) -> Array:
    return (times >= window[0]) & (times <= window[1])


def _figure(
    title: str, shown: list[Curves], marks: list[RecordedEvent], window: tuple[float, float]
) -> Figure:
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(11.0, 1.2 + 1.9 * len(shown)), layout="constrained")
    panels = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
    for panel, curves in zip(panels, shown, strict=True):
        _panel(panel, curves)
    _mark(panels, marks, window)
    panels[-1].set(xlabel="time [s]", xlim=window)
    figure.suptitle(title, x=0.01, ha="left")
    return figure


def _save(figure: Figure, out: Path) -> None:
    # In memory first, so that the file is whole or not there
    picture = io.BytesIO()
    figure.savefig(picture, dpi=110, format=out.suffix.lower().removeprefix("."))
    write_bytes(out, picture.getvalue())


def curves_of(recording: Recording, signal: str, window: tuple[float, float]) -> list[Curves]:
    """The panels of a signal, one per unit of its numbers; none if nothing was measured.

    A wrench is drawn as the sizes of force and torque, a position from where it was first.
    """
    stream_name, _, channel = signal.partition("/")
    stream = recording.streams[stream_name]
    times, values = stream.times, stream.channels[channel]
    inside = _inside(times, window)
    stride = -(-int(inside.sum()) // MAX_POINTS) or 1
    times, values = times[inside][::stride], values[inside][::stride]
    names = [name.removeprefix(f"{channel}.") for name in component_names(stream, channel)]
    units, title = component_units(stream.units[channel], values.shape[1]), signal
    if channel.startswith("wrench") and values.shape[1] == 6:
        names, units = ["|force|", "|torque|"], [units[0], units[3]]
        parts = (values[:, :3], values[:, 3:])
        values = np.stack([np.linalg.norm(part, axis=1) for part in parts], axis=1)
    known = np.isfinite(values).all(axis=1)
    if channel.startswith("position") and known.any():
        first = int(known.argmax())
        values, title = values - values[first], f"{signal}, from where it was at {times[first]:g} s"
    panels = []
    measured = np.asarray(np.isfinite(values).any(axis=0))
    for unit in dict.fromkeys(units):
        own = [i for i, other in enumerate(units) if other == unit and measured[i]]
        if own:
            panels.append(Curves(title, unit, [names[i] for i in own], times, values[:, own]))
    return panels


def _panel(panel: Axes, curves: Curves) -> None:
    names = curves.names
    for index, name in enumerate(names):
        colour = COLOURS[index % len(COLOURS)]
        panel.plot(curves.times, curves.values[:, index], color=colour, linewidth=1.1, label=name)
    panel.set_ylabel(curves.unit, fontsize=10 if len(curves.unit) < 16 else 6)
    panel.set_title(curves.title, loc="left", fontsize=9)
    place: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1.0, 0.98)}
    panel.legend(fontsize=7, ncols=min(len(names), 8), frameon=False, **place)
    panel.grid(True, color="#e3e6ea", linewidth=0.6)
    panel.spines[["top", "right"]].set_visible(False)


def _mark(panels: np.ndarray, events: list[RecordedEvent], window: tuple[float, float]) -> None:
    """Events as vertical lines; those too close to each other share one."""
    since, until = window
    groups: list[list[RecordedEvent]] = []
    for event in (event for event in events if since <= event.time_ns * 1e-9 <= until):
        if groups and event.time_ns - groups[-1][0].time_ns < 0.01e9 * (until - since):
            groups[-1].append(event)
        else:
            groups.append([event])
    for group in groups:
        bad = any(event.kind in ("trip", "full", "lost") for event in group)
        at, colour = group[0].time_ns * 1e-9, "#b3261e" if bad else "#39424e"
        for panel in panels:
            panel.axvline(at, color=colour, linestyle=":", linewidth=1.0)
        text = ", ".join(event.text for event in group)
        text = text if len(text) < 44 else f"{text[:43]}…"
        style: dict[str, Any] = {"rotation": 90, "ha": "left", "va": "top", "fontsize": 6.5}
        axes = panels[0].get_xaxis_transform()
        panels[0].text(at, 0.97, text, transform=axes, color=colour, **style)

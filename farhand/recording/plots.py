"""Plots of a recording: motion, forces, error and energy, or whatever signals are asked for, with the events."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from farhand.errors import BadValue, FileError
from farhand.recording.columns import component_names
from farhand.recording.loader import RecordedEvent, Recording

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#1f6fb4", "#d9730d", "#39424e", "#2b8a3e", "#8a4fbf", "#b3261e", "#0b7285", "#a98500")
MARKED = ("trip", "command", "coupling", "full", "lost")
MOST_POINTS = 4000
CHOSEN = ("position_tool_in_world", "wrench_measured_in_world", "error", "port_energy")
"""Drawn unless signals are asked for: the tools, what they touch, how far apart they are, and the energy."""


def draw(recording: Recording, out: Path, signals: list[str], since: float = 0.0, until: float | None = None) -> None:
    """Write a picture with one panel per signal.

    Args:
        recording: what to draw.
        out: PNG, SVG or PDF.
        signals: such as ``leader/q``; position, force, error and energy of all streams if none are given.
        since: first time shown, [s].
        until: last time shown, [s].

    Raises:
        UnknownName: there is no such signal.
        BadValue: there is nothing to draw.
        FileError: the picture cannot be written.
    """
    from matplotlib.figure import Figure as Canvas

    for signal in signals:
        recording[signal]
    wanted = signals or [name for name in recording.units if name.partition("/")[2] in CHOSEN]
    end = max((s.times[-1] for s in recording.streams.values() if s.times_ns.size), default=0.0)
    until = end if until is None else until
    wanted = [s for s in wanted if ((recording.times(s) >= since) & (recording.times(s) <= until)).any()]
    if not wanted or not since < until:
        raise BadValue(f"{recording.path} has nothing to draw from {since:g} s to {until:g} s")
    figure = Canvas(figsize=(11.0, 1.2 + 1.9 * len(wanted)), layout="constrained")
    panels = figure.subplots(len(wanted), 1, sharex=True, squeeze=False)[:, 0]
    for panel, signal in zip(panels, wanted, strict=True):
        _panel(panel, recording, signal, (since, until))
    _mark(panels, [event for event in recording.happened if event.kind in MARKED], (since, until))
    panels[-1].set(xlabel="time [s]", xlim=(since, until))
    said = recording.metadata
    figure.suptitle(" · ".join(str(said[k]) for k in ("rig", "law", "scenario") if k in said), x=0.01, ha="left")
    _save(figure, out)


def _save(figure: Figure, out: Path) -> None:
    """Under a name of its own first, so that a picture is there whole or not at all."""
    part = out.with_name(f".{out.stem}.{os.getpid()}{out.suffix}")
    try:
        figure.savefig(part, dpi=110)
        part.replace(out)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise FileError(f"cannot write {out}: {error.strerror or error}") from None


def _panel(panel: Axes, recording: Recording, signal: str, window: tuple[float, float]) -> None:
    stream_name, _, channel = signal.partition("/")
    stream = recording.streams[stream_name]
    times, values = stream.times, stream.channels[channel]
    inside = (times >= window[0]) & (times <= window[1])
    stride = -(-int(inside.sum()) // MOST_POINTS) or 1
    times, values = times[inside][::stride], values[inside][::stride]
    names = [name.removeprefix(f"{channel}.") for name in component_names(stream, channel)]
    if channel.startswith("wrench"):  # forces are what people look for; --signal of a table has the rest
        names, values = ["|force| [N]", "|torque| [N·m]"], _sizes(values)
    title = signal
    if channel.startswith("position"):
        values, title = values - values[0], f"{signal}, from where it was at {times[0]:g} s"
    for index, name in enumerate(names):
        panel.plot(times, values[:, index], color=COLOURS[index % len(COLOURS)], linewidth=1.1, label=name)
    panel.set_ylabel(stream.units[channel] if len(stream.units[channel]) < 16 else "")
    panel.set_title(title, loc="left", fontsize=9)
    panel.legend(fontsize=7, loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=min(len(names), 8), frameon=False)
    panel.grid(True, color="#e3e6ea", linewidth=0.6)
    panel.spines[["top", "right"]].set_visible(False)


def _sizes(wrench: np.ndarray) -> np.ndarray:
    return np.stack([np.linalg.norm(wrench[:, :3], axis=1), np.linalg.norm(wrench[:, 3:], axis=1)], axis=1)


def _mark(panels: np.ndarray, events: list[RecordedEvent], window: tuple[float, float]) -> None:
    """Events as vertical lines; those too close to be told apart share one."""
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
        words = ", ".join(event.text for event in group)
        words = words if len(words) < 44 else f"{words[:43]}…"
        style: dict[str, Any] = {"rotation": 90, "ha": "left", "va": "top", "fontsize": 6.5, "color": colour}
        panels[0].annotate(words, (at, 0.97), xycoords=("data", "axes fraction"), **style)

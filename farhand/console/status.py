"""Status: what a run is doing, in plain words, from the newest records of the telemetry ring."""

from __future__ import annotations

import html
import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from farhand.console.scene import Scene
from farhand.station import MODES
from farhand.telemetry import Reader

Array = np.ndarray

EVENTS_SHOWN = 6

ARROW_COLOURS = {"leader": (225, 85, 0), "follower": (0, 90, 200)}
"""Of the force arrow, and of the same force in the panel, by role; red, green, blue."""

OTHER_COLOUR = (110, 110, 120)
"""Of the force arrow of any other role."""

_FORCES = {"leader": "hand force", "follower": "contact force"}
_WORDS = {
    "engage: done": "coupling engaged",
    "release: done": "coupling released",
    "clutch: done": "clutch pressed",
    "declutch: done": "clutch let go",
    "stop: done": "stop requested",
    "reset: done": "trips cleared",
}


@dataclass
class Reading:
    """The newest of everything.

    Attributes:
        time_ns: of the newest record, [ns]; ``None`` before the first.
        q: configuration by robot, in Pinocchio's convention, [rad] or [m].
        force: on the tool in world by robot, [N]; NaN where it is not measured.
        mode: what each robot's station is doing.
        error: distance between the coupled tools, [m]; NaN when unknown.
        engagement: 0 apart to 1 coupled, [-]; NaN when unknown.
        events: the last few, newest first, as (time [ns], words).
        ended: whether the run is over.
    """

    time_ns: int | None = None
    q: dict[str, Array] = field(default_factory=dict)
    force: dict[str, Array] = field(default_factory=dict)
    mode: dict[str, str] = field(default_factory=dict)
    error: float = math.nan
    engagement: float = math.nan
    events: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=EVENTS_SHOWN))
    ended: bool = False

    def refresh(self, reader: Reader, scene: Scene) -> None:
        """Take over what is new in the ring."""
        self.ended = reader.closed
        for t_ns, text in reader.events():
            self.events.appendleft((t_ns, in_words(text)))
        for robot in scene["robots"]:
            record = reader.latest(robot["stream"])
            if record is not None:
                self.time_ns, channels = record
                self.q[robot["name"]] = channels[robot["channel"]]
                self.force[robot["name"]] = channels["wrench_measured_in_world"][:3]
                self.mode[robot["name"]] = MODES[int(channels["mode"][0])]
        if scene["coupling"] in reader.header["streams"]:
            coupled = reader.latest(scene["coupling"])
            if coupled is not None:
                self.error = float(np.linalg.norm(coupled[1]["error"][:3]))
                self.engagement = float(coupled[1]["engagement"][0])


def in_words(event: str) -> str:
    """An event of the ring as a person would say it."""
    return _WORDS.get(event, event.replace(": refused:", " refused:"))


def newtons(force: Array) -> str:
    """Size of a force, [N], for the eye."""
    size = float(np.linalg.norm(force))
    return f"{size:.0f} N" if math.isfinite(size) else "not measured"


def panel(reading: Reading, scene: Scene) -> str:
    """The status as HTML."""
    title = html.escape(scene["scenario"])
    if reading.time_ns is None:
        return _PANEL.format(title=title, rows=_row("waiting", "for the first record"), events="")
    rows = [
        _row("time", f"{reading.time_ns * 1e-9:.1f} s" + (" · the run has ended" if reading.ended else "")),
        _row("coupling", _coupling(reading)),
        _row("tracking error", f"{1e3 * reading.error:.1f} mm" if reading.engagement > 0.0 else "–"),
    ]
    for robot in scene["robots"]:
        colour = ARROW_COLOURS.get(robot["role"], OTHER_COLOUR)
        label = _FORCES.get(robot["role"], f"force on {robot['name']}")
        rows.append(_row(label, newtons(reading.force[robot["name"]]), colour))
    for robot in scene["robots"]:
        mode = reading.mode[robot["name"]]
        rows.append(_row(robot["name"], f"<b style='color:#d22'>{mode}</b>" if mode == "tripped" else mode))
    events = "".join(f"<div>{t_ns * 1e-9:.1f} s — {html.escape(text)}</div>" for t_ns, text in reading.events)
    return _PANEL.format(title=title, rows="".join(rows), events=events)


def _coupling(reading: Reading) -> str:
    gain = reading.engagement
    if math.isnan(gain):
        return "none"
    return "engaged" if gain >= 1.0 else "apart" if gain <= 0.0 else f"fading, {100 * gain:.0f} %"


def _row(label: str, value: str, colour: tuple[int, int, int] | None = None) -> str:
    dot = f"<span style='color:rgb{colour}'>●</span> " if colour else ""
    return (
        f"<tr><td style='opacity:0.65;padding:1px 0'>{dot}{html.escape(label)}</td>"
        f"<td style='text-align:right;font-variant-numeric:tabular-nums'>{value}</td></tr>"
    )


_PANEL = (
    "<div style='padding:2px 14px 8px;font-size:13px'>"
    "<div style='margin-bottom:8px;font-size:12px;line-height:1.4;opacity:0.65'>{title}</div>"
    "<table style='width:100%;border-collapse:collapse'>{rows}</table>"
    "<div style='margin-top:8px;font-size:12px;line-height:1.5;opacity:0.8'>{events}</div></div>"
)

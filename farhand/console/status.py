"""Status: what a run is doing, in plain words, from the newest records of the telemetry ring."""

from __future__ import annotations

import html
import math
import re
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from farhand.console.palette import Colour, css, role_colour
from farhand.console.scale import scale_in_words
from farhand.console.scene import Scene
from farhand.console.source import Event, Source
from farhand.loop.station import MODES
from farhand.mapping.ik.chain import STATUSES
from farhand.plants.simulated.haptic import VERDICTS

Array = np.ndarray

EVENTS_SHOWN = 20
QUIET = "hand.drag"  # set many times a second while somebody drags

_FORCES = {"leader": "hand force", "follower": "contact force"}
_DRIVERS = {
    "bus_period": ("bus", lambda v: f"{1.0 / v[0]:.1f} Hz" if v[0] > 0.0 else "silent"),
    "battery": ("battery", lambda v: f"{v[0]:.2f} V"),
    "ik_status": ("inverse kinematics", lambda v: list(STATUSES)[int(v[0])]),
    "distances_to_limits": (
        "nearest limit",
        lambda v: f"{1e3 * v.min():.0f} mm" if np.isfinite(v).all() else "–",
    ),
    "calibration": ("calibration", lambda v: VERDICTS[int(v[0])]),
    "sample_age": ("age of its sample", lambda v: f"{1e-6 * v[0]:.1f} ms"),
}
"""What a driver may tell beside its motion, by channel: what it is called, and how it is said."""

_WORDS = {
    "engage: done": "coupling engaged",
    "release: done": "coupling released",
    "clutch: done": "clutch pressed",
    "declutch: done": "clutch let go",
    "stop: done": "stop requested",
    "reset: done": "trips cleared",
}

_STEP = re.compile(r"(?P<robot>\w+): (?:\S+ → )?(?P<state>\S+) \(")
"""What the machine of a job says when it goes on."""


@dataclass
class Reading:
    """The newest of everything.

    Attributes:
        time_ns: of the newest record, [ns]; ``None`` before the first.
        q: configuration by robot, in Pinocchio's convention, [rad] or [m].
        force: measured on the tool in world by robot, [N]; NaN where it is not measured.
        commanded: what the law pulls the tool with, in world by robot, [N].
        synthetic: robots whose force is made from kinematics.
        mode: what each robot's station is doing.
        job: where the job of each robot that has one stands, such as ``carry``.
        said: what else each robot's driver says, in words, such as the rate of its bus.
        errors: from the follower's tool to where its coupling wants it, by coupling, [m].
        engagement: 0 apart to 1 coupled, [-]; NaN when unknown.
        energy: put into the coupling by both sides together, [J]; NaN when unknown.
        age: of what the sides know of each other, [s]; NaN when unknown.
        events: the last few, newest first, as (time [ns], words).
        trip: why the robots were stopped, empty if they are not.
        changes: parameters set since they were last taken, by path.
        refusals: commands refused since they were last taken, as (parameter path or "", words).
        ended: whether the run is over.
    """

    time_ns: int | None = None
    q: dict[str, Array] = field(default_factory=dict)
    force: dict[str, Array] = field(default_factory=dict)
    commanded: dict[str, Array] = field(default_factory=dict)
    synthetic: set[str] = field(default_factory=set)
    mode: dict[str, str] = field(default_factory=dict)
    job: dict[str, str] = field(default_factory=dict)
    said: dict[str, dict[str, str]] = field(default_factory=dict)
    errors: dict[str, Array] = field(default_factory=dict)
    engagement: float = math.nan
    energy: float = math.nan
    age: float = math.nan
    events: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=EVENTS_SHOWN))
    trip: str = ""
    changes: dict[str, Any] = field(default_factory=dict)
    refusals: list[tuple[str, str]] = field(default_factory=list)
    ended: bool = False

    @property
    def error(self) -> float:
        """Distance between a follower's tool and where its coupling wants it, the largest, [m]; NaN when unknown."""
        return max(
            (float(np.linalg.norm(error)) for error in self.errors.values()), default=math.nan
        )

    def refresh(self, source: Source, scene: Scene) -> None:
        """Take over what is new."""
        self.ended = source.closed
        for event in source.events_with_data():
            self._hear(event)
        streams = source.header["streams"]
        for robot in scene["robots"]:
            record = source.latest(robot["stream"]) if robot["stream"] in streams else None
            if record is not None:
                self._see(robot["name"], robot["channel"], *record)
        for thing in scene["things"]:
            if thing["kind"] == "tie" and thing["stream"] in streams:
                coupled = source.latest(thing["stream"])
                if coupled is not None:
                    self._couple(thing["stream"], coupled[1])

    def measured(self, robot: str) -> Array:
        """Force on a tool, [N]: as measured, or what the law pulls with where nothing is measured."""
        force = self.force.get(robot, np.zeros(3))
        return force if np.isfinite(force).all() else self.commanded.get(robot, force)

    def origin(self, robot: str) -> str:
        """What :meth:`measured` tells of a robot where it is not measured: ``law`` or ``synthetic``."""
        if np.isfinite(self.force.get(robot, np.zeros(3))).all():
            return ""
        return "synthetic" if robot in self.synthetic else "law"

    def _see(self, name: str, channel: str, t_ns: int, channels: dict[str, Array]) -> None:
        self.time_ns = max(self.time_ns or 0, t_ns)
        self.q[name] = channels[channel]
        if "mode" not in channels:
            return  # an object: it has no station, and nothing measures what it feels
        self.force[name] = channels["wrench_measured_in_world"][:3]
        self.commanded[name] = channels["wrench_commanded_in_world"][:3]
        if "force_synthetic_in_world" in channels:
            self.commanded[name] = channels["force_synthetic_in_world"]
            self.synthetic.add(name)
        self.mode[name] = MODES[int(channels["mode"][0])]
        self.said[name] = {
            what: words(channels[of]) for of, (what, words) in _DRIVERS.items() if of in channels
        }

    def _couple(self, stream: str, channels: dict[str, Array]) -> None:
        self.errors[stream] = channels["error"][:3]
        self.engagement = float(channels["engagement"][0])
        # one side alone does not know the other's
        self.energy = float(np.nansum(channels["port_energy"]))
        self.age = float(np.nanmax(channels["age"]))

    def _hear(self, event: Event) -> None:
        t_ns, text, data = event
        said = data or {}
        path, outcome = str(said.get("path", "")), str(said.get("outcome", ""))
        if said.get("kind") == "trip":
            self.trip = in_words(text)
        if text == "reset: done":
            self.trip = ""
        if outcome.startswith("refused"):
            self.refusals.append((path, outcome.removeprefix("refused: ")))
        elif said.get("name") == "set":
            self.changes[path] = said.get("value")
        if step := _STEP.match(text):
            self.job[step["robot"]] = step["state"]
        if path != QUIET or outcome.startswith("refused"):
            self.events.appendleft((t_ns, in_words(text)))


def in_words(event: str) -> str:
    """An event of the ring as a person would say it."""
    where, tripped, reason = event.partition(" tripped: ")
    if tripped:
        return f"{reason} ({where})"
    return _WORDS.get(event, event.replace(": refused:", " refused:"))


def newtons(force: Array) -> str:
    """Size of a force, [N], for the eye."""
    size = float(np.linalg.norm(force))
    if not math.isfinite(size):
        return "not measured"
    return f"{size:.0f} N" if size >= 9.95 else f"{size:.1f} N"


@dataclass(frozen=True)
class Health:
    """How the session's process is doing.

    Attributes:
        tick: median time a tick takes, [µs]; NaN when unknown.
        rate: ticks per second, [Hz].
        overruns: ticks that began more than a period late.
        margin: what ``farhand stability`` says of this run, empty if nothing.
    """

    tick: float = math.nan
    rate: float = math.nan
    overruns: int = 0
    margin: str = ""

    def __str__(self) -> str:
        """In a line."""
        return f"{self.rate:.0f} Hz · tick {self.tick:.0f} µs"


def panel(reading: Reading, scene: Scene, health: Health | None = None) -> str:
    """The status as HTML."""
    title = html.escape(scene["scenario"])
    if reading.time_ns is None:
        return _PANEL.format(
            banner="", title=title, rows=_row("waiting", "for the first record"), last=""
        )
    rows = [
        _row(
            "time",
            f"{reading.time_ns * 1e-9:.1f} s" + (" · the run has ended" if reading.ended else ""),
        ),
        *([] if health is None or math.isnan(health.tick) else _loop(health)),
    ]
    if any(thing["kind"] == "tie" for thing in scene["things"]):
        apart = f"{1e3 * reading.error:.1f} mm" if reading.engagement > 0.0 else "–"
        rows += [_row("coupling", _coupling(reading)), _row("tracking error", apart)]
    rows += [
        _robot(r["name"], r["role"], reading) for r in scene["robots"] if r["name"] in reading.mode
    ]
    banner = _BANNER.format(html.escape(reading.trip)) if reading.trip else ""
    last = [_event(*reading.events[0])] if reading.events else []
    last += [html.escape(health.margin)] if health is not None and health.margin else []
    last.append(scale_in_words(scene["arrow"]))
    return _PANEL.format(banner=banner, title=title, rows="".join(rows), last="<br>".join(last))


def log(reading: Reading) -> str:
    """The last events as HTML, newest first."""
    lines = "".join(f"<div>{_event(t_ns, text)}</div>" for t_ns, text in reading.events)
    return f"<div style='padding:2px 14px 8px;font-size:12px;line-height:1.6'>{lines or 'nothing yet'}</div>"


def _robot(name: str, role: str, reading: Reading) -> str:
    """What one robot does and feels."""
    mode, force, felt = (
        reading.mode[name],
        newtons(reading.force[name]),
        reading.commanded.get(name),
    )
    coupled = not math.isnan(reading.engagement)
    what = _FORCES[name] if coupled and name in _FORCES else "force"
    if force == "not measured" and felt is not None:
        what = "synthetic force" if reading.origin(name) == "synthetic" else "law pulls"
        force = newtons(felt)
    doing = "<b>stopped</b>" if mode == "tripped" else html.escape(reading.job.get(name, mode))
    bus = reading.said.get(name, {}).get("bus")
    return _row(f"{name}, {what}", f"{doing} · {force}", role_colour(role)) + (
        _row("its bus", bus) if bus else ""
    )


def _loop(health: Health) -> list[str]:
    return [_row("loop", str(health)), _row("ticks late or skipped", f"{health.overruns}")]


def _event(t_ns: int, text: str) -> str:
    return f"{t_ns * 1e-9:.1f} s — {html.escape(text)}"


def _coupling(reading: Reading) -> str:
    gain = reading.engagement
    if math.isnan(gain):
        return "none"
    return "engaged" if gain >= 1.0 else "apart" if gain <= 0.0 else f"fading, {100 * gain:.0f} %"


def _row(label: str, value: str, colour: Colour | None = None) -> str:
    dot = f"<span style='color:{css(colour)}'>●</span> " if colour else ""
    return (
        f"<tr><td style='opacity:0.7;padding:1px 6px 1px 0;white-space:nowrap'>{dot}{html.escape(label)}</td>"
        f"<td style='text-align:right;font-variant-numeric:tabular-nums'>{value}</td></tr>"
    )


_BANNER = (
    "<div role='alert' style='margin:0 0 8px;padding:6px 8px;border-left:4px solid #d55e00;"
    "background:rgba(213,94,0,0.12);font-weight:600'>Stopped: {}"
    "<div style='font-weight:400'>Clear it with Reset (X), then Engage (E).</div></div>"
)
_PANEL = (
    "<div style='padding:2px 14px 8px;font-size:13px'>{banner}"
    "<div style='margin-bottom:6px;font-size:12px;line-height:1.4;opacity:0.7'>{title}</div>"
    "<table style='width:100%;border-collapse:collapse'>{rows}</table>"
    "<div style='margin-top:6px;font-size:12px;line-height:1.5;opacity:0.8'>{last}</div></div>"
)

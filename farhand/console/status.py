"""What a run is doing, for the panel, from the newest telemetry."""

from __future__ import annotations

import html
import math
import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import mujoco
import numpy as np

from farhand.console.lesson import LESSON, lesson
from farhand.console.live import signals_of
from farhand.console.palette import Colour, css, role_colour
from farhand.console.scene import (
    SUCCESSOR,
    USUAL_FORCE,
    Kinematics,
    RobotScene,
    Scene,
    scale_in_words,
)
from farhand.console.source import Event, Source
from farhand.console.things import LARGE_PULL, Thing
from farhand.loop.station import MODES
from farhand.mapping.ik.chain import STATUSES
from farhand.plants.simulated.haptic import VERDICTS

Array = np.ndarray

EVENTS_SHOWN = 20
GRIPPER = "gripper"  # name of the joint that opens and closes it
TOUCH_N, LEFT_N = 1.0, 0.5  # [N], of a follower's tool that touches, and has left again
STILL_LARGE = 0.8  # share of a large pull above which it stays large, [-]
RATE_MODE = "rate mode: the follower moves on until the pen is back in its region"
GAVE_WAY = "The follower cannot go farther this way: your hand goes back. Pull another way."
ERROR, ENERGY = "tracking error [mm]", "energy into the coupling [J]"
JOINT_ERROR = "largest joint error [°]"
AGE, TICK = "age of the other side [ms]", "time of a tick [µs]"
LEAST = {
    ERROR: 1.0,
    JOINT_ERROR: 0.5,
    ENERGY: 0.1,
    AGE: 2.0,
    TICK: 100.0,
}  # smallest range of a plot's axis
# Set many times a second while somebody drags: not worth a line in the log
UNLOGGED = "hand.drag"

IK = "inverse kinematics"
BEYOND = ("limited", "unreachable")  # statuses of it that mean out of reach

_FORCES = {"leader": "hand force", "follower": "contact force"}
_DRIVERS = {
    "bus_period": ("bus", lambda v: f"{1.0 / v[0]:.1f} Hz" if v[0] > 0.0 else "silent"),
    "battery": ("battery", lambda v: f"{v[0]:.2f} V"),
    "ik_status": (IK, lambda v: _word(list(STATUSES), v[0])),
    "distances_to_limits": ("nearest limit", lambda v: _millimetres(v)),
    "calibration": ("calibration", lambda v: _word(VERDICTS, v[0])),
    "sample_age": ("age of its sample", lambda v: f"{1e-6 * v[0]:.1f} ms"),
}
"""What a driver may report beside its motion, by channel: name and text."""

_HINGE, _SLIDE = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)
_WORDS = {
    "engage: done": "coupling engaged",
    "release: done": "coupling released",
    "clutch: done": "clutch pressed",
    "declutch: done": "clutch let go",
    "stop: done": "stop requested",
    "reset: done": "trips cleared",
    "hand.open is now false": "the hand takes hold",
    "hand.open is now true": "the hand lets go",
}

_STEP = re.compile(r"(?P<robot>\w+): (?P<moved>\S+ → )?(?P<state>\S+) \((?P<cause>.*)\)")
"""What a job reports when it goes to another state, or ignores an order."""

_ORDER = re.compile(r"(?P<robot>\w+)\.job\.orders\.order is now (?P<order>\w+)")

_DOING = {
    "grasp": "closes its gripper",
    "close": "closes its gripper",
    "measure": "weighs what it holds",
    "relax": "holds it, eases its grip",
    "gripped": "holds it",
    "load": "takes up its share",
    "carry": "carries its share",
    "unload": "puts its share down",
    "arrived": "has arrived",
    "away": "has let go",
    "empty": "has let go",
    "follow": "follows the force it feels",
    "path": "follows its path",
    "guide": "gives way to the hand",
}
"""What a robot does in a state of its job; others are words already."""


@dataclass
class Reading:
    """The newest of everything."""

    time_ns: int | None = None  # of the newest record, [ns]; ``None`` before the first
    # configuration by robot, in Pinocchio's convention, [rad] or [m]
    q: dict[str, Array] = field(default_factory=dict)
    # measured on the tool in world by robot, [N]; NaN where it is not measured
    force: dict[str, Array] = field(default_factory=dict)
    # what the law pulls the tool with, in world by robot, [N]
    commanded: dict[str, Array] = field(default_factory=dict)
    synthetic: set[str] = field(default_factory=set)  # robots whose force is made from kinematics
    mode: dict[str, str] = field(default_factory=dict)  # what each robot's station is doing
    # state of the job of each robot that has one, such as ``carry``
    job: dict[str, str] = field(default_factory=dict)
    # what else each robot's driver reports, such as the rate of its bus
    driver: dict[str, dict[str, str]] = field(default_factory=dict)
    # from the follower's tool to its goal, by coupling, [m]
    errors: dict[str, Array] = field(default_factory=dict)
    # of coupled joints from their goals, by coupling, [rad] or [m]
    joint_errors: dict[str, Array] = field(default_factory=dict)
    # what a law of joints pushes the joints of each robot with, [N·m] or [N]
    joint_efforts: dict[str, Array] = field(default_factory=dict)
    engagement: float = math.nan  # 0 apart to 1 coupled, [-]; NaN when unknown
    rate_mode: bool = False  # whether the leader drives the follower on, out of its region
    warning: str = ""  # what a person should know at once; empty if nothing
    gave_way: bool = False  # whether the visitor's hand goes back, as the follower cannot go on
    energy: float = math.nan  # put into the coupling by both sides together, [J]; NaN when unknown
    age: float = math.nan  # of what the sides know of each other, [s]; NaN when unknown
    # the last few, newest first, as (time [ns], text)
    events: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=EVENTS_SHOWN))
    trip: str = ""  # why the robots were stopped, empty if they are not
    # parameters set since they were last taken, by path
    changes: dict[str, Any] = field(default_factory=dict)
    # commands refused since they were last taken, as (parameter path or "", reason)
    refusals: list[tuple[str, str]] = field(default_factory=list)
    ended: bool = False  # whether the run is over
    succeeded: bool = False  # whether another session takes its place
    touching: dict[str, bool] = field(default_factory=dict)  # whether a follower's tool touches
    touches: int = 0  # how often one has begun to

    @property
    def error(self) -> float:
        """The largest distance of a follower's tool from its goal, [m]; NaN when unknown."""
        sizes = (float(np.linalg.norm(error)) for error in self.errors.values())
        return max(sizes, default=math.nan)

    def refresh(self, source: Source, scene: Scene) -> None:
        """Take over what is new."""
        self.ended = source.closed
        for event in source.events_with_data():
            self._take_event(event)
        streams = source.header["streams"]
        for robot in scene["robots"]:
            record = source.latest(robot["stream"]) if robot["stream"] in streams else None
            if record is not None:
                self._take_state(robot["name"], robot["channel"], *record)
                if robot["role"] == "follower":
                    self._feel(robot["name"])
        for thing in scene["things"]:
            if thing["kind"] == "tie" and thing["stream"] in streams:
                coupled = source.latest(thing["stream"])
                if coupled is not None:
                    self._take_coupling(thing, coupled[1])

    def measured(self, robot: str) -> Array:
        """Force on a tool, [N]: as measured, or else as the law commands."""
        force = self.force.get(robot, np.zeros(3))
        return force if np.isfinite(force).all() else self.commanded.get(robot, force)

    def origin(self, robot: str) -> str:
        """Where :meth:`measured` comes from if not measured: ``law`` or ``synthetic``."""
        if np.isfinite(self.force.get(robot, np.zeros(3))).all():
            return ""
        return "synthetic" if robot in self.synthetic else "law"

    def _take_state(self, name: str, channel: str, t_ns: int, channels: dict[str, Array]) -> None:
        self.time_ns = max(self.time_ns or 0, t_ns)
        self.q[name] = channels[channel]
        # An object has no station, and nothing measures the force on it
        if "mode" not in channels:
            return
        self.force[name] = channels["wrench_measured_in_world"][:3]
        self.commanded[name] = channels["wrench_commanded_in_world"][:3]
        if "force_synthetic_in_world" in channels:
            self.commanded[name] = channels["force_synthetic_in_world"]
            self.synthetic.add(name)
        if "torque_coupled" in channels:
            self.joint_efforts[name] = channels["torque_coupled"]
        self.mode[name] = MODES[int(channels["mode"][0])]
        known = {key: form for key, form in _DRIVERS.items() if key in channels}
        self.driver[name] = {label: text(channels[key]) for key, (label, text) in known.items()}

    def _feel(self, name: str) -> None:
        """Notice when a follower's tool begins to touch."""
        force = float(np.linalg.norm(self.force.get(name, np.zeros(3))))
        before = self.touching.get(name, False)
        self.touching[name] = force > (LEFT_N if before else TOUCH_N)
        self.touches += self.touching[name] and not before

    def _take_coupling(self, thing: Thing, channels: dict[str, Array]) -> None:
        self.engagement = float(channels["engagement"][0])
        self.rate_mode = bool(channels.get("rate_mode", [0.0])[0]) and self.engagement > 0.0
        if "joints" in thing:
            self.joint_errors[thing["stream"]] = channels["error"]
        else:
            self.errors[thing["stream"]] = channels["error"][:3]
            self._warn(thing)
        # One side alone does not know the other's energy
        self.energy = float(np.nansum(channels["port_energy"]))
        self.age = float(np.nanmax(channels["age"]))

    def _warn(self, tie: Thing) -> None:
        """Warn of an error so large that the law pulls the follower hard."""
        name = tie["other"]
        pull = self.commanded.get(name, np.zeros(3))
        large = tie["large"] * (STILL_LARGE if self.warning else 1.0)
        self.warning = ""
        if np.linalg.norm(pull) > large and self.engagement > 0.0:
            self.warning = (
                f"Large error: the {name} is {1e3 * self.error:.0f} mm from its goal, so the law "
                f"pulls it with {newtons(pull)}. Its guard allows {tie['large'] / LARGE_PULL:g} N."
            )

    def _take_event(self, event: Event) -> None:
        t_ns, text, data = event
        about = data or {}
        path, refused = str(about.get("path", "")), not about.get("done", True)
        self.succeeded |= about.get("kind") == SUCCESSOR
        if about.get("kind") == "trip" and not self.trip:
            # The first is the cause of the others; an operator stops all robots
            everywhere = about.get("trip") == "stop"
            self.trip = text.partition(" tripped: ")[2] if everywhere else in_words(text)
        if text == "reset: done":
            self.trip = ""
        if refused:
            self.refusals.append((path, str(about["outcome"]).removeprefix("refused: ")))
        elif about.get("name") == "set":
            self.changes[path] = about.get("value")
        if step := _STEP.match(text):
            self.job[step["robot"]] = doing(step["state"])
        if path != UNLOGGED or refused:
            self.events.appendleft((t_ns, in_words(text)))


def in_words(event: str) -> str:
    """An event of the ring as a person would say it."""
    where, tripped, reason = event.partition(" tripped: ")
    if tripped:
        return f"{reason} ({where})"
    if step := _STEP.fullmatch(event):
        return _step_in_words(**step.groupdict())
    if order := _ORDER.fullmatch(event):
        return f"order to {order['robot']}: {order['order']}"
    what, _, more = event.partition("; ")
    if what in _WORDS:
        return f"{_WORDS[what]}; {more}" if more else _WORDS[what]
    return event.replace(": refused:", " refused:")


def doing(state: str) -> str:
    """What a robot does in a state of its job."""
    return _DOING.get(state, state)


def _step_in_words(robot: str, moved: str | None, state: str, cause: str) -> str:
    """A step of a job, or an order that came when there was nothing left to do for it."""
    order, ignored, why = cause.partition(" ignored")
    if ignored:
        return f"{robot} {doing(state)}: nothing to do for the order “{order}”{why}"
    tail = f" ({cause})" if state not in _DOING else ""
    return f"{robot}{' ' if state in _DOING else ': '}{doing(state)}{tail}"


def _word(words: Sequence[str], index: float) -> str:
    """The word of an index; a dash where there is none, as of a robot that is stopped."""
    return words[int(index)] if math.isfinite(index) else "–"


def _millimetres(distances: Array) -> str:
    return f"{1e3 * distances.min():.0f} mm" if np.isfinite(distances).all() else "–"


def newtons(force: Array | float) -> str:
    """Size of a force, [N], for the eye."""
    size = float(np.linalg.norm(force))
    if not math.isfinite(size):
        return "not measured"
    return f"{size:.0f} N" if size >= 9.95 else f"{size:.1f} N"


@dataclass(frozen=True)
class Health:
    """How the session's process is doing."""

    tick: float = math.nan  # median time a tick takes, [µs]; NaN when unknown
    rate: float = math.nan  # ticks per second, [Hz]
    overruns: int = 0  # ticks that began more than a period late
    margin: str = ""  # the predicted stability of this run, or empty
    level: float = math.nan  # how near to shaking, 0 calm to 1 at the limit; NaN when unknown
    shakes: str = ""  # what shakes now, and how much; empty if nothing does

    def __str__(self) -> str:
        return f"{self.rate:.0f} Hz · tick {self.tick:.0f} µs"


def about(scene: Scene, source: Source, live: bool = True) -> dict[str, Any]:
    """What a browser must know of a run, once."""
    hands = [thing for thing in scene["things"] if thing["kind"] == "hand" and "start" in thing]
    coupled = any(thing["kind"] == "tie" for thing in scene["things"])
    forces = [f"force {name} [N]" for name in _stations(scene)]
    error = JOINT_ERROR if _joint_tie(scene) is not None else ERROR
    roles = [robot["role"] for robot in scene["robots"]]
    return {
        "rig": scene["rig"],
        "law": scene["law"],
        "live": live,
        "coupled": coupled,
        "restartable": scene["menus"]["restartable"],
        "most": hands[0]["most"] if hands else USUAL_FORCE,
        "signals": signals_of(source),
        "least": dict.fromkeys(forces, 5.0) | LEAST,
        # Curves have the colours of the picture; several robots of one role need several
        "roles": {
            f"force {robot['name']} [N]": robot["role"]
            for robot in scene["robots"]
            if roles.count(robot["role"]) == 1
        },
        "usual": [forces, *([[error], [ENERGY], [AGE]] if coupled else [])],
        "lesson": lesson(scene) if live else [],
        "lesson_stopped": LESSON["stopped"],
    }


def derived(reading: Reading, scene: Scene, health: Health) -> dict[str, float]:
    """What the page computes from a run's signals; NaN where there is nothing to plot."""
    sizes = {
        f"force {name} [N]": float(np.linalg.norm(reading.measured(name)))
        for name in _stations(scene)
    }
    error = 1e3 * reading.error if reading.engagement > 0.0 else math.nan
    sizes |= {ERROR: error, ENERGY: reading.energy, AGE: 1e3 * reading.age, TICK: health.tick}
    tie = _joint_tie(scene)
    if tie is not None:
        sizes[JOINT_ERROR] = worst_joint(tie, reading)[1]
    return sizes


def _joint_tie(scene: Scene) -> Thing | None:
    """The coupling of joints in a scene, if there is one."""
    return next((thing for thing in scene["things"] if "joints" in thing), None)


def worst_joint(tie: Thing, reading: Reading) -> tuple[str, float]:
    """The hinge farthest from its goal and by how much, [°]; NaN while apart."""
    errors = reading.joint_errors.get(tie["stream"])
    if errors is None or not reading.engagement > 0.0:
        return "", math.nan
    turns = np.degrees(np.where(tie["slides"], 0.0, np.abs(errors)))
    index = int(np.argmax(turns))
    return tie["joints"][index].replace("_", " "), float(turns[index])


def summary(reading: Reading, scene: Scene, health: Health) -> dict[str, Any]:
    """What the page shows over the picture, in few words."""
    mode = _coupling(reading)
    stopped = any(mode == "tripped" for mode in reading.mode.values())
    words = {"none": "running"}.get(mode, mode) + (f", {RATE_MODE}" if reading.rate_mode else "")
    if reading.time_ns is None:
        words = "waiting for the first record"
    if reading.succeeded:
        words = "starting a new session …"
    over = scene["seconds"] is not None and 1e-9 * (reading.time_ns or 0) > scene["seconds"]
    if over and mode == "none":
        words = "the scenario is over"
    touched = [name for name in _stations(scene) if reading.touching.get(name)]
    force = max((float(np.linalg.norm(reading.force[name])) for name in touched), default=0.0)
    return {
        "mode": "stopped" if stopped else mode,
        "words": words,
        "warning": _warning(reading),
        "trip": "" if reading.succeeded else reading.trip,
        "ended": reading.ended and not reading.succeeded,
        "over": over,
        "touches": reading.touches,
        "contact": bool(touched),
        "contact_force": round(force, 1),
        "margin": health.margin,
        "level": None if math.isnan(health.level) else round(health.level, 2),
        "shakes": health.shakes,
        "delayed": reading.age > 0.01,
        "layered": scene["menus"]["chosen"].get("layer", "none") != "none",
        "calm": bool(touched) and not health.shakes,
    }


def _warning(reading: Reading) -> str:
    """What a person should know at once; empty if nothing."""
    return GAVE_WAY if reading.gave_way else reading.warning or _out_of_reach(reading)


def _out_of_reach(reading: Reading) -> str:
    """A warning if a robot cannot go where it is led; empty if all can."""
    for name, driver in reading.driver.items():
        status = driver.get(IK, "solved")
        if status in BEYOND and reading.engagement > 0.0:
            return f"Out of reach: the {name} cannot follow to where it is led ({status})."
    return ""


def _stations(scene: Scene) -> list[str]:
    return [robot["name"] for robot in scene["robots"] if robot["role"] != "object"]


def panel(reading: Reading, scene: Scene, health: Health | None = None) -> str:
    """The status as HTML."""
    title = html.escape(scene["scenario"])
    if reading.time_ns is None:
        waiting = _row("waiting", "for the first record")
        return _PANEL.format(title=title, rows=waiting, last="")
    ended = " · the run has ended" if reading.ended and not reading.succeeded else ""
    rows = [_row("time", f"{reading.time_ns * 1e-9:.1f} s{ended}")]
    if health is not None and not math.isnan(health.tick):
        rows += [_row("loop", str(health)), _row("ticks late or skipped", f"{health.overruns}")]
    if any(thing["kind"] == "tie" for thing in scene["things"]):
        rows += [_row("coupling", _coupling(reading)), *_errors(reading, scene)]
    rows += [
        _robot(r["name"], r["role"], reading) for r in scene["robots"] if r["name"] in reading.mode
    ]
    last = [_event(*reading.events[0])] if reading.events else []
    last += [html.escape(health.margin)] if health is not None and health.margin else []
    last.append(scale_in_words(scene["arrow"]))
    return _PANEL.format(title=title, rows="".join(rows), last="<br>".join(last))


def log(reading: Reading) -> str:
    """The last events as HTML, newest first."""
    lines = "".join(f"<div>{_event(t_ns, text)}</div>" for t_ns, text in reading.events)
    return f"<div style='{_FRAME}'>{lines or 'nothing yet'}</div>"


def state(reading: Reading, scene: Scene, kinematics: Kinematics) -> str:
    """Joints, tool, force and driver of every robot with a station, as HTML."""
    robots = [robot for robot in scene["robots"] if robot["name"] in reading.mode]
    tables = "".join(_state(robot, reading, kinematics) for robot in robots)
    return f"<div style='{_FRAME}'>{tables or 'nothing yet'}</div>"


def joints(robot: RobotScene, kinematics: Kinematics) -> list[tuple[str, float, str]]:
    """Name, value and unit of every hinge [°] and slide [mm] of a robot, in order."""
    model, first = kinematics.model, robot["q"][0]
    q, rows = kinematics.configuration(robot["name"]), []
    for index in range(model.njnt):
        place, kind = int(model.jnt_qposadr[index]) - first, int(model.jnt_type[index])
        if 0 <= place < len(q) and kind in (_HINGE, _SLIDE):
            name = model.joint(index).name.partition("/")[2].replace("_", " ")
            scale, unit = (math.degrees(1.0), "°") if kind == _HINGE else (1e3, "mm")
            rows.append((name, scale * float(q[place]), unit))
    return rows


def _robot(name: str, role: str, reading: Reading) -> str:
    """What one robot does and feels."""
    mode, force = reading.mode[name], newtons(reading.force[name])
    coupled = not math.isnan(reading.engagement)
    label = _FORCES[name] if coupled and name in _FORCES else "force"
    if force == "not measured" and name in reading.commanded:
        label = "synthetic force" if reading.origin(name) == "synthetic" else "requested force"
        force = newtons(reading.commanded[name])
    doing = "<b>stopped</b>" if mode == "tripped" else html.escape(reading.job.get(name, mode))
    bus = reading.driver.get(name, {}).get("bus")
    row = _row(f"{name}, {label}", f"{doing} · {force}", role_colour(role))
    return row + (_row("servo bus", bus) if bus else "")


def _errors(reading: Reading, scene: Scene) -> list[str]:
    """How far the follower is from its goal, and its gripper if that is coupled."""
    coupled, tie = reading.engagement > 0.0, _joint_tie(scene)
    if tie is None:
        return [_row("tracking error", f"{1e3 * reading.error:.1f} mm" if coupled else "–")]
    joint, worst = worst_joint(tie, reading)
    text = f"{worst:.1f}° ({html.escape(joint)})" if math.isfinite(worst) else "–"
    rows = [_row("largest joint error", text)]
    if GRIPPER in tie["joints"] and tie["other"] in reading.q:
        index = tie["joints"].index(GRIPPER)
        opened = math.degrees(float(reading.q[tie["other"]][index]))
        effort = float(reading.joint_efforts.get(tie["other"], np.zeros(index + 1))[index])
        rows.append(_row("follower, gripper", f"{opened:.0f}° · {effort:z.2f} N·m"))
    return rows


def _state(robot: RobotScene, reading: Reading, kinematics: Kinematics) -> str:
    name = robot["name"]
    tool = " ".join(f"{1e3 * part:z.1f}" for part in kinematics.tool_position[name])
    force, origin = reading.measured(name), reading.origin(name)
    parts = " ".join(f"{part:z.1f}" for part in force)
    size = f"{parts} N" if np.isfinite(force).all() else "not measured"
    rows = [(joint, f"{value:z.1f} {unit}") for joint, value, unit in joints(robot, kinematics)]
    if (efforts := reading.joint_efforts.get(name)) is not None and len(efforts) == len(rows):
        rows = [
            (j, f"{text} · {effort:z.2f} N·m")
            for (j, text), effort in zip(rows, efforts, strict=True)
        ]
        rows.insert(0, ("joint", "angle · torque of the law"))
    rows.append(("tool, x y z", f"{tool} mm"))
    rows.append(("force, x y z", f"{size} ({origin})" if origin else size))
    rows += reading.driver.get(name, {}).items()
    dot = f"<span style='color:{css(role_colour(robot['role']))}'>●</span>"
    title = f"<div style='margin-top:6px;font-weight:600'>{dot} {html.escape(name)}</div>"
    cells = "".join(_row(label, html.escape(value)) for label, value in rows)
    return f"{title}<table style='width:100%'>{cells}</table>"


def _event(t_ns: int, text: str) -> str:
    return f"{t_ns * 1e-9:.1f} s — {html.escape(text)}"


def _coupling(reading: Reading) -> str:
    gain = reading.engagement
    if math.isnan(gain):
        return "none"
    return "engaged" if gain >= 1.0 else "apart" if gain <= 0.0 else f"fading, {100 * gain:.0f} %"


def _row(label: str, value: str, colour: Colour | None = None) -> str:
    dot = f"<span style='color:{css(colour)}'>●</span> " if colour else ""
    return _ROW.format(label=f"{dot}{html.escape(label)}", value=value)


_FRAME = "padding:2px 14px 8px;font-size:12px;line-height:1.5"
_ROW = (
    # One long value in a column would leave no room for a long label in another row
    "<tr style='display:flex;justify-content:space-between'>"
    "<td style='opacity:0.7;padding:1px 6px 1px 0'>{label}</td>"
    "<td style='text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums'>"
    "{value}</td></tr>"
)
_PANEL = (
    "<div style='padding:2px 14px 8px;font-size:13px'>"
    "<div style='margin-bottom:6px;font-size:12px;line-height:1.4;opacity:0.7'>{title}</div>"
    "<table style='width:100%;border-collapse:collapse'>{rows}</table>"
    "<div style='margin-top:6px;font-size:12px;line-height:1.5;opacity:0.8'>{last}</div></div>"
)

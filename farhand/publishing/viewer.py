"""What a destination gets of a session, and what it may ask of it."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from farhand.client import Client, attach
from farhand.console.geometry import mesh_of
from farhand.console.scene import Geom, Kinematics, Scene
from farhand.errors import FarhandError
from farhand.loop.commands import Outcome
from farhand.loop.telemetry import columns
from farhand.recording.cdr import PREFIX, Template, diagnostics_content, event_content, log_content
from farhand.recording.definitions import definition
from farhand.recording.recorder import EVENTS_TOPIC, LOG_TOPIC
from farhand.recording.topics import AGE, Array, Topic, topics_of

Times = NDArray[np.int64]
Status = tuple[int, str, str, dict[str, str]]
"""One line of diagnostics: level (0 well, 1 warning, 2 error), name, message, values."""

PORTS = {"foxglove": 8765, "rerun": 9876}
"""Where each destination listens unless the user names another port."""

WATCH_ONLY = "this session is published to watch and to stop; --publish-drive lets others drive"
DIAGNOSTICS_TOPIC = "/diagnostics"
REMARKS = {
    EVENTS_TOPIC: "farhand_msgs/Event",
    LOG_TOPIC: "rcl_interfaces/Log",
    DIAGNOSTICS_TOPIC: "diagnostic_msgs/DiagnosticArray",
}
"""Topics about the session itself, and their types."""

PICTURE_PERIOD_S = 1.0 / 30.0
REQUESTS_PER_S = 100.0  # of one client
MAX_CLIENTS = 100  # of whom an allowance is kept
LEVELS = {"trip": 40, "lost": 30}  # of a log; 20 for the rest
MAX_ARROW_M = 1.0  # a crash must not send an arrow through the roof
WALL_RGBA = (0.8, 0.47, 0.65, 0.5)


class SessionAccess:
    """The way into a session: anybody may stop it, and drive it only if that is allowed.

    Args:
        session: its name.
        drive: whether others than stop may be asked.
    """

    def __init__(self, session: str, drive: bool) -> None:
        self.drive = drive
        self._name = session
        self._client: Client | None = None
        self._lock = threading.Lock()

    def command(self, text: str) -> Outcome:
        """Give a command, as :meth:`farhand.client.Client.command`."""
        if not (self.drive or text.strip() == "stop"):
            return Outcome.refused(WATCH_ONLY)
        return self._ask(lambda client: client.command(text))

    def set(self, path: str, value: ArrayLike) -> Outcome:
        """Set a parameter."""
        if not self.drive:
            return Outcome.refused(WATCH_ONLY)
        return self._ask(lambda client: client.set(path, value))

    def target(self, station: str, **place: ArrayLike) -> Outcome:
        """Send a station somewhere: ``joints`` or ``tool``."""
        if not self.drive:
            return Outcome.refused(WATCH_ONLY)
        return self._ask(lambda client: client.target(station=station, **place))

    def trips(self) -> dict[str, str]:
        """The stations that are stopped now, with the reason; none if the session does not say."""
        found: dict[str, str] = {}
        self._ask(lambda client: Outcome(text=str(found.update(client.trips()))))
        return found

    def _ask(self, question: Callable[[Client], Outcome]) -> Outcome:
        try:
            with self._lock:
                # Nobody is let in before the first tick
                self._client = self._client or attach(self._name)
            return question(self._client)
        except FarhandError as error:
            return Outcome.refused(str(error))


class Allowance:
    """Some requests per second for each client, with a second's worth at once."""

    def __init__(self, rate: float = REQUESTS_PER_S) -> None:
        self._rate = rate
        self._due: dict[int, float] = {}

    def take(self, client: int, count: int = 1) -> bool:
        """Whether a client may make this many requests now."""
        now = time.monotonic()
        due = max(self._due.get(client, 0.0), now - 1.0) + count / self._rate
        if due > now:
            return False
        if len(self._due) >= MAX_CLIENTS:
            self._due.clear()
        self._due[client] = due
        return True


@dataclass(frozen=True)
class Published:
    """What a viewer is made from."""

    header: dict[str, Any]  # of the telemetry ring
    scene: Scene
    door: SessionAccess
    address: str  # where to publish, as the user wrote it; empty for the usual place
    rate: float  # of every topic at most, [Hz]


class Viewer:
    """Hands a session on to one kind of tool. Times are of the day, [ns]."""

    address = ""  #: where the tool finds the session, in words
    period_s = 0.0  #: how long records may wait to be shown together, [s]

    def take(self, stream: str, times_ns: Times, rows: Array) -> None:
        """Show new records of a stream: all its channels side by side."""

    def event(self, t_ns: int, kind: str, text: str, data: dict[str, Any]) -> None:
        """Show that something happened."""

    def draw(self, t_ns: int, kinematics: Kinematics, forces: dict[str, Array]) -> None:
        """Show where the robots are, and the force on each tool in world [N]."""

    def diagnose(self, t_ns: int, statuses: Sequence[Status]) -> None:
        """Show how the session is."""

    def changed(self, path: str, value: Any) -> None:
        """Show that a parameter was set."""

    def close(self) -> None:
        """Leave."""


@dataclass
class _Stream:
    topics: list[Topic]
    age: slice | None
    seen: int = field(default=0)


class MessageViewer(Viewer):
    """A viewer of ROS 2 messages: the topics of a recording, at a bounded rate."""

    def __init__(self, published: Published) -> None:
        self.published = published
        self._streams: dict[str, _Stream] = {}
        for name, described in published.header["streams"].items():
            places = columns(described)
            topics = topics_of(name, described, places)
            for topic in topics:
                topic.every = max(1, topic.every, round(described["rate"] / published.rate))
                topic.rate = described["rate"] / topic.every
            self._streams[name] = _Stream(topics, places.get(AGE))
        self._bodies = body_frames(published.scene)
        self._frames = _frames_topic(self._bodies)

    @property
    def topics(self) -> dict[str, tuple[str, str]]:
        """Type and definition of every topic by its name."""
        every = [topic for stream in self._streams.values() for topic in stream.topics]
        found = {topic.name: (topic.type, topic.definition) for topic in [*every, self._frames]}
        return found | {name: (kind, definition(kind)) for name, kind in REMARKS.items()}

    def send(self, topic: str, t_ns: int, message: bytes) -> None:
        """Publish one message."""
        raise NotImplementedError

    def event(self, t_ns: int, kind: str, text: str, data: dict[str, Any]) -> None:
        """Publish an event as such, and for the viewer's log."""
        extra = json.dumps(data, ensure_ascii=False) if data else ""
        self.send(EVENTS_TOPIC, t_ns, event_content(t_ns, kind, text, extra))
        line = log_content(t_ns, LEVELS.get(kind, 20), f"farhand.{kind}", text)
        self.send(LOG_TOPIC, t_ns, line)

    def diagnose(self, t_ns: int, statuses: Sequence[Status]) -> None:
        """Publish how the session is."""
        content = diagnostics_content(t_ns, list(statuses), self.published.scene["rig"])
        self.send(DIAGNOSTICS_TOPIC, t_ns, content)

    def take(self, stream: str, times_ns: Times, rows: Array) -> None:
        """Publish the messages that are due."""
        part = self._streams[stream]
        device_ns = times_ns
        if part.age is not None:
            device_ns = times_ns - rows[:, part.age.start].astype(np.int64)
        for topic in part.topics:
            data = topic.block(0, part.seen, times_ns, device_ns, rows)
            self._send_all(topic, times_ns[-part.seen % topic.every :: topic.every], data)
        part.seen += times_ns.size

    def draw(self, t_ns: int, kinematics: Kinematics, forces: dict[str, Array]) -> None:
        """Publish a frame for every body of the robots."""
        indices = [index for index, _ in self._bodies]
        turns = np.roll(kinematics.body_quaternion_wxyz[indices], -1, axis=1)
        row = np.hstack([kinematics.body_position[indices], turns]).reshape(1, -1)
        now = np.array([t_ns])
        self._send_all(self._frames, now, self._frames.block(0, 0, now, now, row))

    def _send_all(self, topic: Topic, times_ns: Times, data: bytes) -> None:
        if times_ns.size:
            size = len(data) // times_ns.size
            for index, t_ns in enumerate(times_ns.tolist()):
                self.send(topic.name, t_ns, data[index * size + PREFIX : (index + 1) * size])


@dataclass(frozen=True)
class FixedShape:
    """A shape that is fixed to a body."""

    frame: str  # of the body, as :func:`body_frames` has it; ``world`` for what stands still
    vertices: Array  # in that frame, shape (n, 3), [m]
    triangles: NDArray[np.int64]  # shape (m, 3)
    rgba: tuple[float, ...]


def pieces_of(kinematics: Kinematics, scene: Scene) -> list[FixedShape]:
    """Everything solid there is to draw: the robots, what is fixed, and walls."""
    frames = dict(body_frames(scene)) | {0: "world"}
    geoms = [geom for robot in scene["robots"] for geom in robot["geoms"]] + scene["fixed"]
    found: list[FixedShape] = []
    for geom in geoms:
        mesh = mesh_of(geom, kinematics.model)
        if mesh is not None:
            found.append(FixedShape(frames[geom["body"]], *mesh, tuple(geom["rgba"])))
    for thing in scene["things"]:
        if thing["kind"] == "wall" and thing["present"]:
            wall = _wall(thing["point"], thing["normal"], thing["size"])
            mesh = mesh_of(wall, kinematics.model)
            assert mesh is not None
            found.append(FixedShape("world", *mesh, WALL_RGBA))
    return found


def _wall(point: list[float], normal: list[float], size: float) -> Geom:
    """A plate whose front is the wall."""
    thickness = 0.01
    x_axis = np.array([1.0, 0.0, 0.0])
    return {
        "type": "box",
        "size": [0.5 * thickness, 0.5 * size, 0.5 * size],
        "rgba": list(WALL_RGBA),
        "body": 0,
        "position": (np.array(point) - 0.5 * thickness * np.array(normal)).tolist(),
        "quaternion_wxyz": np.roll(turn_between(x_axis, np.array(normal)), 1).tolist(),
        "mesh": -1,
    }


def turn_between(start: Array, end: Array) -> Array:
    """The shortest turn from one unit vector to another, a quaternion (x, y, z, w)."""
    turn = np.array([*np.cross(start, end), 1.0 + start @ end])
    if turn[3] < 1e-9:
        # opposite: half a turn about anything across
        across = np.eye(3)[np.argmin(np.abs(start))]
        turn = np.array([*np.cross(start, across), 0.0])
    return np.asarray(turn / np.linalg.norm(turn))


def arrow_of(force: Array, scene: Scene) -> Array | None:
    """A force as an arrow in world, [m]; None for one that is unknown or too small to see."""
    arrow = 0.1 * force / scene["arrow"]
    length = float(np.linalg.norm(arrow))
    if not length > 1e-3:
        return None
    return np.asarray(arrow * min(1.0, MAX_ARROW_M / length))


def body_frames(scene: Scene) -> list[tuple[int, str]]:
    """Index and frame, such as ``leader/link_1``, of every body of the robots."""
    return [
        (body["index"], f"{robot['name']}/{body['name']}")
        for robot in scene["robots"]
        for body in robot["bodies"]
    ]


def _frames_topic(bodies: list[tuple[int, str]]) -> Topic:
    """``/tf`` with the bodies' frames; a row has position and quaternion (x, y, z, w) of each."""
    template = Template().integer(len(bodies))
    for index, (_, frame) in enumerate(bodies):
        template.header("world").string(frame).numbers(str(index), 7)

    def fill(rows: Array) -> dict[str, Array]:
        return {str(index): rows[:, 7 * index : 7 * index + 7] for index in range(len(bodies))}

    kind = "tf2_msgs/TFMessage"
    return Topic("/tf", kind, definition(kind), template, {}, fill, "", math.nan, derived=True)

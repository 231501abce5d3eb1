"""Which ROS 2 messages the channels of a telemetry stream become, by their names.

``q`` with ``v`` is a JointState; ``position_X_in_F`` with ``rotation_X_in_F`` (column by column) a
PoseStamped and a transform; ``twist_X_in_F`` a TwistStamped; ``wrench_X_in_F`` a WrenchStamped;
``torque_commanded``, ``velocity_commanded`` and ``position_commanded`` a JointState of their own.
All other channels of a stream are the fields of one message made for it, with the units in its
definition.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farhand.recording.cdr import Template, block
from farhand.recording.definitions import definition, with_dependencies

Array = NDArray[np.float64]
Channel = dict[str, Any]

TRANSFORM_HZ = 50.0
"""Rate of ``/tf``, from which viewers draw frames; the poses themselves have the full rate."""

AGE = "sample_age"
"""Channel with the age of the device's sample, [ns]."""

_COMMANDED = {
    "position_commanded": "position",
    "velocity_commanded": "velocity",
    "torque_commanded": "effort",
}
_SPATIAL = re.compile(r"(twist|wrench)_(\w+)_in_(\w+)")
_POSITION = re.compile(r"position_(\w+)_in_(\w+)")


@dataclass
class Topic:
    """One topic of a recording."""

    name: str  # such as ``/leader/joint_states``
    type: str  # short name of the message, such as ``sensor_msgs/JointState``
    definition: str  # its text
    template: Template  # its layout
    # for each place of the template the channel it comes from, its unit and its labels
    sources: dict[str, Channel]
    fill: Callable[[Array], dict[str, Array]]  # makes the numbers by place from rows of the stream
    stream: str  # which stream
    rate: float  # nominal, [Hz]
    measured: bool = True  # whether it is stamped with the device's time; otherwise with the tick's
    every: int = 1  # only every n-th record is written
    derived: bool = False  # whether it repeats what another topic has
    sequence: int = field(default=0, init=False)  # how many messages there were

    @property
    def metadata(self) -> dict[str, str]:
        """What the file says about the topic: where its numbers are, and their units."""
        layout = {
            "stream": self.stream,
            "rate": self.rate,
            "size": len(bytes(self.template)),
            "stamps": self.template.stamps,
            "places": self.template.places,
            "channels": self.sources,
            "derived": self.derived,
            "measured": self.measured,
        }
        return {"farhand": json.dumps(layout, ensure_ascii=False), "offered_qos_profiles": ""}

    def block(
        self,
        channel: int,
        seen: int,
        times_ns: NDArray[np.int64],
        device_ns: NDArray[np.int64],
        rows: Array,
    ) -> bytes:
        """The message records of new rows; ``seen`` rows of the stream came before."""
        if self.every > 1:
            due = slice(-seen % self.every, None, self.every)
            times_ns, device_ns, rows = times_ns[due], device_ns[due], rows[due]
        first, self.sequence = self.sequence, self.sequence + len(times_ns)
        stamps_ns = device_ns if self.measured else times_ns
        return block(self.template, channel, first, times_ns, stamps_ns, self.fill(rows))


def topics_of(stream: str, described: dict[str, Any], columns: dict[str, slice]) -> list[Topic]:
    """The topics of one stream.

    Args:
        stream: its name.
        described: its entry in the header of the telemetry.
        columns: where each channel lies in a row.
    """
    channels = {channel["name"]: channel for channel in described["channels"]}
    maker = _Maker(stream, described["rate"], channels, columns)
    taken = maker.joints() | maker.poses() | maker.spatial()
    maker.others([channel for name, channel in channels.items() if name not in taken])
    return maker.topics


class _Maker:
    """Makes the topics of one stream."""

    def __init__(
        self, stream: str, rate: float, channels: dict[str, Channel], columns: dict[str, slice]
    ) -> None:
        self.stream, self.rate, self.channels, self.columns = stream, rate, channels, columns
        self.topics: list[Topic] = []

    def joints(self) -> set[str]:
        """Joint states and joint commands; a floating base has no joint state of its own."""
        q, v = self.channels.get("q"), self.channels.get("v")
        if q is None or v is None or q["size"] != v["size"]:
            return set()
        names = q["labels"] or [f"joint_{index + 1}" for index in range(q["size"])]
        self._joint_topic("joint_states", names, {"position": q, "velocity": v}, True)
        known = {name: self.channels[name] for name in self.channels if name in _COMMANDED}
        commanded = {name: c for name, c in known.items() if c["size"] == len(names)}
        if commanded:
            parts = {_COMMANDED[name]: channel for name, channel in commanded.items()}
            self._joint_topic("joint_commands", names, parts, False)
        return {"q", "v", *commanded}

    def _joint_topic(
        self, name: str, names: list[str], parts: dict[str, Channel], measured: bool
    ) -> None:
        template = Template().header("").strings(names)
        for place in ("position", "velocity", "effort"):
            template.sequence(place, len(names) if place in parts else 0)
        self._add(name, "sensor_msgs/JointState", template, parts, measured=measured)

    def poses(self) -> set[str]:
        """Poses, and a transform for each."""
        taken: set[str] = set()
        for name, channel in self.channels.items():
            match = _POSITION.fullmatch(name)
            rotation = match and self.channels.get(f"rotation_{match[1]}_in_{match[2]}")
            if match and rotation and channel["size"] == 3 and rotation["size"] == 9:
                self._pose(match[1], match[2], channel, rotation)
                taken |= {name, rotation["name"]}
        return taken

    def _pose(self, what: str, frame: str, position: Channel, rotation: Channel) -> None:
        place, axes = self.columns[position["name"]], self.columns[rotation["name"]]

        def pose() -> Callable[[Array], dict[str, Array]]:
            steady = Steady()

            def fill(rows: Array) -> dict[str, Array]:
                orientation = steady(quaternions(rotations(rows[:, axes])))
                return {"position": rows[:, place], "orientation": orientation}

            return fill

        name, labels = f"quaternion_{what}_in_{frame}", ["x", "y", "z", "w"]
        orientation = {"name": name, "unit": "-", "labels": labels}
        template = Template().header(frame).numbers("position", 3).numbers("orientation", 4)
        sources = {"position": position, "orientation": orientation}
        self._add(f"pose_{what}_in_{frame}", "geometry_msgs/PoseStamped", template, sources, pose())
        self._transforms(what, frame, pose())

    def _transforms(self, what: str, frame: str, pose: Callable[[Array], dict[str, Array]]) -> None:
        """The frame itself, and one at its origin with the axes of ``frame``, for wrenches."""
        upright = np.array([0.0, 0.0, 0.0, 1.0])

        def fill(rows: Array) -> dict[str, Array]:
            filled = pose(rows)
            return {
                "translation": filled["position"],
                "rotation": filled["orientation"],
                "point": filled["position"],
                "upright": np.broadcast_to(upright, (len(rows), 4)),
            }

        template = Template().integer(2).header(frame).string(f"{self.stream}/{what}")
        template.numbers("translation", 3).numbers("rotation", 4)
        template.header(frame).string(_point(self.stream, what))
        template.numbers("point", 3).numbers("upright", 4)
        kind, every = "tf2_msgs/TFMessage", max(1, round(self.rate / TRANSFORM_HZ))
        topic = Topic(
            "/tf", kind, definition(kind), template, {}, fill, self.stream, self.rate / every
        )
        topic.every, topic.derived = every, True
        self.topics.append(topic)

    def spatial(self) -> set[str]:
        """Twists and wrenches, each at its point with the axes of its frame."""
        taken: set[str] = set()
        for name, channel in self.channels.items():
            match = _SPATIAL.fullmatch(name)
            if match and channel["size"] == 6:
                positions = map(_POSITION.fullmatch, self.channels)
                points = [found[1] for found in positions if found and found[2] == match[3]]
                frame = _point(self.stream, points[0]) if points else match[3]
                kind = f"geometry_msgs/{match[1].capitalize()}Stamped"
                template = Template().header(frame).numbers("value", 6)
                measured = "commanded" not in name
                self._add(name, kind, template, {"value": channel}, measured=measured)
                taken.add(name)
        return taken

    def others(self, channels: list[Channel]) -> None:
        """What has no standard message: the fields of one made for this stream."""
        if not channels:
            return
        template = Template().header("")
        lines = [f"# Stream {self.stream} of a Farhand recording; linear parts first, SI units."]
        lines.append("std_msgs/Header header")
        fields: list[str] = []
        for channel in channels:
            template.numbers(channel["name"], channel["size"])
            size = "" if channel["size"] == 1 else f"[{channel['size']}]"
            labels = f" ({', '.join(channel['labels'])})" if channel["labels"] else ""
            fields.append(_identifier(channel["name"], fields))
            lines.append(f"float64{size} {fields[-1]}  # [{channel['unit']}]{labels}")
        words = re.split(r"[^A-Za-z0-9]+", self.stream)
        kind = f"farhand_msgs/{''.join(word[:1].upper() + word[1:] for word in words)}State"
        text = with_dependencies("\n".join(lines) + "\n", ("std_msgs/Header",))
        sources = {channel["name"]: channel for channel in channels}
        self._add("state", kind, template, sources, text=text)

    def _add(
        self,
        name: str,
        kind: str,
        template: Template,
        sources: dict[str, Channel],
        fill: Callable[[Array], dict[str, Array]] | None = None,
        measured: bool = True,
        text: str | None = None,
    ) -> None:
        if fill is None:
            parts = {place: self.columns[channel["name"]] for place, channel in sources.items()}

            def fill(rows: Array) -> dict[str, Array]:
                return {place: rows[:, part] for place, part in parts.items()}

        kept = {p: {k: c[k] for k in ("name", "unit", "labels")} for p, c in sources.items()}
        layout = (text or definition(kind), template, kept, fill)
        where = f"/{self.stream}/{name}"
        self.topics.append(Topic(where, kind, *layout, self.stream, self.rate, measured))


def rotations(values: Array) -> Array:
    """Rotation matrices, n × 3 × 3, of what the telemetry has: n × 9, column by column."""
    return values.reshape(-1, 3, 3).transpose(0, 2, 1)


def quaternions(rotations: Array) -> Array:
    """Quaternions (x, y, z, w), w ≥ 0, of rotation matrices n × 3 × 3."""
    m = rotations
    diagonal = np.stack([m[:, 0, 0], m[:, 1, 1], m[:, 2, 2]], axis=1)
    squares = np.empty((len(m), 4))
    squares[:, :3] = 1.0 + 2.0 * diagonal - diagonal.sum(axis=1, keepdims=True)
    squares[:, 3] = 1.0 + diagonal.sum(axis=1)
    x, y, z, w = 0, 1, 2, 3
    products = np.empty((len(m), 4, 4))
    for i in range(4):
        products[:, i, i] = squares[:, i]
    for i, j in ((x, y), (x, z), (y, z)):
        products[:, i, j] = products[:, j, i] = m[:, j, i] + m[:, i, j]
    for i, (a, b) in ((x, (z, y)), (y, (x, z)), (z, (y, x))):
        products[:, i, w] = products[:, w, i] = m[:, a, b] - m[:, b, a]
    # The largest component is the most exact divisor
    largest = np.argmax(squares, axis=1)
    q = products[np.arange(len(m)), largest]
    with np.errstate(invalid="ignore", divide="ignore"):
        q = q / np.linalg.norm(q, axis=1, keepdims=True)
    return np.where(q[:, 3:] < 0.0, -q, q)


class Steady:
    """Keeps the sign of a stream's quaternions from jumping: q and −q are the same rotation.

    The first has w ≥ 0; each one after that has the sign with which it is nearer to the one before.
    The bits of the result do not depend on how the stream is cut into blocks. NaN is skipped.
    """

    def __init__(self) -> None:
        self._last: Array | None = None
        self._sign = 1.0

    def __call__(self, q: Array) -> Array:
        """The next quaternions of the stream, shape (n, 4), from those with w ≥ 0."""
        known = np.flatnonzero(np.isfinite(q).all(axis=1))
        if not known.size:
            return q
        here = q[known]
        before = np.vstack([here[:1] if self._last is None else self._last, here[:-1]])
        x, y, z, w = (here * before).T
        signs = np.ones(len(q))
        signs[known] = self._sign * np.cumprod(np.where(x + y + z + w < 0.0, -1.0, 1.0))
        self._last, self._sign = here[-1], float(signs[known[-1]])
        return q * signs[:, None]


def _point(stream: str, what: str) -> str:
    return f"{stream}/{what}_point"


def _identifier(name: str, taken: list[str]) -> str:
    """A field name as ROS 2 allows it, and not one of those taken."""
    plain = re.sub(r"_+", "_", re.sub(r"[^a-z0-9]", "_", name.lower())).strip("_")
    return plain if plain not in taken else f"{plain}_{len(taken) + 1}"

"""Loader: a recording as named arrays with units."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farhand.errors import FileError, UnknownName
from farhand.recording.cdr import PREFIX, read_event, record_type
from farhand.recording.recorder import EVENTS_TOPIC, FORMAT, METADATA_NAME
from farhand.recording.scan import Chunk, Found, messages, scan

Array = NDArray[np.float64]


@dataclass(frozen=True)
class StreamData:
    """One stream of a recording: signals that were sampled together.

    Attributes:
        rate: nominal rate, [Hz].
        times_ns: when the tick received each record, shape (n,), [ns], exact.
        device_ns: when the device measured it, by its own clock, shape (n,), [ns], exact.
        channels: by name, shape (n, size), NaN where there was no value.
        units: of the channels, by name.
        labels: of the numbers in each channel, by name; empty where none were given.
    """

    rate: float
    times_ns: NDArray[np.int64]
    device_ns: NDArray[np.int64]
    channels: dict[str, Array]
    units: dict[str, str]
    labels: dict[str, tuple[str, ...]]

    @property
    def times(self) -> Array:
        """Shape (n,), [s]."""
        return np.divide(self.times_ns, 1e9, dtype=np.float64)


@dataclass(frozen=True)
class RecordedEvent:
    """Something that happened once.

    Attributes:
        time_ns: when, [ns].
        kind: ``command``, ``trip``, ``mode``, ``coupling``, ``lost``, ``full`` or ``note``.
        text: for people.
        data: for programs, such as a command's name, path, value and tick.
    """

    time_ns: int
    kind: str
    text: str
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Recording:
    """What one run left behind. ``recording["leader/q"]`` is one signal, ``recording.units["leader/q"]`` its unit.

    Attributes:
        path: the file.
        streams: by name.
        happened: every event, in the order of their times.
        metadata: how the run was set up: rig, law, seed, version, options, parameters, …
        files: models and the like, by name.
        complete: whether the run ended in order; otherwise this is all there was when it broke off.
    """

    path: Path
    streams: dict[str, StreamData]
    happened: list[RecordedEvent]
    metadata: dict[str, Any]
    files: dict[str, bytes]
    complete: bool

    @property
    def events(self) -> list[tuple[int, str]]:
        """Every event as (time [ns], text)."""
        return [(event.time_ns, event.text) for event in self.happened]

    @property
    def units(self) -> dict[str, str]:
        """Units of all signals by name."""
        return {f"{name}/{key}": unit for name, stream in self.streams.items() for key, unit in stream.units.items()}

    @property
    def duration(self) -> float:
        """From the first to the last record, [s]."""
        ends = [stream.times_ns[[0, -1]] for stream in self.streams.values() if stream.times_ns.size]
        return float(max(e[1] for e in ends) - min(e[0] for e in ends)) * 1e-9 if ends else 0.0

    def __getitem__(self, signal: str) -> Array:
        """The values of one signal, one row per record."""
        stream, _, channel = signal.partition("/")
        try:
            return self.streams[stream].channels[channel]
        except KeyError:
            raise UnknownName("signal", signal, self.units) from None

    def times(self, signal: str) -> Array:
        """When the values of a signal were received, [s]."""
        self[signal]
        return self.streams[signal.partition("/")[0]].times


@dataclass
class _Topic:
    """A topic while it is being read."""

    layout: dict[str, Any]
    blocks: list[NDArray[Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.kind = record_type(self.layout["size"], [tuple(p) for p in self.layout["places"]], self.layout["stamps"])

    def column(self, name: str) -> NDArray[Any]:
        empty = np.empty(0, self.kind)[name]
        return np.concatenate([block[name] for block in self.blocks]) if self.blocks else empty


def load(path: str | Path) -> Recording:
    """Read a recording whole into memory.

    Raises:
        FileError: the file is missing, empty, cut off, damaged, of a newer version or not a recording of Farhand's.
    """
    path = Path(path)
    found = scan(path)
    metadata, files = described(path, found)
    topics = {
        channel.id: _Topic(json.loads(channel.metadata["farhand"]))
        for channel in found.channels.values()
        if "farhand" in channel.metadata
    }
    topics = {key: topic for key, topic in topics.items() if not topic.layout["derived"]}
    happened: list[RecordedEvent] = []
    kinds = {key: topic.kind for key, topic in topics.items()}
    said = {channel.id for channel in found.channels.values() if channel.topic == EVENTS_TOPIC}
    for chunk in found.chunks:
        for channel, records in _messages(path, chunk, kinds):
            if channel in topics:
                topics[channel].blocks.append(records)
            elif channel in said:
                happened.append(_event(records))
    happened.sort(key=lambda event: event.time_ns)
    streams = _streams(metadata.pop("streams", {}), list(topics.values()))
    return Recording(path, streams, happened, metadata, files, found.complete)


def described(path: Path, found: Found) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Metadata and files of a recording, after a look at its version."""
    if METADATA_NAME not in found.metadata:
        raise FileError(f"{path} is an MCAP file, but not of Farhand's: it has no {METADATA_NAME!r} metadata")
    texts = dict(found.metadata[METADATA_NAME])
    version = texts.pop("format", "1")
    if not version.isdigit() or int(version) != FORMAT:
        newer = version.isdigit() and int(version) > FORMAT
        why = "update Farhand" if newer else "it was written by an early version of Farhand"
        raise FileError(f"{path} has format {version}, and this version reads format {FORMAT}: {why}")
    for name, content in found.metadata.items():
        if name.startswith(f"{METADATA_NAME}/"):
            texts |= content
    return {key: _value(text) for key, text in texts.items()}, found.attachments


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _messages(path: Path, chunk: Chunk, kinds: dict[int, Any]) -> Iterator[tuple[int, Any]]:
    try:
        yield from messages(chunk.records(), kinds)
    except FileError as error:
        raise FileError(f"{path} is damaged: {error}; farhand recover {path} saves what can be saved") from None


def _event(record: bytes) -> RecordedEvent:
    time_ns = int.from_bytes(record[15:23], "little")
    kind, text, data = read_event(record[PREFIX:])
    return RecordedEvent(time_ns, kind, text, json.loads(data) if data else {})


def _streams(shapes: dict[str, Any], topics: list[_Topic]) -> dict[str, StreamData]:
    return {
        name: _stream(shape, [topic for topic in topics if topic.layout["stream"] == name])
        for name, shape in shapes.items()
    }


def _stream(shape: dict[str, Any], topics: list[_Topic]) -> StreamData:
    channels: dict[str, Array] = {}
    units: dict[str, str] = {}
    labels: dict[str, tuple[str, ...]] = {}
    times = device = np.empty(0, np.int64)
    for topic in topics:
        times = topic.column("log_time").astype(np.int64)
        if topic.layout["measured"] or not device.size:
            device = topic.column("publish_time").astype(np.int64)
        for place, source in topic.layout["channels"].items():
            name = source["name"]
            channels[name] = topic.column(f"value:{place}").astype(np.float64)
            units[name], labels[name] = source["unit"], tuple(source["labels"])
    return StreamData(shape["rate"], times, device, channels, units, labels)

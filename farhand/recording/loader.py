"""A recording as named arrays with units."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farhand.errors import BadValue, FileError, UnknownName
from farhand.recording.cdr import PREFIX, read_event, record_type
from farhand.recording.recorder import ENDED, EVENTS_TOPIC, FORMAT, IN_ORDER, METADATA_NAME
from farhand.recording.scan import UNREADABLE, ScannedFile, messages, scan

Array = NDArray[np.float64]


@dataclass(frozen=True)
class StreamData:
    """One stream of a recording: signals that were sampled together."""

    rate: float  #: nominal rate, [Hz]
    times_ns: NDArray[np.int64]  #: when the tick received each record, shape (n,), [ns], exact
    #: when the device measured it, by its own clock, shape (n,), [ns], exact
    device_ns: NDArray[np.int64]
    channels: dict[str, Array]  #: by name, shape (n, size), NaN where there was no value
    units: dict[str, str]  #: of the channels, by name
    labels: dict[str, tuple[str, ...]]  #: of the numbers in each channel, by name; may be empty

    @property
    def times(self) -> Array:
        """Shape (n,), [s]."""
        return np.divide(self.times_ns, 1e9, dtype=np.float64)


@dataclass(frozen=True)
class RecordedEvent:
    """Something that happened once."""

    time_ns: int  # when, [ns]
    kind: str  # ``command``, ``trip``, ``mode``, ``coupling``, ``lost``, ``full`` or ``note``
    text: str  # for people
    # for programs, such as a command's name, path, value and tick
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Recording:
    """A recorded run. ``recording["leader/q"]`` is a signal, ``units["leader/q"]`` its unit."""

    path: Path  #: the file
    streams: dict[str, StreamData]  #: by name
    happened: list[RecordedEvent]  #: every event, in the order of their times
    #: how the run was set up: rig, law, seed, version, options, parameters, …
    metadata: dict[str, Any]
    files: dict[str, bytes]  #: models and the like, by name
    #: whether the run ended in order and nothing of it is missing; otherwise ``metadata["ended"]``
    #: says why, if that is known
    complete: bool

    @property
    def events(self) -> list[tuple[int, str]]:
        """Every event as (time [ns], text)."""
        return [(event.time_ns, event.text) for event in self.happened]

    @property
    def units(self) -> dict[str, str]:
        """Units of all signals by name."""
        return {
            f"{name}/{key}": unit
            for name, stream in self.streams.items()
            for key, unit in stream.units.items()
        }

    @property
    def duration(self) -> float:
        """From the first to the last record, [s]."""
        times = [stream.times_ns for stream in self.streams.values()]
        ends = [time[[0, -1]] for time in times if time.size]
        return float(max(e[1] for e in ends) - min(e[0] for e in ends)) * 1e-9 if ends else 0.0

    def __getitem__(self, signal: str) -> Array:
        """The values of one signal, one row per record."""
        stream, _, channel = signal.partition("/")
        try:
            return self.streams[stream].channels[channel]
        except KeyError:
            raise UnknownName("signal", signal, self.units) from None

    def __iter__(self) -> Iterator[str]:
        """The names of all signals."""
        return iter(self.units)

    def __contains__(self, signal: object) -> bool:
        """Whether there is a signal of this name."""
        return signal in self.units

    def times(self, signal: str) -> Array:
        """When the values of a signal were received, [s]."""
        self[signal]
        return self.streams[signal.partition("/")[0]].times


@dataclass
class RecordedTopic:
    """A topic while it is being read."""

    layout: dict[str, Any]  # where its numbers are, and their units
    blocks: list[NDArray[Any]] = field(default_factory=list)  # its messages so far

    def __post_init__(self) -> None:
        """Lay out its messages."""
        places = [tuple(place) for place in self.layout["places"]]
        self.kind = record_type(self.layout["size"], places, self.layout["stamps"])

    def column(self, name: str) -> NDArray[Any]:
        """One field of all messages."""
        empty = np.empty(0, self.kind)[name]
        return np.concatenate([block[name] for block in self.blocks]) if self.blocks else empty


def load(path: str | Path) -> Recording:
    """Read a recording whole into memory.

    Raises:
        BadValue: this is not a path.
        FileError: the file is missing, empty, cut off, damaged, of a newer version or not a
            recording of Farhand's.
    """
    try:
        path = Path(path)
    except TypeError:
        raise BadValue(f"{path!r} is not a path of a recording, such as 'run.mcap'") from None
    found = scan(path)
    metadata, topics = described(path, found)
    with _one_line_errors(path):
        happened = _read(found, topics)
        streams = _streams(metadata.pop("streams", {}), list(topics.values()))
        if not found.matches:
            raise ValueError("its data do not match their checksum")
    files = {name: attachment.data for name, attachment in found.attachments.items()}
    complete = found.indexed and metadata.get(ENDED, IN_ORDER) == IN_ORDER
    return Recording(path, streams, happened, metadata, files, complete)


def described(path: Path, found: ScannedFile) -> tuple[dict[str, Any], dict[int, RecordedTopic]]:
    """Metadata of a recording, and its topics by channel.

    Raises:
        FileError: it is of another version, not a recording of Farhand's, or its description is
            damaged.
    """
    if METADATA_NAME not in found.metadata:
        reason = f"it has no {METADATA_NAME!r} metadata"
        raise FileError(f"{path} is an MCAP file, but not one of Farhand's: {reason}")
    texts = dict(found.metadata[METADATA_NAME])
    version = texts.pop("format", "1")
    if version != str(FORMAT):
        newer = version.isdecimal() and int(version) > FORMAT
        early = "an early version of Farhand wrote it, or it is damaged"
        name = version if version.isdecimal() else repr(version[:20])
        reason = "update Farhand" if newer else early
        raise FileError(f"{path} has format {name}, this version reads {FORMAT}: {reason}")
    for name, content in found.metadata.items():
        if name.startswith(f"{METADATA_NAME}/"):
            texts |= content
    with _one_line_errors(path):
        metadata = {key: _value(text) for key, text in texts.items()}
        topics = {
            channel.id: RecordedTopic(json.loads(channel.metadata["farhand"]))
            for channel in found.channels.values()
            if "farhand" in channel.metadata
        }
        topics = {key: topic for key, topic in topics.items() if not topic.layout["derived"]}
        streams = metadata.get("streams", {})
        if not isinstance(streams, dict):
            raise ValueError("its list of streams cannot be read")
        _streams(streams, list(topics.values()))
        unknown = {topic.layout["stream"] for topic in topics.values()} - streams.keys()
        if unknown:
            raise ValueError(f"its stream {sorted(unknown)[0]!r} is not described")
        if any(channel.schema_id not in found.schemas for channel in found.channels.values()):
            raise ValueError("a channel has no schema")
    return metadata, topics


@contextmanager
def _one_line_errors(path: Path) -> Iterator[None]:
    """Turn what damaged content raises into one line."""
    try:
        yield
    except (FileError, *UNREADABLE) as error:
        plain = isinstance(error, FileError) or type(error) is ValueError
        reason = " ".join((str(error) if plain else f"{type(error).__name__}: {error}").split())
        hint = f"farhand recover {path} saves what can be saved"
        raise FileError(f"{path} is damaged: {reason[:120]}; {hint}") from None


def _read(found: ScannedFile, topics: dict[int, RecordedTopic]) -> list[RecordedEvent]:
    """Read all messages; those of the topics go there, and the events come back."""
    happened: list[RecordedEvent] = []
    kinds = {key: topic.kind for key, topic in topics.items()}
    events = {channel.id for channel in found.channels.values() if channel.topic == EVENTS_TOPIC}
    for chunk in found.chunks:
        for channel, records in messages(chunk.records(), kinds):
            if channel in topics:
                if isinstance(records, bytes):
                    stream = topics[channel].layout["stream"]
                    raise ValueError(f"a message of {stream} has the wrong length")
                topics[channel].blocks.append(records)
            elif channel in events:
                happened.append(_event(records))
            elif channel not in found.channels:
                raise ValueError(f"a message is of channel {channel}, which is not described")
    return sorted(happened, key=lambda event: event.time_ns)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _event(record: bytes) -> RecordedEvent:
    time_ns = int.from_bytes(record[15:23], "little")
    kind, text, data = read_event(record[PREFIX:])
    return RecordedEvent(time_ns, kind, text, json.loads(data) if data else {})


def _streams(shapes: dict[str, Any], topics: list[RecordedTopic]) -> dict[str, StreamData]:
    return {
        name: _stream(shape, [topic for topic in topics if topic.layout["stream"] == name])
        for name, shape in shapes.items()
    }


def _stream(shape: dict[str, Any], topics: list[RecordedTopic]) -> StreamData:
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
    rate = float(shape["rate"])
    lengths = {len(values) for values in (times, *channels.values())}
    if not 0.0 < rate < np.inf or len(lengths) > 1:
        raise ValueError(f"a stream has the rate {rate:g}, or topics of different length")
    return StreamData(rate, times, device, channels, units, labels)

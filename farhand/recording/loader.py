"""Loader: a recording as arrays."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from mcap.reader import make_reader
from mcap.records import Channel, Schema
from numpy.typing import NDArray

from farhand.errors import FileError
from farhand.recording.recorder import EVENTS_TOPIC, METADATA_NAME


@dataclass(frozen=True)
class StreamData:
    """One stream of a recording.

    Attributes:
        rate: nominal rate, [Hz].
        times_ns: shape (n,), [ns], exact.
        channels: by name, shape (n, size), NaN where there was no value.
        units: of the channels, by name.
        labels: of the numbers in each channel, by name; empty where none were given.
    """

    rate: float
    times_ns: NDArray[np.int64]
    channels: dict[str, NDArray[np.float64]]
    units: dict[str, str]
    labels: dict[str, tuple[str, ...]]

    @property
    def times(self) -> NDArray[np.float64]:
        """Shape (n,), [s]."""
        return np.divide(self.times_ns, 1e9, dtype=np.float64)


@dataclass(frozen=True)
class Recording:
    """What one run left behind.

    Attributes:
        streams: by name.
        events: (time [ns], text), in the order of their times.
        metadata: the description given to :meth:`farhand.telemetry.Telemetry.freeze` (rig, law, seed, ...).
    """

    streams: dict[str, StreamData]
    events: list[tuple[int, str]]
    metadata: dict[str, Any]


@dataclass
class _Columns:
    """A stream while it is being read."""

    schema: dict[str, Any]
    rate: float
    times_ns: list[int] = field(default_factory=list)
    values: dict[str, list[NDArray[np.float64]]] = field(default_factory=dict)

    @classmethod
    def of(cls, schema: Schema, channel: Channel) -> _Columns:
        properties = json.loads(schema.data)["properties"]
        return cls(properties, json.loads(channel.metadata["rate"]), values={name: [] for name in properties})

    def append(self, t_ns: int, message: dict[str, Any]) -> None:
        self.times_ns.append(t_ns)
        for name, column in self.values.items():
            column.append(np.array(message[name], dtype=np.float64))  # None becomes NaN

    def finish(self) -> StreamData:
        shapes = {name: (len(self.times_ns), part["minItems"]) for name, part in self.schema.items()}
        return StreamData(
            rate=self.rate,
            times_ns=np.array(self.times_ns, dtype=np.int64),
            channels={name: np.array(column).reshape(shapes[name]) for name, column in self.values.items()},
            units={name: part["unit"] for name, part in self.schema.items()},
            labels={name: tuple(part["labels"]) for name, part in self.schema.items()},
        )


def load(path: Path) -> Recording:
    """Read a recording whole into memory.

    Raises:
        FileError: the file is missing, truncated, damaged, or not a recording of Farhand's.
    """
    try:
        file = open(path, "rb")
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    with file:
        try:
            return _read(file)
        except Exception as error:  # the mcap, zstd, json and struct libraries each have their own words for damage
            reason = " ".join(str(error).split()) or type(error).__name__
            raise FileError(f"{path} is not a whole recording of Farhand's: {reason}") from None


def _read(file: IO[bytes]) -> Recording:
    reader = make_reader(file, validate_crcs=True)
    summary = reader.get_summary()
    described = [record.metadata for record in reader.iter_metadata() if record.name == METADATA_NAME]
    if summary is None or not described:
        raise ValueError(f"it has no {METADATA_NAME!r} metadata")
    columns = {
        channel.id: _Columns.of(summary.schemas[channel.schema_id], channel)
        for channel in summary.channels.values()
        if channel.topic != EVENTS_TOPIC
    }
    events: list[tuple[int, str]] = []
    for _, channel, message in reader.iter_messages(log_time_order=False):
        content = json.loads(message.data)
        if channel.topic == EVENTS_TOPIC:
            events.append((message.log_time, content["text"]))
        else:
            columns[channel.id].append(message.log_time, content)
    return Recording(
        streams={summary.channels[id].topic.removeprefix("/"): part.finish() for id, part in columns.items()},
        events=sorted(events, key=lambda event: event[0]),
        metadata={key: json.loads(value) for key, value in described[0].items()},
    )

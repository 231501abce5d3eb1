"""Recorder: from the telemetry ring to an MCAP file, in a process of its own or between two ticks of virtual time."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from mcap.writer import Writer
from numpy.typing import ArrayLike

from farhand.errors import BadValue, FarhandError, FileError, UnknownName
from farhand.telemetry import Reader

PUMP_PERIOD = 0.05  # [s], between two looks at the ring
EVENTS_TOPIC = "/events"
METADATA_NAME = "farhand"


class Recorder:
    """Writes an MCAP file: a topic per stream, messages in JSON, times in nanoseconds, units in the schemas.

    The file grows as ``NAME.mcap.part`` and gets its name at :meth:`close`. A ``.part`` left by a crash is never
    overwritten: what is in it can be salvaged. NaN, which JSON lacks, is written ``null``; infinity is ``1e999``.

    Args:
        path: the finished file, which may exist already and is then replaced at :meth:`close`.
        header: :attr:`farhand.telemetry.Reader.header`; its description becomes the file's metadata.

    Attributes:
        time_ns: latest time in the file so far, [ns].
    """

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self._path, self._part = Path(path), part_of(path)
        self._templates = {name: _template(stream["channels"]) for name, stream in header["streams"].items()}
        self._counts = dict.fromkeys(self._templates, 0)
        self.time_ns = 0
        check_destination(path)
        with self._one_line_errors():
            self._file = open(self._part, "xb")
            self._writer = Writer(self._file)
            self._writer.start(library="farhand")
            description = {key: json.dumps(value) for key, value in header["description"].items()}
            self._writer.add_metadata(METADATA_NAME, description)
            self._topics = {name: self._register(name, stream) for name, stream in header["streams"].items()}
            schema = {"type": "object", "properties": {"text": {"type": "string"}}}
            self._events = self._add_topic(EVENTS_TOPIC, "farhand.event", schema, {})

    def write(self, stream: str, times_ns: ArrayLike, rows: ArrayLike) -> None:
        """Append records of one stream.

        Args:
            stream: its name.
            times_ns: shape (n,), [ns], not negative.
            rows: shape (n, all channels side by side), as :meth:`farhand.telemetry.Reader.drain` gives them.
        """
        if stream not in self._templates:
            raise UnknownName("stream", stream, self._templates)
        times, values = np.asarray(times_ns, dtype=np.int64), np.asarray(rows, dtype=np.float64)
        template = self._templates[stream]
        width = template.count("%s")
        if values.shape != (times.size, width):
            raise BadValue(f"rows of stream {stream!r} have shape {values.shape}, not {(times.size, width)}")
        all_finite = np.all(np.isfinite(values), axis=1)
        with self._one_line_errors():
            for t_ns, row, finite in zip(times.tolist(), values.tolist(), all_finite, strict=True):
                text = template % tuple(map(repr if finite else _number, row))
                self._add(self._topics[stream], t_ns, text, self._counts[stream])
                self._counts[stream] += 1

    def event(self, t_ns: int, text: str) -> None:
        """Append a line of text at ``t_ns`` [ns]."""
        with self._one_line_errors():
            self._add(self._events, t_ns, json.dumps({"text": text}), 0)

    def close(self) -> None:
        """Finish the file and give it its name."""
        if not self._file.closed:
            with self._one_line_errors():
                self._writer.finish()
                self._file.flush()
                os.fsync(self._file.fileno())
                self._file.close()
                os.replace(self._part, self._path)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _add(self, topic: int, t_ns: int, text: str, sequence: int) -> None:
        if t_ns < 0:
            raise BadValue(f"a record has the time {t_ns} ns; MCAP has no times before 0")
        self._writer.add_message(topic, log_time=t_ns, publish_time=t_ns, data=text.encode(), sequence=sequence)
        self.time_ns = max(self.time_ns, t_ns)

    def _register(self, name: str, stream: dict[str, Any]) -> int:
        properties = {channel["name"]: _channel_schema(channel) for channel in stream["channels"]}
        schema = {"type": "object", "properties": properties}
        return self._add_topic(f"/{name}", f"farhand.{name}", schema, {"rate": json.dumps(stream["rate"])})

    def _add_topic(self, topic: str, kind: str, schema: dict[str, Any], metadata: dict[str, str]) -> int:
        data = json.dumps(schema, ensure_ascii=False).encode()
        schema_id = self._writer.register_schema(kind, "jsonschema", data)
        return self._writer.register_channel(topic, "json", schema_id, metadata)

    @contextmanager
    def _one_line_errors(self) -> Iterator[None]:
        try:
            yield
        except FileExistsError:
            raise FileError(f"{self._part} is an unfinished recording; move it away or choose another name") from None
        except OSError as error:
            raise FileError(f"cannot write {self._part}: {error.strerror}") from None


def part_of(path: Path) -> Path:
    """The name a recording has while it grows."""
    return Path(path).with_name(Path(path).name + ".part")


def check_destination(path: Path) -> None:
    """Refuse, before anything starts, a destination that cannot be written; creates and changes nothing."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise FileError(f"cannot write {path}: {folder} is not a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FileError(f"cannot write {path}: the folder {folder} is not writable")
    if Path(path).is_dir():
        raise FileError(f"cannot write {path}: it is a folder")
    if part_of(path).exists():
        raise FileError(f"{part_of(path)} is an unfinished recording; move it away or choose another name")


def record_from(reader: Reader, recorder: Recorder) -> int:
    """Move everything new in the ring to the file, and say there what was lost on the way.

    Returns:
        how many records were written.
    """
    written = 0
    for stream in reader.header["streams"]:
        times_ns, rows, lost = reader.drain(stream)
        if lost:
            t_ns = int(times_ns[0]) if times_ns.size else recorder.time_ns
            recorder.event(t_ns, f"lost {lost} records of stream {stream}")
        recorder.write(stream, times_ns, rows)
        written += times_ns.size
    for t_ns, text in reader.events():
        recorder.event(t_ns, text)
    return written


def record_process(ring_path: Path, mcap_path: Path, stop_event: Event) -> None:
    """Record until ``stop_event`` is set, the ring is closed, or this process or its parent is terminated; then finish.

    The target of a :class:`multiprocessing.Process`, which ends with exit code 2 and one line if the file cannot be
    written; :func:`check_destination` in the parent says so earlier. The keyboard interrupt is left to the parent.
    """
    parent = multiprocessing.parent_process()
    terminated: list[bool] = []
    if parent is not None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: terminated.append(True))
    try:
        reader = Reader(ring_path)
        with Recorder(mcap_path, reader.header) as recorder:
            last = False
            while not last:
                alone = parent is not None and not parent.is_alive()
                last = stop_event.wait(PUMP_PERIOD) or bool(terminated) or reader.closed or alone
                record_from(reader, recorder)
    except FarhandError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None


def _channel_schema(channel: dict[str, Any]) -> dict[str, Any]:
    labels = f": {', '.join(channel['labels'])}" if channel["labels"] else ""
    return {
        "type": "array",
        "items": {"type": "number"},
        "minItems": channel["size"],
        "maxItems": channel["size"],
        "description": f"[{channel['unit']}]{labels}",
        "unit": channel["unit"],
        "labels": channel["labels"],
    }


def _template(channels: list[dict[str, Any]]) -> str:
    """A message with ``%s`` for each number; names have no per cent signs."""
    return "{" + ",".join(f'"{c["name"]}":[{",".join(["%s"] * c["size"])}]' for c in channels) + "}"


def _number(value: float) -> str:
    """The shortest digits that read back to the same bits, or what JSON has instead of them."""
    if math.isnan(value):
        return "null"
    return repr(value) if math.isfinite(value) else f"{math.copysign(1, value):.0f}e999"

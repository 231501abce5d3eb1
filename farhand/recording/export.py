"""A recording as tables (CSV, Parquet) or for the Rerun viewer."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from farhand.errors import FileError, Mismatch
from farhand.recording.loader import Recording, StreamData

Array = np.ndarray

TIMELINE = "time"
LEVELS = {"trip": "ERROR", "full": "ERROR", "lost": "WARN"}


def component_units(unit: str, size: int) -> list[str]:
    """The unit of every number of a channel.

    With ``"N, N·m"`` each wrench has three numbers of the first unit, then three of the second; a
    pose of position and quaternion (``"m, -"``) has three and four. Three units of 36 numbers are
    the blocks of a covariance. ``"m ×2, rad ×6"`` gives the counts. Otherwise all units have
    equally many numbers.
    """
    if unit.startswith("index of"):
        return ["index"] * size
    parts = unit.split(", ")
    if "×" in unit:
        counted = [part.partition(" ×") for part in parts]
        counts = [int(count) if count.isdecimal() else 1 for _, _, count in counted]
        if sum(counts) != size:
            return [unit] * size
        names = [name for name, _, _ in counted]
        return [name for name, count in zip(names, counts, strict=True) for _ in range(count)]
    if len(parts) == 2 and size % 6 == 0:
        return ([parts[0]] * 3 + [parts[1]] * 3) * (size // 6)
    if len(parts) == 2 and size == 7:
        return [parts[0]] * 3 + [parts[1]] * 4
    if len(parts) == 3 and size == 36:
        force, mixed, torque = ([part] * 3 for part in parts)
        return (force + mixed) * 3 + (mixed + torque) * 3
    if len(parts) == 1 or size % len(parts):
        return [unit] * size
    return [part for part in parts for _ in range(size // len(parts))]


def component_names(stream: StreamData, channel: str) -> list[str]:
    """Names of a channel's numbers: their labels, or counted from 1."""
    size = stream.channels[channel].shape[1]
    labels = stream.labels[channel] or tuple(str(index + 1) for index in range(size))
    return [channel] if size == 1 else [f"{channel}.{label}" for label in labels]


def columns_of(stream: StreamData) -> Iterator[tuple[str, Array]]:
    """Every number of a stream as (``name [unit]``, values); the two times come first."""
    yield "time [ns]", stream.times_ns
    yield "device_time [ns]", stream.device_ns
    for channel, values in stream.channels.items():
        units = component_units(stream.units[channel], values.shape[1])
        names = component_names(stream, channel)
        for name, unit, column in zip(names, units, values.T, strict=True):
            yield f"{name} [{unit}]", column


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A folder that gets its name when everything in it is written.

    Raises:
        FileError: the folder is not empty, or cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileError(f"cannot export to {folder}: it exists and is not an empty folder")
    real = Path(os.path.realpath(folder))
    part = real.with_name(f".{real.name}.{os.getpid()}")
    try:
        part.mkdir(parents=True)
        yield part
        if real.exists():
            real.rmdir()
        part.rename(real)
    except OSError as error:
        raise FileError(f"cannot export to {folder}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def export_csv(recording: Recording, folder: Path) -> list[Path]:
    """Write ``STREAM.csv``, ``events.csv`` and ``about.json``; numbers keep all their bits."""

    def table(path: Path, columns: dict[str, Any]) -> None:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(_cells(values) for values in columns.values()), strict=True))
        path.write_text(text.getvalue(), encoding="utf-8")

    return _export(recording, folder, "csv", table)


def export_parquet(recording: Recording, folder: Path) -> list[Path]:
    """Write ``STREAM.parquet``, ``events.parquet`` and ``about.json``."""
    import pyarrow as arrow
    from pyarrow import parquet

    def table(path: Path, columns: dict[str, Any]) -> None:
        parquet.write_table(arrow.table(columns), path, compression="zstd")

    return _export(recording, folder, "parquet", table)


def _export(
    recording: Recording, folder: Path, suffix: str, table: Callable[[Path, dict[str, Any]], None]
) -> list[Path]:
    with new_folder(folder) as part:
        names = file_names(recording.streams)
        for file, stream in zip(names, recording.streams.values(), strict=True):
            table(part / f"{file}.{suffix}", dict(columns_of(stream)))
        happened = recording.happened
        data = [json.dumps(e.data, ensure_ascii=False) if e.data else "" for e in happened]
        events = {
            "time [ns]": [event.time_ns for event in happened],
            "kind": [event.kind for event in happened],
            "text": [event.text for event in happened],
            "data": data,
        }
        table(part / f"events.{suffix}", events)
        about = json.dumps(recording.metadata, indent=2, ensure_ascii=False, sort_keys=True)
        (part / "about.json").write_text(about + "\n", encoding="utf-8")
    return sorted(folder.iterdir())


def _cells(values: Any) -> list[Any]:
    """Numbers as the shortest digits that read back to the same bits; NaN as an empty cell."""

    def cell(value: Any) -> Any:
        if not isinstance(value, float):
            return value
        return "" if value != value else repr(value)

    return [cell(value) for value in np.asarray(values).tolist()]


def file_names(streams: Iterable[str]) -> list[str]:
    """A name for the file of every stream, no two the same, nor that of the events."""
    names: list[str] = []
    for stream in streams:
        plain = name = stream.replace("/", "-")
        count = 2
        while name in (*names, "events"):
            name, count = f"{plain}-{count}", count + 1
        names.append(name)
    return names


def export_rerun(recording: Recording, folder: Path) -> Path:
    """Write ``NAME.rrd`` into a new folder, with the name of the recording.

    Raises:
        Mismatch: the Rerun library is not installed.
        FileError: the folder cannot be written.
    """
    try:
        import rerun
    except ImportError:
        raise Mismatch("this export needs Rerun: pip install 'farhand[rerun]'") from None
    name = f"{recording.path.stem}.rrd"
    with new_folder(folder) as part:
        stream = rerun.RecordingStream("farhand", recording_id=recording.path.stem)
        # In memory: Rerun's own writer gives no reason when the disk is full
        held = stream.memory_recording()
        for key, data in recording.streams.items():
            _signals(rerun, stream, key, data)
            _frames(rerun, stream, key, data)
        _events(rerun, stream, recording)
        content = held.drain_as_bytes()
        stream.disconnect()
        (part / name).write_bytes(content)
    return folder / name


def _times(rerun: Any, times_ns: np.ndarray) -> list[Any]:
    return [rerun.TimeColumn(TIMELINE, duration=times_ns.astype("timedelta64[ns]"))]


def _signals(rerun: Any, stream: Any, name: str, data: StreamData) -> None:
    """One entity per channel; its curves are named with their units."""
    for channel, values in data.channels.items():
        entity, size = f"{name}/{channel}", values.shape[1]
        units = component_units(data.units[channel], size)
        names = [f"{n} [{u}]" for n, u in zip(component_names(data, channel), units, strict=True)]
        stream.log(entity, rerun.SeriesLines(names=names), static=True)
        columns = rerun.Scalars.columns(scalars=values.ravel())
        if size > 1:
            columns = columns.partition([size] * len(values))
        rerun.send_columns(entity, _times(rerun, data.times_ns), columns, recording=stream)


def _frames(rerun: Any, stream: Any, name: str, data: StreamData) -> None:
    """One moving frame per pose."""
    for channel, position in data.channels.items():
        turned = data.channels.get(channel.replace("position_", "quaternion_", 1))
        if channel.startswith("position_") and turned is not None:
            entity = f"world/{name}/{channel.removeprefix('position_').partition('_in_')[0]}"
            columns = rerun.Transform3D.columns(translation=position, quaternion=turned)
            rerun.send_columns(entity, _times(rerun, data.times_ns), columns, recording=stream)


def _events(rerun: Any, stream: Any, recording: Recording) -> None:
    happened = recording.happened
    if happened:
        times = np.array([event.time_ns for event in happened], dtype=np.int64)
        levels = [LEVELS.get(event.kind, "INFO") for event in happened]
        columns = rerun.TextLog.columns(text=[event.text for event in happened], level=levels)
        rerun.send_columns("events", _times(rerun, times), columns, recording=stream)

"""A recording as CSV or Parquet: one table per stream, the events, and the set-up."""

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

from farhand.errors import FileError
from farhand.recording.columns import columns_of
from farhand.recording.loader import Recording


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

"""LeRobotDataset v3: a recording as frames and episodes, with forces at full rate.

A frame holds the last record at or before its time; nothing is interpolated. It also carries the
window of full-rate wrenches since the frame before, so that every reading of an episode is in
exactly one window. An episode is the time from one engagement of the coupling to its end.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from farhand.errors import Mismatch
from farhand.recording.export import component_units, new_folder
from farhand.recording.loader import Recording, StreamData

Array = np.ndarray

ROLES = {"follower": "observation", "leader": "action"}
"""What a stream is to a policy; every other stream is observed under its own name."""

MAIN = {"observation": "observation.state", "action": "action"}
"""Names that LeRobot's policies look for: the joint positions of either role."""

RESAMPLING = (
    "each frame holds the last record at or before its time (zero-order hold, no interpolation), "
    "the last frame of an episode its last record; a *_window holds the full-rate records since "
    "the frame before, oldest first; as many at its end as window_count says are new, those before "
    "repeat the oldest of them: at the start of an episode, where the frame rate does not divide "
    "the record rate, and in gaps (0: nothing new came)"
)
WINDOWED = "wrench"
CHUNK = "chunk-000/file-000.parquet"

_INDEXES = {"timestamp": "float32"} | dict.fromkeys(
    ("frame_index", "episode_index", "index", "task_index"), "int64"
)


@dataclass(frozen=True)
class Feature:
    """One column of the dataset."""

    values: Array  # one row per frame, shape (n, …), float32
    names: list[str]  # of the numbers
    unit: str  # of the numbers
    source: str  # signal it comes from


@dataclass(frozen=True)
class Frames:
    """When the frames of all episodes are, n of them, and which records are theirs."""

    since_ns: Array  # records after this, shape (n,), [ns], …
    until_ns: Array  # … up to this are the frame's own, shape (n,), [ns]
    lengths: list[int]  # frames of each episode

    @classmethod
    def of(cls, spans: list[tuple[int, int]], fps: int) -> Frames:
        """Frames from the first time of every span to the first at or after its last."""
        since, until, lengths = [], [], []
        for start, end in spans:
            count = -(-(end - start) * fps // 1_000_000_000) + 1
            if count > 0:
                times = start + np.arange(count, dtype=np.int64) * 1_000_000_000 // fps
                since.append(np.concatenate([[start - 1], times[:-1]]))
                until.append(np.minimum(times, end))
                lengths.append(count)
        nothing = np.empty(0, np.int64)
        return cls(np.concatenate([nothing, *since]), np.concatenate([nothing, *until]), lengths)


@dataclass(frozen=True)
class Exported:
    """What was written."""

    frames: int  # how many
    notes: list[str]  # what a user should know about the dataset


def export_lerobot(
    recording: Recording, folder: Path, fps: int = 50, task: str = "", episodes: str = "engaged"
) -> Exported:
    """Write a dataset that ``LeRobotDataset`` loads.

    Args:
        recording: what to export.
        folder: the dataset's root; must be new or empty.
        fps: frames per second.
        task: what the operator did; the scenario's name by default.
        episodes: ``engaged``, one per engagement of the coupling, or ``whole``, all as one.
    """
    import pyarrow as arrow
    from pyarrow import parquet

    spans = episode_spans(recording, episodes)
    frames = Frames.of(spans, fps)
    if not frames.lengths:
        raise Mismatch(f"{recording.path} has no episode of a frame or more; try --episodes whole")
    names = (recording.metadata.get(key, "demonstration") for key in ("rig", "scenario"))
    task = task or ": ".join(map(str, names))
    columns = features_of(recording, frames, fps)
    features = {name: f for name, f in columns.items() if not np.isnan(f.values).all()}
    unmeasured = {name: f.source for name, f in columns.items() if name not in features}
    notes = list(_notes(features, unmeasured))
    indexes = _indexes(frames.lengths, fps)
    with new_folder(folder) as part:
        for sub in ("data/chunk-000", "meta/episodes/chunk-000"):
            (part / sub).mkdir(parents=True)
        table = {name: _column(arrow, f.values) for name, f in features.items()}
        table |= {name: arrow.array(values) for name, values in indexes.items()}
        parquet.write_table(arrow.table(table), part / "data" / CHUNK)
        _write_episodes(arrow, parquet, part, frames.lengths, task)
        _write_json(part / "meta/info.json", _info(recording, features, indexes, fps))
        _write_json(part / "meta/stats.json", _statistics(features, indexes))
        about = _declaration(recording, features, spans, fps)
        about |= {"never_measured": unmeasured, "notes": notes}
        _write_json(part / "meta/farhand.json", about)
    return Exported(sum(frames.lengths), notes)


def _notes(features: dict[str, Feature], unmeasured: dict[str, str]) -> Iterator[str]:
    """What is missing: signals that never had a value, and what LeRobot's policies look for."""
    if unmeasured:
        yield f"never measured and left out: {', '.join(sorted(set(unmeasured.values())))}"
    positions = [name for name, f in features.items() if f.source.endswith("/q")]
    for stream, role in ROLES.items():
        name = MAIN[role]
        if name not in features:
            others = [key for key in positions if key not in MAIN.values()]
            instead = f"; positions are in {', '.join(others)}" if others else ""
            reason = f"the recording has no {stream} with joints{instead}"
            yield f"no {name}, which LeRobot's policies look for: {reason}"


def episode_spans(recording: Recording, kind: str) -> list[tuple[int, int]]:
    """First and last time of every episode, [ns]."""
    times = [s.times_ns for s in recording.streams.values() if s.times_ns.size]
    if not times:
        return []
    whole = (max(int(time[0]) for time in times), min(int(time[-1]) for time in times))
    coupled = [event for event in recording.happened if event.kind == "coupling"]
    if kind == "whole" or not coupled:
        return [whole]
    spans, since = [], None
    for event in coupled:
        if event.text.endswith(" engaged"):
            since = event.time_ns
        elif since is not None:
            spans.append((since, event.time_ns))
            since = None
    return [*spans, (since, whole[1])] if since is not None else spans


def features_of(recording: Recording, frames: Frames, fps: int) -> dict[str, Feature]:
    """The columns of all frames."""
    features: dict[str, Feature] = {}
    for name, stream in recording.streams.items():
        if not stream.times_ns.size:
            continue
        role = ROLES.get(name)
        prefix = role or f"observation.{name}"
        places = np.maximum(np.searchsorted(stream.times_ns, frames.until_ns, side="right") - 1, 0)
        windows, counts = _windows(stream, frames, fps)
        for channel, values in stream.channels.items():
            key = MAIN[role] if role and channel == "q" else f"{prefix}.{channel}"
            counted = [f"{channel}_{i + 1}" for i in range(values.shape[1])]
            about = (
                list(stream.labels[channel]) or counted,
                stream.units[channel],
                f"{name}/{channel}",
            )
            features[key] = Feature(values[places].astype(np.float32), *about)
            if channel.startswith(WINDOWED) and stream.rate > fps:
                features[f"{key}_window"] = Feature(values[windows].astype(np.float32), *about)
                features[f"{prefix}.window_count"] = Feature(counts, ["window_count"], "-", name)
    return features


def _windows(stream: StreamData, frames: Frames, fps: int) -> tuple[Array, Array]:
    """Records of each frame's window, (frames, width), and how many are its own, (frames, 1).

    The width is that of the fullest: the rate over that of the frames, rounded up, or more if
    records came late and together. The rest repeats the oldest of the frame's own, or the last one
    before it.
    """
    first = np.searchsorted(stream.times_ns, frames.since_ns, side="right")
    last = np.searchsorted(stream.times_ns, frames.until_ns, side="right")
    counts = last - first
    width = max(math.ceil(stream.rate / fps - 1e-6), int(counts.max()))
    oldest = np.maximum(np.minimum(first, last - 1), 0)
    windows = np.maximum(last[:, None] + np.arange(-width, 0), oldest[:, None])
    return windows, counts[:, None].astype(np.float32)


def _indexes(lengths: list[int], fps: int) -> dict[str, Array]:
    frame = np.concatenate([np.arange(length, dtype=np.int64) for length in lengths])
    return {
        "timestamp": (frame / fps).astype(np.float32),
        "frame_index": frame,
        "episode_index": np.repeat(np.arange(len(lengths), dtype=np.int64), lengths),
        "index": np.arange(frame.size, dtype=np.int64),
        "task_index": np.zeros(frame.size, dtype=np.int64),
    }


def _column(arrow: Any, values: Array) -> Any:
    """A column of numbers, or of lists of fixed length, or of lists of lists."""
    if values.shape[1:] == (1,):
        return arrow.array(values[:, 0])
    column = arrow.array(np.ascontiguousarray(values).ravel())
    for size in reversed(values.shape[1:]):
        offsets = arrow.array(np.arange(0, len(column) + 1, size, dtype=np.int32))
        column = arrow.ListArray.from_arrays(offsets, column)
    return column


def _write_episodes(arrow: Any, parquet: Any, part: Path, lengths: list[int], task: str) -> None:
    stops = np.cumsum(lengths)
    zeros = np.zeros(len(lengths), dtype=np.int64)
    table = {
        "episode_index": np.arange(len(lengths)),
        "tasks": arrow.array([[task]] * len(lengths)),
        "length": np.array(lengths),
        "data/chunk_index": zeros,
        "data/file_index": zeros,
        "dataset_from_index": stops - lengths,
        "dataset_to_index": stops,
        "meta/episodes/chunk_index": zeros,
        "meta/episodes/file_index": zeros,
    }
    parquet.write_table(arrow.table(table), part / "meta/episodes" / CHUNK)
    index = "__index_level_0__"
    number = {"name": "task_index", "pandas_type": "int64", "numpy_type": "int64"}
    text = {"name": None, "field_name": index, "pandas_type": "unicode", "numpy_type": "object"}
    columns = [number | {"field_name": "task_index"}, text]
    # For pandas the task is the index of the table
    pandas = {"index_columns": [index], "column_indexes": [], "columns": columns}
    tasks = arrow.table({"task_index": np.array([0]), index: [task]})
    tasks = tasks.replace_schema_metadata({"pandas": json.dumps(pandas)})
    parquet.write_table(tasks, part / "meta/tasks.parquet")


def _info(
    recording: Recording, features: dict[str, Feature], indexes: dict[str, Array], fps: int
) -> dict[str, Any]:
    columns: dict[str, dict[str, Any]] = {}
    for name, f in features.items():
        names = f.names if f.values.ndim == 2 else None
        columns[name] = {"dtype": "float32", "shape": list(f.values.shape[1:]), "names": names}
    for name, kind in _INDEXES.items():
        columns[name] = {"dtype": kind, "shape": [1], "names": None}
    count = int(indexes["episode_index"][-1]) + 1
    return {
        "codebase_version": "v3.0",
        "robot_type": recording.metadata.get("rig", "unknown"),
        "total_episodes": count,
        "total_frames": int(indexes["index"].size),
        "total_tasks": 1,
        "chunks_size": 1000,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 200,
        "fps": fps,
        "splits": {"train": f"0:{count}"},
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "video_path": None,
        "features": columns,
    }


def _statistics(features: dict[str, Feature], indexes: dict[str, Array]) -> dict[str, Any]:
    columns = {name: f.values for name, f in features.items()}
    columns |= {name: values[:, None] for name, values in indexes.items()}
    rows = {}
    for name, values in columns.items():
        known = np.ma.masked_invalid(values.astype(np.float64))
        # A number that was never measured counts as zero
        rows[name] = {
            kind: np.ma.filled(getattr(known, kind)(0), 0.0).tolist()
            for kind in ("min", "max", "mean", "std")
        }
        rows[name]["count"] = [len(values)]
    return rows


def _declaration(
    recording: Recording, features: dict[str, Feature], spans: list[tuple[int, int]], fps: int
) -> dict[str, Any]:
    keys = ("rig", "law", "scenario", "seed", "version")
    rates = {name: stream.rate for name, stream in recording.streams.items()}
    return {
        "source": recording.path.name,
        "resampling": RESAMPLING,
        "rates": rates | {"frames": fps},
        "episodes": [{"start": start * 1e-9, "end": end * 1e-9} for start, end in spans],
        "features": {
            name: {"signal": f.source, "units": component_units(f.unit, f.values.shape[-1])}
            for name, f in features.items()
        },
        "about": {key: recording.metadata.get(key) for key in keys},
    }


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

"""LeRobotDataset v3: a recording as frames and episodes, force first.

Frames are samples of the recording at a fixed rate: the last record at or before the frame's time, never a blend of
two. What happens between frames is kept where it matters most: each frame carries the window of full-rate wrenches
since the frame before. An episode is the time from one engagement of the coupling to its end.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from farhand.errors import Mismatch
from farhand.recording.columns import component_units
from farhand.recording.export import new_folder
from farhand.recording.loader import Recording, StreamData

Array = np.ndarray

ROLES = {"follower": "observation", "leader": "action"}
"""What a stream is to a policy; every other stream is observed under its own name."""

MAIN = {"observation": "observation.state", "action": "action"}
"""Names that LeRobot's policies look for: the joint positions of either role."""

RESAMPLING = (
    "each frame holds the last record at or before its time (zero-order hold, no interpolation); a *_window holds the "
    "full-rate records since the frame before, oldest first, the last one being the frame's own"
)
WINDOWED = "wrench"
CHUNK = "chunk-000/file-000.parquet"

_INDEXES = {"timestamp": "float32"} | dict.fromkeys(("frame_index", "episode_index", "index", "task_index"), "int64")


@dataclass(frozen=True)
class Feature:
    """One column of the dataset.

    Attributes:
        values: one row per frame, shape (n, …), float32.
        names: of the numbers.
        unit: of the numbers.
        source: signal it comes from.
    """

    values: Array
    names: list[str]
    unit: str
    source: str


def export_lerobot(recording: Recording, folder: Path, fps: int = 50, task: str = "", episodes: str = "engaged") -> int:
    """Write a dataset that ``LeRobotDataset`` loads.

    Args:
        recording: what to export.
        folder: the dataset's root; must be new or empty.
        fps: frames per second.
        task: what the operator did, in words; the scenario's name by default.
        episodes: ``engaged``, one per engagement of the coupling, or ``whole``, the recording as one.

    Returns:
        the number of frames.
    """
    import pyarrow as arrow
    from pyarrow import parquet

    spans = episode_spans(recording, episodes)
    frames = [_frame_times(start, end, fps) for start, end in spans]
    frames = [times for times in frames if times.size]
    if not frames:
        raise Mismatch(f"{recording.path} has no episode of at least one frame; try --episodes whole")
    task = task or ": ".join(str(recording.metadata.get(key, "demonstration")) for key in ("rig", "scenario"))
    features = features_of(recording, np.concatenate(frames), fps)
    indexes = _indexes([times.size for times in frames], fps)
    with new_folder(folder) as part:
        for sub in ("data/chunk-000", "meta/episodes/chunk-000"):
            (part / sub).mkdir(parents=True)
        table = {name: _column(arrow, f.values) for name, f in features.items()}
        parquet.write_table(arrow.table(table | {k: arrow.array(v) for k, v in indexes.items()}), part / "data" / CHUNK)
        _write_episodes(arrow, parquet, part, [times.size for times in frames], task)
        _write_json(part / "meta/info.json", _info(recording, features, indexes, fps))
        _write_json(part / "meta/stats.json", _statistics(features, indexes))
        _write_json(part / "meta/farhand.json", _declaration(recording, features, spans, fps))
    return sum(times.size for times in frames)


def episode_spans(recording: Recording, kind: str) -> list[tuple[int, int]]:
    """First and last time of every episode, [ns]."""
    ends = [stream.times_ns[[0, -1]] for stream in recording.streams.values() if stream.times_ns.size]
    if not ends:
        return []
    whole = (max(int(end[0]) for end in ends), min(int(end[1]) for end in ends))
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


def features_of(recording: Recording, times_ns: Array, fps: int) -> dict[str, Feature]:
    """The columns of all frames."""
    found: dict[str, Feature] = {}
    for name, stream in recording.streams.items():
        if not stream.times_ns.size:
            continue
        role = ROLES.get(name)
        places = np.maximum(np.searchsorted(stream.times_ns, times_ns, side="right") - 1, 0)
        for channel, values in stream.channels.items():
            key = f"{role or f'observation.{name}'}.{channel}"
            if role and channel == "q":
                key = MAIN[role]
            labels = list(stream.labels[channel]) or [f"{channel}_{i + 1}" for i in range(values.shape[1])]
            source = f"{name}/{channel}"
            found[key] = Feature(values[places].astype(np.float32), labels, stream.units[channel], source)
            if channel.startswith(WINDOWED) and stream.rate > fps:
                window = _windows(stream, channel, places, fps)
                found[f"{key}_window"] = Feature(window, labels, stream.units[channel], source)
    return found


def _windows(stream: StreamData, channel: str, places: Array, fps: int) -> Array:
    """The records of each frame, shape (frames, records per frame, size); the very first repeats at the start."""
    width = round(stream.rate / fps)
    chosen = np.maximum(places[:, None] + np.arange(1 - width, 1), 0)
    return stream.channels[channel][chosen].astype(np.float32)


def _frame_times(start: int, end: int, fps: int) -> Array:
    return start + np.arange(int((end - start) * fps // 1_000_000_000) + 1, dtype=np.int64) * 1_000_000_000 // fps


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
    words = {
        "index_columns": [index],
        "column_indexes": [],
        "columns": [
            {"name": "task_index", "field_name": "task_index", "pandas_type": "int64", "numpy_type": "int64"},
            {"name": None, "field_name": index, "pandas_type": "unicode", "numpy_type": "object"},
        ],
    }
    tasks = arrow.table({"task_index": np.array([0]), index: [task]})
    tasks = tasks.replace_schema_metadata({"pandas": json.dumps(words)})  # the task is the index of the table
    parquet.write_table(tasks, part / "meta/tasks.parquet")


def _info(recording: Recording, features: dict[str, Feature], indexes: dict[str, Array], fps: int) -> dict[str, Any]:
    described = {
        name: {"dtype": "float32", "shape": list(f.values.shape[1:]), "names": f.names if f.values.ndim == 2 else None}
        for name, f in features.items()
    }
    described |= {name: {"dtype": kind, "shape": [1], "names": None} for name, kind in _INDEXES.items()}
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
        "features": described,
    }


def _statistics(features: dict[str, Feature], indexes: dict[str, Array]) -> dict[str, Any]:
    everything = {name: f.values for name, f in features.items()}
    everything |= {name: values[:, None] for name, values in indexes.items()}
    found = {}
    for name, values in everything.items():
        known = np.ma.masked_invalid(values.astype(np.float64))
        numbers = {"min": known.min(0), "max": known.max(0), "mean": known.mean(0), "std": known.std(0)}
        plain = {key: np.ma.filled(value, 0.0).tolist() for key, value in numbers.items()}  # never measured: zero
        found[name] = plain | {"count": [len(values)]}
    return found


def _declaration(
    recording: Recording, features: dict[str, Feature], spans: list[tuple[int, int]], fps: int
) -> dict[str, Any]:
    return {
        "source": recording.path.name,
        "resampling": RESAMPLING,
        "rates": {name: stream.rate for name, stream in recording.streams.items()} | {"frames": fps},
        "episodes": [{"start": start * 1e-9, "end": end * 1e-9} for start, end in spans],
        "features": {
            name: {"signal": f.source, "units": component_units(f.unit, f.values.shape[-1])}
            for name, f in features.items()
        },
        "about": {k: recording.metadata.get(k) for k in ("rig", "law", "scenario", "seed", "version")},
    }


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

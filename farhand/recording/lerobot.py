"""LeRobotDataset v3: a recording as frames and episodes, force first.

Frames are samples of the recording at a fixed rate: the last record at or before the frame's time,
never a blend of two. What happens between frames is kept where it matters most: each frame carries
the window of full-rate wrenches since the frame before, so that every reading of an episode is in
one window and in no other. An episode is the time from one engagement of the coupling to its end.
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
from farhand.recording.columns import component_units
from farhand.recording.export import new_folder
from farhand.recording.loader import Recording, StreamData

Array = np.ndarray

ROLES = {"follower": "observation", "leader": "action"}
"""What a stream is to a policy; every other stream is observed under its own name."""

MAIN = {"observation": "observation.state", "action": "action"}
"""Names that LeRobot's policies look for: the joint positions of either role."""

RESAMPLING = (
    "each frame holds the last record at or before its time (zero-order hold, no interpolation), the last frame of an "
    "episode its last record; a *_window holds the full-rate records since the frame before, oldest first; as many at "
    "its end as window_count says are new, those before repeat the oldest of them: at the start of an episode, where "
    "the frame rate does not divide the record rate, and in gaps (0: nothing new came)"
)
WINDOWED = "wrench"
CHUNK = "chunk-000/file-000.parquet"

_INDEXES = {"timestamp": "float32"} | dict.fromkeys(
    ("frame_index", "episode_index", "index", "task_index"), "int64"
)


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


@dataclass(frozen=True)
class Frames:
    """When the frames of all episodes are, n of them, and which records are theirs.

    Attributes:
        since_ns: records after this, shape (n,), [ns], …
        until_ns: … up to this are the frame's own, shape (n,), [ns].
        lengths: frames of each episode.
    """

    since_ns: Array
    until_ns: Array
    lengths: list[int]

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
    """What was written.

    Attributes:
        frames: how many.
        notes: what a user should know of the dataset, in words.
    """

    frames: int
    notes: list[str]


def export_lerobot(
    recording: Recording, folder: Path, fps: int = 50, task: str = "", episodes: str = "engaged"
) -> Exported:
    """Write a dataset that ``LeRobotDataset`` loads.

    Args:
        recording: what to export.
        folder: the dataset's root; must be new or empty.
        fps: frames per second.
        task: what the operator did, in words; the scenario's name by default.
        episodes: ``engaged``, one per engagement of the coupling, or ``whole``, the recording as
            one.
    """
    import pyarrow as arrow
    from pyarrow import parquet

    spans = episode_spans(recording, episodes)
    frames = Frames.of(spans, fps)
    if not frames.lengths:
        raise Mismatch(
            f"{recording.path} has no episode of at least one frame; try --episodes whole"
        )
    task = task or ": ".join(
        str(recording.metadata.get(key, "demonstration")) for key in ("rig", "scenario")
    )
    everything = features_of(recording, frames, fps)
    features = {name: f for name, f in everything.items() if not np.isnan(f.values).all()}
    silent = {name: f.source for name, f in everything.items() if name not in features}
    notes = list(_notes(features, silent))
    indexes = _indexes(frames.lengths, fps)
    with new_folder(folder) as part:
        for sub in ("data/chunk-000", "meta/episodes/chunk-000"):
            (part / sub).mkdir(parents=True)
        table = {name: _column(arrow, f.values) for name, f in features.items()}
        parquet.write_table(
            arrow.table(table | {k: arrow.array(v) for k, v in indexes.items()}),
            part / "data" / CHUNK,
        )
        _write_episodes(arrow, parquet, part, frames.lengths, task)
        _write_json(part / "meta/info.json", _info(recording, features, indexes, fps))
        _write_json(part / "meta/stats.json", _statistics(features, indexes))
        said = {"never_measured": silent, "notes": notes}
        _write_json(
            part / "meta/farhand.json", _declaration(recording, features, spans, fps) | said
        )
    return Exported(sum(frames.lengths), notes)


def _notes(features: dict[str, Feature], silent: dict[str, str]) -> Iterator[str]:
    """What is not there: signals that never had a value, and what LeRobot's policies look for."""
    if silent:
        yield f"never measured and left out: {', '.join(sorted(set(silent.values())))}"
    for role, name in MAIN.items():
        if name not in features:
            stream = next(stream for stream, its in ROLES.items() if its == role)
            others = [
                key
                for key, f in features.items()
                if f.source.endswith("/q") and key not in MAIN.values()
            ]
            instead = f"; positions are in {', '.join(others)}" if others else ""
            yield f"no {name}, which LeRobot's policies look for: the recording has no {stream} with joints{instead}"


def episode_spans(recording: Recording, kind: str) -> list[tuple[int, int]]:
    """First and last time of every episode, [ns]."""
    ends = [
        stream.times_ns[[0, -1]] for stream in recording.streams.values() if stream.times_ns.size
    ]
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


def features_of(recording: Recording, frames: Frames, fps: int) -> dict[str, Feature]:
    """The columns of all frames."""
    found: dict[str, Feature] = {}
    for name, stream in recording.streams.items():
        if not stream.times_ns.size:
            continue
        role = ROLES.get(name)
        prefix = role or f"observation.{name}"
        places = np.maximum(np.searchsorted(stream.times_ns, frames.until_ns, side="right") - 1, 0)
        windows, counts = _windows(stream, frames, fps)
        for channel, values in stream.channels.items():
            key = MAIN[role] if role and channel == "q" else f"{prefix}.{channel}"
            labels = list(stream.labels[channel]) or [
                f"{channel}_{i + 1}" for i in range(values.shape[1])
            ]
            unit, source = stream.units[channel], f"{name}/{channel}"
            found[key] = Feature(values[places].astype(np.float32), labels, unit, source)
            if channel.startswith(WINDOWED) and stream.rate > fps:
                found[f"{key}_window"] = Feature(
                    values[windows].astype(np.float32), labels, unit, source
                )
                found[f"{prefix}.window_count"] = Feature(counts, ["window_count"], "-", name)
    return found


def _windows(stream: StreamData, frames: Frames, fps: int) -> tuple[Array, Array]:
    """Which records are in each frame's window, shape (frames, width), and how many are its own, shape (frames, 1).

    The width is that of the fullest: the rate over that of the frames, rounded up, or more where
    records came late and together. The rest repeats the oldest of the frame's own, or the last one
    before where there is none.
    """
    first, last = (
        np.searchsorted(stream.times_ns, at, side="right")
        for at in (frames.since_ns, frames.until_ns)
    )
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
    words = {
        "index_columns": [index],
        "column_indexes": [],
        "columns": [
            {
                "name": "task_index",
                "field_name": "task_index",
                "pandas_type": "int64",
                "numpy_type": "int64",
            },
            {"name": None, "field_name": index, "pandas_type": "unicode", "numpy_type": "object"},
        ],
    }
    tasks = arrow.table({"task_index": np.array([0]), index: [task]})
    # the task is the index of the table
    tasks = tasks.replace_schema_metadata({"pandas": json.dumps(words)})
    parquet.write_table(tasks, part / "meta/tasks.parquet")


def _info(
    recording: Recording, features: dict[str, Feature], indexes: dict[str, Array], fps: int
) -> dict[str, Any]:
    described = {
        name: {
            "dtype": "float32",
            "shape": list(f.values.shape[1:]),
            "names": f.names if f.values.ndim == 2 else None,
        }
        for name, f in features.items()
    }
    described |= {
        name: {"dtype": kind, "shape": [1], "names": None} for name, kind in _INDEXES.items()
    }
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
        numbers = {
            "min": known.min(0),
            "max": known.max(0),
            "mean": known.mean(0),
            "std": known.std(0),
        }
        # never measured: zero
        plain = {key: np.ma.filled(value, 0.0).tolist() for key, value in numbers.items()}
        found[name] = plain | {"count": [len(values)]}
    return found


def _declaration(
    recording: Recording, features: dict[str, Feature], spans: list[tuple[int, int]], fps: int
) -> dict[str, Any]:
    return {
        "source": recording.path.name,
        "resampling": RESAMPLING,
        "rates": {name: stream.rate for name, stream in recording.streams.items()}
        | {"frames": fps},
        "episodes": [{"start": start * 1e-9, "end": end * 1e-9} for start, end in spans],
        "features": {
            name: {"signal": f.source, "units": component_units(f.unit, f.values.shape[-1])}
            for name, f in features.items()
        },
        "about": {
            k: recording.metadata.get(k) for k in ("rig", "law", "scenario", "seed", "version")
        },
    }


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

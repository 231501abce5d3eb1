"""LeRobotDataset v3: recordings as frames and episodes that LeRobot's policies train on.

State and action have the names and values that the plug-in for LeRobot gives, see
:mod:`farhand.lerobot_features`. A frame holds the last record at or before its time; nothing is
interpolated. All other signals come along as columns that a policy does not look at, the wrenches
also as windows of all records since the frame before. An episode is the time from one engagement of
the coupling to its end, or one marked demonstration.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from farhand.errors import Mismatch
from farhand.lerobot_features import POSE, WRENCH, PolicyFeatures
from farhand.recording.export import component_units, new_folder
from farhand.recording.loader import Recording, StreamData

Array = np.ndarray

STATE, ENVIRONMENT, ACTION = "observation.state", "observation.environment_state", "action"
"""Names that LeRobot's policies look for; without cameras they want the second one too."""

RESAMPLING = (
    "each frame holds the last record at or before its time (zero-order hold, no interpolation), "
    "the last frame of an episode its last record; a *_window holds the full-rate records since "
    "the frame before, oldest first, all numbers of one after those of another; as many at its end "
    "as window_count says are new, those before repeat the oldest of them: at the start of an "
    "episode, where the frame rate does not divide the record rate, and in gaps (0: nothing new "
    "came)"
)
WINDOWED = "wrench"
CHUNK = "chunk-000/file-000.parquet"
QUANTILES = (1, 10, 50, 90, 99)
"""Of the statistics, in percent."""

_INDEXES = {"timestamp": "float32"} | dict.fromkeys(
    ("frame_index", "episode_index", "index", "task_index"), "int64"
)


@dataclass(frozen=True)
class Feature:
    """One column of the dataset."""

    values: Array  # one row per frame, shape (n, size), float32
    names: list[str]  # of the numbers
    units: list[str]  # of the numbers
    source: str  # signals it comes from


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
    recordings: Sequence[Recording],
    folder: Path,
    fps: int = 50,
    task: str = "",
    episodes: str = "engaged",
    station: str = "follower",
    forces: bool = True,
    signals: bool = True,
) -> Exported:
    """Write a dataset that ``LeRobotDataset`` loads.

    Args:
        recordings: what to export, of the same arms.
        folder: the dataset's root; must be new or empty.
        fps: frames per second.
        task: what the operator did; the scenario's name by default.
        episodes: ``engaged``, one per engagement of the coupling, ``marked``, one per
            demonstration, or ``whole``, one per recording.
        station: the follower that a policy will drive.
        forces: whether torques and the wrench are part of the state.
        signals: whether all other signals come along; training is faster without.
    """
    import pyarrow as arrow
    from pyarrow import parquet

    cut = [
        (one, spans := episode_spans(one, episodes), Frames.of(spans, fps)) for one in recordings
    ]
    cut = [one for one in cut if one[2].lengths]
    if not cut:
        paths = ", ".join(str(one.path) for one in recordings)
        raise Mismatch(f"{paths} has no episode of a frame or more; try --episodes whole")
    names = (cut[0][0].metadata.get(key, "demonstration") for key in ("rig", "scenario"))
    task = task or ": ".join(map(str, names))
    lengths = [length for _, _, frames in cut for length in frames.lengths]
    columns, policy = _columns_of([(one, frames) for one, _, frames in cut], fps, station, forces)
    if not signals and policy is not None:
        columns = {name: columns[name] for name in (STATE, ENVIRONMENT, ACTION)}
    features = {name: f for name, f in columns.items() if not np.isnan(f.values).all()}
    unmeasured = {name: f.source for name, f in columns.items() if name not in features}
    notes = list(_notes(features, unmeasured, policy, station))
    for one, _, _ in cut:
        lost = [event.text for event in one.happened if event.kind == "lost"]
        if lost:
            held = "frames there hold what was before"
            notes.append(f"{one.path.name} has holes ({len(lost)}, such as: {lost[0]}); {held}")
    indexes = _indexes(lengths, fps)
    with new_folder(folder) as part:
        for sub in ("data/chunk-000", "meta/episodes/chunk-000"):
            (part / sub).mkdir(parents=True)
        table = {name: _column(arrow, f.values) for name, f in features.items()}
        table |= {name: arrow.array(values) for name, values in indexes.items()}
        parquet.write_table(arrow.table(table), part / "data" / CHUNK)
        values = {name: f.values for name, f in features.items()}
        values |= {name: index[:, None] for name, index in indexes.items()}
        _write_episodes(arrow, parquet, part, lengths, task, values)
        _write_json(part / "meta/info.json", _info(cut[0][0], features, indexes, fps))
        _write_json(part / "meta/stats.json", _statistics(values))
        about = _declaration([(one, spans) for one, spans, _ in cut], features, fps)
        about |= {"never_measured": unmeasured, "notes": notes}
        _write_json(part / "meta/farhand.json", about)
    return Exported(sum(lengths), notes)


def _notes(
    features: dict[str, Feature],
    unmeasured: dict[str, str],
    policy: PolicyFeatures | None,
    station: str,
) -> Iterator[str]:
    """What is missing: signals that never had a value, and what LeRobot's policies look for."""
    if unmeasured:
        yield f"never measured and left out: {', '.join(sorted(set(unmeasured.values())))}"
    if policy is None:
        others = [name for name, f in features.items() if f.source.endswith("/q")]
        instead = f"; positions are in {', '.join(others)}" if others else ""
        reason = f"the recording has no {station} with a coupling{instead}"
        yield f"no {STATE} and {ACTION}, which LeRobot's policies look for: {reason}"
    elif policy.forces and not policy.wrench:
        yield f"no force at the tool: nothing measured or observed it at {station}"


def episode_spans(recording: Recording, kind: str) -> list[tuple[int, int]]:
    """First and last time of every episode, [ns]."""
    times = [s.times_ns for s in recording.streams.values() if s.times_ns.size]
    if not times:
        return []
    whole = (max(int(time[0]) for time in times), min(int(time[-1]) for time in times))
    if kind == "marked":
        from farhand.learning.demonstration import spans as marked

        return [(max(start, whole[0]), min(end, whole[1])) for start, end in marked(recording)]
    coupled = [event for event in recording.happened if event.kind == "coupling"]
    if kind == "whole" or not coupled:
        return [whole]
    spans, since = [], None
    for event in coupled:
        if event.text.endswith(" engaged"):
            since = event.time_ns
        elif since is not None:
            # at that time it is parted, and the leader wants nothing any more
            spans.append((since, event.time_ns - 1))
            since = None
    return [*spans, (since, whole[1])] if since is not None else spans


def _columns_of(
    cut: Sequence[tuple[Recording, Frames]], fps: int, station: str, forces: bool
) -> tuple[dict[str, Feature], PolicyFeatures | None]:
    """The columns of all frames of all recordings, and what of them is for a policy."""
    policies = [policy_features(one, frames, station, forces) for one, frames in cut]
    if any(one is None for one in policies):
        policy = None
    else:
        # what every recording has
        shared = frozenset.intersection(*(one.signals for one in policies if one is not None))
        unlike = {(one.joints, one.of_joints) for one in policies if one is not None}
        if len(unlike) > 1:
            paths = ", ".join(one.path.name for one, _ in cut)
            raise Mismatch(f"{paths} are not of the same arms and coupling; export them apart")
        (joints, of_joints), *_ = unlike
        policy = PolicyFeatures(joints, shared, of_joints, forces)
    parts = [features_of(one, frames, fps, policy, station) for one, frames in cut]
    common = [name for name in parts[0] if all(name in part for part in parts)]
    columns = {}
    for name in common:
        first = parts[0][name]
        sizes = {part[name].values.shape[1] for part in parts}
        # windows differ in width where records came late; those of one recording only are of use
        if len(sizes) == 1:
            values = np.concatenate([part[name].values for part in parts])
            columns[name] = Feature(values, first.names, first.units, first.source)
    return columns, policy


def policy_features(
    recording: Recording, frames: Frames, station: str, forces: bool
) -> PolicyFeatures | None:
    """What a policy sees of a recording; None if nothing in it leads that station."""
    follower, coupling = recording.streams.get(station), _coupling_of(recording, station)
    needed = {"q", "v", "position_tool_in_world", "quaternion_tool_in_world"}
    if follower is None or coupling is None or not needed <= follower.channels.keys():
        return None
    rows = _places(follower, frames)
    finite = {name for name, at in follower.channels.items() if np.isfinite(at[rows]).all()}
    count = follower.channels["q"].shape[1]
    joints = follower.labels["q"] or tuple(f"joint_{k + 1}" for k in range(count))
    of_joints = coupling.labels["error"][:1] != ("x",)
    return PolicyFeatures(tuple(joints), frozenset(finite), of_joints, forces)


def _coupling_of(recording: Recording, station: str) -> StreamData | None:
    """The stream of the coupling that leads a station."""
    pairs = recording.metadata.get("pairs") or {}
    named = (stream for stream, names in pairs.items() if station in names)
    coupling = recording.streams.get(next(named, "coupling"))
    return coupling if coupling is not None and "error" in coupling.channels else None


def _places(stream: StreamData, frames: Frames) -> Array:
    """The record that each frame holds."""
    return np.maximum(np.searchsorted(stream.times_ns, frames.until_ns, side="right") - 1, 0)


def features_of(
    recording: Recording,
    frames: Frames,
    fps: int,
    policy: PolicyFeatures | None,
    station: str = "follower",
) -> dict[str, Feature]:
    """The columns of all frames: those for a policy, then every signal."""
    features = {} if policy is None else for_policy(recording, frames, policy, station)
    for name, stream in recording.streams.items():
        if not stream.times_ns.size:
            continue
        rows = _places(stream, frames)
        windows, counts = _windows(stream, frames, fps)
        for channel, values in stream.channels.items():
            size, source = values.shape[1], f"{name}/{channel}"
            names = list(stream.labels[channel]) or [f"{channel}_{i + 1}" for i in range(size)]
            units = component_units(stream.units[channel], size)
            key = f"signals.{name}.{channel}"
            features[key] = Feature(values[rows].astype(np.float32), names, units, source)
            if channel.startswith(WINDOWED) and stream.rate > fps:
                width = windows.shape[1]
                flat = values[windows].astype(np.float32).reshape(len(rows), -1)
                back = [f"{one}_{k - width + 1}" for k in range(width) for one in names]
                features[f"{key}_window"] = Feature(flat, back, units * width, source)
                count = Feature(counts, ["window_count"], ["-"], name)
                features[f"signals.{name}.window_count"] = count
    return features


def for_policy(
    recording: Recording, frames: Frames, policy: PolicyFeatures, station: str
) -> dict[str, Feature]:
    """State, environment and action."""
    stream, coupling = recording.streams[station], _coupling_of(recording, station)
    assert coupling is not None
    rows, coupled = _places(stream, frames), _places(coupling, frames)
    record = {name: values[rows] for name, values in stream.channels.items()}
    record["rotation_tool_in_world"] = _rotations(record["quaternion_tool_in_world"])
    error, engaged = (coupling.channels[name][coupled] for name in ("error", "engagement"))
    state, names = policy.state(record), policy.state_names
    of_tool = [k for k, name in enumerate(names) if name in POSE + WRENCH]
    action = policy.action(record, error, engaged)
    columns = {
        STATE: (state, names),
        ENVIRONMENT: (state[:, of_tool], [names[k] for k in of_tool]),
        ACTION: (action, policy.action_names),
    }
    units = {name: policy.unit(name, stream.units) for name in {*names, *policy.action_names}}
    sources = {STATE: station, ENVIRONMENT: station, ACTION: f"{station} and coupling/error"}
    return {
        key: Feature(values.astype(np.float32), list(of), [units[one] for one in of], sources[key])
        for key, (values, of) in columns.items()
    }


def _rotations(quaternions: Array) -> Array:
    """Rotation matrices column by column, shape (n, 9), from quaternions (x, y, z, w)."""
    x, y, z, w = quaternions.T
    columns = (
        (1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)),
        (2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)),
        (2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([one for column in columns for one in column], axis=1)


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
    """A column of numbers, or of lists of fixed length."""
    if values.shape[1] == 1:
        return arrow.array(values[:, 0])
    flat = arrow.array(np.ascontiguousarray(values).ravel())
    return arrow.FixedSizeListArray.from_arrays(flat, values.shape[1])


def _write_episodes(
    arrow: Any, parquet: Any, part: Path, lengths: list[int], task: str, values: dict[str, Array]
) -> None:
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
    rows = [
        _statistics({name: column[stop - length : stop] for name, column in values.items()})
        for stop, length in zip(stops, lengths, strict=True)
    ]
    for name, kinds in rows[0].items():
        for kind in kinds:
            table[f"stats/{name}/{kind}"] = arrow.array([row[name][kind] for row in rows])
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
    columns: dict[str, dict[str, Any]] = {
        name: {"dtype": "float32", "shape": [f.values.shape[1]], "names": f.names}
        for name, f in features.items()
    }
    for name, kind in _INDEXES.items():
        columns[name] = {"dtype": kind, "shape": [1], "names": None}
    count = int(indexes["episode_index"][-1]) + 1
    return {
        "codebase_version": "v3.0",
        "robot_type": "farhand_follower" if STATE in features else recording.metadata.get("rig"),
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


def _statistics(columns: dict[str, Array]) -> dict[str, dict[str, list[Any]]]:
    """What LeRobot normalises with, by column and kind."""
    rows: dict[str, dict[str, list[Any]]] = {}
    for name, values in columns.items():
        known = values.astype(np.float64)
        # A number that was never measured counts as zero
        known = np.where(np.isnan(known).all(axis=0), 0.0, known)
        kinds = {
            "min": np.nanmin(known, axis=0),
            "max": np.nanmax(known, axis=0),
            "mean": np.nanmean(known, axis=0),
            "std": np.nanstd(known, axis=0),
        }
        shares = np.nanpercentile(known, QUANTILES, axis=0)
        kinds |= {f"q{share:02d}": row for share, row in zip(QUANTILES, shares, strict=True)}
        rows[name] = {kind: at.tolist() for kind, at in kinds.items()}
        rows[name]["count"] = [len(values)]
    return rows


def _declaration(
    cut: list[tuple[Recording, list[tuple[int, int]]]], features: dict[str, Feature], fps: int
) -> dict[str, Any]:
    first = cut[0][0]
    keys = ("rig", "law", "scenario", "seed", "version")
    rates = {name: stream.rate for name, stream in first.streams.items()}
    return {
        "sources": [one.path.name for one, _ in cut],
        "resampling": RESAMPLING,
        "rates": rates | {"frames": fps},
        "episodes": [
            {"source": one.path.name, "start": start * 1e-9, "end": end * 1e-9}
            for one, spans in cut
            for start, end in spans
        ],
        "features": {name: {"signal": f.source, "units": f.units} for name, f in features.items()},
        "about": {key: first.metadata.get(key) for key in keys},
    }


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

"""A dataset that ``lerobot-record`` has made, and the recording of the session beside it.

LeRobot counts frames and does not say when they were. But the numbers of a frame are those of one
record of the session, to the last bit of float32, so the recording says it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from farhand.errors import FileError, Mismatch
from farhand.lerobot_features import POSE
from farhand.recording.lerobot import ACTION, STATE, Frames, for_policy, policy_features
from farhand.recording.loader import Recording

Array = np.ndarray

TIMES = "meta/farhand_times.parquet"


@dataclass(frozen=True)
class Linked:
    """What was found."""

    times: Array  # of every frame in the session, shape (n,), [s]
    episodes: list[tuple[float, float]]  # first and last of each, [s]
    state_error: float  # largest difference of a number of the state, relative to its range
    action_error: float  # of the action


def link_dataset(folder: Path, recording: Recording, station: str = "follower") -> Linked:
    """Find when each frame of a dataset was, compare it, and write the times beside the dataset.

    Args:
        folder: the dataset's root.
        recording: of the session, with ``farhand serve --record``.
        station: the follower.

    Raises:
        FileError: the folder is no dataset.
        Mismatch: a frame is not in the recording.
    """
    import pyarrow as arrow
    from pyarrow import parquet

    try:
        info = json.loads((folder / "meta/info.json").read_text(encoding="utf-8"))
        files = sorted((folder / "data").rglob("*.parquet"))
        columns = [STATE, ACTION, "episode_index"]
        table = arrow.concat_tables([parquet.read_table(file, columns=columns) for file in files])
    except (OSError, ValueError, KeyError, arrow.ArrowException) as error:
        raise FileError(f"{folder} is no LeRobot dataset: {error}") from None
    state, action = (np.array(table[name].to_pylist(), np.float32) for name in (STATE, ACTION))
    names = info["features"][STATE]["names"]
    stream = recording.streams.get(station)
    if stream is None:
        raise Mismatch(f"{recording.path} has no {station}")
    every = Frames(stream.times_ns - 1, stream.times_ns, [len(stream.times_ns)])
    policy = policy_features(recording, every, station, forces=True)
    if policy is None or policy.action_names != info["features"][ACTION]["names"]:
        raise Mismatch(f"{folder} has other joints, or another coupling, than {recording.path}")
    found = for_policy(recording, every, policy, station)
    shared = [name for name in names if name in found[STATE].names]
    own, recorded = (
        values[:, [of.index(name) for name in shared]]
        for values, of in ((state, names), (found[STATE].values, found[STATE].names))
    )
    # a recording keeps rotations as quaternions, so they are equal only nearly
    exact = [k for k, name in enumerate(shared) if name not in POSE[3:]]
    rows = _find(own[:, exact], recorded[:, exact], folder, recording)
    at = stream.times_ns[rows]
    episodes = np.array(table["episode_index"])
    spans = [
        (float(at[episodes == k][0] * 1e-9), float(at[episodes == k][-1] * 1e-9))
        for k in range(int(info["total_episodes"]))
    ]
    parquet.write_table(
        arrow.table({"index": np.arange(len(at)), "session_time_ns": at}), folder / TIMES
    )
    about = {
        "sources": [recording.path.name],
        "episodes": [
            {"source": recording.path.name, "start": start, "end": end} for start, end in spans
        ],
        "times": TIMES,
    }
    (folder / "meta/farhand.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    return Linked(
        at * 1e-9,
        spans,
        _difference(own, recorded[rows]),
        _difference(action, found[ACTION].values[rows]),
    )


def _find(frames: Array, records: Array, folder: Path, recording: Recording) -> Array:
    """The record of each frame: the first equal one that is no older than that of the frame before.

    Two frames have the same one if the session was late.
    """
    where: dict[bytes, list[int]] = {}
    for row, record in enumerate(records):
        where.setdefault(record.tobytes(), []).append(row)
    rows, last = [], 0
    for number, frame in enumerate(frames):
        later = [row for row in where.get(frame.tobytes(), ()) if row >= last]
        if not later:
            raise Mismatch(f"frame {number} of {folder} is not in {recording.path.name}")
        last = later[0]
        rows.append(last)
    return np.array(rows)


def _difference(values: Array, wanted: Array) -> float:
    """The largest difference, relative to the range of its column."""
    span = np.maximum(np.ptp(wanted, axis=0), 1e-3)
    return float((np.abs(values - wanted) / span).max())

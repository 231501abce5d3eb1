"""Recordings of one joint: what a user's own CSV file says, checked, and what its columns look like."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from farhand.errors import BadValue
from farhand.files import read_csv, write_text

Array = np.ndarray

COLUMNS = ("t", "position", "velocity", "torque")
"""Columns that a file must have, in any order, [s], [rad], [rad/s], [N·m]; others are ignored."""

FEWEST = 100
"""Samples below which nothing is fitted."""

SHORTEST = 1.0
"""Length below which nothing is fitted, [s]."""


@dataclass(frozen=True)
class JointLog:
    """Samples of one joint.

    Attributes:
        time: n seconds, increasing.
        position: n [rad].
        velocity: n [rad/s], as the drive reports it.
        torque: n [N·m], what drives the joint; positive torque speeds it up in the positive
            direction.
        name: where it comes from.
        repeated: samples left out because their time was that of the one before.
    """

    time: Array
    position: Array
    velocity: Array
    torque: Array
    name: str = "recording"
    repeated: int = 0

    def __len__(self) -> int:
        return len(self.time)

    @property
    def duration(self) -> float:
        """From the first to the last sample, [s]."""
        return float(self.time[-1] - self.time[0])

    @property
    def step(self) -> float:
        """Median time from sample to sample, [s]."""
        return float(np.median(np.diff(self.time)))


def read_recording(path: str | Path) -> JointLog:
    """Read a CSV file with a header, SI units, and the columns :data:`COLUMNS` in any order.

    Raises:
        FileError: the file cannot be read.
        BadValue: what is in it cannot be used; the message names the line.
    """
    table = read_csv(Path(path), COLUMNS, "samples")
    numbers = table.numbers(*COLUMNS)
    time = numbers[:, 0]
    back = np.flatnonzero(np.diff(time) < 0.0)
    if len(back):
        before, after, line = time[back[0]], time[back[0] + 1], table.lines[back[0] + 1]
        raise BadValue(
            f"{table.name} line {line}: t goes back from {before:g} to {after:g} s; sort it by time"
        )
    fresh = np.diff(time, prepend=-np.inf) > 0.0
    repeated = int(np.count_nonzero(~fresh))
    if 2 * repeated > len(time):
        raise BadValue(
            f"{table.name}: {repeated} of {len(time)} samples repeat the time before; t needs more digits"
        )
    return recording(numbers[fresh], table.name, repeated)


def recording(table: Array, name: str = "recording", repeated: int = 0) -> JointLog:
    """Samples as rows of t, position, velocity, torque.

    Raises:
        BadValue: too few samples, or the joint never moves.
    """
    if len(table) < FEWEST:
        raise BadValue(f"{name} has {len(table)} samples; a fit needs at least {FEWEST}")
    span = float(np.ptp(table[:, 0]))
    if span < SHORTEST:
        raise BadValue(
            f"{name} lasts {span:.3g} s; a fit needs at least {SHORTEST:g} s (t is in seconds)"
        )
    time, position, velocity, torque = np.ascontiguousarray(table.T, dtype=float)
    found = JointLog(time, position, velocity, torque, name, repeated)
    if np.ptp(found.position) == 0.0 and np.ptp(found.velocity) == 0.0:
        raise BadValue(
            f"{name}: the joint is at rest all the time (position and velocity never change)"
        )
    if np.ptp(found.torque) == 0.0:
        raise BadValue(
            f"{name}: the torque is {found.torque[0]:g} N·m all the time; friction cannot show in it"
        )
    return found


def write_columns(path: str | Path, columns: Mapping[str, Sequence[object] | Array]) -> None:
    """Write a CSV file, whole or not at all.

    Args:
        path: of the file.
        columns: by name; numbers are written with nine digits.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    lists = [_words(column) for column in columns.values()]
    writer.writerows(zip(*lists, strict=True))
    write_text(Path(path), text.getvalue())


def write_recording(path: str | Path, found: JointLog) -> None:
    """Write a recording in the format that :func:`read_recording` reads."""
    write_columns(
        path,
        {
            "t": found.time,
            "position": found.position,
            "velocity": found.velocity,
            "torque": found.torque,
        },
    )


def _words(column: Sequence[object] | Array) -> Sequence[object]:
    if isinstance(column, np.ndarray) and column.dtype.kind == "f":
        return [f"{value:.9g}" for value in column.tolist()]
    return list(column)

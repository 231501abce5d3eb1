"""Recordings of one joint: read from your own CSV file and checked, or written as one."""

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

MIN_SAMPLES = 100
MIN_DURATION_S = 1.0


@dataclass(frozen=True)
class JointLog:
    """Samples of one joint."""

    time: Array  #: n [s], increasing
    position: Array  #: n [rad]
    velocity: Array  #: n [rad/s], as the drive reports it
    torque: Array  #: n [N·m], drives the joint; positive accelerates towards positive positions
    name: str = "recording"  #: where it comes from
    repeated: int = 0  #: samples dropped because their time was that of the sample before

    def __len__(self) -> int:
        return len(self.time)

    @property
    def step(self) -> float:
        """Median time from sample to sample, [s]."""
        return float(np.median(np.diff(self.time)))


def read_recording(path: str | Path) -> JointLog:
    """Read a CSV file with a header, SI units, and the columns :data:`COLUMNS` in any order.

    Raises:
        FileError: the file cannot be read.
        BadValue: its content cannot be used; the message names the line.
    """
    table = read_csv(Path(path), COLUMNS, "samples")
    numbers = table.numbers(*COLUMNS)
    _, is_new = table.new_times()
    return make_log(numbers[is_new], table.name, int(np.count_nonzero(~is_new)))


def make_log(table: Array, name: str = "recording", repeated: int = 0) -> JointLog:
    """Make a recording of rows of t, position, velocity, torque.

    Raises:
        BadValue: too few samples, or the joint never moves.
    """
    if len(table) < MIN_SAMPLES:
        raise BadValue(f"{name} has {len(table)} samples; a fit needs at least {MIN_SAMPLES}")
    duration = float(np.ptp(table[:, 0]))
    if duration < MIN_DURATION_S:
        least = f"a fit needs at least {MIN_DURATION_S:g} s (t is in seconds)"
        raise BadValue(f"{name} lasts {duration:.3g} s; {least}")
    time, position, velocity, torque = np.ascontiguousarray(table.T, dtype=float)
    if np.ptp(position) == 0.0 and np.ptp(velocity) == 0.0:
        raise BadValue(f"{name}: the joint is always at rest (position and velocity do not change)")
    if np.ptp(torque) == 0.0:
        raise BadValue(f"{name}: the torque is {torque[0]:g} N·m throughout; it shows no friction")
    return JointLog(time, position, velocity, torque, name, repeated)


def write_columns(path: str | Path, columns: Mapping[str, Sequence[object] | Array]) -> None:
    """Write columns by name to a CSV file, whole or not at all; floats get nine digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*map(_formatted, columns.values()), strict=True))
    write_text(Path(path), text.getvalue())


def write_recording(path: str | Path, log: JointLog) -> None:
    """Write a recording in the format that :func:`read_recording` reads."""
    values = (log.time, log.position, log.velocity, log.torque)
    write_columns(path, dict(zip(COLUMNS, values, strict=True)))


def _formatted(column: Sequence[object] | Array) -> Sequence[object]:
    if isinstance(column, np.ndarray) and column.dtype.kind == "f":
        return [f"{value:.9g}" for value in column.tolist()]
    return list(column)

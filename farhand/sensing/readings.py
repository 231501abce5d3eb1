"""Readings: what a force/torque sensor said, with time and orientation, from a user's own CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from farhand.errors import BadValue, FileError
from farhand.files import write_text
from farhand.sensing.profile import AXES

Array = np.ndarray

QUATERNION = ("qx", "qy", "qz", "qw")
COLUMNS = ("t", *QUATERNION, *AXES)
"""Columns that a file must have, in any order; ``temp`` [°C] may be among them, and others are carried along."""

DEVIATIONS = tuple(f"s{axis}" for axis in AXES)
"""Columns that a compensated file has in addition: standard deviations of the six axes."""

QUATERNION_TOLERANCE = 0.01
"""How far the length of a quaternion may be from 1: files are often rounded to a few digits."""


@dataclass(frozen=True)
class Readings:
    """Samples of a sensor; the wrench is what tool and contact exert on the sensor, in sensor axes.

    Attributes:
        time: n seconds, never decreasing.
        quaternion: n × 4, (x, y, z, w), of unit length: rotates sensor axes into the base frame, whose z is up.
        wrench: n × 6, [N] and [N·m].
        temperature: n [°C], or None.
        header: names of the file's columns, in its order.
        others: columns that mean nothing here, as text, by name.
    """

    time: Array
    quaternion: Array
    wrench: Array
    temperature: Array | None = None
    header: tuple[str, ...] = COLUMNS
    others: dict[str, list[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.time)

    def where(self, mask: Array) -> Readings:
        """Only these readings, without the other columns."""
        temperature = None if self.temperature is None else self.temperature[mask]
        return Readings(self.time[mask], self.quaternion[mask], self.wrench[mask], temperature)

    @property
    def up(self) -> Array:
        """N × 3: the base's z axis in sensor axes, the third row of the rotation."""
        x, y, z, w = self.quaternion.T
        return np.stack([2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)], axis=1)

    @property
    def rotations(self) -> Array:
        """N × 3 × 3: sensor axes in the base frame."""
        return Rotation.from_quat(self.quaternion).as_matrix()


def read_readings(path: str | Path) -> Readings:
    """Read a CSV file with a header, SI units, and the columns :data:`COLUMNS` in any order.

    Raises:
        FileError: the file cannot be read.
        BadValue: what is in it cannot be used; the message names the line.
    """
    path = Path(path)
    header, rows = _rows(path)
    at = {name: header.index(name) for name in header}
    wanted = [*COLUMNS, *(["temp"] if "temp" in at else [])]
    numbers = np.stack([_numbers(path, name, [row[at[name]] for row in rows]) for name in wanted], axis=1)
    time, quaternion, wrench = numbers[:, 0], numbers[:, 1:5], numbers[:, 5:11]
    back = np.flatnonzero(np.diff(time) < 0.0)
    if len(back):
        before, after = time[back[0]], time[back[0] + 1]
        raise BadValue(f"{path.name} line {back[0] + 3}: t goes back from {before:g} to {after:g} s; sort it by time")
    length = np.linalg.norm(quaternion, axis=1)
    wrong = np.flatnonzero(np.abs(length - 1.0) > QUATERNION_TOLERANCE)
    if len(wrong):
        raise BadValue(
            f"{path.name} line {wrong[0] + 2}: the quaternion qx,qy,qz,qw has length {length[wrong[0]]:.4g}, not 1 "
            f"(tolerance {QUATERNION_TOLERANCE:g}; {len(wrong)} of {len(time)} lines)"
        )
    others = {name: [row[at[name]] for row in rows] for name in header if name not in wanted}
    temperature = numbers[:, 11] if "temp" in at else None
    return Readings(time, quaternion / length[:, None], wrench, temperature, tuple(header), others)


def write_readings(path: str | Path, readings: Readings, deviations: Array | None = None) -> None:
    """Write a CSV file, whole or not at all, with the columns in the order of ``readings.header``.

    Args:
        path: of the file.
        readings: what to write.
        deviations: n × 6 standard deviations, as columns :data:`DEVIATIONS` after the others.
    """
    columns: dict[str, Sequence[object]] = {"t": readings.time.tolist(), **readings.others}
    columns |= dict(zip(QUATERNION, readings.quaternion.T.tolist(), strict=True))
    columns |= dict(zip(AXES, readings.wrench.T.tolist(), strict=True))
    if readings.temperature is not None:
        columns["temp"] = readings.temperature.tolist()
    header = list(readings.header)
    if deviations is not None:
        columns |= dict(zip(DEVIATIONS, np.asarray(deviations).T.tolist(), strict=True))
        header = [name for name in header if name not in DEVIATIONS] + list(DEVIATIONS)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(zip(*(columns[name] for name in header), strict=True))
    write_text(Path(path), text.getvalue())


def _rows(path: Path) -> tuple[list[str], list[list[str]]]:
    """Header and rows, all as long as the header."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadValue(f"{path.name} is not a text file") from None
    try:
        table = list(csv.reader(io.StringIO(text)))
    except csv.Error as error:
        raise BadValue(f"{path.name} is not a CSV file: {error}") from None
    if not text.strip():
        raise BadValue(f"{path.name} is empty (need the columns {','.join(COLUMNS)})")
    header, rows = [name.strip() for name in table[0]], table[1:]
    while rows and not any(rows[-1]):
        rows.pop()
    missing = [name for name in COLUMNS if name not in header]
    if missing:
        words = "the columns" if len(missing) > 1 else "the column"
        raise BadValue(f"{path.name} lacks {words} {','.join(missing)} (header: {','.join(header)[:120]})")
    if len(set(header)) < len(header):
        raise BadValue(f"{path.name} names a column twice: {','.join(header)[:120]}")
    if not rows:
        raise BadValue(f"{path.name} has a header and no readings")
    for line, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise BadValue(f"{path.name} line {line} has {len(row)} values, not {len(header)}")
    return header, rows


def _numbers(path: Path, name: str, words: list[str]) -> Array:
    """One column; the message names the first line that is no finite number."""
    try:
        values = np.array(words, dtype=float)
    except ValueError:
        values = np.array([_number(word) for word in words])
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        more = f" ({len(wrong)} lines in all)" if len(wrong) > 1 else ""
        raise BadValue(f"{path.name} line {wrong[0] + 2}: {name} is not a number: {words[wrong[0]]!r}{more}")
    return values


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return np.nan

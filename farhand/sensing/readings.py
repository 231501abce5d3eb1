"""Readings of a force/torque sensor with time and orientation, from your own CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from farhand.errors import BadValue
from farhand.files import read_csv, write_text
from farhand.sensing.profile import AXES

Array = np.ndarray

QUATERNION = ("qx", "qy", "qz", "qw")
COLUMNS = ("t", *QUATERNION, *AXES)
"""Columns that a file must have, in any order; ``temp`` [°C] is optional, others are kept."""

DEVIATIONS = tuple(f"s{axis}" for axis in AXES)
"""Columns that a compensated file has in addition: standard deviations of the six axes."""

QUATERNION_TOLERANCE = 0.01
"""How far the length of a quaternion may be from 1: files are often rounded to a few digits."""


@dataclass(frozen=True)
class Readings:
    """Samples of a sensor; the wrench is what tool and contact exert on it, in sensor axes."""

    time: Array  #: n seconds, never decreasing
    quaternion: Array  #: n × 4, (x, y, z, w), length 1: from sensor axes to the base, z up
    wrench: Array  #: n × 6, [N] and [N·m]
    temperature: Array | None = None  #: n [°C], or None
    header: tuple[str, ...] = COLUMNS  #: names of the file's columns, in its order
    others: dict[str, list[str]] = field(default_factory=dict)  #: further columns, as text

    def __post_init__(self) -> None:
        """Make arrays of the columns and check them.

        Raises:
            BadValue: something is not a number, of another length than the rest, or no quaternion.
        """
        n = len(self.time)
        shapes = {"time": (n,), "quaternion": (n, 4), "wrench": (n, 6), "temperature": (n,)}
        for name, shape in shapes.items():
            column = getattr(self, name)
            if name == "temperature" and column is None:
                continue
            try:
                values = np.asarray(column, dtype=float)
            except (TypeError, ValueError):
                raise BadValue(f"{name} of readings has a value that is not a number") from None
            if values.shape != shape:
                raise BadValue(
                    f"{name} of {n} readings must have the shape {shape}, not {values.shape}"
                )
            if not np.isfinite(values).all():
                first = int(np.flatnonzero(~np.isfinite(values.reshape(n, -1)).all(axis=1))[0])
                raise BadValue(f"{name} of reading {first + 1} is not a finite number")
            object.__setattr__(self, name, values)
        length = np.linalg.norm(self.quaternion, axis=1)
        wrong = np.flatnonzero(np.abs(length - 1.0) > QUATERNION_TOLERANCE)
        if len(wrong):
            raise BadValue(
                f"the quaternion of reading {wrong[0] + 1} has length {length[wrong[0]]:.4g}, not 1"
            )

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
        return base_axis(x, y, z, w, 2)

    @property
    def rotations(self) -> Array:
        """N × 3 × 3: sensor axes in the base frame."""
        return Rotation.from_quat(self.quaternion).as_matrix()


def base_axis(x: Array, y: Array, z: Array, w: Array, axis: int) -> Array:
    """A base axis in sensor axes, n × 3: one row of the rotation of a quaternion."""
    rows = (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)),
        (2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)),
        (2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)),
    )
    return np.stack(rows[axis], axis=1)


def read_readings(path: str | Path) -> Readings:
    """Read a CSV file with a header, SI units, and the columns :data:`COLUMNS` in any order.

    Raises:
        FileError: the file cannot be read.
        BadValue: its content cannot be used; the message names the line.
    """
    table = read_csv(Path(path), COLUMNS, "readings")
    names = [*COLUMNS, *(["temp"] if "temp" in table.header else [])]
    numbers = table.numbers(*names)
    time, quaternion, wrench = table.times(), numbers[:, 1:5], numbers[:, 5:11]
    length = np.linalg.norm(quaternion, axis=1)
    wrong = np.flatnonzero(np.abs(length - 1.0) > QUATERNION_TOLERANCE)
    if len(wrong):
        raise BadValue(
            f"{table.name} line {table.lines[wrong[0]]}: the quaternion qx,qy,qz,qw has length "
            f"{length[wrong[0]]:.4g}, not 1 (tolerance {QUATERNION_TOLERANCE:g}; "
            f"{len(wrong)} of {len(time)} lines)"
        )
    others = {name: table.column(name) for name in table.header if name not in names}
    temperature = numbers[:, 11] if "temp" in names else None
    unit = quaternion / length[:, None]
    return Readings(time, unit, wrench, temperature, tuple(table.header), others)


def write_readings(path: str | Path, readings: Readings, deviations: Array | None = None) -> None:
    """Write a CSV file, whole or not at all, with the columns in the order of ``readings.header``.

    Standard deviations, n × 6, follow as columns :data:`DEVIATIONS`.
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

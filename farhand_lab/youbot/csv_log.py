"""CSV log: signals of a test in a plain table that any tool reads, and that reads back to the same bits."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import numpy as np

from farhand.errors import BadValue
from farhand.files import read_csv, write_text

Array = np.ndarray

WHEELS = tuple(
    ["time"]
    + [
        f"{what}_{wheel}"
        for what in ("torque_commanded", "torque", "position")
        for wheel in (1, 2, 3, 4)
    ]
)
"""Columns of the published wheel log: [s], then per wheel commanded and real torque [N·m] and
position [rad]."""


class CsvLog:
    """A table that grows row by row in memory and is written whole or not at all.

    Args:
        columns: their names, the first usually ``time``.

    Raises:
        BadValue: no columns, or one name twice.
    """

    def __init__(self, columns: tuple[str, ...] = WHEELS) -> None:
        if not columns or len(set(columns)) != len(columns):
            raise BadValue(f"a log needs columns with names of their own, not {list(columns)}")
        self.columns = tuple(columns)
        self._rows, self._count = np.zeros((1024, len(columns))), 0

    def add(self, *values: float | Array) -> None:
        """Append one row; numbers and vectors are put side by side.

        Raises:
            BadValue: too many numbers or too few.
        """
        row = np.concatenate([np.atleast_1d(value) for value in values])
        if row.shape != (len(self.columns),):
            raise BadValue(
                f"a row has {len(self.columns)} numbers ({', '.join(self.columns)}), not {row.size}"
            )
        if self._count == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        self._rows[self._count] = row
        self._count += 1

    @property
    def rows(self) -> Array:
        """What was added so far, one row each."""
        return self._rows[: self._count]

    def column(self, name: str) -> Array:
        """One column."""
        return self.rows[:, self.columns.index(name)]

    def save(self, path: Path) -> None:
        """Write the table; digits are the shortest that read back to the same number.

        Raises:
            FileError: the file cannot be written; one that was there stays as it was.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(map(repr, row) for row in self.rows.tolist())
        write_text(path, text.getvalue())


def load_csv(path: Path, needed: tuple[str, ...] = ()) -> dict[str, Array]:
    """Read a table of numbers with a header, as columns by name.

    Args:
        path: the file.
        needed: columns that must be there; others are kept too, in any order.

    Raises:
        FileError: the file cannot be read.
        BadValue: no rows, a column that is missing or twice there, a row too short or too long, or
            a word or infinity where a number belongs.
    """
    table = read_csv(path, needed)
    values = table.numbers(*table.header, largest=math.inf)
    return {name: values[:, column] for column, name in enumerate(table.header)}

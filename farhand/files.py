"""Files: text written whole or not at all; tables read with every mistake named.

A name that is a link stands for what it leads to. A device or a pipe is written through; it is
never replaced.
"""

from __future__ import annotations

import csv
import errno
import io
import os
import stat
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from farhand.errors import BadValue, FileError

if TYPE_CHECKING:
    import numpy as np

LARGEST = 1e12
"""No number of a table that means anything is larger, whatever its unit; squares of such still are
numbers."""

MAX_MB = 256
"""Longest table that is read: a million rows of twenty numbers, which take gigabytes of memory."""

_OWN = {"/dev/stdout": 1, "/dev/stderr": 2}
_OWN_FOLDERS = ("/dev/fd", "/proc/self/fd")


def is_stream(path: Path) -> bool:
    """Whether a name is a device, a pipe or an open file of this process."""
    if _descriptor(path) is not None:
        return True
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def real_file(path: Path) -> Path:
    """The file that a name stands for, links followed, which need not be there yet.

    Raises:
        FileError: it stands for something that a file must not replace: a device, a pipe, a socket.
    """
    real = Path(os.path.realpath(path))
    if is_stream(path) or (real.exists() and not real.is_file() and not real.is_dir()):
        raise FileError(f"cannot write {path}: it is not a file but a pipe or a device")
    return real


def write_text(path: Path, text: str) -> None:
    """Write a text file under a temporary name and rename it; write to a device or pipe directly.

    Raises:
        FileError: the folder cannot be made or written; a file that was there stays as it was.
    """
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """The same as :func:`write_text` for any content."""
    if is_stream(path):
        _write_through(path, content)
        return
    real = real_file(path)
    temporary = real.with_name(f".{real.name}.{os.getpid()}")
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(content)
        temporary.replace(real)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise FileError(f"cannot write {path}: {error.strerror or error}") from error


def _descriptor(path: Path) -> int | None:
    """The file descriptor behind a name such as ``/dev/stdout`` or ``/dev/fd/3``."""
    name = os.path.abspath(path)
    folder, _, number = name.rpartition("/")
    return int(number) if folder in _OWN_FOLDERS and number.isdecimal() else _OWN.get(name)


def _write_through(path: Path, content: bytes) -> None:
    """Write to what exists; refuse a pipe that nobody reads, which would wait for ever."""
    try:
        own = _descriptor(path)
        if own is None:
            to = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            os.set_blocking(to, True)
        else:
            sys.stdout.flush()
            to = os.dup(own)
        with open(to, "wb") as file:
            file.write(content)
    except OSError as error:
        why = "nobody reads from it" if error.errno == errno.ENXIO else error.strerror or error
        raise FileError(f"cannot write {path}: {why}") from error


@dataclass(frozen=True)
class Table:
    """A CSV file: a header, and rows that are all as long; blank lines are left out."""

    name: str  #: of the file, for messages
    header: list[str]  #: names of the columns
    rows: list[list[str]]  #: words of each row
    #: where each row stands in the file, 1 being the header's line or a blank one before it
    lines: list[int]
    private: bool = False  #: whether messages must not repeat what is in it

    def column(self, name: str) -> list[str]:
        """The words of one column."""
        at = self.header.index(name)
        return [row[at] for row in self.rows]

    def numbers(self, *names: str, largest: float = LARGEST) -> np.ndarray:
        """These columns as finite numbers, rows × columns.

        Args:
            names: of the columns.
            largest: amount above which a number is refused.

        Raises:
            BadValue: a word is no number; the message names its line.
        """
        import numpy as np

        return np.stack([self._numbers(name, largest) for name in names], axis=1)

    def times(self) -> np.ndarray:
        """The column t, [s].

        Raises:
            BadValue: a time goes back; the message names its line.
        """
        import numpy as np

        time = self.numbers("t")[:, 0]
        back = np.flatnonzero(np.diff(time) < 0.0)
        if len(back):
            before, after, line = time[back[0]], time[back[0] + 1], self.lines[back[0] + 1]
            raise BadValue(
                f"{self.name} line {line}: t goes back from {before:g} to {after:g} s; "
                "sort it by time"
            )
        return time

    def new_times(self) -> tuple[np.ndarray, np.ndarray]:
        """:meth:`times`, and which of them do not repeat the one before.

        Raises:
            BadValue: most of them do.
        """
        import numpy as np

        time = self.times()
        is_new = np.diff(time, prepend=-np.inf) > 0.0
        repeated = int(np.count_nonzero(~is_new))
        if 2 * repeated > len(time):
            raise BadValue(
                f"{self.name}: {repeated} of {len(time)} samples repeat the time of the sample "
                "before; write t with more digits"
            )
        return time, is_new

    def _numbers(self, name: str, largest: float) -> np.ndarray:
        import numpy as np

        words = self.column(name)
        values = np.array([_number(word) for word in words])
        wrong = np.flatnonzero(~(np.isfinite(values) & (np.abs(values) <= largest)))
        if len(wrong):
            first, more = wrong[0], f" ({len(wrong)} lines in all)" if len(wrong) > 1 else ""
            why = f"is beyond {largest:g}" if np.isfinite(values[first]) else "is not a number"
            shown = "" if self.private else f": {words[first][:40]!r}"
            raise BadValue(f"{self.name} line {self.lines[first]}: {name} {why}{shown}{more}")
        return values


def read_csv(
    path: Path, columns: Sequence[str], rows: str = "rows", *, private: bool = False
) -> Table:
    """Read a CSV file with at least these columns, in any order; lines with # are comments.

    Args:
        path: of the file.
        columns: that it must have.
        rows: what its rows are, for messages.
        private: whether messages must not repeat what is in the file.

    Raises:
        FileError: the file cannot be read.
        BadValue: it is no such table; the message names the line.
    """
    filled = [(line, row) for line, row in _lines(path) if any(word.strip() for word in row)]
    table = [(line, row) for line, row in filled if row[0][:1] != "#"]
    if not table:
        raise BadValue(f"{path.name} is empty (need the columns {','.join(columns)})")
    header = [name.strip() for name in table[0][1]]
    shown = ",".join(header)[:120]
    missing = [name for name in columns if name not in header]
    if missing:
        words = "the columns" if len(missing) > 1 else "the column"
        marks = [what for mark, what in _MARKS if len(header) == 1 and shown.count(mark) > 1]
        other = f"; it is separated by {marks[0]}, not commas" if marks else ""
        # as NumPy writes it
        if filled != table and {*columns} <= {word.strip("# ") for word in filled[0][1]}:
            other = "; begin the line of the header without #"
        about = other if private else f" (header: {shown}{other})"
        raise BadValue(f"{path.name} lacks {words} {','.join(missing)}{about}")
    if len(set(header)) < len(header):
        about = "" if private else f": {shown}"
        raise BadValue(f"{path.name} names a column twice{about}")
    if len(table) == 1:
        raise BadValue(f"{path.name} has a header and no {rows}")
    for line, row in table[1:]:
        if len(row) != len(header):
            commas = len(row) in (2 * len(header), 2 * len(header) - 1)
            why = "; are these decimal commas? write points" if commas else ""
            raise BadValue(f"{path.name} line {line} has {len(row)} values, not {len(header)}{why}")
    lines, found = zip(*table[1:], strict=True)
    return Table(path.name, header, list(found), list(lines), private)


_MARKS = ((";", "semicolons"), ("\t", "tabs"), (" ", "spaces"))


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    """The file's rows with the line each begins at."""
    try:
        # a device may never end
        with path.open(encoding="utf-8-sig") as file:
            text = file.read((MAX_MB << 20) + 1)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise BadValue(f"{path.name} is not a text file, or not in UTF-8")
    if len(text) > MAX_MB << 20:
        raise BadValue(f"{path.name} is longer than {MAX_MB} MB; keep fewer rows per second")
    reader = csv.reader(io.StringIO(text), skipinitialspace=True)
    found, line = [], 1
    try:
        for row in reader:
            found.append((line, row))
            line = reader.line_num + 1
    except csv.Error as error:
        raise BadValue(f"{path.name} is not a CSV file: {error}") from None
    return found


def _number(word: str) -> float:
    """What a file means by a word; Python's own grouping of digits is none of it."""
    try:
        return float(word) if "_" not in word else float("nan")
    except ValueError:
        return float("nan")

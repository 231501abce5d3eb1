"""What commands print and write: results, checked files, tables, progress on stderr."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farhand.errors import BadValue, FileError, OutOfRange

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table
    from rich.text import Text

DASH = Path("-")
"""In place of a JSON file: standard output, which then holds nothing else."""

_tables_on_stderr = False


MIN_SHOWN_S = 2.0
"""Shorter work shows no progress bar, [s]."""

FILE_WIDTH = 120
"""Characters per line where output goes to a file or a pipe."""

PICTURE_SUFFIXES = (".png", ".svg", ".pdf")


def claim_stdout(json: Path | None) -> Path | None:
    """Send tables to stderr if the JSON goes to standard output; the path with ``-`` for that."""
    global _tables_on_stderr
    json = DASH if json == Path("/dev/stdout") else json
    _tables_on_stderr = json == DASH
    return json


def stdout() -> Console:
    """Where results go: standard output, unless JSON has it for itself."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=False, stderr=_tables_on_stderr)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = FILE_WIDTH
    return console


def within(what: str, value: float, low: float, high: float, unit: str = "") -> float:
    """The value, if it is within the range; for options that are not parameters of a part."""
    if not low <= value <= high:
        raise OutOfRange(what, f"{value:g}", low, high, unit)
    return value


def check_core(core: int | None) -> None:
    """Refuse a core that this process may not use; where the system does not say, allow any."""
    if core is None or not hasattr(os, "sched_getaffinity"):
        return
    usable = sorted(os.sched_getaffinity(0))
    if core not in usable:
        choices = ", ".join(map(str, usable))
        raise BadValue(f"--core {core} is not available; choose one of {choices}")


def check_picture(flag: str, path: Path | None) -> None:
    """Refuse a picture of an unknown kind; its suffix says which."""
    if path is not None and path.suffix.lower() not in PICTURE_SUFFIXES:
        raise BadValue(f"{flag} {path} must end in one of {', '.join(PICTURE_SUFFIXES)}")


def check_file(path: Path | None) -> None:
    """Refuse, before the work, a file that could not be written after it; changes nothing."""
    from farhand.files import is_stream, real_file

    if path is None or path == DASH:
        return
    if path.is_dir():
        raise FileError(f"cannot write {path}: it is a folder")
    if not is_stream(path):
        _check_below(path, real_file(path).parent)
    elif not os.access(path, os.W_OK):
        raise FileError(f"cannot write {path}: permission denied")


def check_files(
    *written: Path | None, read: Iterable[Path] = (), report: Path | None = None
) -> None:
    """:func:`check_file` for each; refuse one that is also read or written twice.

    Args:
        written: files of results.
        read: files that the command reads.
        report: the folder of a page; see :func:`check_folder`.
    """
    from farhand.files import is_stream

    check_folder(report)
    pages = [] if report is None else [report, report / "index.html"]
    taken = {os.path.realpath(path) for path in (*read, *pages)}
    for path in written:
        check_file(path)
        if path is None or path == DASH or is_stream(path):
            continue
        real = os.path.realpath(path)
        if real in taken:
            also = "the same command also reads it or writes something else there"
            raise FileError(f"cannot write {path}: {also}")
        taken.add(real)


def check_folder(folder: Path | None) -> None:
    """Refuse, before the work, a folder that could not be written after it; changes nothing."""
    if folder is not None:
        _check_below(folder, folder)


def _check_below(path: Path, folder: Path) -> None:
    # Try to write: permission bits say too little about root and read-only file systems
    existing = next(parent for parent in (folder, *folder.parents, Path.cwd()) if parent.exists())
    if not existing.is_dir():
        raise FileError(f"cannot write {path}: {existing} is not a folder")
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from None


def write_json(path: Path | None, content: object) -> None:
    """Write a whole JSON file, or to standard output for ``-``; equal content, equal bytes."""
    if path is None:
        return
    from farhand.files import write_text

    text = json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    if path == DASH:
        sys.stdout.write(text)
    else:
        write_text(path, text)


def plain_value(value: Any) -> Any:
    """A NumPy value as plain Python, for JSON."""
    return value.tolist() if hasattr(value, "tolist") else value


def two_columns(rows: Iterable[tuple[str, str]]) -> Table:
    """Names and what they stand for, which wraps between words."""
    from rich.table import Table
    from rich.text import Text

    table, rows = Table.grid(padding=(0, 2)), list(rows)
    table.add_column(no_wrap=True)
    table.add_column()
    width = stdout().width - max((len(name) for name, _ in rows), default=0) - 4
    for name, value in rows:
        lines = _wrapped(value, max(width, 20))
        table.add_row(Text(f"  {name}", style="cyan"), Text("\n".join(lines)))
    return table


def show_values(title: str, rows: Iterable[tuple[str, str]], beside: str = "") -> None:
    """Print a title, with something beside it, and named values below it in two columns."""
    from rich.text import Text

    heading = Text(title, "bold")
    say(heading.append(f"   {beside}", "not bold dim") if beside else heading)
    stdout().print(two_columns(rows))


def show_table(table: Table) -> None:
    """Print a table; where its words do not fit side by side, a sentence for each row.

    A second line of a heading is the column's unit.
    """
    from rich.text import Text

    def plain(cell: Any) -> str:
        return cell.plain if isinstance(cell, Text) else Text.from_markup(str(cell)).plain

    console = stdout()
    room = console.measure(table, options=console.options.update(max_width=10_000))
    wrapping = not all(column.no_wrap for column in table.columns)
    if (room.minimum if wrapping else room.maximum) <= console.width:
        console.print(table)
        return
    headings = [plain(column.header).partition("\n") for column in table.columns[1:]]
    for first, *cells in zip(*(column.cells for column in table.columns), strict=True):
        say(plain(first), style="bold")
        values = zip(headings, map(plain, cells), strict=True)
        parts = [f"{head} {cell} {unit}".rstrip() for (head, _, unit), cell in values if cell]
        say(f"  {', '.join(parts)}")


def say(line: str | Text, style: str = "") -> None:
    """Print a sentence: one line in a file; on a terminal it breaks between words.

    A word that is longer than the terminal is wide, such as a path, stays whole.
    """
    from rich.text import Text

    console = stdout()
    text = Text(line, style) if isinstance(line, str) else line
    plain = text.plain
    if not console.is_terminal:
        console.print(text, soft_wrap=True)
        return
    indent, end = " " * (len(plain) - len(plain.lstrip())), 0
    for words in _wrapped(plain.strip(), console.width - len(indent)):
        start = plain.index(words, end)
        end = start + len(words)
        console.print(Text(indent).append_text(text[start:end]), soft_wrap=True)


def say_error(line: str) -> None:
    """Print a sentence on stderr after the name of the program, in the way of :func:`say`."""
    text = f"farhand: {line}"
    if sys.stderr.isatty():
        text = "\n".join(_wrapped(text, shutil.get_terminal_size().columns))
    print(text, file=sys.stderr)


def _wrapped(text: str, width: int) -> list[str]:
    how: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
    # A number stays with its unit
    joined = re.sub(r"(?<=\d) (?=(?:%|[Nmskg]|J|mm|ms|µs|kg|Hz|rad)(?:\W|$))", "\0", text)
    lines = textwrap.wrap(joined, width, expand_tabs=False, replace_whitespace=False, **how)
    return [line.replace("\0", " ") for line in lines]


def note(line: str) -> None:
    """Print on stderr what the user should know about a result."""
    say_error(f"note: {line}")


class Bar:
    """A progress bar on stderr, for work on a terminal that looks longer than two seconds.

    As a context it appears after two seconds by itself, so that a long first piece is not silent.
    """

    def __init__(self, title: str) -> None:
        from rich.console import Console

        self._title, self._began = title, time.monotonic()
        self._console = Console(stderr=True)
        self._progress: Progress | None = None
        self._share: float | None = None
        self._closed = False
        self._lock = threading.Lock()
        self._timer = threading.Timer(MIN_SHOWN_S, self._begin)
        self._timer.daemon = True

    def update(self, share: float, title: str | None = None) -> None:
        """Show that this share of the work is done, 0 to 1, and what comes next."""
        if not self._console.is_terminal:
            return
        self._share, self._title = share, title or self._title
        spent = time.monotonic() - self._began
        if self._progress is None and spent > 0.2 and spent > MIN_SHOWN_S * share:
            self._begin()
        if self._progress is not None:
            what: dict[str, Any] = {"completed": share, "description": self._title}
            self._progress.update(self._task, total=1.0, **what)

    def __enter__(self) -> Bar:
        if self._console.is_terminal:
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the bar."""
        self._timer.cancel()
        with self._lock:
            self._closed = True
            if self._progress is not None:
                self._progress.stop()

    def _begin(self) -> None:
        from rich.progress import Progress

        with self._lock:
            if self._closed or self._progress is not None:
                return
            progress = Progress(console=self._console, transient=True)
            # Without a share the bar only pulses
            total = None if self._share is None else 1.0
            self._task = progress.add_task(self._title, total=total)
            progress.update(self._task, completed=self._share or 0.0)
            progress.start()
            self._progress = progress


@contextmanager
def counting(title: str) -> Iterator[Callable[[int, int, str], None]]:
    """A bar for work in pieces; call what it gives with (done, total, name of the next)."""
    with Bar(title) as bar:
        yield lambda done, total, name: bar.update(done / max(total, 1), f"{title} {name}")

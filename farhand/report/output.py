"""What commands share: files checked before the work and written whole after it, tables, and progress on stderr."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from farhand.errors import BadValue, FileError, OutOfRange

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

DASH = Path("-")
"""In place of a JSON file: standard output, which then holds nothing else."""

_tables_on_stderr = False


def _heard(path: Path | None) -> Path | None:
    """Make room on standard output where the results are to go there."""
    global _tables_on_stderr
    path = DASH if path == Path("/dev/stdout") else path
    _tables_on_stderr = path == DASH
    return path


JsonPath = Annotated[
    Path | None,
    typer.Option(
        "--json",
        metavar="PATH",
        callback=_heard,
        help="Write the results to this file; - or nothing for stdout.",
    ),
]
ReportFolder = Annotated[
    Path | None,
    typer.Option("--report", metavar="DIR", help="Write a page with plots, DIR/index.html."),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of every random number.")]

SHORTEST = 2.0
"""Work that takes less shows no progress bar, [s]."""

WIDTH = 120
"""Of the lines in a file or a pipe, in characters."""


def stdout() -> Console:
    """Where results go: standard output, unless JSON has it for itself."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=False, stderr=_tables_on_stderr)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDTH
    return console


def within(what: str, value: float, low: float, high: float, unit: str = "") -> float:
    """``value``, if it is a number in the range; used where a flag is no parameter of a part."""
    if not low <= value <= high:
        raise OutOfRange(what, f"{value:g}", low, high, unit)
    return value


def check_core(core: int | None) -> None:
    """Refuse a core that this process may not run on; where the system does not tell, any is tried."""
    if core is None or not hasattr(os, "sched_getaffinity"):
        return
    usable = sorted(os.sched_getaffinity(0))
    if core not in usable:
        raise BadValue(
            f"--core {core} is not to be had; choose one of {', '.join(map(str, usable))}"
        )


def check_file(path: Path | None) -> None:
    """Refuse, before the work, a file that could not be written after it; changes nothing.

    A device or a pipe is written through, as :mod:`farhand.files` does; of a link, what it leads to
    is looked at.
    """
    from farhand.files import is_stream, real_file

    if path is None or path == DASH:
        return
    if path.is_dir():
        raise FileError(f"cannot write {path}: it is a folder")
    if not is_stream(path):
        _check_below(path, real_file(path).parent)
    elif not os.access(path, os.W_OK):
        raise FileError(f"cannot write {path}: permission denied")


def check_files(*written: Path | None, read: Iterable[Path]) -> None:
    """:func:`check_file` for each, and refuse one that is also read, or written twice; devices may be."""
    from farhand.files import is_stream

    taken = {os.path.realpath(path) for path in read}
    for path in written:
        check_file(path)
        if path is None or path == DASH or is_stream(path):
            continue
        real = os.path.realpath(path)
        if real in taken:
            raise FileError(
                f"cannot write {path}: the same command also reads it or writes something else there"
            )
        taken.add(real)


def check_folder(folder: Path | None) -> None:
    """Refuse, before the work, a folder that could not be made or written after it; changes nothing."""
    if folder is not None:
        _check_below(folder, folder)


def _check_below(path: Path, folder: Path) -> None:
    """Try the nearest folder that exists; permission bits alone say too little (root, read-only file systems)."""
    existing = next(parent for parent in (folder, *folder.parents, Path.cwd()) if parent.exists())
    if not existing.is_dir():
        raise FileError(f"cannot write {path}: {existing} is not a folder")
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from None


def write_json(path: Path | None, content: object) -> None:
    """Write a whole JSON file, or to standard output for ``-``, or nothing: the same content gives the same bytes."""
    if path is None:
        return
    from farhand.files import write_text

    text = json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    if path == DASH:
        sys.stdout.write(text)
    else:
        write_text(path, text)


def show_values(title: str, rows: Iterable[tuple[str, str]]) -> None:
    """Print a title and named values below it, two columns."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    for name, value in rows:
        table.add_row(Text(f"  {name}", style="cyan"), Text(value))
    console = stdout()
    console.print(Text(title, style="bold"))
    console.print(table)


def note(line: str) -> None:
    """What a user should know about a result that is there all the same, on stderr."""
    print(f"farhand: note: {line}", file=sys.stderr)


class Bar:
    """A progress bar on stderr that shows only on a terminal, and only when the work looks longer than two seconds."""

    def __init__(self, title: str) -> None:
        from rich.console import Console

        self._title, self._began = title, time.monotonic()
        self._console = Console(stderr=True)
        self._progress: Progress | None = None

    def update(self, share: float, title: str | None = None) -> None:
        """Show that this share of the work is done, 0 to 1, and what comes next."""
        if not self._console.is_terminal:
            return
        spent = time.monotonic() - self._began
        if self._progress is None and spent > 0.2 and spent > SHORTEST * share:
            self._begin()
        if self._progress is not None:
            self._progress.update(self._task, completed=share, description=title or self._title)

    def close(self) -> None:
        """Take the bar away."""
        if self._progress is not None:
            self._progress.stop()

    def _begin(self) -> None:
        from rich.progress import (
            BarColumn,
            Progress,
            TaskProgressColumn,
            TextColumn,
            TimeRemainingColumn,
        )

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
        )
        self._progress = Progress(*columns, console=self._console, transient=True)
        self._task = self._progress.add_task(self._title, total=1.0)
        self._progress.start()


@contextmanager
def counting(title: str) -> Iterator[Callable[[int, int, str], None]]:
    """A bar for work in countable pieces: gives a function to call with (done, in total, the next one's name)."""
    bar = Bar(title)
    try:
        yield lambda done, total, name: bar.update(done / max(total, 1), f"{title} {name}")
    finally:
        bar.close()

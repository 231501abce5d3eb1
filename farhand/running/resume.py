"""Long work that Ctrl-C interrupts keeps what is finished, and ``--resume`` continues it.

What is finished goes to a file of JSON lines. The first line names the work: the command, every
option that changes its results, and a hash of the code. That is the rule for the same work:
``--resume`` takes up a file only if its first line is equal, and otherwise says what differs. Each
other line is a finished piece, its ``name`` and its ``result``. Complete work removes the file.
A law or robot of your own is not part of the hash: leave out ``--resume`` if you changed it.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import farhand
from farhand.errors import FileError, Mismatch
from farhand.files import is_stream, write_text
from farhand.report.output import DASH, note

Row = dict[str, Any]


@dataclass
class FinishedPieces:
    """The finished pieces of long work by name, in the order in which they were finished."""

    rows: dict[str, Row] = field(default_factory=dict)

    def add(self, name: str, row: Mapping[str, Any]) -> None:
        """A piece is finished."""
        self.rows[name] = dict(row)


@contextmanager
def resumable(
    command: str, work: Mapping[str, Any], resume: bool, json: Path | None, report: Path | None
) -> Iterator[FinishedPieces]:
    """Long work in pieces: whatever ends it early, the finished pieces are kept.

    Args:
        command: such as ``"compare"``.
        work: every option that changes the results.
        resume: begin with the pieces that an earlier, interrupted run kept.
        json: where the results go; the file of pieces is beside it,
        report: or in this folder, or else in the current one.

    Raises:
        Mismatch: what was kept is of other work or of other code.
        FileError: there is nothing to resume.
    """
    path = path_of(command, json, report)
    header = {"command": command, **_plain(work), "code": fingerprint()}
    pieces = FinishedPieces(_read(path, header) if resume else {})
    before = len(pieces.rows)
    try:
        yield pieces
    except BaseException:
        if len(pieces.rows) > before:
            _write(
                path,
                [header, *({"name": name, "result": row} for name, row in pieces.rows.items())],
            )
        if pieces.rows:
            note(f"finished results are kept: {len(pieces.rows)} in {path}; --resume continues")
        raise
    path.unlink(missing_ok=True)


def path_of(command: str, json: Path | None, report: Path | None) -> Path:
    """Where the finished pieces are kept."""
    if json is not None and json != DASH and not is_stream(json):
        return json.with_suffix(".partial.jsonl")
    return (report or Path()) / f"{command}.partial.jsonl"


@functools.cache
def fingerprint() -> str:
    """Hash of the library's code and robots, and of the laboratory's code where there is one."""
    root, digest = Path(farhand.__file__).parents[1], hashlib.sha256()
    for package in ("farhand", "farhand_lab"):
        for path in sorted((root / package).rglob("*")):
            if path.suffix in (".py", ".toml", ".xml"):
                name = str(path.relative_to(root)).encode()
                digest.update(name + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def _plain(work: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON would give it back."""
    return dict(json.loads(json.dumps(work, default=str)))


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    write_text(path, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))


def _read(path: Path, header: dict[str, Any]) -> dict[str, Row]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else error
        raise FileError(f"nothing to resume from {path}: {reason}") from None
    try:
        kept, *rows = map(json.loads, lines)
        found = {row["name"]: row["result"] for row in rows}
        others = [key for key in {**header, **kept} if header.get(key) != kept.get(key)]
    except (ValueError, KeyError, AttributeError, TypeError):
        raise FileError(f"{path} does not hold finished results; leave out --resume") from None
    if others:
        what = ", ".join(f"{key} {kept.get(key)} there, {header.get(key)} here" for key in others)
        raise Mismatch(f"{path} is of other work ({what}); leave out --resume")
    return found

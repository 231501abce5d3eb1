"""Destination: where a recording goes, and what must not be written over there."""

from __future__ import annotations

import os
from pathlib import Path

from farhand.errors import FileError
from farhand.recording.growing import growing
from farhand.recording.scan import scan


def part_of(path: Path) -> Path:
    """The name a recording has until its first records are written; of a link, beside what it leads to."""
    real = Path(os.path.realpath(path))
    return real.with_name(real.name + ".part")


def check_destination(path: Path) -> None:
    """Refuse, before anything starts, a destination that cannot be written; creates and changes nothing."""
    real, part = Path(os.path.realpath(path)), part_of(path)
    folder = real.parent
    if not folder.is_dir():
        raise FileError(f"cannot write {path}: {folder} is not a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FileError(f"cannot write {path}: the folder {folder} is not writable")
    if Path(path).is_dir():
        raise FileError(f"cannot write {path}: it is a folder")
    if Path(path).exists() and not real.is_file():
        raise FileError(f"cannot write {path}: it is a pipe or a device, and recordings are files")
    if os.path.lexists(part) and (part.is_symlink() or not part.is_file()):
        raise FileError(
            f"cannot write {path}: {part} is in the way; move it or choose another name"
        )
    for taken in (real, part):
        if growing(taken):
            raise FileError(
                f"cannot write {path}: another run is recording to {taken}; choose another name"
            )
    if part.exists() and part.stat().st_size:
        _check_part(path, part)


def _check_part(path: Path, part: Path) -> None:
    """Refuse to write over what is left under the temporary name, unless there is not one record in it."""
    try:
        held = len(scan(part, salvage=True).chunks)
    except FileError:
        raise FileError(
            f"cannot write {path}: {part} is in the way; move it or choose another name"
        ) from None
    if held:
        hint = f"farhand recover {part} saves what is in it; then remove it, or choose another name"
        raise FileError(f"cannot write {path}: {part} holds an earlier recording; {hint}")

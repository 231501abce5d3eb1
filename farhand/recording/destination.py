"""Where a recording goes, and what it must not overwrite."""

from __future__ import annotations

import os
from pathlib import Path

from farhand.errors import FileError
from farhand.recording.growing import growing
from farhand.recording.scan import scan


def part_of(path: Path) -> Path:
    """The name a recording has until its first records are written; beside a link's target."""
    real = Path(os.path.realpath(path))
    return real.with_name(real.name + ".part")


def check_destination(path: Path) -> None:
    """Refuse, before anything starts, a destination that cannot be written; changes nothing."""
    real, part = Path(os.path.realpath(path)), part_of(path)
    folder = real.parent
    reason = None
    if not folder.is_dir():
        reason = f"{folder} is not a folder"
    elif not os.access(folder, os.W_OK | os.X_OK):
        reason = f"the folder {folder} is not writable"
    elif Path(path).is_dir():
        reason = "it is a folder"
    elif Path(path).exists() and not real.is_file():
        reason = "it is a pipe or a device, and recordings are files"
    elif os.path.lexists(part) and (part.is_symlink() or not part.is_file()):
        reason = f"{part} is in the way; move it or choose another name"
    elif taken := next((file for file in (real, part) if growing(file)), None):
        reason = f"another run is recording to {taken}; choose another name"
    elif part.exists() and part.stat().st_size:
        reason = _in_part(part)
    if reason is not None:
        raise FileError(f"cannot write {path}: {reason}")


def _in_part(part: Path) -> str | None:
    """Why a file under the temporary name must not be overwritten; None if it has no records."""
    try:
        chunks = scan(part, salvage=True).chunks
    except FileError:
        return f"{part} is in the way; move it or choose another name"
    hint = f"farhand recover {part} saves what is in it; then remove it, or choose another name"
    return f"{part} holds an earlier recording; {hint}" if chunks else None

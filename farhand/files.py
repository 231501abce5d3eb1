"""Files: text written whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from farhand.errors import FileError


def write_text(path: Path, text: str) -> None:
    """Write a text file to a temporary name beside it and rename it.

    Raises:
        FileError: the folder cannot be made or written; a file that was there stays as it was.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise FileError(f"cannot write {path}: {error.strerror or error}") from error

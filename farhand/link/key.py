"""Keys: what both sides of a link must hold, as a file that only its owner can read."""

from __future__ import annotations

import base64
import binascii
import os
import secrets
from pathlib import Path

from farhand.errors import BadValue, FileError
from farhand.link.seal import KEY_BYTES

PREFIX = "farhand-key-1 "


def write_key(path: Path) -> None:
    """Make a new key and write it, readable by its owner alone; a file that is there is never overwritten.

    Raises:
        FileError: the file is there, or cannot be written.
    """
    text = PREFIX + base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode() + "\n"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise FileError(
            f"{path} is there already; a key is never overwritten, choose another name"
        ) from None
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from None
    with open(descriptor, "w", encoding="ascii") as file:
        file.write(text)


def read_key(path: Path) -> bytes:
    """The key in a file.

    Raises:
        FileError: the file cannot be read.
        BadValue: it holds no key; its content is not repeated.
    """
    try:
        text = path.read_text(encoding="ascii")
    except OSError as error:
        raise FileError(f"cannot read the key {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        text = ""
    wrong = BadValue(
        f"{path} holds no Farhand key; make one with: farhand key --out {path.name}.new"
    )
    if not text.startswith(PREFIX):
        raise wrong
    try:
        key = base64.b64decode(text[len(PREFIX) :].strip(), validate=True)
    except (binascii.Error, ValueError):
        raise wrong from None
    if len(key) != KEY_BYTES:
        raise wrong
    return key


def open_to_others(path: Path) -> bool:
    """Whether others than its owner may read a file."""
    return bool(path.stat().st_mode & 0o077)

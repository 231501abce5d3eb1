"""Opening a serial port, with the reason in plain words if it cannot be opened."""

from __future__ import annotations

import errno
import grp
import os
import termios
from typing import Any

import serial

from farhand.errors import FileError


def open_serial(path: str, baud: int, what: str, **settings: Any) -> Any:
    """An open port.

    Args:
        path: of the port.
        baud: bits per second.
        what: it is, for messages, such as ``the servo bus at /dev/ttyACM0``.
        settings: further ones of pyserial.

    Raises:
        FileError: it cannot be opened.
    """
    try:
        return serial.Serial(path, baud, **settings)
    except (OSError, ValueError, termios.error) as error:
        raise FileError(f"cannot open {what}: {_reason(path, error)}") from None


def _reason(path: str, error: Exception) -> str:
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.EAGAIN, errno.EBUSY):
        return "another program has it open"
    if number == errno.EACCES:
        return f"permission denied; {_remedy(path)}"
    if number:
        return os.strerror(number)
    return "it is no serial port" if not _is_terminal(path) else " ".join(str(error).split())


def _remedy(path: str) -> str:
    """Who may open the port."""
    try:
        group = grp.getgrgid(os.stat(path).st_gid).gr_name
    except (OSError, KeyError):
        return "ask who owns it"
    return f"join its group with sudo usermod -aG {group} $USER, then log in again"


def _is_terminal(path: str) -> bool:
    try:
        file = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    except (OSError, ValueError):
        return False
    try:
        return os.isatty(file)
    finally:
        os.close(file)

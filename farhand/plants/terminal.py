"""A pseudo-terminal that clients open as a serial port, for simulated buses and adaptors."""

from __future__ import annotations

import os
import tty
from pathlib import Path

from farhand.errors import FileError

TERMINALS = "/dev/pts/"
"""Where links of ours lead; others are the user's."""


class Terminal:
    """Both ends of a pseudo-terminal, and a symbolic link to the one that clients open.

    Args:
        link: where to make the link; None for none.

    Attributes:
        path: that clients open.
        master: the end of the simulated bus, a file descriptor.
        slave: the end that clients open.

    Raises:
        FileError: something else is there, or the link cannot be made.
    """

    def __init__(self, link: Path | None = None) -> None:
        if link is not None and link.exists() and not link.is_symlink():
            raise FileError(f"{link} exists and is no link: choose another path for --at")
        if link is not None and link.is_symlink() and not os.readlink(link).startswith(TERMINALS):
            raise FileError(f"{link} leads to {os.readlink(link)}: choose another path for --at")
        self.master, self.slave = os.openpty()
        tty.setraw(self.slave)
        self.path, self._link = os.ttyname(self.slave), None
        if link is not None:
            try:
                link.unlink(missing_ok=True)
                link.symlink_to(self.path)
            except OSError as error:
                self.close()
                raise FileError(f"cannot make the link {link}: {error.strerror}") from None
        self._link = link

    def close(self) -> None:
        """End it: who has it open gets an error. A link that leads elsewhere by now stays."""
        link = self._link
        if link is not None and link.is_symlink() and os.readlink(link) == self.path:
            link.unlink()
        os.close(self.slave)
        os.close(self.master)

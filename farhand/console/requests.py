"""Requests: the way from the page's process to the session, which looks at it between two ticks."""

from __future__ import annotations

import contextlib
import threading
from multiprocessing.connection import Connection

Request = tuple[str, str, object]
"""What :meth:`farhand.loop.commands.Commands.post` takes: name, parameter path, value; or one of
:data:`OTHERS`."""

OTHERS = ("restart", "record", "deadman", "end")
"""Beside the session's commands: a new session with other options, a recording, whether a dead-man
must be held, and
the end of the run."""


class Requests:
    """The sending end; any thread may send.

    Args:
        outgoing: this process's end of the pipe; None for a page that shows a recording, where
            nobody listens.
    """

    def __init__(self, outgoing: Connection | None) -> None:
        self._outgoing, self._lock = outgoing, threading.Lock()

    def send(self, name: str, path: str = "", value: object = None) -> None:
        """Ask the session for a command; a session that has gone hears nothing."""
        if self._outgoing is None:
            return
        with self._lock, contextlib.suppress(OSError):
            self._outgoing.send((name, path, value))

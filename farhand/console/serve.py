"""Serve: start the page in a process of its own, hear its requests, and take it down again."""

from __future__ import annotations

import errno
import importlib
import multiprocessing
import socket
import weakref
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import TracebackType

from farhand.commands import Commands
from farhand.console.scene import Scene
from farhand.errors import FarhandError, OutOfRange

START_TIMEOUT = 60.0  # [s]
STOP_TIMEOUT = 2.0  # [s]


class Page:
    """A page that is being served. Made by :func:`serve`.

    Attributes:
        address: what to open in a browser.
    """

    def __init__(self, address: str, process: SpawnProcess, incoming: Connection, commands: Commands | None) -> None:
        self.address = address
        self._process, self._incoming, self._commands = process, incoming, commands
        self._reap = weakref.finalize(self, _end, process, incoming)

    @property
    def alive(self) -> bool:
        """Whether the page is still served."""
        return self._reap.alive and self._process.is_alive()

    def poll(self) -> int:
        """Post what the page has asked for since the last call; never waits.

        Returns:
            how many requests there were.
        """
        count = 0
        try:
            while self._reap.alive and self._incoming.poll():
                name, path, value = self._incoming.recv()
                count += 1
                if self._commands is not None:
                    self._commands.post(name, path, value)
        except (EOFError, OSError):
            pass  # the page's process has ended; the session goes on without it
        return count

    def close(self) -> None:
        """Take the page down and wait for its process; a second call does nothing."""
        self._reap()

    def __enter__(self) -> Page:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def serve(
    ring_path: Path, scene: Scene, host: str = "127.0.0.1", port: int = 8080, commands: Commands | None = None
) -> Page:
    """Serve the page of a run from a process of its own, which ends with this one however this one ends.

    Args:
        ring_path: :attr:`farhand.telemetry.Telemetry.path` of the run.
        scene: what to draw, from :func:`farhand.console.scene.scene_of`.
        host: interface to listen on; the default is not reachable from other machines.
        port: to listen on; 0 for any free one.
        commands: where :meth:`Page.poll` posts the operator's requests.

    Raises:
        OutOfRange: the port is no port.
        FarhandError: the port is in use or not allowed, or the page did not start.
    """
    _check_port(host, port)
    context = multiprocessing.get_context("spawn")
    incoming, outgoing = context.Pipe(duplex=False)
    process = context.Process(
        target=_view, args=(Path(ring_path), scene, host, port, outgoing), name="farhand-console", daemon=True
    )
    process.start()
    outgoing.close()  # the child has its own; with ours closed its end is seen as the end of the pipe
    try:
        opened = _first_word(incoming)
        if port not in (0, opened):
            raise FarhandError(_in_use(host, port))
    except BaseException:
        _end(process, incoming)
        raise
    return Page(f"http://{_for_address(host)}:{opened}", process, incoming, commands)


def _view(*args: object) -> None:
    """Load the viewer in the child only: it brings viser with it."""
    importlib.import_module("farhand.console.viewer").view(*args)


def _first_word(incoming: Connection) -> int:
    """The port the page was opened on."""
    try:
        if not incoming.poll(START_TIMEOUT):
            raise FarhandError(f"the console page did not start within {START_TIMEOUT:g} s; use --headless without it")
        word = incoming.recv()
    except EOFError:
        raise FarhandError("the console page could not be started; use --headless to run without it") from None
    if not isinstance(word, int):
        raise FarhandError(f"the console page could not be started: {word}")
    return word


def _check_port(host: str, port: int) -> None:
    """Refuse, before anything starts, a port that cannot be opened; the page's server would quietly take the next."""
    if not 0 <= port <= 65535:
        raise OutOfRange("port", port, 0, 65535)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise FarhandError(_in_use(host, port)) from None
            raise FarhandError(f"cannot open port {port} on {host}: {error.strerror}; try --port 0") from None


def _in_use(host: str, port: int) -> str:
    return (
        f"port {port} on {host} is in use; choose another with --port, such as --port {port + 1}, or 0 for a free one"
    )


def _for_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _end(process: SpawnProcess, incoming: Connection) -> None:
    """Terminate the child, by force if need be, and reap it."""
    process.terminate()
    process.join(STOP_TIMEOUT)
    if process.is_alive():
        process.kill()
        process.join()
    process.close()
    incoming.close()

"""Start the page in a process of its own, take its requests, and end it."""

from __future__ import annotations

import errno
import importlib
import ipaddress
import multiprocessing
import secrets
import socket
import weakref
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, NamedTuple

from farhand.console.scene import Scene
from farhand.errors import FarhandError, OutOfRange
from farhand.loop.commands import NAMES, Commands

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 2.0

Handler = Callable[[str, object], None]
"""Does what a request asks that is not a command of the session; gets its path and value."""


class Tokens(NamedTuple):
    """What a visitor must show; both empty where none is needed."""

    drive: str = ""  # to move the arms
    watch: str = ""  # to see them, and to stop them

    @classmethod
    def new(cls) -> Tokens:
        """Two that nobody can guess."""
        return cls(secrets.token_urlsafe(16), secrets.token_urlsafe(16))


class Page:
    """A page that is being served. Made by :func:`serve` and :func:`serve_recording`."""

    def __init__(
        self,
        address: str,
        process: SpawnProcess,
        incoming: Connection,
        commands: Commands | None,
        outgoing: Connection | None = None,
        health: Any = None,
        watch_address: str = "",
    ) -> None:
        self.address = address  #: what to open in a browser, with the access token if there is one
        #: for those who may watch and stop, but not drive; empty on this machine alone
        self.watch_address = watch_address
        #: numbers for the page to show: tick [µs], rate [Hz], overruns, whether it records
        self.health: Any = health if health is not None else [0.0] * 4
        #: of requests that are not commands of the session, by name
        self.handlers: dict[str, Handler] = {"deadman": self._arm}
        self._process, self._commands = process, commands
        self._incoming, self._outgoing = incoming, outgoing
        self._deadman = False
        self._reap = weakref.finalize(self, _end, process, incoming)

    @property
    def alive(self) -> bool:
        """Whether the page is still served."""
        return self._reap.alive and self._process.is_alive()

    @property
    def pid(self) -> int:
        """Of the page's process; 0 once it has ended."""
        return (self._process.pid or 0) if self._reap.alive else 0

    def poll(self) -> int:
        """Post the page's requests since the last call, and count them; never waits."""
        count = 0
        try:
            while self._reap.alive and self._incoming.poll():
                name, path, value = self._incoming.recv()
                count += 1
                self._pass_on(name, path, value)
        except (EOFError, OSError):
            # The page's process has ended; the session goes on without it
            self._let_go()
        return count

    def show(self, ring_path: Path, scene: Scene, commands: Commands) -> None:
        """Show another run on the same page, and take its requests there."""
        self._commands = commands
        if self._outgoing is not None and self.alive:
            self._outgoing.send((Path(ring_path), scene))

    def close(self) -> None:
        """End the page's process and wait for it; a second call does nothing."""
        self._reap()

    def _pass_on(self, name: str, path: str, value: object) -> None:
        if name in self.handlers:
            self.handlers[name](path, value)
        elif self._commands is not None and name in NAMES:
            self._commands.post(name, path, value)

    def _arm(self, path: str, value: object) -> None:
        self._deadman = bool(value)

    def _let_go(self) -> None:
        # Nobody can hold a dead-man on a page that is gone
        if self._deadman and self._commands is not None:
            self._deadman = False
            self._commands.post("release")

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def serve(
    ring_path: Path,
    scene: Scene,
    host: str = "127.0.0.1",
    port: int = 8080,
    commands: Commands | None = None,
    tokens: Tokens | None = None,
) -> Page:
    """Serve the page of a run from a process of its own, which ends with this one in any case.

    Args:
        ring_path: :attr:`farhand.loop.telemetry.Telemetry.path` of the run.
        scene: what to draw, from :func:`farhand.console.scene.scene_of`.
        host: interface to listen on; the default is not reachable from other machines.
        port: to listen on; 0 for any free one.
        commands: where :meth:`Page.poll` posts the operator's requests.
        tokens: that visitors must show; by default new ones, or none on a loopback interface.

    Raises:
        OutOfRange: there is no such port.
        FarhandError: the port is in use or not allowed, or the page did not start.
    """
    return _start("farhand.console.viewer", (Path(ring_path), scene), host, port, commands, tokens)


def serve_recording(
    recording: Path,
    scene: Scene,
    host: str = "127.0.0.1",
    port: int = 8080,
    speed: float = 1.0,
    at: float | None = None,
    tokens: Tokens | None = None,
) -> Page:
    """Serve the page of a recording; otherwise as :func:`serve`.

    It plays at ``speed`` times its own, or stands at the time ``at`` [s] until somebody plays it.
    """
    what = (Path(recording), scene, speed, at)
    return _start("farhand.console.player", what, host, port, None, tokens)


def is_local(host: str) -> bool:
    """Whether only programs on this machine reach an interface."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _start(
    module: str,
    what: tuple[object, ...],
    host: str,
    port: int,
    commands: Commands | None,
    tokens: Tokens | None,
) -> Page:
    """Start a module's ``view`` in a process of its own and wait until it is open."""
    _check_port(host, port)
    if tokens is None:
        tokens = Tokens() if is_local(host) else Tokens.new()
    context = multiprocessing.get_context("spawn")
    incoming, asks = context.Pipe(duplex=False)
    hears, outgoing = context.Pipe(duplex=False)
    health = context.RawArray("d", 4)
    arguments = (module, *what, host, port, tokens, (hears, asks), health)
    process = context.Process(target=_view, args=arguments, name="farhand-console", daemon=True)
    process.start()
    # The child has its own ends; with ours closed, its end is the end of the pipe
    asks.close()
    hears.close()
    try:
        opened = _opened_port(incoming)
    except BaseException:
        _end(process, incoming)
        raise
    plain = f"http://{_for_address(host)}:{opened}"
    drive, watch = (f"{plain}/?token={token}" if token else plain for token in tokens)
    watch = watch if tokens.watch else ""
    return Page(drive, process, incoming, commands, outgoing, health, watch)


def _view(module: str, *args: object) -> None:
    """Load the viewer in the child only: it brings viser with it."""
    importlib.import_module(module).view(*args)


def _opened_port(incoming: Connection) -> int:
    """The port the page was opened on."""
    hint = "use --headless to run without it"
    try:
        if not incoming.poll(START_TIMEOUT_S):
            late = f"the console page did not start within {START_TIMEOUT_S:g} s"
            raise FarhandError(f"{late}; {hint}")
        answer = incoming.recv()
    except EOFError:
        raise FarhandError(f"the console page could not be started; {hint}") from None
    if not isinstance(answer, int):
        raise FarhandError(f"the console page could not be started: {answer}")
    return answer


def cannot_open(host: str, port: int, error: OSError) -> str:
    """Why nothing can listen there, and what to do."""
    hint = "give an address of this machine with --host"
    if error.errno == errno.EACCES:
        hint = "try --port 0"
    elif error.errno == errno.EADDRINUSE:
        choose = f"choose another with --port, such as --port {port + 1}, or 0 for a free one"
        return f"port {port} on {host} is in use; {choose}"
    return f"cannot open port {port} on {host}: {error.strerror}; {hint}"


def _check_port(host: str, port: int) -> None:
    """Refuse a port that cannot be opened before a process is started for it."""
    if not 0 <= port <= 65535:
        raise OutOfRange("port", port, 0, 65535)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise FarhandError(cannot_open(host, port, error)) from None


def _for_address(host: str) -> str:
    if host in ("0.0.0.0", "::"):
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host


def _end(process: SpawnProcess, incoming: Connection) -> None:
    """Terminate the child, by force if necessary, and wait for it."""
    process.terminate()
    process.join(STOP_TIMEOUT_S)
    if process.is_alive():
        process.kill()
        process.join()
    process.close()
    incoming.close()

"""Serving a session: other programs of the same user find it by name and give it commands."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import socket
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from farhand.client import MAX_MESSAGE_BYTES, check_peer, socket_path
from farhand.errors import BadValue, FarhandError, FileError
from farhand.loop.commands import Request
from farhand.loop.target import accept_targets
from farhand.rigs import Rig
from farhand.running.camera import save_scene, scene_paths

MAX_CLIENTS = 16
MAX_TEXT = 1000
"""Letters of an answer: six bytes each in JSON at most, so that it is one message."""

IDLE_TICKS, LOOK_EVERY = 50, 10
"""After that many ticks without a message the loop looks for one in every tenth tick only."""

LOG_TAIL = 256
"""Newest commands among which an answer is looked for; each client has one on its way."""


class NamedSession:
    """The name of a session, and the socket at which programs find it.

    One name is one running session. A name that a killed process has left behind is taken over:
    its lock has ended with it. Messages are JSON objects, one per packet. The loop itself reads
    one of them per tick at most, and a client's next one when its last is answered. Another thread
    would hold Python's lock when a tick is due.

    Args:
        name: of the session.

    Raises:
        BadValue: a session of that name is running, or it cannot be a name.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._path = socket_path(name)
        try:
            self._lock = _locked(self._path.with_suffix(".lock"))
        except BlockingIOError:
            remedy = f"attach to it, or choose another name than {name}"
            raise BadValue(f"session {name} is running already; {remedy}") from None
        except OSError as error:
            raise FileError(f"cannot lock {self._path}: {error.strerror}") from None
        self._path.unlink(missing_ok=True)
        self._clients: dict[int, socket.socket] = {}
        self._waiting: list[tuple[socket.socket, int, Request]] = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.setblocking(False)
        self._ready, self._listening, self._idle = select.epoll(), False, 0

    def open(self, rig: Rig) -> None:
        """Let programs in from the first tick on: they find a value of every signal."""
        self._rig, self._session = rig, rig.session
        accept_targets(rig.session)
        try:
            self._listener.bind(str(self._path))
        except OSError as error:
            raise FileError(f"cannot serve at {self._path}: {error.strerror or error}") from None
        self._ready.register(self._listener, select.EPOLLIN)
        save_scene(rig, self.name)
        rig.session.commands.source = self.step

    def step(self, now_ns: int) -> None:
        """Answer what the last tick has carried out, and take one message; never waits."""
        self._idle += 1
        if self._idle > IDLE_TICKS and self._idle % LOOK_EVERY:
            return
        if not self._listening and self._session.ticks:
            self._listening = True
            self._listener.listen(MAX_CLIENTS)
        if self._waiting:
            self._idle = 0
            self._answer()
        for number, _ in self._ready.poll(0, 1):
            self._idle = 0
            client = self._clients.get(number)
            self._admit() if client is None else self._take(client)

    def close(self) -> None:
        """Let go of the name and of everybody who is attached."""
        for connection in (self._listener, *self._clients.values()):
            connection.close()
        self._clients.clear()
        self._ready.close()
        if not self._lock.closed:
            lock = self._path.with_suffix(".lock")
            for path in (self._path, *scene_paths(self.name), lock):
                path.unlink(missing_ok=True)
            self._lock.close()

    def __enter__(self) -> NamedSession:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def _admit(self) -> None:
        """Let a client in: one of this user, if there is room."""
        try:
            client, _ = self._listener.accept()
        except OSError:
            return
        client.setblocking(False)
        reason = f"{MAX_CLIENTS} programs are attached already"
        try:
            check_peer(client)
            hello = {"ring": str(self._session.telemetry.path), "rig": self._rig.name}
            if len(self._clients) < MAX_CLIENTS:
                self._clients[client.fileno()] = client
                self._ready.register(client, select.EPOLLIN | select.EPOLLONESHOT)
                self._send(client, {**hello, "process": os.getpid()})
                return
        except FileError as error:
            reason = str(error)
        self._send(client, {"refused": reason})
        client.close()

    def _take(self, client: socket.socket) -> None:
        """Read one message of a client, and do what it asks."""
        number, answer = 0, None
        try:
            data = client.recv(MAX_MESSAGE_BYTES + 1)
            if not data:
                return self._drop(client)
            message = _parse(data)
            number = message["id"]
            name = _name_of(message)
            if name == "trips":
                answer = {"done": True, "trips": self._trips()}
            elif name == "end":
                self._session.finish()
                answer = {"done": True, "text": "the session ends"}
            else:
                path, value = message.get("path", ""), message.get("value")
                request = self._session.commands.post(name, path, value)
                self._waiting.append((client, number, request))
        except FarhandError as error:
            answer = {"done": False, "text": str(error)[:MAX_TEXT]}
        except OSError:
            return self._drop(client)
        if answer is not None:
            self._send(client, {"id": number, **answer})

    def _answer(self) -> None:
        """Tell the clients what has come of their commands."""
        outcomes = {id(one.request): one.outcome for one in self._session.commands.log[-LOG_TAIL:]}
        waiting, self._waiting = self._waiting, []
        for client, number, request in waiting:
            outcome = outcomes.get(id(request))
            if outcome is None:
                self._waiting.append((client, number, request))
            else:
                text = outcome.text[:MAX_TEXT]
                self._send(client, {"id": number, "done": outcome.done, "text": text})

    def _send(self, client: socket.socket, message: dict[str, Any]) -> None:
        """Send, and read on; a client that does not take its answers is let go."""
        try:
            client.send(json.dumps(message).encode())
            if client.fileno() in self._clients:
                self._ready.modify(client, select.EPOLLIN | select.EPOLLONESHOT)
        except OSError:
            self._drop(client)

    def _drop(self, client: socket.socket) -> None:
        self._clients.pop(client.fileno(), None)
        client.close()

    def _trips(self) -> dict[str, str]:
        trips = {station.name: station.guard.trip for station in self._session.stations}
        return {name: trip.reason for name, trip in trips.items() if trip is not None}


def _locked(path: Path) -> BinaryIO:
    """A file of this user, locked until it is closed.

    Raises:
        BlockingIOError: another process has locked it.
    """
    while True:
        file = open(path, "ab", opener=_open_own)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise
        # whoever had it may have removed it meanwhile
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.lstat()):
                return file
        file.close()


def _open_own(name: str, flags: int) -> int:
    """Open a file that only this user can; never what a link points to."""
    return os.open(name, flags | os.O_NOFOLLOW, 0o600)


def _parse(data: bytes) -> dict[str, Any]:
    """A message: a JSON object with a number, which its answer has too."""
    if len(data) > MAX_MESSAGE_BYTES:
        raise BadValue(f"a message has at most {MAX_MESSAGE_BYTES} bytes")
    message = None
    with contextlib.suppress(ValueError, RecursionError):
        message = json.loads(data)
    if not (isinstance(message, dict) and isinstance(message.get("id"), int)):
        raise BadValue('a message is a JSON object such as {"id": 1, "name": "stop"}')
    return message


def _name_of(message: dict[str, Any]) -> str:
    """The command of a message whose value can be one."""
    name = message.get("name")
    if not isinstance(name, str):
        raise BadValue("a message needs the name of a command")
    if not _is_plain(message.get("value")):
        raise BadValue("a value is a number, a text, true or false, or a list of such values")
    return name


def _is_plain(value: object, depth: int = 2) -> bool:
    """Whether a value has no parts, or is a list of such, up to matrices."""
    if isinstance(value, list):
        return depth > 0 and all(_is_plain(one, depth - 1) for one in value)
    return not isinstance(value, dict)

"""Serving a session: other programs of the same user find it by name and give it commands."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import selectors
import socket
import threading
import time
from types import TracebackType
from typing import Any

from farhand.client import MAX_MESSAGE_BYTES, check_peer, socket_path
from farhand.errors import BadValue, FarhandError, FileError
from farhand.loop.commands import Request
from farhand.loop.target import accept_targets
from farhand.rigs import Rig

MAX_CLIENTS = 16
LOG_TAIL = 256
"""Newest commands among which an answer is looked for; each client has one on its way."""

ANSWER_POLL_S = 0.001


class NamedSession:
    """The name of a session, and the socket at which programs find it.

    One name is one running session. A name that a killed process has left behind is taken over:
    its lock has ended with it. Messages are JSON objects, one per packet, in the order in which
    they come; a client's next command is read when its last one is answered. The thread that does
    this only posts commands and looks at their log, so the ticks wait for nobody.

    Args:
        name: of the session.

    Raises:
        BadValue: a session of that name is running, or it cannot be a name.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._path = socket_path(name)
        try:
            self._lock = open(self._path.with_suffix(".lock"), "ab", opener=_open_own)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            remedy = f"attach to it, or choose another name than {name}"
            raise BadValue(f"session {name} is running already; {remedy}") from None
        except OSError as error:
            raise FileError(f"cannot lock {self._path}: {error.strerror}") from None
        self._path.unlink(missing_ok=True)
        self._thread: threading.Thread | None = None
        self._closing = False
        self._waiting: list[tuple[socket.socket, int, Request]] = []

    def open(self, rig: Rig) -> None:
        """Let programs in from the first tick on."""
        self._rig, self._session = rig, rig.session
        accept_targets(rig.session)
        self._wake, self._woken = socket.socketpair()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.setblocking(False)
        try:
            self._listener.bind(str(self._path))
        except OSError as error:
            self._listener.close()
            raise FileError(f"cannot serve at {self._path}: {error.strerror or error}") from None
        self._selector = selectors.DefaultSelector()
        self._thread = threading.Thread(target=self._serve, name="farhand-serve", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Let go of the name and of everybody who is attached."""
        if self._thread is not None:
            self._closing = True
            self._wake.send(b".")
            self._thread.join()
            self._thread = None
        if not self._lock.closed:
            self._path.unlink(missing_ok=True)
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

    def _serve(self) -> None:
        # Whoever is let in finds a value of every signal
        while self._session.ticks == 0 and not self._closing:
            time.sleep(ANSWER_POLL_S)
        self._listener.listen(MAX_CLIENTS)
        self._selector.register(self._listener, selectors.EVENT_READ, self._admit)
        self._selector.register(self._woken, selectors.EVENT_READ, lambda _: None)
        while not self._closing:
            for key, _ in self._selector.select(ANSWER_POLL_S if self._waiting else None):
                key.data(key.fileobj)
            self._answer()
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        for client, _, _ in self._waiting:
            client.close()
        self._selector.close()
        self._wake.close()

    def _admit(self, listener: socket.socket) -> None:
        """Let a client in: one of this user, if there is room."""
        try:
            client, _ = listener.accept()
        except OSError:
            return
        client.setblocking(False)
        reason = ""
        try:
            check_peer(client)
        except FileError as error:
            reason = str(error)
        # The listener and the end that wakes this thread are registered too
        if len(self._selector.get_map()) + len(self._waiting) >= MAX_CLIENTS + 2:
            reason = f"{MAX_CLIENTS} programs are attached already"
        if reason:
            _send(client, {"refused": reason})
            client.close()
            return
        hello = {"ring": str(self._session.telemetry.path), "rig": self._rig.name}
        if _send(client, {**hello, "process": os.getpid()}):
            self._selector.register(client, selectors.EVENT_READ, self._take)

    def _take(self, client: socket.socket) -> None:
        """Read one message of a client, and do what it asks."""
        self._selector.unregister(client)
        try:
            data = client.recv(MAX_MESSAGE_BYTES + 1)
        except OSError:
            data = b""
        if not data:
            client.close()
            return
        number, answer = 0, None
        try:
            message = _parse(data)
            number, name = message["id"], message["name"]
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
            answer = {"done": False, "text": str(error)}
        if answer is not None:
            self._reply(client, number, answer)

    def _answer(self) -> None:
        """Tell the clients what has come of their commands."""
        if not self._waiting:
            return
        outcomes = {id(one.request): one.outcome for one in self._session.commands.log[-LOG_TAIL:]}
        done = [one for one in self._waiting if id(one[2]) in outcomes]
        self._waiting = [one for one in self._waiting if id(one[2]) not in outcomes]
        for client, number, request in done:
            outcome = outcomes[id(request)]
            self._reply(client, number, {"done": outcome.done, "text": outcome.text})

    def _reply(self, client: socket.socket, number: int, answer: dict[str, Any]) -> None:
        """Answer, and read on; one that does not take its answers is let go."""
        if _send(client, {"id": number, **answer}):
            self._selector.register(client, selectors.EVENT_READ, self._take)

    def _trips(self) -> dict[str, str]:
        trips = {station.name: station.guard.trip for station in self._session.stations}
        return {name: trip.reason for name, trip in trips.items() if trip is not None}


def _open_own(name: str, flags: int) -> int:
    """Open a file that only this user can; never what a link points to."""
    return os.open(name, flags | os.O_NOFOLLOW, 0o600)


def _parse(data: bytes) -> dict[str, Any]:
    """A message: a JSON object with a number and a name."""
    if len(data) > MAX_MESSAGE_BYTES:
        raise BadValue(f"a message has at most {MAX_MESSAGE_BYTES} bytes")
    message = None
    with contextlib.suppress(ValueError, RecursionError):
        message = json.loads(data)
    if not (isinstance(message, dict) and isinstance(message.get("id"), int)):
        raise BadValue('a message is a JSON object such as {"id": 1, "name": "stop"}')
    if not isinstance(message.get("name"), str):
        raise BadValue("a message needs the name of a command")
    return message


def _send(client: socket.socket, message: dict[str, Any]) -> bool:
    """Send without waiting; False, and closed, if the client cannot take it."""
    try:
        client.send(json.dumps(message).encode())
    except OSError:
        client.close()
        return False
    return True

"""The ports of the simulated controller, in one thread: sockets between control cycles."""

from __future__ import annotations

import selectors
import socket
import struct
import time
from collections.abc import Callable
from typing import Protocol

from farhand.errors import FileError
from farhand.plants.ur_sim.arm import CYCLE_NS
from farhand.plants.ur_sim.controller import VERSION, RobotMode, Runtime, SafetyMode, UrController
from farhand.plants.ur_sim.dashboard import BANNER, Dashboard
from farhand.plants.ur_sim.rtde import RtdeClient
from farhand.plants.ur_sim.script_text import ScriptReader

PORTS = {"dashboard": 29999, "primary": 30001, "secondary": 30002, "realtime": 30003, "rtde": 30004}
"""Ports of a controller; clients such as ``ur_rtde`` know these and no others."""

MAX_WAITING_BYTES = 1 << 16
"""Bytes that wait for a client that does not read; beyond that, data packages are omitted."""

MAX_ANSWER_BYTES = 1 << 20
"""Bytes of answers that wait; a client that never reads them is dropped."""

MAX_LINE_BYTES = 4096
STATE_PERIOD_CYCLES = 50
"""Between two messages on the primary and secondary ports (public description: 10 Hz)."""


class Conversation(Protocol):
    """The controller's side of one connection."""

    closed: bool

    def feed(self, data: bytes) -> bytes:
        """The answer to what has arrived."""

    def package(self) -> bytes:
        """What is due in this cycle."""

    def leave(self) -> None:
        """Clean up, because the connection is gone."""


class DashboardConversation:
    """A dashboard client: lines in, lines out."""

    def __init__(self, controller: UrController) -> None:
        self._dashboard, self._waiting = Dashboard(controller), b""
        self._greeting, self.closed = f"{BANNER}\n".encode(), False

    def feed(self, data: bytes) -> bytes:
        """Answer every whole line."""
        *lines, self._waiting = (self._waiting + data).split(b"\n")
        self._waiting = self._waiting[-MAX_LINE_BYTES:]
        answers = [self._dashboard.answer(line.decode("latin-1").rstrip("\r")) for line in lines]
        self.closed = self._dashboard.closed
        return "".join(f"{answer}\n" for answer in answers).encode("latin-1", "replace")

    def package(self) -> bytes:
        """The greeting, once."""
        greeting, self._greeting = self._greeting, b""
        return greeting

    def leave(self) -> None:
        """Nothing to clean up."""


class ScriptConversation:
    """A client of a script port, which sends programs and may receive version and robot mode."""

    closed = False

    def __init__(self, controller: UrController, sends_state: bool) -> None:
        self._controller, self._reader = controller, ScriptReader()
        self._sends_state, self._due = sends_state, 0

    def feed(self, data: bytes) -> bytes:
        """Start every complete program."""
        for program in self._reader.feed(data):
            self._controller.upload(program)
        return b""

    def package(self) -> bytes:
        """The version first, then the robot mode ten times a second."""
        if not self._sends_state or self._controller.cycles < self._due:
            return b""
        first, self._due = self._due == 0, self._controller.cycles + STATE_PERIOD_CYCLES
        return version_message() if first else mode_message(self._controller)

    def leave(self) -> None:
        """Nothing to clean up."""


def version_message() -> bytes:
    """Message 20 (robot message) of type 3 (version), as publicly described."""
    project = b"URControl"
    head = struct.pack(">QbbB", 0, -2, 3, len(project))
    body = head + project + struct.pack(">BBii", *VERSION) + b"simulated"
    return struct.pack(">iB", 5 + len(body), 20) + body


def mode_message(controller: UrController) -> bytes:
    """Message 16 (robot state) with one sub-package, robot mode data."""
    on = controller.mode is not RobotMode.POWER_OFF
    stopped = controller.safety is SafetyMode.PROTECTIVE_STOP
    playing, paused = (controller.runtime is state for state in (Runtime.PLAYING, Runtime.PAUSED))
    flags = (True, True, on, False, stopped, playing, paused)
    numbers = (int(controller.mode), 0, 1.0, 1.0, 1.0, 0)
    body = struct.pack(">Q7?BBdddB", round(controller.now * 1e6), *flags, *numbers)
    package = struct.pack(">iB", 5 + len(body), 0) + body
    return struct.pack(">iB", 5 + len(package), 16) + package


class Server:
    """Listens on the ports of a controller and runs it in wall time.

    Args:
        controller: to run.
        host: address to listen on; several controllers use several loop-back addresses.
        offset: added to every port, for tests; real clients need 0.

    Attributes:
        ports: the ports by name.
        late: cycles that began more than a cycle late.

    Raises:
        FileError: a port is in use, or the address is not of this machine.
    """

    def __init__(self, controller: UrController, host: str = "127.0.0.1", offset: int = 0) -> None:
        self.controller, self.late = controller, 0
        self._selector = selectors.DefaultSelector()
        self._conversations: dict[socket.socket, tuple[Conversation, bytearray]] = {}
        makers: dict[str, Callable[[], Conversation]] = {
            "dashboard": lambda: DashboardConversation(controller),
            "primary": lambda: ScriptConversation(controller, True),
            "secondary": lambda: ScriptConversation(controller, True),
            "realtime": lambda: ScriptConversation(controller, False),
            "rtde": lambda: RtdeClient(controller.exchange, VERSION),
        }
        self.ports = {name: port + offset for name, port in PORTS.items()}
        for name, port in self.ports.items():
            self._listen(host, port, makers[name])

    def _listen(self, host: str, port: int, make: Callable[[], Conversation]) -> None:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen(16)
        except OSError as error:
            listener.close()
            self.close()
            raise FileError(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ, make)

    def run(self, seconds: float = float("inf"), going: Callable[[], bool] = lambda: True) -> None:
        """Run for ``seconds`` [s], or until ``going`` is false."""
        due_ns = time.monotonic_ns()
        end = self.controller.cycles + seconds * 1e9 / CYCLE_NS
        while self.controller.cycles < end and going():
            self._wait_until(due_ns)
            self.controller.cycle()
            for connection in list(self._conversations):
                self._send_due(connection)
            due_ns += CYCLE_NS
            behind = time.monotonic_ns() - due_ns
            if behind > CYCLE_NS:
                self.late += behind // CYCLE_NS
                due_ns += behind // CYCLE_NS * CYCLE_NS

    def close(self) -> None:
        """Close all ports."""
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        self._selector.close()
        self._conversations.clear()

    def _wait_until(self, due_ns: int) -> None:
        """Serve the sockets until the next cycle is due."""
        while True:
            left = (due_ns - time.monotonic_ns()) * 1e-9
            for key, events in self._selector.select(max(0.0, left)):
                if key.fileobj in self._conversations:
                    self._serve(key.fileobj, events)
                else:
                    self._accept(key.fileobj, key.data)  # type: ignore[arg-type]
            if time.monotonic_ns() >= due_ns:
                return

    def _accept(self, listener: socket.socket, make: Callable[[], Conversation]) -> None:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._conversations[connection] = (make(), bytearray())
        self._selector.register(connection, selectors.EVENT_READ)
        self._send_due(connection)

    def _serve(self, connection: socket.socket, events: int) -> None:
        talk, waiting = self._conversations[connection]
        if events & selectors.EVENT_READ:
            try:
                data = connection.recv(1 << 16)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._drop(connection)
                return
            waiting += talk.feed(data)
            if len(waiting) > MAX_ANSWER_BYTES:
                self._drop(connection)
                return
        self._send(connection)

    def _send_due(self, connection: socket.socket) -> None:
        """Send what is due; a client that does not read gets only answers."""
        talk, waiting = self._conversations[connection]
        due = talk.package()
        if due and len(waiting) < MAX_WAITING_BYTES:
            waiting += due
        self._send(connection)

    def _send(self, connection: socket.socket) -> None:
        talk, waiting = self._conversations[connection]
        try:
            if waiting:
                del waiting[: connection.send(waiting)]
        except BlockingIOError:
            pass
        except OSError:
            self._drop(connection)
            return
        if talk.closed:
            self._drop(connection)
            return
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if waiting else 0)
        if self._selector.get_key(connection).events != events:
            self._selector.modify(connection, events)

    def _drop(self, connection: socket.socket) -> None:
        talk, _ = self._conversations.pop(connection)
        talk.leave()
        self._selector.unregister(connection)
        connection.close()

"""UDP wire: datagrams by the standard library's socket, which never waits."""

from __future__ import annotations

import select
import socket
from typing import Any

from farhand.errors import BadValue, LinkError

MAX_DATAGRAM_BYTES = 65_535
LAST_PORT = 65_535
RECEIVE_BUFFER_BYTES = 1 << 20  # in the kernel, for what arrives between two ticks


def parse_address(text: str, flag: str) -> tuple[str, int]:
    """Host and port of ``HOST:PORT`` or ``[HOST]:PORT``; ``flag`` is for the error message.

    Raises:
        BadValue: it is not of that form, or there is no such port.
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isascii() or not port.isdigit():
        raise BadValue(f"{flag} {text!r} is not of the form HOST:PORT, such as 192.168.1.20:7400")
    if int(port) > LAST_PORT:
        raise BadValue(f"{flag} {text!r}: there is no port {port}; they end at {LAST_PORT}")
    return host, int(port)


def format_address(host: str, port: int) -> str:
    """Host and port as :func:`parse_address` reads them, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class UdpWire:
    """One UDP socket. A listening side answers to the sender of its peer's last datagram.

    A name may stand for several addresses. Each gets what is sent, through a socket of its own,
    until the peer is confirmed at one of them.

    Args:
        listen: host and port to receive at; any free port by default.
        connect: host and port of the peer; unknown by default.

    Raises:
        LinkError: there is no such address, or it is in use.

    Attributes:
        unsent: datagrams that the system did not accept.
        tried: every address of the peer, as host and port.
    """

    def __init__(
        self, listen: tuple[str, int] | None = None, connect: tuple[str, int] | None = None
    ) -> None:
        places = _resolve(*(connect or listen or ("127.0.0.1", 0)))
        self._fixed = connect is not None
        self.unsent = 0
        self._buffer = bytearray(MAX_DATAGRAM_BYTES)
        self._view = memoryview(self._buffer)
        # The part of the view that holds the last datagram.
        self._size, self._datagram = 0, self._view[:0]
        opened: list[tuple[socket.socket, Any]]
        if connect is None:
            family, place = places[0]
            opened = [(_open(family, place if listen is not None else None), None)]
        else:
            opened = [(_open(family, None), place) for family, place in places]
        self.tried = [place[:2] for _, place in opened if place is not None]
        self._use(*opened[0])
        # While the peer has not answered at one of several addresses: all of them.
        self._open = opened if len(opened) > 1 else []

    def _use(self, opened: socket.socket, peer: Any) -> None:
        """Send and receive through this socket from now on."""
        self._socket, self._peer = opened, peer
        self._sendto = opened.sendto
        self._receive_into, self._receive_from = opened.recv_into, opened.recvfrom_into
        # Of the last datagram. A side that knows its peer need not ask the system each time.
        self._sender = peer
        # Not epoll: its call is faster, but the kernel has more work with each datagram.
        poll = select.poll()
        poll.register(opened, select.POLLIN)
        self._waiting = poll.poll
        self._had_datagram = False

    @property
    def address(self) -> tuple[str, int]:
        """Host and port at which it receives."""
        host, port = self._socket.getsockname()[:2]
        return host, port

    @property
    def peer(self) -> tuple[str, int] | None:
        """Host and port of the peer; None while it is not known."""
        return None if self._peer is None else (self._peer[0], self._peer[1])

    def send(self, datagram: bytes) -> None:
        """Give a datagram to the system; one that it does not accept is counted and lost."""
        for opened, place in self._open:
            self._use(opened, place)
            self._send(datagram, place)
        if self._peer is not None and not self._open:
            self._send(datagram, self._peer)

    def reply(self, datagram: bytes) -> None:
        """Send to the sender of the last datagram, or to the peer if its address was given."""
        if self._sender is not None:
            self._send(datagram, self._sender)

    def _send(self, datagram: bytes, place: Any) -> None:
        try:
            self._sendto(datagram, place)
        except OSError:
            self.unsent += 1

    def receive(self) -> memoryview | None:
        """The next datagram, valid until the next call; None when there is none."""
        if not self._open:
            return self._receive()
        for opened, place in self._open:
            self._use(opened, place)
            datagram = self._receive()
            if datagram is not None:
                return datagram
        return None

    def _receive(self) -> memoryview | None:
        if self._had_datagram:
            self._had_datagram = False
            # Mostly none follows, and polling takes a third of the time of the exception.
            if not self._waiting(0):
                return None
        try:
            if self._fixed:
                size = self._receive_into(self._buffer)
            else:
                size, self._sender = self._receive_from(self._buffer)
        # There is none, or the system reports one that did not arrive.
        except OSError:
            return None
        self._had_datagram = True
        # Rare: states all have one length.
        if size != self._size:
            self._size, self._datagram = size, self._view[:size]
        return self._datagram

    def confirm(self) -> None:
        """Send to the sender of the last datagram, unless the peer's address was given."""
        if not self._fixed:
            self._peer = self._sender
        elif self._open:
            for opened, _ in self._open:
                if opened is not self._socket:
                    opened.close()
            self._open = []

    def fileno(self) -> int:
        """Descriptor of the socket, to wait on outside a tick."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
        for opened, _ in self._open:
            opened.close()


def _open(family: int, place: Any) -> socket.socket:
    """A socket that never waits, bound to a place or to any free port."""
    opened = socket.socket(family, socket.SOCK_DGRAM)
    opened.setblocking(False)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
    try:
        opened.bind(("", 0) if place is None else place)
    except OSError as error:
        opened.close()
        where = format_address(*place[:2])
        raise LinkError(f"cannot listen at {where}: {error.strerror or error}") from None
    return opened


def _resolve(host: str, port: int) -> list[tuple[int, Any]]:
    """The addresses of a host, each with its family."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise LinkError(f"cannot find the host {host!r}: {reason}") from None
    return [(family, place) for family, _, _, _, place in found]

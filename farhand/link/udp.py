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

    Args:
        listen: host and port to receive at; any free port by default.
        connect: host and port of the peer; unknown by default.

    Raises:
        LinkError: there is no such address, or it is in use.
    """

    def __init__(
        self, listen: tuple[str, int] | None = None, connect: tuple[str, int] | None = None
    ) -> None:
        family, place = _resolve(*(connect or listen or ("127.0.0.1", 0)))
        self._peer: Any = place if connect is not None else None
        self._fixed = connect is not None
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
        try:
            self._socket.bind(place if listen is not None else ("", 0))
        except OSError as error:
            self._socket.close()
            where = format_address(*place[:2])
            raise LinkError(f"cannot listen at {where}: {error.strerror or error}") from None
        self.unsent = 0  #: datagrams that the system did not accept
        self._buffer = bytearray(MAX_DATAGRAM_BYTES)
        self._view = memoryview(self._buffer)
        # The part of the view that holds the last datagram.
        self._size, self._datagram = 0, self._view[:0]
        self._sendto = self._socket.sendto
        self._receive_into, self._receive_from = self._socket.recv_into, self._socket.recvfrom_into
        # Of the last datagram. A side that knows its peer need not ask the system each time.
        self._sender = self._peer
        # Not epoll: its call is faster, but the kernel has more work with each datagram.
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
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
        if self._peer is not None:
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

    def fileno(self) -> int:
        """Descriptor of the socket, to wait on outside a tick."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def _resolve(host: str, port: int) -> tuple[int, Any]:
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise LinkError(f"cannot find the host {host!r}: {reason}") from None
    return family, place

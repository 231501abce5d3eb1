"""UDP: datagrams by the standard library's socket, which never waits."""

from __future__ import annotations

import select
import socket
from typing import Any

from farhand.errors import BadValue, LinkError

LARGEST = 65_535  # [bytes]
LAST_PORT = 65_535
BUFFER = 1 << 20  # asked of the kernel for what arrives between two ticks [bytes]


def parse_address(text: str, flag: str) -> tuple[str, int]:
    """Host and port of ``HOST:PORT`` or ``[HOST]:PORT``.

    Args:
        text: what a user gave.
        flag: with which flag, for the message.

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


def written(host: str, port: int) -> str:
    """Host and port as :func:`parse_address` reads them: an IPv6 address stands in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class UdpWire:
    """One UDP socket. A listening side answers to wherever the last datagram of its peer came from.

    Args:
        listen: where to receive, host and port; anywhere free by default.
        connect: where the peer is; not known by default.

    Attributes:
        address: host and port it receives at.
        unsent: datagrams that the system did not take.

    Raises:
        LinkError: there is no such address, or it is taken.
    """

    def __init__(
        self, listen: tuple[str, int] | None = None, connect: tuple[str, int] | None = None
    ) -> None:
        family, place = _resolve(*(connect or listen or ("127.0.0.1", 0)))
        self._peer: Any = place if connect is not None else None
        self._fixed = connect is not None
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        try:
            self._socket.bind(place if listen is not None else ("", 0))
        except OSError as error:
            self._socket.close()
            raise LinkError(
                f"cannot listen at {written(*place[:2])}: {error.strerror or error}"
            ) from None
        self.unsent = 0
        self._buffer = bytearray(LARGEST)
        self._view = memoryview(self._buffer)
        # the part of the view that holds the last datagram
        self._size, self._datagram = (0, self._view[:0])
        self._sendto = self._socket.sendto
        self._receive_into, self._receive_from = self._socket.recv_into, self._socket.recvfrom_into
        # of the last datagram; a side that knows its peer need not ask the system each time
        self._sender = self._peer
        # not epoll: that is asked quicker, but has the kernel do more for each datagram
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        self._waiting, self._took = poll.poll, False  # took: whether the last call gave a datagram

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
        """Hand a datagram to the system; one it does not take is counted and gone, as any may be on its way."""
        if self._peer is not None:
            self._send(datagram, self._peer)

    def reply(self, datagram: bytes) -> None:
        """Send to where the last datagram came from; a side that was told where its peer is sends there."""
        if self._sender is not None:
            self._send(datagram, self._sender)

    def _send(self, datagram: bytes, place: Any) -> None:
        try:
            self._sendto(datagram, place)
        except OSError:
            self.unsent += 1

    def receive(self) -> memoryview | None:
        """The next datagram, valid until the next call; None when there is none."""
        if self._took:
            self._took = False
            # mostly none follows: asking takes a third of the exception's time
            if not self._waiting(0):
                return None
        try:
            if self._fixed:
                size = self._receive_into(self._buffer)
            else:
                size, self._sender = self._receive_from(self._buffer)
        except OSError:  # none there, or news of one that did not arrive
            return None
        self._took = True
        if size != self._size:  # seldom: states are all of one length
            self._size, self._datagram = size, self._view[:size]
        return self._datagram

    def confirm(self) -> None:
        """Send to where the last datagram came from, unless this side was told where its peer is."""
        if not self._fixed:
            self._peer = self._sender

    def fileno(self) -> int:
        """Of the socket, to wait on outside of a tick."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def _resolve(host: str, port: int) -> tuple[int, Any]:
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    except (OSError, UnicodeError) as error:
        raise LinkError(
            f"cannot find the host {host!r}: {getattr(error, 'strerror', None) or error}"
        ) from None
    return family, place

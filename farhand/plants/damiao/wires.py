"""How a program reaches a CAN bus: by python-can, or in virtual time on a simulated one."""

from __future__ import annotations

import ipaddress
import socket
import sys
import time
from typing import Any, Protocol

from farhand.errors import BadValue, FileError, LinkError, Mismatch, describe_error
from farhand.plants.damiao.line import CanFrame
from farhand.plants.damiao.simulated import SimulatedCanArm
from farhand.plants.damiao.slcan import SlcanWire

INTERFACES = ("socketcan", "slcan", "udp_multicast", "virtual")
"""Interfaces of python-can that Farhand knows how to open; it passes others on as they are."""

FD_INTERFACES = ("socketcan", "udp_multicast", "virtual")
"""Those on which frames are FD frames."""

GROUP = "239.74.163.2"
"""Multicast group that clients of python-can use by default."""

IP_MULTICAST_ALL, IPV6_MULTICAST_ALL = 49, 29
"""Options of Linux that Python does not name."""


class CanWire(Protocol):
    """A CAN interface: frames out, frames in, and the time."""

    fd: bool  #: whether frames are to be FD frames

    def send(self, *frames: CanFrame) -> None:
        """Send frames; LinkError if the interface refuses."""

    def receive(self, timeout: float) -> CanFrame | None:
        """The next frame, waited for at most ``timeout`` [s]."""

    def now_ns(self) -> int:
        """Its time, [ns]."""

    def close(self) -> None:
        """Release it."""


class VirtualWire:
    """The host's end of a simulated bus; waiting lets the simulation go on.

    Args:
        arm: whose bus it is.
        fd: whether frames are FD frames.
        host: time that the program needs for each frame, either way, [s].
    """

    def __init__(self, arm: SimulatedCanArm, fd: bool = True, host: float = 0.0) -> None:
        self.arm, self.fd, self._host_ns = arm, fd, round(1e9 * host)

    def send(self, *frames: CanFrame) -> None:
        """Hand frames to the controller of the bus."""
        if self.arm.host.off:
            raise LinkError("the CAN interface is bus-off: its frames were not acknowledged")
        for frame in frames:
            self.arm.advance(self.arm.now_ns + self._host_ns)
            self.arm.send(frame)

    def receive(self, timeout: float) -> CanFrame | None:
        """The next frame; simulates until it is there, or for ``timeout`` [s]."""
        arm = self.arm
        end_ns = arm.now_ns + round(1e9 * timeout)
        while not arm.received and arm.now_ns < end_ns:
            next_ns = arm.line.next_ns()
            due_ns = arm.due_ns
            if next_ns is not None:
                due_ns = min(due_ns, max(next_ns, arm.now_ns + 1))
            arm.advance(min(end_ns, due_ns))
        if not arm.received:
            return None
        arm.advance(arm.now_ns + self._host_ns)
        return arm.received.popleft()[1]

    def now_ns(self) -> int:
        """Time of the simulation, [ns]."""
        return self.arm.now_ns

    def close(self) -> None:
        """Nothing to release."""


class PythonCanWire:
    """A bus that python-can opens.

    Args:
        interface: of python-can, such as ``socketcan`` or ``slcan``.
        channel: such as ``can0``, ``/dev/ttyACM0`` or a multicast group.
        bit_rate: [bit/s].
        data_bit_rate: of FD frames, [bit/s].

    Raises:
        Mismatch: python-can is not installed.
        FileError: the channel cannot be opened.
    """

    def __init__(
        self,
        interface: str,
        channel: str,
        bit_rate: int = 1_000_000,
        data_bit_rate: int = 5_000_000,
    ) -> None:
        self.fd = interface in FD_INTERFACES
        self._can, self._bus = open_bus(interface, channel, bit_rate, data_bit_rate)

    def send(self, *frames: CanFrame) -> None:
        """Send frames."""
        try:
            for frame in frames:
                self._bus.send(to_message(self._can, frame))
        except (self._can.CanError, OSError) as error:
            raise LinkError(f"the CAN interface sends nothing: {describe_error(error)}") from None

    def receive(self, timeout: float) -> CanFrame | None:
        """The next frame with a standard identifier and data."""
        end = time.monotonic() + timeout
        while True:
            try:
                message = self._bus.recv(max(0.0, end - time.monotonic()))
            except (self._can.CanError, OSError, ValueError) as error:
                text = f"the CAN interface receives nothing: {describe_error(error)}"
                raise LinkError(text) from None
            if message is None:
                return None
            if not (message.is_error_frame or message.is_remote_frame or message.is_extended_id):
                return CanFrame(message.arbitration_id, bytes(message.data), message.is_fd)

    def now_ns(self) -> int:
        """The monotonic clock, [ns]."""
        return time.monotonic_ns()

    def close(self) -> None:
        """Close the bus."""
        self._bus.shutdown()


def open_wire(interface: str, channel: str, bit_rate: int, data_bit_rate: int) -> CanWire:
    """The bus of a real or served arm."""
    if interface == "slcan":
        return SlcanWire(channel, bit_rate)
    return PythonCanWire(interface, channel, bit_rate, data_bit_rate)


def to_message(can: Any, frame: CanFrame) -> Any:
    """A frame as python-can has it; ``can`` is its module."""
    return can.Message(
        arbitration_id=frame.id,
        data=frame.data,
        is_extended_id=False,
        is_fd=frame.fd,
        bitrate_switch=frame.fd,
    )


def open_bus(
    interface: str, channel: str, bit_rate: int = 1_000_000, data_bit_rate: int = 5_000_000
) -> tuple[Any, Any]:
    """The module ``can`` and a bus of it."""
    try:
        import can
    except ImportError:
        raise Mismatch("CAN needs python-can: pip install 'farhand[can]'") from None
    text = f"cannot open the CAN bus {interface}:{channel}"
    if interface not in can.VALID_INTERFACES:
        known = ", ".join(INTERFACES)
        raise FileError(
            f"{text}: python-can has no interface {interface!r}, but {known} and others"
        )
    if interface == "udp_multicast" and not _is_group(channel):
        raise BadValue(f"{text}: it is no multicast address; use one such as {GROUP}")
    options: dict[str, Any] = {"fd": True} if interface in ("socketcan", "udp_multicast") else {}
    try:
        bus = can.Bus(channel=channel, interface=interface, **options)
        if interface == "udp_multicast":
            _only_own_group(bus.fileno(), channel)
    except (can.CanError, OSError, ValueError, ImportError) as error:
        reason = isinstance(error, OSError) and error.strerror
        raise FileError(f"{text}: {reason or describe_error(error)}") from None
    return can, bus


def _is_group(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_multicast
    except ValueError:
        return False


def _only_own_group(file: int, group: str) -> None:
    """Let a socket receive its own group, and not what any program on this machine has joined.

    Else the motors of two simulated arms, in two groups, obey the commands for either.
    """
    six = ":" in group
    family, level = (
        (socket.AF_INET6, socket.IPPROTO_IPV6) if six else (socket.AF_INET, socket.IPPROTO_IP)
    )
    if sys.platform == "linux":
        with socket.fromfd(file, family, socket.SOCK_DGRAM) as own:
            own.setsockopt(level, IPV6_MULTICAST_ALL if six else IP_MULTICAST_ALL, 0)

"""How a program reaches a CAN bus: by python-can, or in virtual time on a simulated one."""

from __future__ import annotations

import time
from typing import Any, Protocol

from farhand.errors import FileError, LinkError, Mismatch, describe_error
from farhand.plants.damiao.line import CanFrame
from farhand.plants.damiao.simulated import SimulatedArm

INTERFACES = ("socketcan", "slcan", "udp_multicast", "virtual")
"""Interfaces of python-can that Farhand knows how to open; it passes others on as they are."""

FD_INTERFACES = ("socketcan", "udp_multicast", "virtual")
"""Those on which frames are FD frames."""


class Wire(Protocol):
    """A CAN interface: frames out, frames in, and the time."""

    fd: bool  #: whether frames are to be FD frames

    def send(self, frame: CanFrame) -> None:
        """Send a frame; LinkError if the interface refuses."""

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
    """

    def __init__(self, arm: SimulatedArm, fd: bool = True) -> None:
        self.arm, self.fd = arm, fd

    def send(self, frame: CanFrame) -> None:
        """Hand a frame to the controller of the bus."""
        if self.arm.host.off:
            raise LinkError("the CAN interface is bus-off: its frames were not acknowledged")
        self.arm.send(frame)

    def receive(self, timeout: float) -> CanFrame | None:
        """The next frame; simulates until it is there, or for ``timeout`` [s]."""
        arm = self.arm
        end_ns = arm.now_ns + round(1e9 * timeout)
        while not arm.received and arm.now_ns < end_ns:
            next_ns = arm.line.next_ns()
            step_ns = arm.world.now_ns + arm.world.step_ns
            due_ns = step_ns if next_ns is None else min(step_ns, max(next_ns, arm.now_ns + 1))
            arm.advance(min(end_ns, due_ns))
        return arm.received.popleft()[1] if arm.received else None

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

    def send(self, frame: CanFrame) -> None:
        """Send a frame."""
        message = self._can.Message(
            arbitration_id=frame.id,
            data=frame.data,
            is_extended_id=False,
            is_fd=frame.fd,
            bitrate_switch=frame.fd,
        )
        try:
            self._bus.send(message)
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


def open_bus(
    interface: str, channel: str, bit_rate: int = 1_000_000, data_bit_rate: int = 5_000_000
) -> tuple[Any, Any]:
    """The module ``can`` and a bus of it."""
    try:
        import can
    except ImportError:
        raise Mismatch("CAN needs python-can: pip install 'farhand[can]'") from None
    options: dict[str, Any] = {}
    if interface == "slcan":
        # a virtual port answers at once; an adaptor's own start-up takes less than this
        options |= {"bitrate": bit_rate, "sleep_after_open": 0.2}
    elif interface in ("socketcan", "udp_multicast"):
        options["fd"] = True
    try:
        return can, can.Bus(channel=channel, interface=interface, **options)
    except (can.CanError, OSError, ValueError, ImportError) as error:
        text = f"cannot open the CAN bus {interface}:{channel}"
        raise FileError(f"{text}: {describe_error(error)}") from None

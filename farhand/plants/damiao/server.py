"""The simulated bus for real clients: as a serial adaptor on a pseudo-terminal, or by multicast."""

from __future__ import annotations

import os
import select
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from farhand.errors import BadValue
from farhand.plants.damiao.line import CanFrame
from farhand.plants.damiao.simulated import SimulatedCanArm
from farhand.plants.damiao.slcan import decode_line, encode_line, split_lines
from farhand.plants.damiao.wires import GROUP, open_bus, to_message
from farhand.plants.terminal import Terminal

IDLE_NS = 1_000_000
"""Longest wait for a client between two steps of the simulation, [ns]."""

MAX_BEHIND_NS = 50_000_000
"""How far the simulation may be behind the clock before it gives the time up, [ns]."""


KNOWN = {"V": b"V1013\r", "N": b"NFARH\r", "F": b"F00\r"}
"""Answers of a serial adaptor: version, serial number, state."""


class Adaptor(Protocol):
    """What clients see of the bus."""

    where: str  #: how clients reach it

    def read(self, timeout: float) -> list[CanFrame]:
        """Frames of clients, waited for at most ``timeout`` [s]."""

    def write(self, frame: CanFrame) -> None:
        """Show a frame to clients."""

    def close(self) -> None:
        """Take it away."""


class SlcanAdaptor:
    """A serial CAN adaptor, in the text protocol of Lawicel, on a pseudo-terminal.

    It sends frames while a client has opened its channel, and no acknowledgements of commands, as
    the firmware of CANable adaptors.

    Args:
        path: of a symbolic link to the terminal, or empty for none.
    """

    def __init__(self, path: str = "") -> None:
        self._terminal = Terminal(Path(path) if path else None)
        self._master = self._terminal.master
        os.set_blocking(self._master, False)
        self.where = path or self._terminal.path
        self._text, self._open = b"", False

    def read(self, timeout: float) -> list[CanFrame]:
        """Frames of whole lines; other lines are obeyed."""
        if not select.select([self._master], [], [], max(0.0, timeout))[0]:
            return []
        try:
            self._text += os.read(self._master, 1 << 16)
        except OSError:
            return []
        lines, self._text = split_lines(self._text)
        found = [self._obey(line) for line in lines]
        return [frame for frame in found if frame is not None]

    def write(self, frame: CanFrame) -> None:
        """A frame as a line, if a client has opened the channel."""
        if self._open:
            self._say(encode_line(frame))

    def close(self) -> None:
        """Remove the link and close the terminal."""
        self._terminal.close()

    def _say(self, raw: bytes) -> None:
        try:
            os.write(self._master, raw)
        except BlockingIOError:
            # nobody reads: a real adaptor loses frames as well
            pass

    def _obey(self, line: bytes) -> CanFrame | None:
        kind = line[:1].decode("latin-1")
        if kind in ("O", "L", "C"):
            self._open = kind != "C"
        elif kind in KNOWN:
            self._say(KNOWN[kind])
        elif kind in ("t", "d", "b") and self._open:
            try:
                return decode_line(line)
            except BadValue:
                self._say(b"\a")
        elif kind not in ("", "S", "s", "Y", "Z", "T", "D", "B", "r", "R"):
            self._say(b"\a")
        return None


class BusAdaptor:
    """A bus that python-can opens, such as ``virtual``: what is sent there is sent to the motors.

    Args:
        interface: of python-can.
        channel: of it.
    """

    def __init__(self, interface: str, channel: str) -> None:
        self.where = channel
        self._can, self._bus = open_bus(interface, channel)
        # some return what was sent to them
        self._own: deque[CanFrame] = deque(maxlen=256)

    def read(self, timeout: float) -> list[CanFrame]:
        """Frames of clients with standard identifiers."""
        found = []
        try:
            message = self._bus.recv(max(0.0, timeout))
            while message is not None:
                if not (message.is_extended_id or message.is_remote_frame):
                    data = bytes(message.data)
                    frame = CanFrame(message.arbitration_id, data, message.is_fd)
                    if frame in self._own:
                        self._own.remove(frame)
                    else:
                        found.append(frame)
                message = self._bus.recv(0.0)
        except self._can.CanError:
            # not a frame: somebody else uses the group
            pass
        return found

    def write(self, frame: CanFrame) -> None:
        """Show a frame to clients."""
        self._own.append(frame)
        self._bus.send(to_message(self._can, frame))

    def close(self) -> None:
        """Close the bus."""
        self._bus.shutdown()


class MulticastAdaptor(BusAdaptor):
    """A group on the network that clients of python-can join as ``udp_multicast``.

    Args:
        group: its address.
    """

    def __init__(self, group: str = "") -> None:
        super().__init__("udp_multicast", group or GROUP)


ADAPTORS: dict[str, Callable[[str], Adaptor]] = {
    "slcan": SlcanAdaptor,
    "udp_multicast": MulticastAdaptor,
}
"""What can-sim offers, by the name of the interface in python-can."""


class MotorServer:
    """Runs a simulated arm in wall time for the clients of an adaptor.

    Attributes:
        heard: frames of clients.
        lost_ns: time that the simulation gave up because the machine was too slow, [ns].
    """

    def __init__(self, arm: SimulatedCanArm, adaptor: Adaptor) -> None:
        self.arm, self.adaptor = arm, adaptor
        self.heard = self.lost_ns = 0

    def run(self, seconds: float = float("inf"), going: Callable[[], bool] = lambda: True) -> None:
        """Run for ``seconds`` [s] of simulated time, or until ``going`` is false."""
        arm, adaptor = self.arm, self.adaptor
        end_ns = arm.now_ns + seconds * 1e9
        zero_ns = time.monotonic_ns() - arm.now_ns
        while arm.now_ns < end_ns and going():
            now_ns = time.monotonic_ns() - zero_ns
            behind_ns = now_ns - arm.now_ns
            if behind_ns > MAX_BEHIND_NS:
                self.lost_ns += behind_ns - MAX_BEHIND_NS
                zero_ns += behind_ns - MAX_BEHIND_NS
                now_ns = arm.now_ns + MAX_BEHIND_NS
            arm.advance(now_ns)
            while arm.received:
                adaptor.write(arm.received.popleft()[1])
            next_ns = arm.line.next_ns()
            wait_ns = IDLE_NS if next_ns is None else min(IDLE_NS, next_ns - now_ns)
            for frame in adaptor.read(wait_ns * 1e-9):
                self.heard += 1
                arm.host.put(frame, max(arm.now_ns, time.monotonic_ns() - zero_ns))

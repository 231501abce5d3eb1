"""A CAN bus in virtual time: bits on the wire, arbitration, errors and bus-off.

Frames have standard identifiers and at most eight bytes. Of a damaged frame the sender hears at
once, sends it again, and leaves the bus when it has failed too often, as ISO 11898-1 says.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

BUS_OFF = 256
"""Value of a sender's error counter at which it leaves the bus."""

ERROR_BITS = 20
"""Error flag, echo of the others (at least six more bits each) and delimiter, about."""

CRC15 = 0x4599
AFTER_CRC = 13
"""Bits after the checksum: its delimiter, two for the acknowledgement, seven at the end, three
between frames."""


@dataclass(frozen=True)
class CanFrame:
    """A frame with a standard identifier."""

    id: int
    data: bytes
    fd: bool = False  #: whether it is an FD frame, whose data are sent at the data bit rate


def _stuff(state: int, bit: int) -> int:
    """Go on by a bit: how many are inserted times 16, the last one times 8, and how often it was.

    One is inserted after every five alike, and counts for the next.
    """
    inserted, last, run = state >> 4, state >> 3 & 1, state & 7
    run = run + 1 if bit == last else 1
    if run == 5:
        inserted, bit, run = inserted + 1, 1 - bit, 1
    return inserted << 4 | bit << 3 | run


def _check(crc: int, bit: int) -> int:
    """Go on by a bit: the checksum so far."""
    return crc << 1 & 0x7FFF ^ (CRC15 if bit ^ crc >> 14 else 0)


def _bytewise(advance: Callable[[int, int], int], state: int) -> list[int]:
    """What each byte does to a state."""
    return [
        functools.reduce(advance, [byte >> place & 1 for place in range(7, -1, -1)], state)
        for byte in range(256)
    ]


# a simulated bus counts the bits of 8000 frames a second, so it goes by bytes
STUFF = [_bytewise(_stuff, state) for state in range(16)]
CRC = _bytewise(_check, 0)


def stuff_bits(count: int, value: int) -> int:
    """How many bits a sender inserts into these, of which the first is zero."""
    # in front, to whole bytes: bits that alternate and end in a one change nothing
    pad = -count % 8
    value |= (0x55 & (1 << pad) - 1) << count
    state = 8
    for byte in value.to_bytes((count + pad) // 8, "big"):
        state = (state & ~0xF) + STUFF[state & 0xF][byte]
    return state >> 4


def checksum(count: int, value: int) -> int:
    """The checksum of 15 bits of a classic frame."""
    crc = 0
    for byte in value.to_bytes((count + 7) // 8, "big"):
        crc = crc << 8 & 0x7FFF ^ CRC[crc >> 7 ^ byte]
    return crc


def frame_bits(frame: CanFrame) -> tuple[int, int]:
    """Bits of a frame at the bit rate and at the data bit rate, with those inserted and the gap."""
    size = len(frame.data)
    body, count = size << 8 * size | int.from_bytes(frame.data, "big"), 4 + 8 * size
    if not frame.fd:
        # start, identifier, remote request, identifier extension, reserved
        value, count = frame.id << 3 + count | body, 15 + count
        value, count = value << 15 | checksum(count, value), count + 15
        return count + stuff_bits(count, value) + AFTER_CRC, 0
    # start, identifier, remote request, extension, FD format, reserved, rate switch
    head = frame.id << 5 | 0b00101
    # error state, length, data; then the count of inserted bits and 17 of checksum, with a fixed
    # bit before every four
    before, whole = stuff_bits(17, head), stuff_bits(18 + count, head << 1 + count | body)
    return 17 + before + AFTER_CRC, 1 + count + whole - before + 4 + 17 + 6


class CanNode:
    """One participant of a bus.

    Args:
        name: for messages.
        receive: called with every frame of others, and the time at its end, [ns].

    Attributes:
        waiting: frames to be sent, each with the time from which it may be, [ns].
        errors: the counter of its failures to send.
        sent: how many of its frames were sent.
    """

    def __init__(self, name: str, receive: Callable[[CanFrame, int], None]) -> None:
        self.name, self.receive = name, receive
        self.waiting: list[tuple[int, CanFrame]] = []
        self.errors = self.sent = 0
        self.off_ns: int | None = None  #: when it left the bus, or None

    @property
    def off(self) -> bool:
        """Whether it has left the bus."""
        return self.off_ns is not None

    def put(self, frame: CanFrame, ready_ns: int) -> None:
        """Let it send a frame from ``ready_ns``; after bus-off it sends nothing."""
        if not self.off:
            self.waiting.append((ready_ns, frame))


class CanLine:
    """The wire between the nodes.

    Args:
        bit_rate: of arbitration, and of everything in classic frames, [bit/s].
        data_bit_rate: of the data in FD frames, [bit/s].
        rng: draws which frames are damaged.

    Attributes:
        noise: share of frames that are damaged; 1 for a short circuit.
        busy_ns: how long the bus was busy so far, [ns].
        damaged: how many frames were damaged.
    """

    def __init__(
        self, bit_rate: int, data_bit_rate: int, rng: np.random.Generator | None = None
    ) -> None:
        self._bit_ns, self._data_bit_ns = 1e9 / bit_rate, 1e9 / data_bit_rate
        self._rng = rng or np.random.default_rng(0)
        self.nodes: list[CanNode] = []
        self.noise, self.busy_ns, self.damaged = 0.0, 0, 0
        self._free_ns = 0
        self._sending: tuple[CanNode, CanFrame, int, bool] | None = None

    def frame_ns(self, frame: CanFrame) -> int:
        """Time of a frame on the bus, [ns]."""
        bits, data_bits = frame_bits(frame)
        return round(bits * self._bit_ns + data_bits * self._data_bit_ns)

    def next_ns(self) -> int | None:
        """When something happens next, [ns]; None while nobody has anything to send."""
        if self._sending is not None:
            return self._sending[2]
        ready = [ready for node in self.nodes for ready, _ in node.waiting]
        return max(self._free_ns, min(ready)) if ready else None

    def advance(self, to_ns: int) -> None:
        """Let happen what happens until ``to_ns``."""
        due_ns = self.next_ns()
        while due_ns is not None and due_ns <= to_ns:
            if self._sending is None:
                self._arbitrate(due_ns)
            else:
                self._finish()
            due_ns = self.next_ns()

    def _arbitrate(self, now_ns: int) -> None:
        """Begin the frame with the smallest identifier of those that may be sent."""
        ready = [
            (frame.id, ready_ns, number, frame)
            for number, node in enumerate(self.nodes)
            for ready_ns, frame in node.waiting
            if ready_ns <= now_ns
        ]
        id, ready_ns, number, frame = min(ready, key=lambda one: one[:3])
        others = {one[2] for one in ready if one[0] == id and one[3].data != frame.data}
        length_ns = self.frame_ns(frame)
        # two nodes with the same identifier win both, and destroy each other's data
        damaged = bool(others - {number}) or (
            self.noise > 0.0 and bool(self._rng.random() < self.noise)
        )
        if damaged:
            length_ns = round(length_ns * self._rng.uniform(0.2, 0.9) + ERROR_BITS * self._bit_ns)
            for other in others - {number}:
                self._fail(self.nodes[other], now_ns + length_ns)
        node = self.nodes[number]
        if not damaged:
            node.waiting.remove((ready_ns, frame))
        self.busy_ns += length_ns
        self._free_ns = now_ns + length_ns
        self._sending = (node, frame, self._free_ns, damaged)

    def _finish(self) -> None:
        assert self._sending is not None
        node, frame, end_ns, damaged = self._sending
        self._sending = None
        if damaged:
            self.damaged += 1
            self._fail(node, end_ns)
            return
        node.sent += 1
        node.errors = max(0, node.errors - 1)
        for other in self.nodes:
            if other is not node and not other.off:
                other.receive(frame, end_ns)

    def _fail(self, node: CanNode, now_ns: int) -> None:
        node.errors += 8
        if node.errors >= BUS_OFF and not node.off:
            node.off_ns = now_ns
            node.waiting.clear()

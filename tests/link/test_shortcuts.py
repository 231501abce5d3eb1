"""Shortcuts: what nearly every datagram takes on its way in changes the time it takes and nothing
else.
"""

from __future__ import annotations

import json
import struct
from collections import deque

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from farhand.link.endpoint import ClockOffset, Endpoint
from farhand.link.line import Line
from farhand.link.packet import Flag, Packet
from farhand.link.seal import HEADER_BYTES, HELLO, SHORTEST, STATE, Seal

KEY, TERMS = bytes(range(32)), {"rig": "shortcuts"}
GREETING = json.dumps(TERMS).encode()
START, SKEW = b"one start of us.", 123_456_789  # [-], of the sender's clock [ns]
FLAGS_AT = 56  # in a packet [bytes]


class LongWaySeal(Seal):
    """Opens every datagram as if it were out of the ordinary."""

    def open(self, datagram):
        """Without asking whether it follows on the newest."""
        if len(datagram) < SHORTEST:
            return super().open(datagram)
        names, counter = bytes(datagram[:40]), int.from_bytes(datagram[40:HEADER_BYTES], "little")
        return self._open_other(names, counter, datagram[HEADER_BYTES:])


class LongWayPacket(Packet):
    """Has numpy judge every number."""

    __slots__ = ()

    def load(self, data, newer_than=-1):
        """Whatever their top bytes are."""
        if len(data) == self.size:
            self._check_finite(data, *struct.unpack_from("<I", data, FLAGS_AT))
        return super().load(data, newer_than)


class LongWayOffset(ClockOffset):
    """Is told of every echo."""

    least_ns = property(lambda self: 1 << 62, lambda self, value: None)


class Inbox:
    """A wire that only brings."""

    def __init__(self) -> None:
        self.waiting: deque[bytes] = deque()
        self.receive = lambda: self.waiting.popleft() if self.waiting else None
        self.send = self.reply = lambda datagram: None
        self.confirm = self.close = lambda: None


def receivers(sender: Seal) -> list[tuple[Endpoint, Line]]:
    """Two ends that have agreed with a sender, the second without shortcuts; both are the same
    start of it.
    """
    ends = []
    for seal_type, packet_type in ((Seal, Packet), (LongWaySeal, LongWayPacket)):
        line = Line(Inbox(), seal_type(KEY, "follower", START), TERMS)
        endpoint = Endpoint(Packet(2, 2), packet_type(2, 2), line, line)
        endpoint.connect(line, line, shared_clock=False)
        ends.append((endpoint, line))
    sender.open(ends[0][1].seal.close(HELLO, GREETING))
    greeting = sender.close(HELLO, GREETING)
    for endpoint, line in ends:
        line.wire.waiting.append(greeting)
        endpoint.receive(0)
        assert (line.agreed, line.generation, endpoint.generation) == (True, 1, 1)
    sender.open(ends[0][1].seal.close(HELLO, GREETING))
    assert sender.live is not None
    ends[1][0].offset = LongWayOffset()
    return ends


def spoil(packet: Packet, how: str, place: int) -> bytes:
    """The bytes of a packet, with one thing out of the ordinary in them."""
    data = bytearray(packet.to_bytes())
    numbers = np.frombuffer(data, "<f8", offset=72)
    if how in ("nan", "inf", "-inf", "1.7e308", "-1e303"):
        numbers[place % len(numbers)] = float(how)
    elif how == "turned":
        numbers[place % 8] += 0.5
    elif how == "flags":
        data[FLAGS_AT + 2] = 1
    elif how == "other":
        data[place % 24] ^= 1
    return bytes(data)


ORDINARY = ["next"] * 6
CONTENT = ["nan", "inf", "-inf", "1.7e308", "-1e303", "turned", "flags", "other", "short"]
ON_THE_WAY = ["lost", "again", "forged", "cut", "overtaken", "greeting", "garbage"]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(ORDINARY + CONTENT + ON_THE_WAY),
        st.integers(0, 2000),  # place of whatever is done
        st.integers(0, 3_000_000),  # how long the echo took, [ns]
        # until the next receive, [ns]
        st.sampled_from([0, 0, 1_000_000, 400_000_000, 9_000_000_000, -5_000_000]),
        st.booleans(),  # whether both receive now
    ),
    max_size=60,
)


def seen(endpoint: Endpoint, line: Line) -> list[object]:
    """Everything there is to know of what has come in."""
    offset, live = endpoint.offset, line.seal.live
    assert offset is not None
    assert live is not None
    clock = offset.offset_ns, offset.shortest_ns, offset._delays, offset._offsets
    window = endpoint._newest, endpoint._first, endpoint._seen, live.newest, live.opened
    content = endpoint.incoming.to_bytes(), endpoint.statistics, line.seal.counts
    return [
        *content,
        *clock,
        *window,
        endpoint.round_trip_ns,
        endpoint.generation,
        line.refusal,
        line.agreed,
    ]


@settings(max_examples=120, deadline=None)
@given(STEPS)
def test_the_short_way_and_the_long_way_end_at_the_same_place(steps):
    """Whatever is lost, doubled, late, forged, cut or not a number: content, counts, books, windows
    and clock.
    """
    leader, packet, now_ns, late = Seal(KEY, "leader"), Packet(2, 2), 10_000_000_000, []
    ends = receivers(leader)
    sent = [leader.close(STATE, packet.to_bytes())]
    for what, place, took_ns, wait_ns, receive in steps:
        packet.sequence, packet.time_ns = packet.sequence + 1, now_ns + SKEW
        packet.flags, packet.echo_time_ns = Flag.ECHO * (place % 5 > 0), now_ns - took_ns
        packet.echo_age_ns, packet.mode, packet.q = place * 400, place, float(place)
        content = spoil(packet, what, place)[: place if what == "short" else None]
        datagram = (
            leader.close(HELLO, GREETING) if what == "greeting" else leader.close(STATE, content)
        )
        arriving = on_the_way(what, place, datagram, sent, late)
        sent.append(datagram)
        for _, line in ends:
            line.wire.waiting.extend(arriving)
        if receive:
            now_ns += wait_ns
            short, long = (endpoint.receive(now_ns) for endpoint, _ in ends)
            assert short == long
            assert seen(*ends[0]) == seen(*ends[1])
    for endpoint, _ in ends:  # and the ordinary is heard
        assert endpoint.statistics.received >= any(
            what == "next" and receive for what, *_, receive in steps
        )


def on_the_way(
    what: str, place: int, datagram: bytes, sent: list[bytes], late: list[bytes]
) -> list[bytes]:
    """What arrives when a datagram is sent; what is overtaken comes after the next that is not."""
    if what == "lost":
        return []
    if what == "again":
        return [datagram, [*sent, datagram][-1 - place % (len(sent) + 1)]]
    if what == "forged":
        return [
            datagram[: (at := place % len(datagram))]
            + bytes([datagram[at] ^ 1])
            + datagram[at + 1 :]
        ]
    if what == "cut":
        return [datagram[: place % len(datagram)]]
    if what == "garbage":
        return [b"\xff" * place]
    if what == "overtaken":
        late.append(datagram)
        return []
    come = [datagram, *late]
    late.clear()
    return come

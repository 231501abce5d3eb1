"""The line: two sides that hold the key and run the same get to hear each other, and nobody else
does.
"""

from __future__ import annotations

from collections import deque

import pytest

from farhand.link.line import MAX_DATAGRAMS, Line
from farhand.link.seal import HELLO, MAGIC, STATE, Seal

KEY = bytes(range(32))
TERMS = {"version": "2", "rig": "dual-arm", "law": "position-force", "layer": "none"}
MS = 1_000_000  # [ns]


class Box:
    """A wire whose two ends are queues."""

    def __init__(self, out: deque[bytes], back: deque[bytes]) -> None:
        self.send = self.reply = out.append
        self.back, self.confirmed = back, 0

    def receive(self) -> bytes | None:
        """The next."""
        return self.back.popleft() if self.back else None

    def confirm(self) -> None:
        """Count."""
        self.confirmed += 1

    def close(self) -> None:
        """Nothing."""


def lines(terms: dict[str, str] = TERMS, key: bytes = KEY) -> tuple[Line, Line]:
    """A leader with the usual terms and key, and a follower with these."""
    there: deque[bytes] = deque()
    back: deque[bytes] = deque()
    return Line(Box(there, back), Seal(KEY, "leader"), TERMS), Line(
        Box(back, there), Seal(key, "follower"), terms
    )


def talk(a: Line, b: Line, ticks: int = 10, start: int = 0) -> tuple[list[bytes], list[bytes]]:
    """What each hears of the other in so many ticks."""
    heard: tuple[list[bytes], list[bytes]] = [], []
    for tick in range(start, start + ticks):
        for line, ears, word in ((a, heard[0], b"a"), (b, heard[1], b"b")):
            ears += line.receive(tick * MS)
            line.send(tick * MS, word)
    return heard


def test_two_that_agree_hear_each_other_within_a_few_ticks():
    """And only then."""
    a, b = lines()
    heard = talk(a, b)
    assert (a.agreed, b.agreed, a.generation, b.generation) == (True, True, 1, 1)
    assert set(heard[0]) == {b"b"}
    assert set(heard[1]) == {b"a"}
    assert len(heard[0]) >= 6


@pytest.mark.parametrize("name", ["rig", "law", "layer", "version"])
def test_terms_that_differ_are_refused_by_name(name):
    """Both sides say which, with both values, and neither hears a packet."""
    a, b = lines({**TERMS, name: "another"})
    assert talk(a, b, 20) == ([], [])
    assert (
        a.refusal
        == f"the other side has {name} 'another', this one {TERMS[name]!r}: start both alike"
    )
    assert name in (b.refusal or "")
    assert not a.agreed


def test_the_more_basic_difference_is_named_first():
    """A different rig makes its law beside the point."""
    a, b = lines({**TERMS, "law": "x", "rig": "y", "aaa": "z"})
    talk(a, b)
    assert "rig 'y'" in (a.refusal or "")


def test_another_key_is_silence():
    """No greeting, no packet, no agreement; what came is counted as forged."""
    a, b = lines(key=bytes(32))
    assert talk(a, b, 300) == ([], [])
    assert (a.agreed, b.agreed) == (False, False)
    assert b.seal.counts.forged > 0


def test_a_peer_that_starts_again_is_a_new_generation_and_must_agree_anew():
    """What the old one sent is not taken for the new one's."""
    a, b = lines()
    talk(a, b)
    again = Line(a.wire, Seal(KEY, "leader"), {**TERMS, "law": "none"})
    assert talk(again, b, 30, 10)[1] == []
    assert b.generation == 2
    assert not b.agreed
    third = Line(a.wire, Seal(KEY, "leader"), TERMS)
    assert set(talk(third, b, 30, 40)[1]) == {b"a"}
    assert (b.generation, b.agreed, b.refusal) == (3, True, None)


def test_only_the_peer_decides_where_answers_go():
    """Strangers are not confirmed."""
    a, b = lines()
    talk(a, b)
    before = b.wire.confirmed
    b.wire.back.extend([b"", MAGIC + bytes(100), Seal(bytes(32), "leader").close(STATE, b"x")])
    b.receive(0)
    assert b.wire.confirmed == before


def test_a_flood_takes_a_bounded_share_of_a_tick_and_the_peer_is_still_heard():
    """At most so many datagrams are looked at; the rest wait."""
    a, b = lines()
    talk(a, b)
    stranger = Seal(bytes(32), "leader")
    flood = [stranger.close(HELLO, b"")] * 100
    b.wire.back.extend(flood)
    a.send(10 * MS, b"through")
    assert b"through" in b.receive(10 * MS)
    b.wire.back.extend(flood * 3)
    b.receive(11 * MS)
    assert len(b.wire.back) == 300 - MAX_DATAGRAMS


def test_a_greeting_that_is_no_greeting_is_refused():
    """A peer with the key and another program."""
    a, b = lines()
    talk(a, b)
    b.wire.send(b.seal.close(HELLO, b"[1, 2"))
    a.receive(0)
    assert "does not understand" in (a.refusal or "")

"""The line: two sides that hold the key and run the same get to hear each other, and nobody else
does.
"""

from __future__ import annotations

import time
from collections import deque

import pytest

from farhand.link.line import MAX_DATAGRAMS, SILENCE_NS, Line
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
    again = Line(a.wire, Seal(KEY, "leader"), TERMS)
    assert set(talk(again, b, 30, 10)[1]) == {b"a"}
    assert (b.generation, b.agreed, b.refusal) == (2, True, None)


def test_another_leader_with_other_terms_does_not_cut_off_the_first():
    """It is refused by name, and the follower goes on with the one it agreed with."""
    a, b = lines()
    talk(a, b)
    there: deque[bytes] = deque()
    other = Line(Box(b.wire.back, there), Seal(KEY, "leader"), {**TERMS, "law": "none"})
    before = b.seal.live
    for tick in range(10, 60):
        # Both leaders hear what the follower sends.
        sent = len(a.wire.back)
        b.receive(tick * MS)
        b.send(tick * MS, b"b")
        there.extend(list(a.wire.back)[sent:])
        for line in (a, other):
            line.receive(tick * MS)
            line.send(tick * MS, b"a")
    assert "law 'position-force'" in (other.refusal or "")
    assert b.seal.live is before
    assert (b.generation, b.agreed, b.refusal) == (1, True, None)
    assert b.seal.counts.declined > 0
    assert set(talk(a, b, 10, 60)[1]) == {b"a"}


def ahead(a: Line, b: Line) -> Line:
    """A leader whose clock is an hour ahead, coupled to the follower in the place of ``a``."""
    hour = time.time_ns() + 3600 * 1_000_000_000
    first = Line(a.wire, Seal(KEY, "leader", hour.to_bytes(8, "big") + bytes(8)), TERMS)
    assert set(talk(first, b)[1]) == {b"a"}
    return first


def test_a_leader_with_a_clock_ahead_does_not_lock_out_the_next():
    """Once it has gone, one with a right clock takes over, and the old one's past stays shut."""
    a, b = lines()
    first = ahead(a, b)
    recorded = [first.seal.close(STATE, b"old") for _ in range(3)]
    second = Line(a.wire, Seal(KEY, "leader"), TERMS)
    gone = 10 + SILENCE_NS // MS + 1
    assert set(talk(second, b, 30, gone)[1]) == {b"a"}
    assert (second.agreed, b.generation) == (True, 2)
    b.wire.back.extend(recorded)
    assert b"old" not in b.receive((gone + 30) * MS)
    assert b.seal.live.epoch == second.seal.epoch


def test_a_leader_that_is_turned_away_for_its_clock_is_told():
    """While the one with the greater epoch is there; its recording does not bring it in later."""
    a, b = lines()
    first = ahead(a, b)
    late = Line(a.wire, Seal(KEY, "leader"), TERMS)
    said: list[bytes] = []
    # long after the start, but not after the leader was last heard
    for tick in range(5000, 5020):
        for line in (first, late):
            line.send(tick * MS, b"a")
            said += b.wire.back
            b.receive(tick * MS)
            late.receive(tick * MS)
    assert (late.refusal or "").startswith("it already has a leader whose clock is ahead")
    assert b"already has a follower whose" in first._busy
    assert b.seal.live.epoch == first.seal.epoch
    b.wire.back.extend([*said, late.seal.close(HELLO, b"{}")])
    b.receive(5020 * MS + 2 * SILENCE_NS)
    assert b.seal.live.epoch == first.seal.epoch


def test_a_follower_sends_no_state_before_the_leader_has():
    """A leader slow from its greeting to its first tick would read states that are old by then."""
    a, b = lines()
    for tick in range(10):
        a.greet()
        a.receive(tick * MS)
        b.receive(tick * MS)
        b.send(tick * MS, b"b")
    assert (a.agreed, b.agreed) == (True, True)
    states = 0
    for tick in range(10, 1500):
        b.receive(tick * MS)
        b.send(tick * MS, b"b")
    while a.wire.back:
        states += a.seal.open(a.wire.receive())[0] == STATE
    assert states == 0
    assert set(talk(a, b, 10, 1500)[0]) == {b"b"}


def test_only_the_peer_decides_where_answers_go():
    """Strangers are not confirmed."""
    a, b = lines()
    talk(a, b)
    before = b.wire.confirmed
    a.wire.back.clear()
    b.wire.back.extend([b"", MAGIC + bytes(100), Seal(bytes(32), "leader").close(STATE, b"x")])
    b.receive(0)
    assert b.wire.confirmed == before
    assert not a.wire.back


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


@pytest.mark.parametrize("content", [b"[1, 2", b"[" * 60_000])
def test_a_greeting_that_is_no_greeting_is_refused(content):
    """A peer with the key and another program."""
    a, b = lines()
    talk(a, b)
    b.wire.send(b.seal.close(HELLO, content))
    a.receive(0)
    assert "does not understand" in (a.refusal or "")


def test_greetings_come_often_until_the_peer_has_agreed_and_then_seldom():
    """Ten in a second, then one."""
    for agrees, expected in ((False, 10), (True, 1)):
        a, b = lines()
        if agrees:
            talk(a, b, 200)
        a.wire.back.clear()
        b.wire.back.clear()
        for tick in range(200, 1200):
            a.send(tick * MS, b"a")
        # magic, role, kind
        kinds = [datagram[5] for datagram in b.wire.back]
        assert kinds.count(HELLO) == expected
        assert kinds.count(STATE) == (1000 if agrees else 0)


def test_a_start_that_this_side_does_not_know_of_is_answered_once_in_a_tick():
    """However many of its greetings have come."""
    a, b = lines()
    b.wire.back.extend(a.seal.close(HELLO, b"{}") for _ in range(5))
    b.receive(0)
    assert len(a.wire.back) == 1
    assert a.seal.open(a.wire.back[0]) is not None


def test_a_peer_that_starts_again_is_known_by_its_first_state_if_its_greeting_is_lost():
    """It sends one only to a side whose terms it has found equal; packets count once it greets."""
    a, b = lines()
    talk(a, b)
    again = Line(a.wire, Seal(KEY, "leader"), TERMS)
    again.greet()
    b.receive(10 * MS)
    again.receive(10 * MS)
    assert again.agreed
    again.send(10 * MS, b"first")
    states = [datagram for datagram in b.wire.back if datagram[5] == STATE]
    b.wire.back.clear()
    b.wire.back.extend(states)
    assert b.receive(11 * MS) == []
    assert (b.generation, b.agreed) == (2, False)
    assert b"a" in talk(again, b, 1100, 11)[1]

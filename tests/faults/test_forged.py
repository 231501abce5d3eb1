"""Packets that are not the peer's: replayed, forged, reflected and at random. None of them is ever
executed.
"""

from __future__ import annotations

import numpy as np
import pytest

from farhand.link.packet import Packet
from farhand.link.seal import HELLO, STATE, Seal

MOST = 10_000


@pytest.fixture
def apart(pair):
    """A pair that is connected and not coupled, the hand at rest, the follower still."""
    made = pair(scenario="rest", law="position-position")
    made.rigs["leader"].session.commands.clear()
    return made.on(0.3)


def hostile(made) -> bytes:
    """A packet that would couple the follower and pull it half a metre away, were it executed."""
    packet = made.end("leader").endpoint.outgoing.blank()
    packet.sequence, packet.time_ns, packet.engagement_id = 2**40, 2**60, 99
    packet.engaged = packet.deadman_held = True
    packet.tool_position = np.array([0.5, 0.5, 0.5])
    return packet.to_bytes()


def assert_nothing_happened(made, before) -> None:
    """The follower is where it was, hears its leader, and is apart."""
    made.on(0.1)
    end = made.end("follower")
    assert end.station.arm.q == pytest.approx(before, abs=1e-4)
    assert made.coupled == (0.0, 0.0)
    assert end.endpoint.incoming.sequence == pytest.approx(
        made.end("leader").endpoint.outgoing.sequence, abs=2
    )
    assert made.trips("follower") == []


@pytest.mark.parametrize("sender", ["without the key", "reflected", "bare"])
def test_a_forged_command_to_move_is_not_executed(apart, sender):
    """Whoever sends it: without the key, as the follower's own packet sent back, or not sealed at
    all.
    """
    before = apart.end("follower").station.arm.q.copy()
    content = hostile(apart)
    forgers = {
        "without the key": lambda: Seal(bytes(32), "leader").close(STATE, content),
        "reflected": lambda: apart.lines["follower"].seal.close(STATE, content),
        "bare": lambda: content,
    }
    for _ in range(50):
        apart.to_follower.inject(forgers[sender]())
    assert_nothing_happened(apart, before)
    assert apart.lines["follower"].seal.counts.refused == 50


def test_a_recorded_session_played_back_moves_nothing(pair):
    """A second of being led, recorded on the way and played back, to the same follower and to one
    started anew.
    """
    made = pair(scenario="free", law="position-position").on(1.0)
    recorded = list(made.to_follower.taps)
    made.post("leader", "release").on(0.6)
    before = made.end("follower").station.arm.q.copy()
    for datagram in recorded:
        made.to_follower.inject(datagram)
    made.on(0.2)
    assert made.lines["follower"].seal.counts.replayed >= 900
    assert made.end("follower").station.arm.q == pytest.approx(before, abs=1e-4)
    made.frozen.add("leader")
    made.start("follower")
    for datagram in recorded:
        made.to_follower.inject(datagram)
    made.on(0.2)
    assert made.lines["follower"].seal.counts.opened == 0
    assert made.end("follower").endpoint.statistics.received == 0
    assert made.coupled[1] == 0.0


def test_a_key_that_differs_is_silence_on_both_sides(pair):
    """Neither hears the other, nothing couples, and both know that something came which they cannot
    open.
    """
    made = pair(keys=(bytes(32), bytes(range(32)))).on(0.5)
    assert made.coupled == (0.0, 0.0)
    for role in ("leader", "follower"):
        assert not made.lines[role].agreed
        assert made.lines[role].seal.counts.forged > 0
        assert made.end(role).endpoint.statistics.received == 0


def test_another_law_at_the_other_side_is_refused_by_name(pair):
    """Before anything is coupled, with both names."""
    made = pair(law="position-position")
    made.start("follower", law="position-force")
    made.on(0.5)
    assert made.lines["leader"].refusal == (
        "the other side has law 'position-force', this one 'position-position': start both alike"
    )
    assert made.coupled == (0.0, 0.0)


def test_ten_thousand_fuzzed_packets_change_nothing(apart):
    """Cut, flipped, spliced and random datagrams, a hundred in every tick: all refused, the leader
    still heard.
    """
    rng, seal = np.random.default_rng(11), apart.lines["follower"].seal
    before, opened = apart.end("follower").station.arm.q.copy(), seal.counts.opened
    genuine = list(apart.to_follower.taps)[-50:]
    for _ in range(MOST // 100):
        for _ in range(100):
            apart.to_follower.inject(_mutant(genuine, rng))
        apart.on(1e-3)
    ticks = MOST // 100
    # the rest still waits: no tick looks at more than its share
    assert seal.counts.refused >= MOST - 2000
    apart.on(0.05)
    assert seal.counts.refused == MOST
    assert seal.counts.opened - opened == pytest.approx(ticks + 50, abs=3)
    assert_nothing_happened(apart, before)


def test_a_peer_with_the_key_that_sends_rubbish_is_heard_and_not_followed(apart):
    """Sealed rightly, wrong inside: ten thousand packets of wrong length, version, size or model
    are malformed.
    """
    rng, line = np.random.default_rng(12), apart.lines["leader"]
    before = apart.end("follower").station.arm.q.copy()
    right = np.frombuffer(hostile(apart), np.uint8)
    bare, endpoint = (
        Packet(6, 6, apart.end("follower").endpoint.incoming.model_hash),
        apart.end("follower").endpoint,
    )
    for number in range(MOST):
        data = right.copy()
        # version, sizes, model
        data[rng.integers(0, 24, 4)] ^= rng.integers(1, 255, 4, dtype=np.uint8)
        content = data.tobytes()[: None if number % 3 else int(rng.integers(0, len(data)))]
        if number % 100 == 0:
            apart.to_follower.inject(line.seal.close(STATE, content))
        else:  # straight to the packet, which has the last word
            with pytest.raises(Exception, match="packet"):
                bare.load(content)
    apart.to_follower.inject(line.seal.close(HELLO, b"\xff"))
    apart.on(0.01)
    assert endpoint.statistics.malformed >= MOST // 100
    assert apart.lines["follower"].refusal is not None
    assert apart.coupled == (0.0, 0.0)
    assert apart.end("follower").station.arm.q == pytest.approx(before, abs=1e-4)


def _mutant(genuine: list[bytes], rng: np.random.Generator) -> bytes:
    """A genuine datagram with bits flipped, cut short, spliced with another or made longer; or
    nothing but noise.
    """
    data = bytearray(genuine[rng.integers(len(genuine))])
    kind = rng.integers(5)
    if kind == 0:
        for place in rng.integers(0, len(data), int(rng.integers(1, 9))):
            data[place] ^= 1 << int(rng.integers(8))
        return bytes(data)
    if kind == 1:
        return bytes(data[: rng.integers(0, len(data))])
    if kind == 2:
        other, at = genuine[rng.integers(len(genuine))], int(rng.integers(41, 90))
        return bytes(data[:at]) + other[at:]
    if kind == 3:
        return bytes(data) + rng.bytes(int(rng.integers(1, 40)))
    return rng.bytes(int(rng.integers(0, 900)))

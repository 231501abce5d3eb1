"""The seal: what the peer has sealed opens once, and nothing else ever does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farhand.errors import BadValue
from farhand.link.seal import (
    EPOCH_BYTES,
    HEADER_BYTES,
    HELLO,
    STATE,
    WINDOW,
    Counts,
    Seal,
    new_epoch,
)

KEY = bytes(range(32))


def epoch(number: int) -> bytes:
    """An epoch of a given rank."""
    return number.to_bytes(EPOCH_BYTES, "big")


def met(key: bytes = KEY) -> tuple[Seal, Seal]:
    """A leader and a follower that answer each other."""
    leader, follower = Seal(key, "leader"), Seal(key, "follower")
    follower.open(leader.close(HELLO, b""))
    assert leader.open(follower.close(HELLO, b"")) == (HELLO, b"")
    assert follower.open(leader.close(HELLO, b"")) == (HELLO, b"")
    return leader, follower


@given(st.binary(max_size=700))
@settings(max_examples=30)
def test_what_one_side_seals_the_other_opens(content):
    """Any content, both ways, and it cannot be read on the way."""
    leader, follower = met()
    for sender, receiver in ((leader, follower), (follower, leader)):
        datagram = sender.close(STATE, content)
        assert receiver.open(datagram) == (STATE, content)
        if len(content) > 8:
            assert content not in datagram


def test_a_datagram_opens_once():
    """The second copy is a replay, however soon it comes."""
    leader, follower = met()
    datagram = leader.close(STATE, b"go")
    assert follower.open(datagram) is not None
    assert follower.open(datagram) is None
    assert follower.counts.replayed == 1


def test_datagrams_may_overtake_each_other_but_not_come_too_late():
    """Late ones open, once; beyond the window it cannot be told whether they did, so they do
    not.
    """
    leader, follower = met()
    sent = [leader.close(STATE, bytes([k % 256])) for k in range(WINDOW + 10)]
    assert follower.open(sent[5]) is not None
    assert follower.open(sent[3]) is not None
    assert follower.open(sent[-1]) is not None
    assert follower.open(sent[4]) is None
    assert follower.open(sent[-2]) is not None
    assert follower.open(sent[3]) is None


@given(st.lists(st.integers(1, 3 * WINDOW), max_size=60), st.integers(0, 2 * WINDOW))
@settings(max_examples=50)
def test_in_whatever_order_they_come_each_opens_once_and_only_within_the_window(numbers, ahead):
    """Numbers that share a place in the window are not taken for each other."""
    leader, follower = met()
    first = leader._counter
    newest, opened = first, {first}
    for number in (first + jump for n in numbers for jump in (n, n + ahead, n)):
        leader._counter = number - 1
        fresh = number not in opened and number > newest - WINDOW
        assert (follower.open(leader.close(STATE, b"go")) is not None) == fresh
        if fresh:
            opened.add(number)
            newest = max(newest, number)


def test_a_state_does_not_pass_for_a_greeting():
    """What a datagram is, is sealed too."""
    leader, follower = met()
    datagram = bytearray(leader.close(STATE, b"stand still"))
    datagram[5] = HELLO
    assert follower.open(datagram) is None
    assert follower.counts.forged == 1


@pytest.mark.parametrize("place", [0, 4, 5, 6, 8, 20, 24, 39, 40, 47, HEADER_BYTES, -1])
def test_one_changed_bit_anywhere_and_it_does_not_open(place):
    """Header and content are both covered."""
    leader, follower = met()
    datagram = bytearray(leader.close(STATE, b"stand still"))
    datagram[place] ^= 1
    assert follower.open(datagram) is None
    assert follower.counts.opened == 1


def test_another_key_opens_nothing():
    """Neither side hears the other, and both count what they refuse."""
    leader, follower = Seal(KEY, "leader"), Seal(bytes(32), "follower")
    assert follower.open(leader.close(HELLO, b"")) is None
    assert leader.open(follower.close(HELLO, b"")) is None
    assert follower.counts.forged == leader.counts.forged == 1
    assert follower.live is None


def test_a_datagram_sent_back_to_its_sender_does_not_open():
    """Each role has a key of its own; a reflection is told from a forgery."""
    leader, _ = met()
    assert leader.open(leader.close(STATE, b"go")) is None
    assert leader.counts.reflected == 1
    assert Seal(KEY, "leader").open(leader.close(HELLO, b"")) is None  # nor does another leader's


def test_a_recording_of_an_earlier_start_opens_nothing_at_a_side_that_starts_anew():
    """The whole conversation is played back to a follower that has forgotten it: not one state is
    opened.
    """
    leader, follower = met()
    recorded = [
        leader.close(HELLO, b"terms"),
        *(leader.close(STATE, bytes([k])) for k in range(50)),
    ]
    again = Seal(KEY, "follower")
    assert [again.open(datagram) for datagram in recorded] == [None] * 51
    assert (again.live, again.counts.opened) == (None, 0)
    assert follower.open(recorded[1]) is not None  # where it belongs, it opens


def test_a_peer_that_starts_again_takes_over_and_its_past_no_longer_opens():
    """Once the new start answers; what the old one sealed is outdated from then on."""
    leader, follower = met()
    old = [leader.close(STATE, b"old") for _ in range(3)]
    anew = Seal(KEY, "leader")
    assert follower.open(anew.close(HELLO, b"")) is None  # does not answer yet
    assert follower.open(old[0]) is not None  # so the old one still counts
    assert anew.open(follower.close(HELLO, b"")) is not None
    assert follower.open(anew.close(STATE, b"new")) == (STATE, b"new")
    assert follower.open(old[1]) is None
    assert follower.counts.outdated == 1


def test_a_greater_epoch_that_does_not_answer_disturbs_nothing():
    """A greeting recorded from a start with the clock set ahead cannot silence the peer that is
    there.
    """
    leader, follower = met()
    ahead = Seal(KEY, "leader", epoch(2**120))
    greeting = ahead.close(HELLO, b"")
    for _ in range(3):
        follower.open(greeting)
        assert follower.open(leader.close(STATE, b"go")) is not None


def test_epochs_rise_and_never_come_twice():
    """A later start is greater."""
    epochs = [new_epoch() for _ in range(100)]
    assert len(set(epochs)) == 100
    assert new_epoch() > epochs[0]


def test_a_key_of_the_wrong_length_is_refused():
    """With both lengths in the message."""
    with pytest.raises(BadValue, match="32 bytes, not 5"):
        Seal(b"short", "leader")


@given(st.lists(st.binary(max_size=200), max_size=30))
@settings(max_examples=50)
def test_no_bytes_whatever_open_or_break_a_seal(garbage):
    """Beginning like a datagram or not."""
    seal = Seal(KEY, "follower")
    header = Seal(bytes(32), "leader").close(STATE, b"")[:HEADER_BYTES]
    for data in garbage:
        assert seal.open(data) is None
        assert seal.open(header + data) is None
    assert (seal.counts.opened, seal.live) == (0, None)
    assert seal.counts.refused == 2 * len(garbage)


def test_everything_but_what_the_peer_sent_or_has_yet_to_prove_counts_as_refused():
    """Each count has a digit of its own."""
    counts = Counts(1, 2, 4, 8, 16, 32, 64, 128)
    assert counts.refused == 2 + 4 + 8 + 16 + 32 + 64


def test_no_more_keys_are_derived_than_strangers_may_still_come():
    """What is not examined counts as forged: of the other role, and of this side's own."""
    follower = Seal(KEY, "follower")
    follower.strangers = 2
    for number in range(1, 5):
        follower.open(Seal(KEY, "leader", epoch(number)).close(HELLO, b""))
    assert (follower.counts.unproven, follower.counts.forged, follower.strangers) == (2, 2, 0)
    leader = Seal(KEY, "leader")
    leader.strangers = 1
    for number in range(1, 4):
        leader.open(Seal(KEY, "leader", epoch(number)).close(HELLO, b""))
    assert (leader.counts.reflected, leader.counts.forged, leader.strangers) == (1, 2, 0)
    # its own start needs no new key
    leader.open(leader.close(HELLO, b""))
    assert leader.counts.reflected == 2


@pytest.mark.parametrize(("place", "value"), [(0, 0), (4, 0), (4, 3), (5, 0), (5, 3), (6, 1)])
def test_a_header_that_no_side_writes_is_malformed(place, value):
    """Another magic, role, kind, or something where zero is."""
    leader, follower = met()
    datagram = bytearray(leader.close(STATE, b"go"))
    datagram[place] = value
    assert follower.open(datagram) is None
    assert follower.counts.malformed == 1


def test_a_datagram_with_nothing_in_it_opens_and_a_shorter_one_is_malformed():
    """48 bytes of header and 16 of the tag."""
    leader, follower = met()
    datagram = leader.close(STATE, b"")
    assert len(datagram) == 64
    numbers = [int.from_bytes(d[40:48], "little") for d in (datagram, leader.close(STATE, b""))]
    assert numbers == [3, 4]
    assert follower.open(datagram[:-1]) is None and follower.counts.malformed == 1
    assert follower.open(datagram) == (STATE, b"")


def test_a_greeting_names_the_newest_peer_heard_and_a_state_the_live_one():
    """Before anyone was heard, nobody; ``to`` names another."""
    leader, follower = met()

    def named(datagram: bytes) -> bytes:
        return datagram[24:40]

    assert named(Seal(KEY, "leader").close(HELLO, b"")) == bytes(EPOCH_BYTES)
    later = Seal(KEY, "leader")
    follower.open(later.close(HELLO, b""))
    assert named(follower.close(HELLO, b"")) == later.epoch
    assert named(follower.close(STATE, b"")) == leader.epoch
    assert named(follower.close(HELLO, b"", to=epoch(5))) == epoch(5)


def taken_over(follower: Seal, leader: Seal) -> bytes | None:
    """What the follower opens of a state that this leader sends once it has been answered."""
    follower.open(leader.close(HELLO, b""))
    leader.open(follower.close(HELLO, b"", to=leader.epoch))
    opened = follower.open(leader.close(STATE, b"go"))
    return None if opened is None else opened[1]


def test_greetings_keep_naming_a_later_start_that_has_yet_to_answer():
    """Though an earlier one answers first; the later one may then take over."""
    follower, early, later = Seal(KEY, "follower"), *(Seal(KEY, "leader", epoch(n)) for n in (5, 9))
    follower.open(early.close(HELLO, b""))
    follower.open(later.close(HELLO, b""))
    early.open(follower.close(HELLO, b"", to=early.epoch))
    assert follower.open(early.close(STATE, b"go")) is not None
    assert later.open(follower.close(HELLO, b"")) is not None
    assert follower.open(later.close(STATE, b"go")) == (STATE, b"go")
    assert follower.live.epoch == later.epoch


def test_a_start_that_was_never_turned_away_may_replace_a_later_one_that_fell_silent():
    """One that greeted before the later one came was not; one that was live was."""
    follower = Seal(KEY, "follower")
    first, second, third = (Seal(KEY, "leader", epoch(n)) for n in (1, 5, 9))
    assert taken_over(follower, first) == b"go"
    follower.open(second.close(HELLO, b""))
    assert taken_over(follower, third) == b"go"
    assert taken_over(follower, first) is None
    follower.silent = True
    assert taken_over(follower, first) is None
    assert taken_over(follower, second) == b"go"

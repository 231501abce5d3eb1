"""Emulated link: one set of words for both directions, changed live, refused when impossible."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.errors import BadValue, OutOfRange, UnknownName
from farhand.link.network import EmulatedLink
from farhand.parameters import assign

MS = 1_000_000


def link_with(seed: int = 0, **settings) -> EmulatedLink:
    """A link with these settings."""
    return EmulatedLink(rng=np.random.default_rng(seed), **settings)


def arrival_times(
    link: EmulatedLink, direction: int, packets: int = 1, every_ns: int = MS
) -> list[int]:
    """When each of some packets arrives, looked for every 0.1 ms [ns]."""
    channel, arrived = link.channels[direction], []
    for k in range(packets):
        channel.send(k * every_ns, k.to_bytes(4, "big"))
    for now_ns in range(0, packets * every_ns + 200 * MS, MS // 10):
        arrived += [now_ns] * len(channel.receive(now_ns))
    return arrived


@pytest.mark.parametrize("direction", [0, 1])
def test_each_direction_has_half_the_round_trip(direction):
    """40 ms there and back are 20 ms one way."""
    assert arrival_times(link_with(delay=40.0), direction) == [20 * MS]


def test_a_link_without_settings_is_perfect():
    """And says so; any setting that does something makes it imperfect."""
    assert link_with().perfect
    for setting in (
        {"delay": 1.0},
        {"delay": 2.0, "jitter": 1.0},
        {"loss": 0.1},
        {"outage_length": 1.0},
        {"burst_chance": 0.1},
        {"duplicate": 0.1},
        {"bandwidth": 100.0},
    ):
        assert not link_with(**setting).perfect


def test_both_directions_draw_their_own_chances():
    """A packet lost one way says nothing about the other way."""
    link = link_with(loss=0.5)
    fates = []
    for channel in link.channels:
        kept = []
        for k in range(400):
            channel.send(k, b"x")
            kept.append(bool(channel.receive(k)))
        fates.append(kept)
    assert fates[0] != fates[1]
    assert all(0.4 < np.mean(kept) < 0.6 for kept in fates)


def test_the_same_seed_gives_the_same_network():
    """Another seed another one."""
    times = [
        arrival_times(link_with(seed, delay=40.0, jitter=10.0, loss=0.2), 0, 50)
        for seed in (1, 1, 2)
    ]
    assert times[0] == times[1] != times[2]


def test_an_outage_loses_everything_for_its_length_in_both_directions():
    """Start included, end not."""
    link = link_with(outage_start=0.010, outage_length=0.005)
    for direction in (0, 1):
        assert len(arrival_times(link, direction, 30)) == 25


def test_a_live_change_acts_on_packets_sent_afterwards():
    """Packets under way keep their delay."""
    link = link_with(delay=40.0)
    channel = link.channels.forward
    channel.send(0, b"old")
    assign(link, "delay", 100.0)
    channel.send(0, b"new")
    assert channel.receive(20 * MS) == [b"old"]
    assert channel.receive(49 * MS) == []
    assert channel.receive(50 * MS) == [b"new"]


def test_jitter_beyond_the_delay_is_refused_and_changes_nothing():
    """A packet cannot arrive before it is sent; the message says what would do."""
    link = link_with(delay=10.0)
    with pytest.raises(
        BadValue, match=r"link.jitter = 10 ms exceeds the one-way delay of 5 ms.* link.delay to 20"
    ):
        assign(link, "jitter", 10.0)
    assert (link.jitter, link.networks[0].jitter_ns) == (0.0, 0)
    with pytest.raises(BadValue, match="exceeds"):
        link_with(jitter=1.0)


@pytest.mark.parametrize(
    ("path", "value", "error"),
    [
        ("loss", 1.5, OutOfRange),
        ("delay", -1, OutOfRange),
        ("delay", 1e9, OutOfRange),
        ("distribution", "odd", UnknownName),
    ],
)
def test_what_no_network_does_is_refused(path, value, error):
    """Range and choices, by name."""
    with pytest.raises(error):
        assign(link_with(), path, value)


def test_loss_of_everything_is_possible():
    """Then nothing arrives."""
    assert arrival_times(link_with(loss=1.0), 0, 20) == []


@pytest.mark.parametrize(
    ("path", "value", "attribute", "expected"),
    [
        ("burst_chance", 0.01, "burst_chance", 0.01),
        ("burst_length", 7.0, "burst_length", 7.0),
        ("burst_loss", 0.4, "burst_loss", 0.4),
        ("jitter", 2.0, "jitter_ns", 2 * MS),
        ("loss", 0.2, "loss", 0.2),
        ("reorder", True, "reorder", True),
        ("duplicate", 0.1, "duplicate", 0.1),
        ("bandwidth", 500.0, "bandwidth", 500e3),
        ("distribution", "pareto", "distribution", "pareto"),
        ("queue", 20.0, "queue_ns", 20 * MS),
    ],
)
def test_every_setting_reaches_both_directions(path, value, attribute, expected):
    """In the units of a user: [ms] and [kbit/s]."""
    link = link_with(delay=10.0)
    assign(link, path, value)
    assert [getattr(network.conditions, attribute) for network in link.networks] == [expected] * 2


def test_the_jitter_may_be_the_whole_one_way_delay():
    """No packet arrives before it was sent."""
    assert link_with(delay=10.0, jitter=5.0).networks[0].jitter_ns == 5 * MS


def test_a_run_without_a_link_refuses_what_would_need_one():
    """With what to start it with; what changes nothing is no harm."""
    link = link_with()
    link.connected = False
    with pytest.raises(BadValue, match="no link to change; start it with --delay"):
        assign(link, "delay", 10.0)
    assign(link, "reorder", True)
    assert link.perfect


def test_an_outage_begins_and_ends_when_it_is_set_to():
    """Two seconds from the third on."""
    link = link_with(outage_start=3.0, outage_length=2.0)
    assert link.networks[1].outages == ((3000 * MS, 5000 * MS),)

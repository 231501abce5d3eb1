"""The emulated network: exact in virtual time, right in distribution, the same every time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from farhand.errors import BadValue, OutOfRange, UnknownName
from farhand.link.network import DISTRIBUTIONS, Conditions, EmulatedNetwork

MS = 1_000_000  # [ns]
FOREVER = 2**62  # [ns]


def make_network(seed: int = 1, capacity: int = 20_000, **conditions: Any) -> EmulatedNetwork:
    """A network with its own generator."""
    return EmulatedNetwork(np.random.default_rng(seed), Conditions(**conditions), capacity)


def name_of(number: int) -> bytes:
    """A packet that knows its own number."""
    return number.to_bytes(4, "big")


def arrivals(network: EmulatedNetwork, count: int, period_ns: int = MS) -> dict[int, int]:
    """Send packets at a fixed period; return when each arrived, by number, in order of arrival,
    [ns].
    """
    for number in range(count):
        network.send(number * period_ns, name_of(number))
    seen: dict[int, int] = {}
    while network.in_flight:
        arrival_ns = network._in_flight[0][0]
        assert network.receive(arrival_ns - 1) == []
        for data in network.receive(arrival_ns):
            seen[int.from_bytes(data, "big")] = arrival_ns
    return seen


def delays(network: EmulatedNetwork, count: int, period_ns: int = MS) -> np.ndarray:
    """Delay of each packet that got through, [ns]."""
    return np.array(
        [
            arrival - number * period_ns
            for number, arrival in arrivals(network, count, period_ns).items()
        ]
    )


@pytest.mark.parametrize("delay_ns", [0, 1, 7 * MS, 10_000 * MS])
def test_a_constant_delay_is_exact(delay_ns: int) -> None:
    """A packet arrives at its time and not one nanosecond before."""
    network = make_network(delay_ns=delay_ns)
    network.send(3 * MS, b"packet")
    assert network.receive(3 * MS + delay_ns - 1) == []
    assert network.receive(3 * MS + delay_ns) == [b"packet"]
    assert network.receive(FOREVER) == []


def test_uniform_jitter_fills_its_interval() -> None:
    """The delays are uniformly distributed in delay ± jitter."""
    got = delays(make_network(delay_ns=20 * MS, jitter_ns=5 * MS, reorder=True), 5000)
    assert got.min() >= 15 * MS
    assert got.max() <= 25 * MS
    assert stats.kstest(got, stats.uniform(15 * MS, 10 * MS).cdf).pvalue > 1e-3


@pytest.mark.parametrize("jitter_ms", [4, 20])
def test_normal_jitter_is_cut_at_three_sigma_and_at_zero_delay(jitter_ms: int) -> None:
    """The delays follow the normal distribution between its two cuts."""
    network = make_network(
        delay_ns=20 * MS, jitter_ns=jitter_ms * MS, distribution="normal", reorder=True
    )
    got = delays(network, 5000)
    low = -min(3.0, 20 / jitter_ms)
    assert got.min() >= (20 + jitter_ms * low) * MS
    assert got.max() <= (20 + jitter_ms * 3.0) * MS
    assert (
        stats.kstest(got, stats.truncnorm(low, 3.0, loc=20 * MS, scale=jitter_ms * MS).cdf).pvalue
        > 1e-3
    )


@pytest.mark.parametrize("loss", [0.01, 0.05, 0.5])
def test_the_loss_is_within_binomial_bounds(loss: float) -> None:
    """The number of lost packets is one that the binomial distribution gives with a probability of
    99.9 %.
    """
    network = make_network(loss=loss)
    got = arrivals(network, 10_000)
    low, high = stats.binom.interval(0.999, 10_000, loss)
    assert low <= network.counters.lost <= high
    assert len(got) == 10_000 - network.counters.lost


def test_certain_loss_loses_all_and_no_loss_none() -> None:
    """The ends of the range mean what they say."""
    assert arrivals(make_network(loss=1.0), 1000) == {}
    assert len(arrivals(make_network(loss=0.0), 1000)) == 1000


def test_order_is_kept_by_making_packets_wait() -> None:
    """Without reordering, each arrives when it would have, or with the last one before it,
    whichever is later.
    """
    free = arrivals(make_network(delay_ns=20 * MS, jitter_ns=10 * MS, reorder=True), 500)
    network = make_network(delay_ns=20 * MS, jitter_ns=10 * MS, reorder=False)
    kept = arrivals(network, 500)
    assert list(kept) == list(range(500))
    assert network.counters.reordered == 0
    alone = np.array([free[number] for number in range(500)])
    np.testing.assert_array_equal(list(kept.values()), np.maximum.accumulate(alone))


def test_packets_overtake_when_they_may() -> None:
    """With reordering, exactly the packets that arrive after a later one are counted as
    reordered.
    """
    network = make_network(delay_ns=20 * MS, jitter_ns=10 * MS, reorder=True)
    order = np.array(list(arrivals(network, 500)))
    overtaken = order < np.maximum.accumulate(order)
    assert network.counters.reordered == overtaken.sum() > 100


def test_an_outage_loses_what_is_sent_in_it_and_nothing_else() -> None:
    """Start included, end not; what is already on its way arrives."""
    network = make_network(delay_ns=5 * MS, outages=[(10 * MS, 20 * MS), (30 * MS, 31 * MS)])
    assert list(arrivals(network, 40)) == [n for n in range(40) if not 10 <= n < 20 and n != 30]
    assert network.counters.lost == 11


def test_the_same_seed_gives_the_same_arrivals() -> None:
    """Nothing but the generator decides."""
    conditions: dict[str, Any] = {
        "delay_ns": 20 * MS,
        "jitter_ns": 5 * MS,
        "loss": 0.1,
        "reorder": True,
    }
    assert arrivals(make_network(seed=4, **conditions), 500) == arrivals(
        make_network(seed=4, **conditions), 500
    )
    assert arrivals(make_network(seed=4, **conditions), 500) != arrivals(
        make_network(seed=5, **conditions), 500
    )


def test_loss_and_outages_do_not_change_the_jitter_of_the_rest() -> None:
    """The packets that get through arrive when they would have without any loss."""
    whole = arrivals(make_network(delay_ns=20 * MS, jitter_ns=5 * MS, reorder=True), 500)
    holed = arrivals(
        make_network(
            delay_ns=20 * MS, jitter_ns=5 * MS, reorder=True, loss=0.3, outages=[(50 * MS, 60 * MS)]
        ),
        500,
    )
    assert 250 < len(holed) < 400
    assert holed.items() <= whole.items()


@pytest.mark.parametrize("distribution", ["uniform", "normal"])
def test_the_jitter_does_not_change_which_packets_are_lost(distribution: str) -> None:
    """The same packets get through whatever the delay does."""
    smooth = arrivals(make_network(loss=0.3), 500)
    rough = arrivals(
        make_network(loss=0.3, delay_ns=9 * MS, jitter_ns=9 * MS, distribution=distribution), 500
    )
    assert smooth.keys() == rough.keys()


def test_a_live_change_acts_on_packets_sent_afterwards() -> None:
    """What is on its way keeps its arrival time."""
    network = make_network(delay_ns=10 * MS)
    network.send(0, b"slow")
    network.delay_ns = 2 * MS
    network.reorder = True
    network.send(MS, b"fast")
    network.loss = 1.0
    network.send(MS, b"gone")
    assert network.receive(3 * MS) == [b"fast"]
    assert network.receive(10 * MS) == [b"slow"]
    assert network.conditions == Conditions(delay_ns=2 * MS, reorder=True, loss=1.0)
    assert (network.counters.reordered, network.counters.lost) == (1, 1)


def test_a_lowered_delay_waits_for_what_was_sent_before_when_order_is_kept() -> None:
    """Order is kept across a change of the delay too."""
    network = make_network(delay_ns=10 * MS)
    network.send(0, b"slow")
    network.delay_ns = 0
    network.send(MS, b"fast")
    assert network.receive(10 * MS - 1) == []
    assert network.receive(10 * MS) == [b"slow", b"fast"]


def test_order_is_kept_from_the_moment_it_is_asked_for() -> None:
    """A packet sent after reordering is switched off waits for all that are on their way."""
    network = make_network(delay_ns=10 * MS, reorder=True)
    network.send(0, b"slow")
    network.delay_ns = MS
    network.send(0, b"fast")
    network.reorder = False
    network.send(0, b"last")
    assert network.receive(MS) == [b"fast"]
    assert network.receive(10 * MS) == [b"slow", b"last"]


def test_a_full_network_refuses_the_newest_and_recovers() -> None:
    """At most as many packets are in flight as it holds."""
    network = make_network(delay_ns=10 * MS, capacity=3)
    for number in range(5):
        network.send(0, name_of(number))
    assert network.counters.dropped_full == 2
    assert network.receive(10 * MS) == [name_of(0), name_of(1), name_of(2)]
    network.send(10 * MS, b"next")
    assert network.receive(20 * MS) == [b"next"]


@settings(max_examples=50)
@given(
    seed=st.integers(0, 100),
    loss=st.floats(0.0, 1.0),
    jitter_ms=st.integers(0, 10),
    reorder=st.booleans(),
    capacity=st.integers(1, 30),
    polled_every=st.integers(1, 60),
)
def test_every_packet_is_accounted_for(
    seed: int, loss: float, jitter_ms: int, reorder: bool, capacity: int, polled_every: int
) -> None:
    """What was sent is delivered, lost, dropped or in flight, at any moment."""
    network = make_network(
        seed, capacity, delay_ns=10 * MS, jitter_ns=jitter_ms * MS, loss=loss, reorder=reorder
    )
    counters, delivered = network.counters, 0
    for number in range(100):
        network.send(number * MS, name_of(number))
        if number % polled_every == 0:
            delivered += len(network.receive(number * MS))
        assert counters.delivered == delivered
        assert counters.sent == number + 1
        assert (
            counters.sent == delivered + counters.lost + counters.dropped_full + network.in_flight
        )


@pytest.mark.parametrize(
    ("conditions", "error", "message"),
    [
        ({"delay_ns": -1}, OutOfRange, r"network.delay_ns = -1 is outside \[0, 1e\+10\] ns"),
        ({"delay_ns": 10_000 * MS + 1}, OutOfRange, "network.delay_ns"),
        ({"delay_ns": 1.5}, BadValue, "network.delay_ns = 1.5 is not a whole number"),
        (
            {"delay_ns": MS, "jitter_ns": MS + 1},
            OutOfRange,
            r"network.jitter_ns = 1000001 is outside \[0, 1e\+06\] ns",
        ),
        ({"jitter_ns": -1}, OutOfRange, "network.jitter_ns"),
        ({"loss": 1.1}, OutOfRange, r"network.loss = 1.1 is outside \[0, 1\]"),
        ({"loss": float("nan")}, OutOfRange, "network.loss = nan"),
        ({"loss": "much"}, BadValue, "network.loss = 'much' is not a number"),
        (
            {"distribution": "norml"},
            UnknownName,
            "did you mean 'normal'.*available: exponential, normal",
        ),
        (
            {"outages": [(5, 5)]},
            BadValue,
            r"network.outages has \(5, 5\), the end must come after the start",
        ),
    ],
)
def test_impossible_conditions_are_refused(
    conditions: dict[str, Any], error: type[Exception], message: str
) -> None:
    """At the start and live alike; a refused change leaves the network as it was."""
    with pytest.raises(error, match=message):
        Conditions(**conditions)
    network = make_network(delay_ns=3)
    with pytest.raises(error):
        network.conditions = replace(network.conditions, **conditions)
    assert network.conditions == Conditions(delay_ns=3)


def test_a_live_change_is_checked_against_the_other_conditions() -> None:
    """The delay cannot fall below the jitter by itself, but both can be changed together."""
    network = make_network(delay_ns=5 * MS, jitter_ns=2 * MS)
    with pytest.raises(OutOfRange, match="network.jitter_ns"):
        network.delay_ns = MS
    assert network.delay_ns == 5 * MS
    network.conditions = replace(network.conditions, delay_ns=MS, jitter_ns=MS)
    assert (network.delay_ns, network.jitter_ns) == (MS, MS)


def test_a_network_that_holds_nothing_is_refused() -> None:
    """The limits of the capacity are named."""
    with pytest.raises(OutOfRange, match=r"channel.capacity = 0 is outside \[1, "):
        make_network(capacity=0)


def test_exponential_jitter_is_late_by_its_size_on_average() -> None:
    """And never early."""
    got = delays(
        make_network(delay_ns=20 * MS, jitter_ns=5 * MS, distribution="exponential", reorder=True),
        5000,
    )
    assert got.min() >= 20 * MS
    assert stats.kstest(got, stats.expon(20 * MS, 5 * MS).cdf).pvalue > 1e-3


def test_pareto_jitter_has_a_heavy_tail() -> None:
    """Most packets are nearly in time, a few are later by many times the jitter, none by more than
    twenty times.
    """
    got = (
        delays(
            make_network(delay_ns=20 * MS, jitter_ns=5 * MS, distribution="pareto", reorder=True),
            5000,
        )
        - 20 * MS
    )
    assert np.median(got) < 2 * MS
    assert 25 * MS < got.max() <= 100 * MS


def test_spikes_delay_one_packet_in_fifty() -> None:
    """By the whole jitter; the others not at all."""
    got = delays(
        make_network(delay_ns=20 * MS, jitter_ns=15 * MS, distribution="spikes", reorder=True), 5000
    )
    assert set(got.tolist()) == {20 * MS, 35 * MS}
    low, high = stats.binom.interval(0.999, 5000, 0.02)
    assert low <= (got == 35 * MS).sum() <= high


def test_losses_come_in_bursts_of_the_length_asked_for() -> None:
    """The mean run of lost packets is the burst's length, and their share is that of the Gilbert
    chain.
    """
    network = make_network(capacity=40_000, burst_chance=0.005, burst_length=20.0)
    got = arrivals(network, 40_000)
    gaps = np.diff([-1, *got, 40_000]) - 1
    bursts = gaps[gaps > 0]
    assert bursts.mean() == pytest.approx(20.0, rel=0.2)
    share = 0.005 / (0.005 + 1.0 / 20.0)
    assert network.counters.lost / 40_000 == pytest.approx(share, rel=0.2)


def test_a_burst_may_let_some_packets_through() -> None:
    """Elliott's chain: inside a burst its own loss counts, outside the usual one."""
    network = make_network(capacity=40_000, burst_chance=0.01, burst_length=50.0, burst_loss=0.5)
    arrivals(network, 40_000)
    share = 0.5 * 0.01 / (0.01 + 1.0 / 50.0)
    assert network.counters.lost / 40_000 == pytest.approx(share, rel=0.2)


def test_some_packets_arrive_twice() -> None:
    """As often as asked for, and the books balance."""
    network = make_network(delay_ns=5 * MS, duplicate=0.1)
    for number in range(2000):
        network.send(number * MS, name_of(number))
    got = network.receive(FOREVER)
    low, high = stats.binom.interval(0.999, 2000, 0.1)
    assert low <= network.counters.duplicated <= high
    assert len(got) == 2000 + network.counters.duplicated == network.counters.delivered
    assert len(set(got)) == 2000


def test_a_narrow_line_sends_one_packet_after_the_other() -> None:
    """Four bytes at 8 kbit/s take 4 ms each; three at once arrive 4 ms apart."""
    network = make_network(delay_ns=10 * MS, bandwidth=8000.0)
    for number in range(3):
        network.send(0, name_of(number))
    for number in range(3):
        assert network.receive((14 + 4 * number) * MS - 1) == []
        assert network.receive((14 + 4 * number) * MS) == [name_of(number)]


def test_a_line_that_is_too_narrow_drops_what_would_wait_too_long() -> None:
    """The age of what arrives stays bounded by the queue."""
    network = make_network(bandwidth=16_000.0, queue_ns=20 * MS)  # 2 ms each, one comes every 1 ms
    got = delays(network, 2000)
    assert got.max() <= 23 * MS
    assert network.counters.dropped_full == pytest.approx(1000, abs=30)


@pytest.mark.parametrize(
    ("name", "chance", "room", "deviation"),
    [
        ("uniform", 0.0, 9.0, -1.0),
        ("uniform", 0.25, 9.0, -0.5),
        ("uniform", 0.75, 9.0, 0.5),
        ("normal", 0.0, 9.0, -3.0),
        ("normal", 0.5, 9.0, 0.0),
        ("normal", 1.0, 9.0, 3.0),
        ("normal", 0.0, 3.0, -1.5),
        ("exponential", 0.0, 9.0, 0.0),
        ("exponential", 1.0 - np.exp(-1.0), 9.0, 1.0),
        ("exponential", 1.0 - np.exp(-7.0), 9.0, 7.0),
        ("exponential", 1.0 - 1e-12, 9.0, 20.0),
        ("pareto", 0.0, 9.0, 0.0),
        ("pareto", 1.0 - 2.0**-2.5, 9.0, 1.0),
        ("pareto", 1.0 - 10.0**-2.5, 9.0, 9.0),
        ("pareto", 1.0 - 1e-12, 9.0, 20.0),
        ("spikes", 0.979, 9.0, 0.0),
        ("spikes", 0.981, 9.0, 1.0),
    ],
)
def test_jitter_has_the_quantiles_of_its_distribution(name, chance, room, deviation) -> None:
    """In multiples of its size, here 2; a normal one is cut where the packet was sent."""
    assert DISTRIBUTIONS[name](chance, 2.0, room) == pytest.approx(2.0 * deviation, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("delay_ns", 10_000 * MS),
        ("loss", 1.0),
        ("burst_chance", 1.0),
        ("burst_length", 1e9),
        ("burst_loss", 1.0),
        ("duplicate", 1.0),
        ("bandwidth", 1e15),
        ("queue_ns", 10_000 * MS),
    ],
)
def test_each_condition_reaches_from_zero_to_its_limit_and_no_further(name: str, most: Any) -> None:
    """Both ends are possible."""
    for value in (type(most)(0), most):
        assert getattr(Conditions(**{name: value}), name) == value
    for value in (-1, most + 1):
        with pytest.raises(OutOfRange, match=f"network.{name} = "):
            Conditions(**{name: value})


@pytest.mark.parametrize("length", [0.0, 1.0])
def test_a_burst_of_one_packet_or_less_loses_one(length: float) -> None:
    """Then, with certain bursts, every other packet gets through."""
    network = make_network(burst_chance=1.0, burst_length=length)
    assert list(arrivals(network, 20)) == list(range(1, 20, 2))


def test_a_burst_ends_when_bursts_are_switched_off() -> None:
    """Also for a packet in the middle of one."""
    network = make_network(burst_chance=1.0, burst_length=1e9)
    network.send(0, b"lost")
    network.conditions = Conditions()
    network.send(0, b"kept")
    assert network.receive(0) == [b"kept"]


def test_a_copy_has_a_jitter_of_its_own() -> None:
    """Within the same bounds as the first."""
    network = make_network(delay_ns=20 * MS, jitter_ns=5 * MS, duplicate=1.0, reorder=True)
    network.send(100 * MS, b"x")
    for number in range(200):
        network.send(100 * MS, name_of(number))
    times = np.array([arrival for arrival, *_ in network._in_flight])
    assert len(times) == len(set(times.tolist())) == 402
    assert 115 * MS <= times.min() < 116 * MS and 124 * MS < times.max() <= 125 * MS


def test_a_packet_that_waits_for_the_line_has_the_line_for_as_long_as_its_bits_take() -> None:
    """Ten bytes at 8 kbit/s take 10 ms; the next waits for the rest of them, up to the queue."""
    network = make_network(bandwidth=8000.0, queue_ns=8 * MS)
    for now in (0, 1, 2, 30):
        network.send(now * MS, bytes([now]) * 10)
    assert network.receive(10 * MS) == [bytes(10)]
    # at 1 ms the wait would be 9 ms, at 2 ms just the 8 ms allowed
    assert network.counters.dropped_full == 1
    assert network.receive(20 * MS - 1) == [] and network.receive(20 * MS) == [b"\2" * 10]
    assert network.receive(40 * MS - 1) == [] and network.receive(40 * MS) == [b"\36" * 10]

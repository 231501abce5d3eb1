"""Packets that come unevenly are acted on evenly."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.link.layers import Playout
from farhand.link.packet import Packet

MS = 1_000_000


def packet(time_ns: int, position: float, speed: float, force: float | None = None) -> Packet:
    """What a slide at a position [m] with a speed [m/s] sends."""
    made = Packet(1, 1, 0)
    made.time_ns = time_ns
    made.q, made.v = [position], [speed]
    made.tool_position, made.tool_twist = [position, 0.0, 0.0], [speed, 0.0, 0.0, 0.0, 0.0, 0.0]
    made.tool_quaternion = [0.0, 0.0, 0.0, 1.0]
    made.measured_wrench = None if force is None else [force, 0.0, 0.0, 0.0, 0.0, 0.0]
    return made


def way(t: float) -> tuple[float, float]:
    """A smooth motion: where and how fast at a time [s]."""
    return 0.1 * np.sin(3.0 * t), 0.3 * np.cos(3.0 * t)


def played(arrivals: dict[int, int], ticks: int) -> list[tuple[int, int, float]]:
    """Time [ms], age [ns] and position played, for packets sent and arriving at these ticks."""
    playout, seen = Playout(1, 1), []
    newest = {arrives: sent for sent, arrives in sorted(arrivals.items())}
    for tick in range(min(newest), ticks):
        if tick in newest:
            sent = newest[tick]
            playout.take(packet(sent * MS, *way(1e-3 * sent)), tick * MS)
        playout.play(tick * MS)
        seen.append((tick, playout.age_ns, float(playout.tool_position[0])))
    return seen


def test_over_an_even_link_nothing_is_added():
    """Every packet is played as it comes."""
    for tick, age, position in played({sent: sent + 20 for sent in range(300)}, 320):
        assert age == 20 * MS
        assert position == pytest.approx(way(1e-3 * (tick - 20))[0], abs=1e-12)


def test_jitter_becomes_an_even_age():
    """After the latest packet has been seen, the motion played is the one sent, at one age, between
    packets too.
    """
    rng, last, arrivals = np.random.default_rng(0), 0, {}
    for sent in range(3000):
        last = max(last, sent + 30 + int(rng.integers(-20, 21)))  # no packet overtakes another
        if rng.random() > 0.05:
            arrivals[sent] = last
    seen = [row for row in played(arrivals, 2900) if row[0] > 1500]
    ages = np.array([age for _, age, _ in seen])
    assert np.ptp(ages) <= 2 * MS
    assert ages.max() < 60 * MS
    errors = [position - way(1e-3 * tick - 1e-9 * age)[0] for tick, age, position in seen]
    assert np.abs(errors).max() < 1e-6


def test_time_never_jumps_backwards_or_far_ahead():
    """A pause stops the motion where it is; afterwards it goes on at most a fiftieth faster."""
    arrivals = {sent: sent + 10 for sent in range(0, 200)} | {
        sent: max(sent + 10, 260) for sent in range(200, 2500)
    }
    seen = played(arrivals, 2400)
    times = np.array([tick * MS - age for tick, age, _ in seen])
    steps = np.diff(times)
    assert steps.min() >= 0
    assert steps[300:].max() <= 1.021 * MS


def test_an_age_long_past_is_forgotten():
    """One late packet does not cost delay for ever."""
    arrivals = {sent: sent + 10 for sent in range(8000)}
    arrivals |= {sent: 160 for sent in range(100, 150)}
    seen = played(arrivals, 7900)
    assert seen[300][1] == 60 * MS
    assert seen[-1][1] == 10 * MS


def test_clocks_that_differ_do_not_matter():
    """The other side's clock an hour ahead: the same motion."""
    playout = Playout(1, 1)
    for tick in range(100):
        playout.take(packet(tick * MS + 3600 * 10**9, *way(1e-3 * tick)), tick * MS)
        playout.play(tick * MS)
        assert playout.behind_ns == 0
        assert playout.q[0] == pytest.approx(way(1e-3 * tick)[0], abs=1e-12)


def test_a_wrench_between_a_known_and_an_unknown_one_is_unknown():
    """No measurement is not zero."""
    playout = Playout(1, 1)
    playout.take(packet(0, 0.0, 0.0, 5.0), 4 * MS)
    playout.play(10 * MS)
    assert playout.measured_wrench is not None and playout.measured_wrench[0] == 5.0
    playout.take(packet(8 * MS, 0.0, 0.0), 11 * MS)
    playout.play(11 * MS)
    assert playout.measured_wrench is None


def test_a_side_that_starts_anew_is_played_from_its_first_packet():
    """Whatever its clock says."""
    playout = Playout(1, 1)
    playout.take(packet(10**12, 0.3, 0.0), 0)
    playout.play(0)
    playout.begin()
    playout.take(packet(0, -0.2, 0.0), MS)
    playout.play(MS)
    assert playout.tool_position[0] == pytest.approx(-0.2)

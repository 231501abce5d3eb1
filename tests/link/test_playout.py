"""Packets that come unevenly are acted on evenly."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.link.layers import Playout
from farhand.link.layers.playout import KEPT
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
    assert playout.tool_position[0] == pytest.approx(-0.2) and playout.age_ns == MS
    playout.begin()
    playout.take(packet(10**12, 0.1, 0.0), 2 * MS)
    playout.play(2 * MS)
    assert playout.tool_position[0] == pytest.approx(0.1)
    assert playout.age_ns == 2 * MS - 10**12 and playout.behind_ns == 0


def playing(*packets: Packet, age: int = 20, nq: int = 1) -> Playout:
    """A playout at an age [ms] that has all these packets: the first alone, then the others."""
    playout, first = Playout(nq, 1), packets[0].time_ns
    playout.take(packets[0], first + age * MS)
    playout.play(first + age * MS)
    for more in packets[1:]:
        playout.take(more, first + age * MS)
    return playout


def test_between_two_packets_a_cubic_motion_is_played_exactly():
    """Two poses and two velocities are four numbers, as many as a cubic has; velocities and
    wrenches go straight.
    """

    def cubic(t: float) -> tuple[float, float]:
        return 0.1 + 0.3 * t - 40.0 * t**2 + 900.0 * t**3, 0.3 - 80.0 * t + 2700.0 * t**2

    rows = [packet(k * MS, *cubic(1e-3 * k), force=float(k)) for k in (0, 4, 16)]
    for row in rows:
        row.commanded_wrench = -row.measured_wrench
    playout = playing(*rows)
    for k in (1, 2, 3, 4, 7, 10, 15):
        playout.play((20 + k) * MS)
        assert playout.age_ns == 20 * MS
        assert playout.q[0] == pytest.approx(cubic(1e-3 * k)[0], abs=1e-12)
        assert playout.tool_position[0] == pytest.approx(cubic(1e-3 * k)[0], abs=1e-12)
        assert playout.measured_wrench[0] == pytest.approx(k)
        assert playout.commanded_wrench[0] == pytest.approx(-k)
        start, end = (0, 4) if k < 4 else (4, 16)
        speeds = [cubic(1e-3 * t)[1] for t in (start, end)]
        straight = np.interp(k, (start, end), speeds)
        assert playout.v[0] == playout.tool_twist[0] == pytest.approx(straight, abs=1e-12)


def test_joints_that_are_no_rates_of_their_coordinates_go_straight():
    """A quaternion among them has more numbers than its joint has velocities."""
    rows = []
    for k in (0, 8):
        made = Packet(2, 1, 0)
        made.time_ns, made.q, made.v = k * MS, [0.1 * k, -0.2 * k], [9.0]
        rows.append(made)
    playout = playing(*rows, nq=2)
    playout.play(26 * MS)
    np.testing.assert_allclose(playout.q, [0.6, -1.2])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_halfway_between_two_rotations_it_is_half_turned_whatever_their_sign(sign):
    """A quaternion and its opposite are the same rotation."""
    rows = [packet(k * MS, 0.0, 0.0) for k in (0, 10)]
    rows[1].tool_quaternion = sign * np.array([0.0, 0.0, np.sin(0.4), np.cos(0.4)])
    playout = playing(*rows)
    playout.play(25 * MS)
    half = [0.0, 0.0, np.sin(0.2), np.cos(0.2)]
    np.testing.assert_allclose(playout.tool_quaternion, half, atol=1e-12)


def test_what_is_played_belongs_to_the_last_packet_that_was_passed():
    """Its engagement and its map; and both times say how far behind the newest it is."""
    rows = [packet(k * MS, 0.0, 0.0) for k in (0, 6, 10)]
    for number, row in enumerate(rows):
        row.engagement_id, row.offset_position = number, [float(number), 0.0, 0.0]
    playout = playing(*rows)
    for now, number in ((25, 0), (26, 1), (29, 1), (30, 2), (50, 2)):
        playout.play(now * MS)
        assert playout.engagement_id == number and playout.map[4] == number
        # the newest was sent at 10 ms and arrived at 20 ms
        assert playout.behind_ns == max(30 - now, 0) * MS
        assert playout.waits_ns == max(20, now - 10) * MS - 10 * MS


def test_of_more_packets_than_it_keeps_the_newest_are_played():
    """A side that did not play for long goes on with the oldest it has."""
    playout = playing(*(packet(k * MS, float(k), 1000.0) for k in range(KEPT + 300)), age=5000)
    playout.play(5001 * MS)
    assert playout.q[0] == 300.0
    playout.play((5000 + KEPT) * MS)
    assert playout.q[0] == pytest.approx(KEPT)


def test_the_age_grows_as_long_as_nothing_comes_and_shrinks_by_a_fiftieth_of_the_time():
    """What is played stands still and is later sped up, once the pause is long past."""
    playout, ages = Playout(1, 1), {}
    for tick in range(10, 4500):
        # nothing for 30 ms, then all at once
        if not 200 <= tick < 230:
            playout.take(packet((tick - 10) * MS, 0.0, 0.0), tick * MS)
        playout.play(tick * MS)
        ages[tick] = playout.age_ns
    assert [ages[t] for t in (199, 200, 210, 229)] == [t * MS for t in (10, 11, 21, 40)]
    assert {ages[tick] for tick in range(229, 2200)} == {40 * MS}
    steps = np.diff([ages[tick] for tick in range(2200, 4500)])
    shrinks = np.flatnonzero(steps)
    # remembered for two to four seconds
    assert set(steps[shrinks[0] :].tolist()) == {-0.02 * MS} and 2200 + shrinks[0] < 4230


def test_of_coupled_joints_torques_and_the_map_are_played_out():
    """As many numbers as there are joints, half-way between two packets."""
    playout = Playout(2, 2, joints=3)
    for time_ns, torque in ((0, [1.0, 2.0]), (2 * MS, [3.0, 4.0])):
        made = Packet(2, 2, 0, joints=3, axes=3)
        made.time_ns, made.external_torque, made.commanded_wrench = time_ns, torque, torque
        made.joint_map = np.arange(7.0)
        playout.take(made, 2 * MS)
    playout._latest, playout.age_ns = (MS, MS), MS
    playout.play(2 * MS)
    np.testing.assert_allclose(playout.external_torque, [2.0, 3.0])
    np.testing.assert_allclose(playout.commanded_wrench, [2.0, 3.0])
    np.testing.assert_allclose(playout.map, np.arange(7.0))
    assert playout.measured_wrench is None

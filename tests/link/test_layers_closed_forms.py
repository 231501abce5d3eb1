"""What a layer does in one step: the energy it books, the damping it adds, the way it allows."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.coupling import PositionPosition, Side
from farhand.coupling.port import TOOL
from farhand.link.layers import LayerPort, TimeDomainPassivity, WaveVariables
from farhand.spatial import rotation_from_vector

DT = 1e-3
WEIGHTS = np.array([1.0, 1.0, 1.0, 0.01, 0.01, 0.01])
"""Of a damper's axes: turning counts a hundredth."""

SHARES = np.array([0.25, 0.0, 0.0, 0.0, 0.75, 0.0])


def handle(position, rotation, twist):
    """Where the packets say that the leader is."""
    made = TOOL.handle()
    made.position[:], made.rotation[:], made.twist[:] = position, rotation, twist
    return made


def leader_in_need() -> LayerPort:
    """0.14 J are missing here, and 0.18 J will be owed to the other end."""
    layer = TimeDomainPassivity(lent=0.03, level=0.1, blind=0.5)
    leader, _ = layer.ports()
    leader.measure(0.2)
    leader.hear(0.05 * SHARES, 0.02 * SHARES)
    leader.taken[:], leader.given[:], leader.pace = 0.02 * SHARES, 0.1 * SHARES, 0.3
    # 0.2 J wanted; 0.06 J here, 0.08 J there of which 0.3 W take 0.06 J on the way
    assert leader.missing == pytest.approx(0.14)
    assert leader.owed == pytest.approx(0.18)
    return leader


@pytest.mark.parametrize(
    ("energy", "kept", "sent"), [(0.16, 0.07, 0.09), (0.42, 0.24, 0.18), (1.0, 0.34, 0.18)]
)
def test_what_the_hand_puts_in_serves_both_needs_then_a_second_reserve_and_is_lost(
    energy, kept, sent
):
    """In proportion to the needs, 0.32 J, while it does not suffice; at most 0.2 J beyond."""
    leader = leader_in_need()
    taken, given = leader.taken.copy(), leader.given.copy()
    leader.account(-energy * SHARES)
    np.testing.assert_allclose(taken - leader.taken, kept * SHARES, atol=1e-12)
    np.testing.assert_allclose(leader.given - given, sent * SHARES, atol=1e-12)


def test_what_comes_out_is_booked_axis_by_axis():
    """And gives the other end nothing."""
    leader = leader_in_need()
    taken, given = leader.taken.copy(), leader.given.copy()
    leader.account(0.01 * SHARES)
    np.testing.assert_allclose(leader.taken - taken, 0.01 * SHARES)
    np.testing.assert_array_equal(leader.given, given)


def test_the_pace_of_the_other_end_is_learnt_over_a_round_trip():
    """A first-order average; at once over no link, and not at all in no time."""
    leader, _ = TimeDomainPassivity().ports()
    leader.round_trip = 0.05
    for tick in range(1, 31):
        leader.hear(np.zeros(6), 2.0 * tick * DT * SHARES)
        leader.push(np.zeros(6), np.zeros(6), DT)
        assert leader.pace == pytest.approx(2.0 * (1.0 - (1.0 - DT / 0.05) ** tick))
    before = leader.pace
    leader.hear(np.zeros(6), SHARES)
    leader.push(np.zeros(6), np.zeros(6), 0.0)
    assert leader.pace == before
    leader.round_trip = 0.0
    leader.hear(np.zeros(6), (1.0 + 3.0 * DT) * SHARES)
    leader.push(np.zeros(6), np.zeros(6), DT)
    assert leader.pace == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("budget", "lent", "share"),
    [(1.0, 0.2, 1.0), (0.0, 0.2, 1.0), (-0.05, 0.2, 0.75), (-0.3, 0.2, 0.0), (-1e-9, 0.0, 0.0)],
)
@pytest.mark.parametrize("fill", [0.0, 7.0])
def test_the_force_fades_while_the_account_is_overdrawn_and_a_damper_takes_what_is_not_there(
    budget, lent, share, fill
):
    """Only along the axes on which it would push the hand; the rest of the drag fills reserves."""
    layer = TimeDomainPassivity(lent=lent, level=1.2, blind=0.0, fill=fill, damping_limit=1e4)
    leader, _ = layer.ports()
    leader.taken[0] = lent - budget
    twist = np.array([0.3, -0.2, 0.0, 0.5, -1.0, 0.0])
    wrench = np.array([9e3, 4e3, 5.0, 0.2, -7e3, 0.1])
    pushed = leader.push(wrench, twist, DT, gain=0.4)
    # 1.2 J are missing here beside what is overdrawn, and 1.2 J there
    drag = fill * (max(1.2 - budget, 0.0) + 1.2)
    out = share * (9e3 * 0.3 + 0.2 * 0.5 + 7e3) * DT
    speed = 0.3**2 + 0.2**2 + 0.01 * (0.5**2 + 1.0)
    added = min(drag + max(out - budget, 0.0) / (speed * DT), 1e4)
    wanted = share * wrench - added * WEIGHTS * twist
    # what even that damper does not take is not exerted, but for what is lent
    power = wanted * twist
    left = max(budget + lent, 0.0) / max(power[power > 0.0].sum() * DT, 1e-300)
    wanted[power > 0.0] *= min(1.0, left)
    np.testing.assert_allclose(pushed, 0.4 * wanted)
    assert leader.added == pytest.approx(0.4 * added)


@pytest.mark.parametrize("limit", [1.0, 20.0, 1e4])
def test_at_the_follower_the_books_show_what_its_arm_has_got(limit):
    """In joules of the leader, half of those here; what comes out is damped down to what went in
    and is lent, or fades.
    """
    layer, rng = TimeDomainPassivity(lent=0.02, damping_limit=limit), np.random.default_rng(7)
    _, follower = layer.ports()
    law = PositionPosition()
    law.mapping.force_scale = 0.5
    follower.attach(law, np.ones(6, dtype=bool))
    faded = damped = 0
    for _ in range(300):
        wrench, twist = 20.0 * rng.normal(size=6), 0.2 * rng.normal(size=6)
        before, gain = follower.inside, rng.uniform(0.2, 1.0)
        pushed = follower.push(wrench, twist, DT, gain)
        assert before - follower.inside == pytest.approx(0.5 * (pushed @ twist) * DT, abs=1e-12)
        speed, out = 0.5 * (WEIGHTS * twist @ twist) * DT, 0.5 * (wrench @ twist) * DT
        owed = out - before - 0.02
        added = min(max(owed, 0.0) / speed, limit)
        unpaid = owed - added * speed
        share = max(0.0, 1.0 - unpaid / 0.02) if unpaid > 1e-12 and out > 0.0 else 1.0
        np.testing.assert_allclose(pushed, gain * (share * wrench - added * WEIGHTS * twist))
        assert follower.added == pytest.approx(gain * added)
        damped, faded = damped + int(added > 0.0), faded + int(share < 1.0)
    assert damped > 10 and (faded > 0) is (limit < 1e4)


def test_at_the_follower_the_work_at_the_reference_goes_in_and_no_more_way_than_it_pays_for():
    """Δinside = −F·Δx of the reference, turning too; what is held back is the rest of the way."""
    rng, remote = np.random.default_rng(8), Side("leader")
    _, follower = TimeDomainPassivity(lent=0.01, level=0.05, recovery=30.0).ports()
    position, rotation, held = np.zeros(3), np.eye(3), 0
    follower.lead(remote, handle(position, rotation, np.zeros(6)), np.zeros(6), DT)
    for tick in range(400):
        if tick % 50 == 0:
            follower.hear(follower.taken + 0.05, np.zeros(6))
        step, force = 2e-3 * rng.normal(size=6), 5.0 * rng.normal(size=6)
        position, rotation = position + step[:3], rotation_from_vector(step[3:]) @ rotation
        inside, behind = follower.inside, follower.behind.copy()
        follower.lead(remote, handle(position, rotation, np.zeros(6)), force, DT)
        way = step - (follower.behind - behind)
        assert follower.inside - inside == pytest.approx(-force @ way, abs=1e-9)
        np.testing.assert_allclose(remote.position, position - follower.behind[:3])
        expected = rotation_from_vector(-follower.behind[3:]) @ rotation
        np.testing.assert_allclose(remote.rotation, expected, atol=1e-12)
        assert follower.budget >= -1e-12
        held += bool(follower.behind.any())
    assert held > 50


def test_half_the_energy_for_a_step_leads_half_of_it_and_the_rest_returns_at_its_rate():
    """10 N over 4 mm are 0.04 J; the velocity shown follows within 20 ms."""
    layer, remote = TimeDomainPassivity(lent=0.02, level=0.01, recovery=100.0), Side("leader")
    _, follower = layer.ports()
    against, twist = np.array([-10.0, 0, 0, 0, 0, 0]), np.array([4.0, 0, 0, 0, 0, 0.5])
    follower.lead(remote, handle(np.zeros(3), np.eye(3), twist), against, DT)
    np.testing.assert_allclose(remote.twist, twist)
    there = np.array([0.004, 0.0, 0.0])
    follower.lead(remote, handle(there, np.eye(3), twist), against, DT)
    assert remote.position[0] == pytest.approx(0.002) and follower.taken.sum() == 0.02
    np.testing.assert_allclose(remote.twist, (1.0 - 0.5 * DT / 0.02) * twist)
    for tick in range(1, 20):
        follower.lead(remote, handle(there, np.eye(3), twist), np.zeros(6), DT)
        assert follower.behind[0] == pytest.approx(0.002 * 0.9**tick)
    layer.recovery = 1e3
    follower.lead(remote, handle(there, np.eye(3), twist), np.zeros(6), DT)
    assert follower.behind[0] == 0.0 and remote.position[0] == 0.004
    # a step as long as the time constant, or longer, shows all of it, as does a new engagement
    follower.lead(remote, handle(there, np.eye(3), twist), np.zeros(6), 0.05)
    np.testing.assert_allclose(remote.twist, twist)
    follower.begin()
    follower.lead(remote, handle(there, np.eye(3), twist), np.zeros(6), DT)
    np.testing.assert_allclose(remote.twist, twist)


def test_a_port_without_a_layer_lets_the_engaged_share_through():
    """And clears its account for a new start of the other end."""
    port, wrench = LayerPort(), np.arange(6.0)
    assert port.push(wrench, np.zeros(6), DT) is wrench
    np.testing.assert_array_equal(port.push(wrench, np.zeros(6), DT, 0.25), 0.25 * wrench)
    port.given[:], port.taken[:], port.heard_taken = 1.0, 2.0, 3.0
    port.forget()
    assert not port.given.any() and not port.taken.any() and port.heard_taken == 0.0


@pytest.mark.parametrize("layer", [TimeDomainPassivity, WaveVariables])
def test_an_arm_that_cannot_be_pushed_along_an_axis_feels_no_damper_there(layer):
    """Nor is anything booked for it."""
    leader, _ = layer().ports()
    drives = np.array([True, False, True, True, True, False])
    leader.attach(PositionPosition(), drives)
    leader.hear(np.full(6, 1.0), np.zeros(6))
    leader.arrive(np.zeros(6), np.full(6, 3.0))
    twist = np.array([0.1, 0.2, -0.3, 0.4, 0.5, 0.6])
    pushed = leader.push(np.zeros(6), twist, DT)
    assert not pushed[~drives].any() and pushed[drives].all()
    net = leader.given - leader.taken
    assert np.allclose(net[~drives], 0.0, atol=1e-15) and net[drives].any()
    leader.attach(PositionPosition(), np.ones(6, dtype=bool))
    assert leader.driven(twist) is twist


def test_waves_that_have_arrived_and_not_been_used_are_there_to_be_used():
    """Axis by axis: what one has too little of is not paid by another; a restart clears all."""
    leader, _ = WaveVariables().ports()
    leader.hear(np.array([0.5, 0.1, 0.0, 0.0, 0.2, 0.0]), 0.3 * np.ones(6))
    leader.hear(np.array([0.4, 0.3, 0.0, 0.0, 0.2, 0.0]), 0.3 * np.ones(6))
    leader.taken[:] = [0.1, 0.5, 0.0, 0.0, 0.05, 0.0]
    assert leader.budget == pytest.approx(0.4 + 0.15)
    assert leader.heard_taken == pytest.approx(1.8)
    leader.arrive(np.zeros(6), np.full(6, 1e3))
    used = leader.energy(leader.wave(DT), DT)
    np.testing.assert_allclose(used, [0.4, 0.0, 0.0, 0.0, 0.15, 0.0], atol=1e-12)
    leader.measure(0.5)
    leader.forget()
    assert leader.budget == 0.0 and not leader.wave(DT).any()
    leader.measure(0.2)
    assert leader.round_trip == pytest.approx(0.2)


def test_the_round_trip_of_waves_is_a_mean_that_still_follows_a_change():
    """Of all samples at first, and after a thousand of about as many."""
    leader, _ = WaveVariables().ports()
    for round_trip in (0.1, 0.3, 0.2, 0.6):
        leader.measure(round_trip)
    assert leader.round_trip == pytest.approx(0.3)
    for _ in range(10_000):
        leader.measure(0.8)
    assert leader.round_trip == pytest.approx(0.8, abs=1e-3)


def test_a_wave_moves_the_reference_and_the_spare_brings_it_back_to_the_leader():
    """Step by step: v = (wave + F + D v') / (2 b + D), and a share s of the recovery for
    which s c + s² d is spared.
    """
    layer, remote = WaveVariables(recovery=4.0, reserve=0.5, impedance=30.0), Side("leader")
    _, follower = layer.ports()
    b, damper = np.repeat([30.0, 0.3], 3), np.repeat([50.0, 0.5], 3)
    force = np.array([-6.0, 2.0, 0.0, 0.02, 0.0, -0.3])
    turned = rotation_from_vector([0.0, 0.0, 0.2])
    follower.fit()
    follower.lead(remote, handle(np.zeros(3), np.eye(3), np.zeros(6)), np.zeros(6), DT)
    np.testing.assert_allclose(follower.impedance, b)
    np.testing.assert_allclose(follower.damping, damper)
    follower.hear(np.ones(6), np.zeros(6))
    given_twist, given_wrench = 0.1 * np.arange(6.0), np.array([-3.0, 1.0, 2.0, 0.1, 0.0, -0.1])
    position, rotation, before, spare = np.zeros(3), np.eye(3), np.zeros(6), 0.0
    wave, used = b * given_twist - given_wrench, 0.0
    for spared in (0.002, 1e-5, 0.45, 0.6):
        follower.spare = spared
        follower.arrive(given_twist, given_wrench)
        follower.lead(remote, handle(np.array([0.05, -0.02, 0.0]), turned, np.zeros(6)), force, DT)
        sent = 0.25 * DT * force**2 / b
        spare = min(spared + used - sent.sum() + force @ before * DT, 0.5)
        assert follower.spare == pytest.approx(spare)
        used = (0.25 * DT * wave**2 / b).sum()
        twist = (wave + force + damper * before) / (2.0 * b + damper)
        angle = 0.2 - np.arctan2(rotation[1, 0], rotation[0, 0])
        away = np.array([0.05, -0.02, 0.0]) - position
        np.testing.assert_allclose(follower.behind[:3], away)
        np.testing.assert_allclose(follower.behind[5], angle, atol=1e-4)
        back = 4.0 * follower.behind
        c = np.maximum(-(force + damper * (before - twist)) * back, 0.0).sum() * DT
        d = (damper * back * back).sum() * DT
        share = min((np.sqrt(c * c + 4.0 * d * max(spare, 0.0)) - c) / (2.0 * d), 1.0)
        twist = twist + share * back
        np.testing.assert_allclose(follower.twist, twist, rtol=1e-9)
        position = position + twist[:3] * DT
        rotation = rotation_from_vector(twist[3:] * DT) @ rotation
        np.testing.assert_allclose(remote.position, position)
        np.testing.assert_allclose(remote.rotation, rotation)
        np.testing.assert_array_equal(remote.twist, follower.twist)
        before = twist
    np.testing.assert_allclose(follower.taken, 4 * 0.25 * DT * wave**2 / b)


def test_a_wave_follower_that_parts_pays_with_all_it_has_and_then_less_goes_back():
    """The wave that leaves is cut to the spare, what the last wave brought, and the work."""
    _, follower = WaveVariables(reserve=10.0).ports()
    follower.spare, follower.twist[:] = 0.001, 0.0
    force = np.array([40.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    full = 0.25 * DT * 40.0**2 / 50.0
    assert full > 0.007
    follower.part(force, DT)
    assert follower.given.sum() == pytest.approx(0.001)
    assert follower.spare == pytest.approx(0.0, abs=1e-12)
    follower.spare, follower.twist[0] = 0.002, 0.1
    follower.part(force, DT)
    # 40 N at 0.1 m/s more, and then the reference stands still
    assert follower.given.sum() == pytest.approx(0.001 + 0.002 + 0.004)
    assert not follower.twist.any()
    follower.spare, follower._used, before = 0.001, 0.004, follower.given.sum()
    follower.part(force, DT)
    assert follower.given.sum() - before == pytest.approx(0.001 + 0.004)
    follower.spare = 1.0
    follower.part(force, DT)
    assert follower.given.sum() - before == pytest.approx(0.005 + full)


def test_no_single_step_overdraws_the_leader_by_more_than_is_lent():
    """A damper at its limit leaves 9 mJ of 10 mJ: the force gives way, also while it resists."""
    leader, _ = TimeDomainPassivity(lent=3e-3, damping_limit=10.0).ports()
    wrench, twist = np.array([100.0, -5.0, 0, 0, 0, 0]), np.array([0.1, 0.1, 0, 0, 0, 0])
    pushed = leader.push(wrench, twist, DT)
    # along x no more than two of what is lent; along y the whole resistance
    assert pushed[0] * twist[0] * DT == pytest.approx(6e-3)
    assert pushed[1] <= -5.0
    assert leader.budget >= -3e-3 - 1e-12


@pytest.mark.parametrize("end", [0, 1])
def test_what_motors_did_counts_and_not_what_they_were_asked_for(end):
    """Half of the work that was booked was not done: the account is as if half had been asked."""
    wrench, twist = np.array([2.0, 0, 0, 0, 0, 0]), np.array([0.5, 0, 0, 0, 0, 0])
    ports = [TimeDomainPassivity(fill=0.0).ports()[end] for _ in range(2)]
    ports[0].push(wrench, twist, DT)
    ports[0].correct(-0.5 * wrench * twist * DT)
    ports[1].push(0.5 * wrench, twist, DT)
    booked, asked = (port.inside if end else port.budget - port.settings.lent for port in ports)
    assert booked == pytest.approx(asked, abs=1e-12) and asked < -1e-4

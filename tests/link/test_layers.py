"""Passivity layers: no net energy comes out, whatever the hand, the force, the delay and the
losses.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farhand.coupling import LAWS, FourChannel, PositionForce, PositionPosition, Side, Spring
from farhand.coupling.port import TOOL
from farhand.errors import BadValue, Mismatch, UnknownName
from farhand.link.layers import (
    LAYERS,
    EnergyTank,
    TimeDomainPassivity,
    WaveVariables,
    make_layer,
    register_layer,
)
from farhand.parameters import assign
from farhand.spatial import rotation_from_vector

DT = 1e-3
EYE, REST = np.eye(3), np.zeros(6)


def handle(position, rotation, twist):
    """Where the packets say that the leader is."""
    made = TOOL.handle()
    made.position[:], made.rotation[:], made.twist[:] = position, rotation, twist
    return made


def lead(port, position, force, remote=None):
    """Tell the follower's end where the leader is, with a force that the law would exert on it."""
    remote = remote or Side("leader")
    port.lead(remote, handle(position, EYE, REST), np.asarray(force, dtype=float), DT)
    return remote


@settings(deadline=None, max_examples=15)
@given(
    seed=st.integers(0, 2**32 - 1),
    delay=st.integers(1, 300),
    loss=st.floats(0.0, 0.5),
    stiffness=st.floats(10.0, 5e3),
    layer=st.sampled_from(["tank", "tdpa"]),
)
def test_no_more_energy_comes_out_than_was_put_in(seed, delay, loss, stiffness, layer):
    """A random leader against a force that lags by the delay and pushes at random, packets late and
    lost.
    """
    rng = np.random.default_rng(seed)
    # a bounded damper may need more than one step to take the energy back
    made = LAYERS[layer](damping_limit=1e9)
    leader, follower = made.ports()
    position, velocity, sent = np.zeros(3), np.zeros(3), []
    for tick in range(800):
        velocity += 0.02 * rng.normal(size=3) - 0.02 * velocity
        position = position + velocity * DT
        late = (
            sent[max(0, tick - delay)]
            if tick
            else (position, leader.given, leader.taken, np.zeros(6))
        )
        force_b = np.concatenate([-stiffness * late[0] + 5.0 * rng.normal(size=3), np.zeros(3)])
        if rng.random() > loss:
            follower.hear(late[1], late[2])
        lead(follower, late[0], force_b)
        force_a = late[3]
        leader.push(force_a, np.concatenate([velocity, np.zeros(3)]), DT)
        if rng.random() > loss and tick > delay:
            leader.hear(*sent[tick - delay][4])
        energies = follower.given.copy(), follower.taken.copy()
        sent.append((position, leader.given.copy(), leader.taken.copy(), force_b, energies))
        put_in, taken_out = (
            float(a.sum() + b.sum()) for a, b in zip(*_sums(leader, follower), strict=True)
        )
        assert taken_out <= put_in + 2.0 * made.lent + 1e-9


def _sums(leader, follower):
    return (leader.given, leader.taken), (follower.given, follower.taken)


def test_a_force_that_only_resists_is_left_alone():
    """What takes energy out of the hand needs no damping."""
    leader, _ = TimeDomainPassivity(fill=0.0).ports()
    twist = np.array([0.1, 0.0, 0.0, 0.0, 0.2, 0.0])
    wrench = -np.array([20.0, 0.0, 0.0, 0.0, 1.0, 0.0])
    np.testing.assert_array_equal(leader.push(wrench, twist, DT), wrench)
    assert leader.added == 0.0
    assert leader.given.sum() - leader.taken.sum() == pytest.approx((2.0 + 0.2) * DT)


def test_a_force_that_would_create_energy_is_damped_to_none():
    """Beyond what is lent, the damper takes exactly the power away."""
    leader, _ = TimeDomainPassivity(lent=0.0, level=0.0).ports()
    twist = np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0])
    pushed = leader.push(np.array([10.0, 0.0, 0.0, 0.0, 0.0, 0.0]), twist, DT)
    assert pushed @ twist == pytest.approx(0.0, abs=1e-12)


def test_the_damping_added_is_bounded():
    """At a crawl the damper would have to be enormous; it waits instead."""
    layer = TimeDomainPassivity(lent=0.0, level=0.0, damping_limit=50.0)
    leader, _ = layer.ports()
    twist = np.array([1e-6, 0.0, 0.0, 0.0, 0.0, 0.0])
    leader.push(np.array([10.0, 0.0, 0.0, 0.0, 0.0, 0.0]), twist, DT)
    assert leader.added == 50.0


def test_the_reference_waits_for_energy_and_then_comes_back_without_a_trace():
    """Held back by a contact that nobody paid for; paid for, it catches up; after the contact
    nothing is left.
    """
    layer = TimeDomainPassivity(lent=0.0, level=0.0, recovery=20.0)
    _, follower = layer.ports()
    against = [-50.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    lead(follower, [0.0, 0.0, 0.0], against)
    seen = lead(follower, [0.01, 0.0, 0.0], against)
    assert seen.position[0] == pytest.approx(0.0, abs=1e-12)
    follower.hear(np.array([0.25, 0, 0, 0, 0, 0]), np.zeros(6))  # 50 N over 5 mm
    for _ in range(2000):
        seen = lead(follower, [0.01, 0.0, 0.0], against)
    assert seen.position[0] == pytest.approx(0.005, abs=1e-6)
    for _ in range(2000):
        seen = lead(follower, [0.01, 0.0, 0.0], np.zeros(6))
    assert seen.position[0] == pytest.approx(0.01, abs=1e-9)


def test_a_turn_that_nobody_paid_for_is_not_shown_whichever_way_the_tool_points():
    """The tool lies on its side and turns about the world's z: the law sees it as it lay."""
    _, follower = TimeDomainPassivity(lent=0.0, level=0.0).ports()
    remote, lying = Side("leader"), rotation_from_vector(np.array([1.5, 0.0, 0.0]))
    against = np.array([0.0, 0.0, 0.0, 0.0, 0.0, -5.0])
    for angle in (0.0, 0.2):
        turned = rotation_from_vector(np.array([0.0, 0.0, angle])) @ lying
        follower.lead(remote, handle(np.zeros(3), turned, REST), against, DT)
    np.testing.assert_allclose(remote.rotation, lying, atol=1e-12)


def test_energy_in_an_old_packet_changes_nothing():
    """Sums only grow: one that arrives late is no news."""
    leader, _ = TimeDomainPassivity().ports()
    leader.hear(np.full(6, 1.0), np.full(6, 0.5))
    leader.hear(np.full(6, 0.1), np.full(6, 0.5))
    assert (leader.heard, leader.heard_taken) == (6.0, 3.0)


def test_the_tank_is_filled_by_a_drag_that_ends_when_it_is_full():
    """A hand that moves on feels a damper that fades away; the reserve comes to the level."""
    leader, _ = EnergyTank(lent=0.0, level=0.5, fill=100.0).ports()
    twist, drags = np.array([0.2, 0.0, 0.0, 0.0, 0.0, 0.0]), []
    for _ in range(5000):
        drags.append(-leader.push(np.zeros(6), twist, DT)[0])
    assert drags[0] == pytest.approx(100.0 * 2 * 0.5 * 0.2)
    assert drags[-1] < 0.1
    assert leader.reserve == pytest.approx(0.5, abs=0.01)
    assert leader.budget == pytest.approx(0.5, abs=0.01)


def test_what_cannot_be_paid_for_is_not_felt():
    """A damper at a crawl takes next to nothing; the force fades instead, so the debt stays below
    what is lent.
    """
    layer = TimeDomainPassivity(lent=0.01, level=0.0, damping_limit=1.0)
    leader, _ = layer.ports()
    twist = np.array([0.01, 0.0, 0.0, 0.0, 0.0, 0.0])
    pushed = [
        leader.push(np.array([50.0, 0.0, 0.0, 0.0, 0.0, 0.0]), twist, DT)[0] for _ in range(500)
    ]
    assert pushed[0] == 50.0
    assert abs(pushed[-1]) < 0.1
    assert leader.taken.sum() <= 2.0 * layer.lent + 1e-9


def test_a_slow_link_needs_more_in_reserve():
    """By a round trip's worth of pressing blindly."""
    leader, follower = TimeDomainPassivity(level=0.1, blind=2.0).ports()
    assert leader.reserve_target == 0.1
    follower.round_trip = 0.5
    assert follower.reserve_target == pytest.approx(1.1)


def test_what_the_follower_gives_back_is_its_own_first():
    """A spring that lets go fills the reserve here; only the rest travels, and less of it the later
    it would come.
    """
    pulled, none = [50.0, 0.0, 0.0, 0.0, 0.0, 0.0], np.zeros(6)
    for round_trip, sent in ((0.0, 0.4), (0.1, 0.4 * np.exp(-1.0))):
        _, follower = TimeDomainPassivity(lent=0.0, level=0.1, blind=0.0).ports()
        follower.round_trip = round_trip
        lead(follower, [0.0, 0.0, 0.0], pulled)
        lead(follower, [0.01, 0.0, 0.0], pulled)  # 0.5 J came in
        assert follower.budget == pytest.approx(0.1)
        assert follower.given.sum() == pytest.approx(sent)
        follower.hear(none, none)
        assert follower.budget == pytest.approx(0.1)
    _, follower = TimeDomainPassivity(lent=0.0, level=0.9, blind=0.0).ports()
    lead(follower, [0.0, 0.0, 0.0], pulled)
    lead(follower, [0.01, 0.0, 0.0], pulled)
    assert follower.budget == pytest.approx(0.5) and not follower.given.any()


def test_a_law_that_makes_energy_at_the_follower_is_damped_there():
    """A wrench that pushes a moving follower although the reference stands still has nobody to pay
    for it.
    """
    layer = TimeDomainPassivity(lent=0.01, damping_limit=1e6)
    _, follower = layer.ports()
    twist, out = np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0]), 0.0
    for _ in range(1000):
        out += (
            float(follower.push(np.array([5.0, 0.0, 0.0, 0.0, 0.0, 0.0]), twist, DT) @ twist) * DT
        )
    assert out == pytest.approx(layer.lent, rel=1e-6)


def test_a_new_engagement_starts_from_where_the_leader_is():
    """What was held back before parting does not come along, and the way in between costs
    nothing.
    """
    _, follower = TimeDomainPassivity(lent=0.0, level=0.0).ports()
    against = [-50.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    lead(follower, [0.0, 0.0, 0.0], against)
    lead(follower, [0.01, 0.0, 0.0], against)
    follower.begin()
    assert lead(follower, [0.5, 0.0, 0.0], against).position[0] == 0.5
    assert follower.taken.sum() == 0.0


def test_a_layer_is_set_live_and_found_by_name():
    """The ports look at the layer's parameters, not at copies."""
    layer = make_layer("tank")
    leader, _ = layer.ports()
    assign({"layer": layer}, "layer.level", 2.0)
    assert leader.settings.level == 2.0
    assert make_layer("none") is None
    with pytest.raises(UnknownName, match="tdpa"):
        make_layer("magic")


def test_what_the_hand_puts_in_is_shared_as_both_ends_need_it_and_lost_beyond_that():
    """First both reserves, then a second one at the leader; no end ever has more to spend than
    that.
    """
    layer = TimeDomainPassivity(lent=0.0, level=0.1, fill=0.0)
    leader, _ = layer.ports()
    against, twist = (
        np.array([-10.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0]),
    )
    for _ in range(200):  # 0.2 J
        leader.push(against, twist, DT)
    assert leader.given.sum() == pytest.approx(0.1)
    assert leader.budget == pytest.approx(0.1)
    for _ in range(2000):
        leader.push(against, twist, DT)
    assert leader.given.sum() == pytest.approx(0.1)
    assert leader.budget == pytest.approx(0.2)


def test_what_the_follower_takes_during_a_round_trip_is_sent_ahead():
    """An answer to what is known of it arrives a round trip later; until then it goes on taking."""
    leader, _ = TimeDomainPassivity(level=0.1, blind=0.0).ports()
    leader.round_trip = 0.5
    for tick in range(5000):  # the follower takes one watt
        leader.hear(np.zeros(6), np.array([tick * DT, 0, 0, 0, 0, 0]))
        leader.push(np.zeros(6), np.zeros(6), DT)
    assert leader.pace == pytest.approx(1.0, rel=1e-3)
    assert leader.owed == pytest.approx(leader.reserve_target + 0.5 - leader.reserve, rel=1e-3)
    leader.forget()
    assert leader.owed == pytest.approx(leader.reserve_target)


def test_what_no_damper_can_take_at_the_follower_is_not_exerted():
    """At a crawl a bounded damper pays next to nothing for a wrench that nobody has paid for."""
    layer = TimeDomainPassivity(lent=0.01, damping_limit=1.0)
    _, follower = layer.ports()
    twist, out = np.array([0.01, 0.0, 0.0, 0.0, 0.0, 0.0]), 0.0
    for _ in range(2000):
        pushed = follower.push(np.array([50.0, 0.0, 0.0, 0.0, 0.0, 0.0]), twist, DT)
        out += float(pushed @ twist) * DT
    assert out <= 2.0 * layer.lent + 1e-9
    resisting = follower.push(np.array([-50.0, 0.0, 0.0, 0.0, 0.0, 0.0]), twist, DT)
    assert resisting[0] <= -50.0


@pytest.mark.parametrize("law", [PositionForce, FourChannel], ids=lambda law: law.name)
def test_waves_are_refused_around_a_law_without_a_port(law):
    """With the reason, and what would do, on one line."""
    with pytest.raises(
        Mismatch, match=rf"velocity–force port.*'{law.name}'.*position-position"
    ) as told:
        make_layer("waves", law)
    assert "\n" not in str(told.value)
    assert isinstance(make_layer("waves", PositionPosition), WaveVariables)


def test_the_power_of_a_wave_port_is_what_the_waves_carry():
    """F·v = ½u² − ½w²: what is booked as sent less what is booked as used is the work of the hand
    at the port.
    """
    rng = np.random.default_rng(3)
    leader, _ = WaveVariables().ports()
    leader.hear(np.full(6, 1.0), np.zeros(6))
    leader.arrive(rng.normal(size=6), rng.normal(size=6))
    twist = rng.normal(size=6)
    wrench = leader.push(REST, twist, DT)
    np.testing.assert_allclose(leader.given - leader.taken, -wrench * twist * DT, atol=1e-15)
    leader.push(REST, twist, DT, 0.3)
    # the damper of the usual impedance, as far as it is engaged
    assert leader.added == pytest.approx(0.3 * 50.0)


def test_what_neither_the_law_nor_the_wave_back_takes_of_a_wave_is_spared():
    """Energy is kept at the reference: waves in = work on the law + waves out + spare, whatever the
    force does.
    """
    rng, work = np.random.default_rng(4), 0.0
    _, follower = WaveVariables(reserve=100.0).ports()
    force = np.zeros(6)
    for _ in range(500):
        follower.hear(follower.taken + 0.01, np.zeros(6))
        follower.arrive(0.1 * rng.normal(size=6), rng.normal(size=6))
        lead(follower, 0.01 * rng.normal(size=3), force)
        force = rng.normal(size=6)
        work -= float(force @ follower.twist) * DT
    follower.taken[:], came = 0.0, float(follower.taken.sum())
    follower.heard[:] = 0.0
    lead(follower, np.zeros(3), force)
    assert came == pytest.approx(work + float(follower.given.sum()) + follower.spare, rel=1e-9)


def test_the_impedance_of_waves_fits_the_law_and_the_link_unless_chosen():
    """The law's damper, or what makes the link's spring b/T as stiff as the law's; rotation goes
    along.
    """
    layer = WaveVariables()
    leader, _ = layer.ports()
    leader.law = PositionPosition()
    leader.fit()
    np.testing.assert_allclose(leader.impedance, [70.0] * 3 + [1.2] * 3)
    leader.measure(0.6)
    leader.measure(0.8)
    leader.fit()
    np.testing.assert_allclose(leader.impedance, [1000.0 * 0.35] * 3 + [20.0 * 0.35] * 3)
    layer.impedance = 140.0
    leader.fit()
    np.testing.assert_allclose(leader.impedance, [140.0] * 3 + [2.4] * 3)


def test_the_impedance_of_waves_is_that_of_the_law_as_the_leader_feels_it():
    """Through a mapping a spring is felt s² s_f as stiff, and s_f as stiff about an axis; none
    felt: full.
    """
    leader, _ = WaveVariables().ports()
    leader.law = PositionPosition()
    leader.law.mapping.motion_scale, leader.law.mapping.force_scale = 2.0, 0.1
    leader.fit()
    np.testing.assert_allclose(leader.impedance, [0.4 * 70.0] * 3 + [0.1 * 1.2] * 3)
    leader.law.mapping.force_scale = 0.0
    leader.fit()
    np.testing.assert_allclose(leader.impedance, [4.0 * 70.0] * 3 + [1.2] * 3)


@pytest.mark.parametrize(
    "law",
    [
        LAWS["none"](),
        PositionPosition(spring=Spring(damping=0.0)),
        PositionPosition(spring=Spring(rotational_damping=0.0)),
    ],
    ids=["no spring", "no damper", "no damper about an axis"],
)
def test_the_impedance_of_waves_for_a_law_without_a_spring_and_a_damper_is_the_usual_one(law):
    """There is nothing to fit it to."""
    leader, _ = WaveVariables().ports()
    leader.law, leader.round_trip = law, 10.0
    leader.fit()
    np.testing.assert_allclose(leader.impedance, [50.0] * 3 + [0.5] * 3)
    np.testing.assert_allclose(leader.damping, leader.impedance)


def test_a_wave_is_used_once():
    """A packet that is held because the next is late gives no energy twice."""
    leader, _ = WaveVariables().ports()
    leader.arrive(REST, np.array([5.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
    energy = 0.25 * 5.0**2 / 50.0 * DT
    leader.hear(np.array([energy, 0, 0, 0, 0, 0]), np.zeros(6))
    assert leader.wave(DT)[0] == pytest.approx(-5.0)
    leader.push(REST, np.zeros(6), DT)
    assert leader.wave(DT)[0] == pytest.approx(0.0, abs=1e-6)


def waved(layer, velocity, force, ticks, late=100):
    """Move the leader at a velocity [m/s] of time [s] against a force of place [N], ``late`` ticks
    one way.

    Returns where the leader was said to be, where the reference was and what the hand felt, per
    tick.
    """
    leader, follower = layer.ports()
    x, felt, sent, rows = 0.0, np.zeros(6), [(0.0, REST, REST, REST)] * late, []
    back = [(np.zeros(6), REST)] * late
    for tick in range(ticks):
        v = np.array([velocity(tick * DT), 0, 0, 0, 0, 0])
        x += v[0] * DT
        leader.hear(back[-late][1], REST)
        leader.arrive(REST, back[-late][0])
        felt = leader.push(REST, v, DT).copy()
        position, twist, wrench, given_ = sent[-late]
        follower.hear(given_, REST)
        follower.arrive(twist, wrench)
        pulled = back[-1][0]
        seen = lead(follower, [position, 0.0, 0.0], -pulled)
        sent.append((x, v, felt, leader.given.copy()))
        back.append((np.array([force(seen.position[0]), 0, 0, 0, 0, 0]), follower.given.copy()))
        rows.append((position, seen.position[0], -felt[0]))
    return np.array(rows).T


def test_in_free_motion_the_reference_goes_as_the_leader_went_and_nothing_is_reflected():
    """Also in the first round trip, in which an end without a damper would go twice as far."""
    layer = WaveVariables(impedance=80.0, recovery=0.0)
    said, seen, felt = waved(layer, lambda t: 0.1 if t < 0.5 else 0.0, lambda x: 0.0, 800)
    np.testing.assert_allclose(seen, said, atol=1e-3)
    np.testing.assert_allclose(felt[:500], 80.0 * 0.1)
    np.testing.assert_allclose(felt[501:], 0.0, atol=1e-9)


@pytest.mark.parametrize(("recovery", "share"), [(0.0, 1.0), (5.0, 0.0)])
def test_the_links_spring_is_felt_under_a_force_unless_the_hand_has_paid_for_it(recovery, share):
    """F T/b behind the leader in steady contact; with what the damper spared before it, not
    at all.
    """
    layer = WaveVariables(impedance=80.0, recovery=recovery)
    said, seen, felt = waved(
        layer, lambda t: 0.1 if t < 1.0 else 0.0, lambda x: 500.0 * max(0.0, x - 0.08), 6000
    )
    force = 500.0 * (seen[-1] - 0.08)
    assert felt[-1] == pytest.approx(force, rel=1e-3)
    assert said[-1] - seen[-1] == pytest.approx(share * force * 0.1 / 80.0, abs=3e-4)


def test_the_reference_of_waves_comes_back_to_the_leader():
    """Whatever was lost on the way: without a force in the way drift is taken out."""
    _, follower = WaveVariables().ports()
    lead(follower, [0.0, 0.0, 0.0], np.zeros(6))
    for _ in range(2000):
        seen = lead(follower, [0.05, 0.0, 0.0], np.zeros(6))
    assert seen.position[0] == pytest.approx(0.05, abs=1e-4)


def test_nobody_pays_for_a_reference_that_pushes_on_by_itself():
    """Against a force and with nothing spared it stays where the wave left it; a new engagement has
    nothing spared.
    """
    _, follower = WaveVariables().ports()
    against = [-50.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    follower.spare = 1.0
    follower.begin()
    for _ in range(500):
        seen = lead(follower, [0.05, 0.0, 0.0], against)
        against = [-50.0 if seen.position[0] > 0.0 else 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert seen.position[0] < 1e-3


def test_a_layer_is_registered_under_a_name_of_its_own():
    """Neither that of another nor of none; the same again, such as after a reload, is no harm."""

    class Other(TimeDomainPassivity):
        name = "tank"

    assert register_layer(EnergyTank) is EnergyTank
    for name in ("tank", "none"):
        Other.name = name
        with pytest.raises(BadValue, match=f"already a layer {name!r}"):
            register_layer(Other)
    Other.name = "other"
    register_layer(Other)
    assert LAYERS.pop("other") is Other

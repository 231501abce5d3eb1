"""Layers while two sides come together and part: what is added fades with the coupling, and only
that is booked.
"""

from __future__ import annotations

import numpy as np
import pytest

from farhand.link.layers import LAYERS, WaveVariables
from farhand.loop.bridges.end import PARTING_WORK

DT, RAMP = 1e-3, 0.2
TWIST = np.array([0.2, -0.1, 0.0, 0.3, 0.0, 0.0])
AGAINST = np.array([-20.0, 5.0, 0.0, 0.0, 0.0, 0.0])

CYCLES = [
    f"{t + more:.2f}:{word}"
    for t in np.arange(1.0, 4.0, 0.45)
    for more, word in ((0, "release"), (0.25, "engage"))
]
"""Part and come together again seven times, on the way and in contact."""


def pushed(port, gain: float) -> np.ndarray:
    """What one step of either leader's port exerts at an engagement."""
    return port.push(AGAINST, TWIST, DT, gain).copy()


@pytest.mark.parametrize("layer", LAYERS)
def test_apart_a_leader_feels_nothing_and_nothing_is_booked(layer):
    """Whatever is missing from the reserves, and whatever was asked for last."""
    leader, _ = LAYERS[layer]().ports()
    for _ in range(100):
        np.testing.assert_array_equal(pushed(leader, 0.0), 0.0)
    assert leader.added == 0.0
    assert not leader.given.any()
    assert not leader.taken.any()


@pytest.mark.parametrize("layer", LAYERS)
def test_of_what_a_layer_adds_the_hand_feels_the_share_that_is_engaged(layer):
    """The same port at the same moment, a third engaged: a third of all of it, damping too."""
    whole, third = (pushed(LAYERS[layer]().ports()[0], gain) for gain in (1.0, 1.0 / 3.0))
    assert np.abs(whole).max() > 1.0
    np.testing.assert_allclose(third, whole / 3.0, rtol=1e-12)


@pytest.mark.parametrize("gain", [0.0, 0.3, 1.0])
def test_a_wave_port_that_fades_still_books_the_work_of_the_hand(gain):
    """Sent less used is F·v at any engagement, and no more of a wave is used than has arrived."""
    rng = np.random.default_rng(5)
    leader, _ = WaveVariables().ports()
    for _ in range(200):
        before = leader.given - leader.taken
        leader.hear(leader.heard + 1e-5 * rng.random(6), np.zeros(6))
        leader.arrive(np.zeros(6), 3.0 * rng.normal(size=6))
        twist = 0.1 * rng.normal(size=6)
        wrench = leader.push(np.zeros(6), twist, DT, gain)
        np.testing.assert_allclose(
            leader.given - leader.taken - before, -wrench * twist * DT, atol=1e-15
        )
        assert (leader.taken <= leader.heard + 1e-15).all()


def test_an_indebted_follower_is_not_damped_while_apart():
    """A debt that no damper could take in time is not paid for by an arm that nothing is
    asked of.
    """
    _, follower = LAYERS["tdpa"](lent=0.01, damping_limit=1.0).ports()
    for _ in range(100):
        follower.push(np.array([50.0, 0, 0, 0, 0, 0]), np.array([0.01, 0, 0, 0, 0, 0]), DT)
    debt = follower.inside
    assert debt < -follower.settings.lent
    np.testing.assert_array_equal(follower.push(AGAINST, TWIST, DT, 0.0), 0.0)
    assert follower.inside == debt


def test_a_wave_follower_that_parts_sends_no_more_than_it_has_received():
    """Its reference stands still, so nothing but what arrives and what was spared pays for the
    waves that leave.
    """
    rng = np.random.default_rng(6)
    _, follower = WaveVariables().ports()
    follower.spare = 1e-4
    for _ in range(300):
        follower.hear(follower.heard + 1e-6 * rng.random(6), np.zeros(6))
        follower.arrive(0.05 * rng.normal(size=6), rng.normal(size=6))
        follower.part(5.0 * rng.normal(size=6), DT)
        assert follower.given.sum() <= 1e-4 + follower.taken.sum() + 1e-12
    assert follower.given.sum() > 1e-4
    assert not follower.twist.any()


@pytest.mark.parametrize("layer", LAYERS)
def test_a_leader_that_was_released_moves_as_without_a_layer(dual_arm, layer):
    """Nothing is commanded once it has parted, and nothing goes into the coupling or is booked."""
    run = (
        dual_arm(law="position-position", scenario="free", delay=200.0, layer=layer)
        .post("0.05:release")
        .on(0.8)
    )
    assert run.tool_speed("leader") > 0.05
    assert np.abs(run.signal("leader", "wrench_commanded_in_world", 0.3)).max() == 0.0
    assert run.signal("coupling", "layer_damping", 0.3).max() == 0.0
    assert np.ptp(run.signal("coupling", "layer_energy", 0.3), axis=0).max() == 0.0


@pytest.mark.parametrize("layer", LAYERS)
def test_a_leader_never_engaged_because_the_follower_is_tripped_feels_nothing(dual_arm, layer):
    """The gain was zero all the time."""
    run = dual_arm(law="position-position", scenario="free", delay=40.0, layer=layer)
    run.follower.guard.stop(0, "stop", "a test")
    run.on(0.8)
    assert run.bridge.a.engagement.gain == 0.0
    assert run.tool_speed("leader") > 0.05
    assert np.abs(run.signal("leader", "wrench_commanded_in_world")).max() == 0.0


@pytest.mark.parametrize("layer", ["tank", "waves"])
def test_a_follower_that_trips_under_load_lets_the_hand_down_gently(dual_arm, layer):
    """Of tens of newtons at the hand no tick takes more than two fades do: one at either end."""
    run = dual_arm(law="position-position", scenario="press", delay=20.0, layer=layer).on(2.8)
    level = np.linalg.norm(
        run.signal("leader", "wrench_commanded_in_world", 2.7)[:, :3], axis=1
    ).max()
    assert level > 30.0
    run.follower.guard.stop(run.session.now_ns, "stop", "a test")
    run.on(0.4)
    assert (
        run.largest_step("leader", "wrench_commanded_in_world", 2.7) < 2 * 1.5 * DT / RAMP * level
    )
    assert np.abs(run.signal("leader", "wrench_commanded_in_world")[-1]).max() == 0.0


@pytest.mark.parametrize("layer", ["tank", "waves"])
def test_parting_and_coming_together_again_and_again_makes_no_energy_and_no_jump(dual_arm, layer):
    """Neither end takes more than the other has given, in all or at any moment."""
    run = (
        dual_arm(law="position-position", scenario="wall", delay=20.0, layer=layer)
        .post(*CYCLES)
        .on(4.3)
    )
    lent = getattr(run.rig.parts.layer, "lent", 0.0)
    by_leader, from_follower, by_follower, from_leader = run.signal("coupling", "layer_energy").T
    assert (from_follower - by_follower).max() <= 2.0 * lent + 1e-9
    assert (from_leader - by_leader).max() <= 2.0 * lent + 1e-9
    assert run.signal("coupling", "port_energy").sum(axis=1).min() > -2.0 * lent - 1e-3
    level = np.abs(run.signal("leader", "wrench_commanded_in_world")).max()
    assert level > 5.0
    # two fades, and the bound on the work of an effort that fades
    work = DT * level * run.tool_speed("leader") / PARTING_WORK
    assert run.largest_step("leader", "wrench_commanded_in_world") < (
        (2 * 1.5 * DT / RAMP + work) * level + 0.1
    )


def test_what_a_passive_joint_cannot_take_is_not_booked():
    """A pen whose wrist has no motors puts no energy into a tank by turning."""
    from farhand.rigs import Options, build_rig

    rig = build_rig("youbot", Options(None, "tank", "free", delay=40.0))
    end = rig.session.bridges[0].a
    arm, drives = end.station.arm, end.station.drives
    arm.update(arm.q.copy(), np.full(arm.nv, 0.5))
    assert arm.twist[~drives].any()
    for _ in range(10):
        end.apply(1.0, DT)
    assert end.port.given[drives].sum() > 0.0
    assert not end.port.given[~drives].any()
    assert not end.port.taken[~drives].any()
    assert not end.contribution.wrench[~drives].any()
    rig.close()

"""Friction from logs: right where the data tell, and honest where they do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from farhand.errors import BadValue, OutOfRange, UnknownName
from farhand.friction import make
from farhand.friction.fit.data import JointLog, make_log
from farhand.friction.fit.fit import TERMS, Fit, fit
from farhand.friction.fit.motion import find_tick
from farhand.plants.simulated.one_joint import OneJoint
from tests.friction.joint_logs import MOTIONS, TICK, Joint, log


@pytest.fixture
def joint() -> Joint:
    return Joint()


def said(found: Fit, *words: str) -> bool:
    """Whether one warning has all these words."""
    return any(all(word in line for word in words) for line in found.warnings)


@pytest.mark.parametrize("kind", MOTIONS)
@pytest.mark.parametrize("rate", [200.0, 2000.0])
def test_coulomb_and_viscous_friction_come_back_from_any_motion(joint, kind, rate):
    """Noise of 2 % and 4000 ticks: within 5 %, and a hold-out error of at most 5 % of the
    torque.
    """
    found = fit(log(joint, kind, rate=rate, seconds=40.0), "kfm")
    assert found.parameters["coulomb"].value == pytest.approx(joint.coulomb, rel=0.05)
    assert found.parameters["viscous"].value == pytest.approx(joint.viscous, rel=0.05)
    assert found.inertia.value == pytest.approx(joint.inertia, rel=0.05)
    assert found.holdout_error < 0.05 * found.rms_torque


@pytest.mark.parametrize("seed", range(4))
def test_joints_of_other_sizes_are_fitted_as_well(seed):
    """Parameters over three decades, drawn at random."""
    rng = np.random.default_rng(seed)
    size, fastest = 10.0 ** rng.uniform(-2, 1), 10.0 ** rng.uniform(0, 1.3)
    truth = Joint(
        coulomb=size,
        breakaway=size * rng.uniform(1.0, 2.0),
        stribeck_velocity=0.03 * fastest,
        viscous=size / fastest * rng.uniform(0.3, 1.5),
        inertia=0.2 * size / fastest * rng.uniform(0.3, 2.0),
    )
    found = fit(log(truth, "steps", fastest=fastest, seed=seed), "kfm")
    assert found.parameters["coulomb"].value == pytest.approx(truth.coulomb, rel=0.05)
    assert found.parameters["viscous"].value == pytest.approx(truth.viscous, rel=0.05)
    assert found.holdout_error < 0.05 * found.rms_torque


def test_slow_speeds_show_the_stribeck_peak(joint):
    """Steady slow speeds are what identifies break-away friction; intervals hold the truth to twice
    their width.
    """
    found = fit(log(joint, "steps", fastest=4.0, seconds=120.0), "kfm")
    for name in ("coulomb", "viscous", "breakaway", "stribeck_velocity"):
        one = found.parameters[name]
        assert one.identified, name
        assert one.value == pytest.approx(getattr(joint, name), rel=0.1)
        assert (
            abs(one.value - getattr(joint, name)) < 2.0 * (one.high - one.value) + 0.02 * one.value
        )


def test_intervals_cover_the_truth_as_often_as_they_say(joint):
    """Of forty intervals for Coulomb and viscous friction nearly all hold the truth; fewer would be
    a false claim.
    """
    inside, plain = [], replace(joint, breakaway=joint.coulomb)
    for seed in range(20):
        found = fit(log(plain, "steps", seconds=30.0, rate=500.0, seed=seed), "coulomb-viscous")
        for name in ("coulomb", "viscous"):
            one = found.parameters[name]
            inside.append(one.low <= getattr(plain, name) <= one.high)
    assert np.mean(inside) > 0.85


def test_fast_motion_alone_does_not_pretend_to_know_break_away(joint):
    """A fast sine crosses the Stribeck speeds in a few milliseconds."""
    found = fit(log(joint, "sine", fastest=8.0), "kfm")
    assert not found.parameters["breakaway"].identified
    assert said(found, "breakaway", "not identified", "slower than")


def test_one_direction_is_said_to_be_one_direction(joint):
    """Coulomb friction and an offset of the torque cannot be told apart."""
    found = fit(log(joint, "one-way"), "coulomb-viscous")
    assert said(found, "only moves forward", "offset")
    assert not found.offset.identified


def test_constant_speed_tells_neither_inertia_nor_the_parts_of_friction(joint):
    """Only the sum of dry and viscous friction at that speed is known, and it is right."""
    table = log(joint, "constant")
    rows = table.time > 2.0
    still = JointLog(
        table.time[rows], table.position[rows], table.velocity[rows], table.torque[rows]
    )
    found = fit(still, "coulomb-viscous")
    assert not any(found.parameters[name].identified for name in ("coulomb", "viscous"))
    assert not found.inertia.identified
    assert said(found, "speed hardly changes") and said(found, "inertia is not identified")
    assert found.friction.steady(5.0) == pytest.approx(float(joint.friction.steady(5.0)), rel=0.02)


def test_a_coarse_encoder_hides_the_stiffness_before_sliding(joint):
    """4000 ticks at the joint, break-away within a third of a tick: the report says so."""
    found = fit(log(joint, "random"), "lugre")
    assert not found.parameters["stiffness"].identified
    assert said(found, "stiffness", "not identified", "tick")


def test_a_fine_encoder_shows_the_stiffness_before_sliding():
    """Sub-stiction loops and a few slides, ticks of 1e-5 rad."""
    truth = make("lugre")
    joint, rows, dt = OneJoint(truth, dt=2e-3, substeps=2), [], 2e-3
    rng = np.random.default_rng(0)
    for k in range(10_000):
        t = k * dt
        push = 0.07 * np.sin(np.pi * t) if t < 12.0 else 0.2 * np.sin(np.pi * t)
        joint.step(push)
        rows.append((t, np.round(joint.position[0] / 1e-5) * 1e-5, joint.velocity[0], push))
    table = np.array(rows)
    table[:, 3] += 1e-3 * rng.standard_normal(len(table))
    found = fit(make_log(table), "lugre")
    assert found.parameters["stiffness"].identified
    assert found.parameters["stiffness"].value == pytest.approx(250.0, rel=0.15)


def test_a_torque_without_sign_gets_it_back(joint):
    """Drives that report the amount of current; the sign differs from that of the motion while it
    brakes.
    """
    table = log(joint, "random")
    found = fit(replace(table, torque=np.abs(table.torque)), "coulomb-viscous")
    whole = fit(table, "coulomb-viscous")
    assert said(found, "no sign")
    assert found.parameters["coulomb"].value == pytest.approx(
        whole.parameters["coulomb"].value, rel=0.03
    )


def test_an_offset_of_the_drive_is_found_and_taken_out(joint):
    """It is not counted as friction."""
    found = fit(log(joint, "random", offset=0.05), "kfm")
    assert found.offset.value == pytest.approx(0.05, abs=0.003)
    assert found.parameters["coulomb"].value == pytest.approx(joint.coulomb, rel=0.05)
    assert said(found, "constant torque")


def test_irregular_times_pauses_turns_and_spikes_do_no_harm(joint):
    """What real loggers do."""
    rng = np.random.default_rng(3)
    table = log(joint, "random", rate=2000.0)
    keep = np.sort(rng.choice(len(table), len(table) // 3, replace=False))
    keep = keep[(table.time[keep] < 20.0) | (table.time[keep] > 26.0)]
    torque = table.torque.copy()
    torque[keep[rng.choice(len(keep), 30, replace=False)]] += 5.0
    position = np.mod(table.position + np.pi, 2.0 * np.pi) - np.pi
    found = fit(
        JointLog(table.time[keep], position[keep], table.velocity[keep], torque[keep]), "kfm"
    )
    assert found.parameters["coulomb"].value == pytest.approx(joint.coulomb, rel=0.05)
    assert found.parameters["viscous"].value == pytest.approx(joint.viscous, rel=0.05)
    assert said(found, "full turns") and said(found, "stand out")


def test_a_torque_that_goes_with_the_position_is_named(joint):
    """And found if asked for."""
    table = log(joint, "random")
    table = replace(table, torque=table.torque + 0.1 * np.sin(table.position))
    assert said(fit(table, "kfm"), "goes with the position")
    found = fit(table, "kfm", gravity=True)
    assert found.gravity is not None and found.gravity[0] == pytest.approx(0.1, rel=0.05)
    assert found.parameters["coulomb"].value == pytest.approx(joint.coulomb, rel=0.05)


def test_inertia_may_be_given(joint):
    """Then it is not searched for."""
    found = fit(log(joint, "steps"), "kfm", inertia=joint.inertia)
    assert found.inertia.value == joint.inertia
    assert found.parameters["viscous"].value == pytest.approx(joint.viscous, rel=0.05)


@pytest.mark.parametrize("model", sorted(TERMS))
def test_every_model_can_be_fitted_and_leaves_finite_numbers(joint, model):
    """Even one that cannot explain the data; dry friction is of the right size wherever there is a
    parameter for it.
    """
    found = fit(log(joint, "steps", seconds=12.0, rate=200.0), model)
    assert (
        np.isfinite(found.curve).all() and np.isfinite([found.rms_error, found.holdout_error]).all()
    )
    assert set(found.parameters) <= set(vars(make(model)))
    if "coulomb" in found.parameters:
        assert 0.5 * joint.coulomb < found.parameters["coulomb"].value < 5.0 * joint.coulomb


def test_auto_takes_the_simplest_model_that_explains_the_data(joint):
    """A joint without a Stribeck peak is not given one."""
    plain = replace(joint, breakaway=joint.coulomb)
    assert fit(log(plain, "steps", seconds=40.0), "auto").model == "coulomb-viscous"
    peaked = fit(log(joint, "steps", seconds=40.0, fastest=2.0), "auto")
    assert peaked.model in ("stribeck", "kfm", "lugre") and set(peaked.compared) >= {
        "coulomb",
        "kfm",
    }


def test_ticks_are_found_also_in_rounded_files():
    """Six digits of 1.5708e-3 rad are enough; a position without ticks has none."""
    rng = np.random.default_rng(0)
    position = np.cumsum(rng.standard_normal(5000)) * 0.05
    assert find_tick(np.round(np.round(position / TICK) * TICK, 6)) == pytest.approx(TICK, rel=1e-4)
    assert find_tick(position) < 1e-4


def test_impossible_wishes_are_refused(joint):
    """With the names that there are, or the limits."""
    table = log(joint, "sine", seconds=10.0)
    with pytest.raises(UnknownName, match="lugre"):
        fit(table, "magic")
    with pytest.raises(OutOfRange, match="inertia"):
        fit(table, "kfm", inertia=-1.0)


def test_a_joint_at_rest_is_refused():
    """Nothing can be found in it."""
    time = np.arange(0.0, 5.0, 1e-3)
    rows = np.column_stack([time, 0.0 * time, 0.0 * time, np.sin(time)])
    with pytest.raises(BadValue, match="at rest"):
        make_log(rows)
    rows[2000:, 1] = TICK  # one tick in five seconds
    with pytest.raises(BadValue, match="rest|moves"):
        fit(make_log(rows), "kfm")


@pytest.mark.parametrize("gear", [1.0, 50.0])
def test_a_log_that_begins_and_ends_in_full_motion_is_fitted_as_well(joint, gear):
    """Ten seconds at 200 Hz cut out of a longer motion: what is not known beyond its ends does not
    count.
    """
    whole = log(joint, "random", rate=200.0, seconds=16.0, tick=TICK / gear, seed=5)
    rows = slice(600, 2600)
    cut = JointLog(whole.time[rows], whole.position[rows], whole.velocity[rows], whole.torque[rows])
    found = fit(cut, "kfm", inertia=joint.inertia)
    assert found.parameters["coulomb"].value == pytest.approx(joint.coulomb, rel=0.05)
    assert found.parameters["viscous"].value == pytest.approx(joint.viscous, rel=0.05)
    assert found.holdout_error < 0.05 * found.rms_torque


@pytest.mark.parametrize(
    ("factor", "words"), [(57.29578, "degrees"), (9.549297, "minute"), (3.0, "times")]
)
def test_a_velocity_in_another_unit_is_refused(joint, factor, words):
    """Degrees, turns per minute, or the motor's side of a gear: the factor is named."""
    table = log(joint, "random", seconds=10.0)
    with pytest.raises(BadValue, match=words):
        fit(replace(table, velocity=factor * table.velocity), "kfm")


def test_a_torque_of_the_opposite_sign_is_refused(joint):
    """A joint that gave power to its motor all the time would not need one."""
    table = log(joint, "random", seconds=10.0)
    with pytest.raises(BadValue, match="opposite"):
        fit(replace(table, torque=-table.torque), "kfm")


@pytest.mark.parametrize("model", ["dahl", "maxwell-slip", "coulomb", "viscous"])
def test_a_model_that_cannot_explain_the_data_has_no_parameters_of_the_joint(model):
    """Viscous friction fitted as dry, or the other way round: a number comes out, and is not called
    identified.
    """
    found = fit(log(Joint(coulomb=0.02, breakaway=0.02, viscous=0.1), "sine", seconds=20.0), model)
    if model == "viscous":
        found = fit(log(Joint(), "steps", seconds=20.0), model)
    assert not any(
        found.parameters[name].identified
        for name in ("coulomb", "viscous")
        if name in found.parameters
    )
    assert said(found, "not identified", "freer curve")


def test_a_torque_scaled_one_way_is_no_offset(joint):
    """30 % more torque forward at every speed: neither direction's friction is between the two."""
    table = log(joint, "steps", seconds=40.0)
    speed = np.gradient(table.position, table.time)
    found = fit(
        replace(table, torque=np.where(speed > 0.0, 1.3, 1.0) * table.torque), "coulomb-viscous"
    )
    assert not found.parameters["coulomb"].identified
    assert said(found, "differs between the directions") or said(found, "freer curve")


def test_slow_motion_alone_does_not_pretend_to_know_viscous_friction(joint):
    """Below 0.1 rad/s it is but a twentieth of the torque."""
    found = fit(log(joint, "steps", fastest=0.1, seconds=40.0), "kfm")
    assert not found.parameters["viscous"].identified


def test_a_straight_line_keeps_its_slope(joint):
    """The kernel that smooths velocity is cut off: taken as it is, it makes viscous friction 0.1 %
    too large.
    """
    plain, errors = replace(joint, coulomb=1e-9, breakaway=1e-9), []
    for seed in range(4):
        found = fit(log(plain, "steps", seconds=20.0, rate=500.0, seed=seed), "viscous").parameters[
            "viscous"
        ]
        errors.append(found.value / plain.viscous - 1.0)
        assert found.low <= plain.viscous <= found.high
    assert abs(np.mean(errors)) < 5e-4


@pytest.mark.parametrize("tick", [0.0, TICK / 16, TICK / 200])
def test_a_fine_encoder_does_not_bend_the_peak_of_a_joint_that_gives_before_it_slides(tick):
    """LuGre friction along starts and stops: the way before sliding is no part of the sliding
    curve.
    """
    truth = {
        "coulomb": 0.8,
        "breakaway": 1.3,
        "stribeck_velocity": 0.15,
        "shape": 1.5,
        "viscous": 0.4,
    }
    joint, rate, rng = (
        make("lugre", **truth, stiffness=4000.0, damping=4.0),
        500.0,
        np.random.default_rng(0),
    )
    time, v, k, begin = np.arange(0.0, 40.0, 1.0 / rate), np.zeros(20000), 0, 0.0
    while begin < 40.0:
        speed, lasts = (
            2.0 * rng.choice([0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0]),
            rng.uniform(1.0, 3.0),
        )
        part = np.clip(np.minimum(time - begin, begin + lasts - time) / (0.15 * lasts), 0.0, 1.0)
        v, k, begin = v + (-1) ** k * speed * part, k + 1, begin + lasts + 0.3
    torque = 0.05 * np.gradient(v, time) + np.array(
        [joint.step(np.array([one]), 1.0 / rate)[0] for one in v]
    )
    position = np.concatenate([[0.0], np.cumsum(0.5 * (v[1:] + v[:-1]) / rate)])
    position = np.round(position / tick) * tick if tick else position
    torque += 0.02 * np.sqrt(np.mean(torque**2)) * rng.standard_normal(len(time))
    found = fit(
        make_log(np.column_stack([time, position, np.gradient(position, time), torque])), "lugre"
    )
    for name, value in truth.items():
        assert found.parameters[name].identified
        assert found.parameters[name].value == pytest.approx(value, rel=0.04), name
    if tick == 0.0:
        assert found.parameters["stiffness"].value == pytest.approx(4000.0, rel=0.15)


def test_a_coarse_encoder_widens_the_interval_of_the_inertia(joint):
    """Noise of the acceleration makes inertia look smaller; the interval allows for it."""
    inside = []
    for seed in range(12):
        one = fit(
            log(joint, "sweep", seconds=20.0, rate=500.0, tick=4.0 * TICK, seed=seed), "kfm"
        ).inertia
        inside.append(one.low <= joint.inertia <= one.high)
    assert np.mean(inside) > 0.8


def test_armstrong_is_fitted_to_joints_larger_than_its_defaults():
    """Break-away after a short rest is not in a log of sliding: it follows the one that is
    found.
    """
    big = Joint(coulomb=0.8, breakaway=1.3, stribeck_velocity=0.15, viscous=0.4, inertia=0.05)
    found = fit(log(big, "steps", seconds=30.0, rate=500.0), "armstrong")
    assert found.parameters["breakaway"].value == pytest.approx(1.3, rel=0.1)
    assert not found.parameters["fresh_breakaway"].identified


@pytest.mark.parametrize(("low", "high"), [(-0.12, 0.12), (-9.0, 0.1)])
def test_a_torque_at_its_limit_identifies_nothing(joint, low, high):
    """A drive that gives no more, both ways or one way; the friction above the limit was never
    recorded.
    """
    table = log(joint, "random", seconds=20.0)
    found = fit(replace(table, torque=np.clip(table.torque, low, high)), "kfm")
    assert not any(one.identified for name, one in found.parameters.items())
    assert said(found, "at its limit")


def test_dry_friction_without_noise_is_no_limit_of_the_torque():
    """A made-up joint without inertia: the torque is the same at all speeds, and the model
    says so.
    """
    plain = Joint(coulomb=0.06, breakaway=0.06, viscous=0.0, inertia=0.0)
    found = fit(log(plain, "steps", seconds=20.0, noise=0.0), "coulomb")
    assert found.parameters["coulomb"].identified and not said(found, "at its limit")


def test_a_given_inertia_that_cannot_be_is_asked_after(joint):
    """A hundred times the joint's own."""
    found = fit(log(joint, "random", seconds=20.0), "kfm", inertia=100.0 * joint.inertia)
    assert said(found, "without --inertia")

"""Checks before a fit: columns that contradict each other, lost signs, and what a motion covers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from farhand.errors import BadValue
from farhand.friction.fit.coverage import UNIT_FACTORS, check_log, has_lost_sign, measure_coverage
from farhand.friction.fit.data import JointLog
from farhand.friction.fit.motion import Motion


def swing(count: int = 2000, step: float = 0.01) -> JointLog:
    """Half a hertz, and a torque that takes power."""
    time = step * np.arange(count)
    v = np.cos(np.pi * time)
    return JointLog(time, np.sin(np.pi * time) / np.pi, v, 0.2 * np.sign(v) + 0.1 * v)


def test_samples_must_be_a_tenth_of_a_second_apart_at_most():
    """Just below it passes."""
    check_log(swing(400, 0.099))
    with pytest.raises(BadValue, match="0.101 s apart"):
        check_log(swing(400, 0.101))


@pytest.mark.parametrize("column", ["position", "velocity"])
def test_a_torque_may_brake_for_a_while_and_not_on_average(column):
    """Mean power below −20 % of rms torque times rms speed is a wrong sign, whichever column
    moves.
    """
    log = swing()
    if column == "velocity":
        log = replace(log, position=np.zeros(len(log)))
    v = log.velocity
    quarter = -np.sin(np.pi * log.time)  # no power on average
    size = np.sqrt(np.mean(v**2))
    for share, bad in ((-0.19, False), (-0.21, True), (0.5, False)):
        torque = share * v / size + np.sqrt(1.0 - share**2) * quarter / size
        if bad:
            with pytest.raises(BadValue, match="opposite"):
                check_log(replace(log, torque=torque))
        else:
            check_log(replace(log, torque=torque))


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (1.0 / 1.38, ""),
        (1.38, ""),
        (1.42, "times"),
        (0.68, "times"),
        (-0.72, "opposite of the rate"),
    ]
    + [(-1.38, "opposite of the rate"), (-1.42, "-1.42 times"), (-0.68, "-0.68 times")]
    + [(1.02 * value, name) for name, value in UNIT_FACTORS.items()]
    + [(-0.98 * value, name) for name, value in UNIT_FACTORS.items()]
    + [(1.04 * value, "position;") for value in UNIT_FACTORS.values()],
)
def test_a_velocity_of_another_unit_is_named_by_its_factor(factor, words):
    """Degrees, turns, minutes, milliseconds; 3 % off is another factor, 40 % off is none."""
    log = swing()
    log = replace(log, velocity=factor * log.velocity)
    if not words:
        return check_log(log)
    with pytest.raises(BadValue) as caught:
        check_log(log)
    assert words in str(caught.value)


def test_units_are_those_of_the_world():
    """57.3° in a radian, 9.55 turns per minute in a radian per second, 1000 ms in a second."""
    assert UNIT_FACTORS["degrees for radians"] == pytest.approx(np.degrees(1.0))
    assert UNIT_FACTORS["radians for degrees"] == pytest.approx(np.radians(1.0))
    assert UNIT_FACTORS["turns per minute"] * 2.0 * np.pi == pytest.approx(60.0)
    assert UNIT_FACTORS["turns"] * 2.0 * np.pi == pytest.approx(1.0)
    assert UNIT_FACTORS["milliseconds"] * UNIT_FACTORS["seconds for milliseconds"] == 1.0


def test_columns_that_are_not_alike_are_not_compared():
    """One of them missing, or noise: only likeness of 90 % has a factor."""
    log, rng = swing(), np.random.default_rng(0)
    for part in ("position", "velocity"):
        check_log(replace(log, **{part: np.zeros(len(log))}))
    slow = np.repeat(rng.standard_normal(len(log) // 20), 20)
    v = log.velocity
    for noise, refused in ((0.3, True), (0.7, False)):
        other = 3.0 * (v + noise * slow * np.sqrt(np.mean(v**2)))
        if refused:
            with pytest.raises(BadValue, match="times the rate"):
                check_log(replace(log, velocity=other))
        else:
            check_log(replace(log, velocity=other))
    # noise from sample to sample is averaged out
    rough = 3.0 * v + 2.0 * rng.standard_normal(len(log))
    with pytest.raises(BadValue, match="times the rate"):
        check_log(replace(log, velocity=rough))
    short = swing(150)
    check_log(short)
    with pytest.raises(BadValue, match="3.* times"):
        check_log(replace(short, velocity=3.0 * short.velocity))


def test_a_torque_that_is_never_negative_has_lost_its_sign_if_the_joint_goes_both_ways():
    """Not if it goes one way, is pushed one way by gravity, or dips below zero now and then."""
    log = swing()
    lost = replace(log, torque=np.abs(log.torque))
    assert has_lost_sign(lost) and not has_lost_sign(log)
    assert has_lost_sign(replace(lost, velocity=np.zeros(len(log))))
    forward = replace(lost, velocity=np.abs(log.velocity))
    assert not has_lost_sign(forward)
    lifted = replace(log, torque=log.torque + 0.31)
    assert not has_lost_sign(lifted)
    for share, expected in ((0.01, True), (0.03, False)):
        dips = np.arange(len(log)) < share * len(log)
        dipped = replace(lost, torque=np.where(dips, -1e-3, lost.torque))
        assert has_lost_sign(dipped) == expected
    deep = lost.torque.copy()
    deep[7] = -3.0
    assert not has_lost_sign(replace(lost, torque=deep))
    # back and forth each for 2 % of the time at least, at 30 % of the rms speed or more
    for share, expected in ((0.01, False), (0.03, True)):
        way = np.where(np.arange(len(log)) < share * len(log), -1.0, 1.0)
        assert has_lost_sign(replace(lost, velocity=way)) == expected
        slow = np.where(np.arange(len(log)) < share * len(log), -0.25, 1.0)
        assert not has_lost_sign(replace(lost, velocity=slow))
    way = np.where(np.arange(len(log)) % 2, 1.0, -1.0)
    for ratio, expected in ((0.28, False), (0.32, True)):
        torque = np.where(way > 0.0, 1.0, ratio)
        steps = np.repeat(way[: len(log) // 500], 500)
        pushed = np.repeat(torque[: len(log) // 500], 500)
        assert has_lost_sign(replace(log, velocity=steps, torque=pushed)) == expected


def moved(v: np.ndarray, a: float = 0.0, **changes) -> Motion:
    """A motion at these speeds, 10 ms apart, in a band of 13.25 Hz: its kernel is 10 ms wide."""
    n = len(v)
    motion = Motion(
        *(0.01 * np.arange(n), np.cumsum(v), v, np.full(n, a), np.zeros(n)),
        piece=np.zeros(n, dtype=int),
        step=0.01,
        bandwidth=13.25,
        min_speed=0.01,
        tick=0.0,
        source="position",
        rate=100.0,
    )
    return replace(motion, **changes)


def test_coverage_counts_directions_speeds_and_the_share_that_slides():
    """Shares of the samples that are used; percentiles of the speed."""
    v = np.concatenate([np.linspace(0.1, 2.0, 900), -np.full(100, 3.0)])
    used = np.arange(1000) >= 500
    found = measure_coverage(moved(v), used)
    assert found.forward == pytest.approx(0.8) and found.both_ways
    assert found.fastest == 3.0 and found.sliding == 0.5
    low, high = np.quantile(np.abs(v[used]), [0.05, 0.95])
    assert found.spread == pytest.approx(high / low)
    assert found.accelerates
    for share in (0.29, 0.31):
        assert measure_coverage(moved(v, noise_share=share), used).accelerates == (share < 0.3)


@pytest.mark.parametrize(("back", "both"), [(20, False), (40, True), (960, True), (980, False)])
def test_three_per_cent_each_way_are_both_ways(back, both):
    """Of a thousand."""
    v = np.where(np.arange(1000) < back, -1.0, 1.0)
    assert measure_coverage(moved(v), np.ones(1000, dtype=bool)).both_ways == both


def test_the_slowest_speed_held_is_held_for_thirty_widths_and_over_four_ticks():
    """Speeds over which the kernel or the encoder blurs are not held."""
    every = np.ones(1000, dtype=bool)
    v = np.linspace(0.1, 2.0, 1000)
    # 30 widths of 2.5 samples each: the 76th slowest
    assert measure_coverage(moved(v), every).resolved == pytest.approx(v[75])
    assert measure_coverage(moved(v, bandwidth=26.5), every).resolved == pytest.approx(v[37])
    assert measure_coverage(moved(v, bandwidth=1e3), every).resolved == pytest.approx(v[30])
    # 2 a σ ≤ v: from 1 rad/s on with a = 50 rad/s²
    held = v[v >= 1.0]
    assert measure_coverage(moved(v, -50.0), every).resolved == pytest.approx(held[75])
    # v² ≥ 4 a tick: from 1 rad/s on with a = 1 and a tick of 0.25 rad
    assert measure_coverage(moved(v, 1.0, tick=0.25), every).resolved == pytest.approx(held[75])
    assert measure_coverage(moved(v, 500.0), every).resolved == 2.0

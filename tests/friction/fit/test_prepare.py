"""Corrections before a fit: spikes, signs, delays, filters, and the way before sliding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter

from farhand.friction.fit import prepare as module
from farhand.friction.fit.data import JointLog
from farhand.friction.fit.motion import Motion, motion_at, split_at_pauses
from farhand.friction.fit.prepare import Delay, find_delay, prepare, shift_torque
from farhand.friction.fit.sliding import Terms, fit_sliding, sliding_samples
from tests.friction.wave_logs import TICK, Wave, bristly, logged, wave, waves


def spiky(log: JointLog, rows: list[int], size: float) -> JointLog:
    """With single samples of torque that stand out."""
    torque = log.torque.copy()
    torque[rows] += size
    return replace(log, torque=torque)


def test_single_samples_that_stand_out_are_replaced_and_nothing_else():
    """By the median of five; a step, two in a row and what is within ten deviations stay."""
    rng, n = np.random.default_rng(0), 1000
    time = 0.01 * np.arange(n)
    plain = JointLog(time, time, time, 0.1 * rng.standard_normal(n))
    deviation = 1.4826 * np.median(np.abs(plain.torque - np.median(plain.torque)))
    away = np.abs(plain.torque - module.median_filter(plain.torque, 5, mode="nearest"))
    limit = 10.0 * 1.4826 * np.median(away)
    assert limit == pytest.approx(10.0 * deviation, rel=0.5)
    quiet = plain.torque.copy()
    quiet[498:503] = [0.0, 0.001, 0.0, -0.001, 0.0]
    plain = replace(plain, torque=quiet)
    for size, count in ((0.97 * limit, 0), (1.03 * limit, 1), (-1.03 * limit, 1)):
        found, spikes = module._without_spikes(spiky(plain, [500], size))
        assert spikes == count
        if count:
            assert abs(found.torque[500]) <= 0.001
            rest = np.arange(n) != 500
            np.testing.assert_array_equal(found.torque[rest], plain.torque[rest])
    assert module._without_spikes(spiky(plain, [500, 501], 9.0))[1] == 0
    step = replace(plain, torque=plain.torque + 9.0 * (time > 5.0))
    assert module._without_spikes(step)[1] == 0
    # beside a torque of 2 N·m only what exceeds that stands out
    held = replace(plain, torque=2.0 + 1e-6 * plain.torque)
    assert module._without_spikes(spiky(held, [500], 1.9))[1] == 0
    assert module._without_spikes(spiky(held, [500], 2.1))[1] == 1
    # a neighbour at a quarter of the limit makes it a step
    for near, count in ((0.2, 1), (0.3, 0)):
        both = spiky(spiky(held, [500], 9.0), [501], near * 2.0)
        assert module._without_spikes(both)[1] == count
        both = spiky(spiky(held, [500], 9.0), [499], near * 2.0)
        assert module._without_spikes(both)[1] == count


@pytest.mark.parametrize("late", [0.013, -0.008])
def test_a_shifted_torque_is_that_of_the_shifted_time(late):
    """Samples for which nothing was logged then are dropped."""
    time = np.arange(0.0, 2.0, 0.005)
    log = JointLog(time, 3.0 * time, 4.0 * time, 5.0 + time, "x", 7)
    found = shift_torque(log, late)
    np.testing.assert_allclose(found.torque, 5.0 + found.time + late)
    np.testing.assert_allclose(found.position, 3.0 * found.time)
    np.testing.assert_allclose(found.velocity, 4.0 * found.time)
    assert found.time[0] >= max(0.0, -late) - 1e-12
    assert found.time[-1] <= time[-1] - max(0.0, late) + 1e-12
    assert len(log) - 4 <= len(found) < len(log)
    assert (found.name, found.repeated) == ("x", 7)
    assert len(shift_torque(log, 0.0)) == len(log)


def gapped(gap: float, step: float) -> JointLog:
    """Two seconds, a gap, and two more."""
    time = np.concatenate([np.arange(0.0, 2.0, step), np.arange(2.0 + gap, 4.0 + gap, step)])
    return JointLog(time, time, time, time)


def test_torque_is_interpolated_over_twenty_samples_or_50_ms_and_no_more():
    """A longer gap is a pause."""
    for gap, step, is_pause in (
        *((0.17, 0.01, False), (0.25, 0.01, True)),
        *((0.045, 1e-3, False), (0.06, 1e-3, True)),
    ):
        log = gapped(gap, step)
        for late in (0.0137, 0.0004):
            at, ends = log.time + late, (log.time[log.time < 2.0].max(), 2.0 + gap)
            known = at <= log.time[-1]
            if is_pause:
                known &= ~((at > ends[0]) & (at < ends[1]))
            np.testing.assert_array_equal(shift_torque(log, late).time, log.time[known])


def smooth(log: JointLog, band: float = 15.0) -> Motion:
    """Its motion in a band."""
    return motion_at(split_at_pauses(log, TICK), band, TICK, "position")


@pytest.mark.parametrize("late", [0.03, -0.012])
def test_a_delay_is_found_to_a_fifth_of_a_sample(late):
    """Everywhere, so it is sure; the variance left is that of the noise."""
    motion = smooth(wave(seed=1, seconds=10.0, late=late))
    found = find_delay(motion, sliding_samples(motion))
    assert found.seconds == pytest.approx(late, abs=4e-4) and found.sure
    noise = 0.02**2 * 2e-3 / (2.0 * np.sqrt(np.pi) * motion.width)
    assert 0.7 * noise < found.variance < 2.0 * noise


def test_no_delay_is_none_and_few_samples_show_none():
    """Half of what a log must have."""
    motion = smooth(wave(seed=1, seconds=10.0))
    used = sliding_samples(motion)
    assert find_delay(motion, used) == Delay()
    late = smooth(wave(seed=1, seconds=10.0, late=0.03))
    few = used & (np.cumsum(used) > 200) & (np.cumsum(used) <= 249)
    assert find_delay(late, few) == Delay()
    some = used & (np.cumsum(used) > 200) & (np.cumsum(used) <= 460)
    assert find_delay(late, some).seconds != 0.0


def test_the_search_reaches_a_tenth_of_a_period_and_100_ms_and_stays_inside_the_pieces():
    """Rows whose torque is known over the whole range."""
    motion = smooth(wave(seed=1, seconds=10.0))
    problem = module._ShiftedTorque(motion, np.ones(len(motion), dtype=bool))
    assert problem.max_delay == pytest.approx(min(0.1, 0.1 / motion.frequency))
    slow = replace(motion, acceleration=0.01 * motion.acceleration)
    assert module._ShiftedTorque(slow, np.ones(len(motion), dtype=bool)).max_delay == 0.1
    fast = replace(motion, acceleration=10.0 * motion.acceleration)
    quick = module._ShiftedTorque(fast, np.ones(len(motion), dtype=bool))
    assert quick.max_delay == pytest.approx(0.1 / fast.frequency)
    inside = motion.time[problem.rows]
    assert inside[0] - motion.time[0] == pytest.approx(problem.max_delay, abs=2 * motion.step)
    assert motion.time[-1] - inside[-1] == pytest.approx(problem.max_delay, abs=2 * motion.step)
    torque = problem.torque(0.01)
    expected = np.interp(inside + 0.01, motion.time, motion.torque)
    np.testing.assert_allclose(torque, expected, atol=0.02)
    split = replace(motion, piece=(motion.time > 5.0).astype(int))
    two = module._ShiftedTorque(split, np.ones(len(motion), dtype=bool))
    gap = np.abs(motion.time[two.rows] - 5.0).min()
    assert gap == pytest.approx(two.max_delay, abs=2 * motion.step)
    A = np.column_stack([motion.velocity, np.ones(len(motion))])
    b, rows = two.torque(0.0), two.rows
    left = b - A[rows] @ np.linalg.lstsq(A[rows], b, rcond=None)[0]
    assert two.variance(A, rows)(0.0) == pytest.approx(np.mean(left**2))


def test_a_filter_is_the_exponential_of_its_time_constant_forwards_and_back():
    """From the first value on, piece by piece."""
    motion = smooth(wave(seconds=5.0))
    rng = np.random.default_rng(0)
    piece = (motion.time > 2.0).astype(int)
    motion = replace(motion, piece=piece)
    A = rng.standard_normal((len(motion), 2))
    found = module._filtered(A, motion, 0.02)
    keep = np.exp(-motion.step / 0.02)
    for number in (0, 1):
        y = None
        for row in np.flatnonzero(piece == number):
            y = A[row] if y is None else keep * y + (1.0 - keep) * A[row]
            np.testing.assert_allclose(found[row], y, atol=1e-9)
    back = module._filtered(A[::-1], motion, 0.02, False)[::-1]
    mirrored = replace(motion, piece=1 - piece[::-1])
    np.testing.assert_allclose(back, module._filtered(A[::-1], mirrored, 0.02)[::-1])


def filtered(log: JointLog, lag: float) -> JointLog:
    """With its torque through a first-order filter."""
    keep = np.exp(-log.step / lag)
    return replace(log, torque=lfilter([1.0 - keep], [1.0, -keep], log.torque))


def test_a_filter_of_the_torque_is_found_by_its_time_constant():
    """Within the spacing of those that are tried; none where there is none, or only a delay."""
    log = wave(seed=3, seconds=10.0)
    motion = smooth(filtered(log, 0.02), 33.0)
    assert module._find_lag(motion, sliding_samples(motion)) == pytest.approx(0.02, rel=0.35)
    for other in (log, wave(seed=3, seconds=10.0, late=0.02)):
        motion = smooth(other, 33.0)
        assert module._find_lag(motion, sliding_samples(motion)) == 0.0


def test_harm_is_how_many_half_intervals_the_filter_moves_viscous_friction_or_inertia():
    """A slow filter many, a quick one few; a known inertia is watched no longer."""
    log = wave(seed=3, noise=0.003)
    slow, quick = smooth(filtered(log, 0.02)), smooth(log)
    harms = []
    for motion in (slow, quick):
        curve = fit_sliding(motion, Terms(), sliding_samples(motion))
        harms.append(module._harm_of_lag(motion, curve, 0.02 if motion is slow else 1e-3))
    assert harms[0] > 1.0 > 0.5 > harms[1]
    known = fit_sliding(slow, Terms(inertia=Wave.inertia), sliding_samples(slow))
    assert module._harm_of_lag(slow, known, 0.02) > 0.1


def test_the_way_before_sliding_is_left_out_where_a_fine_encoder_shows_it():
    """LuGre friction of 0.8 N·m over 1000 N·m/rad gives for a millimetre or so; a dry joint does
    not.
    """
    giving = motion_at(split_at_pauses(bristly(0.2, 10.0), 0.0), 33.0, 0.0, "position")
    assert 3e-4 < module._settling(giving, None) < 0.03
    assert module._settling(giving, Wave.inertia) > 3e-4
    assert module._settling(smooth(wave(seconds=10.0)), None) == 0.0


def test_what_was_corrected_is_said():
    """Turns, repeated samples, one spike or several, a delay and its way; a clean log says
    nothing.
    """
    log = wave(seed=2, seconds=8.0)
    assert prepare(log).notes == ()
    ready = prepare(spiky(replace(log, repeated=3), [1000], 9.0))
    assert ready.notes[0].startswith("3 samples had the same t")
    assert "1 sample of the torque stands out" in ready.notes[1]
    ready = prepare(spiky(wave(seed=2, seconds=8.0, late=-0.02), [1000, 2000], 9.0))
    assert "2 samples of the torque stand out" in ready.notes[0]
    assert "ms ahead of the motion" in ready.notes[1] and ready.motion.shifted
    assert ready.remaining == Delay() and ready.lag == 0.0
    assert len(ready.data) == pytest.approx(len(log) - 10, abs=2)


@pytest.mark.parametrize("inertia", [0.05, 1.0])
def test_a_lost_sign_comes_back_for_a_light_and_for_a_heavy_joint(inertia):
    """The sign of friction, or of the acceleration where inertia outweighs it."""
    rng, time = np.random.default_rng(0), np.arange(0.0, 6.0, 4e-3)
    x, v, a = waves(rng, time)
    torque = inertia * a + 0.1 * np.sign(v) + 0.05 * v
    log = logged(time, x, torque, 0.005 * rng.standard_normal(len(time)))
    found = module._with_sign(replace(log, torque=np.abs(log.torque)), None)
    large = np.abs(log.torque) > 0.1 * np.abs(log.torque).max()
    right = np.sign(found.torque[large]) == np.sign(log.torque[large])
    assert right.mean() > 0.98
    np.testing.assert_allclose(np.abs(found.torque), np.abs(log.torque))

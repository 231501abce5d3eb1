"""Motion from ticks: the kernel's own response, the noise it leaves, pauses, turns and bands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from farhand.errors import BadValue
from farhand.friction.fit.data import JointLog
from farhand.friction.fit.motion import (
    BANDS_HZ,
    Motion,
    Piece,
    best_motion,
    find_tick,
    motion_at,
    split_at_pauses,
    unwrap_turns,
)

STEP = 2e-3


def swing(hertz: float = 0.5, seconds: float = 12.0, size: float = 1.0) -> JointLog:
    """A swing without ticks; the torque swings with the velocity, the velocity column is exact."""
    time = STEP * np.arange(round(seconds / STEP))
    w = 2.0 * np.pi * hertz
    v = size * w * np.cos(w * time)
    return JointLog(time, size * np.sin(w * time), v, 0.3 * v)


def ticking(log: JointLog, tick: float) -> JointLog:
    """As an encoder reports it."""
    return replace(log, position=np.round(log.position / tick) * tick)


@pytest.mark.parametrize("source", ["position", "velocity"])
@pytest.mark.parametrize(("hertz", "band"), [(0.5, 5.0), (2.0, 3.3), (3.3, 3.3)])
def test_a_swing_is_smoothed_by_the_kernel_and_no_more(source, hertz, band):
    """Amplitude e^(−(ωσ)²/2) of velocity, acceleration and torque, none of them late; 1/√2 at the
    cut-off.
    """
    log, w = swing(hertz), 2.0 * np.pi * hertz
    found = motion_at(split_at_pauses(log, 0.0), band, 0.0, source)
    left = np.exp(-0.5 * (w * found.width) ** 2)
    if hertz == band:
        assert left == pytest.approx(np.sqrt(0.5), abs=1e-3)
    v = left * w * np.cos(w * found.time)
    np.testing.assert_allclose(found.velocity, v, atol=2e-3 * w)
    a = -left * w**2 * np.sin(w * found.time)
    np.testing.assert_allclose(found.acceleration, a, atol=4e-3 * w**2)
    np.testing.assert_allclose(found.torque, 0.3 * v, atol=1e-3 * w)
    np.testing.assert_allclose(found.position, np.sin(w * found.time), atol=3e-3)
    assert found.frequency == pytest.approx(hertz, rel=0.05)
    assert (found.source, found.bandwidth, found.rate) == (source, band, pytest.approx(500.0))


@pytest.mark.parametrize("band", [0.7, 3.3, 15.0])
def test_samples_are_kept_as_densely_as_the_band_needs_and_not_near_the_ends(band):
    """Sixteen per period of the cut-off, at least; four kernel widths from either end."""
    log = swing(0.1, 30.0)
    found = motion_at(split_at_pauses(log, 0.0), band, 0.0, "position")
    assert found.step == pytest.approx(np.median(np.diff(found.time)))
    assert 0.7 / (16.0 * band) <= found.step <= 1.0001 / (16.0 * band)
    assert found.time[0] >= 4.0 * found.width and found.time[0] < 4.0 * found.width + 2 * found.step
    end = log.time[-1] - found.time[-1]
    assert 4.0 * found.width - found.step <= end < 4.0 * found.width + 4.0 * found.step
    assert found.width == pytest.approx(0.1325 / band) and len(found) == len(found.time)


def test_bins_are_means_of_as_many_samples_and_a_straight_line_keeps_its_place_and_slope():
    """A narrow band bins 2 kHz; neither the line nor its time moves."""
    time = 5e-4 * np.arange(40_000)
    piece = Piece(time, 2.0 * time + 1.0, np.full(40_000, 2.0), 3.0 * time, 5e-4)
    for source in ("position", "velocity"):
        found = motion_at([piece], 1.0, 0.0, source)
        np.testing.assert_allclose(found.velocity, 2.0, rtol=1e-9)
        np.testing.assert_allclose(found.position, 2.0 * found.time + 1.0, rtol=1e-12)
        np.testing.assert_allclose(found.torque, 3.0 * found.time, rtol=1e-6)
        np.testing.assert_allclose(found.acceleration, 0.0, atol=1e-9)
        assert found.rate == pytest.approx(2000.0)
    # sixty-four bins per period of the cut-off, sixteen samples
    rough = replace(piece, torque=np.random.default_rng(0).standard_normal(40_000))
    seen = motion_at([rough], 1.0, 0.0, "position").torque
    # white noise through a Gaussian of width σ: variance dt/(2 √π σ)
    assert seen.std() == pytest.approx(np.sqrt(5e-4 / (2.0 * np.sqrt(np.pi) * 0.1325)), rel=0.2)


def test_the_noise_of_ticks_and_of_a_rough_velocity_is_known_before_it_is_seen():
    """A thousand swings of noise: deviations of velocity and acceleration are those predicted."""
    rng, count, tick, band = np.random.default_rng(0), 60_000, 1e-3, 10.0
    time = STEP * np.arange(count)
    noise = tick / np.sqrt(12.0) * rng.standard_normal(count)
    still = Piece(time, noise, noise, time, STEP)
    found = motion_at([still], band, tick, "position")
    assert found.min_speed == pytest.approx(4.0 * found.velocity.std(), rel=0.05) or (
        found.min_speed == pytest.approx(tick / 0.25)
    )
    assert found.noise_share == pytest.approx(1.0, rel=0.1)
    fine = motion_at([still], 50.0, tick, "position")
    assert fine.min_speed == pytest.approx(4.0 * fine.velocity.std(), rel=0.05)
    assert fine.min_speed > 5.0 * tick / 0.25
    drive = motion_at([still], band, tick, "velocity")
    assert drive.min_speed == pytest.approx(4.0 * drive.velocity.std(), rel=0.05)


def test_the_least_speed_that_is_known_is_a_tick_in_a_quarter_of_a_second():
    """Or a thousandth of the fastest, without any tick or noise."""
    log = swing(0.5)
    plain = motion_at(split_at_pauses(log, 0.0), 5.0, 0.0, "position")
    assert plain.min_speed == pytest.approx(1e-3 * np.abs(plain.velocity).max())
    assert plain.noise_share == 0.0
    coarse = motion_at(split_at_pauses(log, 0.0), 2.2, 0.01, "position")
    assert coarse.min_speed == pytest.approx(0.01 / 0.25) and coarse.tick == 0.01
    column = motion_at(split_at_pauses(log, 0.0), 2.2, 0.01, "velocity")
    assert column.min_speed < 0.01


def test_between_ticks_the_joint_is_on_a_line():
    """Ten times nearer than the readings; at both ends it goes on, but by half a tick at most."""
    time, tick = STEP * np.arange(2000), 0.05
    for slope, begin, end in ((0.3, 0.02, 1.2), (-0.3, 0.0, -1.1788)):
        log = JointLog(time, 0.02 + slope * time, np.full(2000, slope), time)
        (piece,) = split_at_pauses(ticking(log, tick), tick)
        away = np.abs(piece.position - 0.02 - slope * piece.time)
        assert away[100:-100].max() < 0.03 * tick
        np.testing.assert_allclose(piece.position[[0, -1]], [begin, end], atol=0.02 * tick)
    # one that stops: the last change is not a speed that goes on for ever
    stopped = replace(log, position=np.minimum(0.3 * time, 0.3))
    (piece,) = split_at_pauses(ticking(stopped, tick), tick)
    assert piece.position[-1] - 0.275 == pytest.approx(0.5 * tick, abs=1e-3)
    # without ticks, or hardly a change, readings are taken as they are
    (plain,) = split_at_pauses(log, 0.0)
    np.testing.assert_allclose(plain.position, log.position[: len(plain.position)], atol=1e-12)
    once = replace(log, position=np.where(time < 2.0, 0.0, tick))
    (piece,) = split_at_pauses(once, tick)
    assert set(np.round(piece.position / tick, 6)) <= {0.0, 0.5, 1.0}


def joined(*spans: tuple[float, float], step: float = 0.01) -> JointLog:
    """Samples over several stretches of time, [s]; velocity and torque are known lines."""
    time = np.concatenate([np.arange(a, b, step) for a, b in spans])
    return JointLog(time, np.sin(time), 2.0 * time, 3.0 - time)


def test_pauses_split_a_recording_and_stubs_are_left_out():
    """Twenty sample times and 50 ms make a pause; 0.3 s and twenty samples make a piece."""
    log = joined((0.0, 1.0), (1.19, 2.0), (2.25, 2.5), (3.0, 4.0))
    pieces = split_at_pauses(log, 0.0)
    assert [(p.time[0], round(p.time[-1], 2)) for p in pieces] == [(0.0, 1.98), (3.0, 3.98)]
    for piece in pieces:
        assert piece.step == pytest.approx(0.01)
        np.testing.assert_allclose(np.diff(piece.time), 0.01)
        np.testing.assert_allclose(piece.velocity, 2.0 * piece.time, atol=1e-9)
        np.testing.assert_allclose(piece.torque, 3.0 - piece.time, atol=1e-9)
    assert len(split_at_pauses(joined((0.0, 1.0), (1.23, 2.0)), 0.0)) == 2
    quick = joined((0.0, 1.0), (1.04, 2.0), step=1e-3)
    assert len(split_at_pauses(quick, 0.0)) == 1
    assert len(split_at_pauses(joined((0.0, 1.0), (1.06, 2.0), step=1e-3), 0.0)) == 2
    few = joined((0.0, 0.45), (2.0, 2.45), step=0.03)
    with pytest.raises(BadValue, match="no stretch of 0.3 s"):
        split_at_pauses(few, 0.0)
    assert len(split_at_pauses(joined((0.0, 0.31), (1.0, 1.29)), 0.0)) == 1


def test_pieces_are_smoothed_apart_and_counted():
    """Nothing of one side of a pause comes to the other; a piece too short for its band is left
    out, and the rest are counted from zero.
    """
    log = joined((0.0, 0.5), (5.0, 15.0), (20.0, 30.0))
    found = motion_at(split_at_pauses(log, 0.0), 1.0, 0.0, "velocity")
    assert sorted(set(found.piece)) == [0, 1] and found.time[0] > 5.0
    np.testing.assert_allclose(found.velocity, 2.0 * found.time, rtol=1e-3)
    jump = np.where(found.piece == 0, 1.0, 5.0)
    np.testing.assert_allclose(found.smooth(jump), jump)
    wave = np.sin(2.0 * np.pi * 1.0 * found.time)
    smooth = found.smooth(np.column_stack([wave, jump]))
    inner = (found.time > 7.0) & (found.time < 13.0)
    ratio = (smooth[inner, 0] @ wave[inner]) / (wave[inner] @ wave[inner])
    assert ratio == pytest.approx(np.exp(-0.5 * (2.0 * np.pi * found.width) ** 2), rel=0.02)
    with pytest.raises(BadValue, match="too short for its encoder"):
        motion_at(split_at_pauses(joined((0.0, 0.5)), 0.0), 1.0, 0.0, "velocity")


def test_full_turns_come_back_and_nothing_else_is_taken_for_one():
    """A wrapped ramp is put right; a joint that really jumps, or moves on over a pause, is not."""
    time = 0.01 * np.arange(1000)
    ramp = JointLog(time, 2.0 * time, np.full(1000, 2.0), time)
    wrapped = replace(ramp, position=np.mod(ramp.position + np.pi, 2.0 * np.pi) - np.pi)
    found, turned = unwrap_turns(wrapped)
    assert turned
    np.testing.assert_allclose(np.diff(found.position), 0.02, atol=1e-9)
    assert unwrap_turns(ramp) == (ramp, False)
    # jumps of 5 rad leave steps of 1.3 rad, jumps of 4.6 rad leave 1.7: no encoder turns so fast
    for jump, right in ((5.4, True), (5.2, False), (4.6, False)):
        one = replace(ramp, position=0.01 * time + jump * (time > 5.0))
        assert unwrap_turns(one)[1] == right
    late = replace(ramp, time=np.where(time > 5.0, time + 1.0, time))
    late = replace(late, position=0.01 * time + 6.0 * (time > 5.0))
    assert not unwrap_turns(late)[1]
    both = replace(late, position=wrapped.position)
    assert unwrap_turns(both)[1]


def test_a_tick_is_found_from_few_levels_and_from_gaps_in_the_grid():
    """Two levels, every third tick missing, one reading off the grid; none where there is none."""
    assert find_tick(np.array([0.1, 0.3, 0.1])) == pytest.approx(0.2)
    assert find_tick(np.array([0.1, 0.1])) == 0.0
    rng = np.random.default_rng(0)
    counts = rng.choice(3000, 1200, replace=False)
    assert find_tick(0.5 + 1e-3 * counts) == pytest.approx(1e-3, rel=1e-6)
    off = 1e-3 * counts.astype(float)
    off[7] += 4e-4
    assert find_tick(off) == pytest.approx(1e-3, rel=1e-3)
    assert find_tick(1e-3 * counts + 3e-4 * rng.random(1200)) == 0.0
    assert find_tick(rng.random(1000)) == 0.0
    # five digits of a long way: the first guess is off by a tick and a half at its end
    rounded = np.round(1.5708e-3 * np.arange(3000), 5)
    assert find_tick(rounded) == pytest.approx(1.5708e-3, rel=1e-5)


def test_the_band_with_the_least_uncertainty_is_taken_among_those_that_can_be():
    """None longer than half the recording or faster than a fifth of its rate, none with more noise
    than 2 %, none below eight times the motion's own frequency.
    """
    log = swing(0.2, 20.0)
    tried: list[Motion] = []

    def seen(motion: Motion) -> float:
        tried.append(motion)
        return abs(motion.bandwidth - 5.0)

    best = best_motion(replace(log, velocity=np.zeros(len(log))), seen)
    assert best.bandwidth == 5.0 and {m.source for m in tried} == {"position"}
    assert [m.bandwidth for m in tried] == [b for b in BANDS_HZ if 8.0 * 0.2 < b < 100.0]
    tried.clear()
    best_motion(replace(swing(0.05, 2.1), velocity=np.zeros(1050)), seen)
    assert [m.bandwidth for m in tried] == [b for b in BANDS_HZ if 1.0 <= b < 100.0]
    tried.clear()
    slow = replace(log, time=5.0 * log.time, velocity=np.zeros(len(log)))  # 100 Hz for 100 s
    best_motion(slow, seen)
    assert [m.bandwidth for m in tried] == [b for b in BANDS_HZ if b <= 20.0]
    tried.clear()
    coarse = ticking(replace(log, velocity=np.zeros(len(log))), 2e-3)
    best_motion(coarse, seen)
    assert all(m.noise_share < 0.02 and m.tick == pytest.approx(2e-3) for m in tried)
    wider = motion_at(split_at_pauses(coarse, 2e-3), tried[-1].bandwidth * 1.5, 2e-3, "position")
    assert wider.noise_share > 0.02
    with pytest.raises(BadValue, match="at rest nearly all the time"):
        best_motion(log, lambda _: np.inf)


def test_the_column_that_shows_more_is_taken_and_the_velocity_must_be_better_by_half():
    """A velocity that is only the difference of the positions adds nothing and is not tried."""
    log = swing(0.2, 20.0)
    log = replace(log, velocity=1.05 * log.velocity)

    def scored(ratio: float):
        return lambda m: 1.0 if m.source == "position" else ratio

    assert best_motion(log, scored(0.7)).source == "position"
    assert best_motion(log, scored(0.6)).source == "velocity"
    rough = replace(log, position=log.position + 1e-4 * np.sin(40.0 * log.time))
    ahead = np.diff(rough.position) / STEP
    for difference in (np.append(ahead, ahead[-1]), np.append(ahead[0], ahead)):
        assert best_motion(replace(rough, velocity=difference), scored(0.1)).source == "position"
        other = replace(rough, velocity=1.05 * difference)
        assert best_motion(other, scored(0.1)).source == "velocity"
    only = replace(log, position=np.zeros(len(log)))
    assert best_motion(only, scored(9.0)).source == "velocity"

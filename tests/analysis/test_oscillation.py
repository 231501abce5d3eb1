"""Shaking is told from a hand's work."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.analysis.oscillation import CROSSING_BAND, SLOW_WINDOWS_S, find, oscillation, swing_at

TIMES = np.arange(0.0, 10.0, 2e-3)


def test_a_steady_oscillation_is_found_with_its_frequency_and_size():
    """On top of a slow drift."""
    values = 0.05 * TIMES + 3e-3 * np.sin(2 * np.pi * 4.0 * TIMES) * (TIMES > 4.0)
    hit = find("tracking error", TIMES, values)
    assert hit is not None
    assert hit.frequency == pytest.approx(4.0, rel=0.05)
    assert hit.amplitude == pytest.approx(3e-3, rel=0.05)
    assert str(hit).startswith("the tracking error oscillates by ±3 mm at 4 Hz")


def test_growing_counts_and_dying_away_does_not():
    """A contact that rings and settles is no fault."""
    wave = 5.0 * np.sin(2 * np.pi * 5.0 * TIMES)
    assert find("contact force", TIMES, wave * np.exp(0.3 * (TIMES - 10.0))) is not None
    for seconds in (0.3, 1.0, 2.0, 3.0):
        assert find("contact force", TIMES, wave * np.exp(-TIMES / seconds)) is None


def test_a_short_oscillation_that_keeps_its_size_counts():
    """Shaking on a wall for little more than a second, until the hand goes back."""
    wave = 5.0 * np.sin(2 * np.pi * 6.0 * TIMES) * ((TIMES > 4.0) & (TIMES < 5.4))
    hit = find("contact force", TIMES, wave)
    assert hit is not None and hit.frequency == pytest.approx(6.0, rel=0.05)


def test_what_swings_is_seen_in_another_signal_too_or_not():
    """An error swings by itself where packets jitter; a tool that shakes is in both."""
    shaking = 3e-3 * np.sin(2 * np.pi * 7.3 * TIMES)
    hit = find("tracking error", TIMES, shaking)
    assert hit is not None
    hand = np.stack([0.3 * np.sin(0.4 * TIMES), 0.1 * TIMES**2, 0.0 * TIMES], axis=1)
    assert swing_at(hit, TIMES, hand) < 1e-4
    moved = hand + np.outer(shaking, [0.6, 0.0, 0.8])
    assert swing_at(hit, TIMES, moved) == pytest.approx(3e-3, rel=0.05)


def test_small_slow_and_irregular_motions_are_nobodys_fault():
    """Sensor noise, a hand that wipes, a hand that works."""
    rng = np.random.default_rng(1)
    assert find("contact force", TIMES, rng.normal(0.0, 0.3, len(TIMES))) is None
    assert find("contact force", TIMES, 20.0 * np.sin(2 * np.pi * 0.4 * TIMES)) is None
    assert find("contact force", TIMES, np.cumsum(rng.normal(0.0, 0.5, len(TIMES)))) is None


def test_a_signal_that_is_not_measured_does_not_oscillate():
    """Rigs without a force sensor record no numbers."""
    assert find("contact force", TIMES, np.full(len(TIMES), np.nan)) is None
    assert find("contact force", TIMES[:0], TIMES[:0]) is None


class Slow:
    """A run of 14 s in which the force at the wall swings at 1.24 Hz, slower than any hand's work
    is told from.

    Args:
        tool: amplitude of the tools, [m].
    """

    def __init__(self, tool: float = 0.05) -> None:
        self._times = np.arange(0.0, 14.0, 2e-3)
        wave = np.sin(2 * np.pi * 1.24 * self._times)[:, None]
        force = 79.0 * wave
        still = np.zeros_like(wave)
        self._signals = {
            "wrench_measured_in_world": force,
            "error": still,
            "position_tool_in_world": tool * wave,
        }

    def times(self, stream):
        return self._times

    def signal(self, stream, channel):
        return np.repeat(self._signals[channel], 3, axis=1)


def still(times):
    """A hand that was asked to stay."""
    return np.zeros((len(times), 3))


def test_slow_shaking_of_a_hand_that_was_asked_to_stay_is_found():
    """A delay of 300 ms swings with a period of 0.8 s."""
    hit = oscillation(Slow(), intended=still)
    assert hit is not None and hit.signal == "contact force"
    assert hit.frequency == pytest.approx(1.24, rel=0.02)
    assert hit.amplitude == pytest.approx(79.0, rel=0.02)


def test_noise_makes_no_more_periods_of_a_slow_swing():
    """A slow swing lingers about zero, where noise crosses it again and again."""
    noise = np.random.default_rng(1).normal(0.0, 0.5, len(TIMES))
    hit = find(
        "contact force",
        TIMES,
        10.0 * np.sin(2 * np.pi * 0.9 * TIMES) + noise,
        SLOW_WINDOWS_S,
        CROSSING_BAND,
    )
    assert hit is not None and hit.frequency == pytest.approx(0.9, rel=0.05)


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_a_slow_swing_that_the_hand_was_asked_for_is_work(share):
    """A hand that presses and lets go in time; the tool follows, or is held up by what it presses
    on.
    """

    def asked(times):
        return share * 0.05 * np.sin(2 * np.pi * 1.24 * times)[:, None] * np.ones(3)

    assert oscillation(Slow(), intended=asked) is None


def test_a_move_on_the_way_does_not_hide_slow_shaking():
    """Asked to go somewhere once is not asked to swing."""
    hit = oscillation(
        Slow(),
        intended=lambda times: 0.1 * np.clip((times - 9.0) / 1.5, 0.0, 1.0)[:, None] * np.ones(3),
    )
    assert hit is not None and hit.frequency == pytest.approx(1.24, rel=0.02)


def test_a_slow_swing_counts_only_where_the_intention_is_known_and_a_tool_moves():
    """A person may mean it, and a force that swings without any motion is something else."""
    assert oscillation(Slow()) is None
    assert oscillation(Slow(tool=1e-4), intended=still) is None


class OfJoints:
    """Signals of a run whose error is one of angles, and whose follower's tool swings."""

    def __init__(self, angle: float, tool: float) -> None:
        wave = np.sin(2 * np.pi * 6.0 * TIMES)[:, None]
        still = np.zeros((len(TIMES), 3))
        self.signals = {
            ("coupling", "error"): angle * wave * np.ones(6),
            ("leader", "position_tool_in_world"): still,
            ("follower", "position_tool_in_world"): tool * wave * np.array([1.0, 0.0, 0.0]),
            ("follower", "wrench_measured_in_world"): np.zeros((len(TIMES), 6)),
        }

    def times(self, stream: str) -> np.ndarray:
        return TIMES

    def signal(self, stream: str, channel: str) -> np.ndarray:
        return self.signals[stream, channel]


def test_angles_of_coupled_joints_are_not_taken_for_metres():
    """5 mrad of a small arm are half a millimetre at its tool; a tool that swings does shake."""
    assert oscillation(OfJoints(angle=5e-3, tool=0.5e-3), joints=True) is None
    hit = oscillation(OfJoints(angle=5e-2, tool=5e-3), joints=True)
    assert hit is not None and "tool's place oscillates by ±5 mm at 6 Hz" in str(hit)

"""Force map and vibration cue: odd, monotone, continuous and bounded; light touches buzz."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from farhand.control.haptic.force_map import ForceMap, VibrationCue
from farhand.errors import BadValue, UnknownName
from farhand.parameters import assign

wrenches = arrays(float, 6, elements=st.floats(-1e3, 1e3))


@given(a=wrenches, b=wrenches)
def test_the_map_is_odd_monotone_bounded_and_continuous(a, b):
    """On each axis by itself."""
    scale = ForceMap()
    fa, fb = scale.forward(a), scale.forward(b)
    np.testing.assert_array_equal(scale.forward(-a), -fa)
    assert ((fa - fb) * (a - b) >= 0.0).all()
    assert (np.abs(fa) <= scale.most).all()
    assert (np.abs(fa - fb) <= 3.0 * np.abs(a - b) + 1e-9).all()


def test_the_published_points_lie_on_it():
    """8 N is just felt, 50 N is the most; torques about x are the device's C."""
    scale = ForceMap()
    np.testing.assert_allclose(
        scale.forward([8.0] * 3 + [0.8] * 3), [8.25, 7.9, 8.9, 1.4, 1.1, 0.5]
    )
    np.testing.assert_allclose(
        scale.forward([50.0] * 3 + [5.0] * 3), [24.85, 24.3, 25.3, 3.7, 4.6, 1.8]
    )
    np.testing.assert_allclose(scale.forward([29.0] * 3 + [0.0] * 3)[:3], [16.55, 16.1, 17.1])


def test_another_operator_changes_the_end_points_and_a_bad_one_changes_nothing():
    """Least above most is refused."""
    scale = ForceMap()
    scale.use(np.full(6, 1.0), np.full(6, 2.0))
    assert scale.forward(np.full(6, 1e3)).tolist() == [2.0] * 6
    with pytest.raises(BadValue):
        scale.use(np.full(6, 3.0), np.full(6, 2.0))
    assert scale.least.tolist() == [1.0] * 6
    with pytest.raises(BadValue):
        assign(scale, "force_low", 60.0)
    assert scale.force_low == 8.0


def buzz(force: np.ndarray, acceleration: float = 0.0, **settings: float) -> list[bool]:
    """A cue over 1 s of force along x at 500 Hz."""
    cue = VibrationCue(**settings)
    return [cue.step(np.array([f, 0.0, 0.0]), acceleration, 0.002) for f in force]


def test_a_light_touch_buzzes_as_long_as_it_lasts():
    """From soon after its beginning to soon after its end."""
    force = np.zeros(2000)
    force[500:1500] = 3.0
    on = np.flatnonzero(buzz(force))
    assert 500 <= on[0] <= 510 and 1500 <= on[-1] <= 1525
    assert len(on) == on[-1] - on[0] + 1


@pytest.mark.parametrize("onset", [1.2, 3.0])
def test_a_touch_that_gets_lighter_buzzes_on_down_to_half_of_what_began_it(onset):
    """0.67 of the onset begins nothing, but goes on with a touch of 2.5; a third ends it."""
    force = np.zeros(2000)
    force[500:600], force[600:1500] = 2.5 * onset, 0.67 * onset
    on = buzz(force, onset=onset)
    assert all(on[510:1500])
    assert not any(buzz(np.minimum(force, 0.67 * onset), onset=onset))
    assert not any(buzz(np.where(force < onset, 0.5 * force, force), onset=onset)[700:])


@pytest.mark.parametrize("force", [2.2, 3.0, 4.0, 5.0, 5.8])
def test_after_a_shake_the_threshold_falls_as_the_filtered_noise_does(force):
    """√(σ₀² + (σ₁² − σ₀²) a²) times n, where a falls by e in three fast time constants from at most
    1; the touch shows when its own low-pass is above that.
    """
    dt, fast = 0.002, 0.01
    cue = VibrationCue(noise_still=1.0, noise_shaken=3.0, sigmas=2.0, fast=fast, slow=100.0)
    for _ in range(5):
        cue.step(np.zeros(3), -2.0, dt)
    n = np.arange(1, 200)
    noise = 2.0 * np.sqrt(1.0 + 8.0 * np.exp(-2.0 * n * dt / (3.0 * fast)))
    risen = force * (1.0 - (fast / (dt + fast)) ** n)
    found = [cue.step(np.array([0.0, force, 0.0]), 0.0, dt) for _ in n]
    assert found.index(True) == np.argmax(risen > noise)


def test_a_force_that_can_be_felt_needs_no_cue():
    """Only on its way up and down."""
    force = np.zeros(1000)
    force[500:] = 20.0
    assert sum(buzz(force)) <= 5


def test_a_slow_drift_makes_no_cue():
    """What compensation leaves behind when the tool turns: 2 N over 4 s."""
    assert not any(buzz(np.linspace(0.0, 2.0, 2000)))


def test_while_the_arm_shakes_a_light_touch_is_not_told_from_noise():
    """And for a moment afterwards."""
    force = np.zeros(600)
    force[300:] = 3.0
    assert not any(buzz(force, acceleration=1.0))


def profiled() -> ForceMap:
    """A map with a tender operator beside the mean one."""
    mean = ForceMap()
    return ForceMap(
        profiles={"tender": (np.full(6, 0.2), np.full(6, 5.0)), "mean": (mean.least, mean.most)}
    )


def test_another_operator_in_contact_ramps_the_force_and_does_not_step_it():
    """30 N of contact: from what one feels to what the other feels within half a second, evenly."""
    scale, contact = profiled(), np.array([30.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    before = scale.forward(contact, 1e-3)[0]
    assign({"map": scale}, "map.operator", "tender")
    felt = np.array([scale.forward(contact, 1e-3)[0] for _ in range(600)])
    assert np.abs(np.diff(np.concatenate([[before], felt]))).max() < 0.05
    assert felt[-1] == pytest.approx(0.2 + 22.0 / 42.0 * 4.8)
    assert felt[498] > felt[-1]


def test_a_number_of_the_map_that_is_set_in_contact_ramps_as_well():
    """Not only a profile."""
    scale, contact = ForceMap(), np.full(6, 30.0)
    scale.forward(contact, 1e-3)
    assign({"map": scale}, "map.force_high", 100.0)
    felt = np.array([scale.forward(contact, 1e-3)[0] for _ in range(600)])
    assert np.abs(np.diff(felt)).max() < 0.05
    assert felt[-1] == pytest.approx(ForceMap(force_high=100.0).forward(contact)[0])


def test_an_operator_nobody_knows_is_refused_and_nothing_changes():
    """The names there are come with the refusal."""
    scale, contact = profiled(), np.full(6, 30.0)
    before = scale.forward(contact)
    with pytest.raises(UnknownName, match="tender"):
        assign({"map": scale}, "map.operator", "nobody")
    np.testing.assert_array_equal(scale.forward(contact), before)
    assert scale.operator == "mean"

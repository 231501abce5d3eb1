"""Stiffness before sliding: grids, searches and the busiest stretch of a motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d

from farhand.friction import make
from farhand.friction.fit.coverage import measure_coverage
from farhand.friction.fit.motion import Motion
from farhand.friction.fit.prepare import Prepared
from farhand.friction.fit.presliding import (
    Search,
    _damping,
    _why,
    bristle_parameters,
    busiest_stretch,
    friction_along,
    search,
    stiffness_grid,
)
from farhand.friction.fit.sliding import Estimate, SlidingCurve, Terms

CURVE = {"coulomb": 0.5, "breakaway": 0.8, "stribeck_velocity": 0.1, "shape": 2.0, "viscous": 0.2}


def swung(seconds: float = 4.0, size: float = 0.02, **changes) -> Motion:
    """A slow swing to and fro, known exactly, at 1 kHz."""
    step = 1e-3
    time = step * np.arange(round(seconds / step))
    w = 2.0 * np.pi * 0.8
    x, v, a = size * np.sin(w * time), size * w * np.cos(w * time), -size * w**2 * np.sin(w * time)
    motion = Motion(
        *(time, x, v, a, np.zeros(len(time))),
        piece=np.zeros(len(time), dtype=int),
        step=step,
        bandwidth=70.0,
        min_speed=1e-4,
        tick=0.0,
        source="position",
        rate=1000.0,
    )
    return replace(motion, **changes)


def friction_of(motion: Motion, stiffness: float, damping: float = 0.5) -> np.ndarray:
    """Torque of LuGre along it, step by step, smoothed like all else."""
    joint = make("lugre", **CURVE, stiffness=stiffness, damping=damping)
    force = [joint.step(np.array([v]), motion.step)[0] for v in motion.velocity]
    return gaussian_filter1d(np.array(force), motion.width / motion.step, mode="nearest")


def test_a_model_runs_along_the_motion_with_all_its_joints_at_once():
    """Each is the joint alone; dry friction balances what is applied at rest."""
    motion = swung(0.5)
    stiffness = np.array([300.0, 1000.0])
    both = make("lugre", 2, **CURVE, stiffness=stiffness, damping=0.5)
    both.state[:] = 7.0
    along = friction_along(both, motion, slice(0, 500), motion.torque)
    for k in range(2):
        np.testing.assert_allclose(along[:, k], friction_of(motion, stiffness[k]), atol=1e-12)
    still = replace(motion, velocity=np.zeros(500))
    held = friction_along(make("stiction"), still, slice(100, 200), np.full(500, 0.05))
    np.testing.assert_allclose(held, 0.05)
    assert held.shape == (100, 1)


@pytest.mark.parametrize("noise", [0.002, 0.02])
def test_a_search_brackets_the_truth_and_not_more_than_the_data_rule_out(noise):
    """The best value is the nearest of the grid; ends lie half way to those that are ruled out."""
    motion = swung()
    rng = np.random.default_rng(0)
    target = friction_of(motion, 1000.0) + noise * rng.standard_normal(len(motion))
    values = np.geomspace(100.0, 10_000.0, 21)
    fixed = {**CURVE, "damping": 0.5}
    found = search("lugre", "stiffness", values, fixed, motion, target)
    assert found.value == pytest.approx(1000.0)
    ends = np.sqrt(values[1:] * values[:-1])
    assert found.low in ends and found.high in ends
    assert found.low < 1000.0 < found.high and found.bounded
    # a grid that ends at the truth has no bound beyond it
    for part, low, high in ((values[10:], True, False), (values[:11], False, True)):
        cut = search("lugre", "stiffness", part, fixed, motion, target)
        assert cut.value == pytest.approx(1000.0)
        assert (cut.low == 0.0) == low and np.isinf(cut.high) == high


def test_a_target_that_says_nothing_rules_nothing_out():
    """Noise alone, as large as all the friction: the interval is open."""
    motion = swung(2.0)
    rng = np.random.default_rng(1)
    target = friction_of(motion, 1000.0) + 20.0 * rng.standard_normal(len(motion))
    found = search(
        "lugre",
        "stiffness",
        np.geomspace(100.0, 10_000.0, 9),
        CURVE | {"damping": 0.5},
        motion,
        target,
    )
    assert found.low == 0.0 and np.isinf(found.high) and not found.bounded


def test_bounded_is_within_a_factor_of_two_both_ways():
    """Half of it and twice."""
    assert Search(1.0, 0.51, 1.99).bounded
    assert not Search(1.0, 0.49, 1.5).bounded and not Search(1.0, 0.9, 2.01).bounded


def test_the_grid_of_stiffnesses_goes_from_the_whole_travel_to_a_thirtieth_of_a_tick():
    """0.3 F_s over a tenth of the travel and ten ticks, up to 30 F_s over a tick."""
    motion = swung(tick=1e-3)
    grid = stiffness_grid(2.0, motion)
    travel = np.ptp(motion.position)
    assert len(grid) == 24 and len(stiffness_grid(2.0, motion, 5)) == 5
    assert grid[0] == pytest.approx(0.6 / (0.1 * travel + 0.01))
    assert grid[-1] == pytest.approx(60.0 / 1e-3)
    fine = stiffness_grid(2.0, swung())
    assert fine[-1] == pytest.approx(60.0 / (1e-6 * travel))
    np.testing.assert_allclose(np.diff(np.log(grid)), np.log(grid[1] / grid[0]))


def test_the_busiest_stretch_has_most_reversals_and_rest():
    """4000 samples of a longer motion; all of a shorter one."""
    assert busiest_stretch(swung(4.0)) == slice(0, 4000)
    motion = swung(12.0)
    v = np.ones(12_000)
    v[6000:9000] = np.where(np.arange(3000) // 100 % 2, 1.0, -1.0)
    rows = busiest_stretch(replace(motion, velocity=v))
    assert rows.stop - rows.start == 4000 and rows.start <= 6000 and rows.stop >= 8900
    v = np.ones(12_000)
    v[1000:1400], v[9000:9800] = 0.09, 0.05  # rest, by a tenth of the rms speed
    rows = busiest_stretch(replace(motion, velocity=v))
    assert rows.start <= 9000 and rows.stop >= 9799
    v[1000:1040] = np.where(np.arange(40) % 2, 1.0, -1.0)  # forty turns outweigh 700 samples
    v[9000:9800] = np.where(np.arange(800) < 700, 0.05, 1.0)
    assert busiest_stretch(replace(motion, velocity=v)).stop < 9000


def known(value: float) -> Estimate:
    return Estimate(value, value, value, "", True)


def found_in(model: str, motion: Motion, friction: np.ndarray | None = None):
    """Parameters of a model for the torque of LuGre friction, or another, inertia and an offset."""
    inertia = 0.05
    friction = friction_of(motion, 1000.0, 0.2 * np.sqrt(50.0)) if friction is None else friction
    torque = friction + inertia * motion.acceleration + 0.1
    rng = np.random.default_rng(0)
    motion = replace(motion, torque=torque + 0.002 * rng.standard_normal(len(motion)))
    values = {"coulomb": 0.5, "peak": 0.3, "viscous": 0.2, "inertia": inertia, "offset": 0.1}
    values |= {"stribeck_velocity": 0.1, "shape": 2.0}
    terms = Terms(stribeck=True, shape=None)
    every = np.ones(len(motion), dtype=bool)
    curve = SlidingCurve(terms, values, np.eye(7), 30, np.zeros(len(motion)), every)
    ready = Prepared(None, motion, every, measure_coverage(motion, every), ())
    of_curve = {name: known(value) for name, value in CURVE.items()}
    declared = set(vars(make(model)))
    mine = {name: one for name, one in of_curve.items() if name in declared}
    return bristle_parameters(model, mine, of_curve, curve, ready)


def test_stiffness_and_damping_are_found_from_motion_that_shows_them():
    """Within a few per cent, and the interval holds the truth."""
    out, notes = found_in("lugre", swung())
    one = out["stiffness"]
    assert notes == [] and one.identified and one.low < 1000.0 < one.high
    assert one.value == pytest.approx(1000.0, rel=0.05) and one.unit == "N·m/rad"
    assert out["damping"].value == pytest.approx(0.2 * np.sqrt(50.0), rel=0.3)


def test_a_tick_hides_the_stiffness_and_the_note_says_from_where_on():
    """Break-away within three ticks: a stiffness that the encoder cannot tell from a rigid
    joint.
    """
    out, notes = found_in("lugre", swung(tick=5e-4))
    assert not out["stiffness"].identified and out["stiffness"].low is None
    assert out["stiffness"].value == pytest.approx(5.0 * 0.8 / 5e-4, rel=0.5)
    assert "one encoder tick is 0.0005 rad" in notes[0] and "533 N·m/rad" in notes[0]
    assert out["damping"].value == pytest.approx(0.2 * np.sqrt(0.05 * out["stiffness"].value))


def test_each_bristle_has_a_hundredth_of_the_stiffness_of_the_contact():
    """And snaps at three times the deflection at which they slide on average."""
    motion = swung(0.8, 1e-3)  # too small to snap: a hundred springs side by side
    out, notes = found_in("bristle", motion, 1000.0 * (motion.position - motion.position[0]))
    one = out["stiffness"]
    assert notes == [] and one.identified and one.value == pytest.approx(10.0, rel=0.05)
    assert 5.0 < one.low < one.value < one.high < 20.0
    assert out["deflection"].value == pytest.approx(3.0 * 0.8 / (100.0 * one.value))
    reset, _ = found_in("reset-integrator", swung(0.8))
    assert reset["deflection"].value == pytest.approx(0.8 / reset["stiffness"].value)
    assert reset["stiction"].value == 0.0


def test_damping_is_the_rule_where_the_data_do_not_show_it():
    """Or where the rule is none at all."""
    motion = swung(1.0)
    none = Estimate(0.0, None, None, "N·m·s/rad", False)
    assert _damping("lugre", none, {}, motion, motion.torque) is none
    rule = Estimate(0.7, None, None, "N·m·s/rad", False)
    given = {**CURVE, "stiffness": 1000.0}
    shown = _damping("lugre", rule, given, motion, friction_of(motion, 1000.0, 0.5))
    assert shown.identified and shown.value == pytest.approx(0.5, rel=0.2)
    assert shown.low < 0.5 < shown.high
    rough = 50.0 * np.random.default_rng(0).standard_normal(len(motion))
    assert _damping("lugre", rule, given, motion, rough) is rule


def test_the_reason_is_the_encoder_a_lower_bound_or_the_motion():
    """Whichever applies first."""
    limits = Search(100.0, 40.0, np.inf)
    assert "one encoder tick" in _why(0.8, 1e-3, False, limits)
    assert "above 40 N·m/rad" in _why(0.8, 1e-3, True, limits)
    assert "above 40 N·m/rad" in _why(0.8, 0.0, False, limits)
    assert "no slow reversals" in _why(0.8, 0.0, True, Search(100.0, 0.0, np.inf))

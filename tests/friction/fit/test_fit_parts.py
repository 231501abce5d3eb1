"""The parts of a fit: estimates, intervals, the hold-out stretch and the modelled torque."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from farhand.errors import OutOfRange
from farhand.friction import make
from farhand.friction.fit import fit as module
from farhand.friction.fit.coverage import Coverage
from farhand.friction.fit.fit import Fit, fit
from farhand.friction.fit.motion import Motion
from farhand.friction.fit.sliding import Estimate, SlidingCurve, Terms, half_interval, speed_bounds
from tests.friction.wave_logs import swung, wave

COVERED = Coverage(0.5, True, 0.01, 3.0, 9.0, True, 0.9)

VALUES = {"coulomb": 0.5, "peak": 0.3, "viscous": 0.2, "inertia": 0.05, "offset": -0.1}
VALUES |= {"stribeck_velocity": 0.1, "shape": 1.4}


def curved(motion: Motion, sizes: float = 1e-6, **changes) -> SlidingCurve:
    """A curve with all values, independent but for Coulomb friction and peak."""
    values = changes.pop("values", VALUES)
    C = sizes * np.eye(len(values))
    if len(C) > 1:
        C[0, 1] = C[1, 0] = -0.4 * sizes
    terms = Terms(stribeck="peak" in values, shape=None if "shape" in values else 2.0)
    every = np.ones(len(motion), dtype=bool)
    curve = SlidingCurve(terms, values, C, 30, np.zeros(len(motion)), every)
    return replace(curve, **changes)


def ready(motion: Motion, **coverage) -> SimpleNamespace:
    """What a curve's estimates need."""
    return SimpleNamespace(motion=motion, coverage=replace(COVERED, **coverage))


def test_an_estimate_is_sure_if_half_its_interval_is_below_half_its_value():
    """And the interval does not go below what the value may be."""
    assert module._estimate(2.0, 0.9, "x") == Estimate(2.0, 1.1, 2.9, "x", True)
    assert not module._estimate(2.0, 1.1, "x").identified
    assert module._estimate(-2.0, 0.9, "x", low=-9.0).identified
    assert not module._estimate(2.0, 0.1, "x", known=False).identified
    assert module._estimate(2.0, 5.0, "x").low == 0.0
    assert module._estimate(2.0, 5.0, "x", low=-9.0).low == -3.0


def test_a_narrow_interval_of_what_is_not_identified_is_dropped():
    """A wide one says something true."""
    wide, narrow = Estimate(1.0, 0.7, 1.25, "x", False), Estimate(1.0, 0.8, 1.2, "x", False)
    assert module._without_false_interval(wide) is wide
    assert module._without_false_interval(narrow) == Estimate(1.0, None, None, "x", False)
    sure = replace(narrow, identified=True)
    assert module._without_false_interval(sure) is sure
    open_ = replace(narrow, low=None)
    assert module._without_false_interval(open_).high is None


def test_break_away_is_dry_friction_and_peak_with_the_variance_of_their_sum():
    """var(a + b) = var a + var b + 2 cov."""
    motion = swung()
    out = module._curve_estimates(curved(motion), ready(motion))
    top = out["breakaway"]
    assert top.value == pytest.approx(0.8) and top.identified
    half = half_interval(1e-6 * (2.0 - 0.8), 30)
    assert (top.low, top.high) == (pytest.approx(0.8 - half), pytest.approx(0.8 + half))
    half = half_interval(1e-6, 30)
    for name in ("coulomb", "viscous", "stribeck_velocity", "shape"):
        one = out[name]
        assert one.value == VALUES[name] and one.identified, name
        assert one.high - one.value == pytest.approx(half), name
    assert {name: one.unit for name, one in out.items()} == {
        "coulomb": "N·m",
        "viscous": "N·m·s/rad",
        "breakaway": "N·m",
        "stribeck_velocity": "rad/s",
        "shape": "-",
    }


def test_the_peak_is_known_if_a_slow_speed_was_held_it_stands_out_and_no_bound_stopped_it():
    """Each alone takes break-away; the exponent has a bound of its own."""
    motion = swung()

    def known(curve: SlidingCurve, **coverage) -> tuple[bool, bool, bool]:
        out = module._curve_estimates(curve, ready(motion, **coverage))
        names = ("breakaway", "stribeck_velocity", "shape")
        return tuple(out[name].identified for name in names)

    assert known(curved(motion), resolved=0.069) == (True,) * 3
    assert known(curved(motion), resolved=0.071) == (False,) * 3
    assert known(curved(motion, bounded=("stribeck_velocity",))) == (False,) * 3
    assert known(curved(motion, bounded=("shape",))) == (True, True, False)
    low = VALUES | {"peak": 0.001}
    assert known(curved(motion, values=low)) == (False,) * 3
    fixed = {name: value for name, value in VALUES.items() if name != "shape"}
    out = module._curve_estimates(curved(motion, values=fixed), ready(motion))
    assert "shape" not in out and out["breakaway"].identified


def test_a_peak_as_wide_as_the_speeds_or_one_speed_identifies_neither_part():
    """Dry and viscous friction are one then; no dry friction at all is a billionth."""
    motion = swung()
    widest = 0.98 * speed_bounds(motion, np.ones(len(motion), dtype=bool))[1]
    for share, sure in ((0.99, True), (1.01, False)):
        wide = curved(motion, values=VALUES | {"stribeck_velocity": share * widest})
        out = module._curve_estimates(wide, ready(motion))
        assert out["coulomb"].identified == out["viscous"].identified == sure
    for spread, sure in ((1.31, True), (1.29, False)):
        out = module._curve_estimates(curved(motion), ready(motion, spread=spread))
        assert out["coulomb"].identified == out["viscous"].identified == sure
    none = curved(motion, values=VALUES | {"coulomb": 0.0})
    out = module._curve_estimates(none, ready(motion))
    assert out["coulomb"].value == 1e-9 and out["breakaway"].value == pytest.approx(0.3)


def test_inertia_is_given_or_has_the_noise_of_the_encoder_in_its_interval():
    """A share of the acceleration that is noise makes it look smaller by as much."""
    motion = swung(noise_share=0.02)
    one = module._inertia(curved(motion), ready(motion))
    half = half_interval(1e-6, 30) + 0.02 * 0.05
    assert one.value == 0.05 and one.high == pytest.approx(0.05 + half) and one.identified
    assert not module._inertia(curved(motion), ready(motion, accelerates=False)).identified
    given = curved(motion, terms=Terms(inertia=0.07))
    assert module._inertia(given, ready(motion)) == Estimate(0.07, 0.07, 0.07, "kg·m²", True)
    offset = module._offset(curved(motion))
    half = half_interval(1e-6, 30)
    assert (offset.value, offset.low) == (-0.1, pytest.approx(-0.1 - half))
    assert offset.high == pytest.approx(-0.1 + half) and offset.identified
    without = {name: value for name, value in VALUES.items() if name != "offset"}
    assert not module._offset(curved(motion, values=without)).identified


def test_friction_of_a_curve_is_the_model_s_own():
    """Dry, peak and viscous, for either shape of the peak."""
    motion = swung()
    kfm = make("kfm", coulomb=0.5, breakaway=0.8, stribeck_velocity=0.1, shape=1.4, viscous=0.2)
    found = module._curve_friction(curved(motion), motion)
    np.testing.assert_allclose(found, kfm.steady(motion.velocity), atol=1e-12)
    plain = {"coulomb": 0.5, "viscous": 0.2, "inertia": 0.05}
    found = module._curve_friction(curved(motion, values=plain), motion)
    expected = 0.5 * np.sign(motion.velocity) + 0.2 * motion.velocity
    np.testing.assert_allclose(found, expected)


def test_the_modelled_torque_is_the_curve_or_a_run_of_the_model_with_memory():
    """Beside it inertia and offset; outside the rows asked for, the curve."""
    motion = swung()
    curve = curved(motion)
    truth = module.predicted(motion, curve)
    static = make("kfm")
    np.testing.assert_array_equal(module._modelled(static, curve, motion), truth)
    v = motion.velocity
    values = {"coulomb": 0.5, "breakaway": 0.8, "stribeck_velocity": 0.1, "shape": 1.4}
    joint = make("lugre", **values, viscous=0.2, stiffness=1e5, damping=0.0)
    rows = slice(500, 1500)
    found = module._modelled(joint, curve, motion, rows)
    np.testing.assert_array_equal(found[:500], truth[:500])
    np.testing.assert_array_equal(found[1500:], truth[1500:])
    # a stiff bristle is the curve itself, but for reversals
    steady = np.abs(v[rows]) > 0.2
    np.testing.assert_allclose(found[rows][steady][50:-50], truth[rows][steady][50:-50], atol=0.03)
    assert not np.array_equal(found[rows], truth[rows])
    whole = module._modelled(make("maxwell-slip", coulomb=0.5), curve, motion)
    assert not np.array_equal(whole[:500], truth[:500])


def test_the_stretch_held_out_is_a_fifth_whose_speeds_the_rest_covers():
    """Neither one at speeds of its own nor one in which the joint hardly slides."""
    motion, every = swung(), np.ones(2000, dtype=bool)
    v = np.tile(np.linspace(-1.0, 1.0, 400), 5)
    v[800:1200] = np.linspace(2.0, 3.0, 400)
    block = module._holdout_block(replace(motion, velocity=v), every)
    assert np.count_nonzero(block) == 400 and not block[800:1200].any()
    assert np.flatnonzero(block).tolist() == list(range(400))
    used = every.copy()
    used[:395] = False
    block = module._holdout_block(replace(motion, velocity=v), used)
    assert np.flatnonzero(block)[0] == 400
    used[:395], used[:389] = True, False
    # more speeds in common count more
    v[:400] = np.linspace(0.0, 0.2, 400)
    block = module._holdout_block(replace(motion, velocity=v), every)
    assert np.flatnonzero(block)[0] == 400
    # a speed of its own counts thrice against it
    apart = np.repeat([1.0, 2.0, 3.0, 4.0, 5.0], 400) + np.tile(np.linspace(0, 0.5, 400), 5)
    block = module._holdout_block(replace(motion, velocity=apart), every)
    assert np.flatnonzero(block).tolist() == list(range(1600, 2000))


def test_a_curve_to_show_goes_as_far_as_the_motion_and_is_denser_near_rest():
    """Sixty squares each way, without rest itself."""
    motion = swung()
    used = np.abs(motion.velocity) < 0.9
    shown = Fit.curve.fget(SimpleNamespace(motion=motion, used=used, friction=make("kfm")))
    half = np.abs(motion.velocity[used]).max() * (np.arange(1, 61) / 60.0) ** 2
    np.testing.assert_allclose(shown[:, 0], [*-half[::-1], *half])
    np.testing.assert_allclose(shown[:, 1], make("kfm").steady(shown[:, 0]))


def test_the_root_mean_square_of_nothing_is_no_number():
    """And of something it is."""
    assert np.isnan(module._rms(np.zeros(0)))
    assert module._rms(np.array([3.0, -4.0])) == pytest.approx(np.sqrt(12.5))


@pytest.mark.parametrize("inertia", [0.0, 1e6])
def test_an_inertia_may_be_none_or_huge_and_no_more(inertia):
    """From 0 to a million."""
    log = wave(seconds=4.0)
    if inertia == 0.0:
        assert fit(log, "coulomb-viscous", inertia=0.0).inertia.value == 0.0
    for wrong in (-1e-9, 1.1e6):
        with pytest.raises(OutOfRange, match="inertia"):
            fit(log, inertia=wrong)


def estimated(errors: dict[str, float], monkeypatch) -> str:
    """What auto takes of models with these hold-out errors and a torque of 1 N·m."""

    def fitted(ready, model, *_, **__):
        blank = dict.fromkeys(Fit.__dataclass_fields__)
        return Fit(**blank | {"model": model, "holdout_error": errors[model], "rms_torque": 1.0})

    monkeypatch.setattr(module, "_fit", fitted)
    monkeypatch.setattr(module, "prepare", lambda *_: None)
    found = fit(wave(seconds=2.0), "auto")
    assert found.compared == errors
    return found.model


def test_auto_takes_a_later_model_only_if_it_is_better_by_a_tenth_and_by_some_torque(monkeypatch):
    """A tenth of the error, and a five-hundredth of the torque."""
    names = ("viscous", "coulomb", "coulomb-viscous", "stribeck", "kfm", "lugre")
    even = dict.fromkeys(names, 1.0)
    assert estimated(even, monkeypatch) == "viscous"
    assert estimated(even | {"kfm": 0.89}, monkeypatch) == "kfm"
    assert estimated(even | {"kfm": 0.91}, monkeypatch) == "viscous"
    assert estimated(even | {"coulomb": 0.85, "lugre": 0.80}, monkeypatch) == "coulomb"
    small = dict.fromkeys(names, 0.01)
    assert estimated(small | {"stribeck": 0.0085}, monkeypatch) == "viscous"
    assert estimated(small | {"stribeck": 0.0075}, monkeypatch) == "stribeck"

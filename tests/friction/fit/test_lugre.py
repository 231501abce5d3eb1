"""LuGre friction fitted as a whole: frictional lag is no part of the sliding curve."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.friction import make
from farhand.friction.fit.fit import fit
from farhand.friction.fit.lugre import BRISTLE_PARAMETERS, LugreProblem
from farhand.friction.fit.motion import motion_at, split_at_pauses
from farhand.friction.fit.presliding import friction_along
from farhand.friction.fit.sliding import Terms, fit_sliding, sliding_samples
from tests.friction.wave_logs import Wave, bristly, said, stairs

TRUTH = {
    "coulomb": Wave.coulomb,
    "viscous": Wave.viscous,
    "breakaway": 0.8,
    "stribeck_velocity": 0.1,
    "stiffness": 1000.0,
}


@pytest.mark.parametrize("seed", range(2))
def test_all_parameters_come_back_from_ordinary_unsteady_motion(seed):
    """No speed is held; intervals hold the truth, which a sliding curve alone misses by many of
    them.
    """
    found = fit(bristly(0.2, 30.0, seed), "lugre")
    for name, value in TRUTH.items():
        one = found.parameters[name]
        assert one.identified and one.value == pytest.approx(value, rel=0.1), name
        assert abs(one.value - value) < 1.5 * (one.high - one.value), name
    assert abs(found.inertia.value - Wave.inertia) < 1.5 * (
        found.inertia.high - found.inertia.value
    )


def test_slow_motion_alone_does_not_pretend_to_know_inertia():
    """Below 0.2 rad/s: an inertia half too large was called known to a tenth."""
    found = fit(bristly(0.05, 40.0, 1), "lugre")
    one = found.inertia
    assert not one.identified or one.low <= Wave.inertia <= one.high
    assert found.parameters["stiffness"].value == pytest.approx(1000.0, rel=0.05)


def test_steady_speeds_stay_identified_with_a_coarser_encoder():
    """It hides the way before sliding; the sliding curve is fitted as ever."""
    found = fit(stairs(seed=1, peak=0.3), "lugre")
    for name in ("coulomb", "viscous", "breakaway", "stribeck_velocity"):
        one = found.parameters[name]
        assert one.identified and one.low <= TRUTH[name] <= one.high, name
    assert not found.parameters["stiffness"].identified and said(found, "stiffness", "tick")


def test_the_bristles_run_as_the_model_does_and_their_derivatives_are_right():
    """Along the same motion: once they slide, the state at the start is forgotten."""
    found = bristly(0.2, 5.0)
    motion = motion_at(split_at_pauses(found, 0.0), 50.0, 0.0, "position")
    first = fit_sliding(motion, Terms(stribeck=True, shape=None), sliding_samples(motion))
    whole = LugreProblem(motion, first, np.ones(len(motion), dtype=bool))
    x = np.array([0.5, 0.3, 0.1, 1.8, 900.0, 0.4, 0.2, 0.05, 0.01, 0.0])
    assert x[: len(BRISTLE_PARAMETERS)].tolist() == [0.5, 0.3, 0.1, 1.8, 900.0]
    joint = make(
        "lugre",
        coulomb=0.5,
        breakaway=0.8,
        stribeck_velocity=0.1,
        shape=1.8,
        viscous=0.2,
        stiffness=900.0,
        damping=0.4,
    )
    theirs = friction_along(joint, motion, slice(0, len(motion)), motion.torque)[:, 0]
    ours = whole.residual(x) + motion.torque - 0.05 * motion.acceleration - 0.01
    ours += motion.smooth(0.2 * motion.velocity) - 0.2 * motion.velocity
    np.testing.assert_allclose(ours[100:], theirs[100:], atol=1e-3)
    for i in range(len(x)):
        step = np.zeros(len(x))
        step[i] = 1e-6 * max(abs(x[i]), 1e-3)
        slope = (whole.residual(x + step) - whole.residual(x - step)) / (2.0 * step[i])
        np.testing.assert_allclose(whole.jacobian(x)[:, i], slope, atol=2e-3 * np.abs(slope).max())

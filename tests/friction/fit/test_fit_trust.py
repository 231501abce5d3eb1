"""Numbers that are not the joint's are not called so, and the line names the cause."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from farhand.errors import BadValue
from farhand.friction.fit.data import make_log
from farhand.friction.fit.fit import fit
from tests.friction.joint_logs import Joint, log
from tests.friction.wave_logs import Wave, said, stairs, wave


@pytest.mark.parametrize(
    "load", [lambda x: 0.3 * np.sin(x), lambda x: 0.05 * np.sin(x), lambda x: 0.05 * x]
)
def test_inertia_is_not_identified_where_the_model_is_unfit(load):
    """Gravity or a spring left in: what the friction cannot explain goes into the inertia as
    well.
    """
    table = wave(seed=1)
    found = fit(replace(table, torque=table.torque + load(table.position)), "coulomb-viscous")
    assert not found.inertia.identified and found.inertia.low is None
    assert said(found, "inertia", "not identified", "freer curve") and said(found, "--gravity")


def test_a_torque_at_its_limit_does_not_identify_inertia():
    """A third of the samples are clipped; the inertia comes out at a third."""
    table = wave(seed=1)
    found = fit(replace(table, torque=np.clip(table.torque, -0.6, 0.6)), "coulomb-viscous")
    assert not found.inertia.identified and said(found, "at its limit", "inertia")


def test_an_inertia_that_was_given_stays_given():
    """Whatever the model leaves."""
    table = wave(seed=1)
    loaded = replace(table, torque=table.torque + 0.3 * np.sin(table.position))
    assert fit(loaded, "coulomb-viscous", inertia=Wave.inertia).inertia.identified


@pytest.mark.parametrize("model", ["coulomb-viscous", "auto"])
@pytest.mark.parametrize("make", [wave, stairs])
def test_friction_that_differs_between_the_directions_is_named(model, make):
    """30 % more forward, 30 % less back: the cause, and no advice that leads nowhere."""
    found = fit(make(seed=2, forward=1.3, back=0.7), model)
    assert said(found, "differs between the directions")
    assert not said(found, "--model auto") and not said(found, "--gravity")
    assert (
        not any(one.identified for one in found.parameters.values())
        and not found.inertia.identified
    )


def test_gravity_is_not_taken_for_a_difference_between_the_directions():
    """Some motions go forward mostly where gravity pulls one way."""
    for seed in range(6):
        table = wave(seed=seed)
        load = 0.3 * np.sin(table.position) + 0.1 * np.cos(table.position)
        found = fit(replace(table, torque=table.torque + load), "coulomb-viscous")
        assert said(found, "--gravity") and not said(found, "directions")


def test_a_model_that_auto_took_is_not_told_to_try_auto():
    """Gravity was left in; no model that it compares explains that."""
    table = wave(seed=0)
    found = fit(replace(table, torque=table.torque + 0.3 * np.sin(table.position)), "auto")
    assert said(found, "freer curve", "auto found no better model") and not said(
        found, "--model auto"
    )


@pytest.mark.parametrize("shape", [0.5, 1.0])
def test_a_curve_of_another_shape_is_noticed_below_three_per_cent(shape):
    """A Gaussian peak fitted to one that falls otherwise leaves 1.7 % of the torque; its parameters
    are off by more.
    """
    table = stairs(seed=0, peak=0.3, shape=shape)
    found = fit(table, "stribeck")
    assert found.rms_error < 0.03 * found.rms_torque
    assert said(found, "freer curve", "--model auto")
    assert not any(
        found.parameters[name].identified for name in ("coulomb", "breakaway", "stribeck_velocity")
    )
    assert fit(table, "kfm").parameters["breakaway"].identified


@pytest.mark.parametrize("noise", [0.02, 0.002])
def test_good_data_do_not_make_a_right_model_unfit(noise):
    """Whether the noise is small or not; intervals hold the truth."""
    truth = {
        "coulomb": Wave.coulomb,
        "viscous": Wave.viscous,
        "breakaway": 0.8,
        "stribeck_velocity": 0.1,
    }
    for seed in range(5):
        found = fit(stairs(seed=seed, peak=0.3, noise=noise), "stribeck")
        assert not said(found, "freer curve")
        for name, value in truth.items():
            assert found.parameters[name].low <= value <= found.parameters[name].high, name


@pytest.mark.parametrize("velocity", [0.0, 1.0])
def test_a_time_in_milliseconds_is_asked_after(velocity):
    """A velocity column of zeros, or one in rad/ms, does not contradict it; the samples are 2 s
    apart.
    """
    table = wave(seconds=5.0)
    rows = np.column_stack(
        [1e3 * table.time, table.position, velocity * 1e-3 * table.velocity, table.torque]
    )
    with pytest.raises(BadValue, match="is t in s"):
        fit(make_log(rows), "coulomb-viscous")


@pytest.mark.parametrize(("factor", "words"), [(-1.0, "opposite"), (-57.29578, "degrees")])
def test_a_velocity_of_the_opposite_sign_is_refused(factor, words):
    """Which of the two columns is wrong cannot be known."""
    table = log(Joint(), "random", seconds=10.0)
    with pytest.raises(BadValue, match=words):
        fit(replace(table, velocity=factor * table.velocity), "kfm")

"""Every friction model, held to what its equations and thermodynamics say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farhand.errors import BadValue, FarhandError, Mismatch, OutOfRange, UnknownName
from farhand.friction import FRICTIONS, make
from farhand.friction.models.implicit import advance
from farhand.friction.models.wheels import curve_of, looked_up
from farhand_lab.youbot.friction_properties import along

DT = 1e-3
MODELS = sorted(FRICTIONS)
SPRINGY = (
    "armstrong",
    "dahl",
    "bristle",
    "reset-integrator",
    "lugre",
    "maxwell-slip",
    "leuven",
    "gms",
)
speeds = st.floats(-20.0, 20.0).filter(lambda v: abs(v) > 1e-6)


@pytest.mark.parametrize("name", MODELS)
@given(velocity=speeds)
@settings(max_examples=20, deadline=None)
def test_sliding_friction_opposes_motion(name, velocity):
    """F·v > 0 at every steady speed: friction takes energy."""
    assert float(make(name, 4).steady(np.full(4, velocity)).min() * np.sign(velocity)) > 0.0


@pytest.mark.parametrize("name", MODELS)
def test_a_joint_feels_nothing_of_its_neighbours(name):
    """Four joints with four velocities resist as four single joints do."""
    if name == "bristle":
        pytest.skip("its joints draw from one random generator")
    velocity = np.array([-2.0, -0.01, 0.03, 1.5])
    together = make(name, 4)
    forces = np.array([together.step(velocity * (1 + k), DT, velocity) for k in range(20)])
    for j in range(4):
        mask = np.arange(4) == j
        apart = make(name, 4)
        single = [
            apart.step(np.where(mask, velocity * (1 + k), 0.0), DT, velocity)[j] for k in range(20)
        ]
        np.testing.assert_allclose(forces[:, j], single, rtol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_a_reset_model_repeats_itself(name):
    """After reset the same motion gives the same torques."""
    model, motion = make(name, 2), np.random.default_rng(1).standard_normal((50, 2))
    first = [model.step(v, DT, v) for v in motion]
    model.reset()
    np.testing.assert_array_equal(first, [model.step(v, DT, v) for v in motion])


@pytest.mark.parametrize("name", MODELS)
@given(stiffer=st.floats(1.0, 1e6), torque=st.floats(-2.0, 2.0), inertia=st.floats(1e-6, 10.0))
@settings(max_examples=10, deadline=None)
def test_no_stiffness_makes_a_step_of_a_millisecond_unstable(name, stiffer, torque, inertia):
    """Coupled to any inertia, friction never drives: kinetic and stored energy stay below the work
    put in.
    """
    scale = (
        {"stiffness": 250.0 * stiffer}
        if name in ("armstrong", "dahl", "lugre", "maxwell-slip", "leuven", "gms")
        else {}
    )
    model, J = make(name, 1, **scale), np.array([inertia])
    v, supplied = np.array([0.3]), 0.5 * inertia * 0.09
    for k in range(40):
        push = torque if k < 20 else 0.0
        v, force = advance(model, v, DT, np.array([push]), J)
        supplied += push * float(v[0]) * DT
        stored = 0.5 * inertia * float(v[0]) ** 2 + float(model.stored[0])
        assert np.isfinite(force).all()
        assert stored <= supplied + 1e-6 * abs(supplied) + 1e-9


@pytest.mark.parametrize(
    "name", ["coulomb", "stiction", "stribeck", "kfm", "karnopp", "coulomb-viscous"]
)
def test_dry_friction_holds_a_joint_exactly_still(name):
    """Below what starts motion the velocity is zero, not small, and friction equals the push."""
    model = make(name)
    v, force = advance(model, np.zeros(1), DT, np.array([0.03]), np.array([0.01]))
    assert v[0] == 0.0
    assert force[0] == pytest.approx(0.03)


@pytest.mark.parametrize("name", MODELS)
def test_long_sliding_ends_on_the_steady_curve(name):
    """The curve that a model declares is where its own dynamics settle."""
    v = np.array([-4.2, -0.37, 0.37, 4.2])
    model = make(name, 4)
    force = np.array([model.step(v, DT, np.zeros(4)) for _ in range(1500)])[500:].mean(axis=0)
    np.testing.assert_allclose(force, model.steady(v), rtol=0.03 if name == "bristle" else 1e-3)


@given(
    alpha=st.floats(0.2, 3.0), distances=st.lists(st.floats(-1e-3, 1e-3), min_size=2, max_size=10)
)
@settings(max_examples=50, deadline=None)
def test_dahl_over_one_long_step_equals_many_short_ones(alpha, distances):
    """The update is the exact solution, so how a stretch is divided does not matter."""
    whole, parts = make("dahl", exponent=alpha), make("dahl", exponent=alpha)
    for d in distances:
        end = whole.step(np.array([d / DT]), DT)
        for _ in range(10):
            fine = parts.step(np.array([d / DT]), DT / 10)
        np.testing.assert_allclose(end, fine, atol=1e-9)


@given(v=st.floats(-5.0, 5.0), z=st.floats(-3e-4, 3e-4))
@settings(max_examples=50, deadline=None)
def test_the_bristle_of_lugre_does_not_care_how_a_step_is_divided(v, z):
    """Exact in z at constant velocity."""
    whole, parts = make("lugre"), make("lugre")
    whole.state[0], parts.state[0] = z, z
    whole.step(np.array([v]), DT)
    for _ in range(7):
        parts.step(np.array([v]), DT / 7)
    np.testing.assert_allclose(whole.state, parts.state, atol=1e-12)


def test_kfm_gives_the_published_values():
    """Table 4 of the published work, wheel 1."""
    np.testing.assert_allclose(
        make("kfm").steady([0.1, 0.5, 1.0]), [0.06661, 0.04828, 0.05620], atol=1e-5
    )


def test_maxwell_slip_remembers_where_it_turned_and_lugre_does_not():
    """Return-point memory: an inner loop closes."""
    x = 5e-4 * np.concatenate(
        [
            np.linspace(0, 1, 101),
            np.linspace(1, 0.2, 81)[1:],
            np.linspace(0.2, 0.8, 61)[1:],
            np.linspace(0.8, 0.2, 61)[1:],
        ]
    )
    gaps = {}
    for name in ("maxwell-slip", "lugre"):
        force = along(make(name), x, 0.1)
        gaps[name] = abs(force[-1] - force[179])
    assert gaps["maxwell-slip"] < 1e-12 < 1e-3 < gaps["lugre"]


def test_armstrong_takes_more_to_start_after_a_longer_rest():
    """Stiction grows with the time at rest."""
    peaks = []
    for rest in (0.01, 0.2, 5.0):
        model = make("armstrong")
        for _ in range(300):
            model.step(np.array([0.5]), DT)
        for _ in range(round(rest / DT)):
            model.step(np.zeros(1), DT)
        for _ in range(20):
            model.step(np.array([-0.5]), DT)
            model.step(np.zeros(1), rest)
        peaks.append(max(float(model.step(np.array([1e-3]), DT)[0]) for _ in range(2000)))
    assert peaks[0] < peaks[1] < peaks[2]


def test_the_table_of_a_wheel_is_its_curve():
    """Looking up is as good as computing, also where the table ends."""
    v = np.concatenate(
        [np.random.default_rng(0).uniform(-10.0, 10.0, 2000), [-60.0, -16.0, 16.0, 60.0]]
    )
    for wheel in ("wheel-1", "wheel-2", "wheel-3", "wheel-4"):
        off = np.abs(looked_up(wheel, v) - curve_of(wheel, v))
        assert np.quantile(off, 0.99) < 2e-6  # a published jump is as wide as the table's step
        assert off.max() < 9.1e-4
        assert off[-4:].max() < 1e-9


def test_each_joint_of_the_base_has_its_own_wheel():
    """Joint k of youbot-wheels is wheel k."""
    four = make("youbot-wheels", 4).steady(np.full(4, 3.0))
    np.testing.assert_allclose(
        four, [float(make(f"youbot-wheel-{k}").steady(3.0)) for k in (1, 2, 3, 4)]
    )


@pytest.mark.parametrize(
    ("name", "parameters", "error", "words"),
    [
        ("lugrr", {}, UnknownName, "did you mean 'lugre'"),
        ("lugre", {"coulomb": -1.0}, OutOfRange, "lugre.coulomb = -1 is outside"),
        ("lugre", {"breakaway": 0.01}, BadValue, "must be at least lugre.coulomb"),
        ("lugre", {"stifness": 1.0}, UnknownName, "did you mean 'stiffness'"),
        ("lugre", {"stiffness": float("nan")}, BadValue, "must be finite"),
        ("gms", {"level_shares": (0.5, 0.2)}, BadValue, "add up to 0.7"),
        ("gms", {"level_shares": (0.5, 0.5)}, BadValue, "2 and 4 elements"),
        ("dahl", {"coulomb": "much"}, BadValue, "takes 1 number"),
        ("bristle", {"bristles": 0}, OutOfRange, "bristle.bristles"),
    ],
)
def test_impossible_parameters_are_refused_in_one_line(name, parameters, error, words):
    """The message names the value and the limit."""
    with pytest.raises(error, match=".*") as caught:
        make(name, **parameters)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_karnopp_says_that_it_needs_the_applied_torque():
    """A model that cannot do without it does not guess."""
    with pytest.raises(Mismatch, match="applied"):
        make("karnopp").step(np.zeros(1), DT)


def test_a_wrong_number_of_values_names_the_number_of_joints():
    """Two values for three joints fit nobody."""
    with pytest.raises(FarhandError, match="1 or 3"):
        make("kfm", 3, coulomb=[0.1, 0.2])

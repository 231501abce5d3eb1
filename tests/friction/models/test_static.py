"""Models without memory: their curves, what they hold at rest, and how parameters are read."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.errors import BadValue
from farhand.friction import make
from farhand.friction.models.model import FRICTIONS, read_parameters, register

DT = 1e-3


def fall(v: float, shape: float) -> float:
    """Dry part of the default Stribeck curve, [N·m]."""
    return 0.03718 + (0.08976 - 0.03718) * np.exp(-((abs(v) / 0.1516) ** shape))


@pytest.mark.parametrize("v", [-3.0, -0.1, 0.02, 0.4])
def test_each_curve_is_its_equation(v):
    """Dry, fluid, and the Stribeck fall with its exponent; each with the sign of the velocity."""
    way = np.sign(v)
    expected = {
        "coulomb": 0.03718 * way,
        "viscous": 0.01898 * v,
        "coulomb-viscous": 0.03718 * way + 0.01898 * v,
        "stiction": 0.03718 * way + 0.01898 * v,
        "stribeck": fall(v, 2.0) * way + 0.01898 * v,
        "kfm": fall(v, 1.047) * way + 0.01898 * v,
        "karnopp": fall(v, 1.047) * way + 0.01898 * v,
        "threshold": fall(v, 1.047) * way + 0.01898 * v,
    }
    for name, torque in expected.items():
        assert float(make(name).steady(v)) == pytest.approx(torque), name
        assert make(name).step(np.array([v]), DT, np.zeros(1))[0] == pytest.approx(torque), name


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("coulomb", 0.03718),
        ("coulomb-viscous", 0.03718),
        ("stiction", 0.08976),
        ("stribeck", 0.08976),
        ("kfm", 0.08976),
        ("karnopp", 0.08976),
        ("waiboer", 0.05258),
    ],
)
def test_at_rest_dry_friction_is_the_push_up_to_its_limit(name, most):
    """Each way; a moving joint has its curve, however hard it is pushed."""
    model = make(name, 4)
    pushes = np.array([-2.0 * most, -0.9 * most, 0.9 * most, 2.0 * most])
    held = model.step(np.zeros(4), DT, pushes)
    np.testing.assert_allclose(held, np.array([-most, -0.9 * most, 0.9 * most, most]))
    moving = model.step(np.full(4, 0.5), DT, pushes)
    np.testing.assert_allclose(moving, model.steady(np.full(4, 0.5)))


def test_a_band_about_rest_sticks_or_is_a_steep_line():
    """Karnopp holds inside his band; the threshold rises in a line to the curve at its edge."""
    karnopp, threshold = make("karnopp", 4, band=0.02), make("threshold", 4, band=0.02)
    v, push = np.array([-0.021, -0.019, 0.019, 0.021]), np.array([0.05, 0.05, -0.05, -0.05])
    force = karnopp.step(v, DT, push)
    np.testing.assert_allclose(force[1:3], push[1:3])
    np.testing.assert_allclose(force[[0, 3]], karnopp.steady(v)[[0, 3]])
    edge = float(make("threshold", band=0.02).steady(0.02))
    np.testing.assert_allclose(threshold.steady(v)[1:3], edge * v[1:3] / 0.02)
    np.testing.assert_allclose(threshold.steady(v)[[0, 3]], make("kfm", 4).steady(v)[[0, 3]])


@pytest.mark.parametrize("name", sorted(FRICTIONS))
def test_no_steady_friction_acts_on_a_joint_that_stands(name):
    """The curve is odd about zero, and zero there."""
    assert float(make(name).steady(0.0)) == 0.0


def test_one_joint_takes_speeds_of_any_shape_and_several_take_one_each():
    """And each joint has parameters of its own where they are given."""
    assert make("kfm").steady(np.full((2, 3), 0.3)).shape == (2, 3)
    assert make("kfm").steady(0.3).shape == ()
    model = make("coulomb", 2, coulomb=[0.1, 0.4])
    np.testing.assert_allclose(model.steady([1.0, -1.0]), [0.1, -0.4])
    with pytest.raises(BadValue, match="at least 1"):
        make("kfm", 0)


def test_friction_is_read_from_text_one_number_or_one_per_joint():
    """As on the command line; what is no number is named."""
    found = read_parameters("coulomb = 0.5 0.4; viscous=0.1;")
    assert set(found) == {"coulomb", "viscous"} and np.ndim(found["viscous"]) == 0
    assert found["coulomb"].tolist() == [0.5, 0.4] and float(found["viscous"]) == 0.1
    for text in ("coulomb", "coulomb=", "coulomb=much"):
        with pytest.raises(BadValue, match="name=value"):
            read_parameters(text)


def test_a_name_is_taken_once():
    """The same model may be registered again, another one under its name may not."""
    assert register(FRICTIONS["kfm"]) is FRICTIONS["kfm"]
    with pytest.raises(BadValue, match="'kfm' already exists"):
        register(type("Other", (FRICTIONS["coulomb"],), {"name": "kfm"}))

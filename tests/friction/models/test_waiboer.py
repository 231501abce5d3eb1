"""Gear friction: published values, power that is never given, and a smooth version for
controllers.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.errors import BadValue, UnknownName
from farhand.friction import GEAR_SETS, Gears, Waiboer, make
from farhand.parameters import assign
from farhand_lab.cooperative.robot import GEAR_TORQUES

speeds = st.lists(st.floats(-3.0, 3.0), min_size=6, max_size=6)


@pytest.mark.parametrize(("name", "speed", "torque"), GEAR_TORQUES)
def test_published_torques_are_met(name: str, speed: float, torque) -> None:
    """All joints at the same speed."""
    np.testing.assert_allclose(Gears(set=name).steady(np.full(6, speed)), torque, atol=0.01)


@pytest.mark.parametrize("name", GEAR_SETS)
@given(v=speeds)
def test_gears_never_drive_the_arm(name: str, v: list[float]) -> None:
    """In spite of negative terms at joint 6; and they are odd."""
    velocity = np.array(v)
    gears = Gears(set=name)
    assert float(gears.curve(velocity) @ velocity) >= -1e-9
    np.testing.assert_allclose(gears.curve(-velocity), -gears.curve(velocity))


@given(v=speeds)
def test_the_smooth_curve_is_the_curve_away_from_zero_and_never_more(v: list[float]) -> None:
    """A hyperbolic tangent is at most one in size, term by term."""
    gears, velocity = Gears(), np.array(v)
    u = gears.directions @ velocity
    smooth, plain = gears.smooth(velocity, 0.01), gears.curve(velocity)
    if (np.abs(u) > 0.2).all():
        np.testing.assert_allclose(smooth, plain, rtol=1e-9)
    assert (np.abs(smooth[:4]) <= np.abs(plain[:4]) + 1e-12).all()


def test_joint_six_drags_joint_five_along() -> None:
    """The shared gear turns with both: motion of joint 6 alone loads joint 5."""
    velocity = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    torque = Gears().curve(velocity)
    assert torque[4] > 0.0 and torque[5] > torque[4] - 1.0
    np.testing.assert_array_equal(torque[:4], 0.0)


@pytest.mark.parametrize("name", ["reduced", "akbas"])
def test_a_joint_at_rest_is_held_by_what_it_takes_to_start_it(name: str) -> None:
    """Joints 5 and 6 also by the gear that they share."""
    gears = Gears(set=name)
    starts = [gears.curve(1e-10 * axis) @ axis for axis in np.eye(6)]
    np.testing.assert_allclose(gears.hold[1], starts, rtol=1e-3)


def test_one_joint_is_a_model_like_the_others() -> None:
    """By name, with its dry part as what it holds."""
    model = make("waiboer", asperity=2.0)
    assert isinstance(model, Waiboer)
    assert model.step(np.zeros(1), 1e-3, np.array([1.5]))[0] == 1.5
    assert model.steady(1e-12) == pytest.approx(2.0, abs=1e-6)


def test_shares_and_sets_are_changed_by_path_and_checked() -> None:
    """A set that is not there, and another number of joints, are refused."""
    gears = Gears()
    assign({"gears": gears}, "gears.set", "akbas")
    assign({"gears": gears}, "gears.share", [1.0, 1.0, 1.0, 0.5, 1.0, 1.0, 1.0])
    assert gears.steady(np.full(6, 1e-12))[3] == pytest.approx(10.0, abs=1e-3)
    with pytest.raises(UnknownName, match="reduced"):
        Gears(set="oil")
    with pytest.raises(BadValue, match="6 joints"):
        Gears(joints=7)

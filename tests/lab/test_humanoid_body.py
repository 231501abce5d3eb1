"""Whole body: what the ground gives is what the body lacks."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.errors import BadValue, UnknownName
from farhand_lab.humanoid.body import (
    HEIGHTS,
    AnkleBand,
    ClimbCurve,
    StepClimb,
    StraightBand,
    WholeBody,
    WrappedBand,
    free_leg,
    planar_angles,
    planar_point,
    support_leg,
)


@pytest.fixture(scope="module")
def whole() -> WholeBody:
    """PHUA on its right foot."""
    return WholeBody()


def posture(whole: WholeBody, seed: int) -> np.ndarray:
    """Somewhere inside the joints' ranges."""
    limits = whole.robot.limits
    return np.random.default_rng(seed).uniform(
        0.5 * np.maximum(limits.lower[6:], -1.0), 0.5 * limits.upper[6:]
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_ground_carries_weight_and_acceleration(whole, seed):
    """Newton: ground force = m (g + acceleration of the centre of gravity), for any motion."""
    rng = np.random.default_rng(seed)
    load = whole.at(posture(whole, seed), rng.normal(0, 1, 27), rng.normal(0, 3, 27))
    np.testing.assert_allclose(
        load.ground[:3], 5.964 * (load.cog_acceleration + [0, 0, 9.81]), atol=1e-9
    )


def test_at_rest_the_pressure_lies_under_the_centre_of_gravity(whole):
    """Without acceleration the two are above each other."""
    load = whole.at(posture(whole, 5))
    np.testing.assert_allclose(load.cop, load.cog[:2], atol=1e-9)


def test_the_welded_foot_stays(whole):
    """Flat on the ground in every posture."""
    import pinocchio as pin

    for seed in range(3):
        pin.framesForwardKinematics(
            whole.model, whole.data, whole.configuration(posture(whole, seed))
        )
        place = whole.data.oMf[whole.sole]
        np.testing.assert_allclose(place.translation, [0.0, -0.045, 0.0], atol=1e-12)
        np.testing.assert_allclose(place.rotation, np.eye(3), atol=1e-12)


def test_holding_torques_are_the_slope_of_the_potential_energy(whole):
    """Virtual work, joint by joint."""
    q, h = posture(whole, 1), 1e-6
    slope = [
        float(whole.at(q + h * e).energy - whole.at(q - h * e).energy) / (2 * h)
        for e in np.eye(len(q))
    ]
    np.testing.assert_allclose(whole.at(q).torque, slope, atol=1e-7)


def test_bands_take_from_the_motors_what_their_energy_says():
    """The motor gives what is left; every band's torque is the slope of its energy."""
    banded = WholeBody(bands={"right_knee": WrappedBand()})
    q = StepClimb().on(banded)(4.0)[0]
    load, knee = banded.at(q), banded.index("right_knee")
    assert abs(load.motor[knee]) < abs(load.torque[knee])
    for band in (WrappedBand(), StraightBand(), AnkleBand()):
        for angle in (0.1, 0.8, 1.5):
            slope = (band.energy(angle + 1e-6) - band.energy(angle - 1e-6)) / 2e-6
            assert abs(band.torque(angle) - slope) < 1e-6


def test_unknown_names_list_those_there_are(whole):
    """Feet and joints."""
    with pytest.raises(UnknownName, match="available: left, right"):
        WholeBody(support="third")
    with pytest.raises(UnknownName, match="unknown joint 'tail'"):
        whole.index("tail")


def test_planar_legs_reach_where_they_are_sent():
    """Support leg up to the hip, free leg down to the ankle, and back by forward kinematics."""
    up = support_leg(-0.02, 0.262)
    x, z, _ = planar_point(np.pi / 2 - up.ankle, up.knee, 0.0, 0.139, 0.143)
    np.testing.assert_allclose([x, z], [-0.02, 0.262], atol=1e-12)
    # sources/humanoid E-14
    assert np.degrees([up.ankle, up.knee]) == pytest.approx([17.2, 42.6], abs=0.1)
    down = free_leg(0.07, -0.2)
    assert down.hip - down.knee + down.ankle == pytest.approx(0.0, abs=1e-12)  # the foot is flat
    with pytest.raises(BadValue, match="out of reach"):
        planar_angles(0.3, 0.0, 0.0, 0.139, 0.143)


def test_the_highest_step_needs_the_published_angles():
    """Knee 126° when lifted, hip 102° when swung, for 125 mm (sources/humanoid E-14)."""
    _, _, lifted, swung, _ = (free for _, free in StepClimb(HEIGHTS[-1]).poses())
    assert np.degrees([lifted.knee, swung.hip]) == pytest.approx([126.0, 102.0], abs=0.5)


def test_a_curve_rests_at_its_postures():
    """And before and after."""
    curve = ClimbCurve([np.zeros(2), np.ones(2)], [0.0, 2.0])
    for t in (-1.0, 0.0, 2.0, 9.0):
        q, v, a = curve(t)
        np.testing.assert_allclose([*v, *a], 0.0, atol=1e-12)
        np.testing.assert_allclose(q, 0.0 if t <= 0 else 1.0, atol=1e-12)
    with pytest.raises(BadValue, match="1 postures do not go with 2 times"):
        ClimbCurve([np.zeros(2)], [0.0, 1.0])

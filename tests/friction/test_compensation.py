"""Friction compensation: helps, never drives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farhand.errors import BadValue
from farhand.friction import make
from farhand.friction.compensation import FrictionCompensation
from farhand.parameters import assign
from farhand.plants.simulated.one_joint import WHEEL_TICK, DriveFaults, OneJoint

DT = 1e-3


@pytest.mark.parametrize("gain", [0.91, 1.0, 1.2])
def test_more_than_nine_tenths_must_be_asked_for(gain):
    """Over-compensation is a decision, not a slip."""
    with pytest.raises(BadValue, match="over=true"):
        FrictionCompensation(make("kfm"), gain=gain)
    assert FrictionCompensation(make("kfm"), gain=gain, over=True).gain == gain


def test_a_gain_set_later_is_guarded_as_well():
    """The guard stands where parameters are assigned, and a refusal changes nothing."""
    part = FrictionCompensation(make("kfm"))
    with pytest.raises(BadValue, match=r"above 0\.9"):
        assign({"compensation": part}, "compensation.gain", "1.0")
    assert part.gain == 0.9


@given(v=st.floats(-10.0, 10.0))
@settings(max_examples=100, deadline=None)
def test_the_torque_is_odd_smooth_and_below_the_friction(v):
    """A straight line through zero, and never more than its share of the curve."""
    part = FrictionCompensation(make("kfm"))
    force, mirrored = part.torque(np.array([v])), part.torque(np.array([-v]))
    np.testing.assert_allclose(force, -mirrored, atol=1e-15)
    assert abs(force[0]) <= 0.9 * 0.3
    step = abs(part.torque(np.array([v + 1e-6]))[0] - force[0])
    assert step <= 1e-6 * (0.9 * 0.09 / 0.02 + 1.0)


@given(push=st.floats(-0.3, 0.3))
@settings(max_examples=30, deadline=None)
def test_at_rest_help_stays_below_the_least_friction(push):
    """What holds the joint exceeds what is added, whatever is asked for."""
    part = FrictionCompensation(make("kfm"))
    added = part.measured(np.zeros(1), DT, np.array([push]))[0]
    assert abs(added) <= 0.9 * 0.0481
    assert added * push >= 0.0


def test_a_joint_that_rolls_gets_its_share_of_the_friction_whatever_is_commanded():
    """The command is amplified at rest only: in motion that would drive the joint."""
    part = FrictionCompensation(make("kfm"))
    for tick in range(500):
        added = part.measured(np.array([1e-3 * tick]), DT, np.array([0.3]))
    np.testing.assert_allclose(added, 0.9 * make("kfm").steady(np.ones(1)), rtol=1e-3)


@pytest.mark.parametrize("wrong", [0.7, 1.0, 1.1])
@pytest.mark.parametrize("start", [0.02, 0.3])
def test_a_compensated_joint_comes_to_rest_and_stays(wrong, start):
    """No limit cycle: after two seconds of holding, nothing moves by a tick, even if the model is
    too high.
    """
    model = {"coulomb": 0.03718 * wrong, "breakaway": 0.08976 * wrong, "viscous": 0.01898 * wrong}
    joint = OneJoint(make("lugre"), faults=DriveFaults(encoder_step=WHEEL_TICK))
    joint.position[:] = start
    part, positions = FrictionCompensation(make("kfm", **model)), []
    for _ in range(4000):
        asked = (
            -2.0 * joint.measured_position - 0.15 * part.filter.velocity
            if len(positions)
            else np.zeros(1)
        )
        joint.step(asked + part.measured(joint.measured_position, DT, asked))
        positions.append(joint.position[0])
    assert np.ptp(positions[2000:]) < WHEEL_TICK


def test_compensation_helps_a_joint_over_its_stiction():
    """A torque below stiction moves the joint only with help."""
    travelled = []
    for gain in (0.0, 0.9):
        joint = OneJoint(make("lugre"))
        part = FrictionCompensation(make("kfm"), gain=gain)
        for _ in range(1000):
            joint.step(0.06 + part.measured(joint.measured_position, DT, np.array([0.06])))
        travelled.append(float(joint.position[0]))
    assert travelled[0] < 2e-3
    assert travelled[1] > 0.5


def test_a_reference_velocity_gets_its_share_of_the_curve_and_a_line_through_zero():
    """α |F(max(|v|, v0))| clip(v/v0, ±1), with the curve of each direction."""
    model = make("youbot-wheel-1")
    part = FrictionCompensation(model, gain=0.8, speed=0.05)
    for v in (-4.0, -0.051, -0.02, 0.0, 0.01, 0.049, 0.3, 5.0):
        lifted = np.copysign(max(abs(v), 0.05), v)
        expected = 0.8 * abs(float(model.steady(lifted))) * np.clip(v / 0.05, -1.0, 1.0)
        assert part.torque(np.array([v]))[0] == pytest.approx(expected, abs=4e-6)


def moved(part: FrictionCompensation, speed: float, commanded: float | None) -> float:
    """What is added once the encoder has long turned at this speed, [N·m]."""
    push = None if commanded is None else np.array([commanded])
    for k in range(400):
        added = part.measured(np.array([speed * DT * k]), DT, push)
    return float(added[0])


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_a_measured_velocity_counts_from_its_rest_speed_to_twice_that(way):
    """α (s |F| + (1 − |s|) clip(h τ, ±F_least)): the command below, the curve above, both
    between.
    """
    curve = make("kfm")
    least = np.abs(curve.steady(np.geomspace(0.02, 10.0, 200))).min()
    for speed, share in ((0.01, 0.0), (0.02, 0.0), (0.03, 0.5), (0.04, 1.0), (0.5, 1.0)):
        for push in (0.001, 0.5, -0.5, None):
            part = FrictionCompensation(make("kfm"), gain=0.7, help=3.0, rest=0.02)
            helped = 0.0 if push is None else np.clip(3.0 * push, -least, least)
            expected = 0.7 * (share * float(curve.steady(way * speed)) + (1.0 - share) * helped)
            assert moved(part, way * speed, push) == pytest.approx(expected, rel=1e-3, abs=1e-6)


def test_help_at_rest_has_the_least_friction_of_its_own_direction():
    """A curve that differs each way, up to 10 rad/s or twice the speed of the line."""
    curve = make("youbot-wheel-3")
    for way, speed in ((1.0, 0.02), (-1.0, 0.02), (1.0, 3.0), (-1.0, 3.0)):
        part = FrictionCompensation(make("youbot-wheel-3"), speed=speed)
        grid = np.geomspace(speed, 10.0, 200)
        least = np.abs(curve.steady(way * grid)).min()
        assert moved(part, 0.0, way * 9.0) == pytest.approx(way * 0.9 * least)
    quick = FrictionCompensation(make("coulomb-viscous", coulomb=0.1, viscous=1.0), speed=9.0)
    assert moved(quick, 0.0, 1e3) == pytest.approx(0.9 * 9.1)


def test_without_a_rest_speed_the_encoder_is_a_reference():
    """The straight line through zero, and a reset forgets the way so far."""
    part = FrictionCompensation(make("kfm"), rest=0.0)
    assert moved(part, 0.01, 5.0) == pytest.approx(part.torque(np.array([0.01]))[0], rel=1e-6)
    part.reset()
    assert part.measured(np.array([7.0]), DT)[0] == 0.0

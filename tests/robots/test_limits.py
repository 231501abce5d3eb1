"""Limits: those that mean nothing are refused by the joint's name, never taken for none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from farhand.errors import BadValue
from farhand.robots import load_robot
from tests.robots.own_files import CHAIN, URDF, refusal, write

SLIDE = CHAIN.replace('name="j2"', 'name="j2" type="slide"')


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('range="-1 2"', 'range="2 -1"', "range of joint j2 is [2, -1]"),
        ('range="-1 2"', 'range="1 1"', "range of joint j2 is [1, 1]"),
        ('range="-1 2"', 'range="nan 1"', "range of joint j2 is [nan, 1]"),
        (
            'range="-1 2"',
            'range="-1 2" actuatorfrcrange="3 -3"',
            "actfrcrange of joint j2 is [3, -3]",
        ),
        ('forcerange="-7 7"', 'forcerange="7 -7"', "forcerange of actuator servo is [7, -7]"),
        ('ctrlrange="-3 3"', 'ctrlrange="-3 nan"', "ctrlrange of actuator (unnamed) is [-3, nan]"),
        ('gear="2"', 'gear="0"', "torque limit of joint j1 is 0 N·m"),
    ],
)
def test_a_range_in_mjcf_that_does_not_rise_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, words: str
) -> None:
    """MuJoCo takes it for no range, without a word."""
    monkeypatch.chdir(tmp_path)  # MuJoCo writes a log about NaN
    assert CHAIN.count(old) == 1
    error = refusal(write(tmp_path, CHAIN.replace(old, new)))
    assert isinstance(error, BadValue)
    assert words in str(error)


def test_a_range_that_is_switched_off_may_be_anything(tmp_path: Path) -> None:
    """A class of joints may have a range that one of them does not use."""
    text = CHAIN.replace('range="-1 2"', 'limited="false" range="2 -1"')
    assert np.isinf(load_robot(write(tmp_path, text)).limits.upper).all()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('lower="-1" upper="2"', 'lower="2" upper="-1"', "range of joint swing is [2, -1]"),
        ('lower="-1" upper="2"', 'lower="nan" upper="2"', "range of joint swing is [nan, 2]"),
        ('lower="-1" upper="2"', 'lower="0" upper="0"', "range of joint swing is [0, 0]"),
        ('velocity="3"', 'velocity="0"', "velocity limit of joint swing is 0 rad/s"),
        ('velocity="3"', 'velocity="-3"', "velocity limit of joint swing is -3 rad/s"),
        ('velocity="3"', 'velocity="nan"', "velocity limit of joint swing is nan rad/s"),
        ('effort="5"', 'effort="0"', "torque limit of joint swing is 0 N·m"),
        ('effort="5"', 'effort="-5"', "torque limit of joint swing is -5 N·m"),
        ('effort="5"', 'effort="nan"', "torque limit of joint swing is nan N·m"),
    ],
)
def test_a_limit_in_urdf_that_means_nothing_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, words: str
) -> None:
    """An exporter's zeros too: neither an immovable nor an unlimited joint can be meant."""
    monkeypatch.chdir(tmp_path)
    error = refusal(write(tmp_path, URDF.replace(old, new), name="pendulum.urdf"))
    assert isinstance(error, BadValue)
    assert words in str(error)


def test_a_toml_can_stand_in_for_an_exporters_zeros(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A vendor's file need not be changed."""
    monkeypatch.chdir(tmp_path)
    zeros = URDF.replace(
        'lower="-1" upper="2" effort="5" velocity="3"',
        'lower="0" upper="0" effort="0" velocity="0"',
    )
    toml = "limits = { lower = [-1.5], upper = [1.5], velocity = [2.0], torque = [inf] }"
    limits = load_robot(write(tmp_path, zeros, toml, name="pendulum.urdf")).limits
    found = [limits.lower[0], limits.upper[0], limits.velocity[0], limits.torque[0]]
    assert found == [-1.5, 1.5, 2.0, np.inf]


def test_limits_that_are_left_out_are_none(tmp_path: Path) -> None:
    """Silence is not a wrong value."""
    limit = '<limit lower="-1" upper="2" effort="5" velocity="3"/>'
    limits = load_robot(write(tmp_path, URDF.replace(limit, ""), name="pendulum.urdf")).limits
    assert np.isinf([limits.lower, limits.upper, limits.velocity, limits.torque]).all()


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        (
            "limits = { lower = [-1, 1], upper = [1, -1] }",
            "joint j2: lower = 1 must be below upper = -1 m",
        ),
        ("limits = { upper = [1, -1] }", "joint j2: lower = -1 must be below upper = -1 m"),
        ("limits = { lower = [inf, 0] }", "joint j1: lower = inf"),
        ("limits.velocity = [1, 0]", "velocity limit of joint j2 is 0 m/s"),
        ("limits.velocity = [-1, 1]", "velocity limit of joint j1 is -1 rad/s"),
        ("limits.torque = [1, -2]", "torque limit of joint j2 is -2 N:"),
        ("limits.torque = [0, 1]", "torque limit of joint j1 is 0 N·m"),
        ("payload = -1", "payload must be ≥ 0, not -1"),
        ("rates.bus = 0", "rates.bus must be > 0, not 0"),
        ("rates.bus = -50", "rates.bus must be > 0, not -50"),
    ],
)
def test_a_limit_in_toml_that_means_nothing_is_refused(
    tmp_path: Path, toml: str, words: str
) -> None:
    """Each with the joint, the value in its unit, and what would be right."""
    error = refusal(write(tmp_path, SLIDE, toml))
    assert isinstance(error, BadValue)
    assert words in str(error) and "mine.toml" in str(error)


def test_a_joint_that_nothing_drives_may_have_no_effort(tmp_path: Path) -> None:
    """A passive joint's largest torque is zero."""
    toml = "actuated = [true, false]\nlimits.torque = [1, 0]"
    assert load_robot(write(tmp_path, toml=toml)).limits.torque[1] == 0


def test_limits_know_the_units_of_each_joint(tmp_path: Path) -> None:
    """A slide is in metres and newtons, and so is the first half of a free joint."""
    limits = load_robot(write(tmp_path, SLIDE)).limits
    assert [limits.units(dof) for dof in (0, 1)] == [("rad", "rad/s", "N·m"), ("m", "m/s", "N")]
    assert load_robot("phua").limits.slides == {0, 1, 2}

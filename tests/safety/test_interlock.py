"""Overheat stop: latches, and is reset only when cool."""

from __future__ import annotations

import math

import pytest

from farhand.errors import BadValue
from farhand.safety.watches import OverheatStop


def test_the_limit_itself_is_allowed_and_above_it_is_not():
    """120 °C as published."""
    stop = OverheatStop()
    assert stop.check(120.0, False, 0)
    assert not stop.check(120.1, False, 7)
    assert stop.trip is not None and stop.trip.time_ns == 7 and "120.1" in stop.trip.reason


def test_a_cooled_sensor_needs_a_reset_and_a_hot_one_refuses_it():
    """With a margin."""
    stop = OverheatStop()
    stop.check(130.0, False, 0)
    with pytest.raises(BadValue, match="130"):
        stop.reset()
    assert not stop.check(115.0, False, 1)
    with pytest.raises(BadValue):
        stop.reset()
    assert not stop.check(30.0, False, 2)
    stop.reset()
    assert stop.check(30.0, False, 3)


@pytest.mark.parametrize(
    ("temperature", "flag", "kind"), [(None, True, "overheat"), (math.nan, False, "invalid")]
)
def test_the_flag_and_a_broken_thermometer_stop_too(temperature, flag, kind):
    """And cannot be reset while they last."""
    stop = OverheatStop()
    assert not stop.check(temperature, flag, 0)
    assert stop.trip is not None and stop.trip.kind == kind
    with pytest.raises(BadValue):
        stop.reset()


def test_no_thermometer_is_no_trip():
    """The flag alone then guards."""
    assert OverheatStop().check(None, False, 0)


def test_a_flag_that_goes_down_without_a_thermometer_can_be_reset():
    """Nothing else is known of the heat; the refusal before names the flag."""
    stop = OverheatStop()
    stop.check(None, True, 0)
    with pytest.raises(BadValue, match="its own flag is up"):
        stop.reset()
    assert not stop.check(None, False, 1)
    stop.reset()
    assert stop.check(None, False, 2)


def test_a_reset_without_a_trip_is_no_fault_however_warm_it_is():
    """115 °C are below the limit, and above what a reset after a trip needs."""
    stop = OverheatStop()
    assert stop.check(115.0, False, 0)
    stop.reset()
    assert stop.trip is None

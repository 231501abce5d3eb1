"""Imperfect sensor: without faults it is the plain sensor, and each fault has the published
size.
"""

from __future__ import annotations

import numpy as np
import pytest

from farhand.sensing import ForceSensor, load_sensor
from farhand.sensing.simulated import OVERHEAT, ImperfectSensor, SensorFaults

FTM = load_sensor("schunk-ftm115")
NONE = {"biased": False, "loaded": False, "noisy": False, "shaken": False, "warming": False}


def sensor(**faults: object) -> ImperfectSensor:
    """A sensor with the faults given and no others."""
    return ImperfectSensor(FTM, SensorFaults(**{**NONE, **faults}), rng=np.random.default_rng(5))


def readings(of: ImperfectSensor, n: int) -> np.ndarray:
    """Wrenches of an untouched, level sensor."""
    return np.array([of.read(np.zeros(6), np.eye(3)) for _ in range(n)]) * FTM.resolution


def test_without_faults_it_is_the_plain_sensor():
    """Count for count."""
    wrench, turn = (
        np.array([5.0, -3.0, 2.0, 0.1, 0.2, -0.3]),
        np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]]),
    )
    plain = ForceSensor(FTM.silent())
    np.testing.assert_array_equal(sensor().read(wrench, turn), plain.read(wrench, turn))


def test_at_rest_the_noise_is_the_published_one():
    """Table 3.1 and the rounding to counts, within 10 %, all six axes."""
    seen = readings(sensor(noisy=True), 8000)
    np.testing.assert_allclose(seen.std(axis=0), np.sqrt(FTM.variance), rtol=0.1)


def test_full_acceleration_shakes_it_as_published():
    """Table 3.1, dynamic."""
    shaken = sensor(noisy=True, shaken=True)
    shaken.acceleration = 1.0
    np.testing.assert_allclose(
        readings(shaken, 8000).std(axis=0), shaken.faults.noise_shaken, rtol=0.1
    )


def test_the_zero_goes_with_the_temperature():
    """Half a time constant into warming from 21 to 45 °C."""
    warm = sensor(warming=True, heating=10.0)
    seen = readings(warm, 2500)[-1] - readings(sensor(), 1)[0]
    rise = 24.0 * (1.0 - np.exp(-0.5))
    assert warm.temperature == pytest.approx(21.0 + rise, abs=0.01)
    np.testing.assert_allclose(seen, rise * warm.faults.slope, atol=0.06)


def test_the_thermometer_is_slow_and_in_steps():
    """A new value every 0.75 s, in sixteenths of a degree."""
    warm = sensor(warming=True, heating=10.0)
    values = []
    for _ in range(1000):
        warm.read(np.zeros(6), np.eye(3))
        values.append(warm.reading)
    assert len(set(values)) == 3
    assert all((16.0 * value).is_integer() for value in values)


def test_its_own_flag_comes_up_when_it_is_too_hot():
    """At 120 °C."""
    hot = sensor(warming=True, final=200.0, heating=0.5)
    assert not hot.hot
    readings(hot, 500)
    assert hot.temperature > OVERHEAT and hot.hot


def test_noise_is_drawn_in_blocks_without_a_repeat_and_anew_when_its_band_changes():
    """Rows of one block in order, then of the next."""
    one = sensor(noisy=True)
    rows = np.array([one._draw().copy() for _ in range(2 * 2048 + 1)])
    assert len(np.unique(rows[:, 0])) == len(rows)
    one.faults.noise_lowest = 50.0
    assert not (rows == one._draw()).any() and one._row == 1


def test_the_tool_bias_and_shaking_are_switched_one_by_one():
    """Shaken is never quieter than still; a tool that is off weighs nothing."""
    faults = SensorFaults(noise_shaken=np.zeros(6))
    np.testing.assert_array_equal(faults.noise.dynamic, faults.noise_still)
    assert not SensorFaults(noisy=False).noise.static.any()
    assert SensorFaults(noisy=False).noise.dynamic.any()
    assert not SensorFaults(noisy=False, shaken=False).noise.dynamic.any()
    loaded, bare = (readings(sensor(loaded=loaded), 1)[0] for loaded in (True, False))
    assert loaded[2] - bare[2] == pytest.approx(-1.1213 * 9.81, abs=2.0 * FTM.resolution[2])
    biased = readings(sensor(biased=True), 1)[0] - bare
    np.testing.assert_allclose(biased, sensor().faults.bias, atol=2.0 * FTM.resolution.max())

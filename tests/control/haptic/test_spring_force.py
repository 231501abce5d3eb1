"""Force by virtual springs: right at rest, off by v T / Δx in motion; and the direct mode."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from farhand.control.haptic.impedance import (
    CartesianImpedance,
    DirectRendering,
    SpringForce,
    device_axes,
)
from farhand.parameters import assign
from farhand.spatial import rotation_from_vector


@given(
    wanted=arrays(float, 6, elements=st.floats(-25.0, 25.0)),
    turn=arrays(float, 3, elements=st.floats(-1.0, 1.0)),
)
def test_at_rest_the_hand_feels_the_wanted_force_wherever_it_is(wanted, turn):
    """Forces and the turn of one axis at a time; turns about several axes do not add exactly."""
    wanted[4:] = 0.0
    impedance, rotation = CartesianImpedance(), rotation_from_vector(turn)
    SpringForce().update(impedance, turn, rotation, wanted)
    np.testing.assert_allclose(impedance.wrench(turn, rotation, np.zeros(6)), wanted, atol=1e-6)


def test_no_force_leaves_the_hand_free():
    """No stiffness on any axis."""
    assert not SpringForce().springs(np.zeros(6)).stiffness.any()


def test_the_devices_largest_stiffness_bounds_the_force():
    """5000 N/m over 10 mm are 50 N."""
    offset, stiffness = SpringForce().springs(np.array([80.0, -80.0, 0.0, 40.0, 0.0, 0.0]))
    np.testing.assert_allclose(offset * stiffness, [50.0, -50.0, 0.0, 30.0, 0.0, 0.0])


@pytest.mark.parametrize("speed", [-0.25, 0.1])
@pytest.mark.parametrize("rate", [350.0, 150.0])
def test_a_moving_hand_feels_an_error_of_speed_times_period_over_length(speed, rate):
    """Too much against the force, too little along it; a delay adds its own share."""
    t = np.arange(0.0, 0.5, 1e-5)
    moved, wanted = np.outer(speed * t, np.eye(6)[0]), np.tile(10.0 * np.eye(6)[0], (len(t), 1))
    off = SpringForce().along(t, moved, wanted, 1.0 / rate)[:, 0] / 10.0 - 1.0
    assert off[np.argmax(np.abs(off))] == pytest.approx(-speed / rate / 0.010, rel=0.02)
    late = SpringForce().along(t, moved, wanted, 1.0 / rate, 0.02)[t > 0.1, 0] / 10.0 - 1.0
    assert late[np.argmax(np.abs(late))] == pytest.approx(
        -speed * (1.0 / rate + 0.02) / 0.010, rel=0.02
    )


@pytest.mark.parametrize("rate", [350.0, 150.0, 1000.0])
def test_at_the_very_times_of_its_updates_the_force_is_right_in_motion_too(rate):
    """A delay of one period makes it off by one period's way; rounding of the times makes none."""
    t = np.arange(300) / rate
    moved, wanted = np.outer(0.1 * t, np.eye(6)[0]), np.tile(10.0 * np.eye(6)[0], (len(t), 1))
    felt = SpringForce().along(t, moved, wanted, 1.0 / rate)[:, 0]
    np.testing.assert_allclose(felt, 10.0, rtol=1e-9)
    late = SpringForce().along(t, moved, wanted, 1.0 / rate, 1.0 / rate)[2:, 0]
    np.testing.assert_allclose(late, 10.0 * (1.0 - 0.1 / rate / 0.010), rtol=1e-6)


def test_the_devices_angles_turn_about_z_y_x():
    """1 N·m about x is the device's C; the same function leads back."""
    assert device_axes(np.eye(6)[3]).tolist() == [0, 0, 0, 0, 0, 1]
    np.testing.assert_array_equal(device_axes(device_axes(np.arange(6.0))), np.arange(6.0))


def test_a_shorter_spring_is_stiffer():
    """Set while running, it counts at once."""
    law = SpringForce()
    assign(law, "length", 0.005)
    assert law.springs(np.full(6, 10.0)).stiffness[0] == pytest.approx(2000.0)


def test_the_direct_mode_loses_its_force_at_every_change_and_only_then():
    """For the gap, then the new force is there."""
    direct, dt = DirectRendering(gap=0.003), 0.001
    force = np.full(6, 16.0)
    first = [direct.step(force, dt)[0] for _ in range(6)]
    changed = [direct.step(force + 0.05, dt)[0] for _ in range(6)]
    assert first == [0.0, 0.0, 0.0, 16.0, 16.0, 16.0]
    assert changed == [0.0, 0.0, 0.0, 16.05, 16.05, 16.05]
    assert DirectRendering(gap=0.0).step(force, dt)[0] == 16.0

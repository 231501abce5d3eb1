"""Roots and coupled steps: the equation holds at the end, and the search is quick."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.friction import FRICTIONS, make
from farhand.friction.models.implicit import advance, bracketed, newton, secant


class Counted:
    """A function that counts its calls."""

    def __init__(self, function) -> None:
        self.function, self.calls = function, 0

    def __call__(self, x):
        self.calls += 1
        return self.function(x)


@pytest.mark.parametrize("name", sorted(FRICTIONS))
@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_a_step_ends_where_its_equation_says(name, dt):
    """J (v' − v)/dt = τ − F(v') with the state advanced at v', from any start, or at rest in
    hold.
    """
    if name == "bristle":
        pytest.skip("its torque depends on where its bristles take hold")
    v = np.array([0.0, 0.3, -0.002, 2.0, -0.05, 0.1])
    torque = np.array([0.5, -0.2, 0.03, 0.0, 0.06, -0.11])
    inertia = np.array([0.01, 0.002, 0.05, 0.01, 0.001, 0.3])
    model, twin = make(name, 6), make(name, 6)
    for _ in range(3):
        drive = torque + inertia * v / dt
        after, force = advance(model, v, dt, torque, inertia)
        np.testing.assert_allclose(inertia * (after - v) / dt, torque - force, atol=1e-9)
        own = twin.step(after, dt, drive)
        free = after != 0.0
        np.testing.assert_allclose(force[free], own[free], rtol=1e-4, atol=1e-5)
        if model.hold is not None:
            low, high = model.hold
            np.testing.assert_array_equal(~free, (drive >= low) & (drive <= high))
        np.testing.assert_allclose(model.state, twin.state)
        v = after


def test_a_joint_that_is_pushed_by_just_its_hold_stays_and_by_more_goes():
    """Each way, each joint for itself."""
    model = make("coulomb", 4, coulomb=0.1)
    torque = np.array([-0.101, -0.1, 0.1, 0.101])
    v, force = advance(model, np.zeros(4), 1e-3, torque, np.full(4, 0.01))
    np.testing.assert_allclose(v, np.array([-0.001, 0.0, 0.0, 0.001]) * 1e-3 / 0.01, atol=1e-12)
    np.testing.assert_allclose(force, [-0.1, -0.1, 0.1, 0.1])


def test_a_root_is_found_in_every_bracket_and_quickly():
    """Smooth, steep, kinked and with a jump; each element has its own."""
    power = np.array([1.0, 3.0, 5.0, 1.0, 1.0])
    root = np.array([0.3, -0.2, 0.7, 0.1, -0.45])

    def curve(x):
        gap = x - root
        bent = np.sign(gap) * np.abs(gap) ** power
        kink = np.where(gap > 0.0, 50.0 * gap, 0.1 * gap)
        jump = gap + np.where(gap < 0.0, -1.0, 1.0)
        return np.select([np.arange(5) < 3, np.arange(5) == 3], [bent, kink], jump)

    for sign in (1.0, -1.0):
        function = Counted(lambda x, sign=sign: sign * curve(x))
        found = bracketed(function, np.full(5, -1.0), np.full(5, 1.5))
        np.testing.assert_allclose(found[[0, 3, 4]], root[[0, 3, 4]], atol=1e-8)
        assert np.abs(curve(found)[:3]).max() < 1e-9
        assert function.calls <= 62
    line = Counted(lambda x: 3.0 * x - 0.6)
    assert bracketed(line, np.array([-1.0]), np.array([2.0]))[0] == pytest.approx(0.2, abs=1e-9)
    assert line.calls <= 4
    bent = Counted(lambda x: np.expm1(3.0 * x) - 1.0)
    found = bracketed(bent, np.array([0.0]), np.array([1.0]))[0]
    assert found == pytest.approx(np.log(2.0) / 3.0, abs=1e-9) and bent.calls <= 15


def test_without_a_change_of_sign_the_nearer_end_counts_and_a_root_at_an_end_is_it():
    """Above, below, and both ends exactly."""
    low, high = np.full(4, 1.0), np.full(4, 3.0)
    lift = np.array([1.0, -5.0, -1.0, -3.0])
    assert bracketed(lambda x: x + lift, low, high).tolist() == [1.0, 3.0, 1.0, 3.0]
    fall = bracketed(lambda x: lift - x, low, high)
    assert fall.tolist() == [1.0, 1.0, 1.0, 1.0]
    far = bracketed(lambda x: -x - np.array([5.0, -9.0]), low[:2], high[:2])
    assert far.tolist() == [1.0, 3.0]


def test_the_secant_is_exact_on_a_line_and_says_what_it_missed():
    """Slope near one in a few calls; a function without a root is reported by its value."""
    function = Counted(lambda x: 1.3 * x - np.array([0.5, 2.6]))
    found, value = secant(function, np.zeros(2), rounds=8)
    np.testing.assert_allclose(found, [0.5 / 1.3, 2.0], rtol=1e-9)
    np.testing.assert_allclose(value, 0.0, atol=1e-12)
    assert function.calls <= 4
    curved, left = secant(lambda x: x + 0.2 * x**3 - 1.0, np.array([0.2]), rounds=8)
    assert curved[0] + 0.2 * curved[0] ** 3 == pytest.approx(1.0, abs=1e-9)
    assert abs(left[0]) < 1e-9
    once, left = secant(lambda x: x + 0.2 * x**3 - 1.0, np.array([0.2]), rounds=1)
    assert left[0] == pytest.approx(once[0] + 0.2 * once[0] ** 3 - 1.0) and abs(left[0]) > 1e-4
    flat, left = secant(lambda x: np.ones_like(x), np.zeros(1), rounds=8)
    assert flat[0] == -1.0 and left[0] == 1.0


def test_newton_finds_the_root_of_a_rising_function_also_where_its_step_leaves_the_bracket():
    """A flat foot before a steep rise; a smooth one takes few calls."""
    steep = Counted(lambda x: (np.arctan(20.0 * (x - 0.7)), 20.0 / (1.0 + (20.0 * (x - 0.7)) ** 2)))
    assert newton(steep, np.array([-4.0]), np.array([5.0]))[0] == pytest.approx(0.7, abs=1e-9)
    square = Counted(lambda x: (x**2 - np.array([2.0, 4.0]), 2.0 * x))
    found = newton(square, np.array([0.5, 1.0]), np.array([4.0, 5.0]))
    np.testing.assert_allclose(found, [np.sqrt(2.0), 2.0], rtol=1e-9)
    assert square.calls <= 8 and steep.calls <= 60

"""Dead-man handle: let go it stops softly and holds, gripped it is free."""

from __future__ import annotations

import math

import numpy as np
import pytest

from farhand.control.haptic.impedance import CartesianImpedance
from farhand.safety.handle import DeadMan
from farhand.spatial import rotation_from_vector

DT = 1.0 / 350.0
ORIGIN = np.zeros(3)
MOVING = np.array([0.2, 0.0, 0.0, 0.0, 0.0, 0.5])


def step(
    guard: DeadMan,
    spring: CartesianImpedance,
    grip: float,
    twist=MOVING,
    n: int = 1,
    position=ORIGIN,
) -> bool:
    """So many steps, at the origin unless told otherwise."""
    for _ in range(n):
        enabled = guard.step(spring, grip, position, np.eye(3), twist, DT)
    return enabled


def test_nothing_moves_before_the_first_grip():
    """Held where it stands."""
    guard, spring = DeadMan(), CartesianImpedance()
    assert not step(guard, spring, 0.0, np.zeros(6))
    assert spring.stiffness.tolist() == [5000.0] * 3 + [300.0] * 3


def test_the_grip_has_hysteresis():
    """On above 2 N, off below 1 N; not a number is off."""
    guard, spring = DeadMan(), CartesianImpedance()
    answers = [step(guard, spring, grip) for grip in (1.5, 2.5, 1.5, 0.9, 1.5, 3.0, math.nan)]
    assert answers == [False, True, True, False, False, True, False]


def test_at_the_instant_of_release_spring_and_damper_are_slack():
    """Only the even deceleration of the mass is asked for."""
    guard, spring = DeadMan(), CartesianImpedance()
    step(guard, spring, 5.0, n=100)
    step(guard, spring, 0.0)
    force = spring.wrench(np.zeros(3), np.eye(3), MOVING)
    np.testing.assert_allclose(force, -np.repeat([4.0, 0.05], 3) * MOVING / 0.09, atol=1e-9)


def test_the_target_slows_down_evenly_then_holds_the_pose_reached():
    """It ends half of speed times time away; then it is where the leader is."""
    guard, spring = DeadMan(), CartesianImpedance()
    step(guard, spring, 5.0, n=100)
    step(guard, spring, 0.0, n=round(0.09 / DT))
    assert spring.position[0] == pytest.approx(0.5 * 0.2 * 0.09, rel=1e-3)
    reached = np.array([0.004, 0.0, 0.001])
    step(guard, spring, 0.0, n=2, position=reached)
    assert not spring.twist.any() and not spring.feedforward.any()
    np.testing.assert_array_equal(spring.position, reached)
    step(guard, spring, 0.0, n=100)
    np.testing.assert_array_equal(spring.position, reached)


def test_while_it_slows_down_the_target_moves_as_fast_as_it_says():
    """By differences: the damper brakes nothing but what is ahead of or behind the target."""
    guard, spring = DeadMan(), CartesianImpedance()
    step(guard, spring, 5.0, n=100)
    places, speeds = [], []
    for _ in range(round(0.09 / DT)):
        step(guard, spring, 0.0)
        places.append(spring.position[0])
        speeds.append(spring.twist[0])
    mean = 0.5 * (np.array(speeds)[1:] + np.array(speeds)[:-1])
    np.testing.assert_allclose(np.diff(places) / DT, mean, atol=1e-9)
    assert speeds[0] == pytest.approx(0.2) and (np.diff(speeds) < 0.0).all()


def test_gripped_again_while_it_slows_down_it_is_no_longer_braked():
    """The hand has the leader again, so the braking force ends at once."""
    guard, spring = DeadMan(), CartesianImpedance()
    step(guard, spring, 5.0, n=100)
    step(guard, spring, 0.0, n=5)
    assert spring.feedforward[0] < -5.0
    step(guard, spring, 5.0)
    assert not spring.feedforward.any()


def test_a_new_grip_fades_the_hold_and_then_leaves_the_springs_alone():
    """So that forces can be shown again."""
    guard, spring = DeadMan(), CartesianImpedance()
    step(guard, spring, 0.0, np.zeros(6), 50)
    sizes, held = [], np.concatenate([spring.stiffness, spring.damping])
    for k in range(30):
        assert step(guard, spring, 5.0, np.zeros(6))
        sizes.append(float(spring.stiffness[0]))
        left = max(1.0 - k * DT / 0.05, 0.0)
        now = np.concatenate([spring.stiffness, spring.damping])
        np.testing.assert_allclose(now, left * held, atol=1e-9)
    assert sizes[0] == 5000.0 and sizes == sorted(sizes, reverse=True) and sizes[-1] == 0.0
    assert max(-np.diff(sizes)) < 0.1 * 5000.0
    spring.stiffness = np.full(6, 7.0)
    step(guard, spring, 5.0)
    assert spring.stiffness.tolist() == [7.0] * 6


def test_let_go_while_it_turns_it_turns_on_and_stops_at_half_the_angle():
    """An even deceleration, about the axis of the turn and from the pose at release."""
    guard, spring = DeadMan(), CartesianImpedance()
    twist, begun = np.array([0.0, -0.3, 0.0, 0.0, 0.6, 0.0]), rotation_from_vector([0.3, 0.0, 0.0])
    place = np.array([0.4, -0.1, 0.2])
    for grip, count in ((5.0, 1), (0.0, 32)):
        for _ in range(count):
            guard.step(spring, grip, place, begun, twist, DT)
    share = 31 * DT / 0.09
    angle = 0.6 * 0.09 * (share - 0.5 * share**2)
    expected = rotation_from_vector([0.0, angle, 0.0]) @ begun
    np.testing.assert_allclose(spring.rotation, expected, atol=1e-9)
    np.testing.assert_allclose(spring.position, place - [0.0, 0.5 * angle, 0.0], atol=1e-9)

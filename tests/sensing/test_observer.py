"""The momentum observer: an arm without a force sensor feels a push, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.errors import BadValue
from farhand.robots import load_robot
from farhand.robots.edits import set_damping
from farhand.sensing import MomentumObserver

DT = 5e-4


def moved(
    arm: Arm, observer: MomentumObserver, push, seconds: float
) -> tuple[np.ndarray, np.ndarray]:
    """Estimated and true external torque of a moving arm that is pushed; the plant is the model."""
    q, v = np.array([0.3, -1.2, 1.4, -0.6, 0.9, 0.2]), np.array([0.2, -0.3, 0.4, 0.1, -0.2, 0.3])
    seen, true = [], []
    arm.update(q, v)
    for k in range(int(seconds / DT)):
        torque = arm.gravity + 2.0 * np.sin(3.0 * k * DT) * np.array([1.0, 1.0, 0.5, 0.2, 0.2, 0.1])
        external = arm.J.T @ push(k * DT)
        acceleration = np.linalg.solve(arm.M, torque + external - arm.bias - arm.viscous * v)
        v = v + DT * acceleration
        q = arm.integrate(q, DT * v)
        arm.update(q, v)
        seen.append(observer.update(torque, DT).copy())
        true.append(external)
    return np.array(seen), np.array(true)


@pytest.fixture(params=[0.0, 8.0], ids=["smooth", "viscous"])
def arm(request) -> Arm:
    """With and without viscous friction that the model knows, [N·m·s/rad]."""
    return Arm.of(load_robot("ur5e").edited(set_damping([request.param] * 6)))


def test_without_a_push_it_stays_quiet(arm):
    """Motion, gravity and Coriolis are in the model: next to nothing is left."""
    seen, _ = moved(arm, MomentumObserver(arm), lambda t: np.zeros(6), 1.0)
    assert np.abs(seen).max() < 0.05


def test_a_push_comes_out_after_the_observers_time_constant(arm):
    """20 N sideways at the tool from 0.3 s on: 63 % after 1/K, all of it soon after."""
    observer = MomentumObserver(arm, 50.0)
    push = np.array([0.0, 20.0, 0.0, 0.0, 0.0, 0.0])
    seen, true = moved(arm, observer, lambda t: push * (t >= 0.3), 0.6)
    np.testing.assert_allclose(seen[-1], arm.J.T @ push, atol=0.2)  # the arm moves during the lag
    after, joint = int(0.32 / DT), 0
    assert seen[after, joint] / true[after, joint] == pytest.approx(0.632, abs=0.05)
    observer.torque[:] = arm.J.T @ push
    np.testing.assert_allclose(observer.wrench(1e-6), push, atol=1e-3)


def test_a_reset_begins_anew_and_a_bad_gain_is_refused(arm):
    """No torque is carried over."""
    observer = MomentumObserver(arm)
    moved(arm, observer, lambda t: np.ones(6), 0.1)
    observer.reset()
    np.testing.assert_array_equal(observer.update(np.zeros(6), DT), np.zeros(6))
    with pytest.raises(BadValue, match="gain"):
        MomentumObserver(arm, 0.0)


def test_a_coarse_step_may_be_longer_than_the_time_constant(arm):
    """One reading of an arm at rest that is pushed: K dt/(1 + K dt) of the push, at any K dt."""
    arm.update(np.zeros(6), np.zeros(6))
    push = np.array([3.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    for gain in (10.0, 1000.0):
        observer = MomentumObserver(arm, gain)
        observer.update(arm.gravity, 0.02)
        # it stands still although its motors push against the hand
        seen = observer.update(arm.gravity - push, 0.02, coarse=True)
        np.testing.assert_allclose(seen, push * gain * 0.02 / (1.0 + gain * 0.02), atol=1e-9)

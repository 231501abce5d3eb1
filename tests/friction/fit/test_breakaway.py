"""Break-away tests against the joint's own equations, straight ramps and loops of known slope."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from farhand.errors import BadValue
from farhand.friction.fit.breakaway import (
    Bristles,
    dahl_loop,
    damping_rule,
    estimate_bristles,
    presliding_motion,
    torque_ramp,
)
from farhand.friction.models.lugre import LuGre

CURVE = {
    "coulomb": 0.04,
    "breakaway": 0.09,
    "stribeck_velocity": 0.15,
    "shape": 1.0,
    "viscous": 0.02,
}


def test_a_joint_before_sliding_moves_as_its_equations_say():
    """J v̇ = τ − F and ż of LuGre, by another integrator; each set of parameters for itself."""
    stiffness, damping, inertia, dt = np.array([250.0, 600.0]), np.array([0.1, 0.6]), 0.01, 3e-4
    joints = LuGre(joints=2, **CURVE, stiffness=stiffness, damping=damping)
    torque = np.repeat([0.03, 0.1, -0.02, -0.08, 0.0, 0.05, 0.12], 4)
    found = presliding_motion(torque, dt, inertia, joints)
    for k in range(2):
        state = np.zeros(3)
        for row, push in enumerate(torque):

            def rate(_, s, push=push, k=k):
                x, v, z = s
                level = 0.04 + 0.05 * np.exp(-abs(v) / 0.15)
                bend = v - stiffness[k] * abs(v) / level * z
                force = stiffness[k] * z + damping[k] * bend + 0.02 * v
                return [v, (push - force) / inertia, bend]

            state = solve_ivp(rate, (0.0, dt), state, rtol=1e-9, atol=1e-14).y[:, -1]
            assert found[row, k] == pytest.approx(state[0], rel=1e-4)


def test_a_ramp_is_read_at_its_first_change_or_at_the_way_asked_for():
    """Displacement counts from the start, each way; without sliding there is no break-away."""
    time = np.linspace(0.0, 1.0, 101)
    torque = -0.4 * time
    position = 0.7 + np.where(time > 0.305, -1e-3 * np.floor(time * 10.0), 0.0)
    first = torque_ramp(time, position, torque)
    assert (first.first, first.moved) == (pytest.approx(-0.124), pytest.approx(3e-3))
    assert first.stiffness == pytest.approx(-0.124 / 3e-3)
    later = torque_ramp(time, position, torque, moved=5e-3)
    assert later.first == pytest.approx(-0.2) and later.moved == pytest.approx(5e-3)
    assert np.isnan(later.breakaway)
    with pytest.raises(BadValue, match="never moves 0.02 rad"):
        torque_ramp(time, position, torque, moved=0.02)


def test_sliding_is_a_speed_that_lasts_for_five_samples():
    """Faster than 0.05 rad/s; four samples are a tick."""
    time = 0.1 * np.arange(60)
    torque = 0.01 * np.arange(60)
    v = np.zeros(60)
    v[10:14] = 0.08
    v[20:28] = 0.045
    v[40:] = 0.06
    position = np.cumsum(v) * 0.1
    found = torque_ramp(time, position, torque)
    assert found.breakaway == pytest.approx(0.4, abs=0.011)


def ellipse(slope: float, width: float, offset: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Four cycles of displacement and torque: each branch crosses its middle with this slope."""
    angle = np.linspace(0.0, 8.0 * np.pi, 4000, endpoint=False)
    torque = 0.1 * np.sin(angle)
    position = torque / slope - width * np.cos(angle)
    return position, torque + offset


def test_a_loop_has_the_slope_of_its_branches_at_their_middle():
    """Whatever its width and offset; the first cycle is left out."""
    for width, offset in ((0.0, 0.0), (1e-3, 0.0), (1e-3, 0.4)):
        position, torque = ellipse(200.0, width, offset)
        position[:1000] += np.linspace(0.02, 0.0, 1000)
        loop = dahl_loop(position, torque, 4)
        assert loop.stiffness == pytest.approx(200.0, rel=1e-3)
        travel = 2.0 * np.hypot(0.1 / 200.0, width)
        assert loop.travel == pytest.approx(travel, rel=1e-3)
        # |sin| ≤ 0.3: twice 2 asin(0.3) of each turn
        assert loop.central == pytest.approx(3000 * 4.0 * np.arcsin(0.3) / (2.0 * np.pi), abs=8)
    other = dahl_loop(position, 5.0 * torque, 4, against=torque)
    assert other.stiffness == pytest.approx(200.0, rel=1e-3)
    still = dahl_loop(np.zeros(4000), torque, 4)
    assert np.isnan(still.stiffness) and still.travel == 0.0


def test_both_branches_count_alike():
    """A rising slope of 100 and a falling one of 300 make 200, with noise in the displacement."""
    position, torque = ellipse(1.0, 0.0)
    rising = np.gradient(torque) > 0.0
    position = torque / np.where(rising, 100.0, 300.0)
    position += 1e-5 * np.random.default_rng(0).standard_normal(4000)
    assert dahl_loop(position, torque, 4).stiffness == pytest.approx(200.0, rel=0.01)


def test_a_result_is_reliable_if_it_explains_the_motion_and_both_are_determined():
    """5 % of the motion and 20 % of either."""
    assert Bristles(1.0, 1.0, (0.19, 0.1), 0.049).reliable
    assert not Bristles(1.0, 1.0, (0.19, 0.1), 0.051).reliable
    assert not Bristles(1.0, 1.0, (0.1, 0.21), 0.049).reliable
    assert not Bristles(1.0, 1.0, (0.21, 0.1), 0.01).reliable


def test_deviations_of_bristles_are_those_of_least_squares():
    """σ² (JᵀJ)⁻¹ in logarithms, by differences of the simulation itself; the start does not
    count.
    """
    rng, t, inertia = np.random.default_rng(0), 1e-3 * np.arange(250), 0.01
    torque = 0.035 * np.sin(2.0 * np.pi * 7.0 * t) + 0.03 * np.sin(2.0 * np.pi * 23.0 * t)

    def moved(logs: list[float]) -> np.ndarray:
        friction = LuGre(**CURVE, stiffness=np.exp(logs[0]), damping=np.exp(logs[1]))
        return presliding_motion(torque, 1e-3, inertia, friction)[:, 0]

    truth = np.log([400.0, 0.2])
    x = moved(list(truth))
    noise = 0.02 * x.std() * rng.standard_normal(len(x))
    noise[0] = 0.0
    found = estimate_bristles(torque, x + noise + 0.7, 1e-3, inertia, CURVE)
    assert found.stiffness == pytest.approx(400.0, rel=0.02)
    assert found.damping == pytest.approx(0.2, rel=0.05)
    assert found.residual == pytest.approx(0.02, rel=0.15)
    at = np.log([found.stiffness, found.damping])
    steps = 1e-4 * np.eye(2)
    J = np.column_stack([(moved(at + s) - moved(at - s)) / 2e-4 for s in steps])
    left = moved(at) - x - noise
    C = np.linalg.inv(J.T @ J) * np.mean(left**2)
    np.testing.assert_allclose(found.deviation, np.sqrt(np.diag(C)), rtol=0.02)


def test_the_usual_damping_grows_with_the_roots_of_inertia_and_stiffness():
    """0.2 √(J σ0), for one stiffness or many."""
    np.testing.assert_allclose(damping_rule(0.04, np.array([100.0, 400.0])), [0.4, 0.8])

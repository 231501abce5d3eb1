"""Models with springs against their own equations: Dahl, LuGre, Armstrong, and elements
that slip.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from farhand.friction import FRICTIONS, make

DT = 1e-3
CURVE = {
    "coulomb": 0.04,
    "breakaway": 0.09,
    "stribeck_velocity": 0.15,
    "shape": 1.2,
    "viscous": 0.02,
}


def level(speed: float) -> float:
    """g(v) of :data:`CURVE`, [N·m]."""
    return 0.04 + 0.05 * np.exp(-((abs(speed) / 0.15) ** 1.2))


@pytest.mark.parametrize("name", sorted(FRICTIONS))
def test_a_state_keeps_its_shape_and_a_model_without_one_stores_nothing(name):
    """As many states per joint after a step as before; energy per joint, never negative."""
    model = make(name, 3)
    before = model.state.shape
    model.step(np.array([0.2, -0.1, 0.3]), DT, np.zeros(3))
    assert model.state.shape == before and before[1] == 3
    assert model.stored.shape == (3,) and (model.stored >= 0.0).all()
    assert before[0] == model.order or model.order == 0


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.6])
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_dahl_solves_its_equation(alpha, way):
    """dF/dx = σ0 (1 − F sgn v/Fc)^α, from a spring that is bent the other way; F stays at rest."""
    model = make("dahl", coulomb=0.04, stiffness=200.0, exponent=alpha)
    model.state[0] = -0.02 * way
    force = model.step(np.array([way * 0.15]), DT)[0]
    x = 0.15 * DT

    def slope(_: float, F: np.ndarray) -> np.ndarray:
        return 200.0 * np.maximum(1.0 - F / 0.04, 0.0) ** alpha

    truth = solve_ivp(slope, (0.0, x), [-0.02], rtol=1e-9, atol=1e-12).y[0, -1]
    assert force == pytest.approx(way * truth, rel=1e-5)
    assert model.step(np.zeros(1), DT)[0] == force == model.state[0, 0]
    assert model.stored[0] == pytest.approx(0.5 * force**2 / 200.0)
    for _ in range(20):
        force = model.step(np.array([way * 1.0]), DT)[0]
    assert abs(force) <= 0.04 and force == pytest.approx(way * 0.04, rel=0.01)


@pytest.mark.parametrize("v", [0.05, 0.0, -0.3])
def test_lugre_solves_its_equation(v):
    """ż = v − σ0 |v|/g z, F = σ0 z + σ1 ż + σ2 v with the mean ż of the step."""
    model = make("lugre", **CURVE, stiffness=250.0, damping=0.127)
    model.state[0] = 1e-4
    force = model.step(np.array([v]), DT)[0]

    def bend(_: float, z: np.ndarray) -> np.ndarray:
        return v - 250.0 * abs(v) / level(v) * z

    after = solve_ivp(bend, (0.0, DT), [1e-4], rtol=1e-10, atol=1e-15).y[0, -1]
    assert model.state[0, 0] == pytest.approx(after, rel=1e-7)
    assert force == pytest.approx(250.0 * after + 0.127 * (after - 1e-4) / DT + 0.02 * v)
    assert model.stored[0] == pytest.approx(0.5 * 250.0 * after**2)


ARMSTRONG = {
    "coulomb": 0.04,
    "viscous": 0.02,
    "stribeck_velocity": 0.15,
    "breakaway": 0.09,
    "fresh_breakaway": 0.06,
    "dwell": 0.5,
    "stiffness": 250.0,
}


def test_armstrong_is_a_spring_first_and_then_the_lagged_curve():
    """After a long rest; the speed that counts is behind by the lag."""
    model, v, x = make("armstrong", **ARMSTRONG, lag=0.02), 0.1, 0.0
    for k in range(40):
        force, x = model.step(np.array([-v]), DT)[0], x + v * DT
        lagged = v * (1.0 - np.exp(-(k + 1) * DT / 0.02))
        most = 0.04 + 0.05 / (1.0 + (lagged / 0.15) ** 2)
        assert force == pytest.approx(-min(250.0 * x, most) - 0.02 * v, rel=1e-6)
        assert model.stored[0] == pytest.approx(min(250.0 * x, most) ** 2 / 500.0, rel=1e-6)
    assert model.steady(-v) == pytest.approx(-0.04 - 0.05 / (1.0 + (v / 0.15) ** 2) - 0.02 * v)


@pytest.mark.parametrize("rest", [0.05, 0.5, 4.0])
def test_stiction_grows_with_the_time_at_rest(rest):
    """F_s = F_s0 + (F_s∞ − F_s0) t/(t + γ): half of the growth after γ; sliding does not
    change it.
    """
    model, v = make("armstrong", **ARMSTRONG, lag=0.0), 0.01
    for way in [1.0] * 100 + [-1.0] * 26:  # slide, then unload the spring
        model.step(np.array([way * v]), DT)
    bent, elapsed = model.state[0, 0], model.state[2, 0] + rest
    assert abs(bent) < 2e-5 and 0.0 < model.state[2, 0] < 0.027
    model.step(np.zeros(1), rest)
    while True:
        bent -= v * DT
        force = model.step(np.array([-v]), DT)[0]
        if force > -250.0 * abs(bent) - 0.02 * v + 1e-9 and bent < 0.0:
            break
        elapsed += DT
    grown = 0.06 + 0.03 * elapsed / (elapsed + 0.5)
    expected = -0.04 - (grown - 0.04) / (1.0 + (v / 0.15) ** 2) - 0.02 * v
    assert force == pytest.approx(expected, rel=1e-6)
    assert model.step(np.array([-v]), DT)[0] == pytest.approx(expected, rel=1e-6)


SHARES = {"level_shares": (0.2, 0.3, 0.5), "stiffness_shares": (0.6, 0.3, 0.1)}
LEVELS, SPRINGS = np.array(SHARES["level_shares"]), 250.0 * np.array(SHARES["stiffness_shares"])


def test_elements_of_maxwell_slip_stretch_and_slide():
    """F_i ← clip(F_i + k_i v dt, ±W_i), whichever way it goes."""
    model, torques = make("maxwell-slip", coulomb=0.04, stiffness=250.0, **SHARES), np.zeros(3)
    for v in (0.1, 0.2, 0.3, -0.1, -0.5, 0.05, 0.0):
        torques = np.clip(torques + SPRINGS * v * DT, -0.04 * LEVELS, 0.04 * LEVELS)
        assert model.step(np.array([v]), DT)[0] == pytest.approx(torques.sum())
        assert model.stored[0] == pytest.approx(0.5 * np.sum(torques**2 / SPRINGS))


@pytest.mark.parametrize("v", [0.02, 0.2, -0.3])
@pytest.mark.parametrize("bent", [-1e-4, 0.0, 2e-4])
def test_leuven_solves_its_implicit_step(v, bent):
    """ż = v (1 − sgn(F_h/s) |F_h/s|^n) at the end of the step, and F has all three parts."""
    fixed = {**CURVE, "stiffness": 250.0, "damping": 0.1, "exponent": 3.0}
    model = make("leuven", **fixed, **SHARES)
    held = 0.09 * LEVELS
    model.state[:, 0] = before = np.clip(SPRINGS * bent, -held, held)
    force = model.step(np.array([v]), DT)[0]
    after = model.state[:, 0]
    # The last element is far from its slider: its stretch is how far z has moved.
    moved = (after - before)[2] / SPRINGS[2]
    np.testing.assert_allclose(after, np.clip(before + SPRINGS * moved, -held, held), atol=1e-12)
    ratio = after.sum() / (level(v) * np.sign(v))
    assert moved == pytest.approx(
        v * DT * (1.0 - np.sign(ratio) * abs(ratio) ** 3), abs=1e-13 * abs(v)
    )
    assert force == pytest.approx(after.sum() + 0.1 * moved / DT + 0.02 * v)
    assert model.stored[0] == pytest.approx(0.5 * np.sum(after**2 / SPRINGS))


def test_elements_at_rest_keep_their_torque():
    """Bent either way; nothing moves, so nothing is damped."""
    for bent in (-2e-4, 1e-4):
        for name in ("leuven", "gms", "maxwell-slip"):
            model = make(name, stiffness=250.0, **SHARES)
            model.state[:3, 0] = SPRINGS * bent * 0.1
            force = model.step(np.zeros(1), DT)[0]
            assert force == pytest.approx(250.0 * bent * 0.1), name


def test_generalised_maxwell_slip_follows_its_two_equations_element_by_element():
    """Stick at k_i v up to α_i g; slip towards α_i g at the rate C/g; a reversal sticks again."""
    model = make("gms", **CURVE, stiffness=250.0, attraction=2.0, damping=0.05, **SHARES)
    torques, slips, seen = [0.0] * 3, [False] * 3, set()
    for v in (
        [0.02] * 12 + [0.4] * 6 + [0.02] * 5 + [-0.1] * 8 + [0.0] * 2 + [-0.02] * 3 + [0.3] * 9
    ):
        way, g, rate = (-1.0 if v < 0.0 else 1.0), level(v), 0.0
        for i in range(3):
            along, most = way * torques[i], LEVELS[i] * g
            slipping = (slips[i] or along > most) and along >= 0.0 and v != 0.0
            stretched = along + SPRINGS[i] * abs(v) * DT
            if slipping:
                after = min(most + (along - most) * np.exp(-2.0 / g * DT), stretched)
            else:
                after = min(max(most, along), stretched)
            seen.add((slipping, after < stretched))
            rate += (after - along) / SPRINGS[i] * SHARES["stiffness_shares"][i] / DT
            torques[i], slips[i] = way * after, slipping or stretched >= most
        force = model.step(np.array([v]), DT)[0]
        assert force == pytest.approx(sum(torques) + 0.05 * way * rate + 0.02 * v, abs=1e-12)
        assert model.stored[0] == pytest.approx(0.5 * np.sum(np.array(torques) ** 2 / SPRINGS))
    assert len(seen) == 4

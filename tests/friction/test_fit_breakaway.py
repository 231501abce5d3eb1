"""Break-away tests: ramps, loops and estimation before sliding; the steady curve; the protocol."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.errors import BadValue
from farhand.friction.fit.breakaway import (
    dahl_loop,
    damping_rule,
    estimate_bristles,
    presliding_motion,
    torque_ramp,
)
from farhand.friction.fit.protocol import SETTLE_S, protocol, rows, steady_grid
from farhand.friction.models.lugre import LuGre
from farhand_lab.youbot.identification import fit_kfm, kfm_curve

CURVE = {
    "coulomb": 0.04,
    "breakaway": 0.09,
    "stribeck_velocity": 0.15,
    "shape": 1.0,
    "viscous": 0.02,
}


def test_the_published_grid_has_312_speeds_both_ways():
    """As many in each row as published, none at rest."""
    speeds = steady_grid()
    assert len(speeds) == 312 and SETTLE_S == 50.0
    assert speeds.max() == pytest.approx(10.0) and speeds.min() == pytest.approx(-10.0)
    assert np.abs(speeds).min() == pytest.approx(0.005)


def test_the_protocol_stays_within_speed_torque_travel_and_time():
    """What it asks of a joint is what it was allowed to."""
    phases = protocol(fastest=2.0, torque=3.0, travel=1.5, minutes=30.0)
    assert rows(phases)
    for phase in phases:
        assert np.abs(phase.setpoint).max() <= (2.0 if phase.mode == "velocity" else 3.0) + 1e-9
        assert np.all(np.diff(phase.time) > 0.0)
        if phase.mode == "velocity":
            fine = np.arange(0.0, phase.duration, 1e-3)
            way = np.cumsum(np.interp(fine, phase.time, phase.setpoint)) * 1e-3
            assert np.ptp(way) < 1.7, phase.name
    assert sum(phase.duration for phase in phases) == pytest.approx(1800.0, rel=0.15)


def test_the_damping_rule_gives_the_published_value():
    """σ1 = 0.2 √(J σ0)."""
    assert damping_rule(1.613e-3, 250.0) == pytest.approx(0.127, abs=5e-4)


def test_a_ramp_shows_stiffness_and_break_away():
    """A spring of 200 N·m/rad that lets go at 0.1 N·m."""
    time = np.arange(0.0, 60.0, 1e-2)
    torque = 2e-3 * time
    position = np.where(torque < 0.1, torque / 200.0, 0.1 / 200.0 + (time - 50.0) ** 2)
    found = torque_ramp(time, position, torque, moved=1e-4)
    assert found.stiffness == pytest.approx(200.0, rel=0.01)
    assert found.breakaway == pytest.approx(0.1, rel=0.01)
    with pytest.raises(BadValue, match="never moves"):
        torque_ramp(time, 0.0 * time, torque)


def test_the_slope_of_a_loop_does_not_mind_an_offset():
    """Dahl's loop about any mean torque."""
    t = np.linspace(0.0, 8.0, 8001)
    torque = 0.05 * np.sin(2.0 * np.pi * t)
    position = presliding_motion(
        torque, 1e-3, 0.01, LuGre(**CURVE, stiffness=250.0, damping=0.127)
    )[:, 0]
    plain, shifted = dahl_loop(position, torque, 8), dahl_loop(position, torque + 0.3, 8)
    assert plain.stiffness == pytest.approx(250.0, rel=0.05)
    assert shifted.stiffness == pytest.approx(plain.stiffness, rel=1e-9)


@pytest.mark.parametrize("method", ["least squares", "simplex"])
def test_bristles_are_found_from_motion_before_sliding(method):
    """From a start that knows neither; a log that the model cannot explain is called unreliable."""
    t = 1e-3 * np.arange(300)
    torque = 0.035 * np.sin(2.0 * np.pi * 7.0 * t) + 0.03 * np.sin(2.0 * np.pi * 23.0 * t)
    truth = LuGre(**CURVE, stiffness=400.0, damping=0.2)
    position = presliding_motion(torque, 1e-3, 0.01, truth)[:, 0]
    found = estimate_bristles(torque, position, 1e-3, 0.01, CURVE, method)
    assert found.stiffness == pytest.approx(400.0, rel=0.02) and found.damping == pytest.approx(
        0.2, rel=0.05
    )
    assert found.reliable
    held = np.where(torque < 0.0, -1.0, 1.0) * np.maximum(np.abs(torque), 0.03)
    moved = presliding_motion(held, 1e-3, 0.01, truth)[:, 0]
    assert not estimate_bristles(torque, moved, 1e-3, 0.01, CURVE).reliable


def test_steady_points_give_the_curve_back():
    """Without noise to the digits, both signs alike."""
    truth = np.array([[0.037, 0.09, 0.15, 1.05, 0.019], [0.5, 0.7, 0.3, 2.0, 0.1]])
    speed = np.geomspace(0.01, 3.0, 80)
    found = fit_kfm(speed, kfm_curve(truth, speed), rounds=80)
    np.testing.assert_allclose(found, truth, rtol=1e-4)
    np.testing.assert_allclose(
        fit_kfm(-speed, -kfm_curve(truth, speed), rounds=80), truth, rtol=1e-4
    )

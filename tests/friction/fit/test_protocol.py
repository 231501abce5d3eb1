"""The protocol: published speeds, and set points within speed, torque, travel and time."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.errors import BadValue
from farhand.friction import make
from farhand.friction.fit.protocol import (
    INSTRUCTIONS,
    ProtocolPhase,
    protocol,
    rows,
    simulate,
    steady_grid,
)


def test_the_published_speeds_are_those_of_the_table():
    """Row by row: from one step beyond the first number, the last row from −4 itself."""
    expected = [
        *np.linspace(0.05, 0.5, 10),
        *np.linspace(0.005, 0.5, 100),
        *np.linspace(0.505, 0.75, 50),
        *np.linspace(0.8, 2.0, 25),
        *np.linspace(0.8, 4.0, 33),
        *np.linspace(2.5, 10.0, 16),
        *np.linspace(-0.05, -1.5, 30),
        *np.linspace(-1.1, -4.5, 35),
        *np.linspace(-4.0, -10.0, 13),
    ]
    np.testing.assert_allclose(steady_grid(), expected, atol=1e-12)


def phases(**changes):
    """By name, of a joint that may go 2 rad/s and 3 N·m for 20 minutes."""
    wishes = {"fastest": 2.0, "torque": 3.0, "minutes": 20.0} | changes
    return {phase.name: phase for phase in protocol(**wishes)}


def travel_of(phase) -> float:
    """How far the joint goes from end to end, [rad]."""
    fine = np.arange(0.0, phase.duration, 1e-3)
    return np.ptp(np.cumsum(np.interp(fine, phase.time, phase.setpoint)) * 1e-3)


def test_the_time_is_shared_among_the_phases():
    """10, 45, 15, 20 and 10 per cent; velocity first, torque last."""
    found = phases()
    assert [phase.mode for phase in found.values()] == ["velocity"] * 3 + ["torque"] * 2
    for phase, share in zip(found.values(), (0.1, 0.45, 0.15, 0.2, 0.1), strict=True):
        assert phase.duration == pytest.approx(1200.0 * share, rel=0.01), phase.name


@pytest.mark.parametrize("travel", [np.inf, 1.0, 0.09])
def test_warming_up_is_a_sine_of_half_the_speed_within_the_travel(travel):
    """0.2 Hz, or as often as the travel asks for; whole cycles, twenty points each or more."""
    phase = phases(travel=travel)["warm up"]
    hertz = max(0.2, 1.0 / (np.pi * travel))
    expected = np.sin(2.0 * np.pi * hertz * phase.time)
    np.testing.assert_allclose(phase.setpoint, expected, atol=1e-9)
    assert np.diff(phase.time).max() <= min(0.0501, 0.0501 / hertz)
    cycles = phase.duration * hertz
    assert cycles == pytest.approx(round(cycles), abs=0.2) and cycles > 0.99 * 120.0 * hertz - 1.0
    assert travel_of(phase) < 1.02 * min(travel, 1.0 / (0.2 * np.pi))


def test_loops_before_sliding_are_a_sine_of_a_third_of_the_torque():
    """0.3 of it at 0.5 Hz, however short the travel."""
    phase = phases(travel=0.09)["presliding loops"]
    np.testing.assert_allclose(phase.setpoint, 0.9 * np.sin(np.pi * phase.time), atol=1e-9)
    brief = phases(minutes=0.1)["presliding loops"]
    assert brief.duration == pytest.approx(2.0, abs=0.06)


@pytest.mark.parametrize("travel", [np.inf, 1.0])
def test_steady_speeds_are_held_both_ways_by_equal_ratios(travel):
    """Twelve from a hundredth up; each for four fifths of the travel, ramps of a tenth of that."""
    phase = phases(travel=travel)["steady speeds"]
    speeds = np.geomspace(0.02, 2.0, 12)
    hold, at = 540.0 / 24.0, 0.0
    expected = [(0.0, 0.0)]
    for speed in speeds:
        once = min(hold, 0.8 * travel / speed)
        for _ in range(max(1, int(hold / once))):
            for way in (1.0, -1.0):
                expected.append((at + min(0.2, 0.1 * once), way * speed))
                expected.append((at + once, way * speed))
                at += once
    expected.append((at + min(0.2, 0.1 * once), 0.0))
    np.testing.assert_allclose(np.column_stack([phase.time, phase.setpoint]), expected)


@pytest.mark.parametrize(
    ("fastest", "travel"), [(2.0, 0.081), (5.0, 0.3), (2.0, 1.0), (2.0, 1.5), (1.0, 3.0)]
)
def test_no_phase_goes_further_than_the_joint_may(fastest, travel):
    """Ramps included, from the first speed to the last."""
    for phase in phases(fastest=fastest, travel=travel, minutes=5.0).values():
        if phase.mode == "velocity":
            assert travel_of(phase) < 1.002 * travel, phase.name


@pytest.mark.parametrize("travel", [np.inf, 0.3])
def test_the_sweep_goes_from_slow_to_fast(travel):
    """0.1 to 2 Hz by equal ratios, at half the speed or what the travel allows; it ends at rest."""
    phase = phases(travel=travel)["sweep"]
    share = phase.time / 180.0
    hertz = 0.1 * 20.0**share
    turns = np.concatenate([[0.0], np.cumsum(0.5 * (hertz[1:] + hertz[:-1]) * np.diff(phase.time))])
    size = np.minimum(1.0, np.pi * hertz * travel)
    np.testing.assert_allclose(
        phase.setpoint[:-1], (size * np.sin(2.0 * np.pi * turns))[:-1], atol=0.03
    )
    assert phase.setpoint[-1] == 0.0 and np.allclose(np.diff(phase.time), 0.05)


def test_ramps_go_up_and_down_by_turns_with_a_rest_between():
    """Two a minute: four fifths up, down in a hundredth, then a rest."""
    phase = phases()["break-away ramps"]
    each = 240.0 / 8
    knots = [(0.0, 0.0)]
    for k in range(8):
        start, top = k * each, 3.0 * (-1) ** k
        knots += [(start + 0.8 * each, top), (start + 0.81 * each, 0.0), (start + each, 0.0)]
    np.testing.assert_allclose(np.column_stack([phase.time, phase.setpoint]), knots, atol=1e-9)
    assert len(phases(minutes=1.0)["break-away ramps"].time) == 7


def test_a_file_has_the_phases_one_after_another_with_a_second_between():
    """The instruction stands at the start of each."""
    found = list(phases(minutes=2.0).values())
    lines, start = list(rows(found)), 0.0
    assert len(lines) == sum(len(phase.time) for phase in found)
    at = 0
    for phase in found:
        mine = lines[at : at + len(phase.time)]
        np.testing.assert_allclose([line[0] for line in mine], start + phase.time)
        assert [line[2] for line in mine] == phase.setpoint.tolist()
        assert mine[0][1:2] + mine[0][3:] == (phase.mode, phase.name, INSTRUCTIONS[phase.name])
        assert {line[4] for line in mine[1:]} == {""}
        at, start = at + len(phase.time), start + phase.duration + 1.0


@pytest.mark.parametrize("name", ["fastest", "torque", "travel", "minutes"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_what_is_not_above_zero_is_refused(name, value):
    """By its name."""
    with pytest.raises(BadValue, match=f"{name}.* must be above 0"):
        phases(**{name: value})


def test_a_travel_too_short_to_turn_round_in_is_refused_with_both_remedies():
    """0.04 s at full speed."""
    assert phases(travel=0.0801)
    with pytest.raises(BadValue, match=r"at least 0.08 rad, or go slower than 1.98 rad/s"):
        phases(travel=0.0792)


def test_a_simulated_joint_follows_the_set_points_and_its_torque_is_friction_and_inertia():
    """At 500 Hz, in ticks, with noise of the size that was asked for."""
    speeds = np.array([0.0, 0.5, 0.5, -0.4, -0.4])
    moves = ProtocolPhase("sweep", "velocity", np.array([0.0, 0.1, 0.6, 0.8, 1.4]), speeds)
    pushes = ProtocolPhase("presliding loops", "torque", np.array([0.0, 9.0]), np.ones(2))
    dry = make("coulomb-viscous", coulomb=0.3, viscous=0.2)
    found = simulate([moves, pushes], dry, 0.02, 1e-4, 0.0, np.random.default_rng(0))
    assert found.step == pytest.approx(2e-3) and len(found) == 700
    ticks = found.position / 1e-4
    np.testing.assert_allclose(ticks, np.round(ticks), atol=1e-6)
    # at steady speed friction is all there is, and the joint is where the speeds have led it
    for rows_, v in ((slice(200, 300), 0.5), (slice(550, 700), -0.4)):
        assert np.ptp(found.position[rows_]) == pytest.approx(
            abs(v) * 2e-3 * len(found.time[rows_]), rel=0.03
        )
        expected = 0.3 * np.sign(v) + 0.2 * v
        assert found.torque[rows_].mean() == pytest.approx(expected, abs=0.02)
    # while it turns at −4.5 rad/s² inertia takes its part
    turning = found.torque[330:350].mean() - (0.3 + 0.2 * 0.5 * 0.5)
    assert turning == pytest.approx(-0.02 * 4.5, abs=0.03)
    rough = simulate([moves], dry, 0.02, 1e-4, 0.1, np.random.default_rng(0))
    noise = rough.torque - found.torque
    assert noise.std() == pytest.approx(0.1 * np.sqrt(np.mean(found.torque**2)), rel=0.1)

"""Pen mapping: axes, rate mode, tool turn and limiter as one two-way mapping."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from farhand.mapping.pen import PenMapping, PoseLimiter, Region, pen_rotation, tool_rotation
from farhand.parameters import assign, describe
from farhand.spatial import rotation_from_vector

EYE, ZERO, REST = np.eye(3), np.zeros(3), np.zeros(6)
screws = arrays(float, 6, elements=st.floats(-1.0, 1.0, allow_nan=False))
small = arrays(float, 3, elements=st.floats(-0.02, 0.02, allow_nan=False))


def at_rest(**parameters) -> PenMapping:
    """A mapping whose setpoint is already what a level pen at its origin asks for."""
    mapping = PenMapping(**parameters)
    mapping.capture(ZERO, EYE, mapping.start, tool_rotation(ZERO))
    return mapping


@given(screws, screws, st.floats(0.1, 5.0), screws)
def test_the_way_back_is_the_power_dual_times_the_force_scale(twist, wrench, scale, turns):
    """With a force scale of one the hand does the follower's work, while the limiter passes.

    However axes and tool are turned: the published half turns are their own inverses.
    """
    shape = {"motion_scale": scale, "axes": 3.0 * turns[:3], "turn": 3.0 * turns[3:]}
    mapping, felt = at_rest(force_scale=1.0, **shape), np.zeros(6)
    mapping.limiter.turn_band = 4.0
    mapping.forward(ZERO, EYE, twist)
    mapping.back(wrench, felt)
    assert wrench @ mapping.twist == pytest.approx(felt @ twist, abs=1e-10)


@given(small, screws)
@settings(max_examples=40)
def test_the_twist_is_the_rate_of_the_setpoint(position, twist):
    """By finite differences, with steps below the limiter's bands."""
    h = 1e-4
    turn = rotation_from_vector(np.array([0.1, -0.2, 0.3]))
    mapping = at_rest()
    mapping.limiter.band, mapping.limiter.turn_band = 1.0, 4.0
    mapping.forward(position, turn, twist)
    before, R_before = mapping.position.copy(), mapping.rotation.copy()
    moved = rotation_from_vector(h * twist[3:]) @ turn
    told = mapping.twist.copy()
    mapping.forward(position + h * twist[:3], moved, twist)
    np.testing.assert_allclose((mapping.position - before) / h, told[:3], atol=1e-8)
    spin = (mapping.rotation - R_before) / h @ R_before.T
    np.testing.assert_allclose([spin[2, 1], spin[0, 2], spin[1, 0]], told[3:], atol=3e-4)


def test_a_limited_setpoint_says_how_fast_it_really_goes():
    """A pen that has jumped ahead: the twist is the rate of the pose, not that of the pen."""
    mapping = at_rest()
    pen, R = np.array([0.02, -0.01, 0.015]), pen_rotation(np.array([0.3, -0.2, 0.1]))
    for _ in range(20):
        before, R_before = mapping.position.copy(), mapping.rotation.copy()
        mapping.forward(pen, R, REST)
        assert mapping.limiter.limited
        moved = (mapping.position - before) / mapping.period
        np.testing.assert_allclose(mapping.twist[:3], moved, atol=1e-9)
        turn = rotation_from_vector(mapping.twist[3:] * mapping.period)
        np.testing.assert_allclose(turn @ R_before, mapping.rotation, atol=1e-12)
        assert np.abs(moved).max() == pytest.approx(0.25)


@given(arrays(float, 3, elements=st.floats(-1.0, 1.0)))
def test_the_tool_turns_to_the_published_orientation(angles):
    """Absolute: the pen's angles say how the tool stands."""
    mapping = PenMapping()
    mapping.forward(ZERO, pen_rotation(angles), REST)
    np.testing.assert_allclose(mapping.rotation, tool_rotation(angles), atol=1e-12)


def test_engaging_starts_at_the_tool_and_goes_to_the_first_setpoint():
    """At the limiter's speed: 0.25 m/s for the largest component."""
    mapping = PenMapping()
    tool = np.array([0.30, 0.05, 0.45])
    mapping.capture(ZERO, EYE, tool, tool_rotation(ZERO))
    np.testing.assert_array_equal(mapping.position, tool)
    for _ in range(400):
        before = mapping.position.copy()
        mapping.forward(ZERO, EYE, REST)
        assert np.abs(mapping.position - before).max() < 5.1e-4
    np.testing.assert_array_equal(mapping.position, [0.35, 0.0, 0.35])


def test_the_first_setpoint_belongs_to_the_pens_origin_wherever_the_pen_is():
    """Engaged 2 cm out, the tool goes 2 cm beyond it; led back to its origin, it is there."""
    mapping, pen = PenMapping(), np.array([0.02, 0.0, 0.01])
    mapping.capture(pen, EYE, mapping.start.copy(), tool_rotation(ZERO))
    for _ in range(400):
        mapping.forward(pen, EYE, REST)
    np.testing.assert_allclose(mapping.position, [0.33, 0.0, 0.36], atol=1e-12)
    for _ in range(400):
        mapping.forward(ZERO, EYE, REST)
    np.testing.assert_allclose(mapping.position, [0.35, 0.0, 0.35], atol=1e-12)


def test_engaging_again_begins_where_the_tool_is():
    """After a clutch nothing is pulled back to the first setpoint."""
    mapping = at_rest()
    tool = np.array([0.5, 0.2, 0.3])
    mapping.capture(np.array([0.01, 0.0, 0.0]), EYE, tool, tool_rotation(ZERO))
    mapping.forward(np.array([0.01, 0.0, 0.0]), EYE, REST)
    np.testing.assert_allclose(mapping.position, tool, atol=1e-15)


def test_a_live_change_of_scale_moves_nothing():
    """The drift makes up for it."""
    mapping, pen = at_rest(), np.array([0.01, -0.02, 0.01])
    for share in np.linspace(0.0, 1.0, 100):
        mapping.forward(share * pen, EYE, REST)
    before = mapping.position.copy()
    assign({"law": {"mapping": mapping}}, "law.mapping.motion_scale", 2.0)
    mapping.forward(pen, EYE, REST)
    np.testing.assert_allclose(mapping.position, before, atol=1e-12)


def test_rate_mode_drives_the_setpoint_on_while_the_pen_is_held_out():
    """A pen 5 cm away from the operator: forwards at 0.1 m/s, and the twist says so."""
    mapping, pen = at_rest(), np.array([-0.05, 0.0, 0.0])
    for share in np.linspace(0.0, 1.0, 300):
        mapping.forward(share * pen, EYE, REST)
    before = mapping.position.copy()
    for _ in range(1000):
        mapping.forward(pen, EYE, REST)
    np.testing.assert_allclose(mapping.position - before, [0.1, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(mapping.twist[:3], [0.1, 0.0, 0.0], atol=1e-9)


@pytest.mark.parametrize("start", [(0.35, 0.0, 0.35), (0.30, 0.05, 0.45)])
def test_the_other_end_of_a_link_finds_the_same_setpoint_from_the_offsets(start):
    """Position mode, rate mode and limited turns: the offsets of the packets carry all of it."""
    here, there = PenMapping(), PenMapping()
    there.drives = False
    here.capture(ZERO, EYE, np.array(start), tool_rotation(np.array([0.2, 0.0, 0.1])))
    for k in range(3000):
        pen = np.array([-0.06 * np.sin(0.002 * k), 0.03 * np.sin(0.005 * k), 0.0])
        R = pen_rotation(np.array([0.5 * np.sin(0.004 * k), 0.0, 0.3]))
        here.forward(pen, R, REST)
        there.offset_position, there.offset_rotation = (
            here.offset_position.copy(),
            here.offset_rotation.copy(),
        )
        there.forward(pen, R, REST)
        np.testing.assert_allclose(there.position, here.position, atol=1e-12)
        np.testing.assert_allclose(there.rotation, here.rotation, atol=1e-9)


def test_every_number_can_be_set_by_path():
    """The rig's --set reaches region, speed, limits and scales."""
    paths = {path for path, *_ in describe({"mapping": PenMapping()})}
    assert {
        "mapping.hybrid.speed",
        "mapping.hybrid.region.front",
        "mapping.limiter.turn_speed",
    } <= paths


@pytest.mark.parametrize("scale", [1.0, 2.5])
def test_the_outline_is_where_the_mode_changes(scale):
    """A pen just inside every place of it leads by position, just outside it drives on."""
    mapping = PenMapping(motion_scale=scale)
    outline = mapping.outline()
    assert outline.shape[0] == 3 and np.isfinite(outline).all()
    for place in outline.reshape(-1, 3):
        for share, drives_on in ((0.999, False), (1.001, True)):
            mapping.forward(share * place, np.eye(3), np.zeros(6))
            assert mapping.hybrid.rate is drives_on


def test_a_region_without_its_origin_has_no_outline():
    """Then there is no place at which the pen could begin to lead by position."""
    assert Region(centre=np.array([0.5, 0.0, 0.0])).outline().size == 0


def test_the_end_that_decides_records_the_mode():
    """The other end only follows, and has nothing to say about it."""
    channels: dict[str, np.ndarray] = {}

    class Stream:
        def channel(self, name, size, unit, labels=()):
            channels[name] = np.zeros(size)
            return channels[name]

    follows = PenMapping()
    follows.drives = False
    follows.record(Stream())
    assert not channels
    decides = PenMapping()
    decides.record(Stream())
    for place, rate in ((0.0, 0.0), (0.2, 1.0), (0.0, 0.0)):
        decides.forward(np.array([place, 0.0, 0.0]), np.eye(3), np.zeros(6))
        assert channels["rate_mode"] == rate


@pytest.mark.parametrize(("degrees", "steps"), [(0.049, 1), (0.051, 2), (0.195, 16)])
def test_only_the_last_twentieth_of_a_degree_is_passed_on_at_once(degrees, steps):
    """Above 0.05° the setpoint turns by the limit's 0.01° per tick until so much is left."""
    limiter, goal = PoseLimiter(), np.radians(degrees)
    target = np.array([np.sin(0.5 * goal), 0.0, 0.0, np.cos(0.5 * goal)])
    taken = 0
    while abs(limiter.quaternion @ target) < 1.0 - 1e-12 or taken == 0:
        limiter.step(np.zeros(3), target, 1e-3)
        taken += 1
    assert taken == steps

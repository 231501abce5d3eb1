"""Cartesian impedance: springs pull, dampers oppose motion, and hand guidance is free."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from farhand.control.haptic.impedance import CartesianImpedance
from farhand.spatial import rotation_from_vector

small = arrays(float, 6, elements=st.floats(-1.0, 1.0))


def spring(stiffness: float = 100.0, damping: float = 10.0) -> CartesianImpedance:
    """The same on all axes."""
    return CartesianImpedance(np.full(6, stiffness), np.full(6, damping))


@given(offset=small, place=small)
def test_a_tool_an_offset_away_is_pulled_back_along_it(offset, place):
    """In translation and in rotation, wherever the tool is."""
    law, rotation = spring(), rotation_from_vector(place[3:])
    law.aim(place[:3], rotation, offset)
    np.testing.assert_allclose(
        law.wrench(place[:3], rotation, np.zeros(6)), 100.0 * offset, atol=1e-6
    )


@given(place=small, twist=small)
def test_at_its_target_only_the_damper_acts_and_only_on_relative_motion(place, twist):
    """It takes power from the motion, and none if the target moves along."""
    law, rotation = spring(), rotation_from_vector(place[3:])
    law.relax(place[:3], rotation)
    wrench = law.wrench(place[:3], rotation, twist)
    assert wrench @ twist <= 1e-12
    np.testing.assert_allclose(wrench, -10.0 * twist, atol=1e-9)
    law.aim(place[:3], rotation, twist=twist)
    np.testing.assert_allclose(law.wrench(place[:3], rotation, twist), 0.0, atol=1e-9)


def test_a_slack_spring_stays_slack_when_it_gets_stiffer():
    """Hand guidance: no stiffness is felt at the target."""
    law = spring(damping=0.0)
    law.relax(np.ones(3), np.eye(3))
    for stiffness in (10.0, 5000.0):
        law.stiffness = np.full(6, stiffness)
        assert np.abs(law.wrench(np.ones(3), np.eye(3), np.ones(6))).max() < 1e-9


def test_feedforward_is_added_once_and_gone_with_the_next_target():
    """It belongs to the target it was set for."""
    law = spring()
    law.feedforward[:] = 3.0
    np.testing.assert_allclose(law.wrench(np.zeros(3), np.eye(3), np.zeros(6)), 3.0)
    law.relax(np.zeros(3), np.eye(3))
    np.testing.assert_allclose(law.wrench(np.zeros(3), np.eye(3), np.zeros(6)), 0.0)


def test_the_target_is_a_copy():
    """A pose that is reused by its owner must not move it."""
    law, position = spring(), np.zeros(3)
    law.relax(position, np.eye(3))
    position += 1.0
    np.testing.assert_array_equal(law.position, np.zeros(3))

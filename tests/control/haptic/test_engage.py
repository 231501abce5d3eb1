"""Engaging: the homing spring, both gates, and the gripper's button."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from farhand.control.haptic.engage import EngageGate, HomingSpring
from farhand.control.haptic.gripper import GripperToggle

DT = 1e-3
vectors = arrays(float, 3, elements=st.floats(-1.0, 1.0, allow_nan=False))


@given(vectors, vectors)
def test_the_homing_spring_pulls_home_and_takes_energy(position, velocity):
    """At rest −40 p; its damper never pushes along the motion."""
    spring = HomingSpring()
    np.testing.assert_allclose(spring.force(position), -40.0 * position)
    damper = spring.force(position, velocity) - spring.force(position)
    np.testing.assert_allclose(damper, -4.0 * velocity, atol=1e-12)
    assert damper @ velocity <= 0.0


@given(st.lists(arrays(float, 3, elements=st.floats(-0.3, 0.3)), min_size=1, max_size=500))
def test_the_gate_opens_only_after_the_whole_force_was_small_for_long(forces):
    """Judged by looking back: 200 samples in a row, each above zero and below 0.1 N."""
    gate, row = EngageGate(), 0
    for force in forces:
        row = row + 1 if 0.0 < np.linalg.norm(force) < 0.1 else 0
        assert gate.step(force, DT) == (row >= 200)
        if gate.open:
            return


def test_an_open_gate_stays_open_until_it_is_closed():
    """One-shot."""
    gate = EngageGate(hold=0.0)
    assert gate.step(np.array([0.0, 0.0, 0.01]), DT) and gate.step(np.array([5.0, 0.0, 0.0]), DT)
    gate.close()
    assert not gate.step(np.array([5.0, 0.0, 0.0]), DT)


@pytest.mark.parametrize("kind", ["norm", "axis"])
def test_no_force_is_not_a_small_force(kind):
    """A controller that has not begun sends zeros or nothing."""
    gate = EngageGate(kind)
    assert not any(gate.step(force, DT) for force in [None, np.zeros(3)] * 500)


def test_the_published_gate_is_fooled_by_a_passing_swing():
    """ER-14: one sample of Fz near zero, with 2 N sideways."""
    swing = np.array([2.0, 0.0, 0.05])
    assert EngageGate("axis").step(swing, DT) and not EngageGate("norm").step(swing, DT)


@given(st.lists(st.booleans(), max_size=100))
def test_the_gripper_is_told_once_per_edge(buttons):
    """As many commands as changes, the first release included; each says what the button says."""
    toggle, last, changes = GripperToggle(), True, 0
    said = []
    for button in buttons:
        changes += button != last
        last = button
        command = toggle.step(button)
        if command is not None:
            said.append(command == (0.010 if button else 0.020))
    assert len(said) == changes and all(said)

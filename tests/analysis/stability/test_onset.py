"""The simulated onset of shaking: physics without any of the prediction's matrices."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from farhand.analysis.stability.cells import position_force, rendered_wall
from farhand.analysis.stability.loop import HANDS, Contact, Loop, LoopTool
from farhand.analysis.stability.onset import Bump, amplitude, onset, shakes, solution

BUMP = Bump(1e-6)
AWAY = Contact(1000.0, 50.0)


def walled(stiffness, friction=0.0, damping=5.0):
    tool = LoopTool(0.5, damping, friction)
    return Loop(rendered_wall(stiffness), tool, LoopTool(1.0, 5.0), HANDS["soft"], AWAY, 2e-3)


def test_compiled_and_plain_are_the_same_simulation():
    """The kernel is the plain code."""
    short = replace(BUMP, seconds=0.4, patience=0.4)
    for loop in (
        walled(3000.0),
        replace(walled(500.0), law=position_force(500.0, 20.0, 5.0), delay=3),
    ):
        assert amplitude(loop, short) == pytest.approx(
            amplitude(loop, short, compiled=False), rel=1e-6
        )


@pytest.mark.parametrize(
    ("damping", "stiffness"), [(0.0, 0.0), (3.0, 0.0), (1e-6, 100.0), (20.0, 100.0), (200.0, 1e4)]
)
def test_a_second_order_motion_in_one_step_is_that_in_many(damping, stiffness):
    """The closed form composes with itself, whatever the damping."""
    state = np.array([1e-3, -0.1])
    for _ in range(1000):
        p11, p12, p21, p22, g1, g2 = solution(0.7, damping, stiffness, 1e-5)
        state = np.array([[p11, p12], [p21, p22]]) @ state + np.array([g1, g2]) * 2.0
    p11, p12, p21, p22, g1, g2 = solution(0.7, damping, stiffness, 1e-2)
    at_once = np.array([[p11, p12], [p21, p22]]) @ [1e-3, -0.1] + np.array([g1, g2]) * 2.0
    np.testing.assert_allclose(state, at_once, rtol=1e-6, atol=1e-10)


def test_a_wall_that_shakes_hops_and_a_soft_one_comes_to_rest():
    """Beyond the limit a unilateral wall throws the tool back; below, what remains is within a few
    encoder steps.
    """
    assert amplitude(walled(2000.0), BUMP, unilateral=True) < BUMP.cycle
    hop = amplitude(walled(40_000.0), BUMP, unilateral=True)
    assert 100.0 < hop < math.inf
    # one that also pulls has nothing to stop it
    assert amplitude(walled(40_000.0), BUMP, unilateral=False) == math.inf


def test_dry_friction_stills_what_would_shake():
    """The same wall, with and without a newton of friction."""
    assert shakes(walled(20_000.0), BUMP, True)
    assert not shakes(walled(20_000.0, friction=1.0), BUMP, True)


def test_the_onset_is_found_from_below_and_only_where_there_is_one():
    """The smallest value, however the rest behaves; zero and infinity where all or none shake."""
    assert onset(lambda value: 100.0 <= value <= 150.0 or value > 1e4, 1.0, 1e6) == pytest.approx(
        100.0, rel=0.01
    )
    assert onset(lambda value: True, 1.0, 10.0) == 0.0
    assert onset(lambda value: False, 1.0, 10.0) == math.inf

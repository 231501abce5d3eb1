"""The sampled loop is the continuous plant between ticks and the law at them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

from farhand.analysis.stability.cells import position_force, rendered_wall
from farhand.analysis.stability.loop import HANDS, Contact, Loop, LoopTool, Mode, exponential
from farhand.analysis.stability.onset import solution
from farhand.errors import FarhandError, OutOfRange

STILL = rendered_wall(0.0)


@given(st.integers(0, 10_000))
def test_the_exponential_is_that_of_a_library(seed):
    """Scaling and squaring loses nothing that matters."""
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(6, 6)) * 10.0 ** rng.uniform(-3, 1)
    np.testing.assert_allclose(
        exponential(matrix), expm(matrix), rtol=1e-8, atol=1e-8 * np.abs(expm(matrix)).max()
    )


@given(st.floats(0.1, 10.0), st.floats(0.0, 200.0), st.floats(0.0, 1e5), st.floats(1e-4, 5e-3))
def test_the_plant_between_ticks_moves_as_a_spring_mass_damper_does(
    mass, damping, stiffness, period
):
    """The matrices of the prediction and the closed form of the simulation were written apart, and
    agree.
    """
    loop = Loop(STILL, LoopTool(mass, damping), LoopTool(1.0), Contact(stiffness), period=period)
    phi, gamma = loop.plant()
    p11, p12, p21, p22, g1, g2 = solution(mass, damping, stiffness, period)
    np.testing.assert_allclose(
        phi[:2, :2], [[p11, p12], [p21, p22]], rtol=1e-6, atol=1e-9 * max(1.0, stiffness)
    )
    # the closed form cancels where the spring is weak
    np.testing.assert_allclose(gamma[:2, 0], [g1, g2], rtol=1e-6, atol=1e-11)


def test_a_fast_velocity_filter_sees_the_true_velocity():
    """With a filter far above the motion, differences of positions are as good as velocities."""
    law = position_force(1000.0, 40.0, 5.0)
    true = Loop(
        law, LoopTool(1.0, 5.0), LoopTool(1.0, 5.0), HANDS["soft"], Contact(500.0, 5.0), 1e-5
    )
    filtered = replace(true, velocity_filter=2e4)
    slowest = [
        np.sort(np.abs(np.linalg.eigvals(A + B @ R)))[-4:]
        for A, B, R in (true.matrices(), filtered.matrices())
    ]
    np.testing.assert_allclose(slowest[1], slowest[0], atol=1e-6)


def test_dry_friction_counts_as_the_damping_that_takes_the_same_energy():
    """Per cycle friction takes 4 f A, a damper π b ω A²."""
    loop = Loop(STILL, LoopTool(1.0, 2.0, friction=0.5), LoopTool(1.0), Contact(0.0))
    amplitude, frequency = 1e-3, 8.0
    rubbed = loop.with_friction_damping(Mode(frequency, (1.0, 0.0), np.zeros(4)), amplitude)
    extra = rubbed.leader.damping - 2.0
    assert np.pi * extra * 2.0 * np.pi * frequency * amplitude**2 == pytest.approx(
        4.0 * 0.5 * amplitude
    )
    assert rubbed.follower == loop.follower


@pytest.mark.parametrize(
    "wrong", [{"period": 0.0}, {"period": np.nan}, {"delay": -1}, {"delay": 2.5}]
)
def test_a_period_or_a_delay_that_is_none_is_refused(wrong):
    """A loop without time between its ticks used to be called stable."""
    with pytest.raises(OutOfRange if "period" in wrong else FarhandError, match=next(iter(wrong))):
        Loop(STILL, LoopTool(1.0), LoopTool(1.0), HANDS["soft"], **wrong)

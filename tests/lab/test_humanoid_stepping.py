"""Ground: a step that is climbed, by postures that are possible and contacts that only push."""

from __future__ import annotations

import numpy as np
import pytest

from farhand_lab.humanoid.stepping import FullStep, StepPlanner, StepServos, walk


def test_postures_keep_to_the_joints_ranges():
    """Feet and weight are right to 0.1 mm on the ground, to 5 mm with a foot in the air."""
    stepper = StepPlanner()
    plan = stepper.postures(FullStep(0.025).stances()[:4])
    limits = stepper.robot.limits
    assert (plan.q[:, 7:] >= limits.lower[6:] - 1e-6).all() and (
        plan.q[:, 7:] <= limits.upper[6:] + 1e-6
    ).all()
    assert plan.error[:36:12].max() < 1e-4 and plan.error.max() < 5e-3


@pytest.mark.slow
def test_a_step_is_climbed():
    """25 mm with rated torques: soles on the step, the ground carries the weight, never pulls."""
    result = walk(FullStep(0.025), StepServos(limited=True))
    assert result.fell is None
    np.testing.assert_allclose(result.soles[-1, :, 2], 0.025, atol=1e-3)
    assert (
        abs(result.force[-20:].sum(axis=1).mean() - 5.964 * 9.81) < 1.0
        and (result.force >= 0.0).all()
    )
    assert result.peak("knee") <= 3.26 + 1e-6


def test_without_shifting_its_weight_it_falls():
    """The published half step keeps the weight between the feet: nobody stands on one of them."""
    step = FullStep(0.025, inward=0.045)
    result = walk(step, StepServos())
    assert result.fell is not None and result.fell < step.duration

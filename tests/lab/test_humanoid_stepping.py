"""Ground: a step that is climbed, by postures that are possible and contacts that only push."""

from __future__ import annotations

import numpy as np
import pytest

from farhand_lab.humanoid.body.ground import StepServos, walk
from farhand_lab.humanoid.body.stepping import FullStep, StepPlanner


def test_postures_keep_to_the_joints_ranges():
    """Feet and weight are where they should be to 0.1 mm on the ground, to 5 mm with a foot in the air."""
    stepper = StepPlanner()
    plan = stepper.postures(FullStep(0.025).stances()[:4])
    limits = stepper.robot.limits
    assert (plan.q[:, 7:] >= limits.lower[6:] - 1e-6).all() and (
        plan.q[:, 7:] <= limits.upper[6:] + 1e-6
    ).all()
    assert plan.error[:36:12].max() < 1e-4 and plan.error.max() < 5e-3


@pytest.mark.slow
def test_a_step_is_climbed():
    """25 mm with rated torques: soles on the step, the ground carries the weight and never pulls."""
    seen = walk(FullStep(0.025), StepServos(limited=True))
    assert seen.fell is None
    np.testing.assert_allclose(seen.soles[-1, :, 2], 0.025, atol=1e-3)
    assert (
        abs(seen.force[-20:].sum(axis=1).mean() - 5.964 * 9.81) < 1.0 and (seen.force >= 0.0).all()
    )
    assert seen.peak("knee") <= 3.26 + 1e-6


def test_without_shifting_its_weight_it_falls():
    """The published half step, whose weight stays between the feet, is no way to stand on one of them."""
    step = FullStep(0.025, inward=0.045)
    seen = walk(step, StepServos())
    assert seen.fell is not None and seen.fell < step.duration

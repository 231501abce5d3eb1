"""Torque on the pen from a force at one point: all of it across the pen, none along it, none without a mean force."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from farhand_lab.humanoid.torque_illusion import TorqueIllusion

part = st.floats(-0.1, 0.1)


@given(st.tuples(part, part, part))
def test_the_torque_across_the_pen_is_shown_and_that_along_it_is_not(
    torque: tuple[float, float, float],
) -> None:
    """The lever is along x."""
    law = TorqueIllusion()
    shown = law.shown(law.force(np.array(torque), 0.0))
    np.testing.assert_allclose(shown, [0.0, torque[1], torque[2]], atol=1e-12)


def test_shaking_changes_no_mean_and_a_zero_mean_force_turns_nothing() -> None:
    """The mean torque is the lever times the mean force."""
    law, wanted = TorqueIllusion(shake=1.0), np.array([0.0, 0.02, 0.01])
    forces = np.array([law.force(wanted, t) for t in np.arange(0.0, 0.1, 1e-4)])
    np.testing.assert_allclose(law.shown(forces.mean(axis=0)), wanted, atol=1e-9)
    turned = np.mean([law.shown(force - forces.mean(axis=0)) for force in forces], axis=0)
    np.testing.assert_allclose(turned, 0.0, atol=1e-12)

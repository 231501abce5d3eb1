"""One shoulder joint of two OpenArms: when it shakes, and what calms it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from farhand_lab.openarm_joint import LOOSE, OLD, ROTOR, onsets, run


def test_a_gear_that_gives_shakes_near_its_resonance_and_a_filtered_velocity_calms_it() -> None:
    """Lower K_p does not help; a rigid gear is calm; what is sent must be filtered."""
    loose = replace(LOOSE, filter=50.0)
    softer, filtered = replace(loose, stiffness=0.1), replace(loose, sent=14.3)
    shaking, soft, calm, rigid = run([loose, softer, filtered, replace(OLD, filter=50.0)])
    resonance = np.sqrt(loose.gear * (1.0 / ROTOR + 1.0 / loose.inertia)) / (2.0 * np.pi)
    assert shaking.shakes and 0.9 * resonance < shaking.frequency < 1.3 * resonance
    assert soft.shakes and not calm.shakes and not rigid.shakes


def test_a_slow_program_shakes_by_itself_below_10_hz() -> None:
    """Old states take the damping out of the swing of two arms against each other."""
    slow, fast = run([replace(OLD, rate=125.0), replace(OLD, rate=250.0)])
    assert slow.shakes and slow.frequency < 10.0 and not fast.shakes


@pytest.mark.parametrize(("gear", "cut_off"), [(5000.0, 100.0), (2000.0, 50.0), (1000.0, 100.0)])
def test_the_velocity_from_which_it_shakes_is_predicted(gear: float, cut_off: float) -> None:
    """Without play, within 15 %; the motor reports its velocity as it is."""
    predicted, simulated = onsets(replace(OLD, gear=gear, filter=cut_off))
    assert predicted == pytest.approx(simulated, rel=0.15) and np.isfinite(simulated)

"""Torque that is late, early or filtered: put right where the data show how, and never passed over
in silence.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from farhand.friction.fit.data import JointLog
from farhand.friction.fit.fit import fit
from farhand.friction.fit.prepare import shift_torque
from tests.friction.wave_logs import Wave, said, wave


@pytest.mark.parametrize("late", [0.006, 0.02, 0.05, -0.02])
def test_a_torque_logged_late_or_early_is_put_right(late):
    """By three samples or by 25: viscous friction and inertia are the joint's own, and the line
    says by how much.
    """
    for seed in range(2):
        found = fit(wave(late=late, seed=seed), "coulomb-viscous")
        assert said(found, f"{'behind' if late > 0.0 else 'ahead of'} the motion", "corrected")
        for one, truth in (
            (found.parameters["viscous"], Wave.viscous),
            (found.inertia, Wave.inertia),
        ):
            assert one.identified and one.low <= truth <= one.high
            assert one.value == pytest.approx(truth, rel=0.01)


def test_logs_without_delay_are_left_alone():
    """Thirty of them, white noise and noise that hangs together: no line, and intervals that hold
    the truth.
    """
    inside = []
    for seed in range(30):
        rough = {"noise": 0.05, "memory": 0.2} if seed % 2 else {}
        found = fit(wave(seed=seed, **rough), "coulomb-viscous")
        assert (
            not said(found, "the motion") and found.data is not None and len(found.data) == 10_000
        )
        inside.append(found.inertia.low <= Wave.inertia <= found.inertia.high)
    assert np.mean(inside) > 0.9


@pytest.mark.parametrize("behind", [0, 5])
def test_a_filtered_torque_identifies_neither_friction_nor_inertia(behind):
    """A current filter of 20 ms is no delay, alone or beside one; what it leaves is outside the
    intervals.
    """
    table = wave(seed=3)
    keep = np.exp(-table.step / 0.02)
    torque = np.roll(lfilter([1.0 - keep], [1.0, -keep], table.torque), behind)
    found = fit(JointLog(table.time, table.position, table.velocity, torque), "coulomb-viscous")
    assert said(found, "filtered", "not identified")
    assert not found.inertia.identified and not found.parameters["viscous"].identified


def test_a_filter_too_quick_to_matter_counts_as_a_delay():
    """5 ms: once the delay is put right, the intervals hold."""
    table = wave(seed=4)
    keep = np.exp(-table.step / 0.005)
    torque = lfilter([1.0 - keep], [1.0, -keep], table.torque)
    found = fit(JointLog(table.time, table.position, table.velocity, torque), "coulomb-viscous")
    assert said(found, "behind the motion", "corrected")
    assert found.inertia.low <= Wave.inertia <= found.inertia.high


def test_torque_is_not_taken_from_a_pause():
    """Where nothing was logged at the shifted time, the sample goes."""
    time = np.concatenate([np.arange(0.0, 2.0, 0.01), np.arange(5.0, 7.0, 0.01)])
    found = shift_torque(JointLog(time, time, 0.0 * time, 2.0 * time), 0.05)
    np.testing.assert_allclose(found.torque, 2.0 * (found.time + 0.05))
    assert len(time) - 12 <= len(found) <= len(time) - 10

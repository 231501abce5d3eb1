"""Rendering: both ways give the right force at rest; each has its own fault in motion."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.control.haptic.impedance import DirectRendering, Rendering

WANTED = np.array([10.0, -5.0, 2.0, 0.5, 0.0, -0.3])
HERE = np.zeros(3), np.eye(3), np.zeros(6)
MS = 1_000_000


@pytest.mark.parametrize("mode", ["direct", "springs"])
def test_at_rest_the_hand_gets_what_is_wanted(mode):
    """In every axis."""
    np.testing.assert_allclose(
        Rendering(mode=mode).wrench(WANTED, *HERE, 0, 1e-3), WANTED, atol=1e-9
    )


def test_springs_are_set_anew_only_at_their_rate():
    """A hand at 0.25 m/s against 10 N: off by v T/Δx, 7 % at 350 Hz, right after each update."""
    rendering, wanted = Rendering(mode="springs"), np.array([10.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    felt = np.array(
        [
            rendering.wrench(
                wanted,
                np.array([-0.25e-4 * k, 0.0, 0.0]),
                np.eye(3),
                np.zeros(6),
                k * MS // 10,
                1e-4,
            )[0]
            for k in range(2000)
        ]
    )
    assert felt.min() == pytest.approx(10.0, abs=0.03)
    assert felt.max() == pytest.approx(10.7, abs=0.1)
    assert (np.diff(felt) < -0.3).sum() == pytest.approx(0.2 * 350, abs=2)


@pytest.mark.parametrize(("tick_ns", "start_ns"), [(MS, 0), (2 * MS, 0), (MS, 123_456_789)])
def test_springs_keep_their_rate_on_average_whatever_the_ticks_are(tick_ns, start_ns):
    """350 updates in a second, each at the first tick of its own period of 1/350 s."""
    rendering, updates = Rendering(mode="springs"), []
    for now_ns in range(start_ns, start_ns + 1_000 * MS, tick_ns):
        place = np.array([1e-12 * (now_ns + 1), 0.0, 0.0])
        before = rendering.pull.position.copy()
        rendering.wrench(np.zeros(6), place, np.eye(3), np.zeros(6), now_ns, 1e-3)
        if (rendering.pull.position != before).any():
            updates.append(now_ns)
    assert len(updates) == pytest.approx(350, abs=1)
    period_ns = round(1e9 / 350.0)
    assert all(now_ns % period_ns < tick_ns for now_ns in updates[1:])


def test_a_direct_force_with_the_published_fault_drops_out_when_it_changes():
    """The springs never do."""
    faulty, springs = Rendering(direct=DirectRendering(gap=0.003)), Rendering(mode="springs")
    dropped = [0, 0]
    for k in range(100):
        wanted = np.array([16.0 + 0.05 * (k // 10), 0.0, 0.0, 0.0, 0.0, 0.0])
        for which, rendering in enumerate((faulty, springs)):
            dropped[which] += rendering.wrench(wanted, *HERE, k * MS, 1e-3)[0] == 0.0
    assert dropped[0] >= 20
    assert dropped[1] == 0

"""A law probed by differences gives back its own gains."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.analysis.stability.sampled_law import is_linear, probe_law, probe_memory, sample_law
from farhand.coupling import Admittance, PositionForce, PositionPosition, Side, Spring
from farhand.errors import BadValue, Mismatch
from farhand.mapping import WorkspaceMapping

X = np.array([1.0, 0.0, 0.0])


def sides():
    return Side("leader"), Side("follower")


def test_position_position_is_its_spring():
    """K and D, equal and opposite."""
    found = sample_law(PositionPosition(spring=Spring(1500.0, 40.0)), *sides(), X)
    np.testing.assert_allclose(
        found.on_follower, [[1500.0, 40.0, 0.0], [-1500.0, -40.0, 0.0]], atol=1e-6
    )
    np.testing.assert_allclose(found.on_leader, -found.on_follower, atol=1e-6)


def test_position_force_reflects_what_the_follower_measures():
    """One to one, and its damping at the leader."""
    found = sample_law(PositionForce(leader_damping=12.0), *sides(), X)
    np.testing.assert_allclose(found.on_leader, [[0.0, -12.0, 0.0], [0.0, 0.0, 1.0]], atol=1e-6)
    np.testing.assert_allclose(found.local[1], [-2000.0, -100.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(found.remote[1], [2000.0, 100.0, 0.0], atol=1e-6)


def test_turned_and_scaled_workspaces_show_in_the_gains():
    """With half the motion the follower is pulled half as far; turning the leader's axes changes
    nothing along them.
    """
    mapping = WorkspaceMapping(motion_scale=0.5, axes=np.array([0.0, 0.0, np.pi / 2]))
    found = sample_law(PositionPosition(mapping=mapping, spring=Spring(1000.0, 40.0)), *sides(), X)
    np.testing.assert_allclose(found.on_follower[:, 0], [500.0, -1000.0], atol=1e-6)
    np.testing.assert_allclose(found.on_leader[:, 0], [-250.0, 500.0], atol=1e-6)


def test_rotations_are_probed_too():
    """The rotational spring, about every axis and about none of the others."""
    law = PositionPosition(spring=Spring(1000.0, 40.0, 25.0, 1.5))
    table = probe_law(law, *sides())
    np.testing.assert_allclose(table[1][0][3:, 3:6], 25.0 * np.eye(3), atol=1e-5)
    np.testing.assert_allclose(table[1][1][3:, 9:12], -1.5 * np.eye(3), atol=1e-6)
    np.testing.assert_allclose(table[1][0][:3, 3:6], 0.0, atol=1e-9)


def test_what_an_admittance_remembers_is_its_handle():
    """Pushed with a newton for a tick it gains dt/M of speed; its speed fades by B/M, and
    moves it.
    """
    law, (a, b) = Admittance(mass=4.0, damping=10.0), sides()
    found = probe_memory(law, a, b, 1e-3)
    # leader's and follower's wrench alike
    np.testing.assert_allclose([Q[6, 12] for Q in found.Q], 1e-3 / 4.0, rtol=2e-3)
    assert found.P[6, 6] == pytest.approx(np.exp(-10.0 / 4.0 * 1e-3))
    assert found.P[0, 6] == pytest.approx(1e-3, rel=3e-3)
    np.testing.assert_allclose(found.P[:6, :6], np.eye(6), atol=1e-6)
    np.testing.assert_array_equal(law.handle.twist, 0.0)
    assert probe_memory(PositionForce(), *sides()) is None


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (
            lambda a, b, dt: {}["gain"],
            r"raised KeyError: 'gain' \(test_sampled_law.py, line \d+\);",
        ),
        (lambda a, b, dt: None, "it returned None; its stability"),
        (
            lambda a, b, dt: (a.effort(), b.effort(np.full(6, np.nan))),
            "not a number; its stability",
        ),
    ],
)
def test_a_law_that_cannot_be_probed_is_told_in_one_line(monkeypatch, step, told):
    """A prediction is never where a user's mistake becomes a traceback."""
    law = PositionPosition()
    monkeypatch.setattr(law, "step", step)
    with pytest.raises(Mismatch, match=f"law 'position-position' .*{told}"):
        sample_law(law, *sides(), X)
    monkeypatch.setattr(law, "engage", lambda a, b: {}["pose"])
    with pytest.raises(Mismatch, match="raised KeyError: 'pose'"):
        probe_law(law, *sides())


@pytest.mark.parametrize("axis", [[2.0, 0.0, 0.0], [0.0, 0.0, 0.0], [np.nan, 0.0, 0.0], [1.0, 0.0]])
def test_an_axis_that_is_no_unit_vector_is_refused(axis):
    """One twice as long used to give a law twice as stiff without a word."""
    with pytest.raises(BadValue, match="unit vector"):
        sample_law(PositionPosition(), *sides(), np.array(axis))


class DeadBand(PositionPosition):
    """Pulls only beyond a few millimetres."""

    def step(self, a, b, dt):
        on_a, on_b = super().step(a, b, dt)
        near = np.linalg.norm(self.error[:3]) < 2e-3
        return a.effort(on_a.wrench * (not near)), b.effort(on_b.wrench * (not near))


@pytest.mark.parametrize(
    ("law", "linear"),
    [(PositionPosition, True), (PositionForce, True), (Admittance, True), (DeadBand, False)],
)
def test_a_dead_band_is_no_linear_law(law, linear):
    """Near rest it has no gain at all, so that a prediction from there says nothing of a run."""
    a, b = sides()
    assert is_linear(law(), a, b) == linear
    np.testing.assert_array_equal(a.position, 0.0)

"""Two-port: the matrix of a teleoperator, found by shaking it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farhand.analysis.shaking import Shaker, shake
from farhand.analysis.two_port import (
    HybridMatrix,
    PortSignals,
    components,
    hybrid_from,
    hybrid_of,
    multisine,
    static_hybrid_of,
)
from farhand.errors import BadValue, UnknownName
from farhand_lab.trial import dual_arm
from farhand_lab.youbot.measures import felt_inertia

F = np.array([1.0, 2.0, 3.0, 5.0])
DT = 1e-3


class Rod:
    """A light rod with a mass at its far end and a spring to it: everything known in closed
    form.
    """

    mass, stiffness, damping, scale = 2.0, 500.0, 20.0, 4.0

    def respond(self, position_hand, force_environment, dt):
        """Semi-implicit steps."""
        x = v = 0.0
        felt, moved = [], []
        for hand, push in zip(position_hand, force_environment, strict=True):
            pull = self.stiffness * (hand - x)
            felt.append(pull / self.scale)
            moved.append(x)
            v += dt * (pull - self.damping * v - push) / self.mass
            x += dt * v
        return np.array(felt), np.array(moved)

    def exact(self, frequency):
        """The matrix in continuous time."""
        s = 2j * np.pi * frequency
        z = self.stiffness + self.mass * s * s + self.damping * s
        h21, h22 = self.stiffness / z, -1.0 / z
        k = self.stiffness / self.scale
        return np.array([[k * (1.0 - h21), -k * h22], [h21, h22]]).transpose(2, 0, 1)


@given(st.lists(st.floats(-5.0, 5.0), min_size=8, max_size=8), st.floats(-1.0, 1.0))
def test_amplitudes_are_found_beside_a_mean_and_a_slope(parts, slope):
    """Least squares gives back what was put together."""
    wanted = np.array(parts[:4]) + 1j * np.array(parts[4:])
    t = DT * np.arange(2500)
    signal = np.real(wanted @ np.exp(2j * np.pi * np.outer(F, t))) + 0.3 + slope * t
    np.testing.assert_allclose(components(signal, F, DT), wanted, atol=1e-9)


def test_a_multisine_has_a_low_peak():
    """Schroeder's phases: far below the sum of the amplitudes."""
    t = DT * np.arange(10_000)
    frequencies = np.arange(1.0, 21.0)
    assert np.abs(multisine(frequencies, 1.0, t)).max() < 0.5 * len(frequencies)


def test_the_matrix_of_a_known_two_port_is_found():
    """Over frequency within a per cent, statically to rounding."""
    rod = Rod()
    found = hybrid_of(rod, F)
    np.testing.assert_allclose(found.h, rod.exact(F), rtol=0.02, atol=1e-5)
    static = static_hybrid_of(rod).h[0].real
    np.testing.assert_allclose(static, [[0.0, 0.25], [1.0, -1.0 / 500.0]], atol=1e-9)


@given(st.floats(50.0, 300.0), st.floats(600.0, 5000.0))
@settings(max_examples=5, deadline=None)
def test_any_two_unlike_environments_tell_the_same_matrix(soft, stiff):
    """Nothing needs to be held or free."""
    rod, t = Rod(), DT * np.arange(5000)
    x_h, runs = multisine(F, 0.005, t), []
    for stiffness in (soft, stiff):
        felt, moved = _against(rod, x_h, stiffness)
        runs.append(PortSignals(x_h, felt, moved, stiffness * moved, DT).after(3.0))
    np.testing.assert_allclose(hybrid_from(runs, F).h, rod.exact(F), rtol=0.05, atol=5e-5)


def _against(rod: Rod, x_h, stiffness: float):
    x = v = 0.0
    felt, moved = [], []
    for hand in x_h:
        pull = rod.stiffness * (hand - x)
        felt.append(pull / rod.scale)
        moved.append(x)
        v += DT * (pull - rod.damping * v - stiffness * x) / rod.mass
        x += DT * v
    return np.array(felt), np.array(moved)


def test_experiments_that_are_alike_are_refused():
    """Twice the same thing tells nothing new, and one experiment is not enough."""
    t = DT * np.arange(3000)
    x = multisine(F, 0.01, t)
    run = PortSignals(x, 3.0 * x, 0.5 * x, 10.0 * x, DT)
    with pytest.raises(BadValue, match="too similar"):
        hybrid_from([run, run], F)
    with pytest.raises(BadValue, match="two different"):
        hybrid_from([run], F)


@given(st.floats(0.1, 50.0), st.floats(0.1, 50.0), st.floats(1.0, 20.0))
def test_a_passive_rod_is_absolutely_stable_and_an_active_one_is_not(mass, damping, scale):
    """Llewellyn: a dissipating coupling is safe with any hand and wall; one with negative damping
    is not.
    """
    rod = Rod()
    rod.mass, rod.damping, rod.scale = mass, damping, scale
    assert HybridMatrix(F, rod.exact(F)).absolutely_stable(1e-9)
    rod.damping = -damping
    assert not HybridMatrix(F, rod.exact(F)).absolutely_stable()


def test_delay_makes_a_lossless_two_port_unsafe():
    """A rigid rod with a delay each way is no longer passive."""
    late = np.exp(-2j * np.pi * F * 0.01)
    h = np.zeros((len(F), 2, 2), complex)
    h[:, 0, 1] = h[:, 1, 0] = 1.0
    assert HybridMatrix(F, h).absolutely_stable()
    h[:, 0, 1], h[:, 1, 0] = late, late
    assert not HybridMatrix(F, h).absolutely_stable()


def test_a_real_rig_tells_its_matrix_when_shaken():
    """The dual-arm rig under position–position: rigid within the spring, and the hand moves both
    arms.
    """
    frequencies, y = np.array([1.0, 1.5, 2.0, 2.5, 3.0]), np.array([0.0, 1.0, 0.0])
    runs = []
    for stiffness in ({"leader": 0.0}, {"leader": 0.0, "follower": 2000.0}):
        rig = dual_arm("position-position", "rest")
        shakers = {name: Shaker(frequencies, 3.0, y, k) for name, k in stiffness.items()}
        runs.append(
            shake(rig.session, rig.world, shakers, {"leader": y, "follower": y}, 5.0).after(2.0)
        )
        arms = [station.arm for station in rig.session.stations]
        own = [1.0 / float((arm.J @ np.linalg.solve(arm.M, arm.J.T))[1, 1]) for arm in arms]
        rig.close()
    matrix = hybrid_from(runs, frequencies)
    assert felt_inertia(matrix) == pytest.approx(sum(own), rel=0.15)
    np.testing.assert_allclose(np.abs(matrix.h[0, [0, 1], [1, 0]]), 1.0, atol=0.06)
    assert matrix.absolutely_stable()


def test_shaking_a_robot_that_is_not_there_is_refused():
    """With those that are."""
    rig = dual_arm("position-position", "rest")
    with pytest.raises(UnknownName, match="follower, leader"):
        shake(rig.session, rig.world, {}, {"leader": np.ones(3), "base": np.ones(3)}, 1.0)
    rig.close()

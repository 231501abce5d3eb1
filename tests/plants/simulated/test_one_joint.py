"""One joint on a bench."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farhand.errors import OutOfRange
from farhand.friction import make
from farhand.plants.simulated.one_joint import WHEEL_INERTIA, DriveFaults, OneJoint


@given(torque=st.floats(-1.0, 1.0), inertia=st.floats(1e-3, 1.0))
@settings(max_examples=20, deadline=None)
def test_without_friction_it_falls_freely(torque, inertia):
    """The position is τ t²/2J to rounding."""
    joint = OneJoint(make("viscous", viscous=0.0), inertia)
    for _ in range(100):
        joint.step(torque)
    np.testing.assert_allclose(joint.position, 0.5 * torque / inertia * 0.01, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["coulomb", "kfm", "lugre", "gms", "youbot-wheel-1"])
def test_kinetic_energy_goes_into_friction(name):
    """A joint that runs down loses exactly what friction took, but for the solver's own small
    loss.
    """
    joint = OneJoint(make(name), substeps=4)
    joint.velocity[:] = 3.0
    before = 0.5 * WHEEL_INERTIA * 9.0
    for _ in range(2000):
        joint.step(0.0)
    assert abs(joint.velocity[0]) < 1e-3
    np.testing.assert_allclose(joint.work[0], before, rtol=0.01)


@given(command=st.floats(-0.2, 0.2))
def test_the_offset_fault_never_lets_the_torque_go_below_it(command):
    """|τ| is the larger of command and offset, in the command's direction."""
    joint = OneJoint(make("viscous"), faults=DriveFaults(offset=0.03))
    joint.step(command)
    assert abs(joint.torque[0]) == pytest.approx(max(abs(command), 0.03))
    assert joint.torque[0] * command >= 0.0


def test_an_unsigned_current_has_no_sign():
    """Only the measurement loses it; the joint still moves backwards."""
    joint = OneJoint(make("viscous"), faults=DriveFaults(unsigned_current=True))
    joint.step(-0.1)
    assert joint.measured_torque[0] == pytest.approx(0.1)
    assert joint.velocity[0] < 0.0


def test_the_torque_lag_is_an_exponential():
    """63 % after one time constant."""
    joint = OneJoint(make("viscous"), faults=DriveFaults(lag=0.01))
    for _ in range(10):
        joint.step(1.0)
    assert joint.torque[0] == pytest.approx(1.0 - np.exp(-1.0))


def test_the_same_seed_gives_the_same_noise():
    """Noise comes from the generator that was passed in."""
    readings = []
    for _ in range(2):
        joint = OneJoint(
            make("viscous"), faults=DriveFaults(torque_noise=0.01), rng=np.random.default_rng(5)
        )
        readings.append(joint.measured_torque[0])
    assert readings[0] == readings[1] != 0.0


def test_a_joint_without_inertia_is_refused():
    """It could not be simulated, and does not exist."""
    with pytest.raises(OutOfRange, match="inertia"):
        OneJoint(make("coulomb"), 0.0)

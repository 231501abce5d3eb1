"""The virtual handle moves as a body would, and never runs away from the tool."""

from __future__ import annotations

import numpy as np

from farhand.coupling import Admittance
from farhand.coupling.admittance import DAMPING, TIED_S
from farhand.coupling.engagement import Engagement
from farhand.spatial import rotation_vector
from tests.coupling.conftest import acceleration

DT = 1e-3


def engaged(pair, **parameters):
    """A law engaged on two arms at rest, untouched until its handle is free."""
    law, (a, b) = Admittance(**parameters), pair(1, moving=False)
    a.wrench, b.wrench = np.zeros(6), np.zeros(6)
    law.engage(a, b)
    for _ in range(round(TIED_S / DT) + 1):
        law.step(a, b, DT)
    return law, a, b


def test_a_steady_push_brings_the_handle_to_the_speed_of_its_damping(pair):
    """M_v v̇ + B_v v = f: v(t) = f/B (1 − e^{−B t/M}), met at every step because the update is
    exact.
    """
    law, a, b = engaged(pair, mass=2.0, damping=10.0, leash=1.0)
    a.wrench[0] = 5.0
    for tick in range(1, 201):
        law.step(a, b, DT)
        expected = 0.5 * (1.0 - np.exp(-5.0 * tick * DT))
        np.testing.assert_allclose(law.handle.twist[0], expected, rtol=1e-9)


def test_equal_and_opposite_wrenches_leave_the_handle_at_rest(pair):
    """A hand that pushes as hard as the environment pushes back moves nothing."""
    law, a, b = engaged(pair)
    a.wrench[:], b.wrench[:] = 7.0, -7.0
    for _ in range(100):
        law.step(a, b, DT)
    np.testing.assert_array_equal(law.handle.twist, 0.0)


def test_the_leader_is_sent_to_the_handle_and_the_follower_to_the_leader(pair):
    """Both efforts name targets, for arms that take nothing else."""
    law, a, b = engaged(pair)
    a.wrench[2] = 20.0
    for _ in range(50):
        on_a, on_b = law.step(a, b, DT)
    assert on_a.target is law.handle and on_b.target is law.mapping
    assert law.handle.position[2] > a.position[2]
    assert on_a.wrench[2] > 0.0
    np.testing.assert_allclose(on_b.wrench, 0.0, atol=1e-6)  # the leader has not moved yet


def test_an_arm_that_cannot_follow_does_not_wind_up(pair):
    """A second of 50 N against an arm that stands still: the handle waits at the end of its leash,
    at rest.
    """
    law, a, b = engaged(pair, leash=0.02, turn_leash=0.1)
    a.wrench[:] = [50.0, 0.0, 0.0, 0.0, 5.0, 0.0]
    for _ in range(1000):
        law.step(a, b, DT)
    assert np.linalg.norm(law.handle.position - a.position) <= 0.02 + 1e-12
    np.testing.assert_array_equal(law.handle.twist, 0.0)


def test_lost_measurements_let_the_handle_come_to_rest(pair):
    """Without wrenches the damping alone acts."""
    law, a, b = engaged(pair, mass=1.0, damping=50.0)
    a.wrench[1] = 10.0
    for _ in range(20):
        law.step(a, b, DT)
    a.wrench = b.wrench = None
    for _ in range(500):
        law.step(a, b, DT)
    assert np.abs(law.handle.twist).max() < 1e-6


def test_the_leader_accelerates_with_the_handle_and_towards_it(pair):
    """Newton's law: ẍ = ẍ_h + K_d (ẋ_h − ẋ) + K_p e, up to the damping of the inverse."""
    law, (a, b) = Admittance(leash=1.0, turn_leash=3.0), pair(1)
    law.engage(a, b)
    for _ in range(round(TIED_S / DT) + 1):
        law.step(a, b, DT)
    before = law.handle.twist.copy()
    on_a, _ = law.step(a, b, DT)
    ahead = (law.handle.twist - before) / DT
    error = np.concatenate(
        [law.handle.position - a.position, rotation_vector(law.handle.rotation @ a.rotation.T)]
    )
    rate = law.handle.twist - a.twist
    wanted = ahead + law.derivative * rate + law.proportional * error
    gamma = a.arm.J @ np.linalg.solve(a.arm.M, a.arm.J.T)
    met = acceleration(a, on_a.wrench)
    free = acceleration(a, np.zeros(6))
    # The damped inverse does Γ² (Γ² + ρ² I)⁻¹ of what is missing.
    share = gamma @ gamma @ np.linalg.inv(gamma @ gamma + DAMPING**2 * np.eye(6))
    np.testing.assert_allclose(met - free, share @ (wanted - free), rtol=1e-6, atol=1e-6)
    assert np.abs(ahead).max() > 1.0


def test_a_handle_without_damping_is_a_free_body(pair):
    """Newton's law alone: v = f t / M on all six axes, and it goes as far as its speed takes it."""
    law, a, b = engaged(pair, damping=0.0, rotational_damping=0.0, leash=1.0, turn_leash=1.0)
    a.wrench[:] = [4.0, -8.0, 2.0, 0.1, 0.2, -0.2]
    for _ in range(100):
        law.step(a, b, DT)
    speed = a.wrench / np.repeat([law.mass, law.inertia], 3) * 0.1
    np.testing.assert_allclose(law.handle.twist, speed, rtol=1e-9)
    way = speed * 0.1 * (100 + 1) / 200
    np.testing.assert_allclose(law.handle.position - a.position, way[:3], rtol=1e-9)
    turned = rotation_vector(law.handle.rotation @ a.rotation.T)
    np.testing.assert_allclose(turned, way[3:], rtol=1e-9)


def test_after_an_engagement_the_handle_is_let_go_little_by_little(pair):
    """After a third of the time it keeps a third of what it gained on the tool: speed, way and
    turn.
    """
    law, (a, b) = Admittance(leash=1.0, turn_leash=1.0), pair(1)
    law.engage(a, b)
    law.step(a, b, TIED_S / 3.0)
    decay = np.repeat([law.damping / law.mass, law.rotational_damping / law.inertia], 3)
    steady = (a.wrench + b.wrench) / np.repeat([law.damping, law.rotational_damping], 3)
    free = steady + (a.twist - steady) * np.exp(-decay * TIED_S / 3.0)
    np.testing.assert_allclose(law.handle.twist, a.twist + (free - a.twist) / 3.0, rtol=1e-9)
    way = free * TIED_S / 9.0
    np.testing.assert_allclose(law.handle.position - a.position, way[:3], rtol=1e-9)
    turned = rotation_vector(law.handle.rotation @ a.rotation.T)
    np.testing.assert_allclose(turned, way[3:], rtol=1e-9)
    assert np.abs(free - a.twist).min() > 0.01


def test_while_efforts_fade_in_the_handle_has_not_a_tenth_of_its_free_speed(pair):
    """The arm does not follow yet: a push during the ramp of an engagement winds nothing up."""
    law, (a, b) = Admittance(mass=2.0, damping=10.0), pair(1, moving=False)
    a.wrench, b.wrench = np.array([5.0, 0.0, 0.0, 0.0, 0.0, 0.0]), np.zeros(6)
    law.engage(a, b)
    for _ in range(round(Engagement().ramp / DT)):
        law.step(a, b, DT)
    free = 0.5 * (1.0 - np.exp(-5.0 * Engagement().ramp))
    assert 0.0 < law.handle.twist[0] < 0.1 * free

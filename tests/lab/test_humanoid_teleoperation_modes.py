"""Ways to lead a limb besides position: velocity mode, rate sphere, buttons, torque illusion."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.errors import BadValue
from farhand.spatial import rotation_from_vector
from farhand_lab.humanoid.teleoperation_modes import (
    MODELS,
    MeanVelocity,
    PenButtons,
    RateSphere,
    TorqueIllusion,
    VelocityMode,
)

coordinate = st.floats(-0.1, 0.1)
Q = np.radians([30.0, 40.0, 60.0])


def test_the_joints_move_the_wrist_as_the_hand_moves_times_the_scale() -> None:
    """J q̇ = k v away from singular postures."""
    mode, v = VelocityMode(scale=3.0), np.array([0.01, -0.02, 0.03])
    command = mode.step(v, Q)
    np.testing.assert_allclose(mode.chain.jacobian(Q) @ command.unlimited, 3.0 * v, atol=1e-12)
    assert not command.singular


def test_a_joint_goes_to_the_limit_ahead_of_it_and_a_resting_hand_keeps_the_posture() -> None:
    """The published trick."""
    mode = VelocityMode()
    command = mode.step(np.array([0.05, 0.0, 0.0]), Q)
    ahead = np.where(command.unlimited > 0.0, mode.chain.highest, mode.chain.lowest)
    np.testing.assert_array_equal(command.targets, ahead)
    rest = mode.step(np.zeros(3), Q)
    np.testing.assert_array_equal(rest.targets, Q)
    assert not rest.speeds.any()


@pytest.mark.parametrize("elbow", [0.0, 0.1, 1.0])
def test_the_guard_keeps_every_joint_within_its_servo(elbow: float) -> None:
    """However fast the hand and however straight the elbow."""
    mode = VelocityMode()
    command = mode.step(np.array([2.0, 1.0, -3.0]), np.radians([30.0, 40.0, elbow]))
    assert (command.speeds <= mode.top + 1e-9).all()
    assert command.singular


def test_the_mean_of_a_steady_speed_is_that_speed_once_the_window_is_full() -> None:
    """And before that less, as if the hand had rested."""
    mean = MeanVelocity(4)
    velocities = [float(mean.step(np.array([0.002 * k]), 1e-3)[0]) for k in range(8)]
    np.testing.assert_allclose(velocities, [0.0, 0.5, 1.0, 1.5, 2.0, 2.0, 2.0, 2.0], atol=1e-12)


def test_a_window_of_nothing_is_refused() -> None:
    """One line."""
    with pytest.raises(BadValue, match="window"):
        MeanVelocity(0)


@given(offset=st.tuples(coordinate, coordinate, coordinate))
def test_speed_follows_the_offset_and_never_exceeds_the_top(
    offset: tuple[float, float, float],
) -> None:
    """Parallel to the offset, the pull against it."""
    sphere, at = RateSphere(), np.array(offset)
    v, f = sphere.velocity(at), sphere.force(at)
    assert np.linalg.norm(v) <= sphere.speed * (1 + 1e-12)
    assert np.linalg.norm(np.cross(v, at)) < 1e-12 and v @ at >= 0.0
    assert f @ at <= 0.0
    if np.linalg.norm(at) <= sphere.radius:
        np.testing.assert_allclose(v, sphere.speed * at / sphere.radius, atol=1e-12)
        np.testing.assert_allclose(f, -sphere.stiffness * at, atol=1e-9)


def test_the_anchor_is_rest() -> None:
    """No speed and no pull."""
    sphere = RateSphere(anchor=np.array([0.1, 0.2, 0.3]))
    assert not sphere.velocity(sphere.anchor).any() and not sphere.force(sphere.anchor).any()


def test_a_held_button_counts_once() -> None:
    """On, still on, off at the next press."""
    panel = PenButtons()
    states = [panel.step({"toggle": down}) and panel.running for down in (True, True, False, True)]
    assert (states[0], panel.running) == (True, False)


def test_the_second_button_goes_round_all_models_but_not_while_the_loop_runs() -> None:
    """A limb is not exchanged under way."""
    panel, models = PenButtons(), []
    for _ in MODELS:
        panel.step({"model": True})
        panel.step({"model": False})
        models.append(panel.model)
    assert models == [*MODELS[1:], MODELS[0]]
    panel.step({"toggle": True, "model": True})
    assert panel.model == MODELS[0]


@given(st.tuples(coordinate, coordinate, coordinate), st.tuples(coordinate, coordinate, coordinate))
def test_the_force_at_the_wrist_point_turns_the_pen_as_commanded_but_never_about_itself(
    torque: tuple[float, float, float], turned: tuple[float, float, float]
) -> None:
    """About the fingers, lever times force is the part of the torque across the pen."""
    law, R = TorqueIllusion(), rotation_from_vector(np.array(turned))
    across = np.array(torque) - R[:, 0] * (R[:, 0] @ torque)
    force = law.force(np.array(torque), 0.0, R)
    np.testing.assert_allclose(np.cross(R @ law.lever, force), across, atol=1e-12)


def test_shaking_changes_no_mean() -> None:
    """A force that alternates about its mean has the mean torque of that mean."""
    law, torque = TorqueIllusion(shake=1.0), np.array([0.0, 0.02, 0.01])
    forces = np.array([law.force(torque, t) for t in np.arange(0.0, 0.1, 1e-4)])
    np.testing.assert_allclose(np.cross(law.lever, forces.mean(axis=0)), torque, atol=1e-9)
    assert np.ptp(forces, axis=0).max() > 0.1

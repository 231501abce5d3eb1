"""Pose loop and its Lyapunov monitor: errors vanish as the gains say, integrals stay in bounds."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from farhand.control.tool.task import PoseLoop
from farhand.control.trajectory.paths import Reference
from farhand.spatial import rotation_from_vector, rotation_vector
from farhand_lab.cooperative.control import TurningError
from farhand_lab.lyapunov import AttitudeMonitor


def arm(position=(0.0, 0.0, 0.0), rotation=None) -> SimpleNamespace:
    R = np.eye(3) if rotation is None else rotation
    return SimpleNamespace(position=np.array(position), rotation=R, twist=np.zeros(6))


def test_gains_multiply_error_rate_and_integral():
    """The sum ẍ_d + k_d ẋ_e + k_p x_e + k_i ∫x_e."""
    loop, reference = PoseLoop(kp=2.0, kd=3.0, ki=5.0), Reference()
    reference.position[:], reference.twist[:3], reference.acceleration[:3] = (
        (1, 0, 0),
        (0, 1, 0),
        (0, 0, 1),
    )
    np.testing.assert_allclose(loop.position(arm(), reference, 0.1), [2.0 + 5.0 * 0.1, 3.0, 1.0])


@pytest.mark.parametrize("kind", ["axis-angle", "rpy", "quaternion"])
def test_every_error_turns_the_tool_the_short_way(kind: str):
    """Along the axis of the turn that is missing, for a turn of 0.3 rad about a slanted axis."""
    turn = np.array([0.1, -0.2, 0.2])
    loop, reference = PoseLoop(kpo=1.0, kdo=0.0, error=kind), Reference()
    R = rotation_from_vector(np.array([0.5, 0.4, -0.9]))
    reference.rotation[:] = rotation_from_vector(turn) @ R
    wanted = loop.orientation(arm(rotation=R), reference, 0.004)
    assert wanted @ turn > 0.98 * np.linalg.norm(wanted) * np.linalg.norm(turn)
    expected = {"axis-angle": np.sin(0.3), "quaternion": np.sin(0.15), "rpy": 0.3}[kind]
    assert np.linalg.norm(wanted) == pytest.approx(expected, rel=0.02)


def test_the_integral_is_clamped_per_component():
    """A loop that never arrives stops integrating at its limit."""
    loop, reference = PoseLoop(ki=1.0, limit=0.5), Reference()
    for _ in range(1000):
        loop.position(arm((0.2, -0.3, 0.0)), reference, 0.01)
    np.testing.assert_allclose(loop.integral, [-0.5, 0.5, 0.0])


def test_the_error_of_orientation_is_integrated_as_that_of_position_and_clamped():
    """k_io ∫O_e dt of a turn of 0.1 rad that stays, over 0.5 s; then the clamp."""
    loop, reference = PoseLoop(kpo=0.0, kio=5.0, limit_o=0.06), Reference()
    reference.rotation[:] = rotation_from_vector(np.array([0.1, 0.0, 0.0]))
    for _ in range(50):
        wanted = loop.orientation(arm(), reference, 0.01)
    np.testing.assert_allclose(wanted, [5.0 * 0.5 * np.sin(0.1), 0.0, 0.0], atol=1e-12)
    for _ in range(50):
        wanted = loop.orientation(arm(), reference, 0.01)
    np.testing.assert_allclose(wanted, [5.0 * 0.06, 0.0, 0.0], atol=1e-12)


def test_sliding_mode_is_a_stiff_pd_law_plus_a_relay():
    """K1 Λ on the error, Λ + K1 on the rate, K2 on the sign; the layer makes the relay a gain."""
    reference = Reference()
    reference.rotation[:] = rotation_from_vector(np.array([1e-3, 0.0, 0.0]))
    reference.twist[3:] = (0.0, 2e-3, 0.0)
    e = np.sin(1e-3)
    relay = PoseLoop(law="sliding").orientation(arm(), reference, 0.0)
    np.testing.assert_allclose(relay, [1000.0 * e + 1.0, 110.0 * 2e-3 + 1.0, 0.0], atol=1e-9)
    smooth = PoseLoop(law="sliding", layer=1.0).orientation(arm(), reference, 0.0)
    np.testing.assert_allclose(
        smooth, [1000.0 * e + 100.0 * e, 110.0 * 2e-3 + 2e-3, 0.0], atol=1e-9
    )


@pytest.mark.parametrize("kind", ["axis-angle", "quaternion"])
def test_the_monitor_never_rises_while_a_body_turns_back(kind: str):
    """From 100° away, turning; it ends where it should."""
    loop, reference = PoseLoop(kpo=100.0, kdo=20.0, error=kind), Reference()
    body = TurningError(
        rotation_from_vector(np.array([1.0, 1.0, -1.0])), np.array([1.0, -2.0, 0.5])
    )
    monitor = AttitudeMonitor(loop)
    for _ in range(300):
        monitor.sample(body, reference)
        body.advance(loop, reference, 0.01)
    assert monitor.rise <= 1e-9 and monitor.value < 1e-3
    assert np.linalg.norm(rotation_vector(body.rotation)) < 0.05

"""The Powerball on a base with a crane is the fixed Powerball, moved by four more joints."""

from __future__ import annotations

import numpy as np

from farhand.arm import Arm
from farhand.robots import load_robot
from farhand.spatial import rotation_from_vector


def test_the_arm_on_the_base_is_the_fixed_arm_carried_along() -> None:
    """Tool poses differ by the base's travel, turn and height alone, at random joints."""
    whole, alone = Arm.of(load_robot("cernbot")), Arm.of(load_robot("lwa4p"))
    rng = np.random.default_rng(2)
    for _ in range(20):
        x, y, z = rng.uniform(-1.0, 1.0, 3)
        yaw, q = rng.uniform(-3.0, 3.0), rng.uniform(-2.7, 2.7, 6)
        whole.update(np.concatenate([[x, y, yaw, z], q]), np.zeros(10))
        alone.update(q, np.zeros(6))
        turn = rotation_from_vector(np.array([0.0, 0.0, yaw]))
        np.testing.assert_allclose(
            whole.position, turn @ alone.position + [x, y, z + 0.6], atol=1e-12
        )
        np.testing.assert_allclose(whole.rotation, turn @ alone.rotation, atol=1e-12)


def test_the_arms_joints_have_the_fixed_arms_limits() -> None:
    """Positions, speeds and torques; the base's own come before them."""
    whole, alone = load_robot("cernbot").limits, load_robot("lwa4p").limits
    for name in ("lower", "upper", "velocity", "torque"):
        np.testing.assert_array_equal(getattr(whole, name)[4:], getattr(alone, name))


def test_the_crane_carries_arm_and_carriage() -> None:
    """Weight on the slide: 10 kg of carriage, 13.5 kg of moving arm; nothing on the wheels."""
    arm = Arm.of(load_robot("cernbot"))
    arm.update(load_robot("cernbot").home, np.zeros(10))
    np.testing.assert_allclose(arm.gravity[:4], [0.0, 0.0, 0.0, 9.81 * 23.5], atol=1e-9)

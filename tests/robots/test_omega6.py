"""The omega.6: six axes sensed, three driven, decoupled where the wrist's axes meet."""

from __future__ import annotations

import numpy as np

from farhand.arm import Arm
from farhand.mapping.pen import pen_rotation
from farhand.robots import load_robot


def test_forces_turn_nothing_and_turning_moves_nothing() -> None:
    """The Jacobian is the identity for translations and has no coupling blocks, in any posture."""
    arm = Arm.of(load_robot("omega6"))
    for q in np.random.default_rng(2).uniform(-1.0, 1.0, (20, 6)):
        arm.update(q, np.zeros(6))
        np.testing.assert_allclose(arm.J[:3, :3], np.eye(3), atol=1e-12)
        np.testing.assert_allclose(arm.J[:3, 3:], 0.0, atol=1e-12)
        np.testing.assert_allclose(arm.J[3:, :3], 0.0, atol=1e-12)


def test_it_moves_like_300_grams_and_only_its_translations_are_driven() -> None:
    """Equal in all directions; the wrist adds nothing that depends on posture."""
    robot = load_robot("omega6")
    arm = Arm.of(robot)
    arm.update(np.array([0.02, -0.01, 0.03, 0.5, -0.4, 1.0]), np.zeros(6))
    np.testing.assert_allclose(arm.M[:3, :3], 0.3 * np.eye(3), atol=1e-12)
    assert robot.actuated.tolist() == [True] * 3 + [False] * 3


def test_the_wrist_turns_in_the_order_of_the_published_angles() -> None:
    """Hinges x, y, z at (−o_z, o_y, −o_x) give the rotation that the pen's message stands for."""
    arm = Arm.of(load_robot("omega6"))
    for ox, oy, oz in np.random.default_rng(3).uniform(-1.0, 1.0, (20, 3)):
        arm.update(np.array([0.0, 0.0, 0.0, -oz, oy, -ox]), np.zeros(6))
        np.testing.assert_allclose(arm.rotation, pen_rotation(np.array([ox, oy, oz])), atol=1e-12)

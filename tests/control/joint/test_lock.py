"""Joint lock: a locked joint is pulled to its angle, the others are left alone."""

from __future__ import annotations

import numpy as np

from farhand.control.joint.loops import JointLock


def test_only_locked_joints_get_a_torque_towards_their_angle():
    """Spring and damper on joint 3, on top of what is there already."""
    lock = JointLock(stiffness=100.0, damping=2.0, angles={2: 0.5})
    torque = np.ones(4)
    lock.add_torque(np.array([9.0, 9.0, 0.7, 9.0]), np.array([5.0, 5.0, -1.0, 5.0]), torque)
    np.testing.assert_allclose(torque, [1.0, 1.0, 1.0 - 100.0 * 0.2 + 2.0, 1.0])


def test_nothing_locked_is_nothing_added():
    """The default."""
    torque = np.zeros(3)
    JointLock().add_torque(np.ones(3), np.ones(3), torque)
    assert not torque.any()

"""The virtual handle of joints: each joint a body of its own, on its own leash."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.coupling import Admittance, Side
from farhand.coupling.port import JointPort
from farhand.mapping.joint_map import JointMapping
from farhand.robots import load_robot

DT = 1e-3


def engaged(**parameters) -> tuple[Admittance, Side, Side]:
    """Two arms of six joints at rest; the leader's joint 4 drives nothing."""
    sides = []
    for role in ("leader", "follower"):
        robot = load_robot("so101")
        arm = Arm.of(robot)
        arm.update(robot.home + 0.1, np.zeros(6))
        side = Side(role, arm)
        side.torque = np.zeros(6)
        sides.append(side)
    source = (0, 1, 2, 3, -1, 5)
    law = Admittance(mapping=JointMapping(source, (1.0,) * 6, 6, idle=(4,)), **parameters)
    law.engage(*sides)
    law.settle()
    return law, *sides


def test_a_steady_torque_brings_each_joint_of_the_handle_to_its_own_speed():
    """M v̇ + B v = τ_a + Sᵀτ_b: v = τ/B (1 − e^{−Bt/M}), idle joints too, and their sum is the way.

    What touches the follower's joint 5 moves nothing of the leader's: nothing drives it.
    """
    law, a, b = engaged(inertia=0.2, rotational_damping=1.0, turn_leash=1.0)
    a.torque = np.array([0.1, -0.2, 0.3, 0.0, 0.1, 0.05])
    b.torque = np.array([0.2, 0.1, -0.3, 0.0, 0.5, 0.0])
    felt = a.torque + b.torque * [1, 1, 1, 1, 0, 1]
    way = np.zeros(6)
    for tick in range(1, 101):
        on_a, _ = law.step(a, b, DT)
        speed = felt * (1.0 - np.exp(-5.0 * tick * DT))
        np.testing.assert_allclose(law.handle.rate, speed, rtol=1e-9, atol=1e-15)
        way += speed * DT
    np.testing.assert_allclose(law.handle.q - a.q, way, rtol=1e-9, atol=1e-15)
    # the leader accelerates as the handle does, and towards it
    arm = a.arm
    load = on_a.wrench + a.torque - arm.coriolis
    wanted = felt * 5.0 * np.exp(-5.0 * 100 * DT)
    wanted = wanted + law.derivative * law.handle.rate + law.proportional * way
    np.testing.assert_allclose(np.linalg.solve(arm.M, load), wanted, rtol=1e-3, atol=1e-9)


def test_a_joint_that_cannot_follow_waits_at_the_end_of_its_leash_alone():
    """One is held back, at the leader's speed; the others go on."""
    law, a, b = engaged(inertia=0.2, rotational_damping=1.0, turn_leash=0.02)
    a.torque = np.array([1.0, -1.0, 0.0, 0.0, 0.0, 0.01])
    for _ in range(300):
        law.step(a, b, DT)
    np.testing.assert_allclose(law.handle.q[:2] - a.q[:2], [0.02, -0.02], rtol=1e-9)
    np.testing.assert_allclose(law.handle.rate[:2], 0.0, atol=1e-12)
    assert 0.0 < law.handle.q[5] - a.q[5] < 0.02
    assert law.handle.rate[5] == pytest.approx(0.01 * (1.0 - np.exp(-1.5)), rel=1e-9)


def test_a_step_of_a_slide_is_bounded_in_metres_and_of_a_hinge_in_radians():
    """By the kind of the joint that a leader's joint drives; what is short enough stays."""
    mapping = JointMapping((1, 0), (1.0, 1.0), 2, slides=[True, False])
    port = JointPort(mapping)
    np.testing.assert_array_equal(port.bounded(np.array([1.0, 1.0]), 0.1, 0.5), [0.5, 0.1])
    np.testing.assert_array_equal(port.bounded(np.array([-1.0, -1.0]), 0.1, 0.5), [-0.5, -0.1])
    np.testing.assert_array_equal(port.bounded(np.array([0.3, -0.05]), 0.1, 0.5), [0.3, -0.05])

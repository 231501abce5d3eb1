"""The iiwa 14 against its public table, written out here once more."""

from __future__ import annotations

import functools

import numpy as np
import pinocchio as pin

from farhand.robots import load_robot

# sources/hazardous §2.3, classic convention, a = 0 everywhere
ALPHA = np.array([-1, 1, 1, -1, -1, 1, 0]) * np.pi / 2
D = [0.360, 0.0, 0.420, 0.0, 0.400, 0.0, 0.126]  # [m]


def link(alpha: float, d: float, theta: float) -> np.ndarray:
    c, s, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
    return np.array(
        [[c, -s * ca, s * sa, 0], [s, c * ca, -c * sa, 0], [0, sa, ca, d], [0, 0, 0, 1]]
    )


def test_the_tool_is_where_the_table_puts_it() -> None:
    """Every link length and every direction of turning."""
    model = load_robot("iiwa14").pinocchio()
    data, frame = model.createData(), model.getFrameId("tool")
    for q in np.random.default_rng(2).uniform(-np.pi, np.pi, (50, 7)):
        pin.framesForwardKinematics(model, data, q)
        expected = functools.reduce(
            np.matmul, [link(*row) for row in zip(ALPHA, D, q, strict=True)]
        )
        np.testing.assert_allclose(data.oMf[frame].homogeneous, expected, rtol=0, atol=1e-12)


def test_limits_are_those_of_the_brochure() -> None:
    """Ranges, speeds and torques of the seven axes."""
    limits = load_robot("iiwa14").limits
    np.testing.assert_allclose(np.degrees(limits.upper), [170, 120, 170, 120, 170, 120, 175])
    np.testing.assert_allclose(np.degrees(limits.velocity), [85, 85, 100, 75, 130, 135, 135])
    np.testing.assert_array_equal(limits.torque, [320, 320, 176, 176, 110, 40, 40])


def test_the_moving_links_weigh_what_the_public_descriptions_say() -> None:
    """25.61 kg; with its base the arm is sold as 29.9 kg."""
    assert load_robot("iiwa14").compile().body_mass.sum() == np.float64(25.61)


def test_it_can_hold_its_payload_stretched_out() -> None:
    """14 kg at full reach, within the torque limits: masses and limits are of one size."""
    robot = load_robot("iiwa14")
    model = robot.pinocchio()
    q = np.array([0.0, np.pi / 2, 0.0, 0.0, 0.0, 0.0, 0.0])
    J = pin.computeFrameJacobian(
        model, model.createData(), q, model.getFrameId("tool"), pin.LOCAL_WORLD_ALIGNED
    )
    torque = pin.computeGeneralizedGravity(model, model.createData(), q) + J[2] * 14 * 9.81
    assert (np.abs(torque) < robot.limits.torque).all()

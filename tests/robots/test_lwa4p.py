"""The Powerball against the published table, written out here once more."""

from __future__ import annotations

import functools

import numpy as np
import pinocchio as pin

from farhand.robots import load_robot

# a [m], alpha [rad], d [m], theta offset [rad]: sources/hazardous §2.1, Table 2.1
TABLE = [
    (0.0, -np.pi / 2, 0.205, 0.0),
    (0.350, np.pi, 0.0, -np.pi / 2),
    (0.0, -np.pi / 2, 0.0, -np.pi / 2),
    (0.0, np.pi / 2, 0.305, 0.0),
    (0.0, -np.pi / 2, 0.0, 0.0),
    (0.0, 0.0, 0.075, 0.0),
]


def link(a: float, alpha: float, d: float, theta: float) -> np.ndarray:
    c, s, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
    return np.array(
        [[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0, sa, ca, d], [0, 0, 0, 1]]
    )


def table_pose(q: np.ndarray) -> np.ndarray:
    return functools.reduce(
        np.matmul, [link(a, al, d, o + x) for (a, al, d, o), x in zip(TABLE, q, strict=True)]
    )


def tool(q: np.ndarray) -> np.ndarray:
    model = load_robot("lwa4p").pinocchio()
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    return data.oMf[model.getFrameId("tool")].homogeneous


def test_the_tool_is_where_the_published_table_puts_it() -> None:
    """The model was drawn from axes at zero joints; the table is the product of six matrices."""
    rng = np.random.default_rng(1)
    for q in rng.uniform(-np.pi, np.pi, (50, 6)):
        np.testing.assert_allclose(tool(q), table_pose(q), rtol=0, atol=1e-12)


def test_at_zero_joints_it_points_straight_up() -> None:
    """The published start pose: 0.935 m high, not turned."""
    expected = np.eye(4)
    expected[2, 3] = 0.935
    np.testing.assert_allclose(tool(np.zeros(6)), expected, rtol=0, atol=1e-12)


def test_limits_and_weight_are_those_of_the_data_sheet() -> None:
    """±160° and 72°/s on every joint; 15 kg with the base."""
    robot = load_robot("lwa4p")
    np.testing.assert_allclose(np.degrees(robot.limits.upper), 160.0)
    np.testing.assert_allclose(np.degrees(robot.limits.lower), -160.0)
    np.testing.assert_allclose(np.degrees(robot.limits.velocity), 72.0)
    assert robot.compile().body_mass.sum() + 1.5 == np.float64(15.0)


def test_home_is_far_from_singular_and_vertical_has_rank_three() -> None:
    """The published start of every solve is the worst place there is."""
    robot = load_robot("lwa4p")
    model = robot.pinocchio()
    data, frame = model.createData(), model.getFrameId("tool")
    ranks = {}
    for name, q in robot.postures.items():
        J = pin.computeFrameJacobian(model, data, np.array(q), frame, pin.LOCAL_WORLD_ALIGNED)
        ranks[name] = np.linalg.matrix_rank(J, tol=1e-9)
        if name == "ready":
            assert np.linalg.cond(J) < 30
    assert ranks == {"ready": 6, "vertical": 3}

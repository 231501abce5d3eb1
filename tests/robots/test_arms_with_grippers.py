"""The small and the common arms with a gripper, against data sheets and published tables."""

from __future__ import annotations

import functools

import mujoco
import numpy as np
import pytest

from farhand.robots import Robot, load_robot

# mass with the base [kg] and farthest tool from the second joint [m], of the published files
ARMS = {
    "so101": (0.632, 0.41),
    "so101-leader": (0.658, 0.40),
    "koch": (0.3445, 0.32),
    "koch-leader": (0.339, 0.31),
    "openarm": (5.89, 0.625),
    "vx300s": (3.742, 0.775),
    "xarm7": (12.07, 0.92),
    "panda": (19.17, 0.95),
    "fr3": (18.60, 0.95),
}
# proximal convention of the maker: a, d, α of joints 1 to 7 and the flange
FRANKA = [
    (0.0, 0.333, 0.0),
    (0.0, 0.0, -np.pi / 2),
    (0.0, 0.316, np.pi / 2),
    (0.0825, 0.0, np.pi / 2),
    (-0.0825, 0.384, -np.pi / 2),
    (0.0, 0.0, np.pi / 2),
    (0.088, 0.0, np.pi / 2),
    (0.0, 0.107, 0.0),
]


@pytest.fixture(params=ARMS)
def arm(request: pytest.FixtureRequest) -> Robot:
    """Each of them."""
    return load_robot(request.param)


def at(robot: Robot, q: np.ndarray) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """Its model at rest in a configuration."""
    model = robot.compile()
    data = mujoco.MjData(model)
    data.qpos = q
    mujoco.mj_forward(model, data)
    return model, data


def test_the_gripper_is_the_last_joint_and_leaves_the_tool_where_it_is(arm: Robot) -> None:
    """So a law can couple it as one more joint, and the tool without it."""
    assert arm.gripper == arm.limits.names[-1] == "gripper"
    positions = []
    for opening in (arm.limits.lower[-1], arm.limits.upper[-1]):
        _, data = at(arm, np.array([*arm.home[:-1], opening]))
        positions.append(data.site("tool").xpos.copy())
    np.testing.assert_array_equal(*positions)


def test_it_weighs_what_the_published_files_add_up_to(arm: Robot) -> None:
    """Within the digits of the table."""
    mass = arm.compile().body_mass.sum()
    assert mass == pytest.approx(ARMS[arm.name][0], rel=1e-3)


def test_it_reaches_as_far_as_its_links_are_long(arm: Robot) -> None:
    """The farthest of many postures is just inside the stretched length."""
    model = arm.compile()
    data = mujoco.MjData(model)
    limits, rng = arm.limits, np.random.default_rng(0)
    farthest = 0.0
    for q in rng.uniform(
        np.maximum(limits.lower, -3), np.minimum(limits.upper, 3), (3000, model.nq)
    ):
        data.qpos = q
        mujoco.mj_kinematics(model, data)
        farthest = max(farthest, np.linalg.norm(data.site("tool").xpos - data.xanchor[1]))
    assert 0.94 * ARMS[arm.name][1] < farthest < 1.01 * ARMS[arm.name][1]


def test_its_home_is_a_good_place_to_start(arm: Robot) -> None:
    """Not singular, a twentieth of the range away from every limit, and the motors hold it."""
    assert arm.notes == ()
    limits = arm.limits
    share = (arm.home - limits.lower) / (limits.upper - limits.lower)
    assert (share > 0.05).all() and (share < 0.95).all()
    _, data = at(arm, arm.home)
    assert (np.abs(data.qfrc_bias) < 0.8 * limits.torque).all()


@pytest.mark.parametrize(("name", "beyond"), [("panda", 0.1034), ("fr3", 0.1034), ("fr3-arm", 0.0)])
def test_a_franka_is_where_the_makers_table_puts_it(name: str, beyond: float) -> None:
    """Every link length and every direction of turning, to the flange and beyond."""
    robot = load_robot(name)
    model = robot.compile()
    data = mujoco.MjData(model)
    for q in np.random.default_rng(2).uniform(-np.pi, np.pi, (20, 7)):
        data.qpos[:7] = q
        mujoco.mj_kinematics(model, data)
        joints = zip(FRANKA, [*q, 0.0], strict=True)
        flange = functools.reduce(np.matmul, [proximal(*row, theta) for row, theta in joints])
        expected = flange @ [0.0, 0.0, beyond, 1.0]
        np.testing.assert_allclose(data.site("tool").xpos, expected[:3], rtol=0, atol=2e-6)


def proximal(a: float, d: float, alpha: float, theta: float) -> np.ndarray:
    c, s, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
    return np.array(
        [[c, -s, 0, a], [s * ca, c * ca, -sa, -d * sa], [s * sa, c * sa, ca, d * ca], [0, 0, 0, 1]]
    )


def test_the_gears_of_the_so101_leader_make_it_light() -> None:
    """The same motor: inertia falls with the square of the ratio, torque with the ratio."""
    leader, follower = load_robot("so101-leader"), load_robot("so101", "7.4V")
    ratio = np.array([191, 345, 191, 147, 147, 147]) / 345
    armature = [robot.compile().dof_armature for robot in (leader, follower)]
    np.testing.assert_allclose(armature[0] / armature[1], ratio**2, rtol=1e-3)
    torque = leader.limits.torque / follower.limits.torque
    np.testing.assert_allclose(torque, ratio, rtol=5e-3)
    speed = leader.limits.velocity / follower.limits.velocity
    np.testing.assert_allclose(speed, 1 / ratio, rtol=5e-3)


@pytest.mark.parametrize("pair", [("so101-leader", "so101"), ("koch-leader", "koch")])
def test_leader_and_follower_start_alike(pair: tuple[str, str]) -> None:
    """The same joints in the same order, so that one copies the other without a map."""
    leader, follower = map(load_robot, pair)
    assert leader.limits.names == follower.limits.names
    np.testing.assert_array_equal(leader.home, follower.home)


def test_an_fr3_without_a_hand_is_the_fr3_less_its_hand() -> None:
    """The same joints, and 0.71 kg less: the hand's body and both fingers."""
    bare, whole = load_robot("fr3-arm"), load_robot("fr3")
    assert bare.limits.names == whole.limits.names[:7] and bare.gripper is None
    masses = [robot.compile().body_mass for robot in (bare, whole)]
    hand = [whole.compile().body(name).id for name in ("hand", "finger")]
    assert masses[0][hand].max() < 1e-6
    assert masses[1].sum() - masses[0].sum() == pytest.approx(masses[1][hand].sum())

"""The benchmark of inverse kinematics judges every solver by the same kinematics."""

from __future__ import annotations

import importlib.util

import mujoco
import numpy as np
import pytest

from farhand.mapping.ik import Chain, Model
from farhand.robots import load_robot
from farhand_lab.benchmarks import ik


@pytest.mark.parametrize("robot", ik.ROBOTS)
def test_every_pose_can_be_taken_inside_the_limits(robot):
    """A warm start is near an answer, a cold one is none; the same poses come out every time."""
    cold, warm = ik.poses(robot, 20, False), ik.poses(robot, 20, True)
    assert all(start is None for _, start in cold)
    model = Model(load_robot(robot))
    for pose, start in warm:
        assert model.within(start) and np.linalg.norm(model.error(pose, start)[:3]) < 1.0
    again = ik.poses(robot, 20, False)
    assert all(
        np.array_equal(a.position, b.position) for (a, _), (b, _) in zip(cold, again, strict=True)
    )


@pytest.mark.parametrize(
    ("spoil", "share"),
    [
        (lambda q, model: q, 1.0),
        (lambda q, model: np.empty(0), 0.0),
        (lambda q, model: q + 0.002, 0.0),
        (lambda q, model: q + 2.0 * np.pi * (np.arange(len(q)) == 0) * np.sign(-q), 0.0),
        (lambda q, model: q * np.nan, 0.0),
    ],
    ids=["right", "no answer", "2 mrad off", "outside the limits", "not a number"],
)
def test_solved_means_on_the_pose_and_inside_the_limits(spoil, share):
    """The judge is told the right joints, and wrong ones of every kind."""
    model = Model(load_robot("lwa4p"))
    joints = np.random.default_rng(1).uniform(model.lower, model.upper, (10, 6))
    answers = iter(joints)
    found = ik.judge(
        "lwa4p",
        lambda pose, start: spoil(next(answers), model),
        [(model.pose(q), None) for q in joints],
    )
    assert found["solved"] == share and 0.0 < found["median"] <= found["p99"]


@pytest.mark.parametrize("robot", ik.ROBOTS)
def test_the_recommended_solver_solves_nearly_all(robot):
    """Two hundred cold poses; the promise is 99.9 %, so not one may fail."""
    assert ik.judge(robot, ik.recommended(robot), ik.poses(robot, 200, False))["solved"] == 1.0


@pytest.mark.parametrize("robot", ik.ROBOTS)
def test_the_description_for_other_software_is_the_same_arm(robot, tmp_path):
    """MuJoCo reads the URDF; its tool is where Pinocchio's is."""
    chain, model = Chain.of(load_robot(robot)), Model(load_robot(robot))
    tensor = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    inertia = f'<inertial><mass value="1"/>{tensor}</inertial>'
    text = (
        ik.urdf(chain)
        .replace('"/>\n<link', f'">{inertia}</link>\n<link')
        .replace('<link name="tool"/>', f'<link name="tool">{inertia}</link>')
    )
    text = text.replace(
        'name="chain">', 'name="chain"><mujoco><compiler fusestatic="false"/></mujoco>'
    )
    other = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(other)
    np.testing.assert_allclose(other.jnt_range, np.stack([chain.lower, chain.upper], axis=1))
    for q in np.random.default_rng(2).uniform(chain.lower, chain.upper, (5, chain.n)):
        data.qpos = q
        mujoco.mj_kinematics(other, data)
        pose = model.pose(q)
        np.testing.assert_allclose(data.body("tool").xpos, pose.position, atol=1e-9)
        np.testing.assert_allclose(data.body("tool").xmat.reshape(3, 3), pose.rotation, atol=1e-9)


def test_only_peers_that_are_installed_take_part():
    """Each of them solves warm poses, by the same judge."""
    for name, make in ik.peers().items():
        assert importlib.util.find_spec(name)
        assert ik.judge("ur5e", make("ur5e"), ik.poses("ur5e", 20, True))["solved"] > 0.8

"""Arm: every term against finite differences, for arms, a floating base and a single joint."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from farhand.arm import Arm
from farhand.errors import BadValue, ModelError
from farhand.rigid_body import joint_torque
from farhand.robots import Placement, load_robot

MASS = '<inertial pos="0.02 -0.03 0.1" mass="1.5" fullinertia="0.02 0.03 0.04 0.001 -0.002 0.003"/>'
FILES = {
    "one-joint": f"""<mujoco><worldbody><body name="a"><joint axis="0 1 0" armature="0.2" damping="0.7"/>{MASS}
        <site name="tool" pos="0.3 0 1"/></body></worldbody></mujoco>""",
    "floating": f"""<mujoco><worldbody><body name="torso" pos="1 1 1"><freejoint/>{MASS}
        <body name="arm" pos="0 0 0.3" euler="20 30 40"><joint axis="0 1 0" armature="0.1"/>{MASS}
        <body name="hand" pos="0.1 0 0.3"><joint axis="1 0 0"/>{MASS}<site name="tool" pos="0.1 0.2 0.3"/></body></body>
        </body></worldbody></mujoco>""",
    "slide-and-hinge": f"""<mujoco><worldbody><body name="a"><joint type="slide" axis="0 0 1" damping="3"/>{MASS}
        <body name="b" pos="0.2 0 0"><joint axis="0 1 0" damping="0.5"/>{MASS}<site name="tool" pos="0.4 0 0.1"/></body>
        </body></worldbody></mujoco>""",
    "hinge-and-slide": f"""<mujoco><worldbody><body name="a"><joint axis="0 0.6 0.8"/>{MASS}
        <body name="b" pos="0.2 0 0" euler="20 30 40"><joint type="slide" axis="0.6 0.8 0"/>{MASS}
        <body name="c" pos="0.1 0.1 0"><joint axis="0 0 1"/>{MASS}<site name="tool" pos="0.4 0 0.1"/></body>
        </body></body></worldbody></mujoco>""",
}
NAMES = ["ur5e", "point3", *FILES]
PLACEMENT = Placement((0.3, -0.2, 0.1), (0.1, 0.2, 0.3, 0.9))


@pytest.fixture(params=NAMES)
def arm(request, tmp_path) -> Arm:
    """Each robot in turn, standing askew."""
    if request.param not in FILES:
        return Arm.of(load_robot(request.param), PLACEMENT)
    path = tmp_path / f"{request.param}.xml"
    path.write_text(FILES[request.param])
    return Arm.of(load_robot(path), PLACEMENT)


def states(arm: Arm, count: int = 5):
    """A few random states."""
    rng = np.random.default_rng(3)
    for _ in range(count):
        yield (
            pin.integrate(arm.model, pin.neutral(arm.model), rng.uniform(-1, 1, arm.nv)),
            rng.uniform(-2, 2, arm.nv),
        )


def pose(arm: Arm, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tool position and rotation at a configuration."""
    arm.update(q, np.zeros(arm.nv))
    return arm.position.copy(), arm.rotation.copy()


def twist_by_differences(arm: Arm, q: np.ndarray, v: np.ndarray, h: float = 1e-5) -> np.ndarray:
    """Central difference of the tool pose along v."""
    p0, R0 = pose(arm, arm.integrate(q, -h * v))
    p1, R1 = pose(arm, arm.integrate(q, h * v))
    return np.concatenate([(p1 - p0) / (2 * h), pin.log3(R1 @ R0.T) / (2 * h)])


def test_the_jacobian_is_the_derivative_of_the_tool_pose(arm):
    """Column by column, in world axes at the tool point."""
    for q, _ in states(arm):
        expected = np.column_stack([twist_by_differences(arm, q, axis) for axis in np.eye(arm.nv)])
        arm.update(q, np.zeros(arm.nv))
        assert arm.J.shape == (6, arm.nv)
        np.testing.assert_allclose(arm.J, expected, atol=1e-8)


def test_the_twist_is_the_rate_of_the_tool_pose(arm):
    """Linear part first, world axes."""
    for q, v in states(arm):
        expected = twist_by_differences(arm, q, v)
        arm.update(q, v)
        np.testing.assert_allclose(arm.twist, expected, atol=1e-8)


def test_the_drift_is_how_the_twist_changes_when_the_joints_do_not_accelerate(arm):
    """J̇ v by central differences of J v along v."""
    h = 1e-5
    for q, v in states(arm):
        twists = []
        for step in (-h, h):
            arm.update(arm.integrate(q, step * v), v)
            twists.append(arm.twist.copy())
        arm.update(q, v)
        np.testing.assert_allclose(arm.drift, (twists[1] - twists[0]) / (2 * h), atol=1e-7)


def test_the_mass_matrix_is_symmetric_and_positive_definite(arm):
    """Moving in any way takes energy."""
    for q, v in states(arm):
        arm.update(q, v)
        np.testing.assert_allclose(arm.M, arm.M.T, atol=1e-12)
        assert np.linalg.eigvalsh(arm.M).min() > 1e-6


def test_the_kinetic_energy_is_that_of_the_bodies_and_the_rotors(arm):
    """½ Σ Vᵀ I V over the bodies plus ½ Σ I_rotor v² over the joints."""
    for q, v in states(arm):
        arm.update(q, v)
        data = arm.model.createData()
        pin.forwardKinematics(arm.model, data, q, v)
        bodies = sum(inertia.vtiv(data.v[i]) for i, inertia in enumerate(arm.model.inertias))
        assert arm.kinetic_energy() == pytest.approx(
            0.5 * (bodies + float(arm.model.armature @ v**2))
        )


def test_gravity_is_the_gradient_of_the_potential_energy(arm):
    """Along every joint."""
    data, h = arm.model.createData(), 1e-6
    for q, _ in states(arm, 3):
        gradient = [
            (
                pin.computePotentialEnergy(arm.model, data, arm.integrate(q, h * axis))
                - pin.computePotentialEnergy(arm.model, data, arm.integrate(q, -h * axis))
            )
            / (2 * h)
            for axis in np.eye(arm.nv)
        ]
        arm.update(q, np.zeros(arm.nv))
        np.testing.assert_allclose(arm.gravity, gradient, atol=1e-6)


def test_coriolis_torque_vanishes_at_rest_and_does_only_the_work_of_a_changing_inertia(arm):
    """At rest c = 0; in motion vᵀc = ½ vᵀ Ṁ v, so that free motion keeps its kinetic energy."""
    h = 1e-6
    for q, v in states(arm):
        arm.update(q, np.zeros(arm.nv))
        np.testing.assert_allclose(arm.coriolis, 0.0, atol=1e-12)
        masses = []
        for step in (-h, h):
            arm.update(arm.integrate(q, step * v), v)
            masses.append(arm.M.copy())
        arm.update(q, v)
        assert v @ arm.coriolis == pytest.approx(
            0.5 * v @ (masses[1] - masses[0]) @ v / (2 * h), abs=1e-5
        )


def test_integrate_and_difference_are_inverse(arm):
    """Also where a base has a quaternion."""
    for q, v in states(arm):
        np.testing.assert_allclose(arm.difference(q, arm.integrate(q, 0.3 * v)), 0.3 * v, atol=1e-9)


def test_the_arrays_are_live_views_of_the_last_update(arm):
    """Whoever holds the position sees the next state; a copy keeps the old one."""
    (q0, v0), (q1, v1) = states(arm, 2)
    arm.update(q0, v0)
    position, mass, kept = arm.position, arm.M, arm.position.copy()
    arm.update(q1, v1)
    np.testing.assert_array_equal(position, arm.position)
    np.testing.assert_array_equal(mass, arm.M)
    assert np.abs(kept - arm.position).max() > 1e-3


def test_the_joined_arrays_are_their_parts_in_order(arm):
    """Motion, pose and what is recorded; a rotation goes column by column."""
    q, v = next(states(arm))
    arm.update(q, v)
    motion = [*q, *v]
    pose = [*arm.position, *arm.rotation.T.reshape(9), *arm.twist]
    np.testing.assert_array_equal(arm.motion, motion)
    np.testing.assert_array_equal(arm.pose, pose)
    np.testing.assert_array_equal(arm.recorded, motion + pose)


@pytest.mark.parametrize("name", ["ur5e", "rx160"])
def test_taking_a_sample_over_is_an_update(name):
    """Springs included; bounds of another robot take nothing over."""
    arm, updated = (Arm.of(load_robot(name), PLACEMENT) for _ in range(2))
    q, v = next(states(arm))
    values, bounds = np.concatenate([q, v, np.zeros(6)]), np.zeros((4, 18))
    bounds[2, :3], bounds[3, :3] = -9.0, 9.0
    before = arm.state.copy()
    assert arm.take(values, bounds[:, 1:]) == 0
    np.testing.assert_array_equal(arm.state, before)
    assert arm.take(values, bounds) == 1
    updated.update(q, v)
    np.testing.assert_array_equal(arm.state, updated.state)


def test_an_update_does_not_keep_the_callers_arrays():
    """A plant reuses its sample."""
    arm = Arm.of(load_robot("ur5e"))
    q, v = np.full(6, 0.1), np.zeros(6)
    arm.update(q, v)
    q[:] = 9.0
    np.testing.assert_array_equal(arm.q, 0.1)


def test_a_state_of_another_size_is_refused_with_both_sizes():
    """Not with a shape of NumPy's."""
    arm = Arm.of(load_robot("ur5e"))
    with pytest.raises(BadValue, match="with 6 and 6 got q of 5 and v of 6 values"):
        arm.update(np.zeros(5), np.zeros(6))


def test_the_task_inertia_is_the_mass_a_force_at_the_tool_meets():
    """Λ times the tool's acceleration under a wrench is that wrench, for an arm at rest without
    gravity.
    """
    arm = Arm.of(load_robot("ur5e"), gravity=0.0)
    arm.update(np.array([0.3, -1.2, 1.4, -0.8, 1.1, 0.2]), np.zeros(6))
    wrench = np.array([3.0, -5.0, 7.0, 0.4, -0.2, 0.1])
    acceleration = arm.J @ np.linalg.solve(arm.M, arm.J.T @ wrench)
    np.testing.assert_allclose(arm.task_inertia() @ acceleration, wrench, atol=1e-9)
    np.testing.assert_allclose(arm.task_inertia(), arm.task_inertia().T, atol=1e-9)


def test_the_torque_that_exerts_a_wrench_does_its_work_and_carries_the_arm(arm):
    """In whichever direction the joints move: τ v = w ẋ + g v."""
    wrench = np.array([3.0, -2.0, 5.0, 0.4, -0.7, 0.2])
    torque = np.zeros(arm.nv)
    for q, v in states(arm):
        arm.update(q, v)
        joint_torque(arm.state, arm.nq, torque, wrench)
        work = wrench @ arm.twist + arm.gravity @ v
        assert torque @ v == pytest.approx(work, rel=1e-9, abs=1e-9)


def test_a_model_without_the_tool_frame_is_refused_with_the_frames_it_has():
    """The message names what is there."""
    with pytest.raises(ModelError, match="has no frame 'gripper'.*tool"):
        Arm(load_robot("ur5e").pinocchio(), tool="gripper")


def test_the_friction_of_the_model_is_known_unless_said_otherwise(tmp_path):
    """The controller may be told another value than the plant has."""
    path = tmp_path / "slide.xml"
    path.write_text(FILES["slide-and-hinge"])
    robot = load_robot(path)
    np.testing.assert_array_equal(Arm.of(robot).viscous, [3.0, 0.5])
    np.testing.assert_array_equal(Arm.of(robot, viscous=0.2).viscous, [0.2, 0.2])
    np.testing.assert_array_equal(Arm.of(robot, viscous=np.array([1.0, 2.0])).viscous, [1.0, 2.0])


def test_gravity_is_a_parameter_and_points_down_in_the_world():
    """Half the gravity, half the torque; none, none; and a tilted base does not tilt gravity."""
    robot, q = load_robot("ur5e"), np.array([0.3, -1.2, 1.4, -0.8, 1.1, 0.2])
    torques = []
    for gravity in (0.0, 4.905, 9.81):
        arm = Arm.of(robot, gravity=gravity)
        arm.update(q, np.zeros(6))
        torques.append(arm.gravity.copy())
    np.testing.assert_array_equal(torques[0], 0.0)
    np.testing.assert_allclose(torques[2], 2 * torques[1], atol=1e-12)
    hanging = Arm.of(robot, Placement(quaternion=(1.0, 0.0, 0.0, 0.0)))
    hanging.update(q, np.zeros(6))
    np.testing.assert_allclose(hanging.gravity, -torques[2], atol=1e-9)

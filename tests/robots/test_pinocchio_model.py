"""Two independent engines, one mechanism: MuJoCo is the oracle for every Pinocchio model."""

from __future__ import annotations

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from farhand.robots import (
    Placement,
    load_robot,
    pinocchio_from_mujoco,
    q_from_pinocchio,
    q_to_pinocchio,
    robot_names,
    v_from_pinocchio,
    v_to_pinocchio,
)

MASS = '<inertial pos="0.02 -0.03 0.1" mass="1.5" fullinertia="0.02 0.03 0.04 0.001 -0.002 0.003"/>'
ARM = f"""<body name="upper" pos="0.1 0 0.2" euler="20 30 40">
    <joint name="j1" axis="0 1 0" armature="0.1"/>{MASS}
    <body name="lower" pos="0 0 0.3"><joint name="j2" axis="-1 0 0"/>{MASS}
        <site name="tool" pos="0.1 0.2 0.3" euler="10 20 30"/></body></body>"""
INLINE = {
    "one joint": f"""<mujoco><worldbody><body name="a">
    <joint axis="0 1 0"/>{MASS}<site name="tool" pos="0 0 1"/></body>
        </worldbody></mujoco>""",
    "two roots": f"""<mujoco><option gravity="1 2 -9.804"/><worldbody>
        <body name="first" pos="1 2 3"><joint axis="1 2 3" armature="0.2"/>{MASS}
            <body name="leaf"><joint type="slide" axis="0 0 -1"/>{MASS}</body>
            </body>{ARM}</worldbody></mujoco>""",
    "mobile base": f"""<mujoco><worldbody><body name="base" pos="0 0 0.1" euler="0 0 30">
        <joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0"/>
        <joint name="turn" axis="0 0 1" pos="0.2 0.1 0"/>{MASS}{ARM}</body></worldbody></mujoco>""",
    "free-floating tree with a ball joint": f"""<mujoco><worldbody>
    <body name="torso" pos="1 1 1" euler="0 90 0">
        <freejoint/>{MASS}
        <body name="head" pos="0 0 0.3" euler="0 0 50">
        <joint type="ball" pos="0.05 0.02 -0.1" armature="0.05"/>{MASS}
            </body>{ARM}</body></worldbody></mujoco>""",
    "joint reference and anchor": f"""<mujoco><worldbody><body name="a" pos="0 0 1" euler="0 40 0">
        <joint axis="1 1 0" ref="35" pos="0.1 0.2 0.3" armature="0.3"/>{MASS}
        <body name="b" pos="0.5 0 0"><joint type="slide" axis="0 1 1" ref="0.4" pos="0 0 0.2"/>
            <joint axis="0 0 1" ref="-70" pos="0.3 0 0"/>{MASS}<site name="tool" pos="0 0 0.2"/>
            </body></body>
        </worldbody></mujoco>""",
    "jointless bodies with a pose": f"""<mujoco><worldbody>
    <body name="stand" pos="1 0 0" euler="0 0 90">{MASS}
        <body name="mount" pos="0 0.2 0.5" euler="45 0 0">{ARM}<body name="upper 2">
        <joint axis="0 0 1"/>{MASS}
            <body name="bracket" pos="0.1 0 0" euler="0 30 0">{MASS}
            <site name="on bracket" pos="1 0 0"/>
            <body name="finger" pos="0 0.1 0"><joint axis="0 -1 0"/>{MASS}</body></body></body>
        </body></body></worldbody></mujoco>""",
    "urdf": """<robot name="two"><link name="base"/>
        <link name="l1"><inertial><origin xyz="0 0 0.1" rpy="0 0 1"/><mass value="2"/>
            <inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0.001" ixz="-0.002" iyz="0.003"/>
            </inertial></link>
        <link name="tip"><inertial><mass value="1"/>
        <inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/>
            </inertial></link>
        <joint name="j1" type="revolute"><parent link="base"/><child link="l1"/>
        <origin xyz="0 0 1" rpy="0.1 0.2 0.3"/>
            <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="5" velocity="2"/></joint>
        <joint name="j2" type="prismatic"><parent link="l1"/><child link="tip"/>
        <origin xyz="0 0.5 0.5"/>
            <axis xyz="0.6 0 0.8"/><limit lower="-1" upper="1" effort="5" velocity="2"/></joint>
            </robot>""",
}
SHIPPED = [(name, variant) for name in robot_names() for variant in load_robot(name).variants]
TILTED = Placement((0.3, 0.75, -0.2), (0.1, 0.2, 0.3, 0.9))


@pytest.fixture(params=[*INLINE, *SHIPPED], ids=str)
def model(request: pytest.FixtureRequest) -> mujoco.MjModel:
    """Each robot that is shipped, in each variant, and one small model per feature of the tree."""
    if request.param in INLINE:
        return mujoco.MjModel.from_xml_string(INLINE[request.param])
    return load_robot(*request.param).compile(TILTED, gravity=9.804)


class State:
    """A random state, evaluated by both engines."""

    def __init__(self, model: mujoco.MjModel, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.mj = mujoco.MjData(model)
        mujoco.mj_integratePos(model, self.mj.qpos, rng.uniform(-2, 2, model.nv), 1.0)
        self.mj.qvel = rng.normal(size=model.nv)
        mujoco.mj_forward(model, self.mj)
        self.q = q_to_pinocchio(model, self.mj.qpos)
        self.v = v_to_pinocchio(model, self.mj.qpos, self.mj.qvel)
        columns = [v_to_pinocchio(model, self.mj.qpos, column) for column in np.eye(model.nv)]
        self.turn = np.column_stack(columns)  # v_pinocchio = turn @ v_mujoco
        self.drift = np.zeros(model.nv)  # Pinocchio's acceleration where MuJoCo's is zero
        for joint in np.flatnonzero(model.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE)):
            at = int(model.jnt_dofadr[joint])
            self.drift[at : at + 3] = -np.cross(self.v[at + 3 : at + 6], self.v[at : at + 3])
        self.model = pinocchio_from_mujoco(model)
        self.data = self.model.createData()


def states(model: mujoco.MjModel) -> list[State]:
    return [State(model, seed) for seed in range(5)]


def full_mass_matrix(model: mujoco.MjModel, data: mujoco.MjData) -> NDArray[np.float64]:
    columns = np.zeros((model.nv, model.nv))
    for index, unit in enumerate(np.eye(model.nv)):
        mujoco.mj_mulM(model, data, columns[index], unit)
    return columns


def test_mass_matrices_agree_and_include_the_armature(model: mujoco.MjModel) -> None:
    """The kinetic energy is the same in both coordinates: M_mujoco = Tᵀ M_pinocchio T."""
    for state in states(model):
        mass = pin.crba(state.model, state.data, state.q)
        mass = np.triu(mass) + np.triu(mass, 1).T
        expected = full_mass_matrix(model, state.mj)
        np.testing.assert_allclose(state.turn.T @ mass @ state.turn, expected, rtol=0, atol=1e-10)


def test_bias_forces_agree(model: mujoco.MjModel) -> None:
    """Coriolis, centrifugal and gravity forces hold MuJoCo's accelerations at zero."""
    for state in states(model):
        torque = pin.rnea(state.model, state.data, state.q, state.v, state.drift)
        np.testing.assert_allclose(state.turn.T @ torque, state.mj.qfrc_bias, rtol=0, atol=1e-10)


def test_forward_dynamics_of_pinocchio_uses_the_same_armature(model: mujoco.MjModel) -> None:
    """ABA, which never forms M, gives the acceleration that MuJoCo's M and bias give."""
    for state in states(model):
        torque = np.linspace(-1, 1, model.nv)
        expected = np.linalg.solve(
            full_mass_matrix(model, state.mj), state.turn.T @ torque - state.mj.qfrc_bias
        )
        acceleration = pin.aba(state.model, state.data, state.q, state.v, torque)
        np.testing.assert_allclose(
            acceleration, state.turn @ expected + state.drift, rtol=1e-9, atol=1e-9
        )


def test_every_body_and_site_is_a_frame_of_the_same_name_at_the_same_pose(
    model: mujoco.MjModel,
) -> None:
    """Names and poses carry over, also of bodies without joints."""
    for state in states(model):
        pin.framesForwardKinematics(state.model, state.data, state.q)
        named = [
            (model.body(i).name, pin.BODY, state.mj.xpos[i], state.mj.xmat[i])
            for i in range(model.nbody)
        ]
        named += [
            (model.site(i).name, pin.OP_FRAME, state.mj.site_xpos[i], state.mj.site_xmat[i])
            for i in range(model.nsite)
        ]
        for name, kind, position, rotation in named:
            pose = state.data.oMf[state.model.getFrameId(name, kind)]
            np.testing.assert_allclose(pose.translation, position, rtol=0, atol=1e-12)
            np.testing.assert_allclose(pose.rotation, rotation.reshape(3, 3), rtol=0, atol=1e-12)


def test_jacobians_and_their_drift_agree_at_every_body(model: mujoco.MjModel) -> None:
    """J and J̇q̇ of the body origins, world axes, linear part first."""
    for state in states(model):
        pin.computeJointJacobians(state.model, state.data, state.q)
        pin.forwardKinematics(state.model, state.data, state.q, state.v, state.drift)
        pin.updateFramePlacements(state.model, state.data)
        for body in range(1, model.nbody):
            frame = state.model.getFrameId(model.body(body).name, pin.BODY)
            jacobian, rate = np.zeros((6, model.nv)), np.zeros((6, model.nv))
            mujoco.mj_jacBody(model, state.mj, jacobian[:3], jacobian[3:], body)
            mujoco.mj_jacDot(model, state.mj, rate[:3], rate[3:], state.mj.xpos[body], body)
            ours = pin.getFrameJacobian(
                state.model, state.data, frame, pin.LOCAL_WORLD_ALIGNED
            ).reshape(6, -1)
            drift = pin.getFrameClassicalAcceleration(
                state.model, state.data, frame, pin.LOCAL_WORLD_ALIGNED
            )
            np.testing.assert_allclose(ours @ state.turn, jacobian, rtol=0, atol=1e-10)
            np.testing.assert_allclose(drift.vector, rate @ state.mj.qvel, rtol=0, atol=1e-10)


def test_free_fall_keeps_the_centre_of_mass_on_its_parabola() -> None:
    """Without a second engine: internal motion of a free tree does not move its centre of mass."""
    model = mujoco.MjModel.from_xml_string(INLINE["free-floating tree with a ball joint"])
    state = State(model, seed=1)
    acceleration = pin.aba(state.model, state.data, state.q, state.v, np.zeros(model.nv))
    pin.centerOfMass(state.model, state.data, state.q, state.v, acceleration)
    np.testing.assert_allclose(state.data.acom[0], [0, 0, -9.81], atol=1e-10)


def test_hinges_and_slides_become_axis_aligned_joints() -> None:
    """Aligned joints are Pinocchio's fastest; turning the joint frame aligns an oblique axis."""
    model = pinocchio_from_mujoco(mujoco.MjModel.from_xml_string(INLINE["two roots"]))
    kinds = [joint.shortname() for joint in list(model.joints)[1:]]
    assert kinds == ["JointModelRZ", "JointModelPZ", "JointModelRY", "JointModelRZ"]


def test_limits_friction_and_gravity_are_carried() -> None:
    """What the file says about joints and gravity is in the Pinocchio model."""
    text = f"""<mujoco><option gravity="0 1 -2"/><compiler angle="radian"/><worldbody><body>
        <joint range="-1 2" damping="3" frictionloss="4" axis="0 0 1"/>
        <joint axis="0 1 0"/>{MASS}</body></worldbody>
        </mujoco>"""
    model = pinocchio_from_mujoco(mujoco.MjModel.from_xml_string(text))
    np.testing.assert_array_equal(model.lowerPositionLimit, [-1, -np.inf])
    np.testing.assert_array_equal(model.upperPositionLimit, [2, np.inf])
    np.testing.assert_array_equal(model.damping, [3, 0])
    np.testing.assert_array_equal(model.upperDryFrictionLimit, [4, 0])
    np.testing.assert_array_equal(model.gravity.linear, [0, 1, -2])


def test_gravity_that_is_switched_off_in_mujoco_is_off_in_pinocchio() -> None:
    """The disable flag counts, not only the vector."""
    text = INLINE["one joint"].replace(
        "<worldbody>", '<option><flag gravity="disable"/></option><worldbody>'
    )
    assert not pinocchio_from_mujoco(mujoco.MjModel.from_xml_string(text)).gravity.linear.any()


def test_states_without_quaternions_are_not_copied() -> None:
    """In the tick of an ordinary arm the conversions cost nothing."""
    model = mujoco.MjModel.from_xml_string(INLINE["one joint"])
    x = np.zeros(1)
    assert q_to_pinocchio(model, x) is q_from_pinocchio(model, x) is x
    assert v_to_pinocchio(model, x, x) is v_from_pinocchio(model, x, x) is x


FLOATING = mujoco.MjModel.from_xml_string(INLINE["free-floating tree with a ball joint"])


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_conversions_are_inverse_and_carry_power(seed: int) -> None:
    """There and back changes nothing; force times velocity is equal in both conventions."""
    rng = np.random.default_rng(seed)
    qpos = FLOATING.qpos0.copy()
    mujoco.mj_integratePos(FLOATING, qpos, rng.normal(size=FLOATING.nv), 1.0)
    velocity, force = rng.normal(size=(2, FLOATING.nv))
    np.testing.assert_array_equal(q_from_pinocchio(FLOATING, q_to_pinocchio(FLOATING, qpos)), qpos)
    v, f = (v_to_pinocchio(FLOATING, qpos, x) for x in (velocity, force))
    np.testing.assert_allclose(v_from_pinocchio(FLOATING, qpos, v), velocity, atol=1e-12)
    assert f @ v == pytest.approx(force @ velocity, abs=1e-12)
    assert not np.allclose(v, velocity)


def test_a_batch_of_configurations_is_converted_row_by_row() -> None:
    """Leading dimensions are kept."""
    batch = np.random.default_rng(0).normal(size=(4, 3, FLOATING.nq))
    converted = q_to_pinocchio(FLOATING, batch)
    np.testing.assert_array_equal(converted[2, 1], q_to_pinocchio(FLOATING, batch[2, 1]))

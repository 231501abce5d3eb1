"""Laws over joints: the same equations, joint by joint, with the joint map's power dual."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.coupling import (
    Admittance,
    FourChannel,
    PositionForce,
    PositionPosition,
    Side,
    Spring,
    Unilateral,
    VirtualConstraints,
)
from farhand.coupling.port import JointPort
from farhand.errors import BadValue
from farhand.mapping.joint_map import JointMapping
from farhand.robots import load_robot

DT = 1e-3
LAWS = (Unilateral, PositionPosition, PositionForce, FourChannel, VirtualConstraints, Admittance)


def joint_map(**more) -> JointMapping:
    """Six joints of a small arm drive seven of another: one backwards, one halved, one held."""
    return JointMapping(
        (0, 2, 1, 3, -1, 4, 5), (1.0, -1.0, 0.5, 1.0, 0.0, 1.0, 2.0), 6, force_scale=0.7, **more
    )


def sides(seed: int, moving: bool = True) -> tuple[Side, Side]:
    """A leader and a follower at random states, with external torques."""
    rng = np.random.default_rng(seed)
    found = []
    for role, name in (("leader", "so101"), ("follower", "vx300s")):
        robot = load_robot(name)
        arm = Arm.of(robot)
        speed = rng.normal(size=arm.nv) if moving else np.zeros(arm.nv)
        arm.update(robot.home + rng.uniform(-0.3, 0.3, arm.nv), speed)
        side = Side(role, arm)
        side.torque = rng.normal(size=arm.nv)
        found.append(side)
    return found[0], found[1]


def acceleration(side: Side, torque: np.ndarray) -> np.ndarray:
    """Of an arm whose weight is carried, under motor torque and what touches it."""
    arm = side.arm
    load = torque + side.torque - arm.coriolis - arm.viscous * arm.v
    return np.linalg.solve(arm.M, load)


@pytest.mark.parametrize("seed", range(5))
def test_no_power_is_made_or_lost_between_unlike_joints(seed):
    """Scales, signs, held and limited joints: torque back times speed is torque times speed."""
    rng = np.random.default_rng(seed)
    mapping = joint_map(lower=np.full(7, -1.0), upper=np.full(7, 1.0))
    v, torque, felt = rng.normal(size=6), rng.normal(size=7), np.zeros(6)
    mapping.forward(rng.uniform(-2.0, 2.0, 6), v)
    mapping.back(torque, felt)
    assert felt @ v == pytest.approx(0.7 * torque @ mapping.v, abs=1e-12)
    assert mapping.v[4] == 0.0


@pytest.mark.parametrize("law_type", LAWS, ids=lambda law: law.name)
def test_every_law_answers_with_one_torque_per_joint(law_type):
    """Six at the leader, seven at the follower, all of them numbers."""
    a, b = sides(1)
    law = law_type(mapping=joint_map())
    law.engage(a, b)
    on_a, on_b = law.step(a, b, DT)
    assert on_a.wrench.shape == (6,) and on_b.wrench.shape == (7,)
    assert np.isfinite(on_a.wrench).all() and np.isfinite(on_b.wrench).all()


def test_a_held_joint_is_pulled_back_to_where_it_was_and_is_not_felt():
    """Nothing of the leader drives joint 5 of the follower."""
    a, b = sides(2, moving=False)
    law = PositionPosition(mapping=joint_map())
    law.engage(a, b)
    q = b.arm.q.copy()
    q[4] += 0.1
    b.arm.update(q, np.zeros(7))
    on_a, on_b = law.step(a, b, DT)
    pulled = [0, 0, 0, 0, -0.1 * law.spring.rotational_stiffness, 0, 0]
    np.testing.assert_allclose(on_b.wrench, pulled, atol=1e-12)
    np.testing.assert_allclose(on_a.wrench, 0.0, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_spring_between_joints_is_that_of_the_closed_form(seed):
    """τ_b = w (K e + D ė), and the leader feels −s_f Sᵀ τ_b."""
    weights = np.array([1.0, 0.5, 0.2, 0.1, 1.0, 0.3, 0.05])
    law = PositionPosition(
        mapping=joint_map(weights=weights),
        spring=Spring(rotational_stiffness=12.0, rotational_damping=0.8),
    )
    a, b = sides(seed)
    law.engage(a, b)
    before = law.mapping.matrix @ a.q - b.q
    a.arm.update(a.q + 0.2, a.v.copy())
    on_a, on_b = law.step(a, b, DT)
    error = law.mapping.matrix @ a.q - b.q - before
    pull = weights * (12.0 * error + 0.8 * (law.mapping.matrix @ a.v - b.v))
    np.testing.assert_allclose(on_b.wrench, pull, atol=1e-12)
    np.testing.assert_allclose(on_a.wrench, -0.7 * law.mapping.matrix.T @ pull, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_four_channels_make_the_followers_joints_accelerate_as_the_leaders_do(seed):
    """With exact models and no lag the hand feels the leader's own inertia and the contact."""
    a, b = sides(seed)
    law = FourChannel(mapping=joint_map())
    a.arm.update(a.q.copy(), a.v.copy())
    law.engage(a, b)
    law.mapping.forward(a.q, a.v)
    b.arm.update(b.q.copy(), law.mapping.v)
    on_a, on_b = law.step(a, b, DT)
    torque_a, torque_b = on_a.wrench.copy(), on_b.wrench.copy()
    felt = 0.7 * law.mapping.matrix.T @ b.torque
    np.testing.assert_allclose(torque_a, felt, atol=1e-10)
    np.testing.assert_allclose(
        acceleration(b, torque_b), law.mapping.matrix @ acceleration(a, torque_a), atol=1e-8
    )


def test_four_channels_follow_a_leader_whose_motors_fall_short():
    """The follower accelerates as the leader does, not as it was asked to: else it runs away."""
    a, b = sides(0)
    law = FourChannel(mapping=joint_map())
    law.engage(a, b)
    law.mapping.forward(a.q, a.v)
    b.arm.update(b.q.copy(), law.mapping.v)
    a.cut = np.linspace(-2.0, 1.0, a.arm.nv)
    on_a, on_b = law.step(a, b, DT)
    exerted = on_a.wrench + a.cut
    np.testing.assert_allclose(
        acceleration(b, on_b.wrench), law.mapping.matrix @ acceleration(a, exerted), atol=1e-8
    )


@pytest.mark.parametrize("seed", range(3))
def test_virtual_constraints_give_every_joint_the_same_error_curve(seed):
    """ë + K_d ė + K_p e = 0 for the error of each joint that is driven, with exact models."""
    a, b = sides(seed)
    law = VirtualConstraints(mapping=joint_map(), damping=0.0)
    law.mapping.force_scale = 1.0
    law.engage(a, b)
    a.arm.update(a.q + 0.05, a.v.copy())
    on_a, on_b = law.step(a, b, DT)
    torque_a, torque_b = on_a.wrench.copy(), on_b.wrench.copy()
    S = law.mapping.matrix
    bend = S @ acceleration(a, torque_a) - acceleration(b, torque_b)
    wanted = -law.derivative * law.rate - law.proportional * law.error
    np.testing.assert_allclose(bend, wanted, atol=1e-8)


def test_gains_are_spread_by_kind_and_weight():
    """Slides have the linear number; a leader's joint is as strong as the joint that it drives."""
    mapping = JointMapping(
        (1, 0), (2.0, 1.0), 2, weights=np.array([0.5, 1.0]), slides=[False, True]
    )
    port = JointPort(mapping)
    np.testing.assert_allclose(port.spread(100.0, 3.0), [1.5, 100.0])
    # joint 0 of the leader drives the slide, joint 1 the hinge, twice as far
    np.testing.assert_allclose(port.spread(100.0, 3.0, leader=True), [100.0, 6.0])


def test_unlike_gains_must_be_as_many_as_the_joints():
    """Six gains for six axes of a tool say nothing about seven joints."""
    law = FourChannel(mapping=joint_map(), proportional=np.full(6, 100.0))
    np.testing.assert_array_equal(law.proportional, np.full(7, 100.0))
    with pytest.raises(BadValue):
        FourChannel(mapping=joint_map(), proportional=np.arange(6.0))

"""Vehicle mapping: targets and axes ride along with the base, and forces come back in its axes."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.errors import BadValue
from farhand.mapping.vehicle import Vehicle, VehicleMapping
from farhand.robots import Placement, load_robot
from farhand.spatial import rotation_from_vector

ROBOT = load_robot("cernbot")
PLACE = Placement((0.5, 1.2, 0.0), (0.0, 0.0, np.sin(0.2), np.cos(0.2)))
MOUNT = np.array([0.0, 0.0, 0.6])
STILL = np.zeros(6)


def riding(
    base: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0), v: np.ndarray | None = None
):
    """A mapping and the arm it rides with, base at (x, y, yaw, z)."""
    arm = Arm.of(ROBOT, PLACE)
    mapping = VehicleMapping(
        motion_scale=0.7, force_scale=1.0 / 0.7, vehicle=Vehicle(arm, PLACE, MOUNT)
    )
    drive(arm, base, v)
    return mapping, arm


def drive(arm: Arm, base: tuple[float, float, float, float], v: np.ndarray | None = None) -> None:
    """Put the base somewhere, the arm's joints unchanged."""
    q = ROBOT.home.copy()
    q[:4] = base
    arm.update(q, np.zeros(10) if v is None else v)


def test_the_target_rides_along_when_the_base_moves():
    """A leader at rest: target and tool stay together however the base travels, turns and lifts."""
    mapping, arm = riding()
    p_a, R_a = np.array([0.4, 0.1, 0.6]), rotation_from_vector(np.array([0.1, 0.2, 0.3]))
    mapping.capture(p_a, R_a, arm.position, arm.rotation)
    for base in ((0.3, -0.2, 0.0, 0.0), (1.0, 2.0, 0.8, 0.3), (0.0, 0.0, -2.0, -0.1)):
        drive(arm, base)
        mapping.forward(p_a, R_a, STILL)
        np.testing.assert_allclose(mapping.position, arm.position, atol=1e-12)
        np.testing.assert_allclose(mapping.rotation, arm.rotation, atol=1e-12)


def test_the_targets_twist_is_its_motion():
    """Base and leader move: the twist is the difference quotient of the pose."""
    v = np.zeros(10)
    v[:4] = 0.3, -0.2, 0.5, 0.1
    mapping, arm = riding((0.2, 0.1, 0.4, 0.05), v)
    p_a, twist, h = np.array([0.4, 0.1, 0.6]), np.array([0.2, 0.1, -0.3, 0.0, 0.0, 0.0]), 1e-6
    mapping.capture(p_a, np.eye(3), arm.position, arm.rotation)
    mapping.forward(p_a, np.eye(3), twist)
    before, said = mapping.position.copy(), mapping.twist.copy()
    drive(arm, tuple(np.array([0.2, 0.1, 0.4, 0.05]) + h * v[:4]))
    mapping.forward(p_a + h * twist[:3], np.eye(3), twist)
    np.testing.assert_allclose((mapping.position - before) / h, said[:3], atol=1e-5)


def test_forward_of_the_leader_is_forward_of_the_vehicle():
    """Turned by a quarter, the leader's x is y of the placement; forces come back the same way."""
    mapping, arm = riding((0.0, 0.0, np.pi / 2, 0.0))
    mapping.capture(np.zeros(3), np.eye(3), arm.position, arm.rotation)
    mapping.forward(np.array([0.1, 0.0, 0.0]), np.eye(3), STILL)
    along = mapping.position - arm.position
    forward = rotation_from_vector(np.array([0.0, 0.0, np.pi / 2])) @ np.array([0.07, 0.0, 0.0])
    np.testing.assert_allclose(along, forward, atol=1e-9)
    back = np.zeros(6)
    mapping.back(np.concatenate([-100.0 * along, np.zeros(3)]), back)
    np.testing.assert_allclose(back, [-7.0, 0.0, 0.0, 0.0, 0.0, 0.0], atol=1e-9)


def test_the_offset_is_the_leaders_displacement_since_engagement():
    """In metres of the leader, and radians about z."""
    mapping, arm = riding()
    start = np.array([0.4, 0.1, 0.6])
    mapping.capture(start, np.eye(3), arm.position, arm.rotation)
    mapping.forward(
        start + [0.1, 0.2, -0.3], rotation_from_vector(np.array([0.0, 0.0, 0.25])), STILL
    )
    np.testing.assert_allclose(mapping.offset, [0.1, 0.2, -0.3, 0.25], atol=1e-12)


def test_the_arms_base_stands_where_the_model_has_it():
    """Shoulder height and turn, against the forward kinematics of the whole robot."""
    mapping, arm = riding((0.7, -0.4, 1.1, 0.2))
    alone = Arm.of(load_robot("lwa4p"))
    alone.update(ROBOT.home[4:], np.zeros(6))
    mapping.vehicle.update()
    position, rotation = mapping.vehicle.arm_base()
    np.testing.assert_allclose(position + rotation @ alone.position, arm.position, atol=1e-12)
    np.testing.assert_allclose(rotation @ alone.rotation, arm.rotation, atol=1e-12)


def test_a_mapping_without_its_vehicle_is_refused():
    """It cannot know where the base is."""
    with pytest.raises(BadValue, match="vehicle"):
        VehicleMapping()


def test_what_is_carried_along_comes_back_and_moves_with_the_base():
    """A point fixed to the vehicle, and its twist by finite differences."""
    base, v, h = np.array([0.2, 0.1, 0.4, 0.05]), np.zeros(10), 1e-6
    v[:4] = 0.3, -0.2, 0.5, 0.1
    mapping, arm = riding(tuple(base), v)
    vehicle, point = mapping.vehicle, np.array([0.9, -0.3, 0.7])
    vehicle.update()
    here = vehicle.carry(point)
    np.testing.assert_allclose(vehicle.bring_back(here), point, atol=1e-12)
    twist = vehicle.twist_at(here)
    turn = vehicle.turn.copy()
    drive(arm, tuple(base + h * v[:4]))
    vehicle.update()
    np.testing.assert_allclose((vehicle.carry(point) - here) / h, twist[:3], atol=1e-5)
    spin = (vehicle.turn - turn) / h @ turn.T
    np.testing.assert_allclose([spin[2, 1], spin[0, 2], spin[1, 0]], twist[3:], atol=1e-5)


def test_a_velocity_in_the_axes_of_the_vehicle_becomes_that_of_its_joints():
    """Placed and turned anyhow: the base then moves as commanded."""
    mapping, arm = riding((0.2, 0.1, 0.9, 0.05))
    vehicle = mapping.vehicle
    vehicle.update()
    command = np.array([0.3, -0.2, 0.1, 0.5])
    v = np.zeros(10)
    v[:4] = vehicle.joint_velocity(command)
    drive(arm, (0.2, 0.1, 0.9, 0.05), v)
    vehicle.update()
    axle = vehicle.carry(np.array(PLACE.position))
    twist = vehicle.twist_at(axle)
    np.testing.assert_allclose(twist[:3], vehicle.turn @ command[:3], atol=1e-12)
    np.testing.assert_allclose(twist[3:], [0.0, 0.0, 0.5], atol=1e-12)


def test_the_hand_does_the_work_of_the_tool_against_the_vehicle():
    """Power of the motion that the leader adds, with turned axes, at a force scale of one."""
    v = np.zeros(10)
    v[:4] = 0.3, -0.2, 0.5, 0.1
    rng = np.random.default_rng(2)
    _, arm = riding((0.2, 0.1, 0.4, 0.05), v)
    mapping = VehicleMapping(
        motion_scale=0.7, axes=np.array([0.3, -0.2, 0.5]), vehicle=Vehicle(arm, PLACE, MOUNT)
    )
    p_a, R_a, twist, wrench, felt = (
        rng.normal(size=3),
        np.eye(3),
        rng.normal(size=6),
        rng.normal(size=6),
        np.zeros(6),
    )
    mapping.capture(p_a, R_a, arm.position, arm.rotation)
    mapping.forward(p_a, R_a, twist)
    mapping.back(wrench, felt)
    own = mapping.twist - mapping.vehicle.twist_at(mapping.position)
    assert wrench @ own == pytest.approx(felt @ twist)
    # the displacement that drives the base is along the follower's axes
    moved, turned = np.array([0.1, -0.2, 0.05]), np.array([0.1, 0.2, 0.3])
    mapping.forward(p_a + moved, rotation_from_vector(turned), STILL)
    A = rotation_from_vector(np.array([0.3, -0.2, 0.5]))
    np.testing.assert_allclose(mapping.offset, [*(A @ moved), (A @ turned)[2]], atol=1e-12)

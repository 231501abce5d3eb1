"""What controllers record: as many numbers as they have, each what it is named after."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.control.joint.loops import LimitedPD
from farhand.control.tool.computed_torque import ComputedTorque
from farhand.control.tool.tracking import TrackingController
from farhand.mapping.ik import STATUS_INDEX
from farhand.mapping.limbs import ArmChain
from farhand.robots import Placement, load_robot
from farhand_lab.humanoid.teleoperation import PenLead


class Stream(dict):
    """Channels by name, without a recording."""

    def channel(self, name: str, size: int, unit: str) -> np.ndarray:
        self[name] = np.zeros(size)
        return self[name]


def test_a_limb_records_its_positions_and_whether_the_place_can_be_reached():
    """One status, and three joints within their range."""
    q, hand, stream = np.radians([30.0, 40.0, 60.0]), np.zeros(3), Stream()
    lead = PenLead(q, np.zeros(3), 2.0)
    lead.controller.record(stream)
    lead.controller.give_up()
    lead.begin(hand)
    for place, status in ((hand, "solved"), (hand + 0.5, "unreachable")):
        lead.step(place)
        np.testing.assert_array_equal(stream["ik_status"], [STATUS_INDEX[status]])
        np.testing.assert_allclose(ArmChain().forward(stream["q_commanded"]), lead.controller.place)


def test_a_task_controller_records_its_torque_and_how_far_a_singularity_is():
    """The smallest singular value of the Jacobian."""
    robot, stream, asked = load_robot("rx160"), Stream(), ControlRequest()
    controller = ComputedTorque(Arm.of(robot))
    controller.arm.update(robot.home, np.zeros(6))
    controller.record(stream)
    asked.valid = True
    controller.step(asked, 0)
    smallest = np.linalg.svd(controller.arm.J, compute_uv=False)[-1]
    np.testing.assert_allclose(stream["singular_margin"], [smallest])
    np.testing.assert_allclose(stream["torque_commanded"], controller.arm.gravity, atol=1e-9)


def test_an_arm_that_tracks_records_where_it_is_sent_and_not_a_number_without_a_target():
    """Joints, status and velocity."""
    robot, stream, asked = load_robot("ur5e"), Stream(), ControlRequest()
    arm, sent = Arm.of(robot), robot.home + 0.1
    arm.update(robot.home, np.zeros(6))
    solver = SimpleNamespace(solve=lambda pose, q: SimpleNamespace(status="unreachable", q=sent))
    pd = LimitedPD(velocity_limit=np.ones(6), step_limit=np.full(6, 0.5))
    controller = TrackingController(arm, solver, Placement(), np.full(6, 2.0), pd)
    controller.record(stream)
    asked.valid, asked.target = True, SimpleNamespace(position=arm.position, rotation=np.eye(3))
    controller.step(asked, 0)
    np.testing.assert_array_equal(stream["q_reference"], sent)
    np.testing.assert_array_equal(stream["ik_status"], [STATUS_INDEX["unreachable"]])
    np.testing.assert_allclose(stream["velocity_commanded"], 2.0 * 0.5)
    asked.target = None
    controller.step(asked, 10**9)
    assert np.isnan([*stream["q_reference"], *stream["ik_status"]]).all()
    assert len(stream["q_reference"]) == 6 and not stream["velocity_commanded"].any()

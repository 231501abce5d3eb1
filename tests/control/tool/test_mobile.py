"""Mobile controller: the arm keeps its target while the base drives; without one all rests."""

from __future__ import annotations

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.control.joint.loops import LimitedPD
from farhand.control.tool.tracking import ArmOnBase, MobileController, TrackingController
from farhand.mapping.ik import Solver
from farhand.mapping.vehicle import RateMode, Vehicle, VehicleMapping
from farhand.robots import Placement, load_robot
from farhand.spatial import rotation_from_vector

ROBOT, LWA4P = load_robot("cernbot"), load_robot("lwa4p")
PLACE, MOUNT = Placement((0.0, 1.2, 0.0)), np.array([0.0, 0.0, 0.6])
SOLVER = Solver(LWA4P, 1e-5, 1e-4, step_max=0.5)
STEP_NS = round(1e9 / 120.0)


class Drive:
    """Ideal joints of base and arm, led by a leader's pose."""

    def __init__(self, yaw: float = 0.0) -> None:
        self.arm = Arm.of(ROBOT, PLACE)
        q = ROBOT.home.copy()
        q[2] = yaw
        self.arm.update(q, np.zeros(10))
        tracking = TrackingController(
            ArmOnBase(self.arm), SOLVER, PLACE, LWA4P.limits.velocity, LimitedPD()
        )
        vehicle = Vehicle(self.arm, PLACE, MOUNT)
        self.controller = MobileController(tracking, vehicle, RateMode(), 1.0 / 120.0)
        self.mapping = VehicleMapping(motion_scale=0.7, vehicle=Vehicle(self.arm, PLACE, MOUNT))
        self.mapping.capture(np.zeros(3), np.eye(3), self.arm.position, self.arm.rotation)
        self.asked, self.now_ns, self.commands = ControlRequest(), 0, []
        self.asked.valid, self.share = True, 0.0

    def run(self, seconds: float, leader: np.ndarray | None, turn: float = 0.0) -> Drive:
        """Run with the leader going somewhere within half a second, or without a leader."""
        for k in range(round(120 * seconds)):
            if leader is not None:
                self.share = max(self.share, min(k / 60.0, 1.0))
                rotation = rotation_from_vector(np.array([0.0, 0.0, self.share * turn]))
                self.mapping.forward(self.share * leader, rotation, np.zeros(6))
            self.asked.target = None if leader is None else self.mapping
            command = self.controller.step(self.asked, self.now_ns).value.copy()
            self.commands.append(command)
            self.arm.update(self.arm.q + command / 120.0, command)
            self.now_ns += STEP_NS
        return self


def test_inside_the_dead_band_only_the_arm_moves():
    """8 cm of the leader are 56 mm of the tool, and the base stands."""
    drive = Drive()
    start = drive.arm.position.copy()
    drive.run(2.0, np.array([0.0, 0.08, 0.0]))
    assert not np.array(drive.commands)[:, :4].any()
    np.testing.assert_allclose(drive.arm.position - start, [0.0, 0.056, 0.0], atol=2e-4)


def test_beyond_it_the_base_drives_where_the_vehicle_points_and_the_arm_keeps_its_place_on_it():
    """Turned by a quarter, forward is along y; the tool stays in place on the vehicle."""
    drive = Drive(np.pi / 2)
    drive.run(3.0, np.array([0.2, 0.0, 0.0]))
    x, y = drive.arm.q[:2]
    assert abs(x) < 1e-9 and y > 0.4
    np.testing.assert_allclose(drive.arm.position, drive.mapping.position, atol=3e-3)


def test_each_of_the_four_freedoms_has_its_own_way_in():
    """Sideways, up, and a turn."""
    for joint, (leader, turn) in {
        1: ([0, 0.2, 0], 0.0),
        3: ([0, 0, 0.2], 0.0),
        2: ([0, 0, 0], 0.6),
    }.items():
        drive = Drive().run(1.5, np.array(leader, dtype=float), turn)
        assert np.flatnonzero(np.abs(drive.arm.q[:4]) > 0.05).tolist() == [joint]


def test_without_a_target_base_and_arm_come_to_rest():
    """Within the rise time, no command ever stepping beyond the drives' limits."""
    drive = Drive().run(2.0, np.array([0.3, 0.0, 0.0])).run(1.0, None)
    assert not drive.commands[-1].any()
    assert drive.controller.holding
    share = np.diff(np.array(drive.commands)[:, :4] / ROBOT.limits.velocity[:4], axis=0)
    assert np.abs(share).max() <= 0.05


def test_a_trip_stops_the_base():
    """Though the leader stays away from its rest."""
    drive = Drive().run(2.0, np.array([0.3, 0.0, 0.0]))
    drive.asked.tripped = True
    drive.run(1.0, np.array([0.3, 0.0, 0.0]))
    assert not drive.commands[-1].any()

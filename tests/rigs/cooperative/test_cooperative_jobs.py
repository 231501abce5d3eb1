"""Jobs of the cooperative rig: what a follower expects, tares and takes for a person's sign."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.control.tool.direct_force import DirectForce
from farhand.coupling import Side
from farhand.plants.wrappers.filtered import Filters
from farhand.rigs.cooperative.arms import CELL, GRIPPER, mounting
from farhand.rigs.cooperative.guiding import Centred, Lifted
from farhand.rigs.cooperative.jobs import FollowerCarry
from farhand.robots import load_robot
from farhand.sensing import Conditioner, ForceSensor, load_handle, load_sensor
from farhand.sensing.kalman import steady_gain
from farhand.spatial import rotation_from_vector

GRAVITY = 9.804


def job_of(kind: type, **parts: Any) -> Any:
    """A job whose arm stands still; its cell reads what is written to the side."""
    robot = load_robot("rx160")
    controller = DirectForce(Arm.of(robot, gravity=GRAVITY))
    controller.arm.update(robot.postures["table"], np.zeros(6))
    station = SimpleNamespace(period_ns=4_000_000, side=Side("follower"))
    arm = SimpleNamespace(
        name="follower_1",
        station=station,
        controller=controller,
        filters=Filters(r_wrench=5000.0),
        **parts,
    )
    return kind(arm, None, GRAVITY, lambda *_: None)


def test_a_follower_expects_its_load_as_late_as_its_own_filter_shows_it():
    """Else the arm would give way to a load that it has itself taken up."""
    job, shown = job_of(FollowerCarry), 0.0
    job.pace.share = 5.0
    for _ in range(400):
        job._ramp(job.weight)
        shown += steady_gain(0.125, 5000.0) * (job.loaded - shown)
    assert job.loaded == pytest.approx(32.0) and 5.0 < shown < 27.0
    assert job.controller.offset[2] == pytest.approx(-shown)


def test_only_a_push_with_a_twist_starts_the_guiding():
    """SM-3: somebody who leans on the object, or only turns it, does not move it yet."""
    job = job_of(Lifted)
    push, twist = np.array([12.0, 0.0, 0.0, 0.0, 0.0, 0.0]), np.zeros(6)
    twist[3:] = 1.5 * job.controller.arm.rotation[:, 2]
    for wrench, starts in ((push, False), (twist, False), (push + twist, True)):
        job.arm.station.side.wrench = wrench
        assert (job._triggered() is True) == starts


def test_an_object_that_was_weighed_in_two_poses_is_gone_from_the_cell_in_every_other():
    """SM-2: 2 kg beside the tool's axis; the cell sits turned by 45°."""
    profile, gripper = load_sensor(CELL).silent(), load_handle(GRIPPER).load
    conditioner = Conditioner(profile, mounting(), gripper, GRAVITY)
    conditioner.set_bias(np.zeros(6))
    job = job_of(Centred, cell=SimpleNamespace(conditioner=conditioner))
    sensor = ForceSensor(profile, mounting(), gripper, gravity=GRAVITY)
    com, turns = np.array([0.03, -0.01, 0.05]), ([2.0, 0.3, 0.0], [0.4, 1.5, 1.0], [1.0, 2.0, -1.0])

    def read(turn: list[float]) -> tuple[np.ndarray, np.ndarray]:
        R = rotation_from_vector(np.array(turn))
        weight = np.array([0.0, 0.0, -2.0 * GRAVITY])
        wrench = np.concatenate([weight, np.cross(R @ com, weight)])
        return R, conditioner.update(sensor.read(wrench, R), R)

    for turn in turns[:2]:
        R, seen = read(turn)
        job._forces.append(R.T @ seen[:3])
        job._moments.append(R.T @ seen[3:])
    job._merge()
    assert job.mass == pytest.approx(2.0, rel=0.01)
    np.testing.assert_allclose(job.found.com, com, atol=2e-3)
    for turn in turns:
        np.testing.assert_allclose(read(turn)[1], 0.0, atol=0.2)


def test_a_weight_that_an_arm_has_not_taken_up_is_a_partner_that_fails():
    """Once it carries its share, the same reading is explained."""
    job = job_of(FollowerCarry)
    job.pace.share = 20.0
    job.arm.station.side.wrench = np.array([0.0, 0.0, -0.8 * job.weight, 0.0, 0.0, 0.0])
    assert "a partner fails" in (job.unexplained() or "")
    job.loaded = job.weight
    assert job.unexplained() is None


def test_every_grasp_is_measured_anew():
    """What the first grasp read is no part of the second's squeeze."""
    job = job_of(FollowerCarry)
    for reading in (40.0, -5.0):
        job.arm.station.side.wrench = np.full(6, reading)
        for _ in range(50):
            job.average()
        np.testing.assert_allclose(job.mean(), reading)

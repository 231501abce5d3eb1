"""Joint move: an arm goes to a posture at bounded speed, arrives at rest, then holds."""

from __future__ import annotations

import numpy as np

from farhand.arm import Arm
from farhand.control.joint.loops import JointMove
from farhand.plants.plant import JointTorque
from farhand.plants.simulated.rigid import RigidPlant
from farhand.robots import load_robot

MS = 1_000_000


def led(target: np.ndarray | None, seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """Joint positions and velocities over time from home."""
    robot = load_robot("youbot", "fixed")
    plant, arm, move = (
        RigidPlant("arm", Arm.of(robot), robot.home, MS, "semi-implicit"),
        Arm.of(robot),
        JointMove(),
    )
    arm.update(robot.home, np.zeros(5))
    move.begin(arm)
    move.target = target
    command, rows = JointTorque(5), []
    for tick in range(round(seconds * 1000)):
        sample = plant.read(tick * MS)
        arm.update(sample.q, sample.v)
        command.value[:] = move.step(arm, 1e-3) + arm.gravity
        plant.write(command, tick * MS)
        rows.append((sample.q.copy(), sample.v.copy()))
    q, v = map(np.array, zip(*rows, strict=True))
    return q, v


def test_it_arrives_at_rest_without_breaking_its_speed() -> None:
    """From home to the candle pose: 0.5 rad/s and a little, no overshoot beyond a milliradian."""
    target = load_robot("youbot", "fixed").postures["candle"]
    q, v = led(target, 5.0)
    assert np.abs(v).max() < 0.52
    assert np.abs(q[-1] - target).max() < 1e-4 and np.abs(v[-1]).max() < 1e-3
    beyond = (q - target) * np.sign(target - q[0])
    assert beyond.max() < 1e-3


def test_without_a_target_it_holds() -> None:
    """As holding still does."""
    q, _ = led(None, 0.5)
    assert np.abs(q - q[0]).max() < 1e-9

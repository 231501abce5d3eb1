"""The plant of a Damiao arm, against the simulated motors through python-can."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.errors import BadValue, FileError
from farhand.plants import Brake, JointTorque
from farhand.plants.damiao.arms import load_arm
from farhand.plants.damiao.frames import Status
from farhand.plants.damiao.plant import DamiaoPlant
from farhand.plants.damiao.server import SlcanAdaptor
from farhand.plants.damiao.simulated import SimulatedCanArm
from farhand.plants.damiao.wires import PythonCanWire
from farhand.robots import Placement, load_robot
from tests.plants.damiao.test_server import served

ROBOT = load_robot("openarm")
# a busy machine must run neither into the motors' time-out nor into silence here
PATIENT = replace(load_arm("openarm"), timeout=20.0, rate=10.0)


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30.0
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    assert condition(), "30 s were not enough"


@pytest.fixture
def driven(tmp_path: Path) -> Iterator[tuple[DamiaoPlant, SimulatedCanArm]]:
    path = str(tmp_path / "adaptor")
    with served(SlcanAdaptor(path)) as arm:
        plant = DamiaoPlant("follower", PATIENT, PythonCanWire("slcan", path), ROBOT)
        try:
            yield plant, arm
        finally:
            plant.close()
            until(lambda: arm.motors[0].status is Status.DISABLED)


def weight() -> JointTorque:
    """What carries the arm at home."""
    arm, command = Arm.of(ROBOT), JointTorque(8)
    arm.update(ROBOT.home, np.zeros(8))
    command.value[:] = arm.gravity
    return command


def test_the_plant_holds_drives_and_reports_a_motor_that_gets_too_hot(
    driven: tuple[DamiaoPlant, SimulatedCanArm],
) -> None:
    """Its motors are off before the first command; they hold without one, and after a fault."""
    plant, arm = driven
    until(lambda: bool(np.abs(plant.read(0).q - arm.q).max() < 0.02))
    assert {motor.status for motor in arm.motors} == {Status.DISABLED}
    plant.write(Brake(8), 0)
    until(lambda: arm.motors[7].command.kp > 9.0)
    assert plant.fault is None and {motor.status for motor in arm.motors} == {Status.ENABLED}
    until(lambda: bool(np.abs(plant.read(0).q - arm.q).max() < 0.02))
    np.testing.assert_allclose(arm.q, ROBOT.home, atol=0.05)
    assert plant.read(0).wrench is None and plant.actuated.all()

    carried = weight()

    def gets_torque() -> bool:
        plant.write(carried, 0)
        command = arm.motors[1].command
        return command.kp == 0.0 and abs(command.torque - carried.value[1]) < 0.03

    until(gets_torque)
    # without commands the motors hold again
    until(lambda: arm.motors[6].command.kp > 9.0)
    until(gets_torque)
    plant.write(Brake(8), 0)
    until(lambda: arm.motors[6].command.kp > 9.0)
    arm.motors[4].temperature = 130.0
    until(lambda: plant.fault is not None)
    assert plant.fault is not None and "0x5 (joint5) is off: motor too hot" in plant.fault
    arm.motors[4].temperature = 30.0
    plant.restart()

    def comes_back() -> bool:
        plant.write(Brake(8), 0)
        return arm.motors[4].status is Status.ENABLED

    until(comes_back)
    until(lambda: arm.motors[7].command.kp > 9.0)
    assert plant.fault is None


def test_an_address_says_interface_and_channel(tmp_path: Path) -> None:
    """What is wrong with it is said in one line, before anything moves."""

    def opened(address: str) -> None:
        DamiaoPlant.open(address, name="follower", robot=ROBOT, placement=Placement(), gravity=9.81)

    with pytest.raises(BadValue, match="lacks a channel: write damiao:INTERFACE:CHANNEL"):
        opened("slcan")
    with pytest.raises(FileError, match="cannot open the CAN bus slcan:"):
        opened(f"slcan:{tmp_path}/nothing")
    with pytest.raises(FileError, match="cannot open the CAN bus telepathy:can0"):
        opened("telepathy:can0")
    with pytest.raises(FileError, match="neither an arm"):
        opened("slcan:/dev/null:mine.toml")

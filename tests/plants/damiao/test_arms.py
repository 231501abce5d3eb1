"""Arms of Damiao motors: the toml files, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from farhand.errors import FarhandError, Mismatch
from farhand.plants.damiao.arms import KNOWN, load_arm
from farhand.plants.damiao.driver import DamiaoDriver
from farhand.plants.damiao.plant import DamiaoPlant
from farhand.plants.damiao.simulated import SimulatedCanArm
from farhand.plants.damiao.wires import VirtualWire
from farhand.robots import load_robot

ONE = 'robot = "openarm"\n[[motor]]\njoint = "joint1"\nid = 1\nmodel = "DM8009"\n'


@pytest.mark.parametrize("name", KNOWN)
def test_every_arm_fits_the_joints_of_its_robot(name: str) -> None:
    arm = load_arm(name)
    arm.check(load_robot(arm.robot))
    assert [motor.answer - motor.id for motor in arm.motors] == [0x10] * len(arm.motors)


def test_an_openarm_opens_its_gripper_by_44_mm_in_a_sixth_of_a_turn() -> None:
    assert load_arm("openarm").motors[-1].ratio * -1.0472 == pytest.approx(0.044, rel=1e-4)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "needs a [[motor]]"),
        (ONE.replace("DM8009", "DM8008"), "DM8009"),
        (ONE.replace("id = 1", "id = 0x400"), "1024"),
        (ONE.replace("id = 1\n", ""), "has no id"),
        (ONE + "ratio = 0\n", "would turn nothing"),
        (ONE + "sing = -1\n", "sing"),
        (ONE + "limits = [1.0, -1.0]\n", "[smallest, largest]"),
        (ONE + 'limits = ["a", "b"]\n', "limits of motor joint1 of arm.toml must be 2 numbers"),
        (ONE + "limits = [-inf, inf]\n", "must be finite"),
        (ONE.replace("id = 1", "id = 1.5"), "must be a whole number, not 1.5"),
        (ONE + "ratio = 1e-300\n", "would turn nothing"),
        ("rate = nan\n" + ONE, "rate of arm.toml must be a number"),
        (ONE.replace('robot = "openarm"', ""), "arm.toml has no robot"),
        (ONE + '[[motor]]\njoint = "joint2"\nid = 0x11\nmodel = "DM8009"\n', "is also of joint1"),
        ("timeout = 0.0\n" + ONE, "timeout"),
        ("hold_kp = [1.0, 2.0]\n" + ONE, "hold_kp needs 1 numbers"),
    ],
)
def test_a_file_with_a_mistake_is_refused_in_one_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "arm.toml"
    path.write_text(text)
    with pytest.raises(FarhandError) as error:
        load_arm(str(path))
    assert says in str(error.value) and "\n" not in str(error.value)


def test_a_file_for_another_robot_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "arm.toml"
    path.write_text(ONE)
    with pytest.raises(Mismatch, match="the motors turn joint1; the joints of openarm are"):
        load_arm(str(path)).check(load_robot("openarm"))
    with pytest.raises(FarhandError, match="neither an arm"):
        load_arm("openarms")


def test_a_file_in_the_address_names_the_robot() -> None:
    """Else it is the one of the role."""
    folder = Path(__file__).parents[3] / "examples" / "yam"
    address = f"socketcan:can0:{folder / 'motors.toml'}"
    assert DamiaoPlant.robot_at(address, "leader") == str(folder / "yam.xml")
    assert DamiaoPlant.robot_at("socketcan:can0", "follower") == "openarm"


def test_another_arm_is_a_toml_file_and_moves_as_told() -> None:
    """A YAM: six other motors, on a robot whose file is beside that of its motors."""
    folder = Path(__file__).parents[3] / "examples" / "yam"
    motors = load_arm(str(folder / "motors.toml"))
    arm = SimulatedCanArm(motors)
    driver = DamiaoDriver(motors, load_robot(str(folder / "yam.xml")), VirtualWire(arm, fd=False))
    driver.connect()
    driver.enable()
    before = arm.q.copy()
    for _ in range(25):
        driver.cycle(None, 0.008)
    assert driver.fault is None and driver.missed == 0
    np.testing.assert_allclose(driver.q, arm.q, atol=0.002)
    # without a weight fed forward the motors' own springs carry the arm
    assert np.abs(arm.q - before).max() < 0.1

"""Files that describe an arm of servos: what is taken, and what is refused at once."""

from __future__ import annotations

import json

import pytest

from farhand.errors import BadValue, FarhandError, Mismatch
from farhand.plants.servo_arm.calibration import Calibration
from farhand.plants.servo_arm.description import arm_names, load_arm
from farhand.plants.servo_arm.plant import DynamixelPlant, FeetechPlant
from farhand.robots import Placement, load_robot

HEAD = 'robot = "so101"\nfamily = "feetech"\nbaud = 1000000\nvolts = 12.0\n'
ONE = 'joint = "elbow_flex", id = 3, model = "sts3215"'
ROW = {"id": 1, "drive_mode": 0, "homing_offset": 5, "range_min": 100, "range_max": 3000}


def text(head: str = HEAD, row: str = ONE) -> str:
    """An arm with one servo."""
    return f"{head}servos = [{{ {row} }}]\n"


@pytest.mark.parametrize("name", arm_names())
def test_every_arm_moves_all_joints_of_its_robot(name):
    """And no others."""
    arm = load_arm(name)
    arm.check(load_robot(arm.robot))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "has no robot and no family"),
        (HEAD, "has no servos"),
        (HEAD + "servos = 5\n", "must be a list of tables"),
        (HEAD + "servos = [3]\n", "must be a table, not 3"),
        (text(HEAD.replace("feetech", "futaba")), "unknown family of servos in arm.toml 'futaba'"),
        (text(HEAD.replace("feetech", "dynamixel")), "must be of the family dynamixel"),
        (text(HEAD.replace("1000000", "12345")), "baud of arm.toml is 12345; it must be one of"),
        (text(HEAD.replace("1000000", "inf")), "baud of arm.toml is inf"),
        (text(HEAD.replace("12.0", "nan")), "volts of arm.toml must be a number"),
        (text(HEAD.replace("12.0", "-3")), "volts of arm.toml = -3 is outside [3, 60] V"),
        (text(row=ONE.replace("id = 3", "id = 300")), "= 300 is outside [0, 252]"),
        (text(row=ONE.replace("id = 3", "id = 1.5")), "must be a whole number, not 1.5"),
        (text(row=ONE.replace("id = 3", 'id = "3"')), "must be a number, not '3'"),
        (text(row=ONE.replace("id = 3, ", "")), "a servo of arm.toml has no id"),
        (text(row=ONE.replace("sts3215", "sts3216")), "did you mean 'sts3215'?"),
        (text(row=ONE + ", ratio = 0"), "ratio of servo elbow_flex of arm.toml = 0 is outside"),
        (text(row=ONE + ", ratio = nan"), "ratio of servo elbow_flex of arm.toml must be a number"),
        (text(row=ONE + ", sign = 5"), "must be 1 or -1, not 5"),
        (text(row=ONE + ", drive_mode = 7"), "= 7 is outside [0, 1]"),
    ],
)
def test_an_arm_file_with_a_mistake_is_refused_in_one_line(tmp_path, content, says):
    """With the key, the value and what would be right."""
    path = tmp_path / "arm.toml"
    path.write_text(content)
    with pytest.raises(FarhandError) as caught:
        load_arm(str(path))
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_an_arm_whose_servos_move_other_joints_is_refused_before_its_port_is_opened(tmp_path):
    """With both lists."""
    path = tmp_path / "arm.toml"
    path.write_text(text())
    with pytest.raises(Mismatch, match="servos of arm move elbow_flex; the joints of so101 are sh"):
        FeetechPlant.open(
            f"/dev/nothing@{path}",
            name="a",
            robot=load_robot("so101"),
            placement=Placement(),
            gravity=9.8,
        )


def test_an_arm_file_in_the_address_names_the_robot(tmp_path):
    """A name, or a model file beside it; without such a file, the robot of the role."""
    path = tmp_path / "arm.toml"
    path.write_text(text(HEAD.replace("so101", "mine.xml")))
    assert FeetechPlant.robot_at(f"/dev/ttyACM0@{path}", "leader") == "mine.xml"
    (tmp_path / "mine.xml").touch()
    address = f"/dev/ttyACM0@{path}@calibration.json"
    assert FeetechPlant.robot_at(address, "leader") == str(tmp_path / "mine.xml")
    assert DynamixelPlant.robot_at("/dev/ttyUSB0@calibration.json", "leader") == "koch-leader"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"a": [1, 2]}', "each joint must have id"),
        (json.dumps({"a": {**ROW, "range_max": float("inf")}}), "range_max of a in .* = inf"),
        (json.dumps({"a": {**ROW, "range_min": 0.5}}), "must be a whole number, not 0.5"),
        (json.dumps({"a": {**ROW, "range_min": "5"}}), "must be a number, not '5'"),
        (json.dumps({"a": {**ROW, "id": 300}}), "id of a in .* = 300 is outside"),
        (json.dumps({"a": {**ROW, "range_min": 3001}}), "range_min 3001 and range_max 3000 of a"),
        (json.dumps({"a": ROW, "b": ROW}), "two joints have the same id"),
    ],
)
def test_a_calibration_file_with_a_mistake_is_refused(tmp_path, content, says):
    """In one line, with the joint, the key and the value."""
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(FarhandError, match=says):
        Calibration.read(path)


def test_the_scs_series_is_refused_by_name(tmp_path):
    """Its numbers have the other byte first."""
    path = tmp_path / "arm.toml"
    path.write_text(text(row=ONE.replace("sts3215", "scs15")))
    with pytest.raises(BadValue, match="the SCS series .* is not served"):
        load_arm(str(path))

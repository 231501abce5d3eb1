"""A log of free motion says what is wrong with an arm's torques; physics is the judge."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.errors import BadValue
from farhand.friction.fit.data import write_columns
from farhand.friction.fit.sliding import Estimate
from farhand.report.output import show_table
from farhand.report.torque import joint_table, spread
from farhand.robots import Placement, load_robot
from farhand.robots.edits import add_payload
from farhand.sensing.observer import MomentumObserver
from farhand.torque.check import check
from farhand.torque.excitation import excitation
from farhand.torque.fit import data_sheet, identified
from farhand.torque.floor import contact, noise_floor
from farhand.torque.log import read_log
from farhand.torque.overlay import read_model
from farhand.torque.regressor import BODY, DataSheet
from tests.torque.arm_logs import COULOMB, VISCOUS, arm_columns

ROBOT = load_robot("elbow6")


def checked(tmp_path, columns):
    """The check of these columns, through a file."""
    write_columns(tmp_path / "log.csv", columns)
    return check(read_log(tmp_path / "log.csv", ROBOT), ROBOT)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The check of an arm without fault."""
    return checked(tmp_path_factory.mktemp("plain"), arm_columns())


def test_an_arm_without_fault_gets_no_complaint_and_its_friction_is_found(plain):
    """Nothing is named, and every interval of friction and scale holds the truth."""
    assert plain.findings == []
    for joint in plain.joints:
        for one, truth in ((joint.scale, 1.0), (joint.coulomb, COULOMB), (joint.viscous, VISCOUS)):
            if one.identified:
                assert one.low < truth < one.high
    assert sum(joint.scale.identified for joint in plain.joints) >= 4
    assert plain.joints[1].held_out < 0.02 * plain.joints[1].torque


@pytest.mark.parametrize("width", [60, 80, 90, 100])
def test_the_table_of_joints_is_whole_on_a_narrow_terminal(plain, capsys, monkeypatch, width):
    """Nothing is cut off, and no value is broken over lines."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    show_table(joint_table(plain))
    shown = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert "…" not in shown and max(map(len, shown.splitlines())) <= width
    values = " ".join(shown.split())
    for heading in ("scale", "offset", "delay", "dry friction", "viscous"):
        assert len(re.findall(rf"{heading} (?:-?[\d.]+ ± [\d.]+|unknown)", values)) == 6
    assert len(re.findall("hold-out [\\d.]+ N·m", values)) == 6


@pytest.mark.parametrize(
    ("value", "half", "words"),
    [(1.0324, 0.088, "1.032 ± 0.088"), (-0.004, 2.5, "0.0 ± 2.5"), (-12.3, 40.0, "-12 ± 40")],
)
def test_a_value_has_the_digits_of_its_interval_and_zero_no_sign(value, half, words):
    """Two of the half interval."""
    assert spread(Estimate(value, value - half, value + half, "-", True)) == words


def test_scale_sign_and_an_unknown_tool_are_told_apart(tmp_path):
    """Joint 2 reads four times too much, joint 5 the wrong sign, and the tool is 1.5 kg."""
    columns = arm_columns(payload=1.5)
    columns["torque2"] = 4.0 * columns["torque2"]
    columns["torque5"] = -columns["torque5"]
    found = checked(tmp_path, columns)
    assert {(one.kind, one.joints) for one in found.findings} == {
        ("scale", (2,)),
        ("sign", (5,)),
        ("tool", ()),
    }
    assert found.tool_mass.low < 1.5 < found.tool_mass.high


def test_swapped_torque_columns_are_named_and_put_right(tmp_path):
    """Joints 3 and 4 are exchanged; the numbers that follow are those of the right order."""
    columns = arm_columns()
    columns["torque3"], columns["torque4"] = columns["torque4"], columns["torque3"]
    found = checked(tmp_path, columns)
    assert [(one.kind, one.joints) for one in found.findings] == [("swapped", (3, 4))]
    assert found.joints[2].scale.value == pytest.approx(1.0, abs=0.1)


def test_a_joint_at_rest_is_said_to_be_unknown(tmp_path):
    """Nothing is claimed about a joint that does not move."""
    columns = arm_columns()
    columns["q6"] = np.full_like(columns["q6"], 0.3)
    columns["v6"] = np.zeros_like(columns["v6"])
    found = checked(tmp_path, columns)
    assert ("scale", (6,)) in {(one.kind, one.joints) for one in found.unclear}
    assert not found.joints[5].scale.identified


def test_no_change_of_the_data_sheet_makes_a_body_impossible():
    """Whatever the ten numbers, mass is positive and moments of inertia obey the triangle."""
    rng = np.random.default_rng(0)
    for body in DataSheet(ROBOT, tuple(range(6))).bodies:
        for _ in range(20):
            inertia = body.inertia(rng.normal(0.0, 1.0, BODY))
            moments = np.linalg.eigvalsh(inertia.inertia)
            assert inertia.mass > 0.0 and moments[0] > 0.0
            assert moments[0] + moments[1] >= moments[2]


def test_the_slope_of_a_body_is_that_of_its_parameters():
    """Finite steps of the ten numbers change the parameters as the slope says."""
    body = DataSheet(ROBOT, tuple(range(6))).bodies[2]
    rng = np.random.default_rng(1)
    at, step = 0.1 * rng.normal(size=BODY), 1e-5 * rng.normal(size=BODY)
    change = body.parameters(at + step) - body.parameters(at - step)
    np.testing.assert_allclose(change, 2.0 * body.slope(at) @ step, rtol=1e-4, atol=1e-11)


def test_the_fitted_model_makes_the_arm_feel_less_when_nothing_touches_it(tmp_path):
    """With an unknown tool the data sheet feels a contact; the fitted model's floor is below."""
    found = checked(tmp_path, arm_columns(payload=1.5))
    before = noise_floor(ROBOT, found.log, None)
    after = noise_floor(ROBOT, found.log, identified(found))
    assert (after.force < 0.3 * before.force).all()


def test_an_arm_believes_the_model_of_a_file(tmp_path):
    """Gravity of an arm with the overlay of a heavier robot is that robot's; so is its mass."""
    heavy = ROBOT.edited(add_payload(0.7, (0.01, 0.0, 0.05), (1e-3, 1e-3, 1e-3)))
    (tmp_path / "m.json").write_text(json.dumps(data_sheet(heavy).to_json()))
    arm, true = Arm.of(ROBOT), Arm.of(heavy)
    read_model(tmp_path / "m.json").apply(arm)
    for one in (arm, true):
        one.update(ROBOT.home + 0.2, np.full(6, 0.3))
    np.testing.assert_allclose(arm.gravity, true.gravity, atol=1e-9)
    np.testing.assert_allclose(arm.M, true.M, atol=1e-9)
    np.testing.assert_allclose(arm.bias, true.bias, atol=1e-9)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("bodies", "joint_2", "mass"), -1.0, "mass or inertia of joint_2 is impossible"),
        (("bodies", "joint_2", "mass"), [1.0, 2.0], "damaged"),
        (("bodies", "joint_2", "scale"), None, "damaged"),
        (("bodies", "joint_2", "centre"), [0.0, 0.0], "damaged"),
        (("bodies", "joint_2", "inertia"), [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]], "impossible"),
        (("bodies", "joint_2", "viscous"), float("inf"), "not finite"),
        (("bodies", "joint_2", "coulomb"), -0.1, "below zero"),
        (("tilt",), [float("nan"), 0.0], "not finite"),
        (("tilt",), [4.0, 0.0], "tilt"),
    ],
)
def test_a_model_that_was_edited_by_hand_is_refused_where_it_is_impossible(
    tmp_path, path, value, words
):
    """One line that names the file."""
    content = data_sheet(ROBOT).to_json()
    place = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    (tmp_path / "m.json").write_text(json.dumps(content))
    with pytest.raises(BadValue, match=f"^m.json.*{words}"):
        read_model(tmp_path / "m.json")


@pytest.mark.parametrize("yaw", [0.0, 2.0])
@pytest.mark.parametrize("tilt", [(0.03, 0.0), (0.0, -0.02), (0.02, 0.03)])
def test_an_identified_tilt_is_that_of_an_arm_on_a_turned_base(tilt, yaw):
    """To first order in the tilt: an arm that stands so has the same gravity torque, wherever it
    faces.
    """
    z, w = np.sin(yaw / 2), np.cos(yaw / 2)
    faces = Placement(quaternion=(0, 0, z, w))
    x, y = np.divide(tilt, 2)
    leans = Placement(quaternion=(w * x - z * y, w * y + z * x, z, w))
    level, turned, upright = Arm.of(ROBOT, faces), Arm.of(ROBOT, leans), Arm.of(ROBOT, faces)
    replace(data_sheet(ROBOT), tilt=tilt).apply(level)
    for arm in (level, turned, upright):
        arm.update(ROBOT.home + 0.2, np.zeros(6))
    change = np.abs(turned.gravity - upright.gravity).max()
    np.testing.assert_allclose(level.gravity, turned.gravity, atol=0.05 * change)


def test_an_observer_takes_known_dry_friction_off():
    """A joint that slides against dry friction at constant speed feels no contact."""
    arm = Arm.of(ROBOT)
    arm.dry = np.full(6, 2.0)
    observer, v = MomentumObserver(arm, 50.0), np.array([0.5, 0.0, 0.0, 0.0, 0.0, 0.0])
    for k in range(400):
        arm.update(ROBOT.home + 1e-3 * k * v, v)
        observer.update(arm.bias + arm.dry * np.sign(v), 1e-3)
    assert np.abs(observer.torque).max() < 0.05
    assert abs(contact(arm, observer.torque)[1]) < 0.1


def test_the_protocol_stays_within_limits_and_begins_at_rest_at_home():
    """No joint leaves its range or its share of speed, and no jump is asked for."""
    motion = excitation(ROBOT, 20.0, 0.3, 100.0, np.random.default_rng(0))
    limits = ROBOT.limits
    assert (motion.q > limits.lower).all() and (motion.q < limits.upper).all()
    assert (np.abs(motion.v) < 0.33 * limits.velocity).all()
    np.testing.assert_allclose(motion.q[0], ROBOT.home, atol=1e-9)
    assert np.abs(motion.v[[0, -1]]).max() < 0.02
    assert np.ptp(motion.q, axis=0).min() > 0.3

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
from farhand.report.torque import joint_table, sentence, spread
from farhand.robots import Placement, load_robot
from farhand.robots.edits import add_payload
from farhand.sensing.observer import MomentumObserver
from farhand.torque.check import check
from farhand.torque.excitation import excitation
from farhand.torque.fit import as_used, data_sheet, identified
from farhand.torque.floor import Detector, NoiseFloor, contact_map, external, noise_floor
from farhand.torque.log import read_log
from farhand.torque.overlay import read_model
from farhand.torque.regressor import BODY, DataSheet
from tests.torque.arm_logs import COULOMB, VISCOUS, arm_columns

ROBOT = load_robot("elbow6")


def logged(tmp_path, columns, robot=ROBOT):
    """The log of these columns, through a file."""
    write_columns(tmp_path / "log.csv", columns)
    return read_log(tmp_path / "log.csv", robot)


def checked(tmp_path, columns, robot=ROBOT):
    """The check of these columns."""
    return check(logged(tmp_path, columns, robot), robot)


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


@pytest.mark.parametrize("mass", [0.05, 0.5])
def test_a_file_that_is_too_heavy_at_the_tool_gives_a_fitted_model_with_the_right_gravity(
    tmp_path, mass
):
    """Named or not: no overlay can carry a tool of less than nothing, so the bodies take it up."""
    heavy = ROBOT.edited(add_payload(mass, (0.0, 0.0, 0.05)))
    model = identified(checked(tmp_path, arm_columns(), heavy))
    np.testing.assert_array_equal(model.scale, 1.0)
    sheet, fitted, true = Arm.of(heavy), Arm.of(heavy), Arm.of(ROBOT)
    model.apply(fitted)
    rng, errors = np.random.default_rng(0), []
    for _ in range(50):
        q = ROBOT.home + rng.uniform(-0.5, 0.5, 6)
        for arm in (sheet, fitted, true):
            arm.update(q, np.zeros(6))
        errors.append([fitted.gravity - true.gravity, sheet.gravity - true.gravity])
    ours, theirs = np.sqrt(np.mean(np.square(errors), axis=(0, 2)))
    assert ours < max(0.1 * theirs, 0.02)


def test_a_delay_that_is_not_named_is_not_traded_for_rotor_inertia(plain):
    """Of a joint with viscous friction only their sum shows; without a delay, rotors are right."""
    used = as_used(plain)
    np.testing.assert_allclose(used.value("delay"), 0.0, atol=1e-9)
    np.testing.assert_allclose(used.value("scale"), 1.0, atol=1e-9)


@pytest.mark.parametrize("fitted", [False, True])
def test_the_floor_of_one_motion_holds_in_another(tmp_path, fitted):
    """An arm with a tool that its file lacks: the file's error is no noise, but is judged alike."""
    one, other = (logged(tmp_path, arm_columns(payload=1.5, seed=seed)) for seed in (3, 4))
    model = identified(check(one, ROBOT)) if fitted else None
    first, second = (external(ROBOT, log, model) for log in (one, other))
    expected, own = (Detector.of(run).threshold(second)[:, :3] for run in (first, second))
    np.testing.assert_allclose(np.median(expected / own, axis=0), 1.0, atol=0.25)


@pytest.mark.parametrize("fitted", [False, True])
def test_half_of_the_contacts_at_the_floor_are_detected(tmp_path, fitted):
    """From either side; of those at half of it few are, and of those at twice nearly all."""
    found = checked(tmp_path, arm_columns(payload=1.5))
    free = external(ROBOT, found.log, identified(found) if fitted else None)
    threshold = Detector.of(free).threshold(free)[:, 1]

    def share(size):
        pushes = (free.wrench[:, 1] + way * size * threshold for way in (1.0, -1.0))
        return np.mean([np.abs(push) > threshold for push in pushes])

    assert share(0.3) < 0.25 and share(2.0) > 0.95
    assert share(1.0) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(
    ("least", "words"),
    [
        (1.8, "1.8 N sideways, 4 N forward and 2.5 N up"),
        (0.08, "0.50 N sideways, 4 N forward and 2.5 N up; less than about 0.5 N no hand notices"),
    ],
)
def test_no_one_is_promised_to_feel_what_no_hand_notices(least, words):
    """A floor below that of a hand is not what a person feels."""
    floor = NoiseFloor(np.array([4.0, least, 2.5]), np.ones(3), np.ones(6), np.full(3, 9.0))
    assert sentence(floor) == f"you will feel contacts above {words}"


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
    assert abs((contact_map(arm) @ observer.torque)[1]) < 0.1


def test_the_protocol_stays_within_limits_and_begins_at_rest_at_home():
    """No joint leaves its range or its share of speed, and no jump is asked for."""
    motion = excitation(ROBOT, 20.0, 0.3, 100.0, np.random.default_rng(0))
    limits = ROBOT.limits
    assert (motion.q > limits.lower).all() and (motion.q < limits.upper).all()
    assert (np.abs(motion.v) < 0.33 * limits.velocity).all()
    np.testing.assert_allclose(motion.q[0], ROBOT.home, atol=1e-9)
    assert np.abs(motion.v[[0, -1]]).max() < 0.02
    assert np.ptp(motion.q, axis=0).min() > 0.3

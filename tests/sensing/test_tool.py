"""Tool: a calibration survives the file to the bit, and a wrong or broken file is refused in one
line.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.transform import Rotation

from farhand.errors import BadValue, FarhandError, FileError, Mismatch
from farhand.sensing import Readings, Thermal, ToolCalibration, identify, load_tool
from farhand.sensing.tool import quantile
from tests.sensing.ft_data import random_truth, recording


@pytest.fixture
def tool() -> ToolCalibration:
    rng = np.random.default_rng(1)
    raw = recording(random_truth(rng), Rotation.random(12, rng=rng), 20, rng)
    return identify(raw, tool_id="gripper", sensor_id="wrist").tool


def test_save_and_load_give_the_same_numbers_to_the_bit(tool, tmp_path):
    """Also with a thermal line."""
    thermal = Thermal(23.5, np.arange(6) / 7.0, np.ones(6) / 3.0)
    for original in (tool, ToolCalibration(**{**vars(tool), "thermal": thermal})):
        original.save(tmp_path / "tool.json")
        assert load_tool(tmp_path / "tool.json").to_json() == original.to_json()
    assert [p.name for p in tmp_path.iterdir()] == ["tool.json"]


def test_the_file_has_what_the_format_promises(tool, tmp_path):
    """Names and shapes that other programs rely on."""
    tool.save(tmp_path / "tool.json")
    content = json.loads((tmp_path / "tool.json").read_text())
    assert isinstance(content["mass"], float)
    assert [len(content[key]) for key in ("com", "bias_force", "bias_torque", "covariance")] == [
        3,
        3,
        3,
        10,
    ]
    assert (
        content["tool_id"] == "gripper"
        and content["sensor_id"] == "wrist"
        and content["thermal"] is None
    )


def test_the_wrong_tool_or_sensor_is_refused(tool, tmp_path):
    """The message names both."""
    tool.save(tmp_path / "tool.json")
    load_tool(tmp_path / "tool.json", tool_id="gripper", sensor_id="wrist")
    with pytest.raises(Mismatch, match="'gripper', not to 'drill'"):
        load_tool(tmp_path / "tool.json", tool_id="drill")
    with pytest.raises(Mismatch, match="sensor 'wrist'"):
        load_tool(tmp_path / "tool.json", sensor_id="ankle")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mass": None}, "mass"),
        ({"mass": float("nan")}, "mass"),
        ({"com": [1, 2]}, "com must be 3"),
        (
            {"covariance": (np.eye(10) + 9.0 * np.fliplr(np.eye(10))).tolist()},
            "no negative eigenvalue",
        ),
        ({"mass": 0.0}, "mass must not be 0"),
        ({"mass": True}, "mass must be one finite number"),
        ({"mass": 1e300}, "mass must be one finite number"),
        ({"mass": 10**400}, "mass must be one finite number"),
        ({"gravity": 0.0}, "gravity must be positive"),
        ({"freedom": -1.0}, "freedom must be positive"),
        ({"noise": [-1.0] * 6}, "noise must not be negative"),
        ({"covariance": [[0.0] * 10] * 9}, "covariance must be 10 × 10"),
        ({"covariance": (-np.eye(10)).tolist()}, "covariance"),
        ({"thermal": 3}, "thermal"),
        ({"tool_id": 3}, "tool_id"),
        ({"bias_force": "none"}, "bias_force"),
    ],
)
def test_a_broken_file_is_refused_by_what_is_wrong(tool, tmp_path, change, words):
    """Checked on load, not where it would hurt."""
    path = tmp_path / "tool.json"
    path.write_text(json.dumps({**tool.to_json(), **change}))
    with pytest.raises(BadValue, match=words):
        load_tool(path)


@pytest.mark.parametrize("text", ["", "[]", "{", "3"])
def test_what_is_no_calibration_is_refused(tmp_path, text):
    """Any other JSON, or none."""
    (tmp_path / "tool.json").write_text(text)
    with pytest.raises(FarhandError):
        load_tool(tmp_path / "tool.json")
    with pytest.raises(FileError):
        load_tool(tmp_path / "absent.json")


def test_the_variance_of_the_weight_is_that_of_the_first_order_formula(tool):
    """The shortcut for many orientations at once against one at a time."""
    up = Rotation.random(20, rng=np.random.default_rng(2)).as_matrix()[:, 2]
    slow = [np.diag(tool.sensitivity(u) @ tool.covariance @ tool.sensitivity(u).T) for u in up]
    np.testing.assert_allclose(tool.variance(up), slow, rtol=1e-6, atol=1e-12)


def test_the_sensitivity_is_the_derivative_of_the_reading(tool):
    """Central differences in all ten numbers."""
    up = Rotation.random(rng=np.random.default_rng(3)).as_matrix()[2]
    numeric = np.zeros((6, 10))
    for k in range(10):
        for sign in (1.0, -1.0):
            x = tool.values
            x[k] += sign * 1e-6
            moved = ToolCalibration(x[0], x[1:4], x[4:7], x[7:], tool.covariance)
            numeric[:, k] += sign * (moved.weight(up) + moved.bias) / 2e-6
    np.testing.assert_allclose(tool.sensitivity(up), numeric, atol=1e-6)


def test_intervals_are_those_of_students_t(tool):
    """As many deviations to each side as SciPy's distribution has."""
    for freedom in (1.0, 5.0, 1e9):
        half = stats.t(freedom).ppf(0.975)
        assert quantile(freedom) == pytest.approx(half, rel=1e-9)
        assert quantile(freedom, 0.5) == pytest.approx(stats.t(freedom).ppf(0.75), rel=1e-9)
    low, high = tool.intervals.T
    deviation = np.sqrt(np.diag(tool.covariance))
    np.testing.assert_allclose(0.5 * (low + high), tool.values)
    np.testing.assert_allclose(high - low, 2.0 * quantile(tool.freedom) * deviation)


def test_a_tracked_bias_counts_for_nothing_in_the_variance(tool):
    """Only mass and centre of mass are left, with what they have in common."""
    up = np.array([[0.0, 0.6, 0.8], [1.0, 0.0, 0.0], [0.6, 0.64, 0.48]])
    for k, one in enumerate(up):
        rows = tool.sensitivity(one)[:, :4]
        wanted = np.diag(rows @ tool.covariance[:4, :4] @ rows.T)
        np.testing.assert_allclose(tool.variance(up, bias=False)[k], wanted, rtol=1e-6)


def test_a_reading_without_bias_weight_and_heat_is_nothing(tool):
    """Whatever the temperature, the yaw and the sign."""
    thermal = Thermal(23.0, np.arange(6.0), np.ones(6))
    for sign in (1.0, -1.0):
        warm = ToolCalibration(
            **{**vars(tool), "thermal": thermal, "yaw": 0.7, "mass": sign * tool.mass}
        )
        turn = Rotation.random(5, rng=np.random.default_rng(4))
        pull = (turn * Rotation.from_euler("z", 0.7)).inv().apply([0.0, 0.0, -9.81])
        force = sign * tool.mass * pull
        temperature = np.linspace(20.0, 30.0, 5)
        heat = np.outer(temperature - 23.0, np.arange(6.0))
        wrench = np.hstack([force, np.cross(tool.com, force)]) + tool.bias + heat
        raw = Readings(np.arange(5.0), turn.as_quat(), wrench, temperature)
        np.testing.assert_allclose(warm.unload(raw), 0.0, atol=1e-9)
        assert warm.load.mass == pytest.approx(abs(tool.mass)) and warm.sign == sign


def test_a_file_may_leave_out_what_has_a_usual_value_and_bend_a_covariance_by_rounding(
    tool, tmp_path
):
    """A part in a million; gravity, noise, yaw and freedom are the usual ones if not given."""
    path = tmp_path / "tool.json"
    content = tool.to_json()
    for key in ("freedom", "noise", "gravity", "yaw", "yaw_deviation", "tool_id", "sensor_id"):
        del content[key]
    path.write_text(json.dumps(content))
    found = load_tool(path)
    assert (found.freedom, found.gravity, found.yaw, found.yaw_deviation) == (1e9, 9.81, 0.0, 0.0)
    np.testing.assert_array_equal(found.noise, np.zeros(6))
    with pytest.raises(Mismatch, match="a tool without a name"):
        load_tool(path, tool_id="drill")
    for bend, refused in ((0.9e-6, False), (1.1e-6, True)):
        for matrix in (np.eye(10) + bend * np.eye(10, k=3), np.diag([1.0] * 9 + [-bend])):
            path.write_text(json.dumps({**content, "covariance": matrix.tolist()}))
            if refused:
                with pytest.raises(BadValue, match="symmetric"):
                    load_tool(path)
            else:
                load_tool(path)

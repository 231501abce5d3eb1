"""Readings: what is written comes back, in any column order, and what cannot be read is refused by
line.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from farhand.errors import BadValue, FarhandError
from farhand.sensing import Readings, read_readings, write_readings
from farhand.sensing.readings import COLUMNS, base_axis
from tests.sensing.ft_data import random_truth, recording


@pytest.fixture
def readings() -> Readings:
    rng = np.random.default_rng(1)
    return recording(random_truth(rng), Rotation.random(5, rng=rng), 4, rng)


def test_what_is_written_comes_back_to_the_bit(readings, tmp_path):
    """Numbers are written in full."""
    write_readings(tmp_path / "a.csv", readings)
    again = read_readings(tmp_path / "a.csv")
    np.testing.assert_array_equal(again.wrench, readings.wrench)
    np.testing.assert_array_equal(again.time, readings.time)
    np.testing.assert_allclose(again.quaternion, readings.quaternion, atol=1e-15)
    assert again.temperature is None and again.header == COLUMNS


@given(order=st.permutations(range(12)))
def test_the_order_of_the_columns_does_not_matter(order, tmp_path_factory):
    """With a temperature among them, blanks in the header and a byte-order mark."""
    names = np.array([*COLUMNS, "temp"])
    row = dict(zip(names, [0.5, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 25.0], strict=True))
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    lines = [
        " , ".join(names[list(order)]),
        *[",".join(str(row[n]) for n in names[list(order)])] * 2,
        "",
    ]
    path.write_text("\n".join(lines), encoding="utf-8-sig")
    read = read_readings(path)
    np.testing.assert_array_equal(read.wrench[1], [1, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(read.temperature, [25.0, 25.0])


def test_a_rounded_quaternion_is_made_whole(tmp_path):
    """Three digits are common; the rotation stays a rotation."""
    (tmp_path / "a.csv").write_text(",".join(COLUMNS) + "\n0,0.577,0.577,0.577,0.001,0,0,0,0,0,0\n")
    read = read_readings(tmp_path / "a.csv")
    assert np.linalg.norm(read.quaternion[0]) == pytest.approx(1.0)
    np.testing.assert_allclose(read.rotations[0] @ read.rotations[0].T, np.eye(3), atol=1e-12)


def test_up_is_the_third_row_of_the_rotation(readings):
    """The shortcut against the matrix."""
    np.testing.assert_allclose(readings.up, readings.rotations[:, 2], atol=1e-12)


@pytest.mark.parametrize(
    "content", [b"\xff\xfe\x00\x01", b"", b"\n\n", b"a,b\n1,2\n", b"t;qx\n1;2\n"]
)
def test_what_is_no_table_is_refused_in_one_line(content, tmp_path):
    """Binary, empty, other columns, other separators."""
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(FarhandError) as refused:
        read_readings(tmp_path / "a.csv")
    assert "\n" not in str(refused.value) and "a.csv" in str(refused.value)


def test_the_line_that_is_named_is_the_one_an_editor_shows(readings, tmp_path):
    """Counted from 1 with the header."""
    write_readings(tmp_path / "a.csv", readings)
    lines = (tmp_path / "a.csv").read_text().splitlines()
    lines[6] = lines[6].rsplit(",", 1)[0] + ",oops"
    (tmp_path / "a.csv").write_text("\n".join(lines))
    with pytest.raises(BadValue, match="line 7: tz is not a number: 'oops'"):
        read_readings(tmp_path / "a.csv")


def test_readings_made_from_arrays_are_held_to_the_same_rules_as_a_file(readings):
    """A quaternion of length 2 used to give a quarter of the mass without a word."""
    time, turn, wrench = readings.time, readings.quaternion, readings.wrench
    lists = Readings(time.tolist(), turn.tolist(), wrench.tolist())
    np.testing.assert_array_equal(lists.up, readings.up)
    hole = wrench.copy()
    hole[3, 2] = np.nan
    wrong = [
        ((time, 2.0 * turn, wrench), "quaternion of reading 1 has length 2"),
        ((time, turn, hole), "wrench of reading 4 is not a finite number"),
        ((time, turn, wrench[:, :5]), r"shape \(20, 6\)"),
        ((time[:-1], turn, wrench), r"shape \(19, 4\)"),
        ((time, turn, [["x"] * 6] * 20), "not a number"),
        ((time, turn, wrench, time[:3]), "temperature"),
    ]
    for parts, said in wrong:
        with pytest.raises(BadValue, match=said):
            Readings(*parts)


def test_every_base_axis_is_a_row_of_the_rotation(readings):
    """In sensor axes, for any quaternion."""
    for axis in range(3):
        found = base_axis(*readings.quaternion.T, axis)
        np.testing.assert_allclose(found, readings.rotations[:, axis], atol=1e-12)


def test_a_quaternion_may_be_off_by_a_hundredth_and_time_may_stand_but_not_go_back(
    readings, tmp_path
):
    """In a file and in arrays; the line that is named is the one at fault."""
    path = tmp_path / "a.csv"
    for length, refused in ((1.0099, False), (0.9901, False), (1.0101, True), (0.9899, True)):
        turn = readings.quaternion.copy()
        turn[4] *= length
        rows = np.column_stack([readings.time, turn, readings.wrench])
        np.savetxt(path, rows, delimiter=",", header=",".join(COLUMNS), comments="", fmt="%.12g")
        if refused:
            with pytest.raises(BadValue, match=f"line 6: .* length {length:.4g}, .* 1 of 20 lines"):
                read_readings(path)
            with pytest.raises(BadValue, match="reading 5 has length"):
                Readings(readings.time, turn, readings.wrench)
        else:
            np.testing.assert_allclose(np.linalg.norm(read_readings(path).quaternion, axis=1), 1.0)
            Readings(readings.time, turn, readings.wrench)
    for step, refused in ((0.0, False), (-0.5, True)):
        time = np.arange(20.0)
        time[8] = time[7] + step
        write_readings(path, replace(readings, time=time))
        if refused:
            with pytest.raises(BadValue, match="line 10: t goes back from 7 to 6.5 s"):
                read_readings(path)
        else:
            np.testing.assert_array_equal(read_readings(path).time, time)

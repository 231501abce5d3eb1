"""``farhand ft`` on a user's own files: what it promises, and one clear line for every kind of bad
file.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from farhand.sensing import read_readings, write_readings
from farhand.sensing.readings import COLUMNS, DEVIATIONS
from tests.sensing.ft_data import Truth, random_truth, recording

TURNS = np.arange(0.0, 360.0, 30.0).reshape(-1, 1)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.fixture
def truth(rng) -> Truth:
    return random_truth(rng)


@pytest.fixture
def raw(tmp_path, rng, truth):
    """Twelve poses of 200 readings."""
    write_readings(tmp_path / "raw.csv", recording(truth, Rotation.random(12, rng=rng), 200, rng))
    return tmp_path / "raw.csv"


@pytest.fixture
def tool(raw, farhand_command, tmp_path):
    """Its calibration."""
    assert (
        farhand_command(
            "ft", "calibrate", raw, "--out", tmp_path / "tool.json", "--tool-id", "gripper"
        ).code
        == 0
    )
    return tmp_path / "tool.json"


def test_calibrate_finds_the_tool_and_says_how_well(farhand_command, raw, truth, tmp_path):
    """The file, the JSON, the page and what is printed."""
    words = ("--json", tmp_path / "c.json", "--report", tmp_path / "page", "--sensor-id", "wrist")
    said = farhand_command("ft", "calibrate", raw, "--out", tmp_path / "tool.json", *words)
    assert said.code == 0, said.err
    content = json.loads((tmp_path / "tool.json").read_text())
    assert content["mass"] == pytest.approx(truth.mass, rel=0.01)
    np.testing.assert_allclose(content["com"], truth.com, atol=0.002)
    result = json.loads((tmp_path / "c.json").read_text())
    assert result["removed"]["force"] > 0.95 and result["removed"]["torque"] > 0.91
    assert result["poses"] == 12 and 1.0 < result["condition"] < 10.0
    page = (tmp_path / "page" / "index.html").read_text()
    assert "condition number" in page and page.count("<img") == 2
    assert "mass" in said.out and "kg" in said.out


def test_compensate_keeps_the_columns_and_adds_deviations(farhand_command, raw, tool, tmp_path):
    """In the file's own order, whatever else is in it."""
    lines = [line.split(",") for line in raw.read_text().splitlines()]
    order = [3, 7, 0, 1, 2, 4, 5, 6, 8, 9, 10]
    mixed = tmp_path / "mixed.csv"
    mixed.write_text(
        "\n".join(
            ",".join([*(row[k] for k in order), "note" if n == 0 else "hi"])
            for n, row in enumerate(lines)
        )
        + "\n"
    )
    said = farhand_command("ft", "compensate", mixed, "--tool", tool, "--out", tmp_path / "out.csv")
    assert said.code == 0, said.err
    header = (tmp_path / "out.csv").read_text().splitlines()[0].split(",")
    assert header == [*(COLUMNS[k] for k in order), "note", *DEVIATIONS]
    clean = read_readings(tmp_path / "out.csv")
    assert np.abs(clean.wrench.mean(axis=0)).max() < 0.05
    assert clean.others["note"][0] == "hi"


def test_drift_is_followed_unless_told_not_to(farhand_command, rng, truth, tool, tmp_path):
    """4 N in five minutes; a 10 N push stays in either case."""
    run = recording(truth, Rotation.random(60, rng=rng), 500, rng)
    run.wrench[:, 2] += run.time * 4.0 / 300.0
    pushed = (run.time > 100.0) & (run.time < 110.0)
    run.wrench[pushed, 0] += 10.0
    write_readings(tmp_path / "run.csv", run)
    for drift, limit in (("track", 0.5), ("none", 4.2)):
        out = tmp_path / f"{drift}.csv"
        words = ("--drift", drift, "--json", tmp_path / "r.json")
        assert (
            farhand_command(
                "ft", "compensate", tmp_path / "run.csv", "--tool", tool, "--out", out, *words
            ).code
            == 0
        )
        wrench = read_readings(out).wrench
        assert wrench[pushed, 0].mean() == pytest.approx(10.0, abs=0.5)
        assert abs(wrench[-100:, 2].mean()) <= limit
    assert abs(wrench[-100:, 2].mean()) > 3.5


def test_report_writes_a_page_with_residuals_drift_and_sphere(farhand_command, raw, tool, tmp_path):
    """Three pictures."""
    said = farhand_command("ft", "report", raw, "--tool", tool, "--report", tmp_path / "page")
    assert said.code == 0, said.err
    assert (tmp_path / "page" / "index.html").read_text().count("<img") == 3


def test_another_tool_is_refused(farhand_command, raw, tool, tmp_path):
    """The calibration of one tool says nothing about another."""
    out = tmp_path / "out.csv"
    said = farhand_command(
        "ft", "compensate", raw, "--tool", tool, "--out", out, "--tool-id", "drill"
    )
    assert said.code == 2 and "'gripper', not to 'drill'" in said.err and not out.exists()


def edited(raw, change) -> None:
    """Change the table of a file."""
    rows = [line.split(",") for line in raw.read_text().splitlines()]
    raw.write_text("\n".join(",".join(row) for row in change(rows)) + "\n")


def _set(line, column, word):
    def change(rows):
        rows[line][rows[0].index(column)] = word
        return rows

    return change


BAD = {
    "missing column": (lambda rows: [row[:4] + row[5:] for row in rows], "lacks the column qw"),
    "nan": (_set(7, "fx", "nan"), "line 8: fx is not a number: 'nan'"),
    "word": (_set(7, "tz", "high"), "line 8: tz is not a number: 'high'"),
    "gap": (_set(9, "fy", ""), "line 10: fy is not a number"),
    "infinite": (_set(9, "fy", "inf"), "line 10: fy is not a number"),
    "huge": (_set(9, "fy", "1e300"), "line 10: fy is beyond 1e+12: '1e300'"),
    "grouped digits": (_set(9, "fy", "1_000"), "line 10: fy is not a number: '1_000'"),
    "semicolons": (
        lambda rows: [[";".join(row)] for row in rows],
        "separated by semicolons, not commas",
    ),
    "tabs": (lambda rows: [["\t".join(row)] for row in rows], "separated by tabs, not commas"),
    "quaternion": (_set(3, "qw", "2.0"), "line 4: the quaternion qx,qy,qz,qw has length"),
    "unsorted": (lambda rows: [rows[0], *rows[2:10], rows[1], *rows[10:]], "line 10: t goes back"),
    "empty": (lambda rows: [], "is empty"),
    "header only": (lambda rows: rows[:1], "no readings"),
    "short row": (
        lambda rows: [*rows[:5], rows[5][:-1], *rows[6:]],
        "line 6 has 10 values, not 11",
    ),
    "twice": (lambda rows: [[*row, row[1]] for row in rows], "names a column twice"),
    "two poses": (lambda rows: rows[:401], "2 poses are too few"),
    "one pose": (lambda rows: rows[:201], "1 pose is too few"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_file_gets_one_clear_line_and_leaves_the_output_as_it_was(
    farhand_command, raw, tmp_path, kind
):
    """Exit code 2, and the file that was there before is untouched."""
    change, words = BAD[kind]
    edited(raw, change)
    (tmp_path / "tool.json").write_text("before")
    said = farhand_command("ft", "calibrate", raw, "--out", tmp_path / "tool.json")
    assert said.code == 2 and said.err.count("\n") == 1 and words in said.err
    assert (tmp_path / "tool.json").read_text() == "before"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["raw.csv", "tool.json"]


@pytest.mark.parametrize("kind", [k for k in BAD if "pose" not in k])
def test_compensate_refuses_the_same_files(farhand_command, raw, tool, tmp_path, kind):
    """The output stays as it was."""
    change, words = BAD[kind]
    edited(raw, change)
    (tmp_path / "out.csv").write_text("before")
    said = farhand_command("ft", "compensate", raw, "--tool", tool, "--out", tmp_path / "out.csv")
    assert said.code == 2 and said.err.count("\n") == 1 and words in said.err
    assert (tmp_path / "out.csv").read_text() == "before"


def test_poses_about_the_vertical_cannot_be_used(farhand_command, rng, truth, tmp_path):
    """Gravity never changes in the sensor: refused."""
    write_readings(
        tmp_path / "raw.csv",
        recording(truth, Rotation.from_euler("z", TURNS, degrees=True), 20, rng),
    )
    said = farhand_command("ft", "calibrate", tmp_path / "raw.csv", "--out", tmp_path / "tool.json")
    assert said.code == 2 and "too few" in said.err and not (tmp_path / "tool.json").exists()


def test_coplanar_poses_are_used_with_a_line_that_names_the_missing_pose(
    farhand_command, rng, truth, tmp_path
):
    """Turning about one horizontal axis determines the numbers, but nothing checks them off the
    plane.
    """
    write_readings(
        tmp_path / "raw.csv",
        recording(truth, Rotation.from_euler("x", TURNS, degrees=True), 200, rng),
    )
    said = farhand_command("ft", "calibrate", tmp_path / "raw.csv", "--out", tmp_path / "tool.json")
    assert said.code == 0 and said.err.count("\n") == 1
    assert "nearly coplanar" in said.err and "add a pose with the sensor's x axis" in said.err
    assert json.loads((tmp_path / "tool.json").read_text())["mass"] == pytest.approx(
        truth.mass, rel=0.01
    )


def test_a_sensor_of_the_opposite_sign_is_told_in_one_line(farhand_command, rng, truth, tmp_path):
    """The fitted mass is negative, and compensation still removes bias and weight."""
    turned = Truth(-truth.mass, truth.com, truth.bias)
    write_readings(tmp_path / "raw.csv", recording(turned, Rotation.random(12, rng=rng), 200, rng))
    said = farhand_command("ft", "calibrate", tmp_path / "raw.csv", "--out", tmp_path / "tool.json")
    assert said.code == 0 and said.err.count("\n") == 1 and "opposite sign" in said.err
    out = tmp_path / "out.csv"
    assert (
        farhand_command(
            "ft", "compensate", tmp_path / "raw.csv", "--tool", tmp_path / "tool.json", "--out", out
        ).code
        == 0
    )
    assert np.abs(read_readings(out).wrench.mean(axis=0)).max() < 0.05


@pytest.mark.parametrize(
    ("words", "said_why"),
    [
        (("--gravity", "0"), "--gravity = 0 is outside"),
        (("--weighting", "best"), "auto, pose, sample"),
        (("--thermal",), "column temp"),
    ],
)
def test_a_bad_flag_is_refused(farhand_command, raw, tmp_path, words, said_why):
    """One line, code 2."""
    said = farhand_command("ft", "calibrate", raw, "--out", tmp_path / "tool.json", *words)
    assert said.code == 2 and said_why in said.err and said.err.count("\n") == 1


def test_missing_files_are_refused(farhand_command, raw, tool, tmp_path):
    """The recording, the calibration, or a folder in place of the output."""
    assert (
        farhand_command("ft", "calibrate", tmp_path / "no.csv", "--out", tmp_path / "x.json").code
        == 2
    )
    assert (
        farhand_command(
            "ft", "compensate", raw, "--tool", tmp_path / "no.json", "--out", tmp_path / "x"
        ).code
        == 2
    )
    assert farhand_command("ft", "compensate", raw, "--tool", tool, "--out", tmp_path).code == 2


@pytest.mark.parametrize(
    "spell",
    [
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace(",", " , "),
        lambda text: "\n".join(
            ",".join(f'"{word}"' for word in line.split(",")) for line in text.splitlines()
        ),
        lambda text: "\n" + text.replace("\n", "\n\n"),
    ],
    ids=["byte order mark", "line ends of Windows", "spaces", "quotes", "blank lines"],
)
def test_spelling_of_the_file_does_not_matter(farhand_command, raw, tool, tmp_path, spell):
    """The same numbers, as other programs write them."""
    (tmp_path / "other.csv").write_bytes(spell(raw.read_text()).encode())
    said = farhand_command(
        "ft", "calibrate", tmp_path / "other.csv", "--out", tmp_path / "other.json"
    )
    assert said.code == 0, said.err
    assert (
        json.loads((tmp_path / "other.json").read_text())["mass"]
        == json.loads(tool.read_text())["mass"]
    )


def test_nothing_that_is_read_is_written_over(farhand_command, raw, tool, tmp_path):
    """Neither the recording nor the calibration, however the path is spelled; nor the same file
    twice.
    """
    before = raw.read_bytes(), tool.read_bytes()
    same = raw.parent / "." / raw.name
    for words in (
        ["calibrate", raw, "--out", same],
        ["calibrate", raw, "--out", tmp_path / "x.json", "--json", raw],
        ["compensate", raw, "--tool", tool, "--out", same],
        ["compensate", raw, "--tool", tool, "--out", tool],
        [
            "compensate",
            raw,
            "--tool",
            tool,
            "--out",
            tmp_path / "x.csv",
            "--json",
            tmp_path / "x.csv",
        ],
        ["report", raw, "--tool", tool, "--report", tmp_path / "page", "--json", tool],
    ):
        said = farhand_command("ft", *words)
        assert said.code == 2 and said.err.count("\n") == 1 and "cannot write" in said.err
    assert (raw.read_bytes(), tool.read_bytes()) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["raw.csv", "tool.json"]


def test_a_turned_sensor_is_told_to_be_one(farhand_command, rng, truth, tmp_path):
    """A small turn spoils the fit and a large one leaves none: both lines name the flag that finds
    it.
    """
    for turn, code in ((0.3, 0), (-2.0, 2)):
        poses = Rotation.random(12, rng=rng)
        turned = recording(truth, poses * Rotation.from_euler("z", turn), 200, rng)
        write_readings(
            tmp_path / "raw.csv",
            replace(turned, quaternion=np.repeat(poses.as_quat(), 200, axis=0)),
        )
        said = farhand_command(
            "ft", "calibrate", tmp_path / "raw.csv", "--out", tmp_path / "tool.json"
        )
        assert said.code == code and f"by {turn:g} rad" in said.err and "--yaw" in said.err
        assert (
            farhand_command(
                "ft", "calibrate", tmp_path / "raw.csv", "--out", tmp_path / "t.json", "--yaw"
            ).err
            == ""
        )


def test_a_recording_in_contact_throughout_is_called_so(
    farhand_command, rng, truth, tool, tmp_path
):
    """No word about readings without contact, of which there are none, nor about drift that was not
    followed.
    """
    pressed = recording(truth, Rotation.random(3, rng=rng), 200, rng)
    pressed.wrench[:, 2] += 60.0
    write_readings(tmp_path / "pressed.csv", pressed)
    out = tmp_path / "out.csv"
    said = farhand_command(
        "ft", "compensate", tmp_path / "pressed.csv", "--tool", tool, "--out", out
    )
    assert (
        said.code == 0
        and said.err.count("\n") == 1
        and "every reading counts as contact" in said.err
    )
    assert "without contact" not in said.out and "force with contact" in said.out
    assert "none: no reading is free of contact" in said.out and "every reading, up to" in said.out


def test_a_time_in_another_unit_is_asked_after(farhand_command, raw, tool, tmp_path):
    """Readings ten seconds apart are milliseconds, or too rare to tell drift from contact."""
    words = ("--tool", tool, "--out", tmp_path / "out.csv")
    assert farhand_command("ft", "compensate", raw, *words).err == ""
    readings = read_readings(raw)
    write_readings(tmp_path / "ms.csv", replace(readings, time=1e3 * readings.time))
    assert "is t in s?" in farhand_command("ft", "compensate", tmp_path / "ms.csv", *words).err
    assert (
        farhand_command("ft", "compensate", tmp_path / "ms.csv", *words, "--drift", "none").err
        == ""
    )


def test_a_tool_without_a_name_is_said_to_have_none(farhand_command, raw, tmp_path):
    """Not called by the name 'without a name'."""
    assert farhand_command("ft", "calibrate", raw, "--out", tmp_path / "tool.json").code == 0
    words = ("--tool", tmp_path / "tool.json", "--tool-id", "drill", "--out", tmp_path / "out.csv")
    said = farhand_command("ft", "compensate", raw, *words)
    assert said.code == 2 and "belongs to a tool without a name, not to 'drill'" in said.err


def test_without_tracking_contact_is_not_looked_for(farhand_command, rng, truth, tool, tmp_path):
    """Neither a share of contact nor a force without it is printed: null in the JSON."""
    run = recording(truth, Rotation.random(3, rng=rng), 200, rng)
    run.wrench[:, 2] += 10.0
    write_readings(tmp_path / "run.csv", run)
    words = (
        "--tool",
        tool,
        "--out",
        tmp_path / "out.csv",
        "--json",
        tmp_path / "r.json",
        "--drift",
        "none",
    )
    said = farhand_command("ft", "compensate", tmp_path / "run.csv", *words)
    assert said.code == 0 and "not searched for" in said.out and "without contact" not in said.out
    assert "% of the readings" not in said.out and "--drift none" in said.out
    assert json.loads((tmp_path / "r.json").read_text())["contact_share"] is None


def test_the_drift_is_printed_from_zero_and_doubted_where_it_is_hardly_one(
    farhand_command, rng, truth, tool, tmp_path
):
    """3 N pressed from the first reading on are 3 N of drift, whatever its range is."""
    run = recording(truth, Rotation.random(15, rng=rng), 200, rng)
    run.wrench[:, 2] += 3.0
    write_readings(tmp_path / "run.csv", run)
    words = (
        "--tool",
        tool,
        "--out",
        tmp_path / "out.csv",
        "--json",
        tmp_path / "r.json",
        "--report",
        tmp_path / "page",
    )
    said = farhand_command("ft", "compensate", tmp_path / "run.csv", *words)
    assert (
        said.code == 0
        and said.err.count("\n") == 1
        and "slow or lasting push would look the same" in said.err
    )
    assert json.loads((tmp_path / "r.json").read_text())["drift"]["largest"][2] == pytest.approx(
        3.0, abs=0.2
    )
    assert "up to 3" in said.out.split("drift removed")[1]
    assert "lasting push" in (tmp_path / "page" / "index.html").read_text()


def test_a_dead_axis_in_a_recording_is_asked_after(farhand_command, raw, tool, tmp_path):
    """In the words that calibrate refuses it with."""
    readings = read_readings(raw)
    readings.wrench[:, 2] = 30.0
    write_readings(tmp_path / "dead.csv", readings)
    said = farhand_command(
        "ft", "compensate", tmp_path / "dead.csv", "--tool", tool, "--out", tmp_path / "out.csv"
    )
    words = "fz is always 30 N while other axes are alive; is it connected?"
    assert said.code == 0 and words in said.err
    assert (
        words
        in farhand_command(
            "ft", "calibrate", tmp_path / "dead.csv", "--out", tmp_path / "t.json"
        ).err
    )


def test_a_time_that_stands_still_is_asked_after(farhand_command, raw, tool, tmp_path):
    """Drift needs time; without tracking nobody does."""
    readings = read_readings(raw)
    write_readings(tmp_path / "still.csv", replace(readings, time=np.full(len(readings), 7.0)))
    words = ("--tool", tool, "--out", tmp_path / "out.csv")
    said = farhand_command("ft", "compensate", tmp_path / "still.csv", *words)
    assert said.code == 0 and "t is 7 s all the time" in said.err
    assert (
        farhand_command("ft", "compensate", tmp_path / "still.csv", *words, "--drift", "none").err
        == ""
    )

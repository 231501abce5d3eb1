"""``farhand ik`` on a user's own file: joints out, or one line and nothing touched."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from farhand.mapping.ik import STATUSES, Model, Pose
from farhand.robots import load_robot
from farhand.spatial import quaternion_from_rotation, rotation_from_quaternion
from tests.robots.own_files import URDF

HEADER = "x,y,z,qx,qy,qz,qw"
LEVEL = "0.4,0.1,0.3,0,0,0,1"


def reachable(robot: str, count: int, seed: int = 1) -> list[list[float]]:
    model, rng = Model(load_robot(robot)), np.random.default_rng(seed)
    poses = [
        model.pose(q) for q in rng.uniform(model.lower, model.upper, (count, len(model.lower)))
    ]
    return [[*pose.position, *quaternion_from_rotation(pose.rotation)] for pose in poses]


def write(path: Path, rows: list[list[float]], header: str = HEADER) -> Path:
    path.write_text(
        "\n".join([header, *(",".join(map(repr, map(float, row))) for row in rows)]) + "\n"
    )
    return path


def read(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("robot", ["ur5e", "iiwa14", "lwa4p"])
def test_the_joints_in_the_file_meet_the_poses_in_the_file(farhand_command, tmp_path, robot):
    """Read back and checked with the robot's own kinematics, inside its limits."""
    rows = reachable(robot, 50)
    out = tmp_path / "q.csv"
    said = farhand_command(
        "ik", robot, write(tmp_path / "p.csv", rows), "--out", out, "--json", tmp_path / "s.json"
    )
    assert (said.code, said.err) == (0, "")
    assert "50 solved" in said.out
    model, found = Model(load_robot(robot)), read(out)
    n = len(model.lower)
    names = [
        *(f"q{i + 1}" for i in range(n)),
        "status",
        "position_error",
        "rotation_error",
        "iterations",
        "time_us",
    ]
    assert list(found[0]) == names
    for row, answer in zip(rows, found, strict=True):
        q = np.array([float(answer[f"q{i + 1}"]) for i in range(n)])
        error = model.error(Pose(np.array(row[:3]), rotation_from_quaternion(np.array(row[3:]))), q)
        assert answer["status"] == "solved" and model.within(q)
        assert np.linalg.norm(error[:3]) < 1e-4 and np.linalg.norm(error[3:]) < 1e-3
        assert float(answer["time_us"]) > 0
    summary = json.loads((tmp_path / "s.json").read_text())
    assert summary["solved"] == 1.0 and summary["statuses"] == {"solved": 50}


def test_a_variant_has_kinematics_of_its_own(farhand_command, tmp_path):
    """The same joints reach 1 to 3 mm elsewhere; an unknown variant is refused by name."""
    poses, out = write(tmp_path / "p.csv", reachable("ur5e", 3)), tmp_path / "q.csv"
    assert farhand_command("ik", "ur5e", poses, "--variant", "ur", "--out", out).code == 0
    published, own = Model(load_robot("ur5e")), Model(load_robot("ur5e", "ur"))
    for row, answer in zip(reachable("ur5e", 3), read(out), strict=True):
        q = np.array([float(answer[f"q{i + 1}"]) for i in range(6)])
        assert np.linalg.norm(own.pose(q).position - row[:3]) < 1e-4
        assert 5e-4 < np.linalg.norm(published.pose(q).position - row[:3]) < 5e-3
    said = farhand_command("ik", "ur5e", poses, "--variant", "cc", "--out", out)
    assert said.code == 2 and "cb, ur" in said.err


def test_columns_may_come_in_any_order_with_others_between(farhand_command, tmp_path):
    """The header says which is which."""
    plain = write(tmp_path / "a.csv", reachable("lwa4p", 3))
    mixed = tmp_path / "b.csv"
    order = ["qw", "note", "z", "y", "x", "qx", "qy", "qz"]
    lines = [
        ",".join("here" if name == "note" else row[name] for name in order) for row in read(plain)
    ]
    mixed.write_text("\n".join([",".join(order), *lines]) + "\n\n")
    for name, source in (("1.csv", plain), ("2.csv", mixed)):
        assert farhand_command("ik", "lwa4p", source, "--out", tmp_path / name).code == 0
    one, two = (
        [{**row, "time_us": ""} for row in read(tmp_path / name)] for name in ("1.csv", "2.csv")
    )
    assert one == two


def test_a_pose_out_of_reach_is_not_called_solved(farhand_command, tmp_path):
    """It gets the closest one, and the word for it."""
    source = write(tmp_path / "p.csv", [[3.0, 0, 0, 0, 0, 0, 1], *reachable("ur5e", 1)])
    assert farhand_command("ik", "ur5e", source, "--out", tmp_path / "q.csv").code == 0
    far, near = read(tmp_path / "q.csv")
    assert (far["status"], near["status"]) == ("unreachable", "solved")
    assert float(far["position_error"]) > 1.9


@pytest.mark.parametrize("solver", ["levenberg", "newton"])
def test_the_published_solvers_can_be_asked_for(farhand_command, tmp_path, solver):
    """Their joints may be anywhere, and the status says so."""
    source = write(tmp_path / "p.csv", reachable("lwa4p", 5))
    said = farhand_command("ik", "lwa4p", source, "--out", tmp_path / "q.csv", "--solver", solver)
    assert said.code == 0
    assert {row["status"] for row in read(tmp_path / "q.csv")} <= STATUSES.keys()


def test_a_path_is_followed_on_one_branch(farhand_command, tmp_path):
    """With ``--path`` the joints move as little as the poses do."""
    model, home = Model(load_robot("ur5e")), load_robot("ur5e").home
    poses = [
        model.pose(home + 0.5 * np.sin(t) * np.array([1, 0.4, -0.4, 0.3, 0.2, 1]))
        for t in np.linspace(0, 3, 200)
    ]
    source = write(
        tmp_path / "p.csv", [[*p.position, *quaternion_from_rotation(p.rotation)] for p in poses]
    )
    assert farhand_command("ik", "ur5e", source, "--out", tmp_path / "q.csv", "--path").code == 0
    q = np.array([[float(row[f"q{i}"]) for i in range(1, 7)] for row in read(tmp_path / "q.csv")])
    assert np.abs(np.diff(q, axis=0)).max() < 0.02


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        (HEADER, "no poses"),
        (f"x,y,z,qx,qy,qz\n{LEVEL}", "lacks the column qw"),
        (f"{HEADER}\n0.4,0.1,nan,0,0,0,1", "line 2: z is not a number: 'nan'"),
        (f"{HEADER}\n{LEVEL}\n0.4,0.1,high,0,0,0,1", "line 3: z is not a number: 'high'"),
        (f"{HEADER}\n0.4,0.1,0.3,0,0,0,2", "length 2, not 1"),
        (f"{HEADER}\n0.4,0.1,0.3,0,0,0", "line 2 has 6 values, not 7"),
        (b"\xff\xfe\x00", "not a text file"),
        (f"{HEADER}\n1e300,0,0,0,0,0,1", "line 2: x is beyond"),
        (f"{HEADER}\n1e9,0,0,0,0,0,1", "line 2: x,y,z must be within 1e+06 m"),
        (f"{HEADER}\n0_1,0,0,0,0,0,1", "line 2: x is not a number: '0_1'"),
        (f"{HEADER},x\n{LEVEL},3", "names a column twice"),
        (f"{HEADER}\n{LEVEL}".replace(",", ";"), "separated by semicolons, not commas"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line_and_leaves_the_output_alone(
    farhand_command, tmp_path, content, words
):
    """Nothing is half written."""
    source, out = tmp_path / "p.csv", tmp_path / "q.csv"
    source.write_bytes(content if isinstance(content, bytes) else content.encode())
    out.write_text("old")
    said = farhand_command("ik", "ur5e", source, "--out", out)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("farhand: ") and said.err.count("\n") == 1
    assert words in said.err
    assert out.read_text() == "old"


def test_the_poses_are_not_written_over(farhand_command, tmp_path):
    """Nor are the joints by the summary."""
    source = write(tmp_path / "p.csv", reachable("ur5e", 1))
    before = source.read_bytes()
    for words in (
        ["--out", source],
        ["--out", tmp_path / "q.csv", "--json", tmp_path / "." / "q.csv"],
    ):
        said = farhand_command("ik", "ur5e", source, *words)
        assert said.code == 2 and said.err.count("\n") == 1 and "cannot write" in said.err
    assert source.read_bytes() == before and not (tmp_path / "q.csv").exists()


def test_what_does_not_exist_is_named_with_what_does(farhand_command, tmp_path):
    """A robot, a solver, a file, a folder in the place of a file."""
    source = write(tmp_path / "p.csv", reachable("ur5e", 1))
    for words, hint in (
        (["ik", "ur5", source, "--out", tmp_path / "q.csv"], "did you mean 'ur5e'"),
        (
            ["ik", "ur5e", source, "--out", tmp_path / "q.csv", "--solver", "magic"],
            "combined, levenberg, newton",
        ),
        (["ik", "ur5e", tmp_path / "none.csv", "--out", tmp_path / "q.csv"], "cannot read"),
        (["ik", "ur5e", source, "--out", tmp_path], "is a folder"),
    ):
        said = farhand_command(*words)
        assert said.code == 2 and hint in said.err and said.err.count("\n") == 1
    assert not (tmp_path / "q.csv").exists()


def test_the_help_has_an_example(farhand_command):
    """A newcomer copies it and goes on from there."""
    assert "Example: farhand ik" in farhand_command("ik", "--help").out


def test_poses_in_millimetres_are_asked_after(farhand_command, tmp_path):
    """All of them far beyond reach; a pose merely out of reach says nothing of the kind."""
    rows = reachable("ur5e", 4)
    for factor, asked in ((1000.0, True), (3.0, False)):
        far = [[*(factor * x for x in row[:3]), *row[3:]] for row in rows]
        said = farhand_command(
            "ik", "ur5e", write(tmp_path / "p.csv", far), "--out", tmp_path / "q.csv"
        )
        assert said.code == 0 and ("are x,y,z in m?" in said.err) == asked


def test_the_summary_is_one_line_however_long_the_path(farhand_command, tmp_path):
    """A path broken in two cannot be copied."""
    out = tmp_path / ("long" * 20) / "q.csv"
    said = farhand_command(
        "ik", "ur5e", write(tmp_path / "p.csv", reachable("ur5e", 2)), "--out", out
    )
    assert said.code == 0 and said.out.endswith(f"joints in {out}\n")


def test_an_arm_of_three_joints_meets_positions_and_is_told_how(farhand_command, tmp_path):
    """Poses turned at random cannot be met by three joints; their positions can, also from a file
    without rotations.
    """
    rows, turns = reachable("phua_leg", 12), reachable("ur5e", 12)
    turned = write(
        tmp_path / "p.csv", [[*row[:3], *turn[3:]] for row, turn in zip(rows, turns, strict=True)]
    )
    whole = farhand_command("ik", "phua_leg", turned, "--out", tmp_path / "whole.csv")
    assert "12 unreachable" in whole.out
    assert "3 joints" in whole.err and "--position-only" in whole.err
    bare = write(tmp_path / "bare.csv", [row[:3] for row in rows], "x,y,z")
    model = Model(load_robot("phua_leg"))
    for poses in (turned, bare):
        said = farhand_command(
            "ik", "phua_leg", poses, "--out", tmp_path / "q.csv", "--position-only"
        )
        assert (said.code, said.err) == (0, "") and "12 solved" in said.out
        for row, answer in zip(rows, read(tmp_path / "q.csv"), strict=True):
            q = np.array([float(answer[f"q{i + 1}"]) for i in range(3)])
            assert model.within(q) and np.linalg.norm(model.pose(q).position - row[:3]) < 2e-6
            assert answer["status"] == "solved" and answer["rotation_error"] == ""
    refused = farhand_command(
        "ik", "phua_leg", bare, "--out", tmp_path / "q.csv", "--position-only", "--solver", "newton"
    )
    assert refused.code == 2 and "--position-only needs --solver combined" in refused.err


def test_a_refused_robot_leaves_nothing_behind(tmp_path):
    """In a process of its own, where MuJoCo would write its warnings to a log file wherever the
    user happens to be.
    """
    (tmp_path / "own.urdf").write_text(URDF.replace('lower="-1" upper="2"', 'lower="0" upper="0"'))
    write(tmp_path / "p.csv", [[0.4, 0.1, 0.3, 0.0, 0.0, 0.0, 1.0]])
    command = [sys.executable, "-m", "farhand", "ik", "own.urdf", "p.csv", "--out", "q.csv"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert said.returncode == 2 and said.stdout == ""
    assert len(said.stderr.splitlines()) == 1 and "range of joint swing is [0, 0]" in said.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own.urdf", "p.csv"]

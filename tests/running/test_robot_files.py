"""A recording of one's own robot is run again from anywhere, and a file that has changed is
named.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from farhand.cli.main import main
from farhand.recording.loader import load
from farhand.rigs import Options, build_rig
from farhand.robots import load_robot
from farhand.running.rerun import files_of, record, rerun


@pytest.fixture
def recorded(tmp_path, monkeypatch) -> Path:
    """A short run in a folder of its own, whose leader is named by a path that starts there."""
    home = tmp_path / "home"
    shutil.copytree(load_robot("ur5e").source.parent, home / "mine")
    monkeypatch.chdir(home)
    settings = [("rig.leader_robot", "mine/model.xml")]
    return record(
        build_rig("dual-arm", Options(scenario="free", settings=settings)), home / "run.mcap", 0.02
    )


def test_a_rerun_finds_the_robots_file_from_another_folder(recorded, tmp_path, monkeypatch):
    """The path was given from where the run was made."""
    monkeypatch.chdir(tmp_path)
    again = rerun(load(recorded), [str(recorded.parent / "mine" / "model.xml")])
    assert again.exact and again.robots == []


def test_a_robot_file_that_has_changed_is_named_in_place_of_the_signals(recorded, capsys):
    """Another start is why nothing is equal; every signal follows from that. A remark changes no
    number.
    """
    toml = recorded.parent / "mine" / "robot.toml"
    toml.write_text(f"# mine\n{toml.read_text()}")
    again = ["replay", str(recorded), "--rerun", "--allow", "mine/model.xml"]
    assert main(again) == 0
    toml.write_text(toml.read_text().replace("= [1.5707963267948966", "= [1.57"))
    assert main(again) == 1
    said, model = capsys.readouterr(), toml.with_name("model.xml")
    assert "differs from" not in said.out
    assert (
        said.err == f"farhand: the re-run is not equal: robot files have changed: leader: {model}\n"
    )


def test_what_is_made_without_a_file_is_left_out():
    """The beam that arms carry is a robot to the world, and comes from no file."""
    rig = build_rig("cooperative")
    told = files_of(rig)
    rig.close()
    assert {"leader", "object"} <= set(rig.world.placed)
    assert "object" not in told and told["leader"]["file"] == "rx160"

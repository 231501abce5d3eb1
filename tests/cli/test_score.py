"""``farhand score``: the same trials again are equal, what is finished is not played again, and the
page has a picture and a command per question.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace

import numpy as np
import pytest

from farhand.cli.main import main
from farhand.errors import FileError
from farhand.report.score import share, show_score
from farhand.running import scoring
from farhand.tasks import TASKS


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Trials that end before anything is done."""
    for task in TASKS.values():
        monkeypatch.setattr(task, "seconds", 0.15)


ASKED = ["score", "--tasks", "button", "--laws", "position-position,unilateral"]
ASKED += ["--delay", "0,40", "--layers", "none,tdpa", "--seeds", "1", "--workers", "1"]


def test_the_page_answers_each_question_with_a_picture_and_its_command(tmp_path):
    """And the command under a picture is one that the program takes."""
    rows = tmp_path / "rows.json"
    main([*ASKED, "--report", str(tmp_path), "--json", str(rows)])
    played = json.loads(rows.read_text())
    assert len(played) == 8 and not any(row["success"] for row in played)
    page = (tmp_path / "index.html").read_text()
    for question in ("Which law finishes?", "Which law hurts?", "What does delay cost?"):
        assert question in page
    assert "What does a layer cost?" in page and page.count("<figure>") == 4
    command = page.split('anywhere">')[1].split("</pre>")[0]
    assert shlex.split(command)[:3] == ["farhand", "score", "--tasks"]
    assert "--delay 0 --loss 0 --layers none" in command


def test_the_same_seeds_give_the_same_rows_and_others_do_not():
    """Seeds move the mechanism and draw the person."""
    one, again, other = (
        scoring.play(scoring.TrialCase("peg", "unilateral", 0.0, 0.0, "none", "novice", seed))
        for seed in (3, 3, 4)
    )
    assert one == again
    assert {**one, "seed": 4} != other


def test_finished_trials_are_not_played_again(tmp_path, monkeypatch):
    """They are read from the file of --done."""
    done = tmp_path / "done.jsonl"
    few = ["score", "--tasks", "peg", "--laws", "unilateral", "--delay", "0", "--seeds", "2"]
    few += ["--workers", "1", "--done", str(done)]
    main(few)
    monkeypatch.setattr(scoring, "play", lambda case: pytest.fail("played again"))
    main(few)
    assert len(done.read_text().splitlines()) == 2


@pytest.mark.parametrize("line", ['{"name": "%s", "law": "unilateral"}', "[1]", '{"name": "%s"'])
def test_a_file_of_done_that_was_edited_by_hand_is_refused(tmp_path, capsys, line):
    """In one line, and it stays as it was."""
    done = tmp_path / "done.jsonl"
    content = (line % "peg unilateral 0 ms 0 none expert 0") if "%" in line else line
    done.write_text(f"{content}\n")
    few = ["--tasks", "peg", "--laws", "unilateral", "--delay", "0", "--seeds", "1"]
    assert main(["score", *few, "--workers", "1", "--done", str(done)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "done.jsonl" in said
    assert done.read_text() == f"{content}\n"


def test_trials_are_kept_when_their_page_cannot_be_written(tmp_path, monkeypatch, capsys):
    """As on a full disk; --resume goes on from there."""
    few = ["score", "--tasks", "peg", "--laws", "unilateral", "--delay", "0", "--seeds", "2"]
    few += ["--workers", "1", "--report", str(tmp_path)]

    def full(*_):
        raise FileError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("farhand.report.score.write_score", full)
        assert main(few) == 2
    assert "finished results are kept: 2 in" in capsys.readouterr().err
    monkeypatch.setattr(scoring, "play", lambda case: pytest.fail("played again"))
    assert main([*few, "--resume"]) == 0
    assert (tmp_path / "index.html").exists()


@pytest.mark.parametrize("width", [60, 80, 90])
def test_names_of_laws_are_whole_on_a_narrow_terminal(width, capsys, monkeypatch):
    """Nothing is cut off."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    row = {"success": True, "damaged": False, "stopped": "", "peak_force": 12.3, "time": 4.5}
    show_score([{**row, "law": law} for law in ("virtual-constraints", "four-channel-sensorless")])
    shown = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert "…" not in shown and max(map(len, shown.splitlines())) <= width
    for law in ("virtual-constraints", "four-channel-sensorless"):
        assert re.search(rf"{law}\s+(trials )?1", shown)
    words = shown.split()
    assert {"N", "s", "%"} <= {word.rstrip(",") for word in words}


def test_trials_of_other_arms_have_other_names():
    """So that a file of --done cannot mix them up."""
    one = scoring.TrialCase("peg", "unilateral", 0.0, 0.0, "none", "expert", 0)
    other = replace(one, settings=(("rig.leader_plant", "ur5e"),))
    assert one.name == "peg unilateral 0 ms 0 none expert 0" != other.name


def test_a_law_that_cannot_be_built_is_a_row_with_the_reason():
    """Waves need a law with a port for them."""
    row = scoring.play(scoring.TrialCase("peg", "four-channel", 0.0, 0.0, "waves", "expert", 0))
    assert "waves" in row["refused"]


def test_a_trial_that_is_named_twice_is_played_once(tmp_path):
    """Or its interval would be too narrow."""
    rows = tmp_path / "rows.json"
    words = ["--tasks", "peg,peg", "--laws", "unilateral,unilateral", "--delay", "0,0.0"]
    words += ["--layers", "none, none", "--seeds", "1", "--workers", "1", "--json", str(rows)]
    assert main(["score", *words]) == 0
    assert len(json.loads(rows.read_text())) == 1


@pytest.mark.parametrize(
    ("count", "of", "low", "high"), [(0, 10, 0.0, 0.278), (5, 10, 0.237, 0.763), (10, 10, 0.722, 1)]
)
def test_intervals_are_wilsons(count, of, low, high):
    """Values of a table."""
    rows = [{"success": number < count} for number in range(of)]
    assert share(rows) == pytest.approx((count / of, low, high), abs=1e-3)
    assert not np.signbit(share(rows)).any()


@pytest.mark.parametrize(
    ("flag", "value", "words"),
    [
        ("--tasks", "pge", "unknown task 'pge'"),
        ("--operators", "x", "unknown operator"),
        ("--loss", "a", "list of shares"),
        ("--layers", "x", "unknown layer"),
        ("--set", "rig.sapce=tool", "unknown parameter 'rig.sapce'"),
        ("--leader", "vx300", "unknown robot 'vx300'"),
    ],
)
def test_a_wrong_name_is_one_line(flag, value, words, capsys):
    """With exit code 2."""
    assert main(["score", flag, value]) == 2
    assert words in capsys.readouterr().err

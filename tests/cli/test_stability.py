"""``farhand stability`` answers with numbers, and says which hand it assumed."""

from __future__ import annotations

import json

import pytest

from farhand.analysis.stability import cells
from farhand.cli.main import main
from farhand.report.stability import lines
from farhand.running.stability_trial import StabilityTrial, attempt

SOFT = ["--law", "position-force", "--delay", "100", "--hand", "200,5,0", "--wall", "600,20"]


def test_the_answer_names_hand_limits_and_margin(tmp_path, capsys):
    """As a table and as JSON."""
    out = tmp_path / "answer.json"
    assert main(["stability", "dual-arm", *SOFT, "--json", str(out)]) == 0
    said = capsys.readouterr().out
    for word in ("hand", "200 N/m, 5 N·s/m, 0 kg", "passive to", "stable to", "would shake"):
        assert word in said
    result = json.loads(out.read_text())
    assert result["stable"] is True
    assert 600.0 < result["stable_to_wall"] < 1000.0
    assert 100.0 < result["stable_to_delay"] < 200.0
    assert 1.0 < result["frequency"] < 3.0


def test_a_pair_coupled_by_its_joints_is_predicted(tmp_path):
    """The arms are named as for a run; a stronger reflection is nearer to shaking."""
    out, delays = tmp_path / "answer.json", []
    pair = ["pair", "--leader", "panda", "--follower", "fr3", "--space", "joints"]
    for scale in ("1", "3"):
        scaled = ["--set", f"law.mapping.force_scale={scale}", "--friction", "0"]
        assert main(["stability", *pair, *scaled, "--json", str(out)]) == 0
        result = json.loads(out.read_text())
        assert result["stable"] is True and result["linear"] is True
        delays.append(result["stable_to_delay"])
    assert 20.0 < delays[1] < delays[0] < 500.0


def test_openarms_are_told_why_and_what_calms_them(tmp_path, capsys):
    """As a table and as JSON."""
    out = tmp_path / "answer.json"
    half = ["--set", "motors.friction=0.5"]
    assert main(["stability", "openarm", "--law", "openarm", *half, "--json", str(out)]) == 0
    said = capsys.readouterr().out
    for words in ("joint 6 moves on by itself", "fed forward", "share fed forward ≤"):
        assert words in said
    assert json.loads(out.read_text())["calm"] is False


@pytest.mark.slow
def test_the_rig_itself_is_calm_below_the_limit_and_shakes_above():
    """The prediction is about the rig, all joints of it; the onset in the physics was found at 0.99
    of it.
    """
    calm, shaking = (
        attempt(StabilityTrial("dual-arm", "position-force", 100.0, stiffness, 20.0, (200.0, 5.0)))
        for stiffness in (400.0, 1200.0)
    )
    assert calm["shakes"] is False
    assert shaking["shakes"] is True


def test_the_grid_is_reported_cell_by_cell(tmp_path, capsys, monkeypatch):
    """With what was done before taken from the file."""
    few = [cell for cell in cells.grid() if cell.law == "rendered-wall" and cell.rate == 500.0][:3]
    monkeypatch.setattr(cells, "grid", lambda: few)
    done, page = tmp_path / "done.jsonl", tmp_path / "page"
    arguments = [
        "stability",
        "--grid",
        "--workers",
        "1",
        "--done",
        str(done),
        "--report",
        str(page),
    ]
    assert main(arguments) == 0
    assert "3 of 3 cells within 15 %" in capsys.readouterr().out
    assert "Every cell" in (page / "index.html").read_text()
    assert len(done.read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "name a rig"),
        (["nowhere"], "unknown rig 'nowhere'"),
        (["dual-arm", "--hand", "iron"], "unknown hand 'iron'"),
        (["dual-arm", "--wall", "3000"], "not of the form K,B"),
        (["dual-arm", "--wall", "nan,1"], "--wall stiffness = nan"),
        (["dual-arm", "--delay", "-1"], "--delay = -1 is outside"),
        (["dual-arm", "--quantum", "inf"], "--quantum = inf is outside"),
        (["openarm", "--law", "unilateral"], "openarm is for its makers' law"),
        (["dual-arm", "--drives"], "use it with --grid"),
        (["cooperative"], "no law couples a hand to a follower in this rig"),
        (["dual-arm", "--space", "joints"], "are for the rig pair; dual-arm has its own arms"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(arguments, words, capsys):
    """What is wrong, and what would be right."""
    assert main(["stability", *arguments]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


RESULT = {
    "hand": "firm",
    "stable": True,
    "linear": True,
    "rate": 1000.0,
    "delay": 0.0,
    "wall": {"stiffness": 6000.0, "damping": 0.0},
    "passive_to": None,
    "stable_to_wall": None,
    "stable_to_delay": -2.0,
    "frequency": 0.0,
}


def test_a_loop_without_a_limit_says_how_far_was_looked():
    """No number is made up."""
    words = [text for _, text in lines(RESULT)]
    assert any(text.startswith("more than 1e+06 N/m") for text in words)
    assert any(text.startswith("nothing: it shakes at 0 ms") for text in words)


def test_an_answer_does_not_contradict_itself():
    """Calm beyond a limit is calm again, a motion of hours is no shaking, a dead band is told."""
    found = {"stable_to_wall": 450.9, "frequency": 2.5e-6, "linear": False}
    rows = [": ".join(row) for row in lines({**RESULT, **found})]
    assert any("450.9 N/m" in row and "is calm again at 6000 N/m" in row for row in rows)
    assert not any("would shake" in row for row in rows)
    assert any(row.startswith("would drift") for row in rows)
    assert any(row.startswith("not linear") and "--simulate" in row for row in rows)

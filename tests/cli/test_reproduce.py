"""``farhand reproduce`` is honest: it says what differs and does not call it a failure of the
program.
"""

from __future__ import annotations

import json
import sys

import pytest

pytestmark = pytest.mark.usefixtures("toy_rig")


def test_a_result_that_differs_is_printed_and_the_exit_code_is_0(farhand_command, tmp_path):
    """The verdicts are results, not errors."""
    said = farhand_command(
        "reproduce", "toy", "--json", tmp_path / "r.json", "--report", tmp_path / "report"
    )
    assert said.code == 0
    rows = json.loads((tmp_path / "r.json").read_text())
    assert [(row["id"], row["verdict"], row["value"]) for row in rows] == [
        ("T-1", "pass", 0.5),
        ("T-2", "differs", 2.0),
    ]
    assert set(rows[0]) == {
        "id",
        "title",
        "value",
        "unit",
        "criterion",
        "verdict",
        "source",
        "note",
        "path",
        "configuration",
        "commit",
    }
    assert "1 pass, 1 differs" in said.out and "the cause" in said.out
    assert "A large error" in (tmp_path / "report" / "index.html").read_text()


def test_one_experiment_can_be_chosen_by_id_or_name(farhand_command, tmp_path):
    """Every way to write it gives the same."""
    for wanted in ("toy/T-1", "toy/small", "T-1"):
        assert farhand_command("reproduce", wanted, "--json", tmp_path / "r.json").code == 0
        assert [row["id"] for row in json.loads((tmp_path / "r.json").read_text())] == ["T-1"]


@pytest.mark.parametrize(("wanted", "known"), [("moon", "toy"), ("toy/T-9", "T-1, T-2")])
def test_an_unknown_selection_is_answered_with_the_known_ones(farhand_command, wanted, known):
    """One line, code 2."""
    said = farhand_command("reproduce", wanted)
    assert said.code == 2
    assert known in said.err and said.err.count("\n") == 1


def test_a_mutation_that_is_caught_gives_code_0(farhand_command, tmp_path):
    """The experiment notices the broken part."""
    said = farhand_command("reproduce", "toy", "--mutations", "--json", tmp_path / "m.json")
    assert said.code == 0
    assert "1 of 1 broken parts caught" in said.out
    (row,) = json.loads((tmp_path / "m.json").read_text())
    assert (row["name"], row["caught"], row["after"]) == ("gain", True, {"T-1": "differs"})


def test_a_mutation_that_is_missed_gives_code_1(farhand_command):
    """An experiment that does not notice a broken part proves nothing."""
    farhand_command("list")  # imports the toy rig
    toy = sys.modules["farhand_lab.toy"]
    toy.MUTATIONS.append(toy.DEAF)
    said = farhand_command("reproduce", "--mutations")
    assert said.code == 1
    assert "missed by T-1" in said.out and "1 of 2" in said.out


@pytest.mark.parametrize(
    "words", [("toy/T-1", "--mutations"), ("toy", "--mutations", "--report", "folder")]
)
def test_mutations_are_of_a_whole_rig_and_have_no_report(farhand_command, words):
    """What would be ignored is refused."""
    said = farhand_command("reproduce", *words)
    assert said.code == 2 and "--mutations" in said.err


def test_an_unwritable_destination_is_found_before_the_work(farhand_command, tmp_path, monkeypatch):
    """Nobody waits minutes to hear that the folder was wrong."""
    monkeypatch.setattr("farhand_lab.harness.run", lambda *_, **__: pytest.fail("it ran"))
    (tmp_path / "file").write_text("")
    for flag in ("--json", "--report"):
        assert farhand_command("reproduce", flag, tmp_path / "file" / "x").code == 2

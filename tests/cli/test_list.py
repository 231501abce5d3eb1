"""``farhand list`` knows every name that other commands take."""

from __future__ import annotations

import json

import pytest

from farhand.coupling import LAWS
from farhand.friction import FRICTIONS
from farhand.link.layers import LAYERS
from farhand.rigs import rig_names
from farhand.robots import robot_names


def test_every_name_is_listed_with_what_it_is(farhand_command, tmp_path, toy_rig):
    """In the JSON and on the screen."""
    path = tmp_path / "names.json"
    said = farhand_command("list", "--json", path)
    assert said.code == 0
    found = json.loads(path.read_text())
    assert [rig["name"] for rig in found["rigs"]] == rig_names()
    assert [law["name"] for law in found["laws"]] == list(LAWS)
    assert [layer["name"] for layer in found["layers"]] == list(LAYERS)
    assert [model["name"] for model in found["friction"]] == list(FRICTIONS)
    assert [robot["name"] for robot in found["robots"]] == robot_names()
    assert [(e["rig"], e["id"], e["name"]) for e in found["experiments"]] == [
        ("toy", "T-1", "small"),
        ("toy", "T-2", "large"),
    ]
    assert {s["name"] for s in found["rigs"][0]["scenarios"]} >= {"wall", "press", "free", "rest"}
    assert all(row["title"] and "\\" not in row["title"] for rows in found.values() for row in rows)
    assert {plant["name"] for plant in found["plants"]} >= {"ur:HOST", "gamepad", "spacemouse"}
    shown = ("laws", "layers", "friction", "rigs", "robots", "plants")
    assert all(row["name"] in said.out for section in shown for row in found[section])


def test_an_empty_section_is_left_out(farhand_command, monkeypatch):
    """A heading without names says nothing."""
    monkeypatch.setattr("farhand_lab.harness.groups", lambda: [])
    assert "Experiments" not in farhand_command("list").out


def test_the_plain_list_fits_a_screen_and_says_how_to_see_more(farhand_command, monkeypatch):
    """At 80 columns; every line ends at a word."""
    monkeypatch.setenv("COLUMNS", "80")
    said = farhand_command("list")
    assert len(said.out.splitlines()) <= 60
    assert "farhand list parameters dual-arm" in " ".join(said.out.split())


@pytest.mark.parametrize(
    ("words", "shown", "hidden"),
    [
        ("laws", "a rigid rod", "nine-moves"),
        ("scenarios dual-arm", "dual-arm nine-moves", "hazardous"),
        ("experiments dual-arm", "dual-arm/D-30", "hazardous/"),
        ("parameters dual-arm", "wall.stiffness", "nine-moves"),
        ("parameters dual-arm --search stiffness", "wall.stiffness", "wall.damping"),
        ("--search sponge", "hazardous sponge", "dual-arm nine-moves"),
        ("robots --search youbot", "youbot", "ur5e"),
        ("--search zebra", "nothing has 'zebra'", "ur5e"),
    ],
)
def test_one_section_or_one_word_shows_only_what_was_asked_for(
    words, shown, hidden, farhand_command
):
    """With its description."""
    said = farhand_command("list", *words.split())
    assert said.code == 0
    assert shown in said.out and hidden not in said.out


def test_the_json_of_one_section_has_only_that(farhand_command, tmp_path):
    """Scenarios name their rig."""
    path = tmp_path / "names.json"
    assert farhand_command("list", "scenarios", "youbot", "--json", path).code == 0
    found = json.loads(path.read_text())
    assert list(found) == ["scenarios"]
    assert {row["rig"] for row in found["scenarios"]} == {"youbot"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("lows", "laws"),
        ("parameters", "farhand list parameters dual-arm"),
        ("laws dual-arm", "the same for every rig"),
        ("scenarios submarine", "dual-arm"),
        ("experiments submarine", "dual-arm"),
    ],
)
def test_what_cannot_be_listed_is_refused_with_what_can(words, said, farhand_command):
    """On one line."""
    refused = farhand_command("list", *words.split())
    assert refused.code == 2 and said in refused.err

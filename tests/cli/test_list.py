"""``farhand list`` knows every name that other commands take."""

from __future__ import annotations

import json

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

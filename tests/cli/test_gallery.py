"""``farhand gallery`` says what it needs, and finds the moment worth a picture."""

from __future__ import annotations

import importlib

import pytest

from farhand.console import scene_of
from farhand.rigs import Options, build_rig
from farhand.running.rerun import record

gallery = importlib.import_module("farhand.running.gallery")


def test_an_unknown_rig_is_refused_with_those_there_are(farhand_command, tmp_path):
    """Before anything is run."""
    said = farhand_command("gallery", "submarine", "--out", tmp_path)
    assert said.code == 2 and "submarine" in said.err and "dual-arm" in said.err


def test_without_a_browser_it_says_what_to_install(farhand_command, tmp_path, monkeypatch):
    """On one line."""
    monkeypatch.setattr(gallery, "CHROMIUM", ())
    said = farhand_command("gallery", "dual-arm", "--out", tmp_path)
    assert said.code == 2 and "Chromium" in said.err


def test_the_picture_is_taken_when_the_follower_feels_most(tmp_path):
    """Pressing on the wall, not before it is reached."""
    rig = build_rig("dual-arm", Options(scenario="press"))
    scene = scene_of(rig)
    found = gallery.load(record(rig, tmp_path / "r.mcap", 3.0))
    moment = gallery.moment_of(scene, found)
    force = abs(found["follower/wrench_measured_in_world"][:, 0])
    assert force[round(1e3 * moment)] == pytest.approx(force.max(), rel=0.05)

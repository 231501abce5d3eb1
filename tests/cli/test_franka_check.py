"""``farhand franka-check``: what it prints, and its exit code."""

from __future__ import annotations

import json

import pytest

from farhand.cli.main import main
from farhand.plants.franka import check
from farhand.plants.franka.check import FrankaCheck, LinkCheck, ModelCheck, judge
from farhand.plants.franka.plant import FrankaPlant


@pytest.mark.parametrize(("success", "code"), [(1.0, 0), (0.3, 1)])
def test_it_prints_what_it_found_and_fails_if_no_law_can_be_used(
    monkeypatch, capsys, tmp_path, success, code
) -> None:
    """The same is in the JSON."""
    link, model = (
        LinkCheck(998.0, 5e-5, 9e-5, 3e-3, success, 2, 1),
        ModelCheck(100, 0.02, 0.01, 0, 0, 0),
    )
    found = FrankaCheck(
        "arm", "0.21", "fr3-arm", 0.0, False, link, model, [0.2] * 7, 1.5, judge(link, model, 1.5)
    )
    monkeypatch.setattr(FrankaPlant, "robot_at", lambda host, role: "fr3-arm")
    monkeypatch.setattr(check, "check_arm", lambda host, robot, seconds: found)
    out = tmp_path / "check.json"
    assert main(["franka-check", "arm", "--json", str(out)]) == code
    shown = capsys.readouterr().out
    assert "998 /s, 2 states lost" in shown and "four-channel-sensorless" in shown
    verdicts = json.loads(out.read_text())["laws"]
    assert set(verdicts.values()) == ({"no"} if code else {"ok"})


def test_a_time_too_short_to_judge_is_refused(capsys) -> None:
    """Before anything connects."""
    assert main(["franka-check", "arm", "--seconds", "0.1"]) == 2
    assert "--seconds" in capsys.readouterr().err

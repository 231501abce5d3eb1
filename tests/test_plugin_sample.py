"""The sample package of examples/plugin, installed as a user would install it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Run ``farhand`` with the sample package on the path."""
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
    subprocess.run([*pip, str(ROOT / "examples" / "plugin")], check=True)
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "farhand", *words]
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    return run


def test_its_plant_and_its_rig_are_listed(installed):
    """Beside those that come with Farhand."""
    listed = json.loads(installed("list", "--json", "-").stdout)
    rigs = {rig["name"]: rig for rig in listed["rigs"]}
    assert {"ur:HOST", "sine:AMPLITUDE"} <= {plant["name"] for plant in listed["plants"]}
    assert {"dual-arm", "two-pens"} <= set(rigs)
    assert [scenario["name"] for scenario in rigs["two-pens"]["scenarios"]] == ["push"]


@pytest.mark.parametrize("more", [(), ("--delay", "20", "--layer", "tdpa")])
def test_its_rig_runs_like_any_other(installed, more):
    """With a delay and a layer as well."""
    result = installed("run", "two-pens", "--headless", "--json", "-", *more)
    assert result.returncode == 0, result.stderr
    row = json.loads(result.stdout)
    assert row["rig"] == "two-pens" and row["trips"] == []


def test_its_plant_leads_an_arm_in_real_time(installed):
    """``--leader NAME:ADDRESS`` finds it."""
    result = installed(
        "run", "dual-arm", "--leader", "sine:0.1", "--headless", "--clock", "wall", "--seconds", "1"
    )
    assert result.returncode == 0, result.stderr


def test_a_wrong_address_is_answered_in_one_line(installed):
    """And the plants there are, this one among them."""
    result = installed("run", "dual-arm", "--leader", "sinus:0.1", "--clock", "wall")
    assert result.returncode == 2
    assert "sine:AMPLITUDE" in result.stderr and len(result.stderr.strip().splitlines()) == 1

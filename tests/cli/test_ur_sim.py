"""``farhand ur-sim`` and the plants that ``farhand run`` takes from outside."""

from __future__ import annotations

import os

import pytest

from farhand.cli.main import main

HOST = f"127.{32 + os.getpid() % 32}.{os.getpid() // 32 % 250}.9"


def test_the_controller_runs_for_as_long_as_told_and_says_where(capsys):
    """100 cycles in a fifth of a second; the ports are those that clients know, plus the offset."""
    assert main(["ur-sim", "--host", HOST, "--port-offset", "7", "--seconds", "0.2"]) == 0
    said = capsys.readouterr().out
    assert f"ur5e at {HOST}: dashboard 30006" in said
    assert "rtde 30011" in said
    assert "100 cycles" in said


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--robot", "iiwa14"], "a UR controller drives six joints; iiwa14 has 7"),
        (["--robot", "ur5f"], "did you mean"),
        (["--hand", "2"], "--hand = 2 is outside [0, 0.5] m"),
        (["--payload", "9"], "--payload = 9 is outside [0, 5] kg"),
        (["--seconds", "0"], "--seconds = 0 is outside"),
        (["--host", "192.0.2.1"], "cannot listen on 192.0.2.1:29999"),
    ],
)
def test_bad_input_is_one_line_and_code_2(capsys, words, problem):
    """With the value, the limit or the alternatives."""
    assert main(["ur-sim", "--seconds", "0.01", *words]) == 2
    error = capsys.readouterr().err
    assert problem in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("flag", "plant"),
    [("--leader", "ur:127.0.0.1"), ("--follower", "ur:127.0.0.1"), ("--leader", "gamepad")],
)
def test_a_plant_from_outside_does_not_run_in_virtual_time(capsys, flag, plant):
    """And the line says what to do."""
    assert main(["run", "dual-arm", "--headless", "--clock", "virtual", flag, plant]) == 2
    assert "--clock wall" in capsys.readouterr().err


def test_a_rig_without_a_place_for_it_says_so(capsys):
    """The humanoid's leader is its own."""
    assert main(["run", "humanoid", "--headless", "--leader", "gamepad"]) == 2
    assert "--leader gamepad: the leader of humanoid is always simulated" in capsys.readouterr().err

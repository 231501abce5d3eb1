"""``farhand servo-sim``: a limb on a pseudo-terminal that the real driver talks to."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from farhand.cli.main import main
from farhand.plants.servo_bus.driver import SerialLine, ServoDriver
from farhand.plants.servo_bus.joints import LIMBS, joints_named
from farhand.plants.servo_bus.simulated_bus import BusTiming


def test_the_driver_finds_every_servo_of_the_limb_in_another_process() -> None:
    """At the port that it names; it counts what it heard."""
    words = [sys.executable, "-m", "farhand", "servo-sim", "--limb", "right-leg", "--seconds", "30"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        joints = joints_named(*LIMBS["right-leg"])
        driver = ServoDriver(joints, np.zeros(len(joints)))
        with SerialLine(said.split()[-1], BusTiming(timeout=1.0)) as line:
            line.run(driver.scan())
        process.terminate()
        assert process.stdout.read() == f"{len(joints)} frames heard\n"
    assert (
        driver.fault is None and process.returncode == 0 and said.startswith("right-leg (servos ")
    )


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--limb", "tail"], "unknown limb 'tail'"),
        (["--drop", "2"], "--drop = 2 is outside [0, 1]"),
    ],
)
def test_bad_input_is_one_line_and_code_2(capsys, words, problem):
    """With the value, the limit or the alternatives."""
    assert main(["servo-sim", "--seconds", "0.01", *words]) == 2
    error = capsys.readouterr().err
    assert problem in error and error.count("\n") == 1

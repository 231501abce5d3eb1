"""``farhand servo-sim``: a limb on a pseudo-terminal that the real driver talks to."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from farhand.cli.main import main
from farhand.cli.servo_sim import servo_sim
from farhand.plants.servo_arm.simulated_arm import SimulatedServoBus
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


def test_an_arm_is_found_at_the_link_and_the_link_goes_with_it(tmp_path) -> None:
    """Feetech's own client reads it from another process."""
    import scservo_sdk

    link = tmp_path / "arm"
    words = [sys.executable, "-m", "farhand", "servo-sim", "so101", "--at", str(link)]
    with subprocess.Popen([*words, "--seconds", "30"], stdout=subprocess.PIPE, text=True) as one:
        assert one.stdout is not None
        said = one.stdout.readline()
        port = scservo_sdk.PortHandler(str(link))
        assert port.openPort() and port.setBaudRate(1_000_000)
        handler, model = scservo_sdk.PacketHandler(0), 0
        for _ in range(20):
            model = model or handler.ping(port, 6)[0]
        port.closePort()
        one.terminate()
        left = one.stdout.read()
    assert said == f"so101 (servos 1, 2, 3, 4, 5, 6, 1000000 baud) at {link}\n"
    assert model == 777 and "0 answers lost" in left and one.returncode == 0
    assert not link.is_symlink()


def test_a_bus_that_fails_ends_the_command(tmp_path, monkeypatch) -> None:
    """At once, not after the time it was given."""
    link = tmp_path / "arm"

    def fail(*_: object) -> list[bytes]:
        raise RuntimeError("broken")

    def ask() -> None:
        while not link.exists():
            time.sleep(0.01)
        link.write_bytes(b"\xff\xff\x01\x02\x01\xfb")

    monkeypatch.setattr(SimulatedServoBus, "feed", fail)
    client = threading.Thread(target=ask)
    client.start()
    began = time.monotonic()
    with pytest.raises(RuntimeError, match="broken"):
        servo_sim("so101", at=link, seconds=60.0)
    client.join()
    assert time.monotonic() - began < 30.0


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["so10"], "unknown servo arm 'so10' (did you mean 'so101'?)"),
        (["so101", "--corrupt", "2"], "--corrupt = 2 is outside [0, 1]"),
        (["so101", "--reboot", "x"], "--reboot 'x' must be ID:SECONDS"),
        (["so101", "--reboot", "9:1"], "so101 has no servo 9"),
        (["so101", "--reboot", "3:nan"], "--reboot = nan is outside [0, 1e+06] s"),
        (["so101", "--hand", "nan"], "--hand = nan is outside [-1, 1] m"),
        (["so101", "--dead", "3"], "--dead: only for a limb, and this is an arm"),
        (["--at", "arm"], "--at: only for an arm, and this is a limb: name the ARM"),
        (["so101", "--at", "/nowhere/arm"], "cannot make the link /nowhere/arm"),
    ],
)
def test_what_is_wrong_with_an_arm_is_one_line(words, problem, capsys) -> None:
    """And nothing else."""
    assert main(["servo-sim", *words]) == 2
    assert problem in capsys.readouterr().err

"""``farhand can-sim``: an arm on a port that other programs open."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import can
import pytest

from farhand.cli.main import main
from farhand.plants.damiao import frames


def test_python_can_finds_the_motors_in_another_process(tmp_path: Path) -> None:
    """At the link that was asked for, which is gone afterwards; it counts what it heard."""
    port = tmp_path / "openarm"
    words = [sys.executable, "-m", "farhand", "can-sim", "openarm", "--at", str(port)]
    with subprocess.Popen(
        [*words, "--seconds", "60"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"openarm: 8 motors on slcan at {port}\n"
        with can.Bus(
            interface="slcan", channel=str(port), bitrate=1_000_000, sleep_after_open=0.0
        ) as bus:
            asked = frames.encode_register(5, frames.REFRESH)
            bus.send(can.Message(arbitration_id=0x7FF, data=asked, is_extended_id=False))
            answer = bus.recv(30.0)
        assert answer is not None and answer.arbitration_id == 0x15
        process.terminate()
        assert process.stdout.read() == "1 frames heard\n"
    assert process.returncode == 0 and not port.is_symlink()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["openarms"], "'openarms' is neither an arm (openarm) nor a toml file"),
        (["--interface", "socketcan"], "unknown interface of can-sim 'socketcan'"),
        (["--interface", "udp_multicast", "--at", "10.0.0.1"], "no multicast address"),
        (["--fault", "smoke"], "unknown fault 'smoke'"),
        (["--fault", "silent:x"], "silent:3"),
        (["--fault", "silent:9"], "motors 1 to 8"),
        (["--fault", "silent:0"], "motors 1 to 8"),
        (["--fault", "bus-off:3"], "leave out :3"),
        (["--at", "/"], "exists and is no link"),
        (["--seconds", "-1"], "--seconds"),
    ],
)
def test_bad_input_is_one_line_and_code_2(capsys, words, problem):
    """With the value, the limit or the alternatives."""
    assert main(["can-sim", *words, *([] if "--seconds" in words else ["--seconds", "0.01"])]) == 2
    error = capsys.readouterr().err
    assert problem in error and error.count("\n") == 1

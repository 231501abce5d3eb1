"""Real processes over real UDP: killed, stopped and started again. What is judged is what they do,
never how fast.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from farhand.link.seal import STATE, Seal, write_key
from farhand.link.udp import UdpWire

ROOT = Path(__file__).parents[2]
PATIENT = [
    "--set",
    "watchdog.silence=0.6",
    "--set",
    "watchdog.age=2",
    "--set",
    "deadlines.storm=1000000",
    "--set",
    "lateness.limit=0.5",
]
"""A busy machine must not trip what a test does not."""


class Process:
    """A side as a process, and what it says."""

    def __init__(self, side: str, folder: Path, *words: str) -> None:
        self.json = folder / f"{side}-{time.monotonic_ns()}.json"
        command = [
            sys.executable,
            "-m",
            "farhand",
            side,
            "dual-arm",
            "--law",
            "position-position",
            "--headless",
        ]
        command += ["--json", str(self.json), *PATIENT, *words]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        # fmt: skip
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        self.said: list[str] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self.process.stderr:
            self.said.append(line)

    def says(self, words: str, since: int = 0) -> int:
        """Wait until it says these words; gives how much it had said by then."""
        deadline = time.monotonic() + 60.0
        while time.monotonic() < deadline:
            for number, line in enumerate(self.said[since:], since):
                if words in line:
                    return number + 1
            if self.process.poll() is not None and not any(
                words in line for line in self.said[since:]
            ):
                break
            time.sleep(0.02)
        raise AssertionError(f"never said {words!r}; said: {''.join(self.said[since:])}")

    def type(self, text: str) -> None:
        """Type a command."""
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()

    def signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.process.pid, number)

    def end(self) -> dict:
        """Ctrl-C, and what it leaves behind."""
        self.signal(signal.SIGINT)
        assert self.process.wait(60) == 0
        return json.loads(self.json.read_text())

    def close(self) -> None:
        """Make sure that it is gone."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(60)


@pytest.fixture
def place() -> str:
    """A free address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


@pytest.fixture
def start(tmp_path) -> Iterator:
    """Start sides that share a key, and take them all down at the end."""
    write_key(tmp_path / "key")
    made: list[Process] = []

    def begin(side: str, *words: str) -> Process:
        made.append(Process(side, tmp_path, "--key", "key", *words))
        return made[-1]

    yield begin
    for process in made:
        process.close()


def test_a_leader_that_is_stopped_killed_or_started_again_leaves_the_follower_still(start, place):
    """SIGSTOP, SIGCONT, reset and engage; then kill -9, and a new leader takes over."""
    follower = start("follower", "--listen", place)
    follower.says("listens at")
    leader = start("leader", "--connect", place, "--seconds", "600")
    seen = follower.says("follower: coupled")
    host, port = place.split(":")
    stranger, forger = UdpWire(connect=(host, int(port))), Seal(bytes(32), "leader")
    for _ in range(100):
        stranger.send(forger.close(STATE, bytes(600)))
    stranger.close()

    leader.signal(signal.SIGSTOP)
    seen = follower.says("parted: nothing heard from the leader", seen)
    leader.signal(signal.SIGCONT)
    leader.says("stopped: a tick began")
    leader.type("reset")
    leader.type("engage")
    seen = follower.says("follower: coupled", seen)

    leader.signal(signal.SIGKILL)
    seen = follower.says("parted: nothing heard from the leader", seen)
    second = start("leader", "--connect", place, "--seconds", "600")
    seen = follower.says("follower: coupled", seen)
    lead = second.end()
    follower.says("follower: the leader has left", seen)
    time.sleep(0.5)  # more silence than a fault needs
    result = follower.end()

    kinds = [(trip["where"], trip["kind"]) for trip in result["trips"]]
    assert kinds == [("link", "link"), ("link", "link")]
    assert result["link"]["peer_starts"] == 2
    assert result["metrics"]["follower_speed_max"]["value"] < 2.0
    assert lead["side"] == "leader"
    assert lead["metrics"]["link_round_trip_rms"]["value"] > 0.0
    assert abs(lead["metrics"]["clock_offset"]["value"]) < 0.5  # one machine, one clock
    assert result["link"]["datagrams"]["forged"] == 100


def test_a_follower_that_is_killed_lets_the_leader_go_and_its_successor_waits_to_be_asked(
    start, place
):
    """Kill -9; the leader parts. A new follower at the same address is coupled only on engage."""
    follower = start("follower", "--listen", place)
    follower.says("listens at")
    leader = start("leader", "--connect", place, "--seconds", "600")
    seen = leader.says("leader: coupled")
    follower.says("follower: coupled")  # a follower that dies before has not taken it up
    follower.signal(signal.SIGKILL)
    seen = leader.says("parted: nothing heard from the follower", seen)
    follower.process.wait(60)
    successor = start("follower", "--listen", place)
    successor.says("follower: apart")
    assert not any("coupled" in line for line in successor.said)
    leader.type("engage")
    leader.says("leader: coupled", seen)
    assert leader.end()["link"]["peer_starts"] == 2

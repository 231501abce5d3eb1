"""Publishing beside the loop: what may be asked, what is refused, and viewers that die."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time

import numpy as np
import pytest

from farhand.client import start
from farhand.errors import UnknownName
from farhand.publishing import Destination, parse_destination
from farhand.publishing.viewer import WATCH_ONLY, Door, turn_between

from .conftest import CALM, FARHAND, free_port


@pytest.mark.parametrize(
    ("text", "destination"),
    [
        ("ros2", Destination("ros2")),
        ("ros2://robot:7447", Destination("ros2", "robot:7447")),
        ("foxglove:8765", Destination("foxglove", "8765")),
        ("rerun", Destination("rerun")),
    ],
)
def test_a_destination_is_a_kind_and_an_address(text, destination):
    """As typed."""
    assert parse_destination(text) == destination


def test_an_unknown_destination_names_those_there_are():
    """With the one that is meant."""
    with pytest.raises(UnknownName, match="foxglove"):
        parse_destination("foxgloves")


def run(*options: str) -> subprocess.CompletedProcess[str]:
    """``farhand run`` with these options."""
    command = [*FARHAND, "run", "dual-arm", "--headless", "--seconds", "0.2", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=100)


def test_what_cannot_be_published_ends_with_one_line_before_the_run_begins():
    """No router where one is named, a port that is taken, virtual time."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        tried = run("--publish", f"ros2://127.0.0.1:{free_port()}", "--publish", f"foxglove:{port}")
    assert tried.returncode == 2
    assert "no Zenoh router at 127.0.0.1" in " ".join(tried.stderr.split())
    assert "Traceback" not in tried.stderr
    refused = run("--publish", "foxglove", "--clock", "virtual")
    assert refused.returncode == 2 and "--publish needs --clock wall" in refused.stderr


def test_those_who_watch_may_stop_and_nothing_else():
    """Unless the session is published to be driven."""
    door = Door("nobody-is-there", drive=False)
    assert door.command("engage").text == WATCH_ONLY
    assert door.set("hand.stiffness", 1.0).text == WATCH_ONLY
    assert door.target("follower", joints=[0.0]).text == WATCH_ONLY
    # This one is asked, and nobody is there
    assert "not running" in door.command("stop").text


def test_a_turn_between_two_directions_takes_one_to_the_other():
    """Also to the opposite one."""
    from farhand.spatial import rotation_from_quaternion

    random = np.random.default_rng(0)
    for _ in range(20):
        start_, end = random.normal(size=(2, 3))
        start_, end = start_ / np.linalg.norm(start_), end / np.linalg.norm(end)
        for goal in (end, -start_):
            turned = rotation_from_quaternion(turn_between(start_, goal)) @ start_
            np.testing.assert_allclose(turned, goal, atol=1e-9)


def test_a_viewer_that_is_stopped_or_killed_changes_nothing(tmp_path, monkeypatch):
    """The loop goes on, tick by tick."""
    pytest.importorskip("rerun")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    options = (*CALM, "--publish", f"rerun:{free_port()}")
    with start("dual-arm", *options, name="watched", program=FARHAND) as session:
        command = ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(session.process_id)]
        children = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
        publishers = [int(line.split()[0]) for line in children if "spawn_main" in line]
        assert len(publishers) == 1
        for number in (signal.SIGSTOP, signal.SIGKILL):
            os.kill(publishers[0], number)
            session.read("follower", "q")
            time.sleep(0.5)
            times, _ = session.read("follower", "q")
            assert len(times) > 100
            np.testing.assert_allclose(np.diff(times), 0.001, rtol=1e-6)

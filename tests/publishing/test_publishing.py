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
from farhand.errors import BadValue, UnknownName
from farhand.publishing import Destination, parse_destinations
from farhand.publishing.ros2 import TRIGGER, TRIGGER_HASH
from farhand.publishing.viewer import WATCH_ONLY, SessionAccess, turn_between
from farhand_lab.benchmarks.publishing import KINDS, Beside, flood_ros2, route, zenoh_settings

from .conftest import CALM, FARHAND, free_port


@pytest.mark.parametrize(
    ("text", "destination"),
    [
        ("ros2", Destination("ros2")),
        ("ros2://robot:7447", Destination("ros2", "robot:7447")),
        ("ros2://robot", Destination("ros2", "robot:7447")),
        ("ros2://[::1]:7448", Destination("ros2", "[::1]:7448")),
        ("ros2:tls/robot:7447", Destination("ros2", "tls/robot:7447")),
        ("ros2:", Destination("ros2")),
        ("foxglove:8765", Destination("foxglove", "8765")),
        ("rerun", Destination("rerun")),
    ],
)
def test_a_destination_is_a_kind_and_an_address(text, destination):
    """As typed."""
    assert parse_destinations([text]) == [destination]


def test_an_unknown_destination_names_those_there_are():
    """With the one that is meant."""
    with pytest.raises(UnknownName, match="foxglove"):
        parse_destinations(["ros2", "foxgloves"])


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["ros2", "ros2"], "--publish ros2 is given twice"),
        (["foxglove:9000", "foxglove://9000"], "--publish foxglove://9000 is given twice"),
        (["rerun:65536"], "--publish rerun:65536: '65536' is not a port, 1 to 65535"),
        (["foxglove:localhost:9000"], "'localhost:9000' is not a port"),
        (["foxglove:0"], "'0' is not a port"),
        (["foxglove", "rerun:8765"], "another --publish listens at that port already"),
        (["rerun", "rerun:9876"], "another --publish listens at that port already"),
        (["ros2://robot:74470"], "'robot:74470' is not a router such as robot:7447"),
        (["ros2://robot", "ros2://robot:7447"], "--publish ros2://robot:7447 is given twice"),
    ],
)
def test_what_cannot_be_a_destination_is_refused_before_anything_starts(texts, words):
    """Twice would publish every message twice."""
    with pytest.raises(BadValue) as refusal:
        parse_destinations(texts)
    assert words in str(refusal.value)


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
    assert ".rs:" not in tried.stderr
    assert "Traceback" not in tried.stderr
    refused = run("--publish", "foxglove", "--clock", "virtual")
    assert refused.returncode == 2 and "--publish needs --clock wall" in refused.stderr


def test_a_port_that_is_taken_is_refused_for_rerun_too():
    """Its SDK says so on stderr and goes on, and nobody could connect."""
    pytest.importorskip("rerun")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        tried = run("--clock", "wall", "--publish", f"rerun:{port}")
    assert tried.returncode == 2
    assert f"Rerun cannot listen at port {port}" in tried.stderr


def test_to_let_others_drive_where_nothing_is_published_is_refused():
    """It would have no effect."""
    tried = run("--clock", "wall", "--publish-drive")
    assert tried.returncode == 2 and "add --publish" in tried.stderr


def test_those_who_watch_may_stop_and_nothing_else():
    """Unless the session is published to be driven."""
    door = SessionAccess("nobody-is-there", drive=False)
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


def test_a_flood_of_requests_reaches_the_loop_one_per_tick_at_most(tmp_path, monkeypatch):
    """Orders, parameters, calls, subscriptions and nonsense, at each destination in turn, by a
    client that may drive. Ticks go on, nothing trips, the publishers live, and others are heard.
    """
    for needed in ("zenoh", "foxglove", "rerun"):
        pytest.importorskip(needed)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    ports = {kind: free_port() for kind in KINDS}
    where = [f"ros2://127.0.0.1:{ports['ros2']}", f"foxglove:{ports['foxglove']}"]
    where.append(f"rerun:{ports['rerun']}")
    options = [*CALM, "--publish-drive", *(part for one in where for part in ("--publish", one))]
    router = Beside(route, ports["ros2"])
    try:
        with start("dual-arm", *options, name="flooded", program=FARHAND) as session:
            before = publishers_of(session.process_id)
            assert len(before) == len(KINDS)
            # Rerun first: of the others' orders some are still on their way when they end
            for kind in reversed(KINDS):
                flood = KINDS[kind][1]
                flooding = Beside(flood, ports[kind])
                try:
                    session.read("follower", "q"), session.events()
                    ticks, orders, end = 0, 0, time.monotonic() + 60.0
                    # not a word of Rerun's reaches the loop
                    while orders < (0 if kind == "rerun" else 50) or ticks < 1000:
                        assert time.monotonic() < end, f"{kind}: {orders} orders, {ticks} ticks"
                        time.sleep(0.2)
                        times, _ = session.read("follower", "q")
                        np.testing.assert_allclose(np.diff(times), 0.001, rtol=1e-6)
                        ticks += len(times)
                        orders += sum(e.data.get("kind") == "command" for e in session.events())
                    assert session.set("hand.damping", 40.0).done
                finally:
                    flooding.end()
                print(f"{kind}: {orders} orders in {ticks} ticks")
                assert orders <= (0 if kind == "rerun" else ticks)
                assert session.trips() == {}
            assert publishers_of(session.process_id) == before
    finally:
        router.end()


def test_a_stop_by_ros_is_heard_while_another_floods(tmp_path, monkeypatch):
    """It does not wait behind thousands of orders."""
    zenoh = pytest.importorskip("zenoh")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    port = free_port()
    router = Beside(route, port)
    stop = f"0/farhand/stop/{TRIGGER}/{TRIGGER_HASH}"
    options = (*CALM, "--publish", f"ros2://127.0.0.1:{port}", "--publish-drive")
    try:
        with start("dual-arm", *options, name="flooded", program=FARHAND) as session:
            flooding = Beside(flood_ros2, port)
            try:
                time.sleep(2.0)
                begin = time.monotonic()
                with zenoh.open(zenoh_settings("client", "connect", "127.0.0.1", port)) as peer:
                    time.sleep(0.5)
                    answers = list(peer.get(stop, timeout=5.0))
                print(f"answered after {time.monotonic() - begin - 0.5:.3f} s")
            finally:
                flooding.end()
            assert len(answers) == 1 and answers[0].ok
            assert set(session.trips()) == {"leader", "follower"}
    finally:
        router.end()


def publishers_of(process: int) -> list[int]:
    """Process numbers of its publishers."""
    command = ["ps", "-ww", "-o", "pid=,stat=,args=", "--ppid", str(process)]
    children = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    rows = [line.split() for line in children if "spawn_main" in line]
    return [int(number) for number, state, *_ in rows if "Z" not in state]


def test_a_viewer_that_is_stopped_or_killed_changes_nothing(tmp_path, monkeypatch):
    """The loop goes on, tick by tick."""
    pytest.importorskip("rerun")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    options = (*CALM, "--publish", f"rerun:{free_port()}")
    with start("dual-arm", *options, name="watched", program=FARHAND) as session:
        publishers = publishers_of(session.process_id)
        assert len(publishers) == 1
        for number in (signal.SIGSTOP, signal.SIGKILL):
            os.kill(publishers[0], number)
            session.read("follower", "q")
            time.sleep(0.5)
            times, _ = session.read("follower", "q")
            assert len(times) > 100
            np.testing.assert_allclose(np.diff(times), 0.001, rtol=1e-6)

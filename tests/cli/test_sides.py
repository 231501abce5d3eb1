"""``farhand key``, ``leader`` and ``follower``: what a user gets right and wrong before anything
runs, and one run.
"""

from __future__ import annotations

import json
import socket
import threading

import pytest

from farhand.link.line import Line
from farhand.link.packet import VERSION
from farhand.link.seal import Seal
from farhand.link.udp import UdpWire

TERMS_OF_ANOTHER = {"version": str(VERSION), "rig": "another"}


@pytest.fixture
def key(farhand_command, tmp_path):
    """A key file."""
    path = tmp_path / "link.key"
    assert farhand_command("key", "--out", path).code == 0
    return path


def test_a_key_is_made_once_for_its_owner_alone(farhand_command, key):
    """A second one over it is refused."""
    assert key.stat().st_mode & 0o777 == 0o600
    said = farhand_command("key", "--out", key)
    assert said.code == 2
    assert "never overwritten" in said.err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("leader", "dual-arm"), "farhand leader needs --connect HOST:PORT"),
        (("leader", "dual-arm", "--connect", "a:1", "--publish-drive"), "add --publish"),
        (
            ("leader", "dual-arm", "--connect", "nowhere"),
            "--connect 'nowhere' is not of the form HOST:PORT",
        ),
        (
            ("follower", "dual-arm", "--listen", "0.0.0.0:99999"),
            "there is no port 99999; they end at 65535",
        ),
        (
            ("follower", "dual-arm", "--connect", "10.0.0.1:1", "--listen", "127.0.0.1:0"),
            "for a Zenoh router",
        ),
        (
            ("leader", "cooperative", "--connect", "127.0.0.1:1"),
            "rig 'cooperative' does not run on two machines",
        ),
        (
            ("leader", "hazardous", "--connect", "127.0.0.1:1", "--scenario", "collision"),
            "scenario 'collision' needs both sides in one process",
        ),
        (("leader", "dual-arm", "--connect", "127.0.0.1:1", "--law", "nil"), "unknown law 'nil'"),
        (
            ("leader", "dual-arm", "--connect", "127.0.0.1:1", "--seconds", "0"),
            "--seconds = 0 is outside",
        ),
        (
            ("leader", "dual-arm", "--connect", "127.0.0.1:1", "--patience", "0.1"),
            "no follower with this key answers",
        ),
        (
            ("leader", "dual-arm", "--connect", "127.0.0.1:1", "--listen", "127.0.0.1:0"),
            "over UDP a leader connects",
        ),
        (("leader", "dual-arm", "--connect", "127.0.0.1:0"), "nobody can be reached at port 0"),
        (("follower", "dual-arm", "--transport", "zenoh"), "over Zenoh needs --listen"),
    ],
)
def test_what_cannot_work_is_refused_on_one_line(farhand_command, key, words, complaint):
    """Exit code 2, no traceback."""
    said = farhand_command(*words, "--key", key, "--headless")
    assert said.code == 2
    assert complaint in said.err
    assert len(said.err.strip().splitlines()) == 1


def test_a_key_that_others_can_read_is_noted(farhand_command, key):
    """Used all the same."""
    key.chmod(0o644)
    said = farhand_command(
        "leader", "dual-arm", "--connect", "127.0.0.1:1", "--key", key, "--patience", "0.05"
    )
    assert "chmod 600" in said.err


def test_a_missing_key_is_refused_before_anything_is_built(farhand_command, tmp_path):
    """With its name."""
    said = farhand_command(
        "leader", "dual-arm", "--connect", "127.0.0.1:1", "--key", tmp_path / "none"
    )
    assert (said.code, "cannot read the key" in said.err) == (2, True)


def test_a_follower_that_runs_something_else_is_refused_by_name(farhand_command, key):
    """The leader ends with code 2 before its arm moves, and the follower hears why."""
    from farhand.link.seal import read_key

    wire = UdpWire(listen=("127.0.0.1", 0))
    other = Line(wire, Seal(read_key(key), "follower"), TERMS_OF_ANOTHER)
    done = threading.Event()

    def answer() -> None:
        while not done.wait(0.005):
            other.receive(0)
            other.greet()

    thread = threading.Thread(target=answer)
    thread.start()
    said = farhand_command(
        "leader",
        "dual-arm",
        "--connect",
        f"127.0.0.1:{wire.address[1]}",
        "--key",
        key,
        "--headless",
    )
    done.set()
    thread.join()
    other.receive(0)
    wire.close()
    assert (
        other.refusal == "the other side has rig 'dual-arm', this one 'another': start both alike"
    )
    assert said.code == 2
    assert (
        "the follower is refused: the other side has rig 'another', this one 'dual-arm'" in said.err
    )


@pytest.mark.parametrize(
    ("rig", "law"), [("dual-arm", "position-position"), ("hazardous", "position-force")]
)
def test_a_follower_nobody_leads_stands_still_and_reports_it(
    farhand_command, key, tmp_path, rig, law
):
    """Runs in real time, tells its address, shows dashes for what it does not know."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{probe.getsockname()[1]}"
    words = ("follower", rig, "--law", law, "--listen", place, "--key", key, "--headless")
    said = farhand_command(*words, "--seconds", "0.2", "--json", tmp_path / "f.json")
    assert said.code == 0, said.err
    assert f"listens at {place}" in said.err
    assert "waiting for the leader; round trip –, lost –, age –, clock –" in said.err
    assert "clock" in said.out
    result = json.loads((tmp_path / "f.json").read_text())
    assert (result["side"], result["link"]["agreed"], result["link"]["datagrams"]["opened"]) == (
        "follower",
        False,
        0,
    )
    assert result["metrics"]["follower_speed_max"]["value"] < 1e-2


def test_a_refused_command_is_told_while_the_side_runs(farhand_command, key):
    """Once, with the reason, whether it was typed or asked for beforehand."""
    words = (
        "follower",
        "dual-arm",
        "--listen",
        "127.0.0.1:0",
        "--key",
        key,
        "--headless",
        "--seconds",
        "0.1",
    )
    said = farhand_command(*words, "--at", "0.02:engage").err
    assert (
        said.count("farhand: engage was refused: the leader couples the two sides; ask there\n")
        == 1
    )


def test_a_recording_that_somebody_removed_is_not_reported_as_there(
    farhand_command, key, tmp_path, monkeypatch
):
    """Exit code 2, with its name."""
    from farhand.running import recorder

    record = tmp_path / "gone.mcap"

    class Removed(recorder.RecorderProcess):
        def close(self):
            super().close()
            record.unlink()

    monkeypatch.setattr(recorder, "RecorderProcess", Removed)
    words = (
        "follower",
        "dual-arm",
        "--listen",
        "127.0.0.1:0",
        "--key",
        key,
        "--headless",
        "--seconds",
        "0.05",
    )
    said = farhand_command(*words, "--record", record)
    assert said.code == 2
    assert "gone.mcap was removed while it was written" in said.err
    assert "recording:" not in said.out

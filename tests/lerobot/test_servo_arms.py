"""LeRobot's own classes on simulated servo arms: ``make test-lerobot`` runs this with LeRobot.

LeRobot has an environment of its own; Farhand runs as the program that ``$FARHAND`` names.
"""

from __future__ import annotations

import builtins
import json
import os
import subprocess
import time
from pathlib import Path

import pytest

pytest.importorskip("lerobot")
from lerobot.robots.koch_follower import KochFollower, KochFollowerConfig  # noqa: E402
from lerobot.robots.so_follower import SO101Follower, SO101FollowerConfig  # noqa: E402
from lerobot.teleoperators.koch_leader import KochLeader, KochLeaderConfig  # noqa: E402
from lerobot.teleoperators.so_leader import SO101Leader, SO101LeaderConfig  # noqa: E402

FARHAND = os.environ.get("FARHAND", "farhand")
ARMS = {
    "so101": (SO101Follower, SO101FollowerConfig),
    "so101-leader": (SO101Leader, SO101LeaderConfig),
    "koch": (KochFollower, KochFollowerConfig),
    "koch-leader": (KochLeader, KochLeaderConfig),
}


@pytest.fixture
def simulated(tmp_path):
    """Starts ``farhand servo-sim`` and returns the path of its link."""
    running = []

    def start(arm, *more):
        link = tmp_path / f"bus-{len(running)}"
        words = [FARHAND, "servo-sim", arm, "--at", str(link), "--seconds", "120", *more]
        running.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
        assert running[-1].stdout.readline().startswith(arm)
        return str(link)

    yield start
    for process in running:
        process.terminate()
        process.wait(20)
        process.stdout.close()


def device(arm, port, folder):
    """LeRobot's class of an arm, with its calibration files in a folder."""
    kind, config = ARMS[arm]
    return kind(config(port=port, id="mine", calibration_dir=Path(folder)))


def calibrate_with(monkeypatch, one):
    """Answer LeRobot's questions as a user would, who moves no joint far; where the joints are
    when their middle has been found, while the arm still lies on its support.
    """
    monkeypatch.setattr(builtins, "input", lambda *_: "")
    ends = {name: (800, 3300) for name in one.bus.motors}
    places = {}

    def ranges(motors=None, display_values=True):
        places.update(one.bus.sync_read("Present_Position", normalize=False))
        names = motors or list(one.bus.motors)
        return {n: ends[n][0] for n in names}, {n: ends[n][1] for n in names}

    monkeypatch.setattr(one.bus, "record_ranges_of_motion", ranges)
    return places


@pytest.mark.parametrize("arm", ARMS)
def test_a_new_arm_connects_is_calibrated_and_configured(simulated, tmp_path, monkeypatch, arm):
    """Its servos store what LeRobot wrote, and its file is LeRobot's."""
    one = device(arm, simulated(arm, "--new"), tmp_path)
    places = calibrate_with(monkeypatch, one)
    one.connect()
    assert one.is_connected and one.is_calibrated
    stored = one.bus.read_calibration()
    saved = json.loads((tmp_path / "mine.json").read_text())
    for name, row in saved.items():
        assert stored[name].homing_offset == row["homing_offset"]
        assert stored[name].range_min == row["range_min"]
    # by the homing offset, every joint is in the middle of its turn
    assert set(places) == set(saved)
    assert all(abs(place - 2047) <= 1 for place in places.values())
    one.disconnect()


@pytest.mark.parametrize("arm", ["so101", "koch"])
def test_both_drivers_read_the_same_and_lerobot_moves_the_arm(simulated, tmp_path, arm):
    """A calibrated arm: LeRobot and Farhand read its posture; LeRobot sends it elsewhere."""
    port = simulated(arm)
    # Farhand's driver reads the calibration that the servos have and the posture
    code = (
        "import json, sys; from pathlib import Path\n"
        "from farhand.plants.servo_arm.bus import ServoBus\n"
        "from farhand.plants.servo_arm.calibration import Calibration\n"
        "from farhand.plants.servo_arm.description import load_arm\n"
        "from farhand.plants.servo_arm.plant import JointMap, read_calibration\n"
        "from farhand.robots import load_robot\n"
        "import numpy as np\n"
        "arm = load_arm(sys.argv[1]); bus = ServoBus(sys.argv[2], arm.family)\n"
        "rows = read_calibration(bus, list(arm.servos))\n"
        "names = [s.joint for s in arm.servos]\n"
        "Calibration(dict(zip(names, rows))).write(Path(sys.argv[3]))\n"
        "steps = [bus.read(s.id, 'present_position', 4) for s in arm.servos]\n"
        "reading = np.array([[step, 0, 0] for step in steps], dtype=float)\n"
        "robot = load_robot(arm.robot)\n"
        "q = JointMap(list(arm.servos), rows, robot).joints(reading)[0]\n"
        "print(json.dumps({'steps': steps, 'q': q.tolist(), 'home': robot.home.tolist()}))\n"
    )
    python = str(Path(FARHAND).with_name("python"))
    words = [python, "-c", code, arm, port, str(tmp_path / "mine.json")]
    ours = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    # where simulated arms lie at first
    assert ours["q"] == pytest.approx(ours["home"], abs=0.003)
    one = device(arm, port, tmp_path)
    # the arm lies there as long as nobody has switched a servo on
    one.bus.connect()
    theirs = one.bus.sync_read("Present_Position", normalize=False)
    assert [int(place) for place in theirs.values()] == ours["steps"]
    one.bus.disconnect(disable_torque=False)
    one.connect(calibrate=False)
    assert one.is_calibrated
    before = one.get_observation()
    wanted = {key: before[key] + (5.0 if "pan" in key else 0.0) for key in before}
    until = time.monotonic() + 20.0
    while time.monotonic() < until:
        one.send_action(wanted)
        now = one.get_observation()
        if abs(now["shoulder_pan.pos"] - wanted["shoulder_pan.pos"]) < 0.7:
            break
    assert now["shoulder_pan.pos"] == pytest.approx(wanted["shoulder_pan.pos"], abs=0.7)
    one.disconnect()


def test_a_leader_is_read_while_it_lies_there(simulated, tmp_path, monkeypatch):
    """``get_action`` of LeRobot's leader."""
    one = device("so101-leader", simulated("so101-leader", "--new"), tmp_path)
    calibrate_with(monkeypatch, one)
    one.connect()
    actions = [one.get_action() for _ in range(50)]
    assert all(set(action) == set(actions[0]) for action in actions)
    assert max(abs(a["elbow_flex.pos"] - actions[0]["elbow_flex.pos"]) for a in actions) < 0.2
    one.disconnect()

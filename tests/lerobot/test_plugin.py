"""LeRobot's own commands with the plug-in, on two simulated SO-101, as the guide types them.

``make test-lerobot`` runs this with LeRobot. Commands that need no process of their own run in this
one, by LeRobot's own ``main``: importing PyTorch ten times would take longer than all the rest.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("lerobot")
from lerobot.datasets import LeRobotDataset  # noqa: E402
from lerobot.utils.errors import DeviceNotConnectedError  # noqa: E402
from lerobot_teleoperator_farhand import (  # noqa: E402
    FarhandFollower,
    FarhandFollowerConfig,
    FarhandLeader,
    FarhandLeaderConfig,
)
from lerobot_teleoperator_farhand import session as plugin

from farhand.client import attach, start  # noqa: E402

FARHAND = os.environ.get("FARHAND", "farhand")
GUIDE = (Path(__file__).parents[2] / "docs" / "lerobot.md").read_text(encoding="utf-8")
ARMS = ("pair", "--leader", "so101-leader", "--follower", "so101", "--scenario", "rest")
# However busy the machine is
CALM = ("--set", "deadlines.storm=1000000")
JOINTS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
TINY_ACT = (
    "--policy.chunk_size=8 --policy.n_action_steps=8 --policy.dim_model=32 --policy.n_heads=2 "
    "--policy.dim_feedforward=32 --policy.n_encoder_layers=1 --policy.n_vae_encoder_layers=1 "
    "--policy.pretrained_backbone_weights=null"
)
TINY_DIFFUSION = (
    "--policy.type=diffusion --policy.horizon=8 --policy.n_action_steps=4 --policy.n_groups=4 "
    "--policy.down_dims=[16,32] --policy.diffusion_step_embed_dim=16"
)
FEW = "--steps=2 --batch_size=2 --num_workers=0 --save_freq=2 --log_freq=1 --wandb.enable=false"
ONE_CAMERA = (
    '--robot.cameras={"front": {"type": "farhand", "view": "follower", "width": 64, '
    f'"height": 48, "fps": 15, "program": "{FARHAND}"}}}}'
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where everything of these tests is; sessions, datasets and calibrations of their own."""
    folder = tmp_path_factory.mktemp("lerobot")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(folder))
        patch.setenv("HF_LEROBOT_HOME", str(folder / "home"))
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.chdir(folder)
        yield folder


@pytest.fixture(scope="module")
def arms(folder):
    """The session of the guide, recorded, in which nobody moves the leader at first."""
    _, _, *typed = words("farhand serve")
    at = typed.index("--name")
    name = typed[at + 1]
    del typed[at : at + 2]
    with start(*typed, *CALM, name=name, program=[FARHAND]) as arms:
        yield arms


def words(command: str, more: str = "", number: int = 0) -> list[str]:
    """A command of the guide, and what a test changes in it."""
    typed = re.findall(rf"^{command} .*$", GUIDE, re.MULTILINE)[number]
    return [*shlex.split(typed), *shlex.split(more)]


def run(monkeypatch, command: str, more: str = "", number: int = 0, *last: str) -> None:
    """Do in this process what LeRobot's command does; the last of two equal options counts."""
    argv = [*words(command, more, number), *last]
    options = {word.partition("=")[0]: word for word in argv[1:]}
    monkeypatch.setattr(sys, "argv", [argv[0], *options.values()])
    plugin._sessions.clear()
    importlib.import_module(f"lerobot.scripts.{command.replace('-', '_')}").main()


class Operator(threading.Thread):
    """A hand that moves the leader to and fro until it is stopped."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.done = threading.Event()

    def run(self) -> None:
        with attach("lerobot") as hand:
            hand.command("engage")
            hand.set("hand.open", False)
            begun = time.monotonic()
            while not self.done.wait(0.02):
                t = time.monotonic() - begun
                y, z = 0.02 * np.sin(2.0 * t), 0.01 * (1.0 - np.cos(3.0 * t))
                hand.set("hand.drag", [0.0, y, z])
            hand.set("hand.drag", [0.0, 0.0, 0.0])
            hand.set("hand.open", True)

    def __enter__(self) -> None:
        self.start()

    def __exit__(self, *error: object) -> None:
        self.done.set()
        self.join()


@pytest.fixture(scope="module")
def recorded(arms, folder):
    """Two episodes of ``lerobot-record``, with one small camera."""
    small = "--dataset.episode_time_s=2 --dataset.reset_time_s=0.5 --dataset.fps=15"
    with pytest.MonkeyPatch.context() as patch, Operator():
        run(patch, "lerobot-record", small, 0, ONE_CAMERA)
    return folder / "press"


def test_record_gives_a_dataset_with_force(recorded):
    """It loads, with the rate and the episodes that were asked for, and the guide's names."""
    dataset = LeRobotDataset("me/press", root=recorded)
    assert (dataset.fps, dataset.num_episodes) == (15, 2)
    lengths = dataset.meta.episodes["length"]
    assert all(15 <= length <= 30 for length in lengths), lengths
    names = dataset.features["observation.state"]["names"]
    assert names[:6] == [f"{joint}.pos" for joint in JOINTS]
    assert {"gripper.torque", "gripper.ext_torque", "tool.fx", "tool.tz"} <= set(names)
    assert dataset.features["action"]["names"] == names[:6]
    assert tuple(dataset.features["observation.images.front"]["shape"]) == (48, 64, 3)
    picture = dataset[5]["observation.images.front"].numpy()
    assert picture.std() > 0.01, "the picture is empty"
    states = np.array([dataset[k]["observation.state"].numpy() for k in range(len(dataset))])
    assert np.ptp(states[:, 0]) > 0.05, "the hand did not move the follower"


def test_replay_drives_the_follower_through_the_recorded_actions(recorded, arms, monkeypatch):
    """Smoothly, and without a trip; then it holds still at the last one."""
    assert arms.command("release").done
    run(monkeypatch, "lerobot-replay")
    last = LeRobotDataset("me/press", root=recorded, episodes=[0])[-1]["action"].numpy()
    time.sleep(1.5)
    assert np.abs(arms.latest("follower", "q")[1] - last).max() < 0.03 and not arms.trips()


@pytest.fixture(scope="module")
def policy(recorded, folder):
    """A tiny ACT after two steps on what was recorded."""
    with pytest.MonkeyPatch.context() as patch:
        run(patch, "lerobot-train", f"{TINY_ACT} {FEW}")
    return folder / "press-act" / "checkpoints" / "last" / "pretrained_model"


def test_a_policy_drives_with_forces_in_its_state(policy, arms, monkeypatch):
    """An untrained one jumps about; the arms stay within their limits."""
    config = json.loads((policy / "config.json").read_text())
    assert config["input_features"]["observation.state"]["shape"] == [39]
    arms.events()
    run(monkeypatch, "lerobot-rollout", "--duration=2 --fps=15", 0, ONE_CAMERA)
    driven = [event for event in arms.events() if "target.joints" in event.text]
    assert len(driven) > 20 and not arms.trips()


class Watch(threading.Thread):
    """Torques and velocities of both arms, all of them: the session itself keeps 8 s."""

    def __init__(self, arms) -> None:
        super().__init__()
        self.arms, self.done = arms, threading.Event()
        self.rows = {(one, name): [] for one in ("leader", "follower") for name in SIGNALS}
        for of in self.rows:
            arms.read(*of)
        arms.events()

    def run(self) -> None:
        ended = False
        while not ended:
            ended = self.done.wait(1.0)
            for of, found in self.rows.items():
                found.append(self.arms.read(*of))

    def steps(self, since: float, until: float) -> dict[str, float]:
        """The largest change within 10 ms: torques [N·m] and velocities [rad/s] of either arm."""
        steps = {}
        for (station, name), found in self.rows.items():
            t, values = (np.concatenate(part) for part in zip(*found, strict=True))
            inside = (t >= since) & (t <= until)
            t, values = t[inside], values[inside]
            later = np.searchsorted(t, t + 0.01 - 1e-6).clip(max=len(t) - 1)
            steps[f"{station} {name}"] = float(np.abs(values[later] - values).max())
        return steps


SIGNALS = ("torque_commanded", "v")


def test_a_handover_by_lerobots_own_strategy_does_not_jump(policy, arms, monkeypatch, capsys):
    """Policy, pause, correction, pause, policy: DAgger with a pedal that presses itself.

    When the person takes over, and when she ends the correction, no motor torque changes by more
    than 0.1 N·m in 10 ms (dry friction is 0.05), and no joint by more than 0.1 rad/s.
    """
    presses = ["KEY_A", "KEY_B", "KEY_B", "KEY_A"]

    def pedal(on_press, device_path):
        def press():
            for code in presses:
                time.sleep(3.0 if code == "KEY_A" else 2.5)
                on_press(code)

        threading.Thread(target=press, daemon=True).start()

    monkeypatch.setattr("lerobot.rollout.strategies.dagger.start_pedal_listener", pedal)
    arms.command("release")
    time.sleep(0.5)
    arms.command("engage")
    time.sleep(0.5)
    more = "--strategy.input_device=pedal --strategy.num_episodes=2 --duration=16 --fps=15"
    more += " --dataset.fps=15 --return_to_initial_position=false"
    watch = Watch(arms)
    watch.start()
    try:
        run(monkeypatch, "lerobot-rollout", more, 1, ONE_CAMERA)
    finally:
        watch.done.set()
        watch.join()
    handed = [event for event in arms.events() if event.text.startswith(("give", "take"))]
    # the policy begins, pause, correction, end of the correction, the policy goes on
    names = [event.text.partition(":")[0] for event in handed]
    assert names == ["give", "give", "take", "give", "give"], names
    found = [watch.steps(event.time - 0.02, event.time + 1.0) for event in handed]
    with capsys.disabled():
        for event, one in zip(handed, found, strict=True):
            print(f"\n{event.time:.2f} s {event.text}:", {k: round(v, 4) for k, v in one.items()})
    assert not arms.trips()
    corrected = LeRobotDataset("me/rollout_press", root=Path("press-corrections"))
    assert corrected.num_episodes >= 1 and bool(corrected[0]["intervention"])
    for one in found[2:4]:
        assert max(one.values()) < 0.1, one


def contact(sessions, seconds: float) -> np.ndarray:
    """Force at the tools of follower and leader, mean over some time, [N]; a row per session."""
    tools = [(one, station) for one in sessions for station in ("follower", "leader")]
    for one, station in tools:
        one.read(station, "wrench_measured_in_world")
    time.sleep(seconds)
    forces = [one.read(station, "wrench_measured_in_world")[1] for one, station in tools]
    means = [np.linalg.norm(force[:, :3], axis=1).mean() for force in forces]
    return np.reshape(means, (-1, 2))


def test_contact_does_not_notice_lerobot(folder, capsys):
    """The same push in two sessions, one of them with LeRobot, which is stopped and then killed.

    Within 2 % at all times; and no joint moves when it is killed.
    """
    command = [Path(sys.executable).with_name("lerobot-teleoperate")]
    command += [*words("lerobot-teleoperate")[1:], "--robot.session=one", "--teleop.session=one"]
    with (
        start(*ARMS, *CALM, name="one", program=[FARHAND]) as one,
        start(*ARMS, *CALM, name="other", program=[FARHAND]) as other,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as lerobot,
    ):
        try:
            for line in lerobot.stdout:
                if b"Teleop loop time" in line:
                    break
            threading.Thread(target=lerobot.stdout.read, daemon=True).start()
            both, found = (one, other), {}
            for session in both:
                session.set("hand.open", False)
            for step in range(40):
                for session in both:
                    session.set("hand.drag", [0.08 * (step + 1) / 40, 0.0, 0.0])
                time.sleep(0.05)
            time.sleep(3.0)
            found["attached"] = contact(both, 1.0)
            lerobot.send_signal(signal.SIGSTOP)
            found["stopped"] = contact(both, 1.0)
            lerobot.send_signal(signal.SIGCONT)
            found["going on"] = contact(both, 0.5)
            one.read("follower", "v")
        finally:
            lerobot.kill()
        found["killed"] = contact(both, 1.0)
        moved = np.abs(one.read("follower", "v")[1]).max()
        assert not one.trips()
    with capsys.disabled():
        for when, forces in found.items():
            with_it, alone = forces.round(3).tolist()
            print(f"\n{when}: follower and leader {with_it} N, without LeRobot {alone} N")
        print(f"largest speed of a joint after the kill: {moved:.4f} rad/s")
    assert found["attached"].min() > 0.5, "there was no contact"
    for when, forces in found.items():
        assert np.abs(forces[0] / forces[1] - 1.0).max() < 0.02, when
    assert moved < 0.05


TOUCHED_OPENARM = """
import sys
import numpy as np
from farhand.plants.damiao.arms import load_arm
from farhand.plants.damiao.frames import Status
from farhand.plants.damiao.server import MotorServer, MulticastAdaptor
from farhand.plants.damiao.simulated import SimulatedCanArm

class Touched(SimulatedCanArm):
    begun = None
    def advance(self, to_ns):
        if self.begun is None and all(one.status is Status.ENABLED for one in self.motors):
            self.begun, self.start = self.now_ns, self.q[3]
        if self.begun is not None:
            t = 1e-9 * (self.now_ns - self.begun) - 3.0
            bent, rate = self.q[3] - self.start, self.v[3]
            if sys.argv[1] == "hand" and t > 0.0:
                self.push[3] = 15.0 * (0.3 * min(t / 1.5, 1.0) - bent) - 0.5 * rate
            if sys.argv[1] == "block":
                self.push[3] = min(0.0, 50.0 * (0.1 - bent) - 0.5 * rate) if bent > 0.1 else 0.0
        super().advance(to_ns)

adaptor = MulticastAdaptor(sys.argv[2])
server = MotorServer(Touched(load_arm("openarm"), rng=np.random.default_rng(0)), adaptor)
print("ready", flush=True)
server.run(120.0)
"""
"""An OpenArm on CAN FD, three seconds after its motors are on: a hand bends the leader's elbow by
0.3 rad in 1.5 s and stays, a block stops the follower's after 0.1 rad."""


def buses(arm: str, folder: Path) -> list[tuple[str, list[str]]]:
    """Where leader and follower are, and what simulates them: a hand pushes, and meets a wall."""
    if arm == "so101":
        ports = [str(folder / name) for name in ("leader.port", "follower.port")]
        touches = (["so101-leader", "--hand", "0.06"], ["so101", "--wall", "0.02"])
        return [
            (f"feetech:{port}", [FARHAND, "servo-sim", *touch, "--at", port])
            for port, touch in zip(ports, touches, strict=True)
        ]
    # groups per process, so that parallel runs do not meet
    own, python = os.getpid(), str(Path(FARHAND).with_name("python"))
    groups = [f"239.{kind}.{own % 256}.{own // 256 % 256}" for kind in (76, 77)]
    return [
        (f"damiao:udp_multicast:{group}", [python, "-c", TOUCHED_OPENARM, touch, group])
        for group, touch in zip(groups, ("hand", "block"), strict=True)
    ]


class Teleoperation:
    """``lerobot-teleoperate`` in a process of its own, which waits for its session."""

    def __init__(self, session: str) -> None:
        command = [str(Path(sys.executable).with_name("lerobot-teleoperate"))]
        command += words("lerobot-teleoperate")[1:]
        for half in ("robot", "teleop"):
            command += [f"--{half}.session={session}", f"--{half}.wait=100"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.waits, self.loops = threading.Event(), threading.Event()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self.process.stdout:
            if "waiting" in line:
                self.waits.set()
            if "Teleop loop time" in line:
                self.loops.set()

    def __enter__(self):
        assert self.waits.wait(100.0), "LeRobot does not wait for the session"
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait()


TIMES = {"attached": (5.2, 6.0), "stopped": (6.2, 7.2), "killed": (7.5, 8.5)}
"""When the forces are looked at, in the time of the session, [s]. The hand has arrived after 4.5 s;
that of ``servo-sim`` goes back after 9 s."""


def push_on_buses(arm: str, folder: Path, with_lerobot: bool) -> tuple[np.ndarray, float]:
    """Torque of the contact on follower and leader, [N·m], a row per time, and the fastest joint
    after LeRobot was killed, [rad/s].
    """

    def until(t: float) -> None:
        while arms.record("follower")[0] < t:
            time.sleep(0.005)

    (stopped, freed), (_, end) = TIMES["stopped"], TIMES["killed"]
    name = f"{arm}-{with_lerobot}".lower()
    with contextlib.ExitStack() as stack:
        places = []
        for place, command in buses(arm, folder):
            simulated = stack.enter_context(
                subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            )
            stack.callback(simulated.terminate)
            assert simulated.stdout.readline()
            places.append(place)
        lerobot = stack.enter_context(Teleoperation(name)) if with_lerobot else None
        pair = ("pair", "--leader", places[0], "--follower", places[1], *CALM)
        for station in ("leader", "follower"):
            pair += ("--set", f"{station}.guard.stale=2")
        if arm == "openarm":
            # gains follow from what a CAN bus measures at the start; both runs must have the same
            pair += ("--set", "rig.loop_delay=0.02")
        arms = stack.enter_context(start(*pair, name=name, program=[FARHAND]))
        until(stopped - 0.1)
        if lerobot is not None:
            assert lerobot.loops.is_set(), "LeRobot did not teleoperate in time"
            lerobot.process.send_signal(signal.SIGSTOP)
        until(freed)
        if lerobot is not None:
            lerobot.process.send_signal(signal.SIGCONT)
            time.sleep(0.1)
            lerobot.process.kill()
        until(end)
        assert not arms.trips()
        found = []
        for station in ("follower", "leader"):
            t, torque = arms.read(station, "torque_external")
            size = np.linalg.norm(torque, axis=1)
            found.append([np.nanmean(size[(t >= a) & (t <= b)]) for a, b in TIMES.values()])
        t, v = arms.read("follower", "v")
        return np.transpose(found), float(np.abs(v[(t >= freed) & (t <= end)]).max())


@pytest.mark.parametrize("arm", ["so101", "openarm"])
def test_contact_over_the_arms_own_buses_does_not_notice_lerobot(folder, arm, capsys):
    """A pair of simulated SO-101 on servo buses, and of OpenArms on CAN FD: the same push with
    LeRobot, which is stopped for 1 s and killed, and without it.

    Within 2 %, and no joint is faster when it is killed than without it, but for a step of the
    motors' velocity.
    """
    (seen, moved), (alone, rested) = (push_on_buses(arm, folder, one) for one in (True, False))
    with capsys.disabled():
        for when, one, other in zip(TIMES, seen.round(4), alone.round(4), strict=True):
            print(f"\n{arm}, {when}: follower and leader {one} N·m, without LeRobot {other} N·m")
        print(f"fastest joint of {arm} after the kill: {moved:.4f} rad/s, without {rested:.4f}")
    assert alone.min() > 0.1, "there was no contact"
    assert np.abs(seen / alone - 1.0).max() < 0.02
    assert moved < rested + 0.02


def test_a_session_that_is_gone_is_one_line(folder):
    """And says how to start it."""
    leader = FarhandLeader(FarhandLeaderConfig(session="nobody", wait=0.1))
    with pytest.raises(DeviceNotConnectedError, match="^session nobody is not running; start it"):
        leader.connect()


def test_a_session_that_comes_back_is_found_again_unless_a_policy_drove(folder):
    """Teleoperation only reads; a policy must not move arms that somebody has just started."""
    config = FarhandFollowerConfig(session="again", wait=60.0)
    plugin._sessions.clear()
    with start(*ARMS, *CALM, name="again", program=[FARHAND]):
        follower = FarhandFollower(config)
        follower.connect()
        first = follower.get_observation()
    with start(*ARMS, *CALM, name="again", program=[FARHAND]) as again:
        second = follower.get_observation()
        assert second.keys() == first.keys()
        goal = {name: second[name] + 0.05 for name in follower.action_features}
        follower.send_action(goal)
        time.sleep(1.5)
        assert abs(again.latest("follower", "q")[1][0] - goal["shoulder_pan.pos"]) < 0.01
    with pytest.raises(DeviceNotConnectedError, match="policy drove"):
        follower.get_observation()


def test_coupled_tools_are_driven_by_poses(folder):
    """Where tools are coupled the action is the pose of the tool; the leader's own passes."""
    plugin._sessions.clear()
    options = (*ARMS, "--space", "tool", *CALM)
    config = FarhandFollowerConfig(session="tools", start=shlex.join(options), program=FARHAND)
    follower = FarhandFollower(config)
    leader = FarhandLeader(FarhandLeaderConfig(session="tools"))
    assert list(follower.action_features)[:3] == ["tool.x.pos", "tool.y.pos", "tool.z.pos"]
    follower.connect()
    leader.connect()
    led = leader.get_action()
    follower.send_action(led)
    seen = follower.get_observation()
    assert all(abs(led[name] - seen[name]) < 1e-3 for name in led)
    leader.disconnect()
    for _ in range(30):
        follower.send_action(led | {"tool.z.pos": led["tool.z.pos"] + 0.02})
        time.sleep(0.05)
    moved = follower.get_observation()["tool.z.pos"] - led["tool.z.pos"]
    follower.disconnect()
    assert abs(moved - 0.02) < 0.005
    with pytest.raises(Exception, match="not running"):
        attach("tools")


def test_the_recording_beside_it_and_its_export_say_the_same(recorded, arms, folder, monkeypatch):
    """The last test of the session: it ends, its recording has every frame of the dataset.

    The export has the plug-in's names; ACT and Diffusion train on it, and LeRobot's own tools
    append to it and take an episode out.
    """
    arms.end()
    link = shlex.split(re.search(r"^farhand link .*$", GUIDE, re.MULTILINE)[0])
    said = subprocess.run([FARHAND, *link[1:]], capture_output=True, text=True, check=True).stdout
    worst = float(re.search(r"differ by (\S+)", said)[1])
    assert "episode 1" in said and worst < 1e-5, said
    linked = json.loads((recorded / "meta/farhand.json").read_text())["episodes"]
    assert (
        1.5 < linked[0]["end"] - linked[0]["start"] < 2.5 and linked[1]["start"] > linked[0]["end"]
    )

    export = shlex.split(re.search(r"^farhand export .*$", GUIDE, re.MULTILINE)[0])
    subprocess.run([FARHAND, *export[1:]], check=True, capture_output=True)
    exported = LeRobotDataset("me/exported", root=folder / "press-exported")
    made = LeRobotDataset("me/press", root=recorded)
    for name in ("observation.state", "action"):
        assert exported.features[name]["names"] == made.features[name]["names"]
    root = "--dataset.repo_id=me/exported --dataset.root=press-exported"
    for kind, tiny in (("act", TINY_ACT), ("diffusion", TINY_DIFFUSION)):
        more = f"{root} {FEW} {tiny} --output_dir=exported-{kind}"
        run(monkeypatch, "lerobot-train", more)
        assert (folder / f"exported-{kind}/checkpoints/last/pretrained_model").is_dir()

    appended = LeRobotDataset.resume("me/exported", root=folder / "press-exported")
    before = appended.num_episodes
    frame = {name: value for name, value in exported[0].items() if name in appended.features}
    frame = {
        name: value.numpy().reshape(appended.features[name]["shape"])
        for name, value in frame.items()
        if name.startswith(("observation", "action", "signals"))
    }
    for _ in range(3):
        appended.add_frame({**frame, "task": "again"})
    appended.save_episode()
    appended.finalize()
    again = LeRobotDataset("me/exported", root=folder / "press-exported")
    assert again.num_episodes == before + 1
    from lerobot.datasets.dataset_tools import delete_episodes

    fewer = delete_episodes(again, [0], output_dir=folder / "fewer", repo_id="me/fewer")
    assert fewer.meta.total_episodes == before

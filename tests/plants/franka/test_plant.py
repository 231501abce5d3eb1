"""The Franka plant and its process, with a stand-in for the maker's client.

The real client meets a simulated arm in ``make test-franka``. Here every fault comes on request.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from farhand.errors import FileError, Mismatch
from farhand.loop.clock import WallClock
from farhand.plants import Brake, JointTorque
from farhand.plants.franka.plant import FrankaPlant, FrankaSettings, reason
from farhand.plants.franka.worker import DRIVING, STATE, WATCHING
from farhand.rigs import Options, build_rig
from farhand.robots import load_robot
from farhand.safety import Guard
from tests.plants.paced import Paced

STAND_IN = str(Path(__file__).parent / "stand_in")
STILL = 0.02  # [rad/s]


@pytest.fixture(autouse=True)
def client(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process imports the stand-in, whatever is installed."""
    monkeypatch.setenv("PYTHONPATH", STAND_IN)
    monkeypatch.delenv("FARHAND_FRANKA_PYTHON", raising=False)


@pytest.fixture
def opened() -> Iterator[Callable[..., FrankaPlant]]:
    """Opens plants, and closes them at the end."""
    plants: list[FrankaPlant] = []

    def open_one(faults: str = "", robot: str = "fr3-arm", **settings: object) -> FrankaPlant:
        # a test machine may be busy
        chosen = FrankaSettings(**{"patience": 0.2, "most_delay": 1.0, **settings})
        plants.append(FrankaPlant("leader", f"arm{faults}", load_robot(robot), settings=chosen))
        return plants[-1]

    yield open_one
    for plant in plants:
        plant.close()


def drive(plant: FrankaPlant, seconds: float, target: float = 0.0, until_fault: bool = False):
    """Pull joint 1 to ``target`` beyond where it is by a spring, in wall time; how long it took."""
    command, goal = JointTorque(7), float(plant.read(0).q[0]) + target
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        sample = plant.read(time.monotonic_ns())
        command.value[:] = plant._arm.gravity
        command.value[0] += 60.0 * (goal - sample.q[0]) - 16.0 * sample.v[0]
        plant.write(command, 0)
        if until_fault and plant.fault is not None:
            break
        time.sleep(0.001)
    return time.monotonic() - began


def wait_for(condition: Callable[[], object], seconds: float = 3.0) -> float:
    """Wait; how long it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds
        time.sleep(0.002)
    return time.monotonic() - began


def test_torques_move_the_arm_within_their_rate_and_its_own_weight_is_not_sent(opened) -> None:
    """The stand-in ends a motion whose torque steps by more than 1 N·m in a cycle, or that was
    begun before frames, collision behaviour and load were set.
    """
    plant = opened()
    start = plant.read(0).q.copy()
    drive(plant, 1.2, target=0.5)
    moved = plant.read(0).q - start
    assert plant.fault is None and plant._state["phase"] == DRIVING
    assert moved[0] == pytest.approx(0.5, abs=0.05)
    # the stand-in has no weight: joints that carry it would fall up
    np.testing.assert_allclose(moved[1:], 0.0, atol=1e-9)
    assert plant._state["cycles"] > 500
    # three cycles from a measurement to the torque that answers
    assert 0.003 <= plant.loop_delay < 0.006


def test_the_delay_of_the_loop_is_measured_while_it_runs_and_too_long_a_one_stops_it(
    opened,
) -> None:
    """A tick that answers old states is no fault of the link: commands come in time."""
    plant = opened()
    drive(plant, 0.6, target=0.1)
    before = plant._state["delay"]
    assert before > 0.001 and plant.fault is None
    # from now on every torque answers the state of 200 ticks ago
    newest, old = plant._served.newest, []

    def late() -> object:
        old.append(newest())
        return old[max(0, len(old) - 200)]

    plant._served.newest = late
    plant.settings.most_delay = before + 0.1
    drive(plant, 3.0, target=0.1, until_fault=True)
    assert f"limit {1e3 * (before + 0.1):g} ms (plant.most_delay): this machine" in plant.fault
    plant._served.newest = newest
    assert abs(plant.read(0).v[0]) < STILL and plant._state["success"] == 1.0


def test_what_the_motors_did_is_told_with_the_weight(opened) -> None:
    """The momentum observer needs the torque that was really sent."""
    plant = opened()
    done, time_s, command = np.zeros(7), 0.0, JointTorque(7)
    while time_s < 0.8:
        plant.read(time.monotonic_ns())
        command.value[:] = plant._arm.gravity
        command.value[6] += 0.02
        plant.write(command, 0)
        if plant.acted_time > 0.0:
            done += (plant.acted - plant._arm.gravity) * plant.acted_time
            time_s += plant.acted_time
        time.sleep(0.001)
    # momentum of joint 7 is the impulse of its motor
    np.testing.assert_allclose(done, [0] * 6 + [0.1 * plant.read(0).v[6]], atol=1e-3)
    assert done[6] > 0.01


@pytest.mark.parametrize("how", ["brake", "silence"])
def test_an_arm_that_gets_no_torque_any_more_stops_and_is_held_by_its_own_controller(
    opened, how: str
) -> None:
    """By a command to brake, or because the tick has stopped; the next torque takes it again."""
    plant = opened(patience=0.05)
    drive(plant, 0.5, target=1.0)
    assert plant.read(0).v[0] > 0.5
    if how == "brake":
        plant.write(Brake(7), 0)
    wait_for(lambda: plant.read(0) and plant._state["phase"] == WATCHING)
    assert abs(plant.read(0).v[0]) < STILL
    time.sleep(0.1)
    assert plant.read(0) and plant.fault is None and plant._state["phase"] == WATCHING
    drive(plant, 0.5, target=0.1)
    assert plant._state["phase"] == DRIVING


FAULTS = {
    "reflex=0.2": ("cartesian_reflex", 0.1),
    "lost=0.2": ("communication_constraints_violation", 0.15),
    "late=0.2": ("communication_constraints_violation", 0.15),
    "lossy=0.3": ("only 40% of the last 100 commands came in time", 0.1),
    "gone=0.2": ("libfranka: UDP receive: Timeout", 0.1),
    "crash=0.2": ("ended by signal 6", 0.2),
}
"""Fault, what the plant says, and how soon after it, [s]; the client itself takes its own time."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_arm_or_its_link_stops_it_with_the_makers_reason(opened, fault) -> None:
    """In one line; and nothing moves afterwards."""
    plant = opened(f",{fault}")
    words, soon = FAULTS[fault]
    took = drive(plant, 3.0, target=0.2, until_fault=True)
    assert words in plant.fault and "\n" not in plant.fault
    assert took < float(fault.partition("=")[2]) + 0.1 + soon
    drive(plant, 0.1, target=1.0)
    before = plant.read(0).q.copy()
    drive(plant, 0.1, target=1.0)
    np.testing.assert_array_equal(plant.read(0).q, before)


def test_a_reset_lets_the_arm_recover_and_it_is_driven_again_without_a_jump(
    opened, tmp_path
) -> None:
    """While it recovers there is no fault and its last state counts: it stands."""
    plant = opened(f",reflex=0.3,note={tmp_path / 'note'}")
    drive(plant, 2.0, until_fault=True)
    plant.restart()
    assert plant.fault is None
    now_ns = time.monotonic_ns()
    assert plant.read(now_ns).time_ns == now_ns
    took = wait_for(lambda: plant.read(0) and not plant._recovering)
    assert took > 0.2 and plant.fault is None
    drive(plant, 0.15)
    assert plant._state["phase"] == DRIVING and plant._state["resets"] == 1
    assert np.abs(plant.read(0).v).max() < STILL
    assert len(plant.cycles()) > 50


def test_a_killed_process_is_a_fault_and_a_reset_starts_another(opened) -> None:
    """The arm itself sees that no commands come, and stops."""
    plant = opened()
    drive(plant, 0.2)
    os.kill(plant._served.process.pid, signal.SIGKILL)
    assert wait_for(lambda: plant.fault) < 0.5
    assert "ended by signal 9" in plant.fault
    plant.restart()
    wait_for(lambda: plant.read(0) and not plant._recovering)
    drive(plant, 0.2)
    assert plant.fault is None and plant._state["phase"] == DRIVING


def test_samples_grow_old_when_nothing_comes_and_the_guard_trips(opened) -> None:
    """Reading never waits."""
    plant = opened(",gone=0.05")
    drive(plant, 1.0, until_fault=True)
    time.sleep(0.15)
    guard, now_ns = Guard(), time.monotonic_ns()
    guard.watch(load_robot("fr3-arm").limits)
    guard.check(plant.read(now_ns), now_ns)
    assert guard.trip is not None and guard.trip.kind == "stale"


ORPHAN = """
import sys, time
from farhand.plants import JointTorque
from farhand.plants.franka.plant import FrankaPlant
from farhand.robots import load_robot
plant = FrankaPlant("leader", "arm", load_robot("fr3-arm"))
print(plant._served.process.pid, flush=True)
while True:
    plant.read(0)
    plant.write(JointTorque(7), 0)
    time.sleep(0.001)
"""


def test_the_process_ends_when_the_program_is_killed() -> None:
    """After it has stopped the arm."""
    program = subprocess.Popen([sys.executable, "-c", ORPHAN], stdout=subprocess.PIPE, text=True)
    worker = int(program.stdout.readline())
    program.kill()
    program.communicate()
    wait_for(lambda: not Path(f"/proc/{worker}/cmdline").exists())


@pytest.mark.parametrize(
    ("fault", "words"), [("brake", "its brakes are closed"), ("stopped", "user stop is pressed")]
)
def test_an_arm_that_cannot_move_is_watched_and_a_torque_is_a_fault(opened, fault, words) -> None:
    """Its state is real; only the wish to move it is refused."""
    plant = opened(f",{fault}")
    time.sleep(0.05)
    assert plant.fault is None
    drive(plant, 1.0, until_fault=True)
    assert words in plant.fault


@pytest.mark.parametrize(
    ("faults", "robot", "words"),
    [
        (",refused", "fr3-arm", "no Franka arm at arm,refused: libfranka: Connection to FCI ref"),
        (",firmware", "fr3-arm", "server version: 9, library version: 10"),
        ("", "fr3", "103.4 mm from that of fr3"),
        ("", "ur5e", "a Franka arm has 7 joints"),
    ],
)
def test_an_arm_that_cannot_be_used_is_refused_in_one_line(opened, faults, robot, words) -> None:
    """Nobody listens, another firmware, another robot."""
    with pytest.raises((FileError, Mismatch), match=words) as refusal:
        opened(faults, robot=robot)
    assert "\n" not in str(refusal.value)


def test_a_missing_client_is_one_clear_line(opened, monkeypatch, tmp_path) -> None:
    """And how to get it."""
    gone = "No module named 'pylibfranka'"
    (tmp_path / "pylibfranka.py").write_text(f'raise ModuleNotFoundError("{gone}")')
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(FileError, match=r"pip install 'farhand\[franka\]', or let FARHAND_FRANKA"):
        opened()
    monkeypatch.setenv("FARHAND_FRANKA_PYTHON", "/no/such/python")
    with pytest.raises(FileError, match="FARHAND_FRANKA_PYTHON names no Python"):
        opened()


def test_the_arms_own_estimate_of_contact_is_used_where_it_is_real(opened) -> None:
    """The client counts what the arm exerts, Farhand what is exerted on it."""
    silent = opened()
    assert silent.read(0).wrench is None and silent.external is None
    plant = opened(",external=0.5")
    wrench = plant.read(0).wrench
    np.testing.assert_array_equal(plant.external, [-0.5] * 7)
    np.testing.assert_array_equal(wrench, [-3.0, 0, 0, 0, 0, 0])
    plant.settings.external = "observer"
    assert plant.read(0).wrench is None and plant.external is None


def test_the_model_is_that_with_a_hand_if_the_arm_has_one() -> None:
    """Its own settings say so."""
    assert FrankaPlant.robot_at("arm", "leader") == "fr3-arm"
    assert FrankaPlant.robot_at("arm,hand=0.73", "leader") == "fr3"


def pull_finger(plant: FrankaPlant, opening: float, seconds: float) -> float:
    """Pull the hand's finger by the spring of a law; where it is then, [m]."""
    command, began = JointTorque(8), time.monotonic()
    while time.monotonic() - began < seconds:
        sample = plant.read(time.monotonic_ns())
        command.value[:] = plant._arm.gravity
        command.value[7] += 55.0 * (opening - sample.q[7])
        plant.write(command, 0)
        time.sleep(0.001)
    return float(plant.read(0).q[7])


def test_the_hand_goes_where_the_spring_of_the_law_ends_and_holds_what_is_in_between(opened):
    """It opens again when it is pulled open, and stays without a command."""
    plant = opened(",hand=0.73,thing=0.03", robot="fr3")
    assert plant.read(0).q[7] == pytest.approx(0.02)
    assert pull_finger(plant, 0.035, 0.8) == pytest.approx(0.035, abs=0.003)
    assert pull_finger(plant, 0.0, 0.8) == pytest.approx(0.015, abs=1e-6)
    assert plant._hand.newest()["grasped"] == 1
    assert pull_finger(plant, 0.025, 0.6) == pytest.approx(0.025, abs=0.003)
    time.sleep(0.3)
    assert plant.read(0).q[7] == pytest.approx(0.025, abs=0.003) and plant.fault is None


def test_a_model_with_a_hand_needs_one(opened, monkeypatch) -> None:
    """One line says that it does not answer."""
    monkeypatch.setattr(FrankaPlant, "_check", lambda self, robot: None)
    with pytest.raises(FileError, match="no Franka Hand at arm: libfranka: Connection error"):
        opened(robot="fr3")


def test_a_machine_that_does_not_hold_the_rate_stops_both_arms_and_they_are_held() -> None:
    """Every tick takes three periods while the leader is pushed."""
    settings = [("rig.leader_plant", "franka:arm,push=0.3"), ("rig.follower_plant", "franka:arm")]
    settings += [(f"{side}.guard.stale", 1.0) for side in ("leader", "follower")]
    settings += [(f"{side}.plant.patience", 1.0) for side in ("leader", "follower")]
    settings += [(f"{side}.plant.most_delay", 1.0) for side in ("leader", "follower")]
    options = Options(
        law="position-position", scenario="rest", clock=WallClock(), settings=settings
    )
    rig = build_rig("pair", options)
    try:
        rig.session.add(lambda now_ns: time.sleep(0.003))
        rig.session.run(3.0)
        found = {record.where: record.trip for record in rig.session.trips}
        assert {found[side].kind for side in ("leader", "follower")} == {"overrun"}
        reason = found["leader"].reason
        assert "ticks began more than" in reason and "\n" not in reason
        for station in rig.session.stations:
            state = station.plant.plant._state
            assert state["phase"] == WATCHING and np.abs(state["v"]).max() < STILL
            assert station.plant.fault is None
    finally:
        rig.close()


@pytest.mark.parametrize("space", ["joints", "tool"])
def test_a_pair_of_franka_arms_runs_in_one_line(space) -> None:
    """The leader is pushed, the follower follows; torque has no friction help of ours."""
    settings = [("rig.leader_plant", "franka:arm,push=3"), ("rig.follower_plant", "franka:arm")]
    settings += [(f"{side}.guard.stale", 1.0) for side in ("leader", "follower")]
    options = Options(law="position-position", scenario="rest", clock=Paced())
    options.settings = [*settings, ("rig.space", space)]
    rig = build_rig("pair", options)
    try:
        rig.session.run(1.0)
        assert [trip for trip in rig.session.trips if trip.trip.kind != "overrun"] == []
        leader, follower = (station.plant.plant for station in rig.session.stations)
        assert all(station.controller.assist is None for station in rig.session.stations)
        moved = [plant.read(0).q[0] for plant in (leader, follower)]
        # a slow machine lets it lag
        assert moved[0] > 0.05 and 0.2 * moved[0] < moved[1] < 1.5 * moved[0]
    finally:
        rig.close()


def test_a_reason_that_is_cut_within_a_letter_does_not_end_the_loop():
    """The client's text may have any letters, and the memory for it ends somewhere."""
    state = np.zeros(1, STATE)[0]
    state["text"] = b"x" + ("\u00e9" * 400).encode()[:509]
    assert reason(state) == "x" + "\u00e9" * 254

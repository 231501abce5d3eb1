"""The maker's own client and Farhand's plant on arms that others simulate."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.errors import FileError
from farhand.plants import Brake, JointTorque
from farhand.plants.franka.check import check_arm, compare_models
from farhand.plants.franka.plant import FrankaPlant, FrankaSettings
from farhand.plants.franka.worker import WATCHING
from farhand.rigs import Options, Rig, build_rig
from farhand.robots import load_robot
from tests.plants.paced import Paced

ROBOT = load_robot("fr3-arm")
PATIENT = 1.0
"""How old a state may be for these tests, [s]: two arms and two clients share a test machine."""


STIFFNESS = 225.0  # of the springs, over the joint's inertia, [1/s²]


def hold(plant: FrankaPlant, seconds: float, goal: np.ndarray) -> None:
    """Hold an arm by springs, in wall time."""
    arm, command, began = Arm.of(ROBOT), JointTorque(7), time.monotonic()
    while time.monotonic() - began < seconds and plant.fault is None:
        sample = plant.read(time.monotonic_ns())
        arm.update(sample.q, sample.v)
        pull = STIFFNESS * (goal - sample.q) - 30.0 * sample.v
        command.value[:] = arm.M.diagonal() * pull + arm.gravity
        plant.write(command, 0)
        time.sleep(0.001)


@contextmanager
def pair(leader: str, follower: str, law: str, space: str, **more: object) -> Iterator[Rig]:
    """Both arms coupled in this process."""
    settings: list[tuple[str, object]] = [("rig.space", space)]
    settings += [("rig.leader_plant", leader), ("rig.follower_plant", follower)]
    for side in ("leader", "follower"):
        settings += [(f"{side}.guard.stale", PATIENT), (f"{side}.plant.patience", 0.5)]
        settings += [(f"{side}.plant.most_delay", PATIENT)]
    settings += [(name.replace("__", "."), value) for name, value in more.items()]
    options = Options(law=law, scenario="rest", clock=Paced(), settings=settings)
    rig = build_rig("pair", options)
    try:
        yield rig
    finally:
        rig.close()


def trips(rig: Rig) -> list[str]:
    """Why stations have tripped, late ticks left out."""
    return [
        f"{record.where}: {record.trip.kind}: {record.trip.reason}"
        for record in rig.session.trips
        if record.trip.kind != "overrun"
    ]


def plants(rig: Rig) -> list[FrankaPlant]:
    """The arms of the rig."""
    return [station.plant.plant for station in rig.session.stations]


def test_one_arm_is_held_and_moved(simulated) -> None:
    """With both enforcement flags; the simulator says where it really went."""
    arm = simulated()
    before = np.array(arm.ask()["q"])
    plant = FrankaPlant(
        "leader", arm.host, ROBOT, settings=FrankaSettings(patience=0.5, most_delay=PATIENT)
    )
    try:
        hold(plant, 1.5, before)
        assert plant.fault is None
        np.testing.assert_allclose(arm.ask()["q"], before, atol=0.005)
        goal = before + [0.2, 0.1, 0.0, 0.1, 0.0, 0.0, 0.2]
        hold(plant, 2.0, goal)
        assert plant.fault is None and plant.external is None
        there = arm.ask()
        # the springs leave each joint where dry friction may hold it
        model = Arm.of(ROBOT)
        model.update(np.array(there["q"]), np.zeros(7))
        held = np.array(there["friction"]) / (STIFFNESS * model.M.diagonal())
        assert (np.abs(np.array(there["q"]) - goal) < held + 1e-3).all()
        assert plant.read(0) and plant._state["success"] > 0.9
        plant.write(Brake(7), 0)
        time.sleep(0.5)
        plant.read(0)
        assert plant._state["phase"] == WATCHING and arm.ask()["speed"] < 0.01
    finally:
        plant.close()


def test_our_model_is_that_of_the_clients_service(simulated) -> None:
    """At 100 postures. Both stem from the maker's description of the FR3."""
    arm = simulated()
    found = compare_models(arm.host, ROBOT)
    print(found)
    assert found.postures == 100 and found.inertia < 1e-3 and found.jacobian < 1e-9
    assert max(found.coriolis, found.gravity) < 0.01


def test_another_firmware_is_refused_in_one_line(simulated) -> None:
    """The client's own words, with both versions."""
    arm = simulated("--firmware", "9")
    with pytest.raises(FileError, match=r"no Franka arm at .*server version: 9") as refusal:
        FrankaPlant("leader", arm.host, ROBOT)
    print(refusal.value)
    assert "\n" not in str(refusal.value)


def pause_client(plant: FrankaPlant) -> None:
    """The client's process stands still for longer than 20 cycles."""
    plant._served.process.send_signal(signal.SIGSTOP)
    time.sleep(0.15)
    plant._served.process.send_signal(signal.SIGCONT)


def step_torque(plant: FrankaPlant) -> None:
    """Torques may change faster than the arm allows."""
    plant.settings.torque_rate = 5000.0


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (pause_client, "communication_constraints_violation"),
        (step_torque, "controller_torque_discontinuity"),
    ],
)
def test_a_reflex_is_a_fault_with_the_clients_words_and_a_reset_recovers(
    simulated, fault, words
) -> None:
    """Then it is driven again, from where it stands."""
    arm = simulated()
    before = np.array(arm.ask()["q"])
    plant = FrankaPlant(
        "leader", arm.host, ROBOT, settings=FrankaSettings(patience=0.5, most_delay=PATIENT)
    )
    try:
        hold(plant, 1.0, before)
        assert plant.fault is None
        fault(plant)
        hold(plant, 1.0, before + [0.3, 0, 0, 0, 0, 0, 0])
        assert words in plant.fault and "\n" not in plant.fault
        time.sleep(0.5)
        stopped = arm.ask()
        assert stopped["speed"] < 0.01
        plant.settings.torque_rate = 900.0
        plant.restart()
        began = time.monotonic()
        while plant._recovering and time.monotonic() - began < 10.0:
            plant.read(time.monotonic_ns())
            time.sleep(0.01)
        print(f"\n{fault.__name__}: recovered after {time.monotonic() - began:.2f} s")
        hold(plant, 1.0, np.array(stopped["q"]))
        assert plant.fault is None
        np.testing.assert_allclose(arm.ask()["q"], stopped["q"], atol=0.01)
    finally:
        plant.close()


def test_the_check_finds_the_simulators_friction(simulated) -> None:
    """0.2 N·m in every joint, within 0.1 N·m; the arm is back where it was."""
    arm = simulated()
    before, true = np.array(arm.ask()["q"]), np.array(arm.ask()["friction"])
    found = check_arm(arm.host, ROBOT, seconds=2.0)
    print(found)
    np.testing.assert_allclose(found.friction, true, atol=0.1)
    np.testing.assert_allclose(arm.ask()["q"], before, atol=0.01)
    assert not found.own_estimate


def run(rig: Rig, seconds: float, *looks: Callable[[], Any]) -> None:
    """Run a rig in wall time, looking now and then."""
    end = rig.session.now_ns + seconds * 1e9
    while rig.session.now_ns < end:
        rig.session.run(min(0.2, 1e-9 * (end - rig.session.now_ns)))
        for look in looks:
            look()


LAWS = [("four-channel-sensorless", "joints"), ("four-channel-sensorless", "tool")]
LAWS += [("position-position", "joints")]


@pytest.mark.parametrize(("law", "space"), LAWS)
def test_a_pair_in_free_motion_and_on_a_wall(simulated, law, space) -> None:
    """The hand moves the leader aside, then the follower into the wall of its simulator's model.

    Fixed before the first run: at rest the follower is within 10 mm of where the leader went, the
    hand feels the wall within a fifth and 3 N, and nothing trips.
    """
    leader, follower = simulated(), simulated("--wall", "0.05")
    with pair(f"franka:{leader.host}", f"franka:{follower.host}", law, space) as rig:
        notes = list(rig.notes)
        leader.ask("hand 0 0 0")
        run(rig, 1.0)
        leader.ask("hand 0 0.08 0")
        run(rig, 3.0)
        free = leader.ask(), follower.ask()
        leader.ask("hand 0 0 0")
        run(rig, 2.0)
        leader.ask("hand 0.12 0 0")
        run(rig, 5.0)
        wall = leader.ask(), follower.ask()
        cycles = [plant.cycles() for plant in plants(rig)]
        off = np.linalg.norm(np.subtract(free[0]["place"], free[1]["place"]))
        felt, met = wall[0]["hand"][0], -wall[1]["wall"][0]
        print(f"\n{law} {space}: {notes}")
        print(f"free: leader {free[0]['place']}, off {1e3 * off:.1f} mm, hand {free[0]['hand']}")
        print(f"wall: {met:.1f} N, hand {felt:.1f} N, places {wall[0]['place']} {wall[1]['place']}")
        for states in cycles:
            took = 1e-9 * np.diff(states["time_ns"].astype(float))
            success, answer = states["success"].min(), np.percentile(states["callback"], 99)
            print(
                f"{1 / took.mean():.0f} cycles/s, least success {success:.2f}, answer 99 % "
                f"{1e6 * answer:.0f} µs, lost {states['lost'][-1] - states['lost'][0]}"
            )
        print(f"trips {trips(rig)}")
        assert trips(rig) == []
        assert off < 0.01
        assert met > 5.0 and felt == pytest.approx(met, rel=0.2, abs=3.0)
        assert all(np.median(states["success"]) > 0.9 for states in cycles)


def stop_follower_process(rig: Rig, arm: Any) -> None:
    """The client of the follower is killed."""
    os.kill(plants(rig)[1]._served.process.pid, signal.SIGKILL)


def stop_by_command(rig: Rig, arm: Any) -> None:
    """A person says stop."""
    rig.session.commands.post("stop")


def freeze_follower(rig: Rig, arm: Any) -> None:
    """The follower's controller stands still for a while."""
    arm.process.send_signal(signal.SIGSTOP)


@pytest.mark.parametrize("fault", [stop_follower_process, stop_by_command, freeze_follower])
def test_a_stopped_side_stands_recovers_and_is_coupled_again_without_a_jump(
    simulated, fault
) -> None:
    """While the hand moves the leader. Fixed before the first run: half a second after the fault is
    seen no joint of either arm is faster than 0.05 rad/s with the hand gone, and the hand's force
    changes by less than 5 N within 10 ms when the arms are coupled again.
    """
    leader, follower = simulated(), simulated()
    law = "position-position"
    with pair(f"franka:{leader.host}", f"franka:{follower.host}", law, "joints") as rig:
        leader.ask("hand 0 0.15 0")
        run(rig, 1.0)
        fault(rig, follower)
        began = time.monotonic()
        while not trips(rig) and time.monotonic() - began < 5.0:
            rig.session.run(0.01)
        seen = time.monotonic() - began
        leader.ask("free")
        run(rig, 1.0)
        follower.process.send_signal(signal.SIGCONT)
        run(rig, 0.5)
        speeds = [arm.ask()["speed"] for arm in (leader, follower)]
        stopped = np.array(follower.ask()["q"])
        first = trips(rig)
        rig.session.commands.post("reset")
        run(rig, 3.0)
        if rig.session.stations[1].guard.trip is not None:
            # the arm had to be let go of by a reflex first
            rig.session.commands.post("reset")
            run(rig, 3.0)
        again = np.array(follower.ask()["q"])
        leader.ask("hand 0 0 0")
        run(rig, 2.0)
        leader.ask()
        before = len(trips(rig))
        rig.session.commands.post("engage")
        run(rig, 1.5)
        jump = leader.ask()["jump"]
        moved = follower.ask()["place"][1]
        leader.ask("hand 0 0.05 0")
        run(rig, 3.0)
        follows = follower.ask()["place"][1] - moved
        print(f"\n{fault.__name__}: seen after {1e3 * seen:.0f} ms: {first[:1]}, speeds {speeds}")
        stood = np.abs(again - stopped).max()
        print(f"stood {stood:.4f} rad, jump {jump:.2f} N, then {follows:.3f} m")
        print(f"trips {trips(rig)}")
        assert first and max(speeds) < 0.05
        assert jump < 5.0 and len(trips(rig)) == before
        assert follows > 0.02

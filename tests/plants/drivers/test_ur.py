"""The UR driver and the real, unmodified ``ur_rtde`` client against the simulated controller in
another process.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.errors import FileError, Mismatch
from farhand.plants import Brake, Command, JointPosition, JointTorque, JointVelocity
from farhand.plants.drivers.ur import UrPlant, UrSettings
from farhand.rigs import Options, build_rig
from farhand.robots import load_robot
from farhand.robots.edits import set_armature, set_damping
from farhand.safety import Guard
from farhand_lab.benchmarks.ur import AMPLITUDE, LOOKAHEAD, controller_process, own_address, sine
from tests.plants.paced import Paced

pytest.importorskip("rtde_control", reason="the wheel of ur_rtde is not installed (extra 'ur')")

HOST = own_address()


@pytest.fixture(scope="module")
def robot():
    """The arm as the simulated controller has it."""
    return load_robot("ur5e", "ur").edited(
        set_armature(0.1), set_damping((2.0, 2.0, 2.0, 0.5, 0.5, 0.5))
    )


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where a simulated controller runs, in a process of its own."""
    with controller_process(HOST, "--seconds", "120"):
        yield HOST


@pytest.fixture
def plant(address, robot) -> Iterator[UrPlant]:
    patient = UrSettings(watchdog=1.0, patience=0.2)  # a test machine may be busy
    made = UrPlant("leader", address, robot, settings=patient)
    yield made
    made.close()


def drive(plant: UrPlant, kind: type[Command], seconds: float, value) -> np.ndarray:
    """Tick a plant in wall time; where it is at the end, and how fast."""
    command, began = kind(6), time.monotonic_ns()
    while (now_ns := time.monotonic_ns() - began) < seconds * 1e9:
        sample = plant.read(now_ns)
        command.value[:] = value(now_ns * 1e-9, sample)
        plant.write(command, now_ns)
        time.sleep(0.001)
    return plant.read(now_ns).motion.copy()


def test_the_real_client_moves_the_arm_by_servo_moves_and_torque(address):
    """Receive and control interface connect, upload the script and are obeyed."""
    from rtde_control import RTDEControlInterface
    from rtde_receive import RTDEReceiveInterface

    receive, control = RTDEReceiveInterface(address), RTDEControlInterface(address)
    try:
        home = np.array(receive.getActualQ())
        assert control.moveJ((home + 0.1).tolist(), 1.0, 3.0)
        time.sleep(0.1)
        np.testing.assert_allclose(receive.getActualQ(), home + 0.1, atol=2e-3)
        tracking = sine(receive, control, 1.5)
        assert tracking.error_max < 0.6 * AMPLITUDE
        assert tracking.lag == pytest.approx(LOOKAHEAD, abs=0.05)
        up = np.array(receive.getActualTCPPose()) + [0.0, 0.0, 0.05, 0.0, 0.0, 0.0]
        assert control.moveL(up.tolist(), 0.3, 1.5)
        np.testing.assert_allclose(receive.getActualTCPPose()[:3], up[:3], atol=2e-3)
        before = receive.getActualQ()[5]
        for _ in range(100):
            control.directTorque([0.0, 0.0, 0.0, 0.0, 0.0, 0.5], [], [])
            time.sleep(0.002)
        assert receive.getActualQ()[5] > before + 0.01
        control.stopJ(5.0)
        assert control.moveJ(home.tolist(), 1.0, 3.0)
        control.stopScript()
    finally:
        control.disconnect()
        receive.disconnect()


def test_the_driver_passes_velocity_position_and_torque_on(plant, robot):
    """Each moves the arm as it says, one after the other, and nothing is left over in between."""
    start = plant.read(0).q.copy()
    assert plant.device_time > 0.0
    moved = drive(plant, JointVelocity, 0.6, lambda t, s: np.array([0.3, 0, 0, 0, 0, 0]))
    assert moved[6] == pytest.approx(0.3, abs=0.05)
    back = drive(
        plant, JointPosition, 1.2, lambda t, s: start + (moved[:6] - start) * max(0.0, 1.0 - t)
    )
    np.testing.assert_allclose(back[:6], start, atol=0.03)
    arm = Arm.of(robot)

    def spring(t, sample):
        arm.update(sample.q, sample.v)
        pull = start + [0, 0, 0, 0, 0, 0.3] - sample.q
        return (
            arm.gravity
            + np.array([60, 60, 60, 8, 8, 8]) * pull
            - np.array([20, 20, 20, 2, 2, 2]) * sample.v
        )

    pulled = drive(plant, JointTorque, 1.2, spring)
    np.testing.assert_allclose(pulled[:6], start + [0, 0, 0, 0, 0, 0.3], atol=0.05)
    still = drive(plant, Brake, 0.5, lambda t, s: np.zeros(6))
    np.testing.assert_allclose(still[6:], 0.0, atol=0.02)
    assert plant.fault is None


def test_a_tick_that_gives_no_more_commands_leaves_a_standing_arm(plant):
    """The driver stops the arm when the last command is too old."""
    drive(plant, JointVelocity, 0.4, lambda t, s: np.array([0.3, 0, 0, 0, 0, 0]))
    time.sleep(0.6)
    np.testing.assert_allclose(plant.read(0).v, 0.0, atol=0.02)


def test_another_robot_is_refused(address):
    """The model's tool is not where the arm's is."""
    with pytest.raises(Mismatch, match="mm from the model"):
        UrPlant("leader", address, load_robot("lwa4p"))


@pytest.mark.parametrize("law", ["virtual-constraints", "admittance"])
def test_the_dual_arm_rig_runs_with_the_real_client_as_its_leader(address, law):
    """By direct torque or by joint speed; nobody touches the arm, so both tools stay where they
    are.
    """
    settings = [("rig.leader_plant", f"ur:{address}"), ("rig.kinematics", "manufacturer")]
    # a test machine may be busy
    settings += [("leader.guard.stale", 1.0), ("leader.plant.watchdog", 1.0)]
    rig = build_rig("dual-arm", Options(law=law, scenario="free", settings=settings, clock=Paced()))
    try:
        start = rig.session.stations[0].plant.read(0).q.copy()
        rig.session.run(1.0)
        rig.metrics.pull()
        sample = rig.session.stations[0].plant.read(rig.session.now_ns)
        kind = "joint velocity" if law == "admittance" else "joint torque"
        assert rig.session.stations[0].controller.commands.name == kind
        np.testing.assert_allclose(sample.q, start, atol=0.1)
        assert [
            trip for trip in rig.session.trips if trip.trip.kind not in ("overrun", "stale")
        ] == []
        np.testing.assert_allclose(rig.world.ports["leader"].q, sample.q, atol=0.05)
        assert rig.metrics.result()["energy_balance_error"]["value"] is None
    finally:
        rig.close()


def test_a_controller_that_dies_leaves_samples_that_grow_old_and_a_guard_that_trips(robot):
    """Reading goes on without waiting, and the guard says why it stopped."""
    host = HOST.rsplit(".", 1)[0] + ".251"
    with controller_process(host) as process:
        plant = UrPlant("leader", host, robot)
        guard = Guard()
        guard.watch(robot.limits)
        drive(plant, JointVelocity, 0.2, lambda t, s: np.zeros(6))
        process.kill()
        time.sleep(0.3)
        began, now_ns = time.monotonic(), 10_000_000_000
        sample = plant.read(now_ns)
        assert time.monotonic() - began < 0.05
        assert not guard.check(sample, now_ns) or guard.trip is not None
        assert guard.trip.kind == "stale"
        plant.close()


DRIVEN = """
import time
from farhand.plants import JointVelocity
from farhand.plants.drivers.ur import UrPlant
from farhand.robots import load_robot
plant, command = UrPlant("leader", "{host}", load_robot("ur5e", "ur")), JointVelocity(6)
command.value[0] = -0.3
print("moving", flush=True)
while True:
    plant.read(0)
    plant.write(command, 0)
    time.sleep(0.001)
"""


def test_a_killed_client_leaves_a_standing_arm(address):
    """SpeedJ would go on for ever: the controller's watchdog, set by the driver, ends it."""
    from rtde_receive import RTDEReceiveInterface

    receive = RTDEReceiveInterface(address, 500.0, ["timestamp", "actual_qd", "runtime_state"])
    driven = subprocess.Popen(
        [sys.executable, "-c", DRIVEN.format(host=address)], stdout=subprocess.PIPE, text=True
    )
    driven.stdout.readline()
    time.sleep(0.6)
    moving = receive.getActualQd()[0]
    driven.kill()
    driven.communicate()
    time.sleep(0.6)
    assert moving == pytest.approx(-0.3, abs=0.05)
    np.testing.assert_allclose(receive.getActualQd(), 0.0, atol=1e-3)
    receive.disconnect()


def test_nobody_at_the_address_is_one_clear_line(robot):
    """With the address in it."""
    with pytest.raises(FileError, match=r"no UR controller at 127\.255\.255\.1"):
        UrPlant("leader", "127.255.255.1", robot)


def test_a_missing_client_is_one_clear_line(robot, monkeypatch):
    """And how to get it."""
    monkeypatch.setitem(sys.modules, "rtde_control", None)
    with pytest.raises(FileError, match=r"pip install 'farhand\[ur\]'"):
        UrPlant("leader", "127.0.0.1", robot)


def test_virtual_time_and_a_real_arm_do_not_go_together():
    """Refused before anything connects."""
    with pytest.raises(Mismatch, match="real time"):
        build_rig("dual-arm", Options(settings=[("rig.leader_plant", "ur:127.0.0.1")]))


@pytest.mark.parametrize(
    ("words", "complaint"), [(b"", "does not answer within"), (b"SSH-2.0", "does not speak RTDE")]
)
def test_a_port_that_is_open_but_no_controller_is_one_clear_line(
    robot, monkeypatch, words, complaint
):
    """The client alone would wait for ever."""
    monkeypatch.setattr("farhand.plants.drivers.ur.REPLY_TIMEOUT_S", 0.2)
    host = "127.255.255.2"
    with socket.create_server((host, 30004)) as server, ExitStack() as kept:

        def answer() -> None:
            kept.enter_context(server.accept()[0]).sendall(words)

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(FileError, match=complaint):
            UrPlant("leader", host, robot)
        thread.join()


def test_the_example_runs_against_the_controller(address):
    """examples/hardware.py as its first lines say, for a second."""
    example = Path(__file__).parents[3] / "examples" / "hardware.py"
    done = subprocess.run(
        [sys.executable, str(example), address, "--seconds", "1"],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split(" ticks")[0].split()[-1]) > 100

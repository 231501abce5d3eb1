"""LeRobot's own bus of Damiao motors on a simulated OpenArm: ``make test-lerobot`` runs this.

LeRobot has an environment of its own; Farhand runs as the program that ``$FARHAND`` names.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import time
from pathlib import Path

import pytest

pytest.importorskip("lerobot")
can = pytest.importorskip("can")
from lerobot.motors.damiao import DamiaoMotorsBus  # noqa: E402
from lerobot.motors.motors_bus import Motor, MotorNormMode  # noqa: E402

FARHAND = os.environ.get("FARHAND", "farhand")
MODELS = ["dm8009"] * 2 + ["dm4340"] * 2 + ["dm4310"] * 4
MOTORS = {
    f"motor_{k}": Motor(k, model, MotorNormMode.DEGREES, motor_type_str=model, recv_id=k + 0x10)
    for k, model in enumerate(MODELS, start=1)
}
OURS = """
import json, sys
from farhand.plants.damiao.arms import load_arm
from farhand.plants.damiao.driver import DamiaoDriver
from farhand.plants.damiao.wires import open_wire
from farhand.robots import load_robot
arm = load_arm("openarm")
wire = open_wire(sys.argv[1], sys.argv[2], arm.bit_rate, arm.data_bit_rate)
driver = DamiaoDriver(arm, load_robot("openarm"), wire)
driver.connect()
wire.close()
print(json.dumps({"q": ((driver.q - arm.zeros) / arm.ratios).tolist()}))
"""


@pytest.fixture(params=["slcan", "udp_multicast"])
def arm(request, tmp_path):
    """Interface and channel of ``farhand can-sim openarm``."""
    at = str(tmp_path / "bus")
    if request.param == "udp_multicast":
        # one group per process, so that parallel runs do not meet
        at = f"239.75.{os.getpid() % 256}.{os.getpid() // 256 % 256}"
    words = [FARHAND, "can-sim", "openarm", "--interface", request.param, "--at", at]
    process = subprocess.Popen([*words, "--seconds", "120"], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline().startswith("openarm: 8 motors")
    yield request.param, at
    process.terminate()
    process.wait(20)
    process.stdout.close()


def opened(arm):
    """LeRobot's bus: classic frames on the serial adaptor, FD frames by multicast."""
    interface, channel = arm
    one = DamiaoMotorsBus(channel, MOTORS, can_interface=interface, use_can_fd=interface != "slcan")
    one.connect(handshake=False)
    return one


@pytest.fixture
def bus(arm):
    """The same with its motors switched on."""
    one = opened(arm)
    # LeRobot neither sets the motors' time-out nor clears their faults
    for motor in MOTORS.values():
        ask_register(one, motor.id, 9, struct.pack("<I", 20_000))
    one._handshake()
    yield one
    one.disconnect()


def ask_register(bus, motor, register, value=None):
    """Read a register of a motor, or write its bytes; what the motor says that it holds."""
    action = 0x33 if value is None else 0x55
    for _ in range(50):
        data = bytes((motor, 0, action, register)) + (value or bytes(4))
        asked = can.Message(
            arbitration_id=0x7FF, data=data, is_extended_id=False, is_fd=bus.use_can_fd
        )
        bus.canbus.send(asked)
        answer = bus._recv_motor_response(motor + 0x10, timeout=0.1)
        if answer is not None and answer.data[2:4] == data[2:4]:
            return bytes(answer.data[4:8])
    raise AssertionError("no answer")


def read_all(bus):
    """The state of every motor after one refresh in which no answer was lost.

    LeRobot waits for 10 ms and then returns what it had before.
    """
    for _ in range(200):
        for state in bus._last_known_states.values():
            state["position"] = None
        states = bus.sync_read_all_states()
        if all(state["position"] is not None for state in states.values()):
            return states
    raise AssertionError("answers are lost in each of 200 refreshes")


# as in tests/plants/damiao/test_frames.py
GOLDEN = [
    ("motor_1", (0.0, 0.0, 0.0, 0.0, 0.0), "7fff7ff0000007ff"),
    ("motor_1", (240.0, 3.0, 1.0, -2.0, 5.0), "8a3c7a47ad9998bd"),
    ("motor_5", (24.0, 0.2, 0.3, 1.5, -0.7), "83118650c40a3770"),
]


@pytest.mark.parametrize(("name", "command", "raw"), GOLDEN)
def test_lerobot_encodes_the_bytes_that_farhand_and_damiao_motor_do(name, command, raw):
    """A third encoder, after cmjang/DM_Control_Python: kp, kd, q, dq and torque."""
    bus = DamiaoMotorsBus("none", MOTORS)
    kp, kd, q, v, torque = command
    data = bus._encode_mit_packet(
        bus._motor_types[name], kp, kd, q * 57.29577951308232, v * 57.29577951308232, torque
    )
    assert bytes(data).hex() == raw


def test_the_handshake_decodes_its_own_enable_frame(bus):
    """A known mistake of LeRobot 0.6.1: every joint is at +12.5 rad until the first refresh."""
    cached = [state["position"] for state in bus._last_known_states.values()]
    assert cached == pytest.approx([716.197] * 8, abs=1e-3)
    states = read_all(bus)
    assert max(abs(state["position"]) for state in states.values()) < 120.0


def test_both_drivers_read_the_same(arm):
    """Of an arm that rests in its stand: equal to the last bit."""
    bus = opened(arm)
    theirs = read_all(bus)
    bus.disconnect(disable_torque=False)
    python = str(Path(FARHAND).with_name("python"))
    found = subprocess.run([python, "-c", OURS, *arm], check=True, capture_output=True, text=True)
    ours = json.loads(found.stdout)["q"]
    degrees = [state["position"] for state in theirs.values()]
    assert degrees == pytest.approx([57.29577951308232 * q for q in ours], abs=1e-9)
    assert {state["temp_rotor"] for state in theirs.values()} == {25.0}


def test_velocities_of_a_dm4340_are_decoded_over_the_wrong_range(bus):
    """A known mistake of LeRobot 0.6.1: ±8 rad/s, where the motor says ±10 in its register 22."""
    limit = struct.unpack("<f", ask_register(bus, 4, 22))[0]
    assert limit == 10.0
    start = {name: state["position"] for name, state in read_all(bus).items()}
    gains = {name: (50.0, 1.2) if int(name[-1]) < 5 else (10.0, 0.3) for name in MOTORS}
    seen = []
    end = time.monotonic() + 30.0
    while len(seen) < 20 and time.monotonic() < end:
        # all motors hold; the elbow turns at 30°/s against its friction and weight
        commands = {name: (*gains[name], start[name], 0.0, 0.0) for name in MOTORS}
        commands["motor_4"] = (0.0, 5.0, 0.0, 30.0, 0.0)
        bus._mit_control_batch(commands)
        message = bus._refresh_motor("motor_4")
        if message is None:
            continue
        theirs = bus._decode_motor_state(message.data, bus._motor_types["motor_4"])[1]
        bits = message.data[3] << 4 | message.data[4] >> 4
        true = 57.29577951308232 * (bits / 4095 * 2 * limit - limit)
        if abs(true) > 2.0:
            seen.append(theirs / true)
    assert len(seen) == 20 and seen == pytest.approx([0.8] * 20, abs=1e-9)


def test_lerobot_moves_the_arm(bus):
    """Six degrees at the shoulder by goal positions, as its ``send_action`` does it."""
    states = read_all(bus)
    for name in MOTORS:
        bus.write("Kp", name, 50.0 if int(name[-1]) < 5 else 10.0)
        bus.write("Kd", name, 1.2 if int(name[-1]) < 5 else 0.3)
    wanted = {name: state["position"] for name, state in states.items()}
    start = wanted["motor_1"]
    wanted["motor_1"] += 6.0
    end, moved = time.monotonic() + 30.0, 0.0
    while moved < 4.0 and time.monotonic() < end:
        bus.sync_write("Goal_Position", wanted)
        moved = bus._last_known_states["motor_1"]["position"] - start
    assert moved >= 4.0

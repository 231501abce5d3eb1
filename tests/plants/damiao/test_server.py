"""The simulated bus for clients that Farhand has not written: python-can and damiao-motor."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import can
import pytest
from damiao_motor import DaMiaoController

from farhand.errors import BadValue, FileError
from farhand.plants.damiao import frames
from farhand.plants.damiao.arms import load_arm
from farhand.plants.damiao.frames import MotorRegister
from farhand.plants.damiao.server import MotorServer, MulticastAdaptor, SlcanAdaptor
from farhand.plants.damiao.simulated import Drive, SimulatedCanArm

ARM = load_arm("openarm")
TYPES = ("8009", "8009", "4340", "4340", "4310", "4310", "4310", "4310")


@contextmanager
def served(adaptor: Any) -> Iterator[SimulatedCanArm]:
    """An arm on an adaptor, in a thread of its own."""
    arm = SimulatedCanArm(ARM, drive=Drive(rate=500.0))
    server, stopped = MotorServer(arm, adaptor), threading.Event()
    thread = threading.Thread(target=server.run, kwargs={"going": lambda: not stopped.is_set()})
    thread.start()
    try:
        yield arm
    finally:
        stopped.set()
        thread.join()
        adaptor.close()


@pytest.fixture(params=["slcan", "udp_multicast"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[can.BusABC, Any]]:
    """A bus of python-can on the simulated one, and the arm."""
    if request.param == "slcan":
        path = str(tmp_path / "adaptor")
        adaptor: Any = SlcanAdaptor(path)
        options: dict[str, Any] = {"bitrate": 1_000_000, "sleep_after_open": 0.0}
    else:
        # one group per process, so that parallel runs do not meet
        path = f"239.74.{os.getpid() % 256}.{os.getpid() // 256 % 256}"
        adaptor, options = MulticastAdaptor(path), {"fd": True}
    with served(adaptor) as arm:
        with can.Bus(interface=request.param, channel=path, **options) as bus:
            yield bus, arm


def answer(bus: can.BusABC, id: int, data: bytes, fd: bool, of: int) -> can.Message:
    """Send a frame until it is answered; frames may be lost on the way."""
    for _ in range(50):
        bus.send(
            can.Message(
                arbitration_id=id, data=data, is_extended_id=False, is_fd=fd, bitrate_switch=fd
            )
        )
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            message = bus.recv(0.1)
            if message is not None and message.arbitration_id == of:
                return message
    raise AssertionError("no answer")


@pytest.mark.parametrize("fd", [False, True])
def test_python_can_reads_where_every_joint_is(client: tuple[can.BusABC, Any], fd: bool) -> None:
    """Classic and FD frames, on a serial adaptor and by multicast."""
    bus, arm = client
    for motor in arm.motors:
        asked = frames.encode_register(motor.id, frames.REFRESH)
        message = answer(bus, frames.COMMON, asked, fd, motor.answer_id)
        state = frames.decode_state(bytes(message.data), motor.ranges)
        assert message.is_fd is fd and state.id == motor.id
        assert state.q == pytest.approx(motor.q, abs=5e-4)
    asked = frames.encode_register(3, frames.READ, MotorRegister.TORQUE_RANGE)
    message = answer(bus, frames.COMMON, asked, fd, 0x13)
    assert frames.decode_register(bytes(message.data)).value == 28.0


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 20.0
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    assert condition()


def test_damiao_motor_enables_moves_and_reads_the_motors(tmp_path: Path) -> None:
    """An independent client: its registers, its states, its MIT commands."""
    path = str(tmp_path / "adaptor")
    with served(SlcanAdaptor(path)) as arm:
        # its constructor names an argument of python-can that has another name by now
        controller = DaMiaoController.__new__(DaMiaoController)
        bus = can.Bus(interface="slcan", channel=path, bitrate=1_000_000, sleep_after_open=0.0)
        vars(controller).update(
            bus=bus,
            motors={},
            _motors_by_feedback={},
            _polling_thread=None,
            _polling_active=False,
            _polling_lock=threading.Lock(),
        )
        motors = [controller.add_motor(i + 1, i + 0x11, kind) for i, kind in enumerate(TYPES)]
        assert motors[2].get_register(22, timeout=10.0) == 10.0
        motors[0].ensure_control_mode("MIT")
        for motor in motors:
            motor.set_can_timeout(5000)
            motor.request_motor_feedback()
        until(lambda: all(motor.get_states() for motor in motors))
        for motor, true in zip(motors, arm.motors, strict=True):
            state = motor.get_states()
            assert state["status"] == "DISABLED" and state["pos"] == pytest.approx(true.q, abs=5e-4)
            motor.enable()
        until(lambda: all(motor.get_states()["status"] == "ENABLED" for motor in motors))
        start = [motor.get_states()["pos"] for motor in motors]

        def hold() -> bool:
            for motor, q in zip(motors, start, strict=True):
                motor.send_cmd_mit(q + 0.1 * (motor is motors[6]), 0.0, 40.0, 1.0, 0.0)
            time.sleep(0.02)
            moved = motors[6].get_states()["pos"] - start[6]
            return moved > 0.03 and arm.motors[6].q - start[6] > 0.03

        until(hold)
        controller.shutdown()
        assert motors[0].get_states()["t_rotor"] == 25.0


def test_the_link_to_the_terminal_is_made_and_removed(tmp_path: Path) -> None:
    """A link left behind is replaced; anything else is left alone."""
    path = tmp_path / "adaptor"
    path.symlink_to("/dev/pts/999999")
    adaptor = SlcanAdaptor(str(path))
    assert os.readlink(path).startswith("/dev/pts/") and adaptor.where == str(path)
    adaptor.close()
    assert not path.is_symlink()
    path.write_text("mine")
    with pytest.raises(FileError, match="is no link"):
        SlcanAdaptor(str(path))
    with pytest.raises(FileError, match="cannot make the link"):
        SlcanAdaptor(str(tmp_path / "no" / "folder"))
    assert path.read_text() == "mine"


def test_an_address_that_is_no_group_is_refused() -> None:
    for group in ("127.0.0.1", "can0"):
        with pytest.raises(BadValue, match="no multicast address"):
            MulticastAdaptor(group)


def test_the_adaptor_refuses_nonsense_and_shows_nothing_before_it_is_open() -> None:
    """A bell is the text protocol's no."""
    adaptor = SlcanAdaptor()
    port = os.open(adaptor.where, os.O_RDWR | os.O_NOCTTY)
    try:
        os.write(
            port, b"t00180000000000000000\rS8\rO\rt0018\rt00Z800\rq\rV\rt0012AABB\rd0012AABB\r"
        )
        found: list[Any] = []
        until(lambda: bool(found.extend(adaptor.read(0.1)) or len(found) >= 2))
        assert [(one.id, one.data, one.fd) for one in found] == [
            (1, b"\xaa\xbb", False),
            (1, b"\xaa\xbb", True),
        ]
        until(lambda: True)
        assert os.read(port, 100) == b"\a\a\a\aV1013\r"
        adaptor.write(found[1])
        assert os.read(port, 100) == b"b0112AABB\r".replace(b"011", b"001")
    finally:
        os.close(port)
        adaptor.close()

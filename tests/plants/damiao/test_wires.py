"""Ways to a CAN bus: a serial adaptor, groups on the network, and how long a cycle takes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from farhand.errors import BadValue, FileError, LinkError
from farhand.plants.damiao.arms import load_arm
from farhand.plants.damiao.driver import DamiaoDriver
from farhand.plants.damiao.line import CanFrame
from farhand.plants.damiao.server import MulticastAdaptor, SlcanAdaptor
from farhand.plants.damiao.simulated import Drive, SimulatedCanArm
from farhand.plants.damiao.slcan import SlcanWire, decode_line, encode_line
from farhand.plants.damiao.wires import PythonCanWire, VirtualWire
from farhand.robots import load_robot

FRAMES = [CanFrame(id, bytes([id] * 8)) for id in range(1, 9)]


def test_a_serial_adaptor_carries_the_frames_of_a_cycle(tmp_path: Path) -> None:
    """All at once in one direction, one by one in the other; nothing before it is opened."""
    adaptor = SlcanAdaptor(str(tmp_path / "port"))
    adaptor.write(FRAMES[0])
    wire = SlcanWire(str(tmp_path / "port"))
    wire.send(*FRAMES)
    heard: list[CanFrame] = []
    # Serial lines cut what was sent where they like
    end = time.monotonic() + 10.0
    while len(heard) < len(FRAMES) and time.monotonic() < end:
        heard += adaptor.read(1.0)
    assert heard == FRAMES
    for frame in FRAMES:
        adaptor.write(frame)
    assert [wire.receive(1.0) for _ in FRAMES] == FRAMES
    assert wire.receive(0.0) is None
    adaptor.close()
    with pytest.raises(LinkError, match="receives nothing"):
        wire.receive(1.0)
    wire.close()


def test_lines_of_an_adaptor() -> None:
    """The text of Lawicel's manual; a time that some add is left out, and nonsense refused."""
    assert encode_line(CanFrame(0x100, bytes.fromhex("1133"))) == b"t10021133\r"
    assert decode_line(b"t10021133") == CanFrame(0x100, bytes.fromhex("1133"))
    assert decode_line(b"t10021133A5F0") == CanFrame(0x100, bytes.fromhex("1133"))
    assert decode_line(b"z") is None and decode_line(b"T0000010021133") is None
    for bad in (b"t1002113", b"t10", b"t10G21133"):
        with pytest.raises(BadValue, match="is no frame"):
            decode_line(bad)


def test_a_port_that_is_none_and_a_bit_rate_that_no_adaptor_has(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot open the CAN bus slcan:"):
        SlcanWire(str(tmp_path / "nothing"))
    with pytest.raises(BadValue, match="write the port's baud rate after @"):
        SlcanWire("/dev/null@fast")
    with pytest.raises(BadValue, match="no bit rate of 300000"):
        SlcanWire("/dev/null", 300_000)


def test_arms_in_two_groups_do_not_hear_each_other() -> None:
    """Linux gives a socket the frames of every group that any program has joined."""
    number = os.getpid()
    groups = [f"239.77.{number % 256}.{100 + number // 256 % 50 + k}" for k in range(2)]
    first, second = (MulticastAdaptor(group) for group in groups)
    wire = PythonCanWire("udp_multicast", groups[0])
    try:
        wire.send(CanFrame(1, bytes(8), True))
        assert first.read(2.0) == [CanFrame(1, bytes(8), True)]
        assert second.read(0.1) == []
    finally:
        wire.close()
        first.close()
        second.close()


@pytest.mark.parametrize(("host", "least", "most"), [(0.0, 1.9e-3, 2.0e-3), (3e-4, 4e-3, 6e-3)])
def test_the_driver_measures_how_long_its_bus_takes(host: float, least: float, most: float) -> None:
    """Bits on a fast machine; the program's time per frame on a slow one."""
    arm = SimulatedCanArm(load_arm("openarm"), drive=Drive(rate=1000.0))
    driver = DamiaoDriver(arm.arm, load_robot("openarm"), VirtualWire(arm, fd=False, host=host))
    assert least < driver.measure_cycle() < most
    assert driver.fault is None
    arm.motors[4].powered = False
    assert driver.measure_cycle() == float("inf")

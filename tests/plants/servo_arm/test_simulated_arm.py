"""The terminal of a simulated arm and clients that misbehave; the next client must not notice."""

from __future__ import annotations

import os
import time
from contextlib import suppress

import pytest
import scservo_sdk as scs
import serial
from hypothesis import example, given
from hypothesis import strategies as st

from farhand.plants.servo_arm.description import load_arm
from farhand.plants.servo_arm.packets import BROADCAST, DYNAMIXEL, FEETECH, PING
from farhand.plants.servo_arm.simulated_arm import ServoTerminal, SimulatedArm, SimulatedServoBus

PATIENCE_S = 60.0
INSTRUCTIONS = st.one_of(
    st.sampled_from([2, 3, 4, 5, 6, 8, 9, 10, 11, 16, 32, 0x82, 0x83, 0x8A, 0x92, 0x93, 0x9A]),
    st.integers(0, 255),
)

AREAS = st.builds(
    lambda at, rest: bytes(at) + rest,
    st.tuples(st.integers(0, 150), st.sampled_from([0, 1, 8, 250, 255])),
    st.binary(max_size=12),
)


def answered(path, baud=1_000_000, id_=3):
    """Whether Feetech's own client reaches a servo."""
    port, handler = scs.PortHandler(str(path)), scs.PacketHandler(0)
    assert port.openPort() and port.setBaudRate(baud)
    until = time.monotonic() + (PATIENCE_S if baud == 1_000_000 else 0.2)
    model = 0
    while model != 777 and time.monotonic() < until:
        # an answer that comes late, or is another host's, is not the one to the next question;
        # the client's own clearPort() leaves it there
        time.sleep(0.05)
        port.ser.reset_input_buffer()
        # this client reads past the end of the answer to another question
        with suppress(IndexError):
            model = handler.ping(port, id_)[0]
        port.is_using = False
    port.closePort()
    return model == 777


@pytest.fixture(scope="module")
def buses():
    """A bus of each family, for many examples."""
    return [SimulatedServoBus(SimulatedArm(load_arm(name))) for name in ("so101", "koch")]


@given(
    st.sampled_from([0, 1]),
    st.lists(
        st.tuples(st.integers(0, 254), INSTRUCTIONS, st.one_of(AREAS, st.binary(max_size=30))),
        min_size=1,
        max_size=4,
    ),
)
@example(0, [(3, 2, b"\0\xff")])
@example(0, [(3, 3, b"\x06\xff")])
def test_no_packet_ends_the_bus(buses, which, sent):
    """Whatever a host writes, to whatever address: physics goes on, and all servos answer again
    after a restart with what they had stored before.
    """
    bus, protocol = buses[which], (FEETECH, DYNAMIXEL)[which]
    before = [servo.saved for servo in bus.arm.servos]
    for row in sent:
        bus.feed(protocol.instruction(*row), bus.arm.world.now_ns)
        bus.arm.advance(bus.arm.world.now_ns + 1_000_000)
    for servo, saved in zip(bus.arm.servos, before, strict=True):
        servo.saved = servo.backup = saved
        servo.restart()
    answers = bus.feed(protocol.instruction(BROADCAST, PING), bus.arm.world.now_ns)
    assert len(answers) == 6


def test_half_a_packet_is_forgotten_when_its_rest_does_not_come(bus_of):
    """From a client that was killed while it wrote: the next one is understood at once."""
    bus = bus_of("so101")
    with ServoTerminal(bus) as terminal:
        with serial.Serial(terminal.path, 1_000_000) as port:
            # says that 244 bytes follow
            port.write(FEETECH.instruction(1, 3, b"\x28" + bytes(240))[:9])
        wait_for(lambda: bus._splitter.left)
        time.sleep(0.03)
        assert answered(terminal.path)
        assert bus.heard < 100 and terminal.error is None


def test_noise_and_echoed_bytes_are_no_packets(bus_of):
    """As from a client of another protocol."""
    bus = bus_of("so101")
    noise = DYNAMIXEL.ping() + bytes(range(256)) * 4 + b"\xff" * 7
    with ServoTerminal(bus) as terminal:
        with serial.Serial(terminal.path, 1_000_000) as port:
            port.write(noise)
        assert answered(terminal.path) and terminal.error is None


def test_a_client_that_never_reads_is_held_up_and_forgotten(bus_of):
    """It asks as fast as its port takes it; when it has gone, the next one waits for less than the
    line needs for what the port had taken.
    """
    bus = bus_of("so101")
    with ServoTerminal(bus) as terminal:
        line = os.open(terminal.path, os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY)
        sent, until = 0, time.monotonic() + 1.0
        while time.monotonic() < until:
            try:
                sent += os.write(line, 50 * FEETECH.read(1, 0, 80))
            except BlockingIOError:
                time.sleep(0.01)
        os.close(line)
        # the line carries 100 bytes a millisecond, and the port's own buffer
        assert 0 < sent < 200_000
        assert answered(terminal.path) and terminal.error is None


def test_only_the_servos_of_its_speed_hear_a_host(bus_of):
    """The others are silent, also for the speed of a terminal that nobody has set."""
    bus = bus_of("so101")
    with ServoTerminal(bus) as terminal:
        assert answered(terminal.path)
        for wrong in (38_400, 115_200):
            assert not answered(terminal.path, wrong)
        bus.arm.servos[2].write(6, b"\x04")
        wait_for(lambda: answered(terminal.path, 115_200))
        assert answered(terminal.path, id_=4)
        assert not answered(terminal.path, 115_200, id_=4)


def test_two_clients_at_once_disturb_each_other_only(bus_of):
    """They take each other's answers, as on any port; afterwards one alone gets all of its own."""
    bus = bus_of("so101")
    with ServoTerminal(bus) as terminal:
        ports = [serial.Serial(terminal.path, 1_000_000, timeout=0.001) for _ in range(2)]
        for turn in range(100):
            ports[turn % 2].write(FEETECH.read(1 + turn % 6, 56, 8))
            ports[(turn // 2) % 2].read(5)
        for port in ports:
            port.close()
        assert answered(terminal.path) and terminal.error is None


def wait_for(something):
    """Until it is true."""
    until = time.monotonic() + PATIENCE_S
    while not something():
        assert time.monotonic() < until, "it never happened"
        time.sleep(0.005)

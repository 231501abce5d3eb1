"""The makers' own clients on the simulated bus: every instruction that they have."""

from __future__ import annotations

import time

import dynamixel_sdk as dxl
import numpy as np
import pytest
import scservo_sdk as scs

from farhand.plants.servo_arm.simulated_arm import ServoTerminal, settled
from tests.plants.servo_arm.conftest import InstantPort

POSITION, GOAL, TORQUE, LOCK, OFFSET = 56, 42, 40, 55, 31
DXL_POSITION, DXL_GOAL, DXL_TORQUE, DXL_MODE = 132, 116, 64, 11


@pytest.fixture
def feetech(bus_of):
    """Bus, port and Feetech's packet handler."""
    bus = bus_of("so101")
    return bus, InstantPort(bus), scs.PacketHandler(0)


@pytest.fixture
def dynamixel(bus_of):
    """Bus, port and Dynamixel's packet handler."""
    bus = bus_of("koch")
    return bus, InstantPort(bus), dxl.PacketHandler(2.0)


def test_feetech_reads_and_writes(feetech):
    """Ping, all sizes of reads and writes, with and without an answer."""
    bus, port, handler = feetech
    assert handler.ping(port, 3) == (777, 0, 0)
    assert handler.ping(port, 9)[1] == scs.COMM_RX_TIMEOUT
    assert handler.read1ByteTxRx(port, 1, 0) == (3, 0, 0)
    assert handler.read2ByteTxRx(port, 1, 3) == (777, 0, 0)
    low, _, _ = handler.read2ByteTxRx(port, 1, POSITION)
    both, _, _ = handler.read4ByteTxRx(port, 1, POSITION)
    assert both & 0xFFFF == low == bus.arm.servos[0].position
    assert handler.write1ByteTxRx(port, 1, 21, 16) == (0, 0)
    assert handler.write2ByteTxRx(port, 1, GOAL, 2100) == (0, 0)
    assert handler.write4ByteTxRx(port, 1, GOAL, 2200 | 300 << 16) == (0, 0)
    assert handler.read2ByteTxRx(port, 1, GOAL)[0] == 2200
    assert handler.write2ByteTxOnly(port, 1, GOAL, 2300) == 0
    port.is_using = False
    assert handler.read2ByteTxRx(port, 1, GOAL)[0] == 2300
    # what can only be read stays
    handler.write2ByteTxRx(port, 1, 3, 1)
    assert handler.ping(port, 1)[0] == 777


def test_feetech_registers_an_action_and_carries_it_out_later(feetech):
    """All servos at the same moment."""
    bus, port, handler = feetech
    for id_ in (1, 2):
        handler.write1ByteTxRx(port, id_, TORQUE, 1)
        goal = [scs.SCS_LOBYTE(2000), scs.SCS_HIBYTE(2000)]
        assert handler.regWriteTxRx(port, id_, GOAL, 2, goal) == (0, 0)
        assert handler.read2ByteTxRx(port, id_, GOAL)[0] != 2000
        assert handler.read1ByteTxRx(port, id_, 64)[0] == 1
    assert handler.action(port, scs.BROADCAST_ID) == 0
    assert [handler.read2ByteTxRx(port, id_, GOAL)[0] for id_ in (1, 2)] == [2000, 2000]


def test_feetech_sync_reads_and_writes(feetech):
    """Six servos with one packet; they go where they are sent."""
    bus, port, handler = feetech
    writer = scs.GroupSyncWrite(port, handler, TORQUE, 1)
    for id_ in range(1, 7):
        writer.addParam(id_, [1])
    assert writer.txPacket() == 0
    goals = {servo.id: servo.position + 60 for servo in bus.arm.servos}
    writer = scs.GroupSyncWrite(port, handler, GOAL, 2)
    for id_, goal in goals.items():
        writer.addParam(id_, [scs.SCS_LOBYTE(goal), scs.SCS_HIBYTE(goal)])
    assert writer.txPacket() == 0
    settled(bus.arm, 1.0)
    reader = scs.GroupSyncRead(port, handler, POSITION, 8)
    for id_ in goals:
        reader.addParam(id_)
    assert reader.txRxPacket() == 0
    for id_, goal in goals.items():
        assert reader.isAvailable(id_, POSITION, 2)
        # gravity bends what holds by position error alone
        assert reader.getData(id_, POSITION, 2) == pytest.approx(goal, abs=25)
        assert 110 <= reader.getData(id_, 62, 1) <= 120


def test_a_locked_feetech_servo_forgets_what_was_written_to_its_eeprom(feetech):
    """As its manual says of the register Lock."""
    bus, port, handler = feetech
    before = handler.read2ByteTxRx(port, 2, 9)[0]
    for lock, kept in ((1, before), (0, 700)):
        handler.write1ByteTxRx(port, 2, LOCK, lock)
        handler.write2ByteTxRx(port, 2, 9, 700)
        bus.reboot(2)
        settled(bus.arm, 1.9)
        assert handler.read2ByteTxRx(port, 2, 9)[0] == kept
        assert handler.read1ByteTxRx(port, 2, TORQUE)[0] == 0


def test_feetech_makes_its_present_position_the_middle(feetech):
    """By the value 128 of the torque register."""
    bus, port, handler = feetech
    handler.write1ByteTxRx(port, 4, TORQUE, 128)
    assert handler.read2ByteTxRx(port, 4, POSITION)[0] == 2048


def test_feetech_restarts_backs_up_and_goes_back(feetech):
    """The instructions of its manual for which its client has no call, as raw packets."""
    bus, port, handler = feetech
    servo = bus.arm.servos[1]

    def send(code, *data):
        packet = [0, 0, 2, len(data) + 2, code, *data, 0]
        handler.txRxPacket(port, packet)
        port.is_using = False

    send(0x0B, 0x00, 0x04)
    assert handler.read2ByteTxRx(port, 2, POSITION)[0] == 1024
    send(0x0B)
    assert handler.read2ByteTxRx(port, 2, POSITION)[0] == 2048
    handler.write1ByteTxRx(port, 2, LOCK, 0)
    handler.write2ByteTxRx(port, 2, 9, 700)
    send(0x09)
    handler.write2ByteTxRx(port, 2, 9, 800)
    send(0x06)
    assert handler.read2ByteTxRx(port, 2, 9)[0] == 700 and servo.id == 2
    send(0x0A)
    send(0x08)
    assert handler.ping(port, 2)[1] == scs.COMM_RX_TIMEOUT
    settled(bus.arm, 1.9)
    assert handler.ping(port, 2)[1] == 0


def test_dynamixel_reads_and_writes(dynamixel):
    """Ping one and all, all sizes of reads and writes."""
    bus, port, handler = dynamixel
    assert handler.ping(port, 1) == (1060, 0, 0)
    found, result = handler.broadcastPing(port)
    assert result == 0
    assert found == {k: [1060 if k < 3 else 1200, 46] for k in range(1, 7)}
    assert handler.read1ByteTxRx(port, 3, 6) == (46, 0, 0)
    assert handler.read2ByteTxRx(port, 3, 0) == (1200, 0, 0)
    assert handler.read4ByteTxRx(port, 3, DXL_POSITION)[0] == bus.arm.servos[2].position
    assert handler.write1ByteTxRx(port, 3, DXL_TORQUE, 1) == (0, 0)
    assert handler.write2ByteTxRx(port, 3, 84, 400) == (0, 0)
    assert handler.write4ByteTxRx(port, 3, DXL_GOAL, 2050) == (0, 0)
    assert handler.write4ByteTxOnly(port, 3, DXL_GOAL, 2060) == 0
    port.is_using = False
    assert handler.read4ByteTxRx(port, 3, DXL_GOAL)[0] == 2060


def test_dynamixel_refuses_by_number(dynamixel):
    """Access, range, limit and unknown mode, as the e-manual lists its errors."""
    _, port, handler = dynamixel
    assert handler.write1ByteTxRx(port, 1, DXL_TORQUE, 1) == (0, 0)
    # EEPROM with torque on
    assert handler.write1ByteTxRx(port, 1, DXL_MODE, 16) == (0, 7)
    assert handler.write4ByteTxRx(port, 1, DXL_POSITION, 0) == (0, 7)
    assert handler.write1ByteTxRx(port, 1, DXL_TORQUE, 2) == (0, 4)
    # beyond the position limits
    assert handler.write4ByteTxRx(port, 1, DXL_GOAL, 4090) == (0, 6)
    assert handler.readTxRx(port, 1, 900, 4)[1:] == (0, 4)
    handler.write1ByteTxRx(port, 1, DXL_TORQUE, 0)
    # an XL430 has no current mode
    assert handler.write1ByteTxRx(port, 1, DXL_MODE, 0) == (0, 4)
    assert handler.write1ByteTxRx(port, 3, DXL_MODE, 0) == (0, 0)


def test_dynamixel_has_registered_writes_reboot_clear_and_reset(dynamixel):
    """The rest of its instructions."""
    bus, port, handler = dynamixel
    handler.write1ByteTxRx(port, 3, DXL_TORQUE, 1)
    goal = [dxl.DXL_LOBYTE(2100), dxl.DXL_HIBYTE(2100), 0, 0]
    assert handler.regWriteTxRx(port, 3, DXL_GOAL, 4, goal) == (0, 0)
    assert handler.read4ByteTxRx(port, 3, DXL_GOAL)[0] != 2100
    assert handler.action(port, 3) == 0
    assert handler.read4ByteTxRx(port, 3, DXL_GOAL)[0] == 2100
    # not while it holds
    assert handler.clearMultiTurn(port, 3) == (0, 1)
    assert handler.reboot(port, 3) == (0, 0)
    assert handler.ping(port, 3)[1] == dxl.COMM_RX_TIMEOUT
    settled(bus.arm, 0.4)
    assert handler.read1ByteTxRx(port, 3, DXL_TORQUE) == (0, 0, 0)
    assert handler.clearMultiTurn(port, 3) == (0, 0)
    assert handler.write4ByteTxRx(port, 3, 20, 77) == (0, 0)
    assert handler.factoryReset(port, 3, 0x02) == (0, 0)
    assert handler.read4ByteTxRx(port, 3, 20)[0] == 0
    assert handler.ping(port, 3)[0] == 1200


@pytest.mark.parametrize("fast", [False, True])
def test_dynamixel_group_reads_and_writes(dynamixel, fast):
    """Sync and bulk, in their slow and fast forms."""
    bus, port, handler = dynamixel
    writer = dxl.GroupSyncWrite(port, handler, DXL_TORQUE, 1)
    for id_ in range(1, 7):
        writer.addParam(id_, [1])
    assert writer.txPacket() == 0
    bulk = dxl.GroupBulkWrite(port, handler)
    bulk.addParam(1, DXL_GOAL, 4, list((2222).to_bytes(4, "little")))
    bulk.addParam(2, 84, 2, [100, 0])
    assert bulk.txPacket() == 0
    sync = dxl.GroupSyncRead(port, handler, DXL_GOAL, 4)
    for id_ in range(1, 7):
        sync.addParam(id_)
    assert (sync.fastSyncRead() if fast else sync.txRxPacket()) == 0
    assert sync.getData(1, DXL_GOAL, 4) == 2222
    assert sync.getData(6, DXL_GOAL, 4) == bus.arm.servos[5].position
    many = dxl.GroupBulkRead(port, handler)
    many.addParam(1, DXL_GOAL, 4)
    many.addParam(2, 84, 2)
    assert (many.fastBulkRead() if fast else many.txRxPacket()) == 0
    assert many.getData(1, DXL_GOAL, 4) == 2222
    assert many.getData(2, 84, 2) == 100


@pytest.mark.parametrize("sdk, name", [(scs, "so101"), (dxl, "koch")])
def test_no_instruction_of_a_client_is_left_out(bus_of, sdk, name):
    """Every number of an instruction that a client has is sent by its own calls and understood."""
    bus, heard = bus_of(name), []
    answer = bus.answer
    bus.answer = lambda packet, now_ns: (heard.append(packet.code), answer(packet, now_ns))[1]
    port, handler = InstantPort(bus), sdk.PacketHandler(0 if sdk is scs else 2.0)
    at, size = (GOAL, 2) if sdk is scs else (DXL_GOAL, 4)
    goal = list((2050).to_bytes(size, "little"))

    def sent(result):
        port.is_using = False
        assert result == 0

    assert handler.ping(port, 1)[1:] == (0, 0)
    sent(handler.readTx(port, 1, at, size))
    assert handler.readRx(port, 1, size)[1:] == (0, 0)
    for write in (handler.writeTxOnly, handler.regWriteTxOnly):
        sent(write(port, 1, at, size, goal))
    assert handler.writeTxRx(port, 1, at, size, goal) == (0, 0)
    sent(handler.action(port, sdk.BROADCAST_ID))
    area = [at, size] if sdk is scs else [at, 0, size, 0]
    assert len(area) == 2 * bus.protocol.address_bytes
    sent(handler.syncWriteTxOnly(port, at, size, [1, *goal], 1 + size))
    if sdk is scs:
        sent(handler.syncReadTx(port, at, size, [1, 2], 2))
        assert handler.readRx(port, 1, size)[:2] == (goal, 0)
    else:
        sent(handler.bulkWriteTxOnly(port, [1, *area, *goal], 5 + size))
        for fast in (False, True):
            sent(handler.syncReadTx(port, at, size, [1, 2], 2, fast))
            sent(handler.bulkReadTx(port, [1, *area], 5, fast))
        port.clearPort()
        assert handler.clearMultiTurn(port, 1) == (0, 0)
        assert handler.reboot(port, 2) == (0, 0)
        assert handler.factoryReset(port, 1, 2) == (0, 0)
    known = {value for key, value in vars(sdk).items() if key.startswith("INST_")}
    assert set(heard) == known - {0x55} and len(known) >= 7


def test_a_shadow_obeys_its_secondary_id_and_is_silent(bus_of):
    """The second servo of an ALOHA arm's shoulder, with the ids that Interbotix publishes."""
    bus = bus_of("vx300s")
    port, handler = InstantPort(bus), dxl.PacketHandler(2.0)
    assert handler.read1ByteTxRx(port, 3, 12)[0] == 2
    assert handler.write1ByteTxRx(port, 2, DXL_TORQUE, 1) == (0, 0)
    assert handler.read1ByteTxRx(port, 3, DXL_TORQUE)[0] == 1
    # both tell the same place, because the first one turns its positions round
    places = [handler.read4ByteTxRx(port, id_, DXL_POSITION)[0] for id_ in (2, 3)]
    assert abs(places[0] - places[1]) <= 2
    before = bus.arm.port.q[1]
    assert handler.write4ByteTxRx(port, 2, DXL_GOAL, places[0] + 100) == (0, 0)
    settled(bus.arm, 1.0)
    assert bus.arm.port.q[1] > before + 0.05


def test_gello_speaks_at_its_own_rate(bus_of, tmp_path):
    """57600 baud, eight XL330; a host at another rate hears nothing."""
    bus = bus_of("gello")
    with ServoTerminal(bus, tmp_path / "gello"):
        port, handler = dxl.PortHandler(str(tmp_path / "gello")), dxl.PacketHandler(2.0)
        assert port.openPort() and port.setBaudRate(57_600)
        for _ in range(20):
            answer = handler.ping(port, 8)
            if answer[1] == 0:
                break
        assert answer == (1200, 0, 0)
        assert port.setBaudRate(1_000_000)
        assert handler.ping(port, 8)[1] == dxl.COMM_RX_TIMEOUT
        port.closePort()


def test_both_clients_count_what_a_bad_line_does(bus_of):
    """A lost answer is a time-out, a wrong bit a corrupt packet; none a wrong value."""
    bus = bus_of("so101", drop=0.1, corrupt=0.1)
    port, handler = InstantPort(bus), scs.PacketHandler(0)
    right = bus.arm.servos[0].position
    results = [handler.read2ByteTxRx(port, 1, POSITION) for _ in range(200)]
    good = [value for value, result, error in results if result == 0 and error == 0]
    assert set(good) == {right}
    assert len(results) - len(good) == pytest.approx(bus.lost, abs=2)
    assert 20 <= bus.lost <= 60


@pytest.mark.parametrize("sdk, name, at", [(scs, "so101", POSITION), (dxl, "koch", DXL_POSITION)])
def test_the_clients_find_the_arm_at_a_link_to_its_terminal(bus_of, tmp_path, sdk, name, at):
    """In wall time, with their own serial ports; unplugged, the link is gone."""
    bus, link = bus_of(name), tmp_path / "arm"
    with ServoTerminal(bus, link) as terminal:
        port = sdk.PortHandler(str(link))
        assert port.openPort() and port.setBaudRate(1_000_000)
        handler = sdk.PacketHandler(0 if sdk is scs else 2.0)
        size = 2 if sdk is scs else 4
        read = {2: handler.read2ByteTxRx, 4: handler.read4ByteTxRx}[size]
        until = time.monotonic() + 10.0
        found = read(port, 1, at)
        while found[1] and time.monotonic() < until:
            found = read(port, 1, at)
        assert found == (bus.arm.servos[0].position, 0, 0)
        port.closePort()
        assert terminal.error is None
    assert not link.exists() and not np.isnan(bus.arm.port.q).any()

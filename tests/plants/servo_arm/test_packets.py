"""Frames of both servo families, as the makers print them in their protocol manuals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.plants.servo_arm import packets
from farhand.plants.servo_arm.packets import (
    ACTION,
    BACKUP,
    BROADCAST,
    BULK_READ,
    BULK_WRITE,
    CALIBRATE,
    CLEAR,
    CLEAR_TURNS,
    CONTROL_BACKUP,
    DYNAMIXEL,
    FAST_BULK_READ,
    FAST_SYNC_READ,
    FEETECH,
    REBOOT,
    REG_WRITE,
    RESET,
    PacketSplitter,
    ServoPacket,
)

GOAL = bytes.fromhex("0008 0000 E803")

FEETECH_MANUAL = {
    "FF FF 01 02 01 FB": FEETECH.ping(1),
    "FF FF 01 02 00 FC": FEETECH.status(1, 0),
    "FF FF 01 04 02 38 02 BE": FEETECH.read(1, 0x38, 2),
    "FF FF 01 04 00 18 05 DD": FEETECH.status(1, 0, bytes.fromhex("1805")),
    "FF FF FE 04 03 05 01 F4": FEETECH.write(BROADCAST, 5, b"\x01"),
    "FF FF 01 09 03 2A 00 08 00 00 E8 03 D5": FEETECH.write(1, 0x2A, GOAL),
    "FF FF 01 09 04 2A 00 08 00 00 E8 03 D4": FEETECH.write(1, 0x2A, GOAL, REG_WRITE),
    "FF FF FE 02 05 FA": FEETECH.instruction(BROADCAST, ACTION),
    "FF FF FE 20 83 2A 06 01 00 08 00 00 E8 03 02 00 08 00 00 E8 03 03 00 08 00 00 E8 03 "
    "04 00 08 00 00 E8 03 58": FEETECH.sync_write(0x2A, dict.fromkeys((1, 2, 3, 4), GOAL)),
    "FF FF FE 06 82 38 08 01 02 36": FEETECH.sync_read([1, 2], 0x38, 8),
    "FF FF 01 0A 00 00 08 00 00 00 00 79 1E 55": FEETECH.status(
        1, 0, bytes.fromhex("00080000 0000791E")
    ),
    "FF FF 02 0A 00 FF 07 00 00 00 00 77 23 53": FEETECH.status(
        2, 0, bytes.fromhex("FF070000 00007723")
    ),
    "FF FF 01 02 0A F2": FEETECH.instruction(1, CLEAR_TURNS),
    "FF FF 01 02 0B F1": FEETECH.instruction(1, CALIBRATE),
    "FF FF 01 04 0B 00 04 EB": FEETECH.instruction(1, CALIBRATE, b"\0\4"),
    "FF FF 01 02 06 F6": FEETECH.instruction(1, RESET),
    "FF FF 01 02 09 F3": FEETECH.instruction(1, BACKUP),
    "FF FF 01 02 08 F4": FEETECH.instruction(1, REBOOT),
}
"""All examples of Feetech's "Servo SCS Communication Protocol" for its magnetic
encoder servos, sections 4.1 to 4.12, one where several differ by the id; compared with a public
English transcription of that document.
"""

DYNAMIXEL_MANUAL = {
    "FF FF FD 00 01 03 00 01 19 4E": DYNAMIXEL.ping(1),
    "FF FF FD 00 FE 03 00 01 31 42": DYNAMIXEL.ping(),
    "FF FF FD 00 01 07 00 55 00 06 04 26 65 5D": DYNAMIXEL.status(1, 0, b"\x06\x04\x26"),
    "FF FF FD 00 02 07 00 55 00 06 04 26 6F 6D": DYNAMIXEL.status(2, 0, b"\x06\x04\x26"),
    "FF FF FD 00 01 07 00 02 84 00 04 00 1D 15": DYNAMIXEL.read(1, 132, 4),
    "FF FF FD 00 01 08 00 55 00 A6 00 00 00 8C C0": DYNAMIXEL.status(1, 0, b"\xa6\0\0\0"),
    "FF FF FD 00 01 09 00 03 74 00 00 02 00 00 CA 89": DYNAMIXEL.write(1, 116, b"\0\2\0\0"),
    "FF FF FD 00 01 04 00 55 00 A1 0C": DYNAMIXEL.status(1, 0),
    "FF FF FD 00 01 09 00 04 68 00 C8 00 00 00 AE 8E": DYNAMIXEL.write(
        1, 104, b"\xc8\0\0\0", REG_WRITE
    ),
    "FF FF FD 00 01 03 00 05 02 CE": DYNAMIXEL.instruction(1, ACTION),
    "FF FF FD 00 01 04 00 06 01 A1 E6": DYNAMIXEL.instruction(1, RESET, b"\x01"),
    "FF FF FD 00 01 03 00 08 2F 4E": DYNAMIXEL.instruction(1, REBOOT),
    "FF FF FD 00 01 08 00 10 01 44 58 4C 22 B1 DC": DYNAMIXEL.instruction(
        1, CLEAR, bytes.fromhex("0144584C22")
    ),
    "FF FF FD 00 FE 09 00 82 84 00 04 00 01 02 CE FA": DYNAMIXEL.sync_read([1, 2], 132, 4),
    "FF FF FD 00 FE 11 00 83 74 00 04 00 01 96 00 00 00 02 AA 00 00 00 82 87": (
        DYNAMIXEL.sync_write(116, {1: b"\x96\0\0\0", 2: b"\xaa\0\0\0"})
    ),
    "FF FF FD 00 FE 0A 00 8A 84 00 04 00 03 07 04 20 F2": DYNAMIXEL.instruction(
        BROADCAST, FAST_SYNC_READ, bytes.fromhex("84000400 030704")
    ),
    "FF FF FD 00 FE 19 00 55 00 03 A6 00 00 00 84 08 00 07 1F 08 00 00 16 CA "
    "00 04 FF 03 00 00 D1 9E": DYNAMIXEL.fast_status(
        [
            ServoPacket(3, 0, b"\xa6\0\0\0"),
            ServoPacket(7, 0, b"\x1f\x08\0\0"),
            ServoPacket(4, 0, b"\xff\3\0\0"),
        ]
    ),
    "FF FF FD 00 01 08 00 20 01 43 54 52 4C 16 F5": DYNAMIXEL.instruction(
        1, CONTROL_BACKUP, bytes.fromhex("014354524C")
    ),
    "FF FF FD 00 01 08 00 20 02 43 54 52 4C 9E F5": DYNAMIXEL.instruction(
        1, CONTROL_BACKUP, bytes.fromhex("024354524C")
    ),
    "FF FF FD 00 02 08 00 55 00 1F 08 00 00 BA BE": DYNAMIXEL.status(2, 0, b"\x1f\x08\0\0"),
    "FF FF FD 00 01 06 00 55 00 77 00 C3 69": DYNAMIXEL.status(1, 0, b"\x77\0"),
    "FF FF FD 00 02 05 00 55 00 24 8B A9": DYNAMIXEL.status(2, 0, b"\x24"),
    "FF FF FD 00 FE 0D 00 92 01 90 00 02 00 02 92 00 01 00 1A 05": DYNAMIXEL.instruction(
        BROADCAST, BULK_READ, bytes.fromhex("0190000200 0292000100")
    ),
    "FF FF FD 00 FE 10 00 93 01 20 00 02 00 A0 00 02 1F 00 01 00 50 B7 68": DYNAMIXEL.instruction(
        BROADCAST, BULK_WRITE, bytes.fromhex("0120000200A000 021F00010050")
    ),
    "FF FF FD 00 FE 12 00 9A 03 84 00 04 00 07 7C 00 02 00 04 92 00 01 00 DA 2D": (
        DYNAMIXEL.instruction(
            BROADCAST, FAST_BULK_READ, bytes.fromhex("0384000400 077C000200 0492000100")
        )
    ),
    "FF FF FD 00 FE 14 00 55 00 03 A6 00 00 00 67 A4 00 07 A5 01 24 74 00 04 1F D9 C1": (
        DYNAMIXEL.fast_status(
            [
                ServoPacket(3, 0, b"\xa6\0\0\0"),
                ServoPacket(7, 0, b"\xa5\x01"),
                ServoPacket(4, 0, b"\x1f"),
            ]
        )
    ),
}
"""All examples of https://emanual.robotis.com/docs/en/dxl/protocol2/ (as of May 2026, 5ac1a6b83 of
ROBOTIS-GIT/emanual, docs/en/dxl/protocol2.md), compared by program, and what makes them here."""


@pytest.mark.parametrize("manual", [*FEETECH_MANUAL, *DYNAMIXEL_MANUAL])
def test_a_packet_is_the_one_that_the_manual_prints(manual):
    """Byte for byte, checksums included."""
    made = {**FEETECH_MANUAL, **DYNAMIXEL_MANUAL}[manual]
    assert made.hex(" ").upper() == manual


@given(
    st.sampled_from([FEETECH, DYNAMIXEL]),
    st.lists(
        st.tuples(st.integers(0, 252), st.integers(0, 127), st.binary(max_size=40)), max_size=5
    ),
    st.binary(max_size=5),
    st.integers(1, 7),
)
def test_packets_come_out_of_any_stream_as_they_went_in(protocol, sent, noise, piece):
    """In pieces, after noise, with headers in their data; a Feetech header has no stuffing, so the
    noise before it ends with a byte that is none.
    """
    stream = noise.replace(b"\xff", b"\x7f") + b"".join(protocol.status(*row) for row in sent)
    splitter, found = PacketSplitter(protocol, statuses=True), []
    for start in range(0, len(stream), piece):
        found += splitter.feed(stream[start : start + piece])
    assert found == [ServoPacket(*row) for row in sent]


@pytest.mark.parametrize("protocol", [FEETECH, DYNAMIXEL])
def test_a_corrupt_packet_is_counted_and_the_next_one_found(protocol):
    """Whichever byte behind the length is wrong."""
    good = protocol.status(3, 0, b"\x12\x34")
    for place in range(len(protocol.header) + 2 + protocol.address_bytes, len(good)):
        bad = bytearray(good)
        bad[place] ^= 0x10
        splitter = PacketSplitter(protocol, statuses=True)
        assert splitter.feed(bytes(bad) + good) == [ServoPacket(3, 0, b"\x12\x34")]
        assert splitter.corrupt == 1


def test_a_fast_answer_has_a_checksum_behind_every_servo():
    """Each is the CRC of everything before it."""
    raw = DYNAMIXEL.fast_status(
        [ServoPacket(3, 0, b"\xa6\0\0\0"), ServoPacket(7, 0x80, b"\x1f\x08\0\0")]
    )
    assert raw[:10].hex(" ") == "ff ff fd 00 fe 11 00 55 00 03"
    for end in (14, 22):
        assert packets.crc16(raw[:end]) == int.from_bytes(raw[end : end + 2], "little")
    assert len(raw) == 24


@given(st.integers(-1023, 1023))
def test_signs_are_a_bit_of_their_own(value):
    """As in Feetech's load, whose bit is 10."""
    assert packets.from_sign_magnitude(packets.sign_magnitude(value, 10), 10) == value
    assert packets.sign_magnitude(-1, 10) == 0x401

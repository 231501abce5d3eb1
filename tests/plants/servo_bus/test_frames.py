"""Frames of the servo bus: byte for byte, and what is not one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.errors import LinkError, OutOfRange
from farhand.plants.servo_bus import frames

byte = st.integers(0, 255)


def test_a_move_is_the_seven_bytes_of_the_table() -> None:
    """Servo 44 to its centre, 1500 counts."""
    assert frames.move(44, 1500).encode() == bytes.fromhex("802c05dc730000")
    assert frames.FRAME_NS == pytest.approx(4.010e6, rel=1e-3)


@given(byte, byte, byte)
def test_the_first_five_bytes_sum_to_zero_and_come_back_as_they_were(
    command: int, first: int, second: int
) -> None:
    """Also where the printed formula would give 256."""
    frame = frames.Frame(command, first, second)
    assert sum(frame.encode()[:5]) % 256 == 0
    assert frames.decode(frame.encode()) == frame


@pytest.mark.parametrize(
    "raw", [b"", bytes(7), b"\x80\x2c\x05\xdc\x74\x00\x00", b"\x80\x2c\x05\xdc\x73\x00"]
)
def test_a_damaged_frame_is_refused(raw: bytes) -> None:
    """Another length, start or checksum."""
    with pytest.raises(LinkError):
        frames.decode(raw)


@given(st.binary(max_size=6).filter(lambda noise: frames.START not in noise), st.integers(0, 7))
def test_a_frame_is_found_behind_noise_however_its_bytes_arrive(noise: bytes, cut: int) -> None:
    """The splitter waits for the rest."""
    frame, splitter = frames.move(23, 1500), frames.Splitter()
    raw = noise + frame.encode()
    found = splitter.feed(raw[: len(noise) + cut]) + splitter.feed(raw[len(noise) + cut :])
    assert found == [frame]


@pytest.mark.parametrize("counts", [599, 2401])
def test_a_position_beyond_the_servo_is_not_sent(counts: int) -> None:
    """600 to 2400."""
    with pytest.raises(OutOfRange):
        frames.move(11, counts)


@pytest.mark.parametrize(
    ("answer", "position"),
    [(b"\x05\xdc", 1500), (b"\xff\xff", None), (b"\x02\x00", None), (None, None)],
)
def test_an_answer_is_believed_only_within_the_window(
    answer: bytes | None, position: int | None
) -> None:
    """Failure, nonsense and silence are the same: no position."""
    assert frames.position(answer) == position

"""A CAN bus in virtual time: bits, who goes first, errors and bus-off."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.plants.damiao.line import (
    BUS_OFF,
    CanFrame,
    CanLine,
    CanNode,
    checksum,
    frame_bits,
    stuff_bits,
)

FRAME = st.builds(CanFrame, st.integers(0, 0x7FF), st.binary(min_size=8, max_size=8))


def test_a_bit_is_inserted_after_five_alike_and_counts_for_the_next() -> None:
    """The inserted bit and four more like it are again five."""
    assert stuff_bits(5, 0) == 1
    assert stuff_bits(9, 0b000001111) == 2
    assert stuff_bits(10, 0) == 2
    assert stuff_bits(40, int("01" * 20, 2)) == 0


def by_bits(text: str) -> int:
    """Inserted bits, as the standard says it: send, and after five alike one more."""
    sent = ""
    for bit in text:
        sent += bit
        if sent[-5:] in ("00000", "11111") and len(sent) >= 5:
            sent += "1" if bit == "0" else "0"
    return len(sent) - len(text)


@given(st.integers(1, 104), st.data())
def test_whole_bytes_give_the_same_as_bit_after_bit(count: int, data: st.DataObject) -> None:
    value = data.draw(st.integers(0, (1 << count - 1) - 1))
    assert stuff_bits(count, value) == by_bits(f"{value:0{count}b}")


@given(st.integers(1, 90), st.data())
def test_bits_and_their_checksum_together_have_the_checksum_zero(
    count: int, data: st.DataObject
) -> None:
    value = data.draw(st.integers(0, (1 << count) - 1))
    assert checksum(count + 15, value << 15 | checksum(count, value)) == 0


@given(FRAME)
def test_a_classic_frame_has_between_111_and_135_bits(frame: CanFrame) -> None:
    """47 + 8n bits with the gap, and at most (34 + 8n - 1)/4 inserted (Davis et al. 2007)."""
    bits, data_bits = frame_bits(frame)
    assert 111 <= bits <= 135 and data_bits == 0


@given(FRAME)
def test_an_fd_frame_takes_less_than_half_the_time_of_a_classic_one(frame: CanFrame) -> None:
    """At 1 and 5 Mbit/s. 30 bits at the slow rate and 96 at the fast one, and those inserted."""
    line = CanLine(1_000_000, 5_000_000)
    fd = CanFrame(frame.id, frame.data, fd=True)
    bits, data_bits = frame_bits(fd)
    assert 30 <= bits <= 34 and 96 <= data_bits <= 96 + 18
    assert line.frame_ns(fd) < 0.5 * line.frame_ns(frame)


def hub(noise: float = 0.0) -> tuple[CanLine, list[CanNode], list[tuple[int, int]]]:
    line, heard = CanLine(1_000_000, 5_000_000, np.random.default_rng(0)), list[tuple[int, int]]()
    listener = CanNode("listener", lambda frame, at: heard.append((frame.id, at)))
    senders = [CanNode(f"sender {i}", lambda frame, at: None) for i in range(2)]
    line.nodes, line.noise = [listener, *senders], noise
    return line, senders, heard


def test_the_smallest_identifier_goes_first_and_nobody_is_interrupted() -> None:
    line, (a, b), heard = hub()
    a.put(CanFrame(0x300, bytes(8)), 0)
    b.put(CanFrame(0x20, bytes(8)), 10)
    a.put(CanFrame(0x10, bytes(8)), 20)
    line.advance(1_000_000)
    assert [id for id, _ in heard] == [0x300, 0x10, 0x20]
    gaps = np.diff([at for _, at in heard])
    assert gaps.tolist() == [line.frame_ns(CanFrame(id, bytes(8))) for id in (0x10, 0x20)]
    assert line.busy_ns == heard[-1][1]


def test_a_sender_leaves_a_shorted_bus_after_32_failures_in_a_few_milliseconds() -> None:
    """Each failure counts eight, and 256 is the end."""
    line, (a, _), heard = hub(noise=1.0)
    a.put(CanFrame(1, bytes(8)), 0)
    line.advance(100_000_000)
    assert a.off and line.damaged == BUS_OFF // 8 == 32 and not heard
    assert a.off_ns is not None and 1_000_000 < a.off_ns < 5_000_000
    a.put(CanFrame(1, bytes(8)), 0)
    assert not a.waiting


def test_noise_only_repeats_frames() -> None:
    line, (a, _), heard = hub(noise=0.1)
    for number in range(200):
        a.put(CanFrame(number, bytes(8)), 0)
    line.advance(1_000_000_000)
    assert [id for id, _ in heard] == list(range(200)) and line.damaged > 5 and not a.off


def test_two_senders_of_one_identifier_destroy_each_other() -> None:
    """Nobody loses the arbitration; the first bit of data that differs is an error."""
    line, (a, b), heard = hub()
    a.put(CanFrame(5, bytes(8)), 0)
    b.put(CanFrame(5, b"\xff" * 8), 0)
    line.advance(100_000_000)
    assert not heard and a.off and b.off


@pytest.mark.parametrize(("fd", "least", "most"), [(False, 430, 563), (True, 1050, 1280)])
def test_eight_motors_have_the_cycles_per_second_that_others_count(
    fd: bool, least: float, most: float
) -> None:
    """i2rt: about 437 Hz on 1 Mbit/s with its waits. Damiao: nine motors at 1 kHz on 5 Mbit/s."""
    line, rng = CanLine(1_000_000, 5_000_000), np.random.default_rng(1)
    cycle_ns = sum(
        line.frame_ns(CanFrame(id, rng.bytes(8), fd))
        for motor in range(1, 9)
        for id in (motor, motor + 0x10)
    )
    assert least < 1e9 / cycle_ns < most
    if fd:
        assert 1e9 / cycle_ns * 8 / 9 > 1000.0

"""Frames of Damiao motors: byte for byte, as other people's clients write and read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.errors import BadValue, LinkError, UnknownName
from farhand.plants.damiao import frames
from farhand.plants.damiao.frames import Mit, MotorRegister, MotorState, Order, Status

number = st.floats(-60.0, 60.0)
MODEL = st.sampled_from(sorted(frames.models()))

# Written down from the package damiao-motor 1.0.6, encode_cmd_msg of DaMiaoMotor. LeRobot 0.6.1,
# whose encoder is of cmjang/DM_Control_Python, gives the same (tests/lerobot/test_damiao.py).
GOLDEN = [
    ("DM8009", Mit(0.0, 0.0, 0.0, 0.0, 0.0), "7fff7ff0000007ff"),
    ("DM8009", Mit(1.0, -2.0, 240.0, 3.0, 5.0), "8a3c7a47ad9998bd"),
    ("DM4340", Mit(-12.5, 10.0, 500.0, 5.0, 28.0), "0000ffffffffffff"),
    ("DM4310", Mit(0.3, 1.5, 24.0, 0.2, -0.7), "83118650c40a3770"),
    ("DM4310", Mit(99.0, -99.0, 999.0, 9.0, -99.0), "ffff000ffffff000"),
]


@pytest.mark.parametrize(("model", "command", "raw"), GOLDEN)
def test_mit_commands_have_the_bytes_that_another_client_sends(
    model: str, command: Mit, raw: str
) -> None:
    """Position in 16 bits, the rest in 12, the last one outside every range."""
    assert frames.encode_mit(command, frames.model(model)).hex() == raw


def test_an_answer_has_the_bytes_of_the_table() -> None:
    """Id 3, enabled, 1 rad, -2 rad/s, 5 N·m on a DM8009, drive at 41 °C, motor at 52 °C."""
    state = MotorState(3, Status.ENABLED, 1.0, -2.0, 5.0, 41, 52)
    # 35389 = 13.5/25·65535, 1956 = 43/90·4095, 2237 = 59/108·4095, all cut
    expected = bytes(
        [0x13, 35388 >> 8, 35388 & 255, 1956 >> 4, (1956 & 15) << 4 | 2237 >> 8, 2237 & 255, 41, 52]
    )
    assert frames.encode_state(state, frames.model("DM8009")) == expected
    back = frames.decode_state(expected, frames.model("DM8009"))
    assert (back.id, back.status, back.drive_temperature, back.motor_temperature) == (3, 1, 41, 52)
    assert back.q == pytest.approx(1.0, abs=25 / 65535)


@given(MODEL, number, number, st.floats(0.0, 600.0), st.floats(0.0, 6.0), number)
def test_what_a_motor_understands_is_at_most_one_step_below_what_was_sent(
    name: str, q: float, v: float, kp: float, kd: float, torque: float
) -> None:
    """Numbers outside the range are limited to it."""
    ranges = frames.model(name)
    got = frames.decode_mit(frames.encode_mit(Mit(q, v, kp, kd, torque), ranges), ranges)
    sent = [(q, got.q, ranges.position, 16), (v, got.v, ranges.velocity, 12)]
    sent += [(torque, got.torque, ranges.torque, 12)]
    for value, read, limit, bits in sent:
        kept = min(max(value, -limit), limit)
        assert -1e-9 <= kept - read <= 2 * limit / ((1 << bits) - 1) + 1e-9
    assert 0.0 <= min(kp, 500.0) - got.kp <= 500 / 4095 + 1e-9
    assert 0.0 <= min(kd, 5.0) - got.kd <= 5 / 4095 + 1e-9


def test_zero_cannot_be_sent() -> None:
    """The middle of the range lies between two steps: zero arrives half a step below."""
    ranges = frames.model("DM8009")
    got = frames.decode_mit(frames.encode_mit(Mit(), ranges), ranges)
    assert got.torque == pytest.approx(-ranges.steps[2] / 2)
    assert got.v == pytest.approx(-ranges.steps[1] / 2)


def test_the_steps_of_an_openarm_are_those_that_its_users_meet() -> None:
    """0.38 mrad; 0.022 rad/s and 0.026 N·m at the shoulder; 0.005 rad/s and 0.014 N·m above it."""
    assert frames.model("DM8009").steps == pytest.approx((0.38e-3, 0.022, 0.026), rel=0.02)
    assert frames.model("DM4340").steps == pytest.approx((0.38e-3, 0.0049, 0.0137), rel=0.01)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_not_a_number_is_never_sent(bad: float) -> None:
    with pytest.raises(BadValue, match="cannot be sent"):
        frames.encode_mit(Mit(torque=bad), frames.model("DM4310"))


def test_orders_and_registers_have_the_bytes_of_the_manual() -> None:
    """Enable, disable, zero; read, write, save and refresh of motor 2."""
    for order, last in ((Order.ENABLE, 0xFC), (Order.DISABLE, 0xFD), (Order.ZERO, 0xFE)):
        assert frames.encode_order(order) == bytes([255] * 7 + [last])
        assert frames.decode_order(frames.encode_order(order)) is order
    read = frames.encode_register(2, frames.READ, MotorRegister.MODE)
    assert read.hex() == "0200330a00000000"
    assert (
        frames.encode_register(2, frames.WRITE, MotorRegister.MODE, 1).hex() == "0200550a01000000"
    )
    assert frames.encode_register(2, frames.WRITE, MotorRegister.VELOCITY_RANGE, 45.0).hex() == (
        "0200551600003442"
    )
    assert frames.encode_register(2, frames.SAVE, 1, raw=bytes(4)).hex() == "0200aa0100000000"
    assert frames.encode_register(2, frames.REFRESH).hex() == "0200cc0000000000"
    assert frames.decode_register(bytes.fromhex("0200330900100000")).value == 4096
    assert frames.decode_register(bytes.fromhex("0200331600003442")).value == 45.0


def test_a_frame_that_cannot_be_is_refused() -> None:
    ranges = frames.model("DM4310")
    with pytest.raises(LinkError, match="8 bytes, not 7"):
        frames.decode_state(bytes(7), ranges)
    with pytest.raises(LinkError, match="unknown status 0x5"):
        frames.decode_state(b"\x51" + bytes(7), ranges)
    with pytest.raises(UnknownName, match="DM4310"):
        frames.model("DM4311")


@given(st.integers(1, 15), MODEL, number, number, number, st.sampled_from(list(Status)))
def test_a_state_is_not_taken_for_a_register(
    id: int, name: str, q: float, v: float, torque: float, status: Status
) -> None:
    """Within 12 rad, which is more than any joint turns."""
    raw = frames.encode_state(
        MotorState(id, status, min(max(q, -12.0), 12.0), v, torque), frames.model(name)
    )
    assert not frames.is_register(raw, id)

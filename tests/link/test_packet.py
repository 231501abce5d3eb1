"""The packet format: what goes in comes out, and nothing malformed gets in."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from farhand.errors import BadValue, LinkError, OutOfRange
from farhand.link.packet import Flag, Packet, model_hash

HASH = 0x0123_4567_89AB_CDEF
# places in the layout [bytes]
SEQUENCE, TIME, ECHO_TIME, ECHO_AGE, FLAGS, FLOATS = (24, 32, 40, 48, 56, 72)
# fmt: skip
ARRAYS = {
    "tool_quaternion": 4,
    "offset_quaternion": 4,
    "offset_position": 3,
    "map_shape": 5,
    "tool_position": 3,
    "tool_twist": 6,
    "port_energy_in": 6,
    "port_energy_out": 6,
    "measured_wrench": 6,
    "commanded_wrench": 6,
    "gripper": 2,
    "q": 7,
    "v": 6,
    "external_torque": 6,
}
OPTIONAL = {
    "measured_wrench": Flag.MEASURED_WRENCH,
    "commanded_wrench": Flag.COMMANDED_WRENCH,
    "gripper": Flag.GRIPPER,
    "external_torque": Flag.EXTERNAL_TORQUE,
}
BOOLEANS = {
    "engaged": Flag.ENGAGED,
    "clutch_pressed": Flag.CLUTCH_PRESSED,
    "tripped": Flag.TRIPPED,
    "deadman_held": Flag.DEADMAN_HELD,
    "leaving": Flag.LEAVING,
    "echo_valid": Flag.ECHO,
}
finite = st.floats(allow_nan=False, allow_infinity=False)
u32, u64, i64 = (
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**64 - 1),
    st.integers(-(2**63), 2**63 - 1),
)


def place_of(name: str) -> int:
    """Where an array field starts in the layout, in bytes."""
    names = list(ARRAYS)
    return FLOATS + 8 * sum(ARRAYS[before] for before in names[: names.index(name)])


def full_packet() -> Packet:
    """A packet in which every field holds something of its own."""
    packet = Packet(7, 6, HASH)
    packet.sequence, packet.time_ns, packet.echo_time_ns, packet.echo_age_ns = 11, 12, 13, 14
    packet.mode, packet.engagement_id, packet.buttons = 15, 16, 17
    for number, (name, size) in enumerate(ARRAYS.items()):
        setattr(packet, name, number + np.arange(size) / 8)
    packet.tool_quaternion = np.array([0.6, 0.0, 0.0, 0.8])
    packet.offset_quaternion = np.array([0.0, -0.6, 0.8, 0.0])
    return packet


def changed(change: Callable[[bytearray], None]) -> bytes:
    """A full packet on the wire, tampered with."""
    data = bytearray(full_packet().to_bytes())
    change(data)
    return bytes(data)


@st.composite
def packets(draw: st.DrawFn) -> Packet:
    """Any well-formed packet."""
    packet = Packet(draw(st.integers(0, 9)), draw(st.integers(0, 9)), draw(u64))
    packet.sequence, packet.time_ns, packet.echo_time_ns = draw(u64), draw(i64), draw(i64)
    packet.echo_age_ns = draw(st.integers(0, 2**63 - 1))
    packet.mode, packet.engagement_id, packet.buttons = draw(u32), draw(u32), draw(u32)
    for name in ARRAYS:
        if name in OPTIONAL and draw(st.booleans()):
            continue
        size = {"q": packet.nq, "v": packet.nv, "external_torque": packet.nv}.get(
            name, ARRAYS[name]
        )
        value = draw(arrays(np.float64, size, elements=finite))
        if name.endswith("quaternion"):
            value = np.sin(value) + 2.0
            value /= np.linalg.norm(value)
        setattr(packet, name, value)
    for name in BOOLEANS:
        setattr(packet, name, draw(st.booleans()))
    return packet


@given(packets())
def test_what_is_sent_is_what_is_received(packet: Packet) -> None:
    """Every field of a packet survives the wire to the bit."""
    received = packet.blank()
    assert received.load(packet.to_bytes()) == packet.sequence
    for name in (
        "sequence",
        "time_ns",
        "echo_time_ns",
        "echo_age_ns",
        "flags",
        "mode",
        "engagement_id",
        "buttons",
    ):
        assert getattr(received, name) == getattr(packet, name), name
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(received, name), getattr(packet, name), err_msg=name)
    assert received.to_bytes() == packet.to_bytes()


def test_the_layout_is_the_documented_one() -> None:
    """A reader in another language finds every field at its documented place, in little-endian
    order.
    """
    packet = full_packet()
    data = packet.to_bytes()
    assert len(data) == packet.size == 72 + 8 * (51 + 7 + 6 + 6)
    assert struct.unpack_from("<4sIIIQ", data) == (b"FARH", 4, 7, 6, HASH)
    flags = Flag.MEASURED_WRENCH | Flag.COMMANDED_WRENCH | Flag.GRIPPER | Flag.EXTERNAL_TORQUE
    assert struct.unpack_from("<QqqqIIII", data, SEQUENCE) == (11, 12, 13, 14, flags, 15, 16, 17)
    for name, size in ARRAYS.items():
        assert (
            list(struct.unpack_from(f"<{size}d", data, place_of(name)))
            == getattr(packet, name).tolist()
        ), name


def test_an_empty_packet_has_identity_rotations_and_no_measurements() -> None:
    """A fresh packet is well formed, and says that nothing has been measured."""
    packet = Packet(6, 6)
    packet.load(Packet(6, 6).to_bytes())
    assert (
        packet.tool_quaternion.tolist() == packet.offset_quaternion.tolist() == [0.0, 0.0, 0.0, 1.0]
    )
    assert packet.measured_wrench is packet.commanded_wrench is packet.gripper is None
    assert packet.flags == 0


def test_views_stay_valid_and_are_copied_into() -> None:
    """A view taken once sees everything loaded later; assigning copies and keeps no reference to
    the source.
    """
    packet, source = full_packet().blank(), np.arange(7.0)
    view = packet.q
    packet.q = source
    source[:] = -1.0
    assert view.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    packet.load(full_packet().to_bytes())
    assert packet.q is view
    assert view.tolist() == full_packet().q.tolist()


@pytest.mark.parametrize("name", OPTIONAL)
def test_no_measurement_is_a_flag_and_never_zero(name: str) -> None:
    """A measured zero arrives as zero, no measurement arrives as None, and the two are told apart
    by the flag alone.
    """
    sent = full_packet()
    received = sent.blank()
    setattr(sent, name, 0.0)
    received.load(sent.to_bytes())
    assert received.flags & OPTIONAL[name]
    assert getattr(received, name).tolist() == [0.0] * ARRAYS[name]
    setattr(sent, name, None)
    received.load(sent.to_bytes())
    assert not received.flags & OPTIONAL[name]
    assert getattr(received, name) is None


@pytest.mark.parametrize(("name", "bit"), BOOLEANS.items())
def test_each_flag_has_its_own_bit(name: str, bit: int) -> None:
    """Setting and clearing one flag leaves the others alone."""
    packet = Packet(1, 1)
    setattr(packet, name, True)
    assert packet.flags == bit
    packet.flags = Flag.ALL
    setattr(packet, name, False)
    assert packet.flags == Flag.ALL & ~bit
    assert [other for other in BOOLEANS if not getattr(packet, other)] == [name]


def test_a_misspelt_field_is_an_error() -> None:
    """A field that does not exist cannot be assigned and then silently not be sent."""
    with pytest.raises(AttributeError):
        Packet(6, 6).tool_twsit = np.zeros(6)  # type: ignore[attr-defined]


# fmt: skip
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "0 bytes, expected 632"),
        (b"FARH", "4 bytes, expected 632"),
        (full_packet().to_bytes()[:-1], "631 bytes, expected 632 for nq = 7, nv = 6"),
        (full_packet().to_bytes() + b"\0", "633 bytes, expected 632"),
        (
            changed(lambda data: data.__setitem__(0, 0)),
            r"starts with b'\\x00ARH', expected b'FARH'",
        ),
        (changed(lambda data: data.__setitem__(4, 1)), "version 1, expected 4"),
        (Packet(6, 6, HASH).to_bytes(), "nq 6, expected 7"),
        (Packet(7, 7, HASH).to_bytes(), "nv 7, expected 6"),
        (Packet(7, 6, HASH + 1).to_bytes(), f"model hash {HASH + 1}, expected {HASH}"),
        (
            changed(lambda data: struct.pack_into("<I", data, FLAGS, 1 << 20)),
            "flags 0x100000, known bits are 0x3ff",
        ),
        (
            changed(lambda data: struct.pack_into("<q", data, ECHO_AGE, -1)),
            "echo_age_ns = -1, it must be 0 ns or more",
        ),
        (
            changed(lambda data: struct.pack_into("<d", data, FLOATS, 0.7)),
            "tool_quaternion = .*, its length must be 1",
        ),
        (
            changed(lambda data: struct.pack_into("<d", data, FLOATS, 1e200)),
            "tool_quaternion = .* must be 1",
        ),
        (
            changed(lambda data: struct.pack_into("<d", data, FLOATS + 32, 9)),
            "offset_quaternion = .* must be 1",
        ),
    ],
)
def test_a_malformed_packet_is_refused_and_changes_nothing(data: bytes, message: str) -> None:
    """The refusal says on one line what is wrong and what would be right; the last good packet
    stays.
    """
    packet = full_packet()
    before = packet.to_bytes()
    with pytest.raises(LinkError, match=message) as refusal:
        packet.load(data)
    assert "\n" not in str(refusal.value)
    assert packet.to_bytes() == before


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ARRAYS)
def test_a_number_that_is_not_finite_is_refused_by_name(name: str, bad: float) -> None:
    """NaN and infinity get no further than the link, in whichever field they come."""
    for index in range(ARRAYS[name]):
        sent, received = full_packet(), full_packet()
        getattr(sent, name)[index] = bad
        with pytest.raises(LinkError, match=f"packet has {name} = .*, every number must be finite"):
            received.load(sent.to_bytes())
        assert received.to_bytes() == full_packet().to_bytes()


@pytest.mark.parametrize("name", OPTIONAL)
def test_what_is_not_valid_need_not_be_finite(name: str) -> None:
    """A field that its flag declares without meaning is not judged."""
    sent = full_packet()
    setattr(sent, name, np.nan)
    setattr(sent, name, None)
    received = full_packet()
    received.load(sent.to_bytes())
    assert getattr(received, name) is None


def test_numbers_of_any_finite_size_are_accepted() -> None:
    """The check for finite numbers does not mistake large ones for infinite."""
    sent = full_packet()
    sent.q = sent.v = sys.float_info.max  # type: ignore[assignment]
    received = sent.blank()
    received.load(sent.to_bytes())
    assert received.q.tolist() == [sys.float_info.max] * 7


def test_a_packet_that_is_not_newer_is_judged_but_not_taken_over() -> None:
    """The sequence number comes back in any case; the contents stay unless they are newer than
    asked for.
    """
    packet, old = full_packet().blank(), full_packet()
    before = packet.to_bytes()
    assert packet.load(old.to_bytes(), newer_than=11) == 11
    assert packet.to_bytes() == before
    assert packet.load(old.to_bytes(), newer_than=10) == 11
    assert packet.to_bytes() == old.to_bytes()
    old.q[0] = np.nan
    with pytest.raises(LinkError):
        packet.load(old.to_bytes(), newer_than=11)


@given(st.binary(max_size=700))
@example(full_packet().to_bytes()[:24] + b"\xff" * 520)
def test_random_bytes_raise_nothing_but_a_link_error(data: bytes) -> None:
    """Whatever the network delivers, the answer is a refusal."""
    with pytest.raises(LinkError):
        full_packet().load(data)


@given(st.lists(st.tuples(st.integers(0, 631), st.integers(0, 255)), max_size=40))
def test_a_tampered_packet_is_well_formed_or_refused(changes: list[tuple[int, int]]) -> None:
    """Flipped bytes either make another well-formed packet or a refusal, never another error or a
    NaN.
    """
    data = bytearray(full_packet().to_bytes())
    for place, value in changes:
        data[place] = value
    packet = full_packet()
    try:
        packet.load(bytes(data))
    except LinkError:
        assert packet.to_bytes() == full_packet().to_bytes()
    else:
        for name in ARRAYS:
            assert getattr(packet, name) is None or np.isfinite(getattr(packet, name)).all()


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("sequence", -1, OutOfRange),
        ("time_ns", 2**63, OutOfRange),
        ("mode", 2**32, OutOfRange),
        ("buttons", 0.5, BadValue),
        ("engagement_id", "first", BadValue),
    ],
)
def test_a_scalar_that_does_not_fit_its_place_is_named(
    name: str, value: object, error: type[Exception]
) -> None:
    """The sender learns which field is wrong."""
    packet = full_packet()
    setattr(packet, name, value)
    with pytest.raises(error, match=f"packet.{name} = "):
        packet.to_bytes()


@pytest.mark.parametrize(
    ("nq", "nv", "model"), [(-1, 6, 0), (6, 2701, 0), (6, 6, -1), (6, 6, 2**64)]
)
def test_a_layout_that_cannot_be_sent_is_refused(nq: int, nv: int, model: int) -> None:
    """Negative sizes, and packets longer than a datagram, are refused when the packet is made."""
    with pytest.raises(OutOfRange):
        Packet(nq, nv, model)


def test_the_largest_packet_fits_a_datagram() -> None:
    """No allowed layout is longer than the 65507 bytes of one UDP datagram."""
    assert Packet(2700, 2700).size + 64 <= 65507  # sealed


def test_the_model_hash_is_pinned() -> None:
    """The hash is the same on every machine and in every version that speaks this format."""
    assert (
        model_hash("ur5e", np.array([1.0, 2.0]))
        == model_hash("ur5e", [1, 2])
        == 3908249247058775854
    )
    assert model_hash(-0.0) == model_hash(0.0)


def test_the_model_hash_tells_apart_what_differs() -> None:
    """Content, order, shape, kind and the borders between parts all count."""
    # fmt: skip
    variants: list[tuple[str | bytes | float | np.ndarray, ...]] = [
        (),
        ("",),
        ("ab",),
        ("a", "b"),
        ("b", "a"),
        (b"ab",),
        (1.0,),
        (1.0, 2.0),
        (np.array([1.0, 2.0]),),
        (np.array([[1.0, 2.0]]),),
        (np.array([1.0, np.nextafter(2.0, 3.0)]),),
    ]
    assert len({model_hash(*parts) for parts in variants}) == len(variants)


@pytest.mark.parametrize("name", ["tool_quaternion", "offset_quaternion"])
@pytest.mark.parametrize("index", range(4))
def test_a_quaternion_may_miss_its_length_by_half_a_thousandth(name: str, index: int) -> None:
    """Its square by a thousandth, on either side and along any axis."""
    for length, accepted in ((1.0004, True), (0.9996, True), (1.0006, False), (0.9994, False)):
        packet = full_packet()
        setattr(packet, name, length * np.eye(4)[index])
        data = packet.to_bytes()
        if accepted:
            assert full_packet().load(data) == 11
        else:
            with pytest.raises(LinkError, match=f"{name} = .*, its length must be 1"):
                full_packet().load(data)


@pytest.mark.parametrize(
    ("names", "low", "high"),
    [
        (("sequence",), 0, 2**64 - 1),
        (("time_ns", "echo_time_ns", "echo_age_ns"), -(2**63), 2**63 - 1),
        (("flags", "mode", "engagement_id", "buttons"), 0, 2**32 - 1),
    ],
)
def test_a_scalar_fits_up_to_its_ends_and_is_named_beyond_them(
    names: tuple[str, ...], low: int, high: int
) -> None:
    """With its limits."""
    for name in names:
        packet = full_packet()
        for value in (low, high):
            setattr(packet, name, value)
            packet.to_bytes()
        for value in (low - 1, high + 1):
            setattr(packet, name, value)
            with pytest.raises(OutOfRange, match=f"packet.{name} = {value} "):
                packet.to_bytes()


def test_the_map_is_the_offset_and_the_shape_in_one_view() -> None:
    """As they lie in the packet; a fresh one is the identity."""
    packet = full_packet()
    parts = packet.offset_quaternion, packet.offset_position, packet.map_shape
    np.testing.assert_array_equal(packet.map, np.concatenate(parts))
    assert Packet(1, 1).map.tolist() == [0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0]


def test_a_packet_may_have_no_joints_and_its_numbers_may_begin_at_zero() -> None:
    """The first packet is newer than none."""
    sent, received = Packet(0, 0, 2**64 - 1), Packet(0, 0, 2**64 - 1)
    sent.buttons = 3
    assert received.load(sent.to_bytes()) == 0
    assert received.buttons == 3

"""RTDE packets byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.errors import LinkError
from farhand.plants.ur_sim import rtde as packets
from farhand.plants.ur_sim.rtde import ByteReader, Recipe, RtdePacket


def test_a_packet_is_its_size_its_letter_and_its_payload():
    """The public guide's example: a request for protocol version 2 is five bytes."""
    assert packets.pack(packets.REQUEST_VERSION, b"\x00\x02") == b"\x00\x05V\x00\x02"


@given(st.lists(st.binary(max_size=40), max_size=5), st.integers(1, 7))
def test_packets_survive_any_cutting_of_the_stream(payloads, size):
    """TCP keeps no boundaries: whatever pieces arrive, the same packets come out."""
    stream, reader, found = (
        b"".join(packets.pack(packets.DATA, payload) for payload in payloads),
        ByteReader(),
        [],
    )
    for at in range(0, len(stream), size):
        found += list(reader.feed(stream[at : at + size]))
    assert found == [RtdePacket(packets.DATA, payload) for payload in payloads]


def test_a_size_below_the_header_is_an_error_and_forgets_what_waited():
    """Nothing after it can be told apart."""
    reader = ByteReader()
    with pytest.raises(LinkError, match="2 bytes"):
        list(reader.feed(b"\x00\x02Vrest"))
    assert list(reader.feed(packets.pack(packets.START))) == [RtdePacket(packets.START, b"")]


def test_a_recipe_gives_back_scalars_and_vectors_in_order():
    """Vectors are as long as their type says."""
    recipe = Recipe(["a", "b", "c"], ["INT32", "VECTOR3D", "BOOL"])
    packed = recipe.form.pack(-3, 1.0, 2.0, 3.0, True)
    assert recipe.unpack(packed) == {"a": -3, "b": (1.0, 2.0, 3.0), "c": True}
    with pytest.raises(LinkError, match="recipe of 29"):
        recipe.unpack(packed[:-1])


def test_text_messages_follow_the_protocol_version():
    """Version 1 has the level first and no source; version 2 has lengths, a source and the level
    last.
    """
    assert packets.text_message(1, "no", packets.WARNING) == b"\x00\x06M\x02no"
    assert packets.text_message(2, "no", packets.ERROR) == b"\x00\x0cM\x02no\x04RTDE\x01"


@pytest.mark.parametrize(
    ("text", "names"), [(b"a,b", ["a", "b"]), (b"a,b,", ["a", "b"]), (b"", [])]
)
def test_a_comma_at_the_end_names_nothing(text, names):
    """Clients differ in whether they send one."""
    assert packets.names_in(text) == names

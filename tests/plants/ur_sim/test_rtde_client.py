"""What a client of port 30004 is answered."""

from __future__ import annotations

import random
import struct

import numpy as np
import pytest

from farhand.plants.ur_sim import packets
from farhand.plants.ur_sim.controller import Runtime, SafetyMode
from farhand.plants.ur_sim.exchange import Exchange
from farhand.plants.ur_sim.packets import ByteReader
from farhand.plants.ur_sim.rtde_client import RtdeClient

VERSION = (5, 26, 0, 0)


def pack(kind: str, payload: bytes = b"") -> bytes:
    return struct.pack(">HB", 3 + len(payload), ord(kind)) + payload


def answers(client: RtdeClient, kind: str, payload: bytes = b"") -> list[tuple[str, bytes]]:
    said = client.feed(pack(kind, payload))
    return [(chr(packet.kind), packet.payload) for packet in ByteReader().feed(said)]


@pytest.fixture
def exchange() -> Exchange:
    return Exchange()


@pytest.fixture
def client(exchange) -> RtdeClient:
    """A client that has agreed on protocol version 2."""
    made = RtdeClient(exchange, VERSION)
    assert answers(made, "V", b"\x00\x02") == [("V", b"\x01")]
    return made


def outputs(names: bytes, rate: float = 500.0) -> bytes:
    return struct.pack(">d", rate) + names


@pytest.mark.parametrize(("version", "accepted"), [(1, 1), (2, 1), (3, 0), (0, 0)])
def test_only_known_protocol_versions_are_accepted(exchange, version, accepted):
    """An unknown one is answered with 0 and changes nothing."""
    client = RtdeClient(exchange, VERSION)
    assert answers(client, "V", struct.pack(">H", version)) == [("V", bytes([accepted]))]
    assert client.version == (version if accepted else 1)


def test_the_controller_tells_its_version(client):
    """Four unsigned numbers."""
    assert answers(client, "v") == [("v", struct.pack(">4I", *VERSION))]


def test_outputs_are_answered_with_a_recipe_number_and_types(client):
    """The number comes first in version 2."""
    assert answers(client, "O", outputs(b"timestamp,actual_q,")) == [("O", b"\x01DOUBLE,VECTOR6D")]


def test_an_unknown_output_makes_the_recipe_invalid_and_is_named_not_found(client):
    """As the guide says: the type is NOT_FOUND and the recipe number 0; it cannot be started."""
    assert answers(client, "O", outputs(b"timestamp,mood")) == [("O", b"\x00DOUBLE,NOT_FOUND")]
    assert answers(client, "S") == [("S", b"\x00")]


def test_data_packages_hold_the_values_in_the_order_asked_for(client, exchange):
    """Recipe number, then the numbers, big-endian."""
    answers(client, "O", outputs(b"robot_mode,actual_q,timestamp"))
    assert client.package() == b""
    assert answers(client, "S") == [("S", b"\x01")]
    exchange.values |= {
        "robot_mode": 7,
        "actual_q": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
        "timestamp": 0.5,
    }
    assert client.package() == pack("U", struct.pack(">Bi7d", 1, 7, 1, 2, 3, 4, 5, 6, 0.5))
    assert answers(client, "P") == [("P", b"\x01")]
    assert client.package() == b""


@pytest.mark.parametrize(
    ("rate", "sent"), [(500.0, 500), (125.0, 125), (100.0, 100), (7.0, 7), (1.0, 1)]
)
def test_packages_come_at_the_frequency_asked_for(client, rate, sent):
    """In 500 control cycles, one second, exactly so many."""
    answers(client, "O", outputs(b"timestamp", rate))
    answers(client, "S")
    assert sum(bool(client.package()) for _ in range(500)) == sent


@pytest.mark.parametrize("rate", [0.0, 501.0, -1.0, float("nan"), float("inf")])
def test_a_frequency_that_cannot_be_is_answered_with_a_warning(client, rate):
    """And no recipe is made."""
    [(kind, text)] = answers(client, "O", outputs(b"timestamp", rate))
    assert kind == "M"
    assert b"frequency" in text
    assert text[-1] == packets.WARNING


def test_version_1_has_no_frequency_and_no_recipe_number(exchange):
    """Its outputs come at 125 Hz."""
    client = RtdeClient(exchange, VERSION)
    answers(client, "V", b"\x00\x01")
    assert answers(client, "O", b"timestamp") == [("O", b"DOUBLE")]
    answers(client, "S")
    packages = [client.package() for _ in range(500)]
    assert sum(map(bool, packages)) == 125
    assert max(packages) == pack("U", struct.pack(">d", 0.0))


def test_an_input_is_set_by_its_recipe(client, exchange):
    """The recipe's number says which fields the numbers are for."""
    assert answers(client, "I", b"input_int_register_0,input_double_register_3") == [
        ("I", b"\x01INT32,DOUBLE")
    ]
    assert answers(client, "I", b"input_bit_registers0_to_31") == [("I", b"\x02UINT32")]
    assert answers(client, "U", struct.pack(">Bid", 1, -5, 2.5)) == []
    assert answers(client, "U", struct.pack(">BI", 2, 9)) == []
    assert exchange.values["input_int_register_0"] == -5
    assert exchange.values["input_double_register_3"] == 2.5
    assert exchange.values["input_bit_registers0_to_31"] == 9


def test_an_input_of_another_client_is_in_use_until_that_one_leaves(client, exchange):
    """Its own inputs a client may have in as many recipes as it likes."""
    other = RtdeClient(exchange, VERSION)
    answers(other, "V", b"\x00\x02")
    assert answers(other, "I", b"input_int_register_0") == [("I", b"\x01INT32")]
    assert answers(other, "I", b"input_int_register_0") == [("I", b"\x02INT32")]
    assert answers(client, "I", b"input_int_register_0,input_int_register_1") == [
        ("I", b"\x00IN_USE,INT32")
    ]
    assert answers(client, "I", b"input_int_register_1") == [("I", b"\x01INT32")]
    other.leave()
    assert answers(client, "I", b"input_int_register_0") == [("I", b"\x02INT32")]


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("Z", b""),
        ("V", b"\x02"),
        ("O", b"short"),
        ("U", b""),
        ("U", b"\x09rest"),
        ("U", b"\x01too long for it"),
    ],
)
def test_malformed_packets_are_answered_with_a_warning_and_the_connection_stays(
    client, kind, payload
):
    """The guide leaves it open; here a text message says what was wrong."""
    answers(client, "I", b"input_int_register_0")
    [(said, text)] = answers(client, kind, payload)
    assert said == "M"
    assert text[-1] == packets.WARNING
    assert not client.closed
    assert answers(client, "v")[0][0] == "v"


def test_an_impossible_size_ends_the_connection(client):
    """With a text message, as an error."""
    said = client.feed(b"\x00\x00V")
    assert said[2:3] == b"M"
    assert said[-1] == packets.ERROR
    assert client.closed


def test_ten_thousand_fuzzed_packets_are_survived(registers):
    """Mutated, cut, doubled and random packets while the control script acts on whatever reaches its registers.

    The controller goes on, the arm's state stays a number, its joints never move faster than their
    limits, and a well behaved client is served afterwards.
    """
    rng, controller = random.Random(1), registers.controller
    arm, fastest = controller.arm, 0.0
    for client in fuzzed_clients(rng, controller.exchange, 10_000):
        for _ in range(3):
            controller.cycle()
            fastest = max(fastest, float(np.abs(arm.v / arm.robot.limits.velocity).max()))
        if controller.runtime is not Runtime.PLAYING:
            controller.safety = SafetyMode.NORMAL
            registers.begin()
        client.package()
    assert np.isfinite(arm.q).all()
    assert 0.1 < fastest < 1.2
    calm = RtdeClient(Exchange(), VERSION)
    assert answers(calm, "V", b"\x00\x02") == [("V", b"\x01")]


def fuzzed_clients(rng: random.Random, exchange: Exchange, packets_in_all: int):
    """Clients that set up recipes for the command registers, then send what is mostly wrong; one yield per ten."""
    names = ",".join(
        ["input_int_register_0", *(f"input_double_register_{i}" for i in range(12))]
    ).encode()
    sent = 0
    while sent < packets_in_all:
        client = RtdeClient(exchange, VERSION)
        client.feed(pack("V", b"\x00\x02") + pack("I", names))
        client.feed(pack("O", outputs(b"actual_q,runtime_state")) + pack("S"))
        while not client.closed and sent < packets_in_all:
            for _ in range(10):
                client.feed(fuzz(rng))
            sent += 10
            yield client
        client.leave()


def fuzz(rng: random.Random) -> bytes:
    """One packet: a plausible command with wild numbers, a mutated one, or noise."""
    numbers = [rng.gauss(0, 1) for _ in range(12)]
    if rng.random() < 0.1:
        numbers[rng.randrange(12)] = rng.choice([float("nan"), 1e300, -1e8, -0.0])
    command = rng.choice([0, 9, 10, 11, 66, rng.choice([*range(80), 255, -1, 1 << 30])])
    good = pack("U", struct.pack(">Bi12d", 1, command, *numbers))
    way = rng.random()
    if way < 0.5:
        return good
    if way < 0.8:
        broken = bytearray(good)
        for _ in range(rng.randrange(1, 6)):
            broken[rng.randrange(2, len(broken))] = rng.randrange(256)
        return bytes(broken)
    kind, size = rng.choice("VvMUOISPxyz\0"), rng.randrange(0, 60)
    return pack(kind, rng.randbytes(size)) if way < 0.999 else rng.randbytes(size)

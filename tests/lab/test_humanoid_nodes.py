"""Nodes that exchange typed messages."""

from __future__ import annotations

import random
import socket
import struct
import time
from collections.abc import Iterator

import numpy as np
import pytest

from farhand.link.messages import ForceFeedback, GripperPosition, HapticState
from farhand.link.network import Conditions
from farhand_lab.humanoid import nodes
from farhand_lab.humanoid.nodes import HEADER, MARK, DeviceLog, Node, type_number


@pytest.fixture
def pair() -> Iterator[tuple[Node, Node]]:
    a, b = Node("a"), Node("b", [HapticState, ForceFeedback])
    yield a, b
    a.close()
    b.close()


def arrive(node: Node, kind: type, tries: int = 200):
    """Wait for a datagram on its way through the loop-back."""
    for _ in range(tries):
        node.receive(time.monotonic_ns())
        if node.latest(kind) is not None:
            return node.latest(kind)
        time.sleep(0.001)
    return None


def test_a_message_arrives_as_what_it_was_sent_as(pair):
    """With its number and the time it was sent."""
    a, b = pair
    before = time.monotonic_ns()
    assert a.send(HapticState(np.array([1.0, 2.0, 3.0]), np.zeros(3), button=True), b.address) == 1
    received = arrive(b, HapticState)
    np.testing.assert_array_equal(received.message.position, [1, 2, 3])
    assert received.message.button
    assert received.number == 1
    assert before <= received.sent_ns <= time.monotonic_ns()
    assert b.latest(ForceFeedback) is None


def test_only_the_newest_of_a_type_is_kept(pair):
    """One that comes after a newer one is left out and counted."""
    a, b = pair
    for force in (1.0, 2.0):
        a.send(ForceFeedback(np.full(3, force)), b.address)
    arrive(b, ForceFeedback)
    b.receive(time.monotonic_ns())
    old = HEADER.pack(MARK, type_number(ForceFeedback), 1, 0) + np.full(3, 9.0).tobytes()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stray:
        stray.sendto(old, b.address)
    for _ in range(200):
        b.receive(time.monotonic_ns())
        if b.late:
            break
        time.sleep(0.001)
    assert b.late == 1
    np.testing.assert_array_equal(b.latest(ForceFeedback).message.value, 2.0)


def test_a_type_that_is_not_taken_and_noise_are_refused(pair):
    """And counted; nothing else happens."""
    a, b = pair
    a.send(GripperPosition(np.zeros(1)), b.address)
    right = HEADER.pack(MARK, type_number(ForceFeedback), 1, 0)
    rng = random.Random(0)
    wrong = [
        b"",
        right + b"x",
        right + struct.pack("<3d", 0, float("inf"), 0),
        *(rng.randbytes(40) for _ in range(20)),
    ]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stray:
        for datagram in wrong:
            stray.sendto(datagram, b.address)
    for _ in range(200):
        b.receive(time.monotonic_ns())
        if b.refused == 24:
            break
        time.sleep(0.001)
    assert b.refused == 24
    assert b.latest(ForceFeedback) is None


def test_arrivals_are_delayed_as_configured():
    """By the node's own clock: not before, and then at once."""
    a, b = Node("a"), Node("b", [ForceFeedback], Conditions(delay_ns=50_000_000))
    a.send(ForceFeedback(np.zeros(3)), b.address)
    for _ in range(200):
        b.receive(1000)
        if b._network.in_flight:
            break
        time.sleep(0.001)
    b.receive(49_000_000)
    assert b.latest(ForceFeedback) is None
    b.receive(50_001_000)
    assert b.latest(ForceFeedback) is not None
    a.close()
    b.close()


@pytest.mark.parametrize(("waited", "said"), [(0.6, "busy machine"), (0.01, "machine was free")])
def test_a_miss_tells_whether_the_load_of_the_machine_caused_it(monkeypatch, waited, said):
    """Rounds that are 200 ms longer instead of 60."""
    logs = iter(DeviceLog(1, 9, [late], 0.0, 1.0, 4, waited) for late in (0.01, 0.21))
    monkeypatch.setattr(nodes, "in_three_processes", lambda delay: (next(logs), {1, 2, 3}))
    found = nodes.three_processes()
    assert not found.ok and "60 ± 15 ms" in found.note and said in found.note

"""Separate processes for device, robot and force: H-42.

The published system was one process; its author named the split as future work. Here the pen, the
limb's kinematics and the force are nodes in three processes. They exchange typed messages by UDP,
each node keeps the latest message of every type it takes, and every arrival can be delayed.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import socket
import struct
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

from farhand.control.haptic.haptic_objects import exact_arm
from farhand.control.haptic.synthetic import SyntheticForce
from farhand.errors import FarhandError, LinkError
from farhand.link.messages import Message, Vector
from farhand.link.network import Conditions, EmulatedNetwork
from farhand.mapping.limbs import ArmChain
from farhand_lab.harness import Finding, experiment
from farhand_lab.mutation import Mutations
from farhand_lab.trial import blame, processor_wait

MEASURES_TIME = True
"""Whether these experiments read the wall clock."""

Array = np.ndarray
Address = tuple[str, int]

HEADER = struct.Struct("<4sIIq")  # mark, type, number and time of sending [ns]
MARK = b"fhn1"
MAX_DATAGRAMS = 1000  # taken in by one call, so that a flood does not hold it up
# of every node's loop, [Hz]: two hops take less than the delays that are compared here
RATE = 250.0
SECONDS = 1.5
# one way, in front of every node, in the second run, [s]; three hops make a round
DELAY = 0.02
SCALE = 2.0
# where the limb begins, in its base, [m]: near the end of its reach, so that there is a force
START = np.array([0.14, 0.11, -0.12])


class Received(NamedTuple):
    """A message as it arrived."""

    message: Message  #: its content
    number: int  #: counts the messages of that type its sender has sent, from 1
    sent_ns: int  #: when it was sent, on the sender's clock, [ns]


def type_number(kind: type[Message]) -> int:
    """A type's number on the wire: another name, field, unit or size is another type."""
    return zlib.crc32(repr((kind.__name__, kind.FIELDS, kind.UNIT, kind.SIZE)).encode())


class Node:
    """One process's place on a network of typed messages. Nothing waits.

    A datagram is left out and counted if this node does not take its type, if it has another size,
    if it holds something that is not a number, or if it is older than the latest of its type.
    Arrivals can be delayed, jittered and lost on purpose, to emulate a network.

    Args:
        name: of the node.
        takes: types it takes.
        conditions: of the emulated network in front of it.
        host: address it listens at, on a free port.
        seed: of the emulated network.
    """

    def __init__(
        self,
        name: str,
        takes: Sequence[type[Message]] = (),
        conditions: Conditions | None = None,
        host: str = "127.0.0.1",
        seed: int = 0,
    ) -> None:
        self.name = name
        self.refused = 0  #: datagrams that were left out because they were wrong
        self.late = 0  #: messages that were left out because a newer one was there
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.bind((host, 0))
        self._takes = {type_number(kind): kind for kind in takes}
        self._network = EmulatedNetwork(np.random.default_rng(seed), conditions or Conditions())
        self._latest: dict[type[Message], Received] = {}
        self._numbers: dict[type[Message], int] = {}

    @property
    def address(self) -> Address:
        """Where it listens."""
        return self._socket.getsockname()

    def send(self, message: Message, *addresses: Address) -> int:
        """Send a message to other nodes; its number."""
        kind = type(message)
        number = self._numbers[kind] = self._numbers.get(kind, 0) + 1
        header = HEADER.pack(MARK, type_number(kind), number, time.monotonic_ns())
        datagram = header + np.asarray(message.pack(), dtype="<f8").tobytes()
        for address in addresses:
            # lost, as any datagram may be on its way
            with contextlib.suppress(OSError):
                self._socket.sendto(datagram, address)
        return number

    def receive(self, now_ns: int) -> None:
        """Take in what has arrived by now, [ns]."""
        for _ in range(MAX_DATAGRAMS):
            try:
                self._network.send(now_ns, self._socket.recv(65_535))
            except OSError:  # none there, or news of one that did not arrive
                break
        for data in self._network.receive(now_ns):
            try:
                self._keep(self._read(data))
            except FarhandError:
                self.refused += 1

    def latest(self, kind: type[Message]) -> Received | None:
        """The latest message of a type; None if there was none."""
        return self._latest.get(kind)

    def close(self) -> None:
        """Give the socket back."""
        self._socket.close()

    def _keep(self, received: Received) -> None:
        kind = type(received.message)
        last = self._latest.get(kind)
        if last is not None and received.number <= last.number:
            self.late += 1
            return
        self._latest[kind] = received

    def _read(self, data: bytes) -> Received:
        if len(data) < HEADER.size:
            raise LinkError(
                f"a datagram of {len(data)} bytes is shorter than its header of {HEADER.size}"
            )
        mark, number_of_type, number, sent_ns = HEADER.unpack_from(data)
        kind = self._takes.get(number_of_type)
        if mark != MARK or kind is None:
            raise LinkError(
                f"node {self.name!r} does not take messages of type {number_of_type:#x}"
            )
        size = len(data) - HEADER.size
        if size != 8 * kind.SIZE:
            raise LinkError(f"{kind.__name__} has {kind.SIZE} numbers, but {size} bytes came")
        values = np.frombuffer(data, dtype="<f8", offset=HEADER.size)
        if not math.isfinite(float(values.sum())):
            raise LinkError(f"{kind.__name__} holds something that is not a number")
        return Received(kind.unpack(values), number, sent_ns)


class PenState(Vector):
    """Place of the pen from where it began [m], and its sample's number."""

    SIZE, FIELDS, UNIT = 4, ("x", "y", "z", "sample"), "m, -"


class RobotState(Vector):
    """Joints [rad] and end [m] of the limb, and the number of the pen's sample they belong to."""

    SIZE, FIELDS, UNIT = 7, ("q1", "q2", "q3", "x", "y", "z", "sample"), "rad, m, -"


class PenForce(Vector):
    """Force for the pen to show [N], and the number of the pen's sample it belongs to."""

    SIZE, FIELDS, UNIT = 4, ("fx", "fy", "fz", "sample"), "N, -"


class Addresses(NamedTuple):
    """Where the three nodes listen."""

    device: Address
    robot: Address
    force: Address


@dataclass
class DeviceLog:
    """What the device's process measured."""

    pid: int  #: of the process
    samples: int  #: how many samples had their force come back
    rounds: list[float]  #: from sending a sample to its force, [s]
    off: float  #: largest difference from the force as one process would have computed it, [N]
    largest: float  #: force shown, [N]
    refused: int  #: datagrams refused
    waited: float  #: share of the time in which it was ready to run and had no processor, [-]


def end_of(pen: Array, chain: ArmChain, near: Array) -> tuple[Array, Array]:
    """Joints [rad] and end [m] of the limb for a place of the pen [m]."""
    q = chain.solve(START + SCALE * pen, near).q
    return q, chain.forward(q)


def device(node: Node, addresses: Addresses, until: float) -> DeviceLog:
    """Move the pen outward, send its place, show the forces that come back."""
    chain, force = ArmChain(), SyntheticForce(objects=exact_arm(ArmChain()))
    sent: dict[int, tuple[float, Array]] = {}
    near, log = np.zeros(3), DeviceLog(os.getpid(), 0, [], 0.0, 0.0, 0, 0.0)
    last, began, waited = 0, time.monotonic(), processor_wait()
    while (now := time.monotonic()) < until:
        # within reach: beyond it the limb keeps its last posture, which depends on what was lost
        pen = np.array([0.005, 0.002, -0.001]) * np.sin(4.0 * (now - began))
        number = len(sent) + 1
        sent[number] = (now, pen)
        node.send(PenState(np.append(pen, number)), addresses.robot)
        node.receive(time.monotonic_ns())
        back = _values(node.latest(PenForce))
        if back is not None and int(back[3]) > last:
            shown, last = back[:3], int(back[3])
            at, place = sent[last]
            near, end = end_of(place, chain, near)
            log.rounds.append(time.monotonic() - at)
            log.off = max(log.off, float(np.abs(shown - force.force(end)).max()))
            log.largest = max(log.largest, float(np.linalg.norm(shown)))
            log.samples += 1
        _rest(now)
    log.refused = node.refused
    log.waited = (processor_wait() - waited) / (time.monotonic() - began)
    return log


def _values(received: Received | None) -> Array | None:
    return None if received is None else received.message.value  # type: ignore[attr-defined]


def _new_values(node: Node, kind: type[Vector], until: float) -> Iterator[Array]:
    """Numbers of every new message of a type until a time [s]."""
    last = 0
    while (now := time.monotonic()) < until:
        node.receive(time.monotonic_ns())
        received = node.latest(kind)
        if received is not None and received.number > last:
            last = received.number
            yield received.message.value  # type: ignore[attr-defined]
        _rest(now)


def robot(node: Node, addresses: Addresses, until: float) -> int:
    """Send the limb where the pen is, and report where the limb is."""
    chain, near = ArmChain(), np.zeros(3)
    for value in _new_values(node, PenState, until):
        near, end = end_of(value[:3], chain, near)
        node.send(RobotState(np.concatenate([near, end, value[3:]])), addresses.force)
    return os.getpid()


def force(node: Node, addresses: Addresses, until: float) -> int:
    """Compute the force for where the limb is."""
    synthetic = SyntheticForce(objects=exact_arm(ArmChain()))
    for value in _new_values(node, RobotState, until):
        node.send(PenForce(np.append(synthetic.force(value[3:6]), value[6])), addresses.device)
    return os.getpid()


def _rest(since: float) -> None:
    time.sleep(max(0.0, since + 1.0 / RATE - time.monotonic()))


def _run(
    role: Callable[..., Any], node: Node, addresses: Addresses, until: float, answer: Connection
) -> None:
    answer.send(role(node, addresses, until))


def in_three_processes(delay: float) -> tuple[DeviceLog, set[int]]:
    """Run each node in a process of its own; disturb the device's with wrong datagrams."""
    conditions = Conditions(delay_ns=round(1e9 * delay))
    nodes = [Node(role.__name__, [kind], conditions) for role, kind in ROLES]
    addresses = Addresses(*(node.address for node in nodes))
    fork = multiprocessing.get_context("fork")
    pipes = [fork.Pipe(False) for _ in ROLES]
    until = time.monotonic() + SECONDS
    running = [
        fork.Process(target=_run, args=(role, node, addresses, until, pipe[1]))
        for (role, _), node, pipe in zip(ROLES, nodes, pipes, strict=True)
    ]
    for process in running:
        process.start()
    _disturb(addresses.device)
    answers = [pipe[0].recv() if pipe[0].poll(SECONDS + 10.0) else None for pipe in pipes]
    for process, node in zip(running, nodes, strict=True):
        process.join(5.0)
        node.close()
    log = answers[0] or DeviceLog(0, 0, [], np.inf, 0.0, 0, 0.0)
    return log, {log.pid, *(pid for pid in answers[1:] if pid)}


ROLES: tuple[tuple[Callable[..., Any], type[Vector]], ...] = (
    (device, PenForce),
    (robot, PenState),
    (force, RobotState),
)
"""The nodes, and what each takes."""


def _disturb(address: Address) -> None:
    """Noise, a message of another type, and one of the right type cut short."""
    other = Node("stranger")
    other.send(PenState(np.ones(4)), address)
    header = HEADER.pack(MARK, type_number(PenForce), 9, 0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stray:
        for datagram in (b"noise", header + b"short", header + np.full(4, np.nan).tobytes()):
            stray.sendto(datagram, address)
    other.close()


@experiment("H-42")
def three_processes() -> Finding:
    """The same second and a half with and without a delay in front of every node."""
    plain, pids = in_three_processes(0.0)
    late, more = in_three_processes(DELAY)
    first, second = (
        1e3 * float(np.median(log.rounds)) if log.rounds else np.nan for log in (plain, late)
    )
    longer = second - first
    met = {
        f"forces off by {max(plain.off, late.off):.0e} N": max(plain.off, late.off) < 1e-9,
        "no force": plain.largest > 0.5,
        "rounds not 60 ± 15 ms longer": abs(longer - 60.0) < 15.0,
        f"{len(pids)} and {len(more)} of 3 processes answered": len(pids) == len(more) == 3,
        f"{plain.refused} and {late.refused} of 4 wrong datagrams refused": (
            plain.refused == late.refused == 4
        ),
    }
    ok = all(met.values())
    note = (
        f"{plain.samples} and {late.samples} forces came back, after {first:.1f} and {second:.1f} "
        f"ms in the median; up to {plain.largest:.2f} N; {late.refused} wrong datagrams refused"
    )
    if not ok:
        missed = ", ".join(text for text, yes in met.items() if not yes)
        note += f"; {missed}; {blame(max(plain.waited, late.waited))}"
    return Finding(longer, bool(ok), note)


MUTATIONS = Mutations()


@MUTATIONS.of(EmulatedNetwork, "send", "H-42")
def network_without_delay(send, self, now_ns, data):
    """The nodes' network delivers at once."""
    return send(self, 0, data)


@MUTATIONS.of(sys.modules[__name__], "type_number", "H-42")
def equal_type_numbers(type_number, kind):
    """Every type has the same number on the wire."""
    return 1


@MUTATIONS.of(SyntheticForce, "raw", "H-42")
def force_of_the_process(raw, self, place):
    """The same place makes another force in every process."""
    return raw(self, place) * os.getpid()

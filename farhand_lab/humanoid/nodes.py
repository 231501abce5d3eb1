"""Separate processes for device, robot and force: H-42.

The published system was one process; its author named the split as future work. Here the pen, the
limb's kinematics and the force are nodes in three processes. They exchange typed messages by UDP,
and every arrival can be delayed.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

from farhand.control.haptic.haptic_objects import exact_arm
from farhand.control.haptic.synthetic import SyntheticForce
from farhand.link.haptic_messages import Vector
from farhand.link.network import Conditions, EmulatedNetwork
from farhand.mapping.limbs import ArmChain
from farhand_lab.harness import Finding, experiment
from farhand_lab.humanoid import link_node as node_module
from farhand_lab.humanoid.link_node import Node
from farhand_lab.mutation import Mutation

Array = np.ndarray

RATE = 250.0
"""Of every node's loop, [Hz]: two hops take less than the delays that are told apart here."""

SECONDS = 1.5
DELAY = 0.02
"""One way, in front of every node, in the second run, [s]; three hops make a round."""

SCALE = 2.0
START = np.array([0.14, 0.11, -0.12])
"""Where the limb begins, in its base, [m]: near the end of its reach, so that there is a force to
feel."""


class PenState(Vector):
    """Place of the pen from where it began [m], and its sample's number."""

    SIZE, FIELDS, UNIT = 4, ("x", "y", "z", "sample"), "m, -"


class RobotState(Vector):
    """Joints [rad] and end [m] of the limb, and the number of the pen's sample that they belong to."""

    SIZE, FIELDS, UNIT = 7, ("q1", "q2", "q3", "x", "y", "z", "sample"), "rad, m, -"


class PenForce(Vector):
    """Force for the pen to show [N], and the number of the pen's sample that it belongs to."""

    SIZE, FIELDS, UNIT = 4, ("fx", "fy", "fz", "sample"), "N, -"


class Places(NamedTuple):
    """Where the three nodes listen."""

    device: tuple[str, int]
    robot: tuple[str, int]
    force: tuple[str, int]


@dataclass
class Heard:
    """What the device's process saw.

    Attributes:
        pid: of the process.
        samples: numbers of the samples whose force came back.
        rounds: from sending a sample to its force, [s].
        off: largest difference from the force as one process would have computed it, [N].
        largest: force shown, [N].
        refused: datagrams refused.
    """

    pid: int
    samples: int
    rounds: list[float]
    off: float
    largest: float
    refused: int


def end_of(pen: Array, chain: ArmChain, near: Array) -> tuple[Array, Array]:
    """Joints [rad] and end [m] of the limb for a place of the pen [m]."""
    q = chain.solve(START + SCALE * pen, near).q
    return q, chain.forward(q)


def device(node: Node, places: Places, until: float) -> Heard:
    """Move the pen outward, send its place, show the forces that come back."""
    chain, force = ArmChain(), SyntheticForce(objects=exact_arm(ArmChain()))
    sent: dict[int, tuple[float, Array]] = {}
    near, heard = np.zeros(3), Heard(os.getpid(), 0, [], 0.0, 0.0, 0)
    last, began = 0, time.monotonic()
    while (now := time.monotonic()) < until:
        pen = np.array([0.01, 0.004, -0.002]) * np.sin(4.0 * (now - began))
        number = len(sent) + 1
        sent[number] = (now, pen)
        node.send(PenState(np.append(pen, number)), places.robot)
        node.receive(time.monotonic_ns())
        back = node.latest(PenForce)
        if back is not None and int(back.message.value[3]) > last:  # type: ignore[attr-defined]
            shown, last = back.message.value[:3], int(back.message.value[3])  # type: ignore[attr-defined]
            at, place = sent[last]
            near, end = end_of(place, chain, near)
            heard.rounds.append(time.monotonic() - at)
            heard.off = max(heard.off, float(np.abs(shown - force.force(end)).max()))
            heard.largest, heard.samples = (
                max(heard.largest, float(np.linalg.norm(shown))),
                heard.samples + 1,
            )
        _rest(now)
    heard.refused = node.refused
    return heard


def robot(node: Node, places: Places, until: float) -> int:
    """Send the limb where the pen says, and tell where it is."""
    chain, near, last = ArmChain(), np.zeros(3), 0
    while (now := time.monotonic()) < until:
        node.receive(time.monotonic_ns())
        pen = node.latest(PenState)
        if pen is not None and pen.number > last:
            last = pen.number
            x, y, z, sample = pen.message.value  # type: ignore[attr-defined]
            near, end = end_of(np.array([x, y, z]), chain, near)
            node.send(RobotState(np.concatenate([near, end, [sample]])), places.force)
        _rest(now)
    return os.getpid()


def force(node: Node, places: Places, until: float) -> int:
    """Make the force of where the limb is."""
    pushes, last = SyntheticForce(objects=exact_arm(ArmChain())), 0
    while (now := time.monotonic()) < until:
        node.receive(time.monotonic_ns())
        state = node.latest(RobotState)
        if state is not None and state.number > last:
            last = state.number
            value = state.message.value  # type: ignore[attr-defined]
            node.send(PenForce(np.append(pushes.force(value[3:6]), value[6])), places.device)
        _rest(now)
    return os.getpid()


def _rest(since: float) -> None:
    time.sleep(max(0.0, since + 1.0 / RATE - time.monotonic()))


def _run(
    role: Callable[..., Any], node: Node, places: Places, until: float, answer: Connection
) -> None:
    answer.send(role(node, places, until))


def in_three_processes(delay: float) -> tuple[Heard, set[int]]:
    """Run the three nodes, each in a process of its own, and disturb the device's with datagrams of wrong types."""
    conditions = Conditions(delay_ns=round(1e9 * delay))
    nodes = [Node(role.__name__, [kind], conditions) for role, kind in ROLES]
    places, fork = Places(*(node.address for node in nodes)), multiprocessing.get_context("fork")
    pipes = [fork.Pipe(False) for _ in ROLES]
    until = time.monotonic() + SECONDS
    running = [
        fork.Process(target=_run, args=(role, node, places, until, pipe[1]))
        for (role, _), node, pipe in zip(ROLES, nodes, pipes, strict=True)
    ]
    for process in running:
        process.start()
    _disturb(places.device)
    answers = [pipe[0].recv() if pipe[0].poll(SECONDS + 10.0) else None for pipe in pipes]
    for process, node in zip(running, nodes, strict=True):
        process.join(5.0)
        node.close()
    heard = answers[0] or Heard(0, 0, [], np.inf, 0.0, 0)
    return heard, {heard.pid, *(pid for pid in answers[1:] if pid)}


ROLES: tuple[tuple[Callable[..., Any], type[Vector]], ...] = (
    (device, PenForce),
    (robot, PenState),
    (force, RobotState),
)
"""The nodes, and what each takes."""


def _disturb(place: tuple[str, int]) -> None:
    """Noise, a message of another type, and one of the right type cut short."""
    other = Node("stranger")
    other.send(PenState(np.ones(4)), place)
    header = node_module.HEADER.pack(node_module.MARK, node_module.type_number(PenForce), 9, 0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stray:
        for datagram in (b"noise", header + b"short", header + np.full(4, np.nan).tobytes()):
            stray.sendto(datagram, place)
    other.close()


@experiment("H-42")
def three_processes() -> Finding:
    """The same second and a half with and without a delay in front of every node."""
    plain, pids = in_three_processes(0.0)
    late, more = in_three_processes(DELAY)
    rounds = [float(np.median(heard.rounds)) if heard.rounds else np.nan for heard in (plain, late)]
    longer = 1e3 * (rounds[1] - rounds[0])
    right = max(plain.off, late.off) < 1e-9 and plain.largest > 0.5
    ok = (
        len(pids) == len(more) == 3
        and right
        and plain.refused == late.refused == 4
        and abs(longer - 60.0) < 15.0
    )
    note = (
        f"{plain.samples} and {late.samples} forces came back, after {1e3 * rounds[0]:.1f} and {1e3 * rounds[1]:.1f} "
        f"ms in the median; up to {plain.largest:.2f} N; {late.refused} wrong datagrams refused; rules fixed beforehand"
    )
    return Finding(longer, bool(ok), note)


MUTATIONS = [
    Mutation("network-without-delay", "the nodes' network delivers at once", ("H-42",)).change(
        EmulatedNetwork, "send", lambda whole: lambda self, now_ns, data: whole(self, 0, data)
    ),
    Mutation("types-not-told-apart", "every type has the same number on the wire", ("H-42",)).patch(
        node_module, "type_number", lambda kind: 1
    ),
    Mutation(
        "every-process-its-own-force",
        "the same place makes another force in every process",
        ("H-42",),
    ).change(
        SyntheticForce, "raw", lambda whole: lambda self, place: whole(self, place) * os.getpid()
    ),
]

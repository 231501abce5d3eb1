"""The link across two processes, there and back, beside a bare UDP echo of the same size.

Both carry datagrams of the same length over sockets with the same options, between the same two
cores, one process on each. Both poll while packets keep coming, as loops that spin until their
deadline do, or both sleep until the next one comes. Asleep, most of the time goes to waking a core
with cold caches. The bare echo is the quickest of four ways to write one in Python: receive into
one buffer, and take the exception for "nothing". Asleep, the usual echo, which blocks in the
receiving call, is a peer. No process collects garbage, as in a real-time run.
"""

from __future__ import annotations

import gc
import importlib.util
import multiprocessing
import os
import select
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from farhand.errors import LinkError
from farhand.link.channel import MemoryChannel
from farhand.link.endpoint import Endpoint
from farhand.link.line import Line
from farhand.link.packet import Packet
from farhand.link.seal import HEADER_BYTES, TAG_BYTES, Seal
from farhand.link.udp import MAX_DATAGRAM_BYTES, RECEIVE_BUFFER_BYTES, UdpWire
from farhand_lab.benchmarks.measure import Benchmark, Prepared, Work

KEY = bytes(range(32))
JOINTS = 6
# Of a sealed datagram of the dual-arm rig [bytes]
SIZE = Packet(JOINTS, JOINTS).size + HEADER_BYTES + TAG_BYTES
REPLY_TIMEOUT_S = 1.0
SPIN_NS = 2_000_000  # how long a process polls before it sleeps
ZENOH = "farhand-bench"

CORES = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else {0}

Step = Callable[[], bool]


def _serve(step: Step, file: Any, spins: bool) -> None:
    """Answer forever: poll while packets come, or sleep until one does."""
    while True:
        select.select([file], [], [])
        last_ns = time.monotonic_ns()
        while (came := step()) or (spins and time.monotonic_ns() - last_ns < SPIN_NS):
            if came:
                last_ns = time.monotonic_ns()


def _ask(send: Callable[[], None], step: Step, file: Any, spins: bool) -> Work:
    """One question and the wait for its answer."""

    def there_and_back() -> None:
        send()
        if spins:
            last_ns = time.monotonic_ns()
            while not step() and time.monotonic_ns() - last_ns < REPLY_TIMEOUT_S * 1e9:
                pass
        else:
            while select.select([file], [], [], REPLY_TIMEOUT_S)[0] and not step():
                pass

    return there_and_back


def _end(role: str, wire: UdpWire) -> tuple[Endpoint, Line]:
    line = Line(wire, Seal(KEY, role), {"rig": "bench"})
    endpoint = Endpoint(
        Packet(JOINTS, JOINTS), Packet(JOINTS, JOINTS), MemoryChannel(), MemoryChannel()
    )
    endpoint.connect(line, line, shared_clock=False)
    return endpoint, line


def _answer_sealed(sender: Connection, spins: bool) -> None:
    """Answer every packet with one."""
    wire = UdpWire(listen=("127.0.0.1", 0))
    endpoint, line = _end("follower", wire)
    sender.send(wire.address)

    def step() -> bool:
        now_ns = time.monotonic_ns()
        came = endpoint.receive(now_ns)
        if came or not line.agreed:
            endpoint.send(now_ns)
        return came

    _serve(step, wire, spins)


def _answer_bare(sender: Connection, spins: bool) -> None:
    """Send every datagram back."""
    here, buffer = _socket(), bytearray(MAX_DATAGRAM_BYTES)
    view = memoryview(buffer)
    sender.send(here.getsockname())

    def step() -> bool:
        try:
            size, place = here.recvfrom_into(buffer)
        except BlockingIOError:
            return False
        here.sendto(view[:size], place)
        return True

    _serve(step, here, spins)


def _answer_plainly(sender: Connection, spins: bool) -> None:
    """Send every datagram back, blocking until it comes."""
    here = _socket()
    here.setblocking(True)
    sender.send(here.getsockname())
    while True:
        here.sendto(*here.recvfrom(MAX_DATAGRAM_BYTES))


def _socket() -> socket.socket:
    """With the options of :class:`UdpWire`."""
    here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    here.setblocking(False)
    here.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
    here.bind(("127.0.0.1", 0))
    return here


def _answer_zenoh(sender: Connection, spins: bool) -> None:
    """Publish everything that is published."""
    import zenoh

    session, place = _zenoh(None)
    back = session.declare_publisher(
        f"{ZENOH}/back", reliability=zenoh.Reliability.BEST_EFFORT, express=True
    )
    there = session.declare_subscriber(
        f"{ZENOH}/there", lambda sample: back.put(sample.payload.to_bytes())
    )
    sender.send(place)
    threading.Event().wait()
    there.undeclare()


def _zenoh(connect: str | None) -> tuple[Any, str]:
    """A session that listens at a free port or connects, and its address."""
    import zenoh

    settings = zenoh.Config()
    settings.insert_json5("scouting/multicast/enabled", "false")
    if connect is None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            connect = f"tcp/127.0.0.1:{probe.getsockname()[1]}"
        settings.insert_json5("listen/endpoints", f'["{connect}"]')
    else:
        settings.insert_json5("connect/endpoints", f'["{connect}"]')
    return zenoh.open(settings), connect


def _child(target: Any, spins: bool) -> Any:
    """Start a process that answers, and return its address."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    context.Process(target=_placed, args=(target, sender, spins, max(CORES)), daemon=True).start()
    return receiver.recv()


def _placed(target: Any, sender: Connection, spins: bool, core: int) -> None:
    """Answer on that core, without garbage collections, until the other process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})
    gc.freeze()
    gc.disable()
    target(sender, spins)


def _sealed(spins: bool) -> Work:
    wire = UdpWire(connect=_child(_answer_sealed, spins))
    endpoint, line = _end("leader", wire)
    deadline = time.monotonic() + 10 * REPLY_TIMEOUT_S
    while not line.agreed:
        endpoint.send(time.monotonic_ns())
        select.select([wire], [], [], 0.01)
        endpoint.receive(time.monotonic_ns())
        if time.monotonic() > deadline:
            raise LinkError("the benchmark's other process does not answer")
    clock = time.monotonic_ns
    return _ask(lambda: endpoint.send(clock()), lambda: endpoint.receive(clock()), wire, spins)


def _bare(spins: bool) -> Work:
    place, data = _child(_answer_bare, spins), bytes(SIZE)
    here, buffer = _socket(), bytearray(MAX_DATAGRAM_BYTES)

    def step() -> bool:
        try:
            here.recvfrom_into(buffer)
        except BlockingIOError:
            return False
        return True

    def send() -> None:
        here.sendto(data, place)

    return _ask(send, step, here, spins)


def _plain() -> Work:
    place, data, here = _child(_answer_plainly, False), bytes(SIZE), _socket()
    here.setblocking(True)
    here.setsockopt(
        socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", int(REPLY_TIMEOUT_S), 0)
    )

    def there_and_back() -> None:
        here.sendto(data, place)
        here.recvfrom(MAX_DATAGRAM_BYTES)

    return there_and_back


def _through_zenoh(spins: bool) -> Work:
    import zenoh

    session, _ = _zenoh(_child(_answer_zenoh, spins))
    came, data = threading.Event(), bytes(SIZE)
    there = session.declare_publisher(
        f"{ZENOH}/there", reliability=zenoh.Reliability.BEST_EFFORT, express=True
    )
    back = session.declare_subscriber(f"{ZENOH}/back", lambda sample: came.set())
    # Both close when nothing refers to them
    kept = session, back

    def there_and_back() -> None:
        came.clear()
        there.put(data)
        came.wait(REPLY_TIMEOUT_S if kept else 0.0)

    deadline = time.monotonic() + 10 * REPLY_TIMEOUT_S
    # Until the two processes have found each other
    while not came.is_set() and time.monotonic() < deadline:
        there_and_back()
    return there_and_back


def _udp(spins: bool) -> Prepared:
    installed = importlib.util.find_spec("zenoh") is not None
    # First, since its threads may run on every core
    peers = {"zenoh, bare": _through_zenoh(spins)} if installed and not spins else {}
    works = _sealed(spins), _bare(spins)
    if not spins:
        peers["echo that blocks, bare"] = _plain()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(CORES)})
    return *works, peers


BENCHMARKS = [
    Benchmark("link/udp", partial(_udp, True), calls=1000, each=True),
    Benchmark("link/udp/asleep", partial(_udp, False), calls=300, each=True),
]

"""The processes that publish a session, one for each destination."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from farhand.console.prediction import Prediction
from farhand.console.scene import Kinematics, Scene
from farhand.errors import BadValue, FarhandError, UnknownName
from farhand.loop.interrupts import ignoring_interrupts
from farhand.loop.telemetry import Reader
from farhand.publishing.viewer import (
    PICTURE_PERIOD_S,
    PORTS,
    Published,
    SessionAccess,
    Status,
    Viewer,
)

VIEWERS = {
    "ros2": "farhand.publishing.ros2:Ros2",
    "foxglove": "farhand.publishing.foxglove:Foxglove",
    "rerun": "farhand.publishing.rerun:RerunViewer",
}
ROUTER_PORT = 7447  # of rmw_zenoh
DEFAULT_RATE = 100.0  # [Hz], of every topic
START_TIMEOUT_S = 60.0
END_TIMEOUT_S = 5.0
MAX_PERIOD_S = 0.02
DIAGNOSE_PERIOD_S = 1.0
NICENESS = 5
FORCE = "wrench_measured_in_world"


@dataclass(frozen=True)
class Destination:
    """Where to publish."""

    kind: str  # one of :data:`VIEWERS`
    address: str = ""  # a router for ROS 2, a port for the others; empty for the usual one

    def __str__(self) -> str:
        return f"{self.kind}:{self.address}" if self.address else self.kind


def parse_destinations(texts: Iterable[str]) -> list[Destination]:
    """Destinations as typed: ``ros2``, ``ros2://HOST:PORT``, ``foxglove:PORT``, ``rerun:PORT``.

    Raises:
        UnknownName: one is of no known kind.
        BadValue: one has an address that is not a port, or comes twice.
    """
    found: list[Destination] = []
    for text in texts:
        kind, _, address = text.partition(":")
        address = address.removeprefix("//")
        if kind not in VIEWERS:
            raise UnknownName("place to publish", kind, VIEWERS)
        if kind == "ros2":
            address = _router(text, address)
        elif not _is_port(address or "1"):
            raise BadValue(f"--publish {text}: {address!r} is not a port, 1 to 65535")
        if Destination(kind, address) in found:
            raise BadValue(f"--publish {text} is given twice; leave out one of them")
        found.append(Destination(kind, address))
        ports = [int(one.address or PORTS[one.kind]) for one in found if one.kind in PORTS]
        if len(set(ports)) < len(ports):
            raise BadValue(f"--publish {text}: another --publish listens at that port already")
    return found


def _router(text: str, address: str) -> str:
    """A router as ``HOST:PORT``; an address with a slash is Zenoh's own way to write one."""
    host, colon, port = address.rpartition(":")
    if not address or "/" in address:
        return address
    if not colon:
        return f"{address}:{ROUTER_PORT}"
    if not host or not _is_port(port):
        raise BadValue(f"--publish {text}: {address!r} is not a router such as robot:{ROUTER_PORT}")
    return address


def _is_port(text: str) -> bool:
    return text.isdecimal() and len(text) <= 5 and 1 <= int(text) <= 65535


@dataclass(frozen=True)
class _Order:
    """What a publisher's process gets."""

    destination: Destination
    ring_path: Path
    scene: Scene
    session: str
    drive: bool
    rate: float


class Publishers:
    """The publishers of one session, running.

    Args:
        destinations: where to.
        ring_path: of the session's telemetry.
        scene: of its rig.
        session: its name, by which programs attach to it.
        drive: whether those who watch may drive.
        rate: of every topic at most, [Hz].

    Attributes:
        addresses: where each is found, in words.

    Raises:
        FarhandError: one of them cannot start; none is left running.
    """

    def __init__(
        self,
        destinations: Iterable[Destination],
        ring_path: Path,
        scene: Scene,
        session: str,
        *,
        drive: bool = False,
        rate: float = DEFAULT_RATE,
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self._processes: list[tuple[Destination, Any]] = []
        self.addresses: list[str] = []
        waiting: list[Connection] = []
        for destination in destinations:
            ours, theirs = context.Pipe(duplex=False)
            order = _Order(destination, ring_path, scene, session, drive, rate)
            process = context.Process(target=_publish, args=(order, theirs), daemon=True)
            process.name = f"farhand-{destination.kind}"
            # The process inherits this: Ctrl-C ends the run, and the run ends the publisher
            with ignoring_interrupts():
                process.start()
            theirs.close()
            self._processes.append((destination, process))
            waiting.append(ours)
        try:
            for (destination, _), line in zip(self._processes, waiting, strict=True):
                self.addresses.append(_first_word(destination, line))
        except FarhandError:
            self.close()
            raise

    @property
    def process_ids(self) -> list[int]:
        """Of the publishers, in the order of the destinations."""
        return [process.pid for _, process in self._processes]

    def ended(self) -> list[str]:
        """The publishers that are no longer there."""
        return [str(where) for where, process in self._processes if not process.is_alive()]

    def close(self) -> None:
        """Let them publish the rest, and end."""
        for _, process in self._processes:
            process.terminate()
        for _, process in self._processes:
            process.join(END_TIMEOUT_S)
            if process.is_alive():
                process.kill()

    def __enter__(self) -> Publishers:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _first_word(destination: Destination, line: Connection) -> str:
    if not line.poll(START_TIMEOUT_S):
        raise BadValue(f"--publish {destination}: it did not start in {START_TIMEOUT_S:g} s")
    started, text = False, "its process ended before it had started"
    with suppress(EOFError, OSError):
        started, text = line.recv()
    if not started:
        raise BadValue(f"--publish {destination}: {text}")
    return str(text)


def _publish(order: _Order, line: Connection) -> None:
    """The target of a publisher's process."""
    ending: list[int] = []
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, _: ending.append(number))
    with suppress(OSError):
        os.nice(NICENESS)
    try:
        module, _, name = VIEWERS[order.destination.kind].partition(":")
        reader = Reader(order.ring_path)
        door = SessionAccess(order.session, order.drive)
        made: type[Viewer] = getattr(importlib.import_module(module), name)
        published = Published(
            reader.header, order.scene, door, order.destination.address, order.rate
        )
        viewer = made(published)  # type: ignore[call-arg]
    except FarhandError as error:
        line.send((False, str(error)))
        return
    line.send((True, viewer.address))
    line.close()
    try:
        Pump(reader, published, viewer).run(ending)
    finally:
        viewer.close()


class Pump:
    """Moves what is new in a session's telemetry to a viewer."""

    def __init__(self, reader: Reader, published: Published, viewer: Viewer) -> None:
        self._reader, self._published, self._viewer = reader, published, viewer
        self._scene = published.scene
        self._kinematics = Kinematics(self._scene)
        self._prediction = Prediction.of(self._scene)
        self._day_ns: int | None = None  # time of day at the session's time zero, [ns]
        self._lost = 0
        self._draw_at = self._diagnose_at = 0.0

    def run(self, ending: Sequence[int]) -> None:
        """Go on until that is filled, or the session or its process has ended."""
        parent = multiprocessing.parent_process()
        period = max(self._viewer.period_s, min(MAX_PERIOD_S, 1.0 / self._published.rate))
        closed = False
        while not closed:
            gone = parent is not None and not parent.is_alive()
            closed = bool(ending) or self._reader.closed or gone
            self.step(time.monotonic())
            time.sleep(period)
        self._prediction.close()

    def step(self, now: float) -> None:
        """Hand on what is new, and draw and diagnose where due at ``now`` [s]."""
        newest_ns = None
        for stream in self._reader.header["streams"]:
            times_ns, rows, lost = self._reader.drain(stream)
            self._lost += lost
            if times_ns.size:
                if self._day_ns is None:
                    self._day_ns = time.time_ns() - int(times_ns[-1])
                newest_ns = int(times_ns[-1]) + self._day_ns
                self._viewer.take(stream, times_ns + self._day_ns, rows)
        for t_ns, text, data in self._reader.events_with_data():
            self._event(t_ns + (self._day_ns or time.time_ns()), text, data or {})
        if newest_ns is None:
            return
        if now >= self._draw_at:
            self._draw_at = now + PICTURE_PERIOD_S
            self._draw(newest_ns)
        if now >= self._diagnose_at:
            self._diagnose_at = now + DIAGNOSE_PERIOD_S
            self._viewer.diagnose(newest_ns, self._statuses())

    def _event(self, t_ns: int, text: str, data: dict[str, Any]) -> None:
        self._viewer.event(t_ns, str(data.get("kind") or "note"), text, data)
        if data.get("kind") == "command" and data.get("name") == "set" and data.get("done"):
            self._prediction.change(data["path"], data["value"])
            self._viewer.changed(data["path"], data["value"])

    def _draw(self, t_ns: int) -> None:
        configurations, forces = {}, {}
        for robot in self._scene["robots"]:
            record = self._reader.latest(robot["stream"]) if self._has(robot["stream"]) else None
            if record is not None:
                channels = record[1]
                configurations[robot["name"]] = channels[robot["channel"]]
                if FORCE in channels:
                    forces[robot["name"]] = channels[FORCE][:3]
        self._kinematics.update(configurations)
        self._viewer.draw(t_ns, self._kinematics, forces)

    def _has(self, stream: str) -> bool:
        return stream in self._reader.header["streams"]

    def _statuses(self) -> Sequence[Status]:
        """How the session is: each station, each coupling, how far it is from shaking."""
        found: list[Status] = []
        trips = self._published.door.trips()
        for name in self._reader.header["streams"]:
            record = self._reader.latest(name)
            if record is None:
                continue
            channels = record[1]
            values: dict[str, str] = {}
            if "sample_age" in channels:
                values["sample age [ms]"] = f"{1e-6 * channels['sample_age'][0]:.3f}"
            if "age" in channels:
                ages = ", ".join(f"{1e3 * age:.3f}" for age in channels["age"])
                values["age of what arrives [ms]"] = ages
            if "engagement" in channels:
                engaged = channels["engagement"][0] > 0.0
                error = float(np.linalg.norm(channels["error"][:3]))
                values["error"] = f"{error:.6f}"
                found.append((0, name, "engaged" if engaged else "apart", values))
            elif name in trips:
                found.append((2, name, trips[name], values))
            elif values:
                found.append((0, name, "running", values))
        if self._prediction.text:
            near = self._prediction.level >= 1.0
            found.append((int(near), "stability", self._prediction.text, {}))
        lost = {"records not published": str(self._lost)}
        found.append((int(self._lost > 0), "publisher", "running", lost))
        return found

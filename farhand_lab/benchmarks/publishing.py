"""The tick while the session is published to three destinations, each with a slow reader.

A machine may change its speed by a factor of two from one run to the next. So all is read in one
process, in windows of a second or two, by turns with and without: without, the publishers and their
readers stand still (SIGSTOP) and another session runs, which is not served at all. The loop has a
core of its own, as with ``--core``.

``python -m farhand_lab.benchmarks.publishing`` prints the lateness of ticks while a reader of each
destination is stalled, killed, or floods it with requests.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import signal
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from farhand.loop.clock import WallClock
from farhand.publishing import Destination, Publishers
from farhand.realtime import real_time
from farhand.realtime.privileges import off_core
from farhand.rigs import Options, Rig, build_rig
from farhand.running.page import scene_for
from farhand.running.serving import NamedSession
from farhand.spatial import Array
from farhand_lab.benchmarks.measure import Benchmark

SETTLE_S, WINDOW_S = 0.5, 1.5
"""A window's beginning, which is not counted, and the rest."""

CORE = (os.cpu_count() or 1) - 1  # of the loop
TURNS = 3  # windows with readers, each between two without
LATENESS_S, ROUNDS = 4.0, 2  # windows of the lateness table
START_TIMEOUT_S = 60.0
NAP_S, WAKE_S = 0.45, 0.05  # of a slow reader
PARAMETER = "hand.stiffness"

Work = Callable[[Any, str, int], None]
"""What a process does: with a line on which it says that it is there, and an address."""


class Beside:
    """A process beside the loop, with all that it starts."""

    def __init__(self, work: Work, port: int) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe(duplex=False)
        self._process = context.Process(target=_in_group, args=(work, theirs, port), daemon=True)
        self._process.start()
        theirs.close()
        if not ours.poll(START_TIMEOUT_S):
            raise TimeoutError(f"{work.__name__} did not start")
        ours.recv()

    def send(self, number: signal.Signals) -> None:
        """Send a signal to all of them."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid or 0, number)

    def end(self) -> None:
        """End them at once."""
        self.send(signal.SIGKILL)
        self._process.join()


def _in_group(work: Work, line: Any, port: int) -> None:
    os.setsid()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    work(line, "127.0.0.1", port)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.killpg(0, signal.SIGKILL)


def route(line: Any, host: str, port: int) -> None:
    """A Zenoh router."""
    import zenoh

    with zenoh.open(zenoh_settings("router", "listen", host, port)):
        line.send("there")
        signal.pause()


def zenoh_settings(mode: str, how: str, host: str, port: int) -> Any:
    """To connect or listen at a port, and to look for nobody else."""
    import zenoh

    settings = zenoh.Config()
    for path, value in (
        ("mode", mode),
        (f"{how}/endpoints", [f"tcp/{host}:{port}"]),
        ("scouting/multicast/enabled", False),
    ):
        settings.insert_json5(path, json.dumps(value))
    return settings


def read_ros2(line: Any, host: str, port: int) -> None:
    """Take one message after the other, slower than they come."""
    import zenoh

    with zenoh.open(zenoh_settings("client", "connect", host, port)) as session:
        kept = session.declare_subscriber("**", lambda sample: time.sleep(0.02))
        line.send("there")
        signal.pause()
        kept.undeclare()


def read_foxglove(line: Any, host: str, port: int) -> None:
    """Subscribe to everything, and take one message after the other, slower than they come."""
    with _foxglove(host, port) as (socket, channels, _):
        places = [{"id": one["id"], "channelId": one["id"]} for one in channels]
        socket.send(json.dumps({"op": "subscribe", "subscriptions": places}))
        line.send("there")
        while True:
            socket.recv()
            time.sleep(0.01)


def read_rerun(line: Any, host: str, port: int) -> None:
    """The viewer's own program without a window, which gets to run now and then."""
    import subprocess

    import rerun_cli

    # itself, not the script that starts it: that one would be stopped alone
    program = str(Path(rerun_cli.__file__).with_name("rerun"))
    # it listens as well, and two cannot at one port
    own = str(_free_ports(1)[0])
    with tempfile.TemporaryDirectory() as folder:
        where = f"rerun+http://{host}:{port}/proxy"
        reader = subprocess.Popen(
            [program, where, "--port", own, "--save", f"{folder}/heard.rrd"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(2.0)
        line.send("there")
        while reader.poll() is None:
            reader.send_signal(signal.SIGSTOP)
            time.sleep(NAP_S)
            reader.send_signal(signal.SIGCONT)
            time.sleep(WAKE_S)


def flood_ros2(line: Any, host: str, port: int) -> None:
    """Commands, targets, calls, nonsense and subscriptions, as fast as they go."""
    import zenoh

    from farhand.publishing.ros2 import TRIGGER, TRIGGER_HASH, dds_name
    from farhand.recording.cdr import Template
    from farhand.recording.definitions import definition, type_hash

    def key(name: str, kind: str) -> str:
        return f"0/{name}/{dds_name(kind)}/{type_hash(kind, definition(kind))}"

    order = bytes(Template().string(f"set {PARAMETER}=900"))
    with zenoh.open(zenoh_settings("client", "connect", host, port)) as session:
        line.send("there")
        for number in itertools.count():
            session.put(key("farhand/command", "std_msgs/String"), order)
            session.put(key("follower/target_joints", "sensor_msgs/JointState"), b"nonsense")
            session.get(f"0/farhand/engage/{TRIGGER}/{TRIGGER_HASH}", lambda answer: None)
            if number % 100 == 0:
                session.declare_subscriber("**", lambda sample: None).undeclare()


def flood_foxglove(line: Any, host: str, port: int) -> None:
    """Parameters, calls, nonsense and subscriptions, as fast as they go."""
    with _foxglove(host, port) as (socket, channels, services):
        threading.Thread(target=lambda: [None for _ in socket], daemon=True).start()
        engage = struct.pack("<BIII", 2, services["/farhand/engage"], 1, 4) + b"json{}"
        places = [{"id": one["id"], "channelId": one["id"]} for one in channels]
        wanted = [{"name": PARAMETER, "value": 900.0}]
        line.send("there")
        for number in itertools.count():
            socket.send(json.dumps({"op": "setParameters", "parameters": wanted, "id": "f"}))
            socket.send(json.dumps({"op": "getParameters", "parameterNames": [], "id": "f"}))
            socket.send(engage)
            socket.send("{}")
            if number % 100 == 0:
                ids = [one["id"] for one in places]
                socket.send(json.dumps({"op": "subscribe", "subscriptions": places}))
                socket.send(json.dumps({"op": "unsubscribe", "subscriptionIds": ids}))


def flood_rerun(line: Any, host: str, port: int) -> None:
    """Messages of one's own, as fast as they go."""
    import rerun

    rerun.init("flood")
    rerun.connect_grpc(f"rerun+http://{host}:{port}/proxy")
    line.send("there")
    for number in itertools.count():
        rerun.set_time("time", sequence=number)
        rerun.log("flood", rerun.TextLog("flood" * 200))


@contextmanager
def _foxglove(host: str, port: int) -> Iterator[tuple[Any, list[Any], dict[str, int]]]:
    """A connection, the channels and the services."""
    from websockets.sync.client import connect
    from websockets.typing import Subprotocol

    channels: list[Any] = []
    services: dict[str, int] = {}
    spoken = [Subprotocol("foxglove.sdk.v1")]
    with connect(
        f"ws://{host}:{port}",
        subprotocols=spoken,
        max_size=None,
        open_timeout=START_TIMEOUT_S,
        # a slow reader would find no answer to its ping in time, and end
        ping_interval=None,
    ) as socket:
        while not (channels and services):
            message = socket.recv()
            if isinstance(message, str):
                found = json.loads(message)
                channels += found.get("channels", []) if found["op"] == "advertise" else []
                services |= {one["name"]: one["id"] for one in found.get("services", [])}
        yield socket, channels, services


KINDS: dict[str, tuple[Work, Work]] = {
    "ros2": (read_ros2, flood_ros2),
    "foxglove": (read_foxglove, flood_foxglove),
    "rerun": (read_rerun, flood_rerun),
}
"""What reads each destination slowly, and what floods it."""


class PublishedRig:
    """A rig that is served and published to all destinations, with a slow reader of each.

    It may be driven from there, so that a flood reaches the loop.
    """

    def __init__(self, stack: ExitStack) -> None:
        self.ports = dict(zip(("router", *KINDS), _free_ports(1 + len(KINDS)), strict=True))
        self.ports["ros2"] = self.ports["router"]
        self._router = Beside(route, self.ports["router"])
        stack.callback(self._router.end)
        self.rig = stack.enter_context(_rig())
        name = f"bench-{os.getpid()}"
        served = stack.enter_context(NamedSession(name))
        served.open(self.rig)
        self.publishers = stack.enter_context(
            Publishers(
                [
                    Destination("ros2", f"127.0.0.1:{self.ports['ros2']}"),
                    Destination("foxglove", str(self.ports["foxglove"])),
                    Destination("rerun", str(self.ports["rerun"])),
                ],
                self.rig.session.telemetry.path,
                scene_for(self.rig),
                name,
                drive=True,
            )
        )
        # nobody is let in before the first tick
        self.rig.session.run(0.2)
        self.readers = {kind: self.read(kind) for kind in KINDS}
        stack.callback(self._end_readers)
        # before they are ended
        stack.callback(self.stand_still, False)

    def read(self, kind: str) -> Beside:
        """Another slow reader."""
        return Beside(KINDS[kind][0], self.ports[kind])

    def _end_readers(self) -> None:
        for reader in self.readers.values():
            reader.end()

    def stand_still(self, still: bool = True) -> None:
        """Stop publishers and readers, or let them go on."""
        number = signal.SIGSTOP if still else signal.SIGCONT
        for process in self.publishers.process_ids:
            os.kill(process, number)
        for beside in (self._router, *self.readers.values()):
            beside.send(number)


@contextmanager
def _rig() -> Iterator[Rig]:
    rig = build_rig("dual-arm", Options(law="virtual-constraints", clock=WallClock()))
    try:
        yield rig
    finally:
        rig.close()


def _free_ports(count: int) -> list[int]:
    import socket

    with ExitStack() as stack:
        sockets = [
            stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)
        ]
        return [one.getsockname()[1] for one in sockets]


class Window(NamedTuple):
    """Some ticks."""

    ticks: Array  #: how long each took, [µs]
    late: Array  #: how late each began, [µs]
    overruns: int

    @classmethod
    def of(cls, rig: Rig, seconds: float) -> Window:
        """Run for so long."""
        session = rig.session
        with real_time(CORE):
            session.run(SETTLE_S)
            first, overruns = session.ticks, session.overruns
            session.run(seconds)
        places = np.arange(first, session.ticks) % len(session.tick_ns)
        ticks, late = 1e-3 * session.tick_ns[places], 1e-3 * session.late_ns[places]
        return cls(ticks, late, session.overruns - overruns)


def _pair() -> tuple[float, float]:
    """Median tick while it is published and of a session that is not, [µs].

    The median over some windows, each against the mean of those before and after it.
    """
    with ExitStack() as stack:
        stack.enter_context(off_core(CORE))
        published = PublishedRig(stack)
        bare = stack.enter_context(_rig())

        def median_tick(rig: Rig) -> float:
            published.stand_still(rig is bare)
            return float(np.median(Window.of(rig, WINDOW_S).ticks))

        windows = [median_tick(rig) for rig in (bare, published.rig) * TURNS + (bare,)]
        without = np.convolve(windows[::2], [0.5, 0.5], "valid")
        ratio = float(np.median(np.array(windows[1::2]) / without))
        floor = float(np.median(without))
        return ratio * floor, floor


BENCHMARKS = [Benchmark("tick/dual-arm/published", None, pair=_pair)]


def windows_by_fate() -> dict[str, list[Window]]:
    """What happens to readers, and the ticks meanwhile."""
    found: dict[str, list[Window]] = {}
    with ExitStack() as stack:
        stack.enter_context(off_core(CORE))
        published = PublishedRig(stack)
        bare = stack.enter_context(_rig())

        def note(what: str, rig: Rig) -> None:
            found.setdefault(what, []).append(Window.of(rig, LATENESS_S))

        for _ in range(ROUNDS):
            published.stand_still()
            note("not published", bare)
            published.stand_still(False)
            note("published, slow readers", published.rig)
            for kind, (_, flood) in KINDS.items():
                reader = published.readers[kind]
                reader.send(signal.SIGSTOP)
                note(f"{kind}: reader stalled", published.rig)
                reader.end()
                note(f"{kind}: reader killed", published.rig)
                flooding = Beside(flood, published.ports[kind])
                note(f"{kind}: flooded", published.rig)
                flooding.end()
                published.readers[kind] = published.read(kind)
        for ended in published.publishers.ended():
            print(f"{ended} ended meanwhile")
    return found


def main() -> None:
    """Print medians of durations, percentiles of lateness, and overruns."""
    print(f"{'[µs]':28} {'tick':>7} {'late 50 %':>10} {'99 %':>8} {'99.9 %':>8}  overruns")
    for what, windows in windows_by_fate().items():
        late = np.concatenate([window.late for window in windows])
        tick = np.median(np.concatenate([window.ticks for window in windows]))
        half, most, nearly_all = np.percentile(late, [50.0, 99.0, 99.9])
        overruns = sum(window.overruns for window in windows)
        print(f"{what:28} {tick:7.1f} {half:10.1f} {most:8.1f} {nearly_all:8.1f}  {overruns}")


if __name__ == "__main__":
    main()

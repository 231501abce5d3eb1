"""Threads, callbacks, start-up and what runs without a part: H-34, H-35."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

import numpy as np

from farhand.control.haptic.haptic_objects import exact_arm
from farhand.control.haptic.synthetic import SyntheticForce
from farhand.mapping.limbs import ArmChain
from farhand.plants.drivers.worker import Timing, Worker, urgent
from farhand.plants.servo_bus.simulated_bus import PseudoTerminal
from farhand_lab.harness import Finding, experiment
from farhand_lab.humanoid import startup as humanoid_startup
from farhand_lab.humanoid.bus_bench import all_joints, bench
from farhand_lab.humanoid.callbacks import MAX, MIN, CallbackLoop, Caller, Ticket, run_virtual
from farhand_lab.humanoid.startup import DEFAULT_PORT, Hardware, Started, start
from farhand_lab.mutation import Mutation

MS = 1_000_000


@experiment("H-34")
def callbacks() -> Finding:
    """One virtual second with a caller beside the loop; then a wall-clock second with the heaviest force."""
    loop, log = CallbackLoop(), list[tuple[str, int]]()
    for name, priority in (("force", 50), ("calibration", MIN), ("device", MAX)):
        loop.asynchronous(name, lambda now_ns, name=name: log.append((name, now_ns)), priority)  # type: ignore[misc]
    went_on: list[int] = []
    run_virtual(loop, [_copying(loop, log, went_on)], MS, 1000 * MS)
    device = np.array([at for name, at in log if name == "device"])
    uneven = int(np.ptp(np.diff(device)))
    order = [name for name, at in log if at == 5 * MS]
    # asked for before the tick at 5 ms, done within it, so its caller goes on before the next one
    blocked = went_on == [5, 6] and order == ["device", "force", "copy", "calibration"]
    timing, answered = _in_wall_time()
    ok = uneven == 0 and len(device) == 1000 and blocked and timing.mean >= 500.0 and answered
    note = (
        f"in a tick: {', '.join(order)}; wall clock {timing.mean:.0f} Hz with the arm's limits as force, p99 interval "
        f"{1e3 * timing.p99:.2f} ms, beside whatever else this machine was doing"
    )
    return Finding(uneven, ok, note)


def _copying(loop: CallbackLoop, log: list[tuple[str, int]], went_on: list[int]) -> Caller:
    """Sleep until 5 ms, have data copied and wait for it."""
    yield 5 * MS
    went_on.append(5)
    yield loop.synchronous("copy", lambda now_ns: log.append(("copy", now_ns)), 50)
    went_on.append(loop.ticks)


def _in_wall_time() -> tuple[Timing, bool]:
    """How evenly the loop runs with a real force in it, and whether a caller in another thread was served meanwhile."""
    loop, force, shown = CallbackLoop(), SyntheticForce(objects=exact_arm(ArmChain())), np.zeros(3)
    place = np.array([0.14, 0.11, -0.12])
    loop.asynchronous("force", lambda now_ns: shown.__setitem__(slice(None), force.force(place)))
    worker, tickets = Worker("haptics", loop.tick, 1000.0), list[Ticket]()
    with urgent():
        worker.start()
    caller = threading.Thread(target=lambda: tickets.append(_ask(loop)))
    caller.start()
    time.sleep(1.0)
    caller.join(1.0)
    worker.stop()
    return Timing.of(worker.times_ns), bool(
        tickets and tickets[0].done_ns is not None and worker.error is None
    )


def _ask(loop: CallbackLoop) -> Ticket:
    ticket = loop.synchronous("copy", lambda now_ns: None)
    ticket.wait()
    return ticket


MATRIX: tuple[tuple[list[str], Hardware, Started], ...] = (
    ([], Hardware(), Started(0, True, True, True, True)),
    ([], Hardware(silent="no answer"), Started(1)),
    ([], Hardware(pen=False), Started(1)),
    ([], Hardware(threads=False), Started(1)),
    ([], Hardware(page=False), Started(0, True, True, True, False)),
    (["--debug"], Hardware(silent="no answer", pen=False), Started(0, True, False, False, True)),
    (["--debug"], Hardware(silent="no answer"), Started(0, True, False, True, True)),
    (["--debug"], Hardware(threads=False), Started(1)),
    (["--debug"], Hardware(page=False), Started(0, True, True, True, False)),
    (["--help"], Hardware(silent="no answer"), Started(0)),
    (["--fast"], Hardware(), Started(2)),
)
"""Arguments, what hardware answers, and what must run."""


@experiment("H-35")
def startup() -> Finding:
    """The matrix; then a real probe of a port that is missing and of twenty servos on a pseudo-terminal."""
    right = sum(
        _alike(start(words, lambda _port, found=found: found), wanted)  # type: ignore[misc]
        for words, found, wanted in MATRIX
    )
    ports: list[str] = []

    def look(port: str) -> Hardware:
        ports.append(port)
        return Hardware()

    start(["/dev/other"], look)
    start([], look)
    missing = start(["/dev/no-such-port"])
    with _servos(0) as path:
        whole = start([path])
    with _servos(23) as path:
        lame, bare = start([path]), start(["--debug", path])
    ok = right == len(MATRIX) and ports == ["/dev/other", DEFAULT_PORT] and missing.code == 1
    ok = (
        ok
        and whole.code == 0
        and whole.commanding
        and lame.code == 1
        and bare.running
        and not bare.commanding
    )
    return Finding(
        right,
        ok,
        f"with servo 23 dead: {lame.said[0]}" if lame.said else "a dead servo is not noticed",
    )


def _alike(found: Started, wanted: Started) -> bool:
    flags = ("code", "kinematics", "commanding", "haptics", "page")
    return all(getattr(found, flag) == getattr(wanted, flag) for flag in flags) and bool(
        found.said
    ) == _speaks(wanted)


def _speaks(wanted: Started) -> bool:
    return not (wanted.code == 0 and wanted.page and wanted.commanding and wanted.haptics)


@contextlib.contextmanager
def _servos(dead: int) -> Iterator[str]:
    """Twenty servos on a pseudo-terminal, one of them dead."""
    made = bench(all_joints())
    made.bus.faults.dead = dead
    with urgent(), PseudoTerminal(made.bus) as terminal:
        yield terminal.path


MUTATIONS = [
    Mutation("no-priorities", "callbacks run in the order they were added", ("H-34",)).change(
        CallbackLoop, "_add", lambda whole: lambda self, n, a, p, t: whole(self, n, a, 50, t)
    ),
    Mutation("debug-needs-hardware", "--debug is ignored", ("H-35",)).change(
        humanoid_startup.Arguments,
        "parse",
        lambda whole: lambda words: whole([w for w in words if w != "--debug"]),
    ),
    Mutation("never-probes", "every bus counts as whole", ("H-35",)).patch(
        humanoid_startup, "probe", lambda port: ""
    ),
]

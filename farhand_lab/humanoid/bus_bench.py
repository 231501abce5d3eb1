"""Benches of the servo bus: on a virtual line, on a pseudo-terminal, and with a simulated arm."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from farhand.plants import JointPosition
from farhand.plants.drivers.worker import urgent
from farhand.plants.servo_bus.driver import Exchange, SerialLine, ServoDriver
from farhand.plants.servo_bus.joints import LIMBS, BusJoint, bus_joints, joints_named
from farhand.plants.servo_bus.plant import BusParts, ServoBusPlant
from farhand.plants.servo_bus.simulated_bus import (
    BusFaults,
    BusTiming,
    PseudoTerminal,
    Servos,
    SimulatedBus,
    VirtualLine,
)
from farhand.robots import Placement, load_robot
from farhand.robots.edits import set_armature
from farhand.world import Placed, World

Array = np.ndarray

STEP_NS = 1_000_000
ARM = joints_named(*LIMBS["left-arm"])


@dataclass
class BusBench:
    """A driver with its bus in virtual time."""

    driver: ServoDriver
    bus: SimulatedBus
    line: VirtualLine
    now_ns: int = 0
    longest_ns: int = 0  #: the longest that the driver waited for one frame, [ns]
    busy_ns: int = 0  #: how long the line was in use, [ns]

    def run(self, exchange: Exchange) -> None:
        """Carry one exchange out, jumping from event to event."""
        answer = None
        while True:
            try:
                frame, wants = exchange.send(answer)
            except StopIteration:
                return
            began_ns = self.now_ns
            self.line.send(frame, wants, began_ns)
            while not self.line.done(self.now_ns):
                self.now_ns = self.line.free_ns
            answer = self.line.answer
            self.bus.servos.advance((self.now_ns - began_ns) * 1e-9)
            self.longest_ns = max(self.longest_ns, self.now_ns - began_ns)
            self.busy_ns += self.now_ns - began_ns

    def rate(self, make: Callable[[], Exchange], count: int = 50) -> float:
        """Cycles per second of virtual time, [Hz]."""
        start_ns = self.now_ns
        for _ in range(count):
            self.run(make())
        return count / ((self.now_ns - start_ns) * 1e-9)


def bench(
    joints: list[BusJoint] | None = None,
    timing: BusTiming | None = None,
    faults: BusFaults | None = None,
    seed: int = 0,
) -> BusBench:
    """A driver and servos, at the middle of their travel."""
    joints = joints or ARM
    start = np.array([joint.counts(sum(joint.limits) / 2.0) for joint in joints], dtype=float)
    bus = SimulatedBus(Servos(joints, start), faults, np.random.default_rng(seed))
    return BusBench(ServoDriver(joints, start), bus, VirtualLine(bus, timing or BusTiming()))


def all_joints() -> list[BusJoint]:
    """All twenty."""
    return list(bus_joints().values())


@dataclass(frozen=True)
class WallRun:
    """What the driver measured on a pseudo-terminal in wall time."""

    transaction: float  #: median time of one command or reading, [s]
    cycle: float  #: median time of commanding and reading three servos, [s]
    raw: bytes  #: all bytes that reached the bus
    missed: int  #: answers that did not come


def on_pseudo_terminal(cycles: int = 30) -> WallRun:
    """Command and read three servos through pyserial and a pseudo-terminal.

    A busy machine wakes both ends of the line late. The line is measured, so both ends go before
    other programs.
    """
    made = bench()
    start, driver = made.driver.sent.copy(), made.driver
    times, ends = [], []
    # a thread that must wait for the processor is late, not lost
    patient = BusTiming(timeout=0.2)
    with urgent(), PseudoTerminal(made.bus) as terminal, SerialLine(terminal.path, patient) as line:
        line.run(driver.scan())
        for step in range(cycles):
            exchange, answer = driver.refresh(start + step), None
            while True:
                try:
                    frame, wants = exchange.send(answer)
                except StopIteration:
                    break
                began = time.monotonic()
                answer = line.transact(frame, wants)
                times.append(time.monotonic() - began)
            ends.append(time.monotonic())
        raw = bytes(terminal.raw)
    return WallRun(float(np.median(times)), float(np.median(np.diff(ends))), raw, driver.missed)


class ArmOnBus:
    """The left arm of the World behind its bus, commanded tick by tick.

    Args:
        parts: bus, servos and battery.
        seed: which units the servos are.
    """

    def __init__(self, parts: BusParts | None = None, seed: int = 0) -> None:
        robot = load_robot("phua", "left-arm").edited(set_armature(5e-3))
        self.start = np.radians([30.0, 40.0, 60.0])
        self.world = World({"arm": Placed(robot, Placement(), self.start)}, STEP_NS)
        self.plant = ServoBusPlant(self.world, "arm", ARM, parts, np.random.default_rng(seed))
        self.command = JointPosition(3)
        self.command.value[:] = self.start
        self._tick = 0

    def run(self, seconds: float, target: Callable[[float], Array] | None = None) -> Array:
        """Run on, commanding ``target(t)`` [rad]; true angles per tick, [rad]."""
        rows = []
        for _ in range(round(seconds * 1000)):
            self._tick += 1
            self.plant.read(self._tick * STEP_NS)
            if target is not None:
                self.command.value[:] = target(1e-3 * self._tick)
            self.plant.write(self.command, self._tick * STEP_NS)
            rows.append(self.world.ports["arm"].q.copy())
        return np.array(rows)

"""Servo-bus plant: a limb of the World behind its slow bus and its battery."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from farhand.errors import BadValue
from farhand.parameters import parameter
from farhand.plants.plant import Channels, Command, InnerLoop, JointPosition, JointTorque, Sample
from farhand.plants.servo_bus.driver import Exchange, ServoDriver
from farhand.plants.servo_bus.frames import FRAME_NS, HIGHEST, LOWEST, Frame
from farhand.plants.servo_bus.joints import BusJoint
from farhand.plants.servo_bus.simulated_bus import (
    FULL_SPEED,
    RATED_VOLTAGE,
    BusFaults,
    BusTiming,
    ServoLoop,
    Servos,
    SimulatedBus,
    VirtualLine,
)
from farhand.plants.simulated.port import Imperfections, SimulatedPlant
from farhand.spatial import Array
from farhand.world.world import World

AMPERE_PER_TORQUE = 1.5
"""Current of a servo per torque at its shaft, [A/(N·m)]; assumed, typical of such servos."""

IDLE_PERIOD_NS = 40_000_000
"""Time after which a stopped driver checks whether to continue, [ns]."""

CHARGES = (0.0, 0.05, 0.2, 0.5, 0.8, 1.0)
VOLTS = (3.0, 3.45, 3.65, 3.75, 3.95, 4.2)
"""Open-circuit voltage of a lithium-polymer cell over its charge, [V]; typical values."""


@dataclass
class Battery:
    """Cells in series with a resistance and two thresholds, which the published robot lacked."""

    # Assumed: cells for servos of 7.4 V, the resistance, the thresholds at 3.45 V and 3.2 V per
    # cell, and the idle current.
    cells: int = parameter(2, "-", "cells in series", 1, 6)
    capacity: float = parameter(10.0, "A·h", "capacity", 0.01, 1000.0)
    resistance: float = parameter(0.05, "Ω", "of pack and wires", 0.0, 10.0)
    alarm: float = parameter(6.9, "V", "when the operator is warned", 0.0, 50.0)
    stop: float = parameter(6.4, "V", "when the robot stops by itself", 0.0, 50.0)
    charge: float = parameter(1.0, "-", "share of the charge left", 0.0, 1.0)
    idle: float = parameter(1.0, "A", "current beside the servos' torque", 0.0, 100.0)
    used: bool = parameter(True, "-", "whether the servos run on it")

    def __post_init__(self) -> None:
        """Start without load."""
        self.voltage = self._open()

    def refresh(self) -> None:
        """Compute the voltage for a new charge."""
        self.voltage = self._open()

    def _open(self) -> float:
        return self.cells * float(np.interp(self.charge, CHARGES, VOLTS))

    def draw(self, current: float, dt: float) -> float:
        """Draw a current [A] for ``dt`` [s] and return the voltage under load, [V]."""
        self.charge = max(0.0, self.charge - current * dt / (3600.0 * self.capacity))
        self.voltage = max(0.0, self._open() - self.resistance * current)
        return self.voltage

    @property
    def warning(self) -> str | None:
        """The warning for the operator, or None."""
        if self.voltage >= self.alarm:
            return None
        return f"battery at {self.voltage:.2f} V (alarm at {self.alarm:g} V)"

    @property
    def fault(self) -> str | None:
        """Why the robot must stop, or None."""
        if self.voltage >= self.stop:
            return None
        return f"battery at {self.voltage:.2f} V (stop at {self.stop:g} V)"


@dataclass
class ServoOrders:
    """Settings of the operator for all servos."""

    speed: int = parameter(
        FULL_SPEED, "-", "speed of the servos, 255 for the top speed", 1, FULL_SPEED
    )
    passive: bool = parameter(False, "-", "whether the servos let go")


@dataclass
class BusParts:
    """The parts of a simulated limb on the bus."""

    timing: BusTiming = field(default_factory=BusTiming)
    faults: BusFaults = field(default_factory=BusFaults)
    loop: ServoLoop = field(default_factory=ServoLoop)
    battery: Battery = field(default_factory=Battery)
    orders: ServoOrders = field(default_factory=ServoOrders)


class Gear:
    """Angles of joints as positions of their shafts, [counts], all at once."""

    def __init__(self, joints: Sequence[BusJoint]) -> None:
        self._zero = np.array([joint.zero for joint in joints], dtype=float)
        self._slopes = np.array([[joint.slope_below, joint.slope_above] for joint in joints])

    def shaft(self, q: Array) -> tuple[Array, Array]:
        """Positions [counts] at angles [rad], and turns of the shaft per turn of the joint."""
        slope = np.where(q < 0.0, self._slopes[:, 0], self._slopes[:, 1])
        return self._zero + np.degrees(q) * slope, slope / 10.0


class ServoBusPlant(SimulatedPlant):
    """A limb of the World whose servos share one slow bus, which runs at its own pace.

    A read returns the last reading of the bus with its age, or without read-back what was sent
    last. The servos run in every step of the world, so the session must advance this plant
    (``worlds=[plant]``).

    Args:
        world: the world the limb stands in.
        name: its name there.
        joints: its servos, in the order of its joints.
        parts: bus, servos and battery.
        rng: draws the errors of the units and the lost answers.

    Attributes:
        driver: what was sent and heard.
        cycles: how often the whole limb was served.
        period: time that the last cycle took, [s].
    """

    accepts: frozenset[type[Command]] = frozenset({JointPosition})

    def __init__(
        self,
        world: World,
        name: str,
        joints: Sequence[BusJoint],
        parts: BusParts | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        super().__init__(world, name, Imperfections(wrench_sensor=False, actuator_limit=0.0), rng)
        if len(joints) != self._model.nv or not self._plain:
            raise BadValue(f"{name} has {self._model.nv} joints, but {len(joints)} servos")
        self.parts, self._gear = parts or BusParts(), Gear(joints)
        start = np.rint(self._gear.shaft(self.port.q)[0])
        generators = self._rng.spawn(2)
        self.servos = Servos(joints, start, self.parts.loop, generators[0])
        bus = SimulatedBus(self.servos, self.parts.faults, generators[1], lambda: self._shaft)
        self.driver = ServoDriver(joints, start)
        self._line = VirtualLine(bus, self.parts.timing)
        self._shaft, self._targets = start.astype(float), start.copy()
        self._exchange: Exchange | None = None
        self._halted = False
        self._empty: str | None = None
        self._torque = JointTorque(self._model.nv)
        self.cycles, self.period, self._began_ns = 0, 0.0, world.now_ns
        self._known = Sample(self._model.nq, self._model.nv)
        self._known.q[:] = self.driver.angles(start)
        self._assumed = self.driver.assumed.copy()
        self._sent, self._asked = self._known.q.copy(), np.full(self._model.nv, np.nan)
        self._recorded: tuple[Array, ...] | None = None

    @property
    def fault(self) -> str | None:  # type: ignore[override]
        """Why the limb stopped: a silent servo or an empty battery; None while it runs."""
        return self._empty or self.driver.fault

    def restart(self) -> None:
        """Continue after a fault, from where the limb is."""
        self.driver.restart()
        self._targets, self._halted, self._empty = self.driver.heard.copy(), False, None
        self._asked[:] = np.nan

    def record(self, stream: Channels) -> None:
        """Publish the positions sent, the assumed replies, the bus period and the battery."""
        n = len(self.driver.sent)
        self._recorded = (
            stream.channel("q_sent", n, "rad"),
            stream.channel("reply_assumed", n, "-"),
            stream.channel("bus_period", 1, "s"),
            stream.channel("battery", 1, "V"),
        )

    @property
    def unstable(self) -> str:
        """Why the world that this plant carries along has diverged."""
        return self.world.unstable

    @property
    def inner_loop(self) -> InnerLoop:
        """The loops in the servos, behind the bus.

        A command waits for half a cycle on average and is sent in the course of the next; what is
        read is as old as the cycle, and half of one more when it is used.
        """
        timing, loop, n = self.parts.timing, self.parts.loop, self._model.nv
        frame_ns = timing.answer_ns + FRAME_NS if timing.read_back else timing.sent_ns
        cycle, gear = 1e-9 * n * frame_ns, np.square(self._gear.shaft(self.port.q)[1])
        step = self.world.step_ns * 1e-9
        return InnerLoop(loop.kp * gear, loop.kd * gear, False, step, 2.5 * cycle, cycle)

    def advance(self, to_ns: int) -> None:
        """Step the world until ``to_ns``, with the bus and the servos in every step."""
        world = self.world
        while world.now_ns + world.step_ns <= to_ns:
            self._shaft, ratio = self._gear.shaft(self.port.q)
            self._serve(world.now_ns)
            self._drive(ratio, world.step_ns * 1e-9, world.now_ns)
            world.advance(world.now_ns + world.step_ns)

    def read(self, now_ns: int) -> Sample:
        """The last reading of the bus."""
        self.advance(now_ns)
        if self._recorded is not None:
            sent, assumed, period, battery = self._recorded
            sent[:], assumed[:] = self._sent, self.driver.assumed
            period[0], battery[0] = self.period, self.parts.battery.voltage
        return self._known

    def write(self, command: Command, now_ns: int) -> None:
        """Leave a position for the next cycle of the bus."""
        if not np.array_equal(command.value, self._asked):
            self._asked[:] = command.value
            self._targets = self.driver.counts(command.value)

    def _serve(self, now_ns: int) -> None:
        """Let the driver continue when an answer has arrived or its time is over."""
        line = self._line
        while line.done(now_ns):
            step = _next(self._exchange, line.answer)
            if step is None:
                self._finish(line.free_ns)
                self._exchange = self._begin()
                step = _next(self._exchange, None)
            # Stopped: nothing to send for a while.
            if step is None:
                line.free_ns += IDLE_PERIOD_NS
            else:
                line.send(*step, line.free_ns)

    def _begin(self) -> Exchange:
        driver = self.driver
        if self.fault is not None and not self._halted:
            self._halted = True
            return driver.halt()
        if self.fault is not None:
            return driver.nothing()
        driver.speed = self.parts.orders.speed
        if self.parts.orders.passive:
            # The limb stays here when the servos hold again.
            self._targets = np.clip(driver.heard, LOWEST, HIGHEST)
            return driver.let_go()
        exchange = driver.refresh if self.parts.timing.read_back else driver.command
        return exchange(self._targets)

    def _finish(self, now_ns: int) -> None:
        """Take over the readings of a cycle; the sample is as old as the first of them."""
        if self._exchange is None:
            return
        timing, known, driver = self.parts.timing, self._known, self.driver
        read = timing.read_back and driver.fault is None
        time_ns = self._began_ns + timing.answer_ns + FRAME_NS if read else now_ns
        q, self._sent = driver.angles(driver.heard), driver.angles(driver.sent)
        # Two readings make a speed. A place that is assumed is an order, not where the limb is.
        speed = (q - known.q) / max((time_ns - known.time_ns) * 1e-9, 1e-3)
        known.v[:] = np.where(driver.assumed | self._assumed, 0.0, speed)
        known.q[:], known.time_ns, self._assumed[:] = q, time_ns, driver.assumed
        self.cycles += 1
        self.period, self._began_ns = (now_ns - self._began_ns) * 1e-9, now_ns

    def _drive(self, ratio: Array, dt: float, now_ns: int) -> None:
        """One step of the servos and of the battery."""
        servos, battery = self.servos, self.parts.battery
        servos.advance(dt)
        torque = servos.torque(self._shaft, self.port.v * ratio)
        if battery.used:
            current = battery.idle + AMPERE_PER_TORQUE * float(np.abs(torque).sum())
            servos.loop.voltage = min(RATED_VOLTAGE, battery.draw(current, dt))
            # Latched: without load the voltage recovers.
            self._empty = self._empty or battery.fault
        np.multiply(torque, ratio, out=self._torque.value)
        super().write(self._torque, now_ns)


def _next(exchange: Exchange | None, answer: bytes | None) -> tuple[Frame, bool] | None:
    """The exchange's next frame, or None at its end."""
    if exchange is None:
        return None
    try:
        return exchange.send(answer)
    except StopIteration:
        return None

"""Servo-bus plant: a limb of the World behind its slow bus, in virtual time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from farhand.errors import BadValue
from farhand.parameters import parameter
from farhand.plants.plant import Channels, Command, JointPosition, JointTorque, Sample
from farhand.plants.servo_bus.battery import Battery
from farhand.plants.servo_bus.driver import Exchange, ServoDriver
from farhand.plants.servo_bus.frames import FRAME_NS, HIGHEST, LOWEST, Frame
from farhand.plants.servo_bus.joints import BusJoint
from farhand.plants.servo_bus.simulated_bus import BusFaults, BusTiming, SimulatedBus, VirtualLine
from farhand.plants.simulated.port import Imperfections, SimulatedPlant
from farhand.plants.simulated.servo import FULL_SPEED, RATED_VOLTAGE, ServoLoop, Servos
from farhand.world.world import World

Array = np.ndarray

AMPERE_PER_TORQUE = 1.5
"""Current a servo draws per torque at its shaft, [A/(N·m)]; assumed, the order of such servos."""

IDLE_NS = 40_000_000
"""How often a stopped driver looks whether it may go on, [ns]."""


@dataclass
class ServoOrders:
    """What an operator asks of all servos beside their positions."""

    speed: int = parameter(
        FULL_SPEED, "-", "speed of the servos, 255 for the top speed", 1, FULL_SPEED
    )
    passive: bool = parameter(False, "-", "whether the servos let go")


@dataclass
class BusParts:
    """What a simulated limb on the bus is made of.

    Attributes:
        timing: how long things take.
        faults: what goes wrong.
        loop: in the servos.
        battery: what feeds them.
        orders: what an operator asks of them.
    """

    timing: BusTiming = field(default_factory=BusTiming)
    faults: BusFaults = field(default_factory=BusFaults)
    loop: ServoLoop = field(default_factory=ServoLoop)
    battery: Battery = field(default_factory=Battery)
    orders: ServoOrders = field(default_factory=ServoOrders)


class Gear:
    """Angles of joints as positions of their shafts, [counts], all at once.

    Args:
        joints: the joints.
    """

    def __init__(self, joints: Sequence[BusJoint]) -> None:
        self._zero = np.array([joint.zero for joint in joints], dtype=float)
        self._slopes = np.array([[joint.slope_below, joint.slope_above] for joint in joints])

    def shaft(self, q: Array) -> tuple[Array, Array]:
        """Positions [counts] at angles [rad], and turns of the shaft per turn of the joint, with sign."""
        slope = np.where(q < 0.0, self._slopes[:, 0], self._slopes[:, 1])
        return self._zero + np.degrees(q) * slope, slope / 10.0


class ServoBusPlant(SimulatedPlant):
    """A limb of the World whose servos hang on one slow bus; the driver runs beside the tick, at the bus's own pace.

    A read hands out what the bus said last, with its age. Without read-back it is what was sent
    last. The servos run in every step of the world, so the session must carry this plant along
    (``worlds=[plant]``).

    Args:
        world: the world the limb stands in.
        name: its name there.
        joints: its servos, in the order of its joints.
        parts: bus, servos and battery.
        rng: which units these are, which answers are lost.

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
            raise BadValue(
                f"{name} has {self._model.nv} joints, the bus {len(joints)} servos for them"
            )
        self.parts, self._gear = parts or BusParts(), Gear(joints)
        start = np.rint(self._gear.shaft(self.port.q)[0])
        generators = self._rng.spawn(2)
        self.servos = Servos(joints, start, self.parts.loop, generators[0])
        bus = SimulatedBus(self.servos, self.parts.faults, generators[1], lambda: self._shaft)
        self.driver = ServoDriver(joints, start)
        self._line = VirtualLine(bus, self.parts.timing)
        self._shaft, self._wanted = start.astype(float), start.copy()
        self._exchange: Exchange | None = None
        self._halted = False
        self._empty: str | None = None
        self._torque = JointTorque(self._model.nv)
        self.cycles, self.period, self._began_ns = 0, 0.0, world.now_ns
        self._known = Sample(self._model.nq, self._model.nv)
        self._known.q[:] = self.driver.angles(start)
        self._sent, self._asked = self._known.q.copy(), np.full(self._model.nv, np.nan)
        self._recorded: tuple[Array, ...] | None = None

    @property
    def fault(self) -> str | None:  # type: ignore[override]
        """Why the limb is commanded no more: a silent servo, an empty battery; None while all is well."""
        return self._empty or self.driver.fault

    def restart(self) -> None:
        """Try again after a fault, from where the limb is."""
        self.driver.restart()
        self._wanted, self._halted, self._empty = self.driver.heard.copy(), False, None
        self._asked[:] = np.nan

    def record(self, stream: Channels) -> None:
        """Declare what the bus knows beside its samples."""
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

    def advance(self, to_ns: int) -> None:
        """Step the world until ``to_ns``, with the bus and the servos in every step."""
        world = self.world
        while world.now_ns + world.step_ns <= to_ns:
            self._shaft, ratio = self._gear.shaft(self.port.q)
            self._serve(world.now_ns)
            self._drive(ratio, world.step_ns * 1e-9, world.now_ns)
            world.advance(world.now_ns + world.step_ns)

    def read(self, now_ns: int) -> Sample:
        """What the bus said last."""
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
            self._wanted = self.driver.counts(command.value)

    def _serve(self, now_ns: int) -> None:
        """Let the driver go on where an answer has come or its time is up."""
        line = self._line
        while line.done(now_ns):
            step = _next(self._exchange, line.answer)
            if step is None:
                self._finish(line.free_ns)
                self._exchange = self._begin()
                step = _next(self._exchange, None)  # None starts it
            if step is None:  # stopped: nothing to say for a while
                line.free_ns += IDLE_NS
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
            # where it stays when they hold again
            self._wanted = np.clip(driver.heard, LOWEST, HIGHEST)
            return driver.let_go()
        return (
            driver.refresh(self._wanted)
            if self.parts.timing.read_back
            else driver.command(self._wanted)
        )

    def _finish(self, now_ns: int) -> None:
        """Take in what a cycle brought; its sample is as old as its first reading."""
        if self._exchange is None:
            return
        timing, known, driver = self.parts.timing, self._known, self.driver
        read = timing.read_back and driver.fault is None
        time_ns = self._began_ns + timing.answer_ns + FRAME_NS if read else now_ns
        q, self._sent = driver.angles(driver.heard), driver.angles(driver.sent)
        if self.cycles:  # the first reading is not where the limb was believed to be
            known.v[:] = (q - known.q) / max((time_ns - known.time_ns) * 1e-9, 1e-3)
        known.q[:], known.time_ns = q, time_ns
        self.cycles += 1
        self.period, self._began_ns = (now_ns - self._began_ns) * 1e-9, now_ns

    def _drive(self, ratio: Array, dt: float, now_ns: int) -> None:
        """One step of the servos, and what it takes from the battery."""
        servos, battery = self.servos, self.parts.battery
        servos.advance(dt)
        torque = servos.torque(self._shaft, self.port.v * ratio)
        if battery.used:
            current = battery.idle + AMPERE_PER_TORQUE * float(np.abs(torque).sum())
            servos.loop.voltage = min(RATED_VOLTAGE, battery.draw(current, dt))
            # latched: without load the voltage comes back
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

"""Serial servo plant: a limb whose servos share a serial port, in wall time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from farhand.errors import FileError
from farhand.plants.drivers.worker import Latest, Worker, urgent
from farhand.plants.plant import Channels, Command, JointPosition, Plant, Sample
from farhand.plants.servo_bus.driver import Exchange, SerialLine, ServoDriver
from farhand.plants.servo_bus.joints import BusJoint
from farhand.plants.servo_bus.plant import ServoOrders
from farhand.plants.servo_bus.simulated_bus import BusTiming
from farhand.spatial import Array

IDLE_PERIOD_S = 0.04
"""Time after which a stopped driver checks whether to continue, [s]."""


@dataclass
class SerialParts:
    """The settings of a limb on a serial port."""

    timing: BusTiming = field(default_factory=BusTiming)
    orders: ServoOrders = field(default_factory=ServoOrders)


class SerialServoPlant(Plant):
    """A limb on a serial port, served by a separate thread.

    It starts where the limb is: every servo is read before the first command.

    Args:
        name: of the plant.
        path: of the port.
        joints: its servos.
        parts: its settings; also an attribute.

    Raises:
        FileError: the port cannot be opened, or a servo does not answer.
    """

    accepts: frozenset[type[Command]] = frozenset({JointPosition})

    def __init__(
        self, name: str, path: str, joints: Sequence[BusJoint], parts: SerialParts | None = None
    ) -> None:
        n = len(joints)
        self.name, self.settings = name, parts or SerialParts()
        self.actuated = np.ones(n, dtype=bool)
        start = np.array([joint.counts(joint.limits[0]) for joint in joints])
        self.driver = ServoDriver(joints, start)  #: with what was sent and received
        self.period_ns = 2 * n * self.settings.timing.answer_ns
        self._line = SerialLine(path, self.settings.timing)
        self._find(path)
        self._targets = Latest(name, self.driver.heard)
        self._state = Latest(name, self._published(0.0, 0.0))
        self._sample, self._asked = Sample(n, n), np.full(n, np.nan)
        self._recorded: tuple[Array, ...] | None = None
        self._began_ns, self._halted, self._again = time.monotonic_ns(), False, False
        self._left, self._left_at = self.driver.heard.copy(), -1
        self.worker = Worker(f"{name}-bus", self._serve, 1000.0)  #: the thread
        with urgent():
            self.worker.start()

    @property
    def fault(self) -> str | None:  # type: ignore[override]
        """Why the limb stopped, or None."""
        if self.worker.error is not None:
            return str(self.worker.error)
        return None if self._again else self.driver.fault

    def restart(self) -> None:
        """Continue after a servo was silent."""
        self._again = True

    def close(self) -> None:
        """End the thread and close the port; the servos stay at their targets."""
        self.worker.stop()
        self._line.__exit__()

    def record(self, stream: Channels) -> None:
        """Publish the positions sent, the assumed replies and the bus period."""
        n = len(self.actuated)
        self._recorded = (
            stream.channel("q_sent", n, "rad"),
            stream.channel("reply_assumed", n, "-"),
            stream.channel("bus_period", 1, "s"),
        )

    def read(self, now_ns: int) -> Sample:
        """The last reading of the bus, as old as the first reading of its cycle."""
        state, sample, n = self._state.get(), self._sample, len(self.actuated)
        sample.time_ns = now_ns - state.age_ns(time.monotonic_ns()) - round(1e9 * state.value[-1])
        sample.motion[:] = state.value[: 2 * n]
        if self._recorded is not None:
            sent, assumed, period = self._recorded
            sent[:], assumed[:] = state.value[2 * n : 3 * n], state.value[3 * n : 4 * n]
            period[0] = state.value[-2]
        return sample

    def write(self, command: Command, now_ns: int) -> None:
        """Leave a position for the next cycle of the bus."""
        if not np.array_equal(command.value, self._asked):
            self._asked[:] = command.value
            self._targets.put(self.driver.counts(command.value))

    def _find(self, path: str) -> None:
        """Start at the measured position of every servo."""
        self._line.run(self.driver.scan())
        if self.driver.fault is None:
            self.driver.sent[:] = self.driver.heard
            return
        self._line.__exit__()
        raise FileError(f"{self.driver.fault} at {path}: is the robot switched on?")

    def _published(self, period: float, lag: float, v: Array | None = None) -> Array:
        """Angles, speeds, angles sent, which are assumed, bus period and lag of q, [rad], [s]."""
        driver, speed = self.driver, np.zeros(len(self.actuated)) if v is None else v
        heard, sent = driver.angles(driver.heard), driver.angles(driver.sent)
        return np.concatenate([heard, speed, sent, driver.assumed, [period, lag]])

    def _serve(self, now_ns: int) -> None:
        """One cycle of the bus, in the thread; a stopped bus repeats the posture."""
        before, driver, n = self._state.get().value, self.driver, len(self.actuated)
        if self._again:
            driver.restart()
            self._again = self._halted = False
        stopped = driver.fault is not None
        self._line.run(self._exchange())
        if stopped:
            time.sleep(IDLE_PERIOD_S)
        ended_ns = time.monotonic_ns()
        period, self._began_ns = (ended_ns - self._began_ns) * 1e-9, ended_ns
        timing = self.settings.timing
        lag = max(0.0, period - timing.answer_ns * 1e-9) if timing.read_back else 0.0
        # Two readings make a speed. A place that is assumed is an order, not where the limb is.
        speed = (driver.angles(driver.heard) - before[:n]) / max(period, 1e-3)
        v = np.where(driver.assumed | (before[3 * n : 4 * n] > 0.0), 0.0, speed)
        self._state.put(self._published(0.0, 0.0) if stopped else self._published(period, lag, v))

    def _exchange(self) -> Exchange:
        """What to send next: targets, a release or a stop."""
        driver, settings, targets = self.driver, self.settings, self._targets.get()
        if driver.fault is not None:
            halted, self._halted = self._halted, True
            return driver.nothing() if halted else driver.halt()
        driver.speed = settings.orders.speed
        if settings.orders.passive:
            self._left, self._left_at = driver.heard.copy(), targets.number
            return driver.let_go()
        # The limb stays where it was left until there is a new target.
        counts = self._left if targets.number == self._left_at else targets.value
        return driver.refresh(counts) if settings.timing.read_back else driver.command(counts)

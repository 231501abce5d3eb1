"""Serial servo plant: a limb whose servos hang on a serial port, real or pseudo, in wall time."""

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

Array = np.ndarray

IDLE = 0.04
"""How often a stopped driver looks whether it may go on, [s]."""


@dataclass
class SerialParts:
    """What may be set of a limb on a serial port.

    Attributes:
        timing: how long answers are waited for, and whether positions are read.
        orders: what an operator asks of the servos.
    """

    timing: BusTiming = field(default_factory=BusTiming)
    orders: ServoOrders = field(default_factory=ServoOrders)


class SerialServoPlant(Plant):
    """A limb on a serial port, served by a thread of its own; reading and writing never wait.

    It begins where the limb is: every servo is read before anything is commanded.

    Args:
        name: of the plant.
        path: of the port.
        joints: its servos.
        parts: what may be set of it.

    Attributes:
        driver: what was sent and heard.
        settings: what may be set of it.
        worker: the thread.

    Raises:
        FileError: the port cannot be opened, or a servo does not answer.
    """

    accepts: frozenset[type[Command]] = frozenset({JointPosition})

    def __init__(
        self, name: str, path: str, joints: Sequence[BusJoint], parts: SerialParts | None = None
    ) -> None:
        n = len(joints)
        self.name, self.settings, self.actuated = (
            name,
            parts or SerialParts(),
            np.ones(n, dtype=bool),
        )
        self.driver = ServoDriver(
            joints, np.array([joint.counts(joint.limits[0]) for joint in joints])
        )
        self.period_ns = 2 * n * self.settings.timing.answer_ns
        self._line = SerialLine(path, self.settings.timing)
        self._find(path)
        self._wanted, self._state = (
            Latest(name, self.driver.heard),
            Latest(name, self._published(0.0, 0.0)),
        )
        self._sample, self._asked = Sample(n, n), np.full(n, np.nan)
        self._recorded: tuple[Array, ...] | None = None
        self._began_ns, self._halted, self._again = time.monotonic_ns(), False, False
        self._left, self._left_at = self.driver.heard.copy(), -1
        self.worker = Worker(f"{name}-bus", self._serve, 1000.0)
        with urgent():
            self.worker.start()

    @property
    def fault(self) -> str | None:  # type: ignore[override]
        """Why the limb is commanded no more, or None."""
        if self.worker.error is not None:
            return str(self.worker.error)
        return None if self._again else self.driver.fault

    def restart(self) -> None:
        """Try again after a servo was silent."""
        self._again = True

    def close(self) -> None:
        """End the thread and close the port; the servos stay where they were sent."""
        self.worker.stop()
        self._line.__exit__()

    def record(self, stream: Channels) -> None:
        """Declare what the bus knows beside its samples."""
        n = len(self.actuated)
        self._recorded = (
            stream.channel("q_sent", n, "rad"),
            stream.channel("reply_assumed", n, "-"),
            stream.channel("bus_period", 1, "s"),
        )

    def read(self, now_ns: int) -> Sample:
        """What the bus said last, as old as the first reading of its cycle."""
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
            self._wanted.put(self.driver.counts(command.value))

    def _find(self, path: str) -> None:
        """Begin where every servo says that it is."""
        self._line.run(self.driver.scan())
        if self.driver.fault is None:
            self.driver.sent[:] = self.driver.heard
            return
        self._line.__exit__()
        raise FileError(f"{self.driver.fault} at {path}: is the robot switched on?")

    def _published(self, period: float, lag: float, v: Array | None = None) -> Array:
        """Angles [rad], speeds [rad/s], angles sent [rad], which are assumed, period of the bus and lag of q, [s]."""
        driver, speed = self.driver, np.zeros(len(self.actuated)) if v is None else v
        heard, sent = driver.angles(driver.heard), driver.angles(driver.sent)
        return np.concatenate([heard, speed, sent, driver.assumed, [period, lag]])

    def _serve(self, now_ns: int) -> None:
        """One cycle of the bus, in the thread; a stopped one only says that the posture is still what it was."""
        before, driver, n = self._state.get().value, self.driver, len(self.actuated)
        if self._again:
            driver.restart()
            self._again = self._halted = False
        stopped = driver.fault is not None
        self._line.run(self._exchange())
        if stopped:
            time.sleep(IDLE)
        ended_ns = time.monotonic_ns()
        period, self._began_ns = (ended_ns - self._began_ns) * 1e-9, ended_ns
        lag = (
            max(0.0, period - self.settings.timing.answer_ns * 1e-9)
            if self.settings.timing.read_back
            else 0.0
        )
        v = (driver.angles(driver.heard) - before[:n]) / max(period, 1e-3)
        self._state.put(self._published(0.0, 0.0) if stopped else self._published(period, lag, v))

    def _exchange(self) -> Exchange:
        """What to say next: where to go, or to let go, or to stop."""
        driver, settings, wanted = self.driver, self.settings, self._wanted.get()
        if driver.fault is not None:
            halted, self._halted = self._halted, True
            return driver.nothing() if halted else driver.halt()
        driver.speed = settings.orders.speed
        if settings.orders.passive:
            self._left, self._left_at = driver.heard.copy(), wanted.number
            return driver.let_go()
        # it stays where it was left
        counts = self._left if wanted.number == self._left_at else wanted.value
        return driver.refresh(counts) if settings.timing.read_back else driver.command(counts)

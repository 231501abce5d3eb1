"""Damiao plant: an arm of Damiao motors on a CAN bus, in wall time."""

from __future__ import annotations

import numpy as np

from farhand.arm import Arm
from farhand.errors import BadValue, FarhandError, FileError
from farhand.plants.damiao.arms import MotorArm, load_arm
from farhand.plants.damiao.driver import DamiaoDriver
from farhand.plants.damiao.wires import INTERFACES, CanWire, open_wire
from farhand.plants.drivers.worker import Latest, Worker, urgent
from farhand.plants.plant import Brake, Channels, Command, JointTorque, Plant, Sample
from farhand.robots import Placement, Robot
from farhand.spatial import Array

SLOWER_CYCLES = 1.5
"""A cycle with two arms and a law beside it over one alone, before them; assumed, [-]."""

SLOWEST_S = 0.05
"""Longest cycle of a bus through which an arm is driven, [s]; a sample that old trips a guard."""

PATIENCE_S = 0.05
"""Time without a command after which the motors hold the arm by themselves, [s]."""


class DamiaoPlant(Plant):
    """An arm of Damiao motors, served by a thread at the rate of its bus.

    The motors are switched on at the first command, where the arm is. They hold it by themselves
    after a fault, without commands, and instead of brakes.

    Args:
        name: of the plant.
        arm: its motors.
        wire: the bus.
        robot: the model of the arm.
        placement: where its base stands.
        gravity: downward acceleration, [m/s²].

    Raises:
        FileError: a motor does not answer.
        Mismatch: the arm is another one than its file says.
    """

    accepts: frozenset[type[Command]] = frozenset({JointTorque, Brake})
    address_hint = "INTERFACE:CHANNEL[:FILE]"
    robots = {"leader": "openarm", "follower": "openarm"}
    # that of the bus: more would only take time from it
    tick_rate = 500.0

    def __init__(
        self,
        name: str,
        arm: MotorArm,
        wire: CanWire,
        robot: Robot,
        placement: Placement | None = None,
        gravity: float = 9.81,
    ) -> None:
        self.name, self.actuated = name, robot.actuated
        self._wire, self._model = wire, Arm.of(robot, placement or Placement(), gravity)
        self.driver = DamiaoDriver(
            arm, robot, wire, self._weight
        )  #: with what was sent and received
        n = len(self.driver.q)
        self._sample, self._n = Sample(n, n), n
        self._asked: tuple[type[Command], Array, int] | None = None
        self._again = False
        self._recorded: tuple[Array, Array, Array] | None = None
        try:
            self.driver.connect()
            cycle = self.driver.measure_cycle()
        except FarhandError:
            wire.close()
            raise
        if not cycle < SLOWEST_S:
            wire.close()
            raise FileError(f"the CAN bus of {name} loses answers, or needs {SLOWEST_S} s for all")
        self.period_ns = round(1e9 * max(1.0 / arm.rate, cycle))
        # half a cycle from a motor to the program, one until the next, and half until the one after
        self.loop_delay = 2.0 * max(1.0 / arm.rate, SLOWER_CYCLES * cycle)
        # the model may be compiled at its first use; that must not keep the motors waiting
        self._weight(self.driver.q)
        self._on = self._was_read = False
        self._latest = Latest(name, self._published())
        self.driver.on_answer = lambda: self._latest.put(self._published())
        self.worker = Worker(f"{name} can", self._cycle, 1e9 / self.period_ns)  #: the thread
        self._start()

    @classmethod
    def robot_at(cls, address: str, role: str) -> str | None:
        """The robot of the arm's file, if the address names one."""
        _, _, file = address.partition(":")[2].partition(":")
        return load_arm(file).robot if file else cls.robots[role]

    @classmethod
    def open(
        cls, address: str, *, name: str, robot: Robot, placement: Placement, gravity: float
    ) -> DamiaoPlant:
        """The arm on ``INTERFACE:CHANNEL``, with the motors of the robot or of a toml file."""
        interface, _, rest = address.partition(":")
        channel, _, file = rest.partition(":")
        if not channel:
            known = ", ".join(INTERFACES)
            raise BadValue(
                f"damiao:{address} lacks a channel: write damiao:INTERFACE:CHANNEL "
                f"with an interface of python-can such as {known}"
            )
        arm = load_arm(file or robot.name)
        arm.check(robot)
        wire = open_wire(interface, channel, arm.bit_rate, arm.data_bit_rate)
        return cls(name, arm, wire, robot, placement, gravity)

    def _start(self) -> None:
        with urgent():
            self.worker.start()

    @property
    def fault(self) -> str | None:  # type: ignore[override]
        """Why the arm is held instead of driven, or None."""
        if self.worker.error is not None:
            return f"the driver of {self.name} failed: {self.worker.error}"
        return None if self._again else self.driver.fault

    def restart(self) -> None:
        """Let the thread clear the motors' faults and switch them on."""
        self._again = True

    def record(self, stream: Channels) -> None:
        """Publish the motors' torques and temperatures, and how many answers were missed."""
        self._recorded = (
            stream.channel("motor_torque", self._n, "N·m"),
            stream.channel("motor_temperature", self._n, "°C"),
            stream.channel("answers_missed", 1, "-"),
        )

    def read(self, now_ns: int) -> Sample:
        """The state in the last answers; its time is now less its age.

        The first one waits for a new state.
        """
        if not self._was_read:
            self._was_read = True
            self._latest.wait()
        latest, sample, n = self._latest.get(), self._sample, self._n
        sample.time_ns = now_ns - (self._wire.now_ns() - round(latest.value[-2]))
        sample.motion[:] = latest.value[: 2 * n]
        if self._recorded is not None:
            torque, heat, missed = self._recorded
            torque[:], heat[:] = latest.value[2 * n : 3 * n], latest.value[3 * n : 4 * n]
            missed[0] = latest.value[-1]
        return sample

    def write(self, command: Command, now_ns: int) -> None:
        """Leave the command for the thread."""
        self._asked = (type(command), command.value.copy(), self._wire.now_ns())

    def close(self) -> None:
        """Switch the motors off and leave the bus."""
        self.worker.stop()
        self.driver.disable()
        self._wire.close()

    def _published(self) -> Array:
        driver, now_ns = self.driver, self._wire.now_ns()
        numbers = driver.q, driver.v, driver.torque, driver.temperature, [now_ns, driver.missed]
        return np.concatenate(numbers)

    def _cycle(self, now_ns: int) -> None:
        """One cycle of the bus, in the thread."""
        if self._again:
            self._recover()
        if not self._on:
            self._begin()
            return
        kind, value, written_ns = self._asked or (Brake, None, 0)
        driven = kind is JointTorque and now_ns - written_ns < PATIENCE_S * 1e9
        answers = self.driver.answers
        self.driver.cycle(value if driven else None, self.loop_delay)
        # without an answer there is no new state: the sample grows old
        if self.driver.answers > answers:
            self._latest.put(self._published())

    def _begin(self) -> None:
        """Watch the arm until the first command, then switch it on."""
        try:
            if self._asked is None or self.driver.fault is not None:
                self.driver.watch()
            else:
                self.driver.enable()
                self._on = True
        except FarhandError as error:
            self.driver.fault = str(error)

    def _weight(self, q: Array) -> Array:
        """Torques that carry the arm, [N·m] or [N]."""
        self._model.update(q, np.zeros(self._n))
        return self._model.gravity

    def _recover(self) -> None:
        self.driver.fault = None
        try:
            self.driver.connect()
            self._on = False
        except FarhandError as error:
            self.driver.fault = str(error)
        self._asked, self._again = None, False

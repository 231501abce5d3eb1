"""Driver of an arm of Damiao motors: commands, answers, and what to do when something is wrong.

Every cycle sends each motor one MIT command and reads its answer. While the arm is driven the
command is a torque. Otherwise each motor holds where it is by its own loop, with the weight of the
arm as a torque: that needs no fast program, and ends in the motors' own time-out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from farhand.errors import FileError, LinkError, Mismatch
from farhand.plants.damiao import frames
from farhand.plants.damiao.arms import MotorArm, MotorJoint
from farhand.plants.damiao.frames import Mit, MotorMode, MotorRegister, MotorState, Order, Status
from farhand.plants.damiao.line import CanFrame
from farhand.plants.damiao.wires import CanWire
from farhand.robots import Robot
from farhand.spatial import Array

MAX_MISSED = 5
"""Answers missed in a row before a motor counts as silent."""

MAX_LATE_SHARE = 0.2
"""Share of answers that may be missing in the mean of :data:`LATE_CYCLES`: more than those of one
silent motor of eight; assumed, [-]."""

LATE_CYCLES = 100
TRIES = 5
"""Tries before a motor counts as missing at the start: one answer may be lost."""

ANSWER_S = 0.1
"""How long an answer is waited for at the start, [s]."""

MEASURED_CYCLES = 20
LIMIT_MARGIN = 0.1
"""How far beyond its limits a joint may be, as a share of its range: stops are not exact, [-]."""

RANGES = {
    MotorRegister.POSITION_RANGE: "position",
    MotorRegister.VELOCITY_RANGE: "velocity",
    MotorRegister.TORQUE_RANGE: "torque",
}


class DamiaoDriver:
    """Commands the motors of one arm on a bus.

    Args:
        arm: its motors.
        robot: the model of it, for its limits.
        wire: the bus.
        weight: torques that carry the arm at joint positions, used when holding begins.

    Attributes:
        q: joint positions, [rad] or [m].
        v: joint velocities, [rad/s] or [m/s].
        torque: that the motors say they make, at the joints, [N·m] or [N].
        temperature: of the hotter part of each motor, [°C].
        missing: which motors did not answer in the last cycle.
        fault: why the arm is not driven any more, or None.
        on_answer: called after every answer outside of cycles.
        cycles: how many were completed.
        answers: how many came.
        missed: how many did not come in time.
    """

    def __init__(
        self,
        arm: MotorArm,
        robot: Robot,
        wire: CanWire,
        weight: Callable[[Array], Array] = np.zeros_like,
    ) -> None:
        arm.check(robot)
        n = len(arm.motors)
        self.arm, self.wire, self._weight_at = arm, wire, weight
        self.q, self.v, self.torque = np.zeros(n), np.zeros(n), np.zeros(n)
        self.temperature = np.zeros(n)
        self.missing = np.ones(n, dtype=bool)
        self.fault: str | None = None
        self.on_answer: Callable[[], None] = lambda: None
        self.cycles = self.answers = self.missed = 0
        self._low, self._high = _limits(arm, robot)
        self._most = robot.limits.torque
        self._number = {motor.answer: index for index, motor in enumerate(arm.motors)}
        self._silences, self._late = np.zeros(n, dtype=int), 0.0
        self._asked = np.zeros(n, dtype=int)
        # two motors may obey commands for these, so nothing may be asked of them but damping
        self._shared = np.zeros(n, dtype=bool)
        self._others: dict[int, int] = {}
        self._held: Array | None = None
        self._weight = np.zeros(n)

    def connect(self) -> None:
        """Find every motor, compare its registers with the arm's file, and set its time-out.

        The motors stay as they are, on or off.

        Raises:
            FileError: a motor does not answer.
            Mismatch: it is another model, or its joint is outside its limits.
        """
        self._others.clear()
        asked = enumerate(self.arm.motors)
        missing = [index for index, motor in asked if not self._refresh(motor)]
        for id, answer in self._others.items():
            raise FileError(f"motor {id:#x} answers with {answer:#x}: correct its register 7")
        if missing:
            raise FileError(f"no answer from {self._named(missing)}: is the arm switched on?")
        for index, motor in enumerate(self.arm.motors):
            for register, what in RANGES.items():
                expected, found = getattr(motor.ranges, what), self.read(motor, register)
                if found is None:
                    raise FileError(f"{self._named([index])} does not tell its {what} range")
                if abs(found - expected) > 1e-3 * expected:
                    raise Mismatch(
                        f"motor {motor.id:#x} ({motor.joint}) maps its {what} to ±{found:g}, "
                        f"a {motor.model} to ±{expected:g}: correct its model in {self.arm.source}"
                    )
            if self._outside(index):
                raise Mismatch(
                    f"{self._where(index)}: correct its zero or ratio in {self.arm.source}, "
                    "or set the motor's zero"
                )
        timeout = round(self.arm.timeout / frames.TIMEOUT_UNIT)
        wanted = {MotorRegister.MODE: MotorMode.MIT, MotorRegister.TIMEOUT: timeout}
        for index, motor in enumerate(self.arm.motors):
            for register, value in wanted.items():
                if self.write(motor, register, value) != value:
                    name = register.name.lower()
                    raise FileError(f"{self._named([index])} does not take {value} as its {name}")

    def watch(self) -> None:
        """Read where every motor is, without a command."""
        for motor in self.arm.motors:
            self._refresh(motor)

    def measure_cycle(self, share: float = 0.9) -> float:
        """How long this bus takes to ask every motor and to hear all of them, [s].

        Not longer in this share of some cycles; infinite if it does not happen so often.
        """
        asked = [
            (frames.COMMON, frames.encode_register(motor.id, frames.REFRESH))
            for motor in self.arm.motors
        ]
        times = []
        for _ in range(MEASURED_CYCLES):
            start_ns = self.wire.now_ns()
            self._send_all(asked)
            self._listen(ANSWER_S)
            whole = not self.missing.any()
            times.append((self.wire.now_ns() - start_ns) * 1e-9 if whole else math.inf)
            self.on_answer()
        # motors that are off say so, which is no fault here
        self.fault = None
        # answers may be lost, and the machine may pause
        return sorted(times)[round(share * MEASURED_CYCLES) - 1]

    def enable(self) -> None:
        """Switch every motor on; the arm holds where it is."""
        self.fault = None
        self._silences[:] = 0
        # answers to earlier frames may still come
        np.maximum(self._asked, 0, out=self._asked)
        self._late = 0.0
        self._shared[:] = False
        self._held = self.q.copy()
        self._weight[:] = self._weight_at(self._held)
        off = list(range(len(self.q)))
        # several times, because answers may be lost; quickly, because motors that are on wait
        for _ in range(TRIES):
            off = [index for index in off if not self._switch_on(index)]
        if off:
            raise FileError(f"{self._named(off)} cannot be switched on")
        self._held = None
        # answers that come late are not those of the first cycle
        while (frame := self.wire.receive(0.002)) is not None:
            self._count(frame)

    def _switch_on(self, index: int) -> bool:
        """Clear a motor's fault, switch it on and let it hold; whether it says that it is on."""
        motor = self.arm.motors[index]
        # it holds at once: a motor that is on without a command lets go
        hold = frames.encode_mit(self._hold(index), motor.ranges)
        for data in (frames.encode_order(Order.CLEAR), frames.encode_order(Order.ENABLE), hold):
            self._send(motor.id, data)
            self._asked[index] += 1
        end_ns = self.wire.now_ns() + round(1e9 * ANSWER_S)
        while True:
            frame = self.wire.receive(max(0.0, (end_ns - self.wire.now_ns()) * 1e-9))
            if frame is None:
                return False
            self._count(frame)
            # answers to the first frames may not win the bus from the next, or come as well
            if frame.id == motor.answer and len(frame.data) == 8:
                if frames.decode_state(frame.data, motor.ranges).status is Status.ENABLED:
                    self.on_answer()
                    return True

    def _count(self, frame: CanFrame) -> None:
        """Count an answer that nobody reads, so that a motor is not taken for two."""
        if (index := self._number.get(frame.id)) is not None:
            self._asked[index] -= 1

    def disable(self) -> None:
        """Switch every motor off, without waiting."""
        for motor in self.arm.motors:
            try:
                self._send(motor.id, frames.encode_order(Order.DISABLE))
            except LinkError:
                return

    def cycle(self, torque: Array | None, seconds: float) -> None:
        """Command every motor once and read the answers.

        Args:
            torque: of the joints; None to hold the arm where it is, [N·m] or [N].
            seconds: how long to wait for answers, [s].
        """
        if torque is not None and not np.isfinite(torque).all():
            torque = None
            self.fault = self.fault or "a commanded torque is not a number"
        try:
            # answers that came late
            self._listen(0.0)
            self._send_all(self._commands(torque))
            self._listen(seconds)
        except LinkError as error:
            self._stop(str(error))
        self.cycles += 1
        self._check()

    def read(self, motor: MotorJoint, register: MotorRegister) -> float | None:
        """Value of a register, or None without an answer."""
        return self._ask_register(motor, frames.READ, register, 0.0)

    def write(self, motor: MotorJoint, register: MotorRegister, value: float) -> float | None:
        """Write a register until the next power-up; the motor's answer, or None without one."""
        return self._ask_register(motor, frames.WRITE, register, value)

    def _commands(self, torque: Array | None) -> list[tuple[int, bytes]]:
        """One frame for each motor: a torque, or to hold the arm where it is."""
        if torque is None or self.fault is not None:
            if self._held is None:
                self._held = self.q.copy()
                self._weight[:] = self._weight_at(self._held)
            commands = [self._hold(index) for index in range(len(self.q))]
        else:
            self._held = None
            limited = np.clip(torque, -self._most, self._most) * self.arm.ratios
            commands = [Mit(torque=value) for value in limited.tolist()]
        pairs = zip(self.arm.motors, commands, strict=True)
        return [(motor.id, frames.encode_mit(command, motor.ranges)) for motor, command in pairs]

    def _hold(self, index: int) -> Mit:
        """The command with which a motor holds its joint by itself."""
        motor, held = self.arm.motors[index], self._held
        if self._shared[index] or held is None:
            return Mit(kd=motor.hold_kd)
        q = (held[index] - motor.zero) / motor.ratio
        torque = float(self._weight[index]) * motor.ratio
        return Mit(float(q), 0.0, motor.hold_kp, motor.hold_kd, torque)

    def _send(self, id: int, data: bytes) -> None:
        self.wire.send(CanFrame(id, data, self.wire.fd))

    def _send_all(self, pairs: Sequence[tuple[int, bytes]]) -> None:
        """Send every motor a frame that it will answer."""
        self.missing[:] = True
        self.wire.send(*(CanFrame(id, data, self.wire.fd) for id, data in pairs))
        self._asked += 1

    def _listen(self, seconds: float) -> None:
        """Take answers until every motor has answered, or for ``seconds``; 0: what is there."""
        end_ns = self.wire.now_ns() + round(1e9 * seconds)
        while True:
            left = (end_ns - self.wire.now_ns()) * 1e-9
            if seconds and (left <= 0.0 or not self.missing.any()):
                return
            frame = self.wire.receive(max(0.0, left))
            if frame is None:
                return
            self._take(frame)

    def _take(self, frame: CanFrame) -> None:
        index = self._number.get(frame.id)
        # own frames come back on some interfaces; registers are read by those who asked
        if index is None or len(frame.data) != 8:
            return
        motor = self.arm.motors[index]
        if frames.is_register(frame.data, motor.id):
            return
        try:
            state = frames.decode_state(frame.data, motor.ranges)
        except LinkError as error:
            self._stop(f"motor {motor.id:#x} ({motor.joint}): {error}")
            return
        if state.id != motor.id & 0xF:
            self._shared[index] = True
            self._stop(
                f"motor {state.id:#x} answers with {motor.answer:#x}, "
                f"which is of motor {motor.id:#x} ({motor.joint})"
            )
            return
        self._asked[index] -= 1
        if self._asked[index] < 0:
            self._shared[index] = True
            self._stop(f"two motors answer as {motor.answer:#x} ({motor.joint})")
        self._note(index, state)

    def _note(self, index: int, state: MotorState) -> None:
        motor = self.arm.motors[index]
        self.q[index] = motor.zero + motor.ratio * state.q
        self.v[index] = motor.ratio * state.v
        self.torque[index] = state.torque / motor.ratio
        self.temperature[index] = max(state.drive_temperature, state.motor_temperature)
        self.missing[index] = False
        self._silences[index] = 0
        self.answers += 1
        if state.status.is_fault:
            heat = f", {self.temperature[index]:.0f} °C" if "hot" in state.status.text else ""
            self._stop(f"motor {motor.id:#x} ({motor.joint}) is off: {state.status.text}{heat}")
        elif state.status is Status.DISABLED:
            self._stop(f"motor {motor.id:#x} ({motor.joint}) is switched off")

    def _check(self) -> None:
        """Look for motors that are silent, and joints outside their limits."""
        self.missed += int(self.missing.sum())
        self._silences[self.missing] += 1
        self._late += (float(self.missing.mean()) - self._late) / LATE_CYCLES
        silent = np.flatnonzero(self._silences >= MAX_MISSED).tolist()
        if len(silent) == len(self.q):
            self._stop("no motor answers: the bus is off, or the arm has no power")
        elif silent:
            self._stop(f"{self._named(silent)} gave no answer {MAX_MISSED} times in a row")
        elif self._late > MAX_LATE_SHARE:
            self._stop(
                f"{self._late:.0%} of the answers do not come in time: the bus or this machine is "
                f"too slow for rate = {self.arm.rate:g} in {self.arm.source}"
            )
        for index in np.flatnonzero((self.q < self._low) | (self.q > self._high)).tolist():
            self._stop(self._where(index))

    def _named(self, numbers: Sequence[int]) -> str:
        motors = [self.arm.motors[index] for index in numbers]
        names = ", ".join(f"{motor.id:#x} ({motor.joint})" for motor in motors)
        return f"motor {names}" if len(motors) == 1 else f"motors {names}"

    def _stop(self, reason: str) -> None:
        if self.fault is None:
            self.fault = reason

    def _outside(self, index: int) -> bool:
        return not self._low[index] <= self.q[index] <= self._high[index]

    def _where(self, index: int) -> str:
        """For messages: where a joint is, and where it may be."""
        joint, low, high = self.arm.motors[index].joint, self._low[index], self._high[index]
        return f"{joint} is at {self.q[index]:.3f}, outside {low:.3f} to {high:.3f}"

    def _refresh(self, motor: MotorJoint) -> bool:
        """Read one motor's state, without a command."""
        asked = frames.encode_register(motor.id, frames.REFRESH)
        return self._exchange(motor, frames.COMMON, asked)

    def _exchange(self, motor: MotorJoint, id: int, data: bytes) -> bool:
        """Send a frame until this motor answers with its state."""
        index = self._number[motor.answer]
        for _ in range(TRIES):
            answer = self._answer(motor, id, data)
            if answer is not None and not frames.is_register(answer, motor.id):
                state = frames.decode_state(answer, motor.ranges)
                self.q[index] = motor.zero + motor.ratio * state.q
                self.v[index] = motor.ratio * state.v
                self.answers += 1
                self.on_answer()
                return True
        return False

    def _ask_register(
        self, motor: MotorJoint, action: int, register: MotorRegister, value: float
    ) -> float | None:
        data = frames.encode_register(motor.id, action, register, value)
        for _ in range(TRIES):
            answer = self._answer(motor, frames.COMMON, data)
            if answer is not None and frames.is_register(answer, motor.id):
                found = frames.decode_register(answer)
                # else it is a late answer to an earlier question
                if (found.action, found.register) == (action, register):
                    return found.value
        return None

    def _answer(self, motor: MotorJoint, id: int, data: bytes) -> bytes | None:
        """Send a frame and wait for the next one of this motor."""
        self._send(id, data)
        end_ns = self.wire.now_ns() + round(1e9 * ANSWER_S)
        while True:
            frame = self.wire.receive(max(0.0, (end_ns - self.wire.now_ns()) * 1e-9))
            if frame is None:
                return None
            if frame.id == motor.answer and len(frame.data) == 8:
                return frame.data
            # an answer of this motor under another identifier; own frames may come back as well
            if frame.id not in (id, motor.id) and frame.data[:1] == bytes((motor.id & 0xF,)):
                self._others[motor.id] = frame.id


def _limits(arm: MotorArm, robot: Robot) -> tuple[Array, Array]:
    """Positions beyond which something is wrong, [rad] or [m]."""
    low, high = robot.limits.lower.copy(), robot.limits.upper.copy()
    for index, motor in enumerate(arm.motors):
        if motor.limits is not None:
            low[index], high[index] = motor.limits
    margin = LIMIT_MARGIN * (high - low)
    return low - margin, high + margin

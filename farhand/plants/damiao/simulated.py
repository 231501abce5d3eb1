r"""Simulated Damiao motors on a CAN bus, with an arm in MuJoCo behind them, in virtual time.

Each motor closes the loop of its last MIT command at its own rate, at its shaft:

.. math:: \tau = \mathrm{sat}\bigl(k_p\,(q - \theta) + k_d\,(\dot q - \dot\theta) + \tau_{ff}\bigr)

Commands and answers are the frames of :mod:`farhand.plants.damiao.frames`. Only the MIT mode is
simulated: commands of other modes get no answer.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import mujoco
import numpy as np

from farhand.errors import BadValue, Mismatch
from farhand.parameters import parameter
from farhand.plants.damiao import frames
from farhand.plants.damiao.arms import MotorArm, MotorJoint
from farhand.plants.damiao.frames import MotorMode, MotorRegister, MotorState, Order, Ranges, Status
from farhand.plants.damiao.line import CanFrame, CanLine, CanNode
from farhand.robots import Robot, load_robot
from farhand.robots.edits import disable_contacts
from farhand.spatial import Array
from farhand.world import Placed, World

NAME = "arm"
AMBIENT = 25.0
"""Temperature of the air and of a motor at rest, [°C]."""

CHECK_NS = 500_000
"""How often a motor looks for a time-out or its temperature, [ns]; assumed."""

FAULTS = ("none", "silent", "wrong-id", "same-id", "hot", "bus-off", "noise")
"""What can go wrong: see :class:`MotorFaults`."""


@dataclass
class Drive:
    """The drive in every motor."""

    # Damiao publishes none of these. i2rt says that a motor damps after a time-out.
    rate: float = parameter(4000.0, "Hz", "of the motor's own loop", 500.0, 40_000.0)
    velocity_filter: float = parameter(
        0.0, "Hz", "cut-off of the velocity that the loop uses; 0: none", 0.0, 2e4
    )
    latency: float = parameter(50e-6, "s", "from a frame to its answer", 0.0, 0.01)
    latency_spread: float = parameter(10e-6, "s", "largest addition to it", 0.0, 0.01)
    damping: float = parameter(1.0, "N·m·s/rad", "of a motor after a time-out", 0.0, 100.0)
    heating: float = parameter(300.0, "K", "rise at the end at full torque", 0.0, 1e4)
    heating_time: float = parameter(120.0, "s", "time constant of the heating", 1.0, 1e5)
    hottest: float = parameter(100.0, "°C", "temperature at which it switches off", 80.0, 200.0)


@dataclass
class MotorFaults:
    """A fault of the bus or of one motor, from some time on.

    Of the kinds, ``silent`` is a motor that has lost its power, ``wrong-id`` one whose answers have
    the identifier of the next, ``same-id`` one that has both identifiers of the next, ``hot`` one
    that is too hot, ``bus-off`` a short circuit between the wires, and ``noise`` damages one frame
    in ten.
    """

    kind: str = parameter("none", "-", "what goes wrong", choices=FAULTS)
    motor: int = parameter(1, "-", "number of the motor, from 1", 1, 127)
    start: float = parameter(0.0, "s", "when it begins", 0.0, 1e6)


class SimulatedMotor:
    """The firmware of one motor: its registers, its state, and its answers.

    Args:
        joint: what it is and turns.
        timeout: that it has in its register, [s].

    Attributes:
        status: switched off, on, or why it has switched itself off.
        command: the last MIT command.
        zero: of the shaft, from which positions count, [rad].
        registers: their values, by number.
        saved: the registers as they are after the next power-up.
        temperature: of the motor, [°C].
        shaft: its position without ``zero`` [rad] and velocity [rad/s], as measured, and the torque
            that it makes, [N·m].
    """

    def __init__(self, joint: MotorJoint, timeout: float, hottest: float = 100.0) -> None:
        self.joint = joint
        self.status = Status.DISABLED
        self.command = frames.Mit()
        self.zero = 0.0
        self.powered = True
        self.temperature = AMBIENT
        self.shaft = np.zeros(3)
        self._heard_ns = 0
        limits = joint.ranges
        self.registers: dict[int, float] = {
            **dict.fromkeys((*range(37), *range(50, 56)), 0.0),
            MotorRegister.OVER_TEMPERATURE: hottest,
            MotorRegister.ANSWER_ID: joint.answer,
            MotorRegister.ID: joint.id,
            MotorRegister.TIMEOUT: round(timeout / frames.TIMEOUT_UNIT),
            MotorRegister.MODE: MotorMode.MIT,
            MotorRegister.POSITION_RANGE: limits.position,
            MotorRegister.VELOCITY_RANGE: limits.velocity,
            MotorRegister.TORQUE_RANGE: limits.torque,
            MotorRegister.BIT_RATE: 9.0,
        }
        self.saved = dict(self.registers)

    @property
    def q(self) -> float:
        """Position of the shaft, [rad]."""
        return float(self.shaft[0])

    @property
    def v(self) -> float:
        """Velocity of the shaft, [rad/s]."""
        return float(self.shaft[1])

    @property
    def torque(self) -> float:
        """Torque of the shaft, [N·m]."""
        return float(self.shaft[2])

    @property
    def id(self) -> int:
        """Identifier that it reads."""
        return int(self.registers[MotorRegister.ID])

    @property
    def answer_id(self) -> int:
        """Identifier that it answers with."""
        return int(self.registers[MotorRegister.ANSWER_ID])

    @property
    def ranges(self) -> Ranges:
        """Ranges of its frames, from its registers."""
        register = self.registers
        return Ranges(
            register[MotorRegister.POSITION_RANGE],
            register[MotorRegister.VELOCITY_RANGE],
            register[MotorRegister.TORQUE_RANGE],
        )

    def state(self) -> MotorState:
        """What it answers with."""
        heat = min(max(round(self.temperature), 0), 255)
        position = self.q - self.zero
        return MotorState(self.id & 0xF, self.status, position, self.v, self.torque, heat, heat)

    def check(self, now_ns: int) -> None:
        """Switch off after too long a silence, or too hot."""
        if self.status is not Status.ENABLED:
            return
        limit_ns = self.registers[MotorRegister.TIMEOUT] * frames.TIMEOUT_UNIT * 1e9
        if 0 < limit_ns < now_ns - self._heard_ns:
            self.status = Status.LOST_COMMUNICATION
        elif self.temperature > self.registers[MotorRegister.OVER_TEMPERATURE]:
            self.status = Status.MOTOR_TOO_HOT

    def hear(self, frame: CanFrame, now_ns: int) -> bytes | None:
        """Execute a frame; the answer, or None."""
        if not self.powered or len(frame.data) != 8:
            return None
        if frame.id == frames.COMMON:
            return self._register(frames.decode_register(frame.data), now_ns)
        if frame.id != self.id or self.registers[MotorRegister.MODE] != MotorMode.MIT:
            return None
        self._heard_ns = now_ns
        order = frames.decode_order(frame.data)
        if order is not None:
            self._obey(order)
        else:
            self.command = frames.decode_mit(frame.data, self.ranges)
        return frames.encode_state(self.state(), self.ranges)

    def _obey(self, order: Order) -> None:
        if order is Order.CLEAR:
            self.status = Status.DISABLED if self.status.is_fault else self.status
        elif order is Order.ENABLE and not self.status.is_fault:
            self.command = frames.Mit()
            self.status = Status.ENABLED
        elif order is Order.DISABLE and not self.status.is_fault:
            self.status = Status.DISABLED
        elif order is Order.ZERO:
            self.zero = self.q

    def _register(self, asked: frames.RegisterFrame, now_ns: int) -> bytes | None:
        if asked.id != self.id:
            return None
        self._heard_ns = now_ns
        if asked.action == frames.REFRESH:
            return frames.encode_state(self.state(), self.ranges)
        if asked.action == frames.SAVE:
            # memory is written only while the motor is off
            done = self.status is not Status.ENABLED
            self.saved = dict(self.registers) if done else self.saved
            return frames.encode_register(asked.id, frames.SAVE, int(done), raw=bytes(4))
        number = asked.register
        if number in (MotorRegister.MOTOR_POSITION, MotorRegister.SHAFT_POSITION):
            value = self.q - self.zero
        elif number not in self.registers:
            return None
        elif asked.action == frames.WRITE and math.isfinite(asked.value):
            value = self.registers[number] = asked.value
        else:
            value = self.registers[number]
        return frames.encode_register(asked.id, asked.action, number, value)


class SimulatedCanArm:
    """Motors on a bus and the arm that they move; :meth:`advance` is its time.

    The arm rests in a stand until all its motors are switched on for the first time.

    Args:
        arm: its motors.
        robot: the model of it; that of the arm by default, whose links touch nothing.
        drive: in every motor.
        faults: what goes wrong.
        rng: draws latencies and damaged frames.
        gravity: downward acceleration, [m/s²].

    Attributes:
        now_ns: its time, [ns].
        due_ns: end of the present step of the physics, [ns].
        line: the bus.
        host: the node of the program that commands the motors.
        received: what the host has received: when [ns], and the frame.
        push: torque on the joints from outside, [N·m] or [N].
    """

    def __init__(
        self,
        arm: MotorArm,
        robot: Robot | None = None,
        drive: Drive | None = None,
        faults: MotorFaults | None = None,
        rng: np.random.Generator | None = None,
        gravity: float = 9.81,
    ) -> None:
        self.robot = robot or load_robot(arm.robot).edited(disable_contacts)
        arm.check(self.robot)
        model = self.robot.compile()
        if model.nq != model.nv:
            raise Mismatch(f"{self.robot.name} has a floating base; motors turn hinges and slides")
        self.arm, self.drive, self.faults = arm, drive or Drive(), faults or MotorFaults()
        if self.faults.kind in ("wrong-id", "same-id", "silent", "hot"):
            last = len(arm.motors) - (self.faults.kind in ("wrong-id", "same-id"))
            if not 1 <= self.faults.motor <= last:
                raise BadValue(f"a fault {self.faults.kind} can be of motors 1 to {last}")
        self.world = World({NAME: Placed(self.robot)}, round(1e9 / self.drive.rate), gravity)
        self.port = self.world.ports[NAME]
        self.motors = [
            SimulatedMotor(motor, arm.timeout, self.drive.hottest) for motor in arm.motors
        ]
        self._rng = rng or np.random.default_rng(0)
        self.line = CanLine(arm.bit_rate, arm.data_bit_rate, self._rng)
        self.received: deque[tuple[int, CanFrame]] = deque(maxlen=4096)
        self.host = CanNode("host", lambda frame, at: self.received.append((at, frame)))
        self._nodes = [self._node(motor) for motor in self.motors]
        self.line.nodes = [self.host, *self._nodes]
        self.now_ns, self.due_ns = 0, self.world.step_ns
        self._applied, self._last = self.world.data.qfrc_applied, self.port.q.copy()
        self.push = np.zeros(len(self.motors))
        n = len(self.motors)
        shafts = np.zeros((3, n))
        self._theta, self._omega, self._torques = shafts
        for index, one in enumerate(self.motors):
            one.shaft = shafts[:, index]
        self._commands, self._changed, self._checked_ns = np.zeros((5, n)), True, 0
        self._limits = np.array([motor.ranges.torque for motor in arm.motors])
        self._broken = False
        self._resting = True
        self._measure()

    @property
    def q(self) -> Array:
        """True positions of the joints, [rad] or [m]."""
        return self.port.q

    @property
    def v(self) -> Array:
        """True velocities of the joints, [rad/s] or [m/s]."""
        return self.port.v

    def send(self, frame: CanFrame) -> None:
        """Let the host send a frame now."""
        self.host.put(frame, self.now_ns)

    def advance(self, to_ns: int) -> None:
        """Let bus, motors and arm go on until ``to_ns``."""
        while self.now_ns < to_ns:
            # frames are heard at their own time, between two steps of the physics
            self.now_ns = min(to_ns, self.due_ns)
            self.line.advance(self.now_ns)
            if self.now_ns == self.due_ns:
                self._step()
                self.due_ns += self.world.step_ns

    def _node(self, motor: SimulatedMotor) -> CanNode:
        def hear(frame: CanFrame, now_ns: int) -> None:
            # the rest of the bus, which costs most of the time
            if frame.id != motor.registers[MotorRegister.ID] and frame.id != frames.COMMON:
                return
            answer = motor.hear(frame, now_ns)
            self._changed = True
            if answer is not None:
                drive = self.drive
                wait = drive.latency + drive.latency_spread * self._rng.random()
                sent = CanFrame(motor.answer_id, answer, frame.fd)
                # one mailbox: a newer answer replaces one that has not won the bus; assumed
                node.waiting = [one for one in node.waiting if one[0] > now_ns]
                node.put(sent, now_ns + round(1e9 * wait))

        node = CanNode(motor.joint.joint, hear)
        return node

    def _step(self) -> None:
        """One step of the physics, with the torques of the motors at its start."""
        if self.now_ns >= self._checked_ns + CHECK_NS:
            self._check((self.now_ns - self._checked_ns) * 1e-9)
        if self._changed:
            self._collect()
        goal, kp, speed, kd, torque = self._commands
        # all motors at once: a simulation in real time has no time for one after the other
        np.subtract(goal, self._theta, out=self._torques)
        self._torques *= kp
        self._torques += kd * (speed - self._omega)
        self._torques += torque
        np.clip(self._torques, -self._limits, self._limits, out=self._torques)
        if self._resting:
            return
        world, q, v = self.world, self.port.q, self.port.v
        self._last[:] = q
        # a motor's torque acts on the joint over the ratio: the powers are equal
        np.divide(self._torques, self.arm.ratios, out=self.port.torque)
        np.add(self.port.torque, self.push, out=self._applied)
        # nothing touches the tool: the engine alone is enough, and much faster
        mujoco.mj_step(world.model, world.data)
        if not v.dot(v) < math.inf:
            q[:], v[:] = self._last, 0.0
            world.data.qacc_warmstart[:] = 0.0
        self._measure()

    def _check(self, dt: float) -> None:
        """Time-outs, temperatures and faults, which are slow."""
        self._checked_ns, drive = self.now_ns, self.drive
        self._break()
        for motor, torque in zip(self.motors, self._torques.tolist(), strict=True):
            motor.check(self.now_ns)
            load = torque / motor.joint.ranges.torque
            rise = drive.heating * load * load + AMBIENT - motor.temperature
            motor.temperature += rise * dt / drive.heating_time
        self._changed = True

    def _collect(self) -> None:
        """What the motors do, one column each: position, k_p, velocity, k_d and torque."""
        self._changed, on = False, True
        for index, motor in enumerate(self.motors):
            command, status = motor.command, motor.status
            on = on and status is Status.ENABLED
            row = (0.0, 0.0, 0.0, 0.0, 0.0)
            if status is Status.ENABLED and motor.powered:
                goal = command.q + motor.zero
                row = (goal, command.kp, command.v, command.kd, command.torque)
            elif status is Status.LOST_COMMUNICATION and motor.powered:
                row = (0.0, 0.0, 0.0, self.drive.damping, 0.0)
            self._commands[:, index] = row
        self._resting = self._resting and not on

    def _measure(self) -> None:
        ratios = self.arm.ratios
        np.divide(self.port.q - self.arm.zeros, ratios, out=self._theta)
        velocities = self.port.v / ratios
        cutoff = 2.0 * math.pi * self.drive.velocity_filter
        if cutoff:
            share = -math.expm1(-cutoff * self.world.step_ns * 1e-9)
            self._omega += share * (velocities - self._omega)
        else:
            self._omega[:] = velocities

    def _break(self) -> None:
        """Let the fault begin when it is due."""
        faults = self.faults
        if faults.kind == "none" or self._broken or self.now_ns < faults.start * 1e9:
            return
        self._broken = True
        index = faults.motor - 1
        if faults.kind == "silent":
            self.motors[index].powered = False
        elif faults.kind == "hot":
            self.motors[index].temperature = self.drive.hottest + 20.0
        elif faults.kind in ("wrong-id", "same-id"):
            other = self.motors[index + 1]
            names = (MotorRegister.ANSWER_ID, MotorRegister.ID)[: 1 + (faults.kind == "same-id")]
            for name in names:
                self.motors[index].registers[name] = other.registers[name]
        else:
            self.line.noise = 1.0 if faults.kind == "bus-off" else 0.1

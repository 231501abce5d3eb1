"""A simulated arm on its servo bus: MuJoCo's physics behind the control tables, on a terminal."""

from __future__ import annotations

import os
import select
import termios
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from farhand.control.trajectory.paths import HandPath, Move
from farhand.parameters import parameter
from farhand.plants.servo_arm import packets
from farhand.plants.servo_arm.calibration import Calibration, JointCalibration
from farhand.plants.servo_arm.description import MAX_ID, STEP, STEPS, ServoArm
from farhand.plants.servo_arm.packets import BITS, BROADCAST, Dynamixel, PacketSplitter, ServoPacket
from farhand.plants.servo_arm.simulated_servo import (
    BROWN_OUT,
    RESULT_FAIL,
    UNKNOWN_INSTRUCTION,
    SimulatedServo,
)
from farhand.plants.terminal import Terminal
from farhand.robots import load_robot
from farhand.spatial import Array
from farhand.world import ImpedanceHand, Placed, Wall, World

STEP_NS = 1_000_000
SUPERVISION_NS = 10_000_000
"""How often a servo looks after its own voltage, temperature and load, [ns]; assumed."""

REBOOT_NS = {"feetech": 1_800_000_000, "dynamixel": 300_000_000}
"""Time that a servo is deaf after its processor has started again, [ns]: Feetech's manual says
about 1.8 s, Dynamixel's none: assumed."""

WALL_STIFFNESS = 1000.0
"""Of the wall in front of an arm, [N/m]: about a table's edge with the arm's own give; assumed."""

HAND = (300.0, 15.0, 1.0, 0.05)
"""Stiffness and damping of the hand, and those of its turn, [N/m], [N·s/m], [N·m/rad], [N·m·s/rad];
of a hand that holds a small handle loosely: assumed."""

HAND_STAYS_S = 6.0
"""When the hand goes back after it has begun to move, [s]."""

LOG_STEPS = 100
LATE_NS = 20_000_000
"""How much later a late answer comes, [ns]."""

SUPPLY_RESISTANCE = 0.05
"""Of supply and cables, [Ω]; assumed."""

CLEAR_TURNS = bytes.fromhex("0144584C22")
"""Parameters of the instruction that clears a Dynamixel's count of turns."""

BACKUP_WORD = b"CTRL"
"""Behind 1 (store) or 2 (restore), of the instruction that backs up a Dynamixel's table."""

MOST_CATCH_UP_NS = 50_000_000
"""Physics that is made up for after a pause of the process; what is more is left out, [ns]."""


@dataclass
class ArmBusFaults:
    """What goes wrong on the bus."""

    drop: float = parameter(0.0, "-", "share of answers that are lost", 0.0, 1.0)
    corrupt: float = parameter(0.0, "-", "share of answers with a wrong bit", 0.0, 1.0)
    late: float = parameter(0.0, "-", "share of answers that come 20 ms late", 0.0, 1.0)
    echo: bool = parameter(False, "-", "whether the adaptor hears what it sends")


class SimulatedArm:
    """The arm in a world of its own, and its servos.

    It lies on a support, so that it does not fall, until one of its servos is first switched on.

    Args:
        arm: which one.
        rng: draws how the servos are mounted.
        calibrated: whether its servos store their offsets and ranges, as LeRobot stores them.
        gravity: downward acceleration, [m/s²].
    """

    def __init__(
        self,
        arm: ServoArm,
        rng: np.random.Generator | None = None,
        calibrated: bool = True,
        gravity: float = 9.81,
    ) -> None:
        rng = rng or np.random.default_rng(0)
        robot = load_robot(arm.robot)
        arm.check(robot)
        self.arm, self.robot = arm, robot
        self.world = World({"arm": Placed(robot, q=robot.home)}, STEP_NS, gravity)
        self.port = self.world.ports["arm"]
        names = list(robot.limits.names)
        self.joint = np.array([names.index(servo.joint) for servo in arm.servos])
        self.ratio = np.array([servo.ratio for servo in arm.servos])
        shared = np.bincount(self.joint)[self.joint]
        limits, viscous = robot.limits, self.world.model.dof_damping
        self.servos = [
            SimulatedServo(
                servo,
                float(limits.torque[joint] / servo.ratio / count),
                float(limits.velocity[joint] * servo.ratio),
                float(viscous[joint] / servo.ratio**2 / count),
                mounted=float(rng.integers(1200, 2900)),
                baud=arm.baud,
            )
            for servo, joint, count in zip(arm.servos, self.joint, shared, strict=True)
        ]
        self.supply = 1.0  #: voltage of the supply over the nominal one, [-]
        self.calibration = self._calibrate(calibrated)
        self.wall: Wall | None = None
        self.hand: ImpedanceHand | None = None
        self._grip = 0.0, 0.0
        #: mean force of each touch on the tool along x, every tenth of a second, [N]
        self.forces: dict[str, list[float]] = {}
        self._sums: dict[str, float] = {}
        self.supported = True
        self._move(0.0)
        for servo in self.servos:
            servo.restart()

    def release(self) -> None:
        """Take the support away; a hand that there is takes hold."""
        self.supported = False
        if self.hand is not None:
            reach, pause = self._grip
            start, way = 1e-9 * self.world.now_ns + pause, (reach, 0.0, 0.0)
            moves = (Move(start, 1.5, way), Move(start + HAND_STAYS_S, 1.5, (-reach, 0.0, 0.0)))
            self.hand.path = HandPath(moves)
            self.hand.open = False

    def put_wall(self, ahead: float) -> None:
        """A wall this far ahead of the tool, along x, [m]."""
        point = self.port.tool.position + np.array([ahead, 0.0, 0.0])
        self.wall = Wall(point=point, normal=np.array([-1.0, 0.0, 0.0]), stiffness=WALL_STIFFNESS)
        self.world.touch("arm", "wall", self.wall)

    def put_hand(self, reach: float, pause: float = 3.0) -> None:
        """A hand that takes the tool this far along x after a pause [s], and then back, [m]."""
        self._grip = reach, pause
        self.hand = ImpedanceHand(*HAND, open=True)
        self.world.touch("arm", "hand", self.hand)

    def _log(self) -> None:
        """Keep the touches' forces, averaged over a tenth of a second."""
        for name, _, wrench in self.port.touches:
            self._sums[name] = self._sums.get(name, 0.0) + float(wrench[0]) / LOG_STEPS
            if self.world.now_ns % (LOG_STEPS * STEP_NS) == 0:
                self.forces.setdefault(name, []).append(self._sums[name])
                self._sums[name] = 0.0

    def _calibrate(self, store: bool) -> Calibration:
        """Offsets with which the middle of each joint's range is the middle of a turn."""
        found = {}
        lower, upper = self.robot.limits.lower, self.robot.limits.upper
        for servo, joint in zip(self.servos, self.joint, strict=True):
            angles = servo.servo.ratio * np.array([lower[joint], upper[joint]])
            ends = servo.mounted + servo._mount * angles / STEP
            middle, half = float(ends.mean()), abs(ends[1] - ends[0]) / 2
            target = STEPS // 2 - 1
            offset = round(middle) - target
            if not servo.feetech:
                offset = target - servo._turned * round(middle)
            low, high = max(0, round(target - half)), min(STEPS - 1, round(target + half))
            if store:
                servo["homing_offset"] = offset
                servo["min_position_limit"] = low
                servo["max_position_limit"] = high
                servo["return_delay_time"] = 0
                servo.save()
            name = servo.servo.joint
            key = name if name not in found else f"{name}_shadow"
            turned = servo.servo.drive_mode
            found[key] = JointCalibration(servo.servo.id, turned, offset, low, high)
        return Calibration(found)

    def advance(self, to_ns: int) -> None:
        """Step world and servos until ``to_ns``."""
        behind = to_ns - self.world.now_ns
        if behind > MOST_CATCH_UP_NS:
            to_ns = self.world.now_ns + MOST_CATCH_UP_NS
        while self.world.now_ns + STEP_NS <= to_ns:
            self._move(1e-9 * STEP_NS)
            lying = self.port.q.copy() if self.supported else None
            self.world.advance(self.world.now_ns + STEP_NS)
            if lying is not None:
                self.port.q[:], self.port.v[:] = lying, 0.0
            self._log()

    def _move(self, dt: float) -> None:
        q, v = self.port.q[self.joint] * self.ratio, self.port.v[self.joint] * self.ratio
        torque = np.zeros(self.port.nv)
        currents = sum(abs(servo._current) for servo in self.servos)
        floor = BROWN_OUT[self.arm.family.protocol.name]
        for k, servo in enumerate(self.servos):
            volts = self.supply * servo.servo.volts - SUPPLY_RESISTANCE * currents
            if volts < floor <= servo.volts:
                servo.reboots += 1
                servo.restart(REBOOT_NS[servo.family.protocol.name])
            servo.volts = volts
            servo.silent_ns = max(0, servo.silent_ns - STEP_NS)
            if self.world.now_ns % SUPERVISION_NS == 0:
                servo.supervise(self.world.now_ns, 1e-9 * SUPERVISION_NS)
            given = servo.drive(float(q[k]), float(v[k]), dt) if dt else 0.0
            if not dt:
                servo.angle, servo.speed = float(q[k]), float(v[k])
            torque[self.joint[k]] += self.ratio[k] * given
        self.port.torque[:] = torque
        if self.supported and any(servo["torque_enable"] for servo in self.servos):
            self.release()


class SimulatedServoBus:
    """What the servos of an arm answer.

    Args:
        arm: with its servos.
        faults: what goes wrong.
        rng: draws the faults.

    Attributes:
        speed: of the host [bit/s], which only servos of the same speed hear; None for all.
        heard: packets that were understood.
        lost: answers that a fault took.
    """

    speed: int | None = None

    def __init__(
        self,
        arm: SimulatedArm,
        faults: ArmBusFaults | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.arm, self.faults = arm, faults or ArmBusFaults()
        self.protocol = arm.arm.family.protocol
        self._rng = rng or np.random.default_rng(0)
        self._splitter = PacketSplitter(self.protocol, statuses=False)
        self.heard = self.lost = self.late = 0

    @property
    def baud(self) -> int:
        """Of the first servo."""
        return self.arm.servos[0].baud

    def feed(self, raw: bytes, now_ns: int) -> list[bytes]:
        """Bytes of the host, and all answers to the packets in them."""
        found = []
        for packet in self._splitter.feed(raw):
            self.heard += 1
            found += [self._spoil(one) for one in self.answer(packet, now_ns)]
        return found

    def forget(self) -> None:
        """Forget half a packet whose rest did not come."""
        self._splitter.clear()

    def delay_ns(self) -> int:
        """Time from a packet to its answer, [ns]."""
        family, servo = self.arm.arm.family, self.arm.servos[0]
        return round(1e9 * family.delay_unit * servo["return_delay_time"])

    def reboot(self, id_: int) -> None:
        """Let a servo lose its power for a moment."""
        for servo in self._servos(id_):
            servo.reboots += 1
            servo.restart(REBOOT_NS[servo.family.protocol.name])

    def answer(self, packet: ServoPacket, now_ns: int) -> list[bytes]:
        """The answers of all servos to a packet of the host."""
        for servo in self._servos(BROADCAST):
            servo.heard_ns = now_ns
        code, protocol = packet.code, self.protocol
        if code in (packets.SYNC_READ, packets.FAST_SYNC_READ, packets.BULK_READ) or (
            code == packets.FAST_BULK_READ
        ):
            return self._read_many(packet)
        if code in (packets.SYNC_WRITE, packets.BULK_WRITE):
            self._write_many(packet)
            return []
        answers = []
        for servo in self._shadows(packet.id):
            self._execute(servo, packet)
        for servo in self._servos(packet.id):
            error, data = self._execute(servo, packet)
            quiet = packet.id == BROADCAST and code != packets.PING
            if error >= 0 and not quiet and self._replies(servo, code):
                answers.append(protocol.status(servo.id, error | servo.error, data))
        return answers

    def _servos(self, id_: int) -> list[SimulatedServo]:
        """Those that an id means, without shadows."""
        return [
            servo
            for servo in self.arm.servos
            if id_ in (BROADCAST, servo.id) and servo.silent_ns == 0 and self._hears(servo)
        ]

    def _hears(self, servo: SimulatedServo) -> bool:
        """Whether the host speaks at this servo's speed; 0 stands for all unusual speeds."""
        speed = self.speed
        return speed is None or speed == (servo.baud if servo.baud in SPEEDS.values() else 0)

    def _shadows(self, id_: int) -> list[SimulatedServo]:
        """Those that listen to another's id as well."""
        if id_ > MAX_ID:
            return []
        return [
            one
            for one in self.arm.servos
            if one.shadows == id_ and not one.silent_ns and self._hears(one)
        ]

    def _replies(self, servo: SimulatedServo, code: int) -> bool:
        """Whether the servo answers this instruction, by its own setting."""
        if servo.feetech:
            return code in (packets.PING, packets.READ) or servo["response_status_level"] > 0
        level = servo["status_return_level"]
        return level + (code == packets.PING) + (code in (packets.PING, packets.READ)) >= 2

    def _execute(self, servo: SimulatedServo, packet: ServoPacket) -> tuple[int, bytes]:
        """Error and data of one servo; a negative error for no answer at all."""
        code, data, word = packet.code, packet.data, self.protocol.address_bytes
        at = int.from_bytes(data[:word], "little")
        if code == packets.PING:
            if servo.feetech:
                return 0, b""
            return 0, bytes(servo.memory[:2]) + bytes(servo.memory[6:7])
        if code == packets.READ and len(data) == 2 * word:
            return servo.read(at, int.from_bytes(data[word:], "little"))
        if code == packets.WRITE and len(data) > word:
            return servo.write(at, data[word:]), b""
        if code == packets.REG_WRITE and len(data) > word:
            servo.registered = at, data[word:]
            servo["registered_instruction"] = 1
            return 0, b""
        if code == packets.ACTION:
            if servo.registered is not None:
                servo.write(*servo.registered)
                servo.registered = None
                servo["registered_instruction"] = 0
            return (0 if servo.feetech else -1), b""
        if code == packets.REBOOT:
            servo.reboots += 1
            servo.restart(REBOOT_NS[servo.family.protocol.name])
            return (-1 if servo.feetech else 0), b""
        if code == packets.RESET:
            servo.reset()
            return 0, b""
        if code == packets.CLEAR and data == CLEAR_TURNS:
            return (RESULT_FAIL if servo["torque_enable"] else 0), b""
        if servo.feetech and code in (packets.BACKUP, packets.CLEAR_TURNS, packets.CALIBRATE):
            return servo.maintain(code, data), b""
        if code == packets.CONTROL_BACKUP and not servo.feetech and data[1:] == BACKUP_WORD:
            return (RESULT_FAIL if servo["torque_enable"] else servo.maintain(code, data)), b""
        return (-1 if servo.feetech else UNKNOWN_INSTRUCTION), b""

    def _read_many(self, packet: ServoPacket) -> list[bytes]:
        """Answers to sync and bulk reads, in the order of the ids."""
        word, data = self.protocol.address_bytes, packet.data
        asked: list[tuple[int, int, int]] = []
        if packet.code in (packets.SYNC_READ, packets.FAST_SYNC_READ):
            at, size = (int.from_bytes(data[k * word : (k + 1) * word], "little") for k in (0, 1))
            asked = [(id_, at, size) for id_ in data[2 * word :]]
        else:
            for start in range(0, len(data) - 4, 5):
                at, size = data[start + 1] | data[start + 2] << 8, data[start + 3]
                asked.append((data[start], at, size | data[start + 4] << 8))
        found = []
        for id_, at, size in asked:
            for servo in self._servos(id_):
                error, raw = servo.read(at, size)
                if error >= 0:
                    found.append(ServoPacket(servo.id, error | servo.error, raw))
        fast = packet.code in (packets.FAST_SYNC_READ, packets.FAST_BULK_READ)
        if fast and isinstance(self.protocol, Dynamixel):
            # a servo that does not answer leaves all after it silent
            return [self.protocol.fast_status(found)] if len(found) == len(asked) else []
        return [self.protocol.status(*one) for one in found]

    def _write_many(self, packet: ServoPacket) -> None:
        word, data = self.protocol.address_bytes, packet.data
        if packet.code == packets.SYNC_WRITE:
            at, size = (int.from_bytes(data[k * word : (k + 1) * word], "little") for k in (0, 1))
            rows = data[2 * word :]
            for start in range(0, len(rows) - size, size + 1):
                for servo in (*self._shadows(rows[start]), *self._servos(rows[start])):
                    servo.write(at, rows[start + 1 : start + 1 + size])
            return
        start = 0
        while start + 5 <= len(data):
            at, size = data[start + 1] | data[start + 2] << 8, data[start + 3]
            for servo in (*self._shadows(data[start]), *self._servos(data[start])):
                servo.write(at, data[start + 5 : start + 5 + size])
            start += 5 + size

    def _spoil(self, answer: bytes) -> bytes:
        """An answer with the faults of the line."""
        faults, rng = self.faults, self._rng
        if faults.drop and rng.random() < faults.drop:
            self.lost += 1
            return b""
        if faults.corrupt and rng.random() < faults.corrupt:
            self.lost += 1
            bad = bytearray(answer)
            bad[rng.integers(len(bad))] ^= 1 << int(rng.integers(8))
            return bytes(bad)
        return answer

    def is_late(self) -> bool:
        """Draw whether this answer comes late."""
        late = bool(self.faults.late and self._rng.random() < self.faults.late)
        self.late += late
        return late


SPIN_NS = 60_000
"""Time that a sleeping thread takes to wake up, which the terminal waits awake instead, [ns]."""

SILENCE_NS = 20_000_000
"""After this long, the rest of half a packet does not come any more, [ns]; assumed."""

BUFFER_NS = 50_000_000
"""What the host may have sent ahead of the line before its port takes no more, [ns]."""

SPEEDS = {
    getattr(termios, f"B{rate}"): rate
    for rate in (9600, 38400, 57600, 115200, 500000, 1000000, 2000000, 3000000, 4000000)
}
"""Speeds that have a number of their own in ``termios``, [bit/s]."""


class ServoTerminal:
    """A bus on a pseudo-terminal, in wall time, with the time that the bits take.

    Args:
        bus: who answers.
        link: where to make a symbolic link to the terminal; None for none.

    Raises:
        FileError: the link cannot be made.
    """

    def __init__(self, bus: SimulatedServoBus, link: Path | None = None) -> None:
        self.bus, self._terminal = bus, Terminal(link)
        self._master, self.path = self._terminal.master, self._terminal.path
        os.set_blocking(self._master, False)
        self._set_speed()
        self.error: Exception | None = None  #: that ended the thread, or None
        self._stopping = threading.Event()
        self._plugged = True
        self._thread = threading.Thread(target=self._run, name="servo-sim", daemon=True)

    def __enter__(self) -> ServoTerminal:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.unplug()

    def unplug(self) -> None:
        """End it, as if somebody pulled the cable: who has the terminal open gets an error."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(2.0)
        if self._plugged:
            self._plugged = False
            self._terminal.close()

    def _set_speed(self) -> None:
        """A host that sets no speed speaks at the servos'."""
        number = getattr(termios, f"B{self.bus.baud}", None)
        if number is not None:
            settings = termios.tcgetattr(self._terminal.slave)
            settings[4] = settings[5] = number
            termios.tcsetattr(self._terminal.slave, termios.TCSANOW, settings)

    def _run(self) -> None:
        try:
            self._serve()
        # kept for whoever looks, because nobody would see it raised in this thread
        except Exception as error:
            self.error = error

    def _serve(self) -> None:
        bus, waiting = self.bus, deque[tuple[int, bytes]]()
        start_ns = line_ns = heard_ns = time.monotonic_ns()
        while not self._stopping.is_set():
            now_ns = time.monotonic_ns()
            next_ns = waiting[0][0] - SPIN_NS if waiting else now_ns + STEP_NS
            pause = min(max(0, next_ns - now_ns), STEP_NS)
            # a host that does not wait for answers is held up, as by a port's own buffer
            listens = [self._master] if line_ns - now_ns < BUFFER_NS else []
            ready = select.select(listens, [], [], pause * 1e-9)[0]
            now_ns = time.monotonic_ns()
            while waiting and waiting[0][0] <= now_ns + SPIN_NS:
                due_ns, answer = waiting.popleft()
                # never sooner than the bits allow
                while time.monotonic_ns() < due_ns:
                    pass
                self._send(answer)
            if not ready:
                # physics while nothing is due
                if not waiting or waiting[0][0] > now_ns + STEP_NS:
                    bus.arm.advance(now_ns - start_ns)
                continue
            raw = os.read(self._master, 4096)
            bus.speed = SPEEDS.get(termios.tcgetattr(self._terminal.slave)[4], 0)
            byte_ns = BITS * 1_000_000_000 // (bus.speed or bus.baud)
            if now_ns - heard_ns > SILENCE_NS:
                bus.forget()
            heard_ns = now_ns
            line_ns = max(line_ns, now_ns) + len(raw) * byte_ns
            # servos measure when they have heard the whole question
            bus.arm.advance(min(line_ns, now_ns + BUFFER_NS) - start_ns)
            answers = bus.feed(raw, now_ns - start_ns)
            if bus.faults.echo:
                waiting.append((line_ns, raw))
            line_ns += sum(bus.delay_ns() + len(one) * byte_ns for one in answers)
            # the adaptor passes on what came in one go
            joined = b"".join(answers)
            if joined:
                late_ns = LATE_NS if bus.is_late() else 0
                waiting.append((line_ns + late_ns, joined))

    def _send(self, answer: bytes) -> None:
        """Send to the host; what it does not read in time is lost, as in a port's own buffer."""
        with suppress(BlockingIOError):
            os.write(self._master, answer)


def settled(arm: SimulatedArm, seconds: float) -> Array:
    """The posture of the arm some seconds later, in virtual time, [rad]."""
    for _ in range(round(seconds * 1e9 / STEP_NS)):
        arm.advance(arm.world.now_ns + STEP_NS)
    return arm.port.q.copy()

"""Finding, calibrating and checking a servo arm at a serial port."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from farhand.errors import FileError, Mismatch
from farhand.plants.servo_arm.bus import TRIES, BusGone, ServoBus
from farhand.plants.servo_arm.calibration import Calibration, JointCalibration
from farhand.plants.servo_arm.description import (
    STEP,
    STEPS,
    ArmServo,
    ServoArm,
    arm_names,
    arm_with,
    families,
    load_arm,
    servo_models,
)
from farhand.plants.servo_arm.packets import FEETECH
from farhand.plants.servo_arm.plant import (
    at_power_on,
    identify,
    read_calibration,
    stored_calibration,
)
from farhand.robots import Robot, load_robot
from farhand.spatial import Array

SINGLE_IDS = range(1, 10)
"""Servos that are also called one by one: some adaptors lose answers to a call to all."""

FULL_TURN = 5.3
"""Range of a joint that may turn all the way round, so that its ends are not looked for, [rad]: the
SO-101's wrist has 5.6, its pan 3.8."""

NUDGE = 60
"""How far a joint is moved in a check, [steps]: 5°."""

CHECK_CAP = 0.4
"""Share of the stall torque with which a joint is moved in a check."""

MIN_MOVED = 0.25
"""Share of the way that a free joint moves at least. A loop without integral part leaves dry
friction standing at both ends: a simulated SO-101 leader's elbow moves 38 % under its weight."""

NOISE_READINGS, MOVE_TIME_S = 20, 0.8

Asks = Callable[[str], None]
Moves = Callable[[Mapping[str, float]], bool]


@dataclass(frozen=True)
class Found:
    """What answers at a port."""

    port: str
    family: str
    servos: dict[int, str]  #: kind of servo by id
    volts: float  #: of the first servo
    arm: str  #: that has these servos; empty for none that is known


def find(ports: Sequence[str]) -> Iterator[Found]:
    """The servo arms at these ports."""
    arms = [load_arm(name) for name in arm_names()]
    # the speeds at which known arms speak, the fastest first
    speeds = sorted({(-arm.baud, arm.family.protocol.name) for arm in arms})
    for port in ports:
        for baud, name in speeds:
            try:
                with ServoBus(port, families()[name], -baud) as bus:
                    found = _at(bus, port)
            except FileError:
                continue
            if found is not None:
                yield found
                break


def why_closed(port: str) -> str:
    """Why a port cannot be opened; empty if it can."""
    try:
        ServoBus(port, families()[FEETECH.name]).close()
    except FileError as error:
        return str(error)
    return ""


def _at(bus: ServoBus, port: str) -> Found | None:
    ids = set(bus.scan())
    ids |= {id_ for id_ in SINGLE_IDS if id_ not in ids and bus.ping(id_)}
    kinds = {kind.number: name for name, kind in servo_models().items()}
    servos = {}
    for id_ in sorted(ids):
        number = bus.read(id_, "model_number", TRIES)
        if number is not None:
            servos[id_] = kinds.get(number, f"model {number}")
    if not servos:
        return None
    volts = (bus.read(min(servos), "present_voltage", TRIES) or 0) / 10.0
    return Found(port, bus.protocol.name, servos, volts, arm_with(servos, volts))


def calibrate(bus: ServoBus, arm: ServoArm, ask: Asks, moving: Moves) -> Calibration:
    """Find the middle and the ends of every joint, as LeRobot does, and store them in the servos.

    If it does not come to its end, the servos keep what they had stored.

    Args:
        bus: of the arm.
        arm: which one.
        ask: shows a text and returns when the user has done it.
        moving: whether the user still moves the joints to their ends, by the shares of their
            ranges over which they went.
    """
    robot = load_robot(arm.robot)
    arm.check(robot)
    identify(bus, arm)
    with _all_or_nothing(bus, arm):
        found = _measured(bus, arm, robot, ask, moving)
        store(bus, arm, found)
    return found


def _measured(bus: ServoBus, arm: ServoArm, robot: Robot, ask: Asks, moving: Moves) -> Calibration:
    """Where the user puts the joints; the servos count from there meanwhile."""
    feetech = arm.family.protocol is FEETECH
    ranges = dict(zip(robot.limits.names, robot.limits.upper - robot.limits.lower, strict=True))
    for servo in arm.servos:
        _unlock(bus, arm, servo)
        bus.write(servo.id, "operating_mode", 0 if feetech else 4)
        for name, value in (("homing_offset", 0), *_limits(0, STEPS - 1)):
            bus.write(servo.id, name, value)
    ask("Move every joint to the middle of its range, then press Enter.")
    middle = STEPS // 2 - 1
    offsets = {}
    for servo in arm.servos:
        here = _position(bus, servo)
        offsets[servo.id] = here - middle if feetech else middle - here
        bus.write(servo.id, "homing_offset", offsets[servo.id])
    ask("Press Enter, move every joint slowly to both its ends, and press Enter again.")
    low = {servo.id: middle for servo in arm.servos}
    high = dict(low)
    at, size = arm.family["present_position"].at, arm.family["present_position"].size
    while True:
        for id_, packet in bus.sync_read(arm.ids, at, size).items():
            position = arm.family["present_position"].decode(packet.data)
            low[id_], high[id_] = min(low[id_], position), max(high[id_], position)
        shares = {
            one.joint: (high[one.id] - low[one.id]) * STEP / one.ratio / ranges[one.joint]
            for one in arm.servos
            if ranges[one.joint] <= FULL_TURN
        }
        if not moving(shares):
            break
    rows = {}
    for servo in arm.servos:
        ends = low[servo.id], high[servo.id]
        if ranges[servo.joint] > FULL_TURN:
            ends = 0, STEPS - 1
        name = servo.joint if servo.joint not in rows else f"{servo.joint}_shadow"
        rows[name] = JointCalibration(servo.id, 0, offsets[servo.id], *ends)
    still = [name for name, row in rows.items() if row.range_max - row.range_min < NUDGE]
    if still:
        raise FileError(f"{', '.join(still)} did not move; nothing is stored: calibrate again")
    return Calibration(rows)


def store(bus: ServoBus, arm: ServoArm, calibration: Calibration) -> None:
    """Write a calibration to the servos, if it is of this arm.

    Raises:
        Mismatch: it is of another arm, or does not fit into the servos' registers.
        FileError: a servo does not answer.
    """
    by_id = {row.id: row for row in calibration.joints.values()}
    ids = {
        servo.joint: [o.id for o in arm.servos if o.joint == servo.joint] for servo in arm.servos
    }
    for name, row in calibration.joints.items():
        if row.id not in ids.get(name, [row.id]):
            raise Mismatch(
                f"{name} is servo {row.id} in the calibration, {ids[name][0]} in {arm.name}"
            )
    for servo in arm.servos:
        if servo.id not in by_id:
            raise Mismatch(f"the calibration has no servo {servo.id} ({servo.joint})")
        for name, value in _values(by_id[servo.id]):
            register = arm.family[name]
            if register.decode(register.encode(value)) != value:
                where = f"servo {servo.id} ({servo.joint})"
                raise Mismatch(f"{name} = {value} does not fit into its register of {where}")
    identify(bus, arm)
    with _all_or_nothing(bus, arm):
        _write(bus, arm, by_id)


def _write(bus: ServoBus, arm: ServoArm, by_id: Mapping[int, JointCalibration]) -> None:
    for servo in arm.servos:
        _unlock(bus, arm, servo)
        for name, value in _values(by_id[servo.id]):
            bus.write(servo.id, name, value)
        if arm.family.protocol is FEETECH:
            bus.write(servo.id, "lock", 1)


def _unlock(bus: ServoBus, arm: ServoArm, servo: ArmServo) -> None:
    """Let a servo go, so that it takes what it stores."""
    bus.write(servo.id, "torque_enable", 0)
    if arm.family.protocol is FEETECH:
        bus.write(servo.id, "lock", 0)


@contextmanager
def _all_or_nothing(bus: ServoBus, arm: ServoArm) -> Iterator[None]:
    """Whatever ends this early, Ctrl-C too: the servos get back what they had stored before."""
    before = {row.id: row for row in stored_calibration(bus, arm.servos)}
    try:
        yield
    except BaseException as error:
        try:
            _write(bus, arm, before)
        except FileError:
            text = "the servos may have half a calibration, so calibrate again"
            raise FileError(f"{str(error) or 'interrupted'}: {text}") from None
        raise


def _values(row: JointCalibration) -> tuple[tuple[str, int], ...]:
    """What a servo stores of a row."""
    return ("homing_offset", row.homing_offset), *_limits(row.range_min, row.range_max)


def _limits(low: int, high: int) -> tuple[tuple[str, int], tuple[str, int]]:
    return ("min_position_limit", max(0, low)), ("max_position_limit", min(STEPS - 1, high))


@dataclass(frozen=True)
class JointCheck:
    """What a check of one servo found."""

    servo: ArmServo
    moved: float  #: on the way back, of the wanted way, [-]; on the way out its weight may settle
    friction: float  #: half the difference of the load on the way up and down, [N·m]
    noise: float  #: standard deviation of its load at rest, [N·m]
    volts: float  #: of its supply, [V]
    degrees: float  #: temperature, [°C]
    room: float  #: to the nearer end of its range, [rad]
    path: Array  #: goal and position of the servo from where it was, and its load, [rad], [N·m]
    span: tuple[float, float]  #: of its calibrated range, from where it was, [rad]

    @property
    def problem(self) -> str:
        """What is wrong; empty for nothing."""
        if self.moved < -MIN_MOVED:
            return "turns the wrong way"
        if self.moved < MIN_MOVED:
            return f"moved {100 * self.moved:.0f} % of the way: blocked, weak or not powered"
        if self.room < 0.0:
            return "is outside its calibrated range"
        return ""


def check(
    bus: ServoBus,
    arm: ServoArm,
    pause: Callable[[float], None] = time.sleep,
    show: Callable[[int, int, str], None] = lambda *_: None,
) -> list[JointCheck]:
    """Move each joint by 5° and back, with little force, while the others hold.

    Servos that move a joint together move together. At the end the arm is let go.

    Args:
        bus: of the arm.
        arm: which one.
        pause: lets time pass, [s].
        show: called before each joint, with how many are done, how many there are, and its name.
    """
    robot = load_robot(arm.robot)
    arm.check(robot)
    identify(bus, arm)
    rows, limits = read_calibration(bus, arm.servos), robot.limits
    stall = dict(zip(limits.names, limits.torque, strict=True))
    shared = {s.joint: sum(o.joint == s.joint for o in arm.servos) for s in arm.servos}
    found: list[JointCheck] = []
    with _holding(bus, arm):
        for servo, row in zip(arm.servos, rows, strict=True):
            if any(one.servo.joint == servo.joint for one in found):
                continue
            show(len(found), len(shared), servo.joint)
            full = stall[servo.joint] / servo.ratio / shared[servo.joint]
            found.append(_check_one(bus, arm, servo, row, full, pause))
    return found


@contextmanager
def _holding(bus: ServoBus, arm: ServoArm) -> Iterator[None]:
    """All servos hold where they are, with little force; then they are let go as they were."""
    feetech = arm.family.protocol is FEETECH
    freed = {servo.id: at_power_on(bus, servo) for servo in arm.servos}
    try:
        for servo in arm.servos:
            bus.write(servo.id, "torque_enable", 0)
            bus.write(servo.id, "operating_mode", 0 if feetech else 4)
            if feetech:
                bus.write(servo.id, "torque_limit", round(1000 * CHECK_CAP))
            else:
                bus.write(servo.id, "goal_pwm", round(885 * CHECK_CAP))
            here = _position(bus, servo)
            bus.write(servo.id, "torque_enable", 1)
            bus.write(servo.id, "goal_position", here)
        yield
    finally:
        for servo in arm.servos:
            try:
                bus.write(servo.id, "torque_enable", 0)
                for name, value in freed[servo.id]:
                    bus.write(servo.id, name, value)
            except BusGone:
                break
            except FileError:
                continue


def _check_one(
    bus: ServoBus,
    arm: ServoArm,
    servo: ArmServo,
    row: JointCalibration,
    full: float,
    pause: Callable[[float], None],
) -> JointCheck:
    together = [one for one in arm.servos if one.joint == servo.joint]
    starts = {one.id: _position(bus, one) for one in together}
    start = starts[servo.id]
    room = min(start - row.range_min, row.range_max - start)
    # away from the nearer end
    way = NUDGE if row.range_max - start > start - row.range_min else -NUDGE
    noise = np.std([_load(bus, servo, full) for _ in range(NOISE_READINGS)])
    loads, ends, path = [], [], []
    for share in (1.0, 0.0):
        begin, samples = _position(bus, servo), []
        for part in np.linspace(0.0, 1.0, 16)[1:]:
            goal = (1.0 - part) * (begin - start) + part * share * way
            for one in together:
                turn = one.sign * servo.sign
                bus.write(one.id, "goal_position", round(starts[one.id] + turn * goal))
            pause(MOVE_TIME_S / 16)
            samples.append(_load(bus, servo, full))
            here = (_position(bus, servo) - start) * STEP
            path.append((goal * STEP, here, samples[-1]))
        loads.append(float(np.mean(samples[4:])))
        ends.append(_position(bus, servo))
    return JointCheck(
        servo,
        (ends[0] - ends[1]) / way,
        abs(loads[0] - loads[1]) / 2.0,
        float(noise),
        (bus.read(servo.id, "present_voltage", TRIES) or 0) / 10.0,
        float(bus.read(servo.id, "present_temperature", TRIES) or 0),
        room * STEP,
        np.array(path),
        ((row.range_min - start) * STEP, (row.range_max - start) * STEP),
    )


def _position(bus: ServoBus, servo: ArmServo) -> int:
    position = bus.read(servo.id, "present_position", TRIES)
    if position is None:
        raise FileError(f"servo {servo.id} ({servo.joint}) at {bus.path} does not answer")
    return position


def _load(bus: ServoBus, servo: ArmServo, full: float) -> float:
    """Torque by the servo's own load or current, [N·m]; the last try counts."""
    feetech = servo.model.family.protocol is FEETECH
    value = bus.read(servo.id, "present_load" if feetech else "present_current", TRIES) or 0
    counts = servo.model.stall / servo.model.current if not feetech and servo.model.current else 1e3
    return full * value / counts

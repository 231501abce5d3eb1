r"""An arm of smart servos as a plant that takes joint torques.

How a torque gets into a servo depends on what the servo has (``plant.drive``):

``effort``
    A servo without a current loop takes it as a share of its supply. The back-EMF then resists
    motion, which the robot's model has as viscous friction. A current loop takes the torque as a
    current, less the same resistance, so that the arm moves as its model does and momentum
    observers are right; what the rig feeds forward against friction takes it away again.

``offset``
    A position servo is sent a goal that is ``plant.offset`` beyond where it is, on the side of the
    torque, and the torque as its limit. It pushes with the limit and no more. If the bus falls
    silent, it goes to that goal and stops there. Feetech servos have no watchdog of the bus, and
    one that got a share of its supply would push for ever: so this is their default.

Gravity and friction are in the torques of the rig's controller.
"""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from farhand.errors import BadValue, FileError, Mismatch
from farhand.parameters import parameter
from farhand.plants.drivers.worker import Latest, Worker, urgent
from farhand.plants.plant import Brake, Channels, Command, JointTorque, Plant, Sample
from farhand.plants.servo_arm.bus import TRIES, BusGone, ServoBus
from farhand.plants.servo_arm.calibration import Calibration, JointCalibration
from farhand.plants.servo_arm.description import (
    STEP,
    STEPS,
    VELOCITY_UNIT,
    WATCHDOG_EXPIRED,
    ArmServo,
    ServoArm,
    arm_names,
    arm_with,
    load_arm,
    servo_models,
)
from farhand.plants.servo_arm.packets import FEETECH, ServoPacket, from_sign_magnitude
from farhand.robots import Placement, Robot
from farhand.spatial import Array

MAX_MISSED_ANSWERS = 10
"""Answers missed in a row before a servo counts as silent."""

MAX_ALARMS = 5
"""Alarms in a row before they count: a wrong bit may look like one."""

CHECK_CYCLES = 10
"""Cycles of the bus between two looks at whether a servo still holds."""

WATCHDOG = 5
"""Of Dynamixel servos, in steps of 20 ms."""

MAX_SUPPLY_ERROR = 0.25
"""Share by which a supply may be another one without a note, [-]."""

DRIVES = ("auto", "effort", "offset")
ALARMS = {
    "feetech": {1: "voltage", 2: "angle sensor", 4: "heat", 8: "current", 32: "overload"},
    "dynamixel": {1: "voltage", 4: "heat", 8: "angle sensor", 16: "shock", 32: "overload"},
}
"""What the bits of a servo's alarm say."""


@dataclass
class ServoSettings:
    """How torques are sent."""

    drive: str = parameter("auto", "-", "how a torque gets into a servo", choices=DRIVES)
    torque: float = parameter(0.8, "-", "largest share of the stall torques", 0.0, 1.0)
    offset: float = parameter(100.0, "steps", "goal beyond the position, for offset", 10.0, 1000.0)
    patience: float = parameter(0.1, "s", "oldest command that is repeated", 0.01, 1.0)
    release: bool = parameter(False, "-", "whether the arm is let go at the end")


class ServoArmPlant(Plant):
    """An arm on a servo bus, served by a thread at the bus's own pace.

    A missing or corrupt answer is no measurement: the joint keeps its last one, the sample gets as
    old as that, and :attr:`missed` counts. A servo that stays silent, reports an alarm or has
    switched itself off is a fault, and so is a bus that is gone.

    Args:
        name: of the plant in the rig.
        path: of the serial port.
        arm: its servos.
        robot: its model.
        calibration: that the servos must have stored; None for what they have.
        settings: how torques are sent.
        bus: opened already; by default that of the port.
        clock: what tells the time, [ns].

    Raises:
        FileError: the port cannot be opened, or a servo does not answer.
        Mismatch: the servos are not those of the arm, or not calibrated.
    """

    accepts: frozenset[type[Command]] = frozenset({JointTorque, Brake})
    family: ClassVar[str]
    address_hint = "PORT"

    def __init__(
        self,
        name: str,
        path: str,
        arm: ServoArm,
        robot: Robot,
        calibration: Calibration | None = None,
        settings: ServoSettings | None = None,
        bus: ServoBus | None = None,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.name, self.path, self.arm, self._clock = name, path, arm, clock
        self._feetech = arm.family.protocol is FEETECH
        self.settings = settings or ServoSettings(release=name == "leader")
        arm.check(robot)
        joints = list(robot.limits.names)
        self.actuated = robot.actuated
        self.bus = bus or ServoBus(path, arm.family, arm.baud)
        try:
            self.servos = identify(self.bus, arm)
            self.notes = self._compare_supply()
            stored = read_calibration(self.bus, self.servos)
            if calibration is not None:
                check_calibration(stored, calibration, path)
            self.map = JointMap(self.servos, stored, robot)
            self._ids = [servo.id for servo in self.servos]
            self._loops = [servo.model.current_loop for servo in self.servos]
            # position, velocity and load of a Feetech servo; current, velocity, position
            self._words = struct.Struct("<HHH" if self._feetech else "<hii")
            first = arm.family["present_position" if self._feetech else "present_current"].at
            question = arm.family.protocol.sync_read(self._ids, first, self._words.size)
            self._question = question
            # question, answers and about as many bytes of commands
            line = 2 * len(question) + len(self._ids) * (
                2 * arm.family.protocol.overhead + self._words.size
            )
            self.period_ns = line * self.bus.byte_ns
            self._freed: list[list[tuple[str, int]]] = []
            self._prepare()
            self._reading = self._scan()
        except BaseException:
            self.bus.close()
            raise
        n, count = len(joints), len(self.servos)
        self._began_ns = self._accounted_ns = self._clock()
        self._read_ns = np.full(count, self._began_ns)
        self._acting, self._impulse, self._impulse_then = np.zeros((3, n))
        self._whole_ns = self._began_ns
        self.acted = np.zeros(n)
        self._silences, self._alarms = np.zeros(count, int), np.zeros(count, int)
        self._torque = Latest(name, np.zeros(n))
        self._commanded_ns, self._brake, self._driving = 0, True, ""
        self._again = self._was_read = False
        self._cycle, self._period = 0, 0.0
        self._stopped: str | None = None
        self._sample = Sample(n, n)
        self._state = Latest(name, self._published())
        self._last = self._state.get().value
        self._recorded: tuple[Array, ...] | None = None
        self.worker = Worker(f"{name}-bus", self._serve, 1000.0)  #: the thread
        self._start()

    def _start(self) -> None:
        with urgent():
            self.worker.start()

    def _wait(self) -> None:
        self._state.wait()

    @classmethod
    def robot_at(cls, address: str, role: str) -> str | None:
        """The robot of the arm's file, if the address names one."""
        files = [file for file in address.split("@")[1:] if file.endswith(".toml")]
        return load_arm(files[-1]).robot if files else cls.robots.get(role)

    @classmethod
    def open(
        cls, address: str, *, name: str, robot: Robot, placement: Placement, gravity: float
    ) -> ServoArmPlant:
        """The arm at a port: ``PORT``, or ``PORT@FILE`` with a calibration or an arm's file."""
        path, *files = address.split("@")
        calibration, described = None, None
        for file in files:
            if file.endswith(".toml"):
                described = load_arm(file)
            elif file.endswith(".json"):
                calibration = Calibration.read(Path(file))
            else:
                raise BadValue(f"{file!r} is neither a calibration (.json) nor an arm (.toml)")
        arm = described or arm_for(robot, cls.family)
        if arm.family.protocol.name != cls.family:
            raise Mismatch(f"{arm.name} has servos of {arm.family.protocol.name}, not {cls.family}")
        return cls(name, path, arm, robot, calibration)

    @property
    def parameters(self) -> dict[str, Any]:
        """What a user may set of it."""
        return {"plant": self.settings}

    @property
    def missed(self) -> int:
        """Answers that did not come, or were corrupt."""
        return self.bus.missed

    @property
    def fault(self) -> str | None:  # type: ignore[override]
        """Why the arm stands still, or None."""
        if self.worker.error is not None:
            return str(self.worker.error)
        return None if self._again else self._stopped

    def restart(self) -> None:
        """Configure all servos again and go on."""
        self._again = True

    def read(self, now_ns: int) -> Sample:
        """The last reading, as old as its oldest joint; the first one waits for a new state."""
        if not self._was_read:
            self._was_read = True
            self._wait()
        state, sample, n = self._state.get().value, self._sample, len(self._sample.q)
        last, self.acted_time = self._last, 1e-9 * float(state[-1] - self._last[-1])
        if self.acted_time > 0.0:
            self.acted = (state[3 * n : 4 * n] - last[3 * n : 4 * n]) / self.acted_time
            self._last = state
        sample.time_ns = now_ns - (self._clock() - int(state[-2]))
        sample.motion[:] = state[: 2 * n]
        if self._recorded is not None:
            load, period, missed = self._recorded
            load[:], period[0] = state[2 * n : 3 * n], state[-3]
            missed[0] = self.missed
        return sample

    def write(self, command: Command, now_ns: int) -> None:
        """Leave a command for the next cycle of the bus."""
        self._brake = type(command) is Brake
        self._torque.put(command.value)
        self._commanded_ns = self._clock()

    def record(self, stream: Channels) -> None:
        """Publish the servos' own loads, the bus period and the count of missed answers."""
        self._recorded = (
            stream.channel("load", len(self._sample.q), "-"),
            stream.channel("bus_period", 1, "s"),
            stream.channel("bus_missed", 1, "-"),
        )

    def close(self) -> None:
        """End the thread; the arm holds where it is, or is let go."""
        self.worker.stop()
        try:
            if self.worker.error is None:
                self._enter("free" if self.settings.release else "hold")
        # the arm may have been unplugged meanwhile
        except FileError:
            pass
        finally:
            self.bus.close()

    # Before the first tick

    def _compare_supply(self) -> list[str]:
        """A note if the supply is not the one for which the arm is described."""
        first = self.servos[0]
        volts = (self.bus.read(first.id, "present_voltage", TRIES) or 0) / 10.0
        if not volts or abs(volts - first.volts) < MAX_SUPPLY_ERROR * first.volts:
            return []
        described = f"{self.arm.name} is described for {first.volts:g} V"
        text = f"the {self.name} has {volts:.1f} V, and {described}"
        other = arm_with({servo.id: servo.model.name for servo in self.servos}, volts)
        if other in ("", self.arm.name):
            return [f"{text}: its motors are as much weaker or stronger than they are taken to be"]
        return [f"{text}, {other} for such a supply: are leader and follower swapped?"]

    def _prepare(self) -> None:
        """Switch every servo off and let it answer without delay."""
        for servo in self.servos:
            self.bus.write(servo.id, "torque_enable", 0)
            if self.bus.read(servo.id, "return_delay_time", TRIES):
                self.bus.write(servo.id, "return_delay_time", 0)
            self._freed.append(at_power_on(self.bus, servo))

    def _scan(self) -> Array:
        """Position, velocity and load of every servo; all must answer."""
        rows = np.full((len(self.servos), 3), np.nan)
        for _ in range(TRIES):
            packets = self.bus.exchange(self._question, self._ids, self._words.size)
            for index, id_ in enumerate(self._ids):
                if id_ in packets:
                    rows[index] = self._decode(packets[id_].data)
            if not np.isnan(rows).any():
                return rows
        silent = [self.servos[k].id for k in np.flatnonzero(np.isnan(rows[:, 0]))]
        raise FileError(f"servo {silent[0]} at {self.path} does not tell its position")

    # In the thread

    def _serve(self, now_ns: int) -> None:
        """One cycle of the bus: commands and a question in one go, then the answers."""
        if self._again:
            self._begin_again()
        commands = self._command(now_ns)
        packets = self._ask(*commands)
        self._judge(packets)
        self._cycle += 1
        if self._cycle % CHECK_CYCLES == 0 and self._driving not in ("", "free"):
            self._check_one(self._cycle // CHECK_CYCLES % len(self.servos))

    def _ask(self, *commands: bytes) -> dict[int, ServoPacket]:
        """Send commands, measure and publish; the packets by id."""
        bus, began_ns = self.bus, self._clock()
        bus.begin(*commands, self._question)
        line_ns = bus.byte_ns * (sum(map(len, commands)) + len(self._question))
        packets = bus.finish(self._ids, self._words.size)
        # a servo measures when it is asked, not when its answer arrives
        taken_ns = began_ns + line_ns
        self._account(taken_ns)
        for index, id_ in enumerate(self._ids):
            packet = packets.get(id_)
            if packet is not None and len(packet.data) == self._words.size:
                self._reading[index] = self._decode(packet.data)
                self._read_ns[index] = taken_ns
        if (self._read_ns == taken_ns).all():
            self._impulse_then[:], self._whole_ns = self._impulse, taken_ns
        self._period, self._began_ns = (taken_ns - self._began_ns) * 1e-9, taken_ns
        self._state.put(self._published())
        return packets

    def _decode(self, data: bytes) -> tuple[int, int, int]:
        """Position, velocity and load of one servo, in its own counts."""
        if self._feetech:
            position, velocity, load = self._words.unpack(data)
            return (
                from_sign_magnitude(position, 15),
                from_sign_magnitude(velocity, 15),
                from_sign_magnitude(load, 10),
            )
        current, velocity, position = self._words.unpack(data)
        return position, velocity, current

    def _account(self, now_ns: int) -> None:
        """Add up what the motors have done until now."""
        self._impulse += self._acting * (1e-9 * (now_ns - self._accounted_ns))
        self._accounted_ns = now_ns

    def _published(self) -> Array:
        """All that is read, in one array.

        Angles, speeds and loads of the joints; the motors' impulse until the last whole reading,
        [N·m·s]; period of the bus, [s]; time of the oldest reading and of the whole one, [ns].
        """
        q, v, load = self.map.joints(self._reading)
        times = self._period, self._read_ns.min(), self._whole_ns
        return np.concatenate([q, v, load, self._impulse_then, times])

    def _judge(self, packets: Mapping[int, ServoPacket]) -> None:
        """Count silence and alarms."""
        feetech, mask = self._feetech, 0x7F if self._feetech else 0x80
        calm = all(packet.code & mask == 0 for packet in packets.values())
        if calm and len(packets) == len(self._ids):
            self._silences[:] = self._alarms[:] = 0
            return
        for index, servo in enumerate(self.servos):
            packet = packets.get(servo.id)
            self._silences[index] = 0 if packet is not None else self._silences[index] + 1
            if packet is not None:
                self._alarms[index] = self._alarms[index] + 1 if packet.code & mask else 0
            who = f"servo {servo.id} ({servo.joint}) at {self.path}"
            if self._silences[index] == MAX_MISSED_ANSWERS:
                self._stop(f"{who} gave no answer {MAX_MISSED_ANSWERS} times in a row")
            if self._alarms[index] == MAX_ALARMS and packet is not None:
                code = packet.code
                if not feetech:
                    code = self.bus.read(servo.id, "hardware_error", TRIES) or 0
                known = ALARMS[self.arm.family.protocol.name]
                words = [word for bit, word in known.items() if code & bit] or [f"alarm {code}"]
                self._stop(f"{who} reports {' and '.join(words)}")

    def _check_one(self, index: int) -> None:
        """Whether a servo still holds, or its bus watchdog has expired, in turn."""
        servo, turn = self.servos[index], self._cycle // CHECK_CYCLES // len(self.servos)
        who = f"servo {servo.id} ({servo.joint}) at {self.path}"
        if not self._feetech and turn % 2:
            if self.bus.read(servo.id, "bus_watchdog") == WATCHDOG_EXPIRED:
                self._stop(f"{who} has heard nothing for {0.02 * WATCHDOG:g} s and has stopped")
        elif self.bus.read(servo.id, "torque_enable") == 0:
            self._stop(f"{who} has switched itself off: it has restarted, or protects itself")

    def _stop(self, reason: str) -> None:
        self._stopped = self._stopped or reason

    def _begin_again(self) -> None:
        self._silences[:] = self._alarms[:] = 0
        self._stopped, self._driving, self._again = None, "", False

    def _command(self, now_ns: int) -> list[bytes]:
        """The packets that send the torques; holding still needs none."""
        torque = self._torque.get()
        old = now_ns - self._commanded_ns > self.settings.patience * 1e9
        if not self._commanded_ns:
            return []
        if not self._brake and not np.isfinite(torque.value).all():
            self._stop("a commanded torque is not a number")
        if self._brake or old or self._stopped:
            wanted = "hold"
        else:
            wanted = self._drive()
        if wanted != self._driving:
            try:
                self._enter(wanted)
            except FileError as error:
                # one servo is silent or refuses; the others hold
                self._stop(str(error))
                self._driving = wanted
                return []
        if wanted == "hold":
            self._acting[:] = 0.0
            return []
        return self._push(self.map.servo_torques(torque.value), wanted)

    def _drive(self) -> str:
        if self.settings.drive != "auto":
            return self.settings.drive
        return "offset" if self._feetech else "effort"

    def _enter(self, state: str) -> None:
        """Bring all servos into a state: hold, effort, offset or free.

        What a servo does not confirm is sent all the same: it may have heard it.
        """
        if state == "hold" and self._driving == "offset" and self._feetech:
            # no change of mode, so nothing has to be confirmed
            cap = self.arm.family["torque_limit"].encode(round(1000 * self.settings.torque))
            goal = self.arm.family["goal_position"]
            here = self._reading[:, 0]
            rows = {
                servo.id: goal.encode(round(float(place))) + bytes(4) + cap
                for servo, place in zip(self.servos, here, strict=True)
            }
            self.bus.sync_write(goal, rows)
            self._driving = state
            return
        missing: FileError | None = None
        for index, servo in enumerate(self.servos):
            # the others do not wait for one that is silent already
            tries = TRIES if self._silences[index] < MAX_MISSED_ANSWERS else 1
            for name, value in self._configuration(index, servo, state):
                try:
                    self._confirm(servo.id, name, value, tries)
                except BusGone:
                    raise
                except FileError as error:
                    missing, tries = missing or error, 1
            # the samples must not get old meanwhile
            self._ask()
        self._driving = state
        if missing is not None:
            raise missing

    def _confirm(self, id_: int, name: str, value: int, tries: int) -> None:
        """Set a register, also if answers are lost.

        The samples must not get old meanwhile: the arm is read between two tries, and only the
        further ones wait long.
        """
        for attempt in range(tries):
            try:
                return self.bus.write(id_, name, value, tries=1, patient=attempt > 0)
            except BusGone:
                raise
            except FileError:
                if attempt == tries - 1:
                    raise
            self._ask()

    def _configuration(self, index: int, servo: ArmServo, state: str) -> list[tuple[str, int]]:
        """What is written to a servo for a state, in this order."""
        cap, here = self.settings.torque, round(float(self._reading[index, 0]))
        off, on = [("torque_enable", 0)], [("torque_enable", 1)]
        if state == "free":
            # a watchdog that expires later would keep the next program from moving the servo
            watchdog = [] if self._feetech else [("bus_watchdog", 0)]
            return [*off, *watchdog, *self._freed[index]]
        goal = [] if state == "effort" else [("goal_position", here)]
        if self._feetech:
            # stiff and undamped where the limit makes the torque; as LeRobot sets it to hold
            gains = (32, 0) if state == "offset" else (16, 32)
            mode = ("operating_mode", 2 if state == "effort" else 0)
            limits = [("torque_limit", round(1000 * cap)), ("p_coefficient", gains[0])]
            return [*off, mode, *limits, ("d_coefficient", gains[1]), *on, *goal]
        loop = servo.model.current_loop
        modes = {"effort": 0 if loop else 16, "offset": 5 if loop else 4, "hold": 4}
        before = [*off, ("bus_watchdog", 0), ("operating_mode", modes[state])]
        if state == "effort":
            return [*before, ("bus_watchdog", WATCHDOG), *on]
        return [*before, ("goal_pwm", round(885 * cap)), *on, *goal]

    def _push(self, torque: Array, state: str) -> list[bytes]:
        """One or two packets that send the servos' torques [N·m]."""
        family, cap, loops = self.arm.family, self.settings.torque, self._loops
        shares = torque / self.map.stall
        back: Array | float = 0.0
        if state == "effort":
            back = np.where(loops, self.map.back * self._reading[:, 1], 0.0)
            shares -= back
        np.minimum(np.maximum(shares, -cap, out=shares), cap, out=shares)
        self._account(self._clock())
        self._acting[:] = self.map.joint_torques((shares + back) * self.map.stall)
        rows: dict[str, dict[int, bytes]] = {}
        for index, (servo, share) in enumerate(zip(self.servos, shares.tolist(), strict=True)):
            name, row = self._row(index, servo, share, state)
            rows.setdefault(name, {})[servo.id] = row
        protocol = family.protocol
        return [protocol.sync_write(family[name].at, values) for name, values in rows.items()]

    def _row(self, index: int, servo: ArmServo, share: float, state: str) -> tuple[str, bytes]:
        """Register and bytes of one servo for a share of its stall torque."""
        family, loop, feetech = self.arm.family, self._loops[index], self._feetech
        counts = round(share * servo.model.stall / servo.model.current) if loop else 0
        if state == "effort":
            if not feetech:
                name, full = ("goal_current", counts) if loop else ("goal_pwm", round(885 * share))
                return name, family[name].encode(full)
            value = counts if loop else round(1000 * share)
            return "goal_effort", family["goal_effort"].encode(value)
        goal = round(self._reading.item(index, 0) + math.copysign(self.settings.offset, share))
        place = family["goal_position"].encode(min(max(goal, 0), STEPS - 1) if feetech else goal)
        if feetech:
            limit = family["torque_limit"].encode(abs(round(1000 * share)))
            return "goal_position", place + bytes(4) + limit
        # from the cap to the goal, with the profile registers as they are at power-on
        cap = family["goal_pwm"].encode(885 if loop else abs(round(885 * share)))
        current = family["goal_current"].encode(abs(counts))
        return "goal_pwm", cap + current + bytes(12) + place


class JointMap:
    """Readings of servos as motion of joints, and torques of joints as those of servos.

    Args:
        servos: of the arm.
        calibration: that they have stored, in their order.
        robot: its model.
    """

    def __init__(
        self, servos: list[ArmServo], calibration: list[JointCalibration], robot: Robot
    ) -> None:
        names, limits = list(robot.limits.names), robot.limits
        self.joint = np.array([names.index(servo.joint) for servo in servos])
        ratio = np.array([servo.ratio for servo in servos])
        feetech = servos[0].model.family.protocol is FEETECH
        # a Dynamixel servo turns round by itself
        turned = [-1 if feetech and row.drive_mode else 1 for row in calibration]
        self.sign = np.array([servo.sign for servo in servos]) * turned
        self.count = np.bincount(self.joint, minlength=len(names))
        self.middle = np.array([row.middle for row in calibration])
        centre = (limits.lower + limits.upper)[self.joint] / 2.0
        self._centre, self._ratio = centre, ratio
        #: torque of each servo at stall, at its own shaft, [N·m]
        self.stall = limits.torque[self.joint] / ratio / self.count[self.joint]
        units = [VELOCITY_UNIT if not feetech else STEP for _ in servos]
        self._speed = self.sign * units / ratio
        # share of the stall torque per count of speed
        viscous = robot.compile().dof_damping[self.joint] / ratio**2 / self.count[self.joint]
        top = limits.velocity[self.joint] * ratio
        self.back = np.minimum(1.0 / top, viscous / self.stall) * units
        full = [
            1000.0
            if feetech or not servo.model.current
            else servo.model.stall / servo.model.current
            for servo in servos
        ]
        self._load = self.sign / np.array(full)

    def joints(self, reading: Array) -> tuple[Array, Array, Array]:
        """Angles, speeds and loads (shares of the stall torque) of the joints."""
        q = self._centre + self.sign * (reading[:, 0] - self.middle) * STEP / self._ratio
        v, load = self._speed * reading[:, 1], self._load * reading[:, 2]
        return self._mean(q), self._mean(v), self._mean(load)

    def servo_torques(self, torque: Array) -> Array:
        """Torque of each servo in its own direction, [N·m]."""
        share: Array = self.sign * (torque / self.count)[self.joint] / self._ratio
        return share

    def joint_torques(self, torque: Array) -> Array:
        """Torque of each joint from those of its servos, [N·m]."""
        joints = len(self.count)
        found: Array = np.bincount(self.joint, self.sign * self._ratio * torque, joints)
        return found

    def _mean(self, values: Array) -> Array:
        mean: Array = np.bincount(self.joint, values, len(self.count)) / self.count
        return mean


def identify(bus: ServoBus, arm: ServoArm) -> list[ArmServo]:
    """The servos of an arm that really answer, by their model numbers.

    Raises:
        FileError: one does not answer.
        Mismatch: one is of another family, or of an unknown model.
    """
    found, missing = [], []
    kinds = {kind.number: kind for kind in servo_models().values()}
    for servo in arm.servos:
        number = bus.read(servo.id, "model_number", TRIES)
        kind = kinds.get(number if number is not None else -1)
        if number is None:
            missing.append(f"{servo.id} ({servo.joint})")
        elif kind is None or kind.family is not arm.family:
            raise Mismatch(f"servo {servo.id} at {bus.path} is of unknown model {number}")
        else:
            found.append(replace(servo, model=kind))
    if missing:
        who = f"servo {', '.join(missing)}" if found else "any servo"
        where = f"no answer from {who} at {bus.path} with {arm.baud} baud"
        ask = f"is the arm switched on, and is it the {arm.name}?"
        raise FileError(f"{where}: {ask} farhand arm find {bus.path} says who answers")
    return found


def at_power_on(bus: ServoBus, servo: ArmServo) -> list[tuple[str, int]]:
    """What registers of the torque have after power-on; other programs rely on that."""
    if servo.model.family.protocol is FEETECH:
        limits = {"torque_limit": "max_torque_limit"}
    else:
        limits = {"goal_pwm": "pwm_limit"}
        limits |= {"goal_current": "current_limit"} if servo.model.current_loop else {}
    values = {name: bus.read(servo.id, limit, TRIES) for name, limit in limits.items()}
    return [(name, value) for name, value in values.items() if value is not None]


def read_calibration(bus: ServoBus, servos: Sequence[ArmServo]) -> list[JointCalibration]:
    """What the servos have stored; :class:`Mismatch` for those that were never calibrated."""
    found = stored_calibration(bus, servos)
    if all(row.range_min == 0 and row.range_max == STEPS - 1 for row in found):
        where = f"the servos at {bus.path} are not calibrated"
        raise Mismatch(f"{where}: run farhand arm calibrate, or LeRobot's lerobot-calibrate")
    return found


def stored_calibration(bus: ServoBus, servos: Sequence[ArmServo]) -> list[JointCalibration]:
    """What the servos have stored, whatever it is."""
    found = []
    for servo in servos:
        names = ("homing_offset", "min_position_limit", "max_position_limit")
        values = [bus.read(servo.id, name, TRIES) for name in names]
        turned = 0
        if servo.model.family.protocol is not FEETECH:
            turned = (bus.read(servo.id, "drive_mode", TRIES) or 0) & 1
        if None in values:
            raise FileError(f"servo {servo.id} at {bus.path} does not tell its calibration")
        offset, low, high = (int(value or 0) for value in values)
        found.append(JointCalibration(servo.id, turned, offset, low, high))
    return found


def check_calibration(stored: list[JointCalibration], file: Calibration, path: str) -> None:
    """Refuse servos that have stored another calibration than a file's."""
    by_id = {row.id: (name, row) for name, row in file.joints.items()}
    for row in stored:
        name, wanted = by_id.get(row.id, ("", None))
        if wanted is None:
            raise Mismatch(f"the calibration file has no servo {row.id}")
        for key in ("homing_offset", "range_min", "range_max"):
            mine, its = getattr(row, key), getattr(wanted, key)
            if mine != its:
                raise Mismatch(
                    f"servo {row.id} ({name}) at {path} has stored another calibration than the "
                    f"file's ({key} {mine}, not {its}): if the file is right, store it with "
                    f"farhand arm calibrate {path} --from FILE"
                )


def arm_for(robot: Robot, family: str) -> ServoArm:
    """The arm whose servos of a family move this robot."""
    arms = [load_arm(name) for name in arm_names()]
    mine = [arm for arm in arms if arm.family.protocol.name == family]
    for arm in mine:
        if arm.robot == robot.name:
            return arm
    known = ", ".join(arm.robot for arm in mine)
    raise Mismatch(
        f"no {family} arm is described for robot {robot.name}; there are: {known}. "
        f"Describe yours in a file: {family}:PORT@ARM.toml"
    )


class FeetechPlant(ServoArmPlant):
    """An arm of Feetech STS or HLS servos, such as the SO-101."""

    family = "feetech"
    robots: ClassVar[Mapping[str, str]] = {"leader": "so101-leader", "follower": "so101"}


class DynamixelPlant(ServoArmPlant):
    """An arm of Dynamixel X servos, such as Koch's."""

    family = "dynamixel"
    robots: ClassVar[Mapping[str, str]] = {"leader": "koch-leader", "follower": "koch"}

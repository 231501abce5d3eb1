r"""A simulated servo: a control table in front of a motor with gears.

The motor is a direct-current one: at the duty :math:`u` of the supply :math:`V` it exerts

.. math:: \tau = \tau_s\,\frac{uV}{V_n} - \frac{\tau_s}{\omega_0}\,\omega, \qquad
          i = i_s\,\frac{\tau}{\tau_s}

with stall torque, no-load speed and stall current of the data sheet at :math:`V_n`. The robot's
model has the second term as viscous friction, together with the dry friction of the gears. So
:meth:`SimulatedServo.drive` gives the first term, and takes the second back where the winding is
open or a current loop holds :math:`i`.

Assumed, because the makers publish none of it: the position loops' gains in Feetech servos, 1 % of
the duty per step at P = 32; play of 0.1° in the gears; a dead zone of the duty, which is Feetech's
register ``minimum_startup_force``; the resistance to heat, 60 °C at stall after some minutes.
"""

from __future__ import annotations

import math

from farhand.plants.servo_arm.description import (
    STEP,
    STEPS,
    VELOCITY_UNIT,
    WATCHDOG_EXPIRED,
    ArmServo,
    Register,
)
from farhand.plants.servo_arm.packets import BACKUP, CALIBRATE, FEETECH

PLAY = 1.75e-3
"""Play of the gears at the shaft, [rad]."""

DYNAMIXEL_DEAD_ZONE = 0.016
"""Duty that moves nothing, as the Feetech servo's factory value, [-]."""

AMBIENT, HEATING, HEAT_TIME = 25.0, 60.0, 180.0
"""Temperature without load and its rise at stall, [°C], and its time constant, [s]."""

BROWN_OUT = {"feetech": 4.0, "dynamixel": 3.1}
"""Supply below which a servo's processor starts again, [V]; assumed."""

VOLTAGE, ANGLE, HEAT, CURRENT, OVERLOAD = 1, 2, 4, 8, 32
"""Bits of the errors: of Feetech's status packets, and, but 8 and 2, of Dynamixel's register."""

RESULT_FAIL, UNKNOWN_INSTRUCTION, RANGE, LENGTH, LIMIT, ACCESS, ALERT = 1, 2, 4, 5, 6, 7, 0x80
"""Errors of a Dynamixel's status packets."""

VELOCITY_GAIN = 4.0
"""Gain of the velocity loop, duty of the top speed per error; assumed."""

FULL_DUTY = {"feetech": 1000, "dynamixel": 885}


class SimulatedServo:
    """One servo: its memory and its motor.

    Args:
        servo: which one.
        stall: its torque at stall, [N·m] at its shaft.
        top_speed: its speed without load, [rad/s].
        viscous: its part of the joint's friction in the robot's model, [N·m·s/rad].
        mounted: position of its encoder at the joint's zero, [steps].
        baud: at which it speaks.

    Attributes:
        id: on the bus.
        baud: at which it speaks.
        temperature: of the motor, [°C].
        volts: of the supply now, [V].
        reboots: how often its processor has started again.
    """

    def __init__(
        self,
        servo: ArmServo,
        stall: float,
        top_speed: float,
        viscous: float,
        mounted: float = STEPS / 2,
        baud: int = 1_000_000,
    ) -> None:
        self.servo, self.family = servo, servo.model.family
        self.id, self.baud = servo.id, baud
        self._watchdog_expired = False
        self.stall, self.top_speed, self.mounted = stall, top_speed, mounted
        # what an open winding takes back is at most the friction that the model has
        self._back_slope = min(stall / top_speed, viscous)
        self.feetech = self.family.protocol is FEETECH
        self._full = FULL_DUTY[self.family.protocol.name]
        self._covered: dict[tuple[int, int], list[Register]] = {}
        self._goals = self.family["goal_position" if self.feetech else "goal_pwm"].at
        self.memory = bytearray(self.family.size)
        for register in self.family.registers.values():
            self._put(register, register.value)
        self._put(self.family["model_number"], servo.model.number)
        self._put(self.family["id"], servo.id)
        self._put(self.family["baud_rate"], self.family.baud_rates.index(baud))
        if not self.feetech:
            self._put(self.family["drive_mode"], servo.drive_mode)
            self._put(self.family["secondary_id"], servo.shadows)
        #: way round in which it is mounted
        self._mount = -servo.sign if servo.drive_mode & 1 else servo.sign
        self.saved = self.backup = bytes(self.memory)
        self.registered: tuple[int, bytes] | None = None
        self.temperature, self.volts, self.reboots = AMBIENT, servo.volts, 0
        self.angle = self.speed = 0.0
        self._duty = self._current = 0.0
        self._play, self._overloaded = 0.0, 0.0
        self.silent_ns = 0  #: time left until it hears again after a reboot, [ns]
        self.heard_ns = 0  #: when the bus last spoke to it, [ns]
        self.restart()

    def __getitem__(self, name: str) -> int:
        register = self.family[name]
        return register.decode(bytes(self.memory[register.at : register.at + register.size]))

    def __setitem__(self, name: str, value: int) -> None:
        self._put(self.family[name], value)
        self._refresh()

    def save(self) -> None:
        """Keep the present values of the EEPROM over a loss of power."""
        self.saved = bytes(self.memory)

    def restart(self, silent_ns: int = 0) -> None:
        """Start again, as after a loss of power: torque off, SRAM as at the factory."""
        self.memory[: self.family.sram] = self.saved[: self.family.sram]
        for register in self.family.registers.values():
            if register.at >= self.family.sram:
                self._put(register, register.value)
        if self.feetech:
            self._put(self.family["torque_limit"], self["max_torque_limit"])
        else:
            self._put(self.family["goal_pwm"], self["pwm_limit"])
            self._put(self.family["goal_current"], self["current_limit"])
        self._refresh()
        self._goal_at_rest()
        self.registered, self.silent_ns = None, silent_ns
        self._overloaded = 0.0
        self._reference = float(self.position)
        self._refresh()

    def maintain(self, code: int, data: bytes) -> int:
        """Back up or restore the EEPROM, or make the present position another; the error."""
        if code == CALIBRATE:
            place = int.from_bytes(data, "little") if data else STEPS // 2
            self._put(self.family["homing_offset"], round(self.raw) % STEPS - place)
            self._keep(self.family["homing_offset"])
        elif code == BACKUP or data[:1] == b"\1":
            self.backup = self.saved
        elif data[:1] == b"\2":
            self.saved = self.backup
            self.restart()
        self._refresh()
        return 0

    def reset(self) -> None:
        """Back to the factory's values or a Feetech's backup, but for id and baud rate."""
        kept = self["id"], self["baud_rate"], self["model_number"]
        for register in self.family.registers.values():
            self._put(register, register.value)
        if self.feetech:
            self.memory[: self.family.sram] = self.backup[: self.family.sram]
        for name, value in zip(("id", "baud_rate", "model_number"), kept, strict=True):
            self._put(self.family[name], value)
        self.save()
        self.restart()

    @property
    def raw(self) -> float:
        """Position of the encoder, [steps]."""
        return self.mounted + self._mount * self.angle / STEP

    @property
    def position(self) -> int:
        """The position as the servo tells it, [steps]."""
        if self.feetech:
            reported = round(self.raw) - self._offset
            return reported if self._counts_turns else reported % STEPS
        return self._turned * round(self.raw) + self._offset

    @property
    def error(self) -> int:
        """The error of its status packets."""
        if self.feetech:
            return self["hardware_error"]
        return ALERT if self["hardware_error"] else 0

    # Reading and writing

    def read(self, at: int, size: int) -> tuple[int, bytes]:
        """Error, and the bytes of some registers; a negative error for no answer."""
        protocol = self.family.protocol
        if at + size > self.family.size:
            # a Feetech servo reads what is there, if that fits into a packet
            missing = -1 if size > protocol.longest - protocol.overhead else 0
            return (missing, bytes(size)) if self.feetech else (RANGE, b"")
        self._measure()
        return 0, bytes(self.memory[at : at + size])

    def write(self, at: int, data: bytes) -> int:
        """Set some registers; the error."""
        whole = self._covered.get((at, len(data)))
        if whole is None:
            end, every = at + len(data), self.family.registers.values()
            whole = self._covered[at, len(data)] = [r for r in every if at <= r.at < end]
        if at + len(data) > self.family.size:
            return 0 if self.feetech else RANGE
        values = [r.decode(data[r.at - at : r.at - at + r.size]) for r in whole]
        if not self.feetech:
            for register, value in zip(whole, values, strict=True):
                refused = self._refusal(register, value, at + len(data))
                if refused:
                    return refused
        for register, value in zip(whole, values, strict=True):
            if register.fixed or register.at + register.size > at + len(data):
                continue
            self._take(register, value)
        if at >= self._goals and "torque_enable" not in (r.name for r in whole):
            self._refresh_goals()
        else:
            self._refresh()
        return 0

    def _refusal(self, register: Register, value: int, end: int) -> int:
        """Why a Dynamixel does not take a value; 0 if it does."""
        if register.at + register.size > end:
            return LENGTH
        if register.fixed or (register.at < self.family.sram and self["torque_enable"]):
            return ACCESS
        if register.low is not None and not register.low <= value <= (register.high or 0):
            return RANGE
        if register.name == "operating_mode" and value not in self.servo.model.modes:
            return RANGE
        if self._watchdog_expired and register.name.startswith("goal_"):
            return RANGE
        if register.name == "torque_enable" and value and self["hardware_error"] & self["shutdown"]:
            return RESULT_FAIL
        limits = {"goal_pwm": "pwm_limit", "goal_current": "current_limit"}
        limits["goal_velocity"] = "velocity_limit"
        limit = limits.get(register.name)
        if limit and abs(value) > self[limit]:
            return LIMIT
        if register.name == "goal_position" and self["operating_mode"] == 3:
            inside = self["min_position_limit"] <= value <= self["max_position_limit"]
            return 0 if inside else LIMIT
        return 0

    def _take(self, register: Register, value: int) -> None:
        name, before = register.name, self["torque_enable"]
        if name == "torque_enable" and self.feetech and value == 128:
            # the present position becomes the middle
            self._put(self.family["homing_offset"], round(self.raw) % STEPS - STEPS // 2)
            self._keep(self.family["homing_offset"])
            return
        if name == "operating_mode" and value not in self.servo.model.modes:
            return
        if name == "torque_enable" and self.feetech:
            self._put(self.family["hardware_error"], self["hardware_error"] & ~OVERLOAD)
        self._put(register, value)
        if register.at < self.family.sram and (not self.feetech or not self["lock"]):
            self._keep(register)
        if name == "torque_enable" and value and not before:
            self._reference = float(self.position)
            self._goal_at_rest()
        if name == "operating_mode" and not self.feetech:
            self._goal_at_rest()

    def _goal_at_rest(self) -> None:
        """A servo that is switched on stays where it is."""
        self._put(self.family["goal_position"], self.position)
        if self.feetech:
            self._put(self.family["goal_effort"], 0)
        elif self["operating_mode"] in (0, 16):
            self._put(self.family["goal_current" if self["operating_mode"] == 0 else "goal_pwm"], 0)

    def _put(self, register: Register, value: int) -> None:
        self.memory[register.at : register.at + register.size] = register.encode(value)

    def _keep(self, register: Register) -> None:
        saved = bytearray(self.saved)
        place = slice(register.at, register.at + register.size)
        saved[place] = self.memory[place]
        self.saved = bytes(saved)

    def _measure(self) -> None:
        """Bring the registers of what is present up to date."""
        put, family = self._put, self.family
        put(family["present_position"], self.position)
        speed = self._mount * self.speed
        if self.feetech:
            put(family["present_velocity"], round(speed / STEP))
            put(family["present_load"], round(1000 * self._duty))
        else:
            put(family["present_velocity"], self._turned * round(speed / VELOCITY_UNIT))
            put(family["present_pwm"], self._turned * round(885 * self._duty))
        unit = self.servo.model.current
        current = self._current / unit if unit else 1000 * self._duty
        put(family["present_current"], self._turned * round(current))
        put(family["present_voltage"], round(10 * self.volts))
        put(family["present_temperature"], round(self.temperature))
        put(family["moving"], int(abs(speed) > 0.1))

    # The motor

    def _refresh(self) -> None:
        """Take over what the registers say about the motor."""
        self._on = bool(self["torque_enable"])
        self._mode = self["operating_mode"]
        self._offset = self["homing_offset"]
        self._turned = -1 if not self.feetech and self["drive_mode"] & 1 else 1
        # bit 4 of Feetech's phase
        self._counts_turns = self.feetech and bool(self["phase"] & 0x10)
        self._low, self._high = self["min_position_limit"], self["max_position_limit"]
        if self.feetech:
            self._most = self["max_torque_limit"]
            self._dead = self["minimum_startup_force"] / 1000.0
            self._p = self["p_coefficient"] / 32 * 0.01
            self._d = self["d_coefficient"] / 32 * 0.05
        else:
            self._most = self["pwm_limit"]
            self._dead = DYNAMIXEL_DEAD_ZONE
            self._p = self["position_p_gain"] / 128 / 885
            # per step and millisecond
            self._d = self["position_d_gain"] / 16 / 885 * 1e-3 / STEP
        self.id, rates = self["id"], self.family.baud_rates
        # a number that stands for no speed leaves the speed as it is
        self.baud = rates[self["baud_rate"]] if self["baud_rate"] < len(rates) else self.baud
        #: id to which it listens without an answer
        self.shadows = 255 if self.feetech else self["secondary_id"]
        self._watchdog_expired = not self.feetech and self["bus_watchdog"] == WATCHDOG_EXPIRED
        self._refresh_goals()

    def _refresh_goals(self) -> None:
        """Take over the registers that a host writes in every cycle."""
        self._goal = float(self["goal_position"])
        if self.feetech:
            self._cap = min(self["torque_limit"], self._most) / 1000.0
            self._ramp = float(abs(self["goal_velocity"])) or math.inf
            self._effort = self["goal_effort"]
            self._rate = self["goal_velocity"] * STEP
            if self._mode == 3:
                self._goal += self.position
            if self._mode == 0 and self._low < self._high:
                self._goal = min(max(self._goal, self._low), self._high)
        else:
            self._cap = min(abs(self["goal_pwm"]), self._most) / 885.0
            self._ramp = self["profile_velocity"] * VELOCITY_UNIT / STEP or math.inf
            self._effort = self["goal_pwm"] if self._mode == 16 else self["goal_current"]
            self._rate = self["goal_velocity"] * VELOCITY_UNIT

    def drive(self, angle: float, speed: float, dt: float) -> float:
        """Torque at the shaft for a step of ``dt`` [s], on top of the model's friction, [N·m].

        Args:
            angle: of the shaft from the joint's zero, [rad].
            speed: of the shaft, [rad/s].
            dt: [s].
        """
        self.angle, self.speed = angle, speed
        back = self._back_slope * speed
        if not self._on or self.volts < BROWN_OUT[self.family.protocol.name]:
            self._duty = self._current = 0.0
            self._warm(0.0, dt)
            # the winding is open: no current, so no back-EMF torque either
            return back
        sign, most = self._mount, self.stall * self.volts / self.servo.volts
        wanted = self._wanted(sign * speed, dt) * sign
        if self._holds_current:
            torque = min(max(wanted + back, -most), most)
        else:
            duty = min(max(wanted, -self._cap), self._cap)
            torque = most * (0.0 if abs(duty) < self._dead else duty)
        self._duty = sign * torque / most
        self._current = sign * (torque - back) / self.stall * self.servo.model.stall
        self._warm(abs(self._current) / self.servo.model.stall, dt)
        return self._through_play(torque, torque / most * self.top_speed - speed, dt, back)

    @property
    def _holds_current(self) -> bool:
        model = self.servo.model
        return self._mode == (2 if self.feetech else 0) and model.current_loop

    def _wanted(self, speed: float, dt: float) -> float:
        """Duty, or with a current loop torque, in the servo's own direction."""
        turned = self._turned
        speed *= turned
        if self._watchdog_expired:
            return 0.0
        if self._holds_current:
            model = self.servo.model
            return turned * self._effort * model.current / model.stall * self.stall
        if self._mode == (2 if self.feetech else 16):
            return turned * self._effort / self._full
        if self._mode == 1:
            ahead = self._rate + VELOCITY_GAIN * (self._rate - speed)
            return turned * ahead / self.top_speed
        self._reference += min(max(self._goal - self._reference, -self._ramp * dt), self._ramp * dt)
        error = self._reference - self.position
        if abs(error) <= 1.0 and self.feetech:
            error = 0.0
        duty = self._p * error - self._d * speed
        if self._mode == 5:
            # position with a current that the goal current limits
            model = self.servo.model
            limit = abs(self._effort) * model.current / model.stall
            back = speed / self.top_speed
            duty = min(max(duty, back - limit), back + limit)
        return turned * duty

    def _through_play(self, torque: float, slip: float, dt: float, back: float) -> float:
        """What the gears pass on: nothing while the motor crosses their play."""
        # it pushes, or brakes a joint that is faster, on the side to which it slips
        reached = self._play + slip * dt
        self._play = min(max(reached, -PLAY / 2), PLAY / 2)
        return torque if abs(reached) >= PLAY / 2 else back

    def _warm(self, load: float, dt: float) -> None:
        target = AMBIENT + HEATING * load * load
        self.temperature += (target - self.temperature) * dt / HEAT_TIME

    def supervise(self, now_ns: int, dt: float) -> None:
        """Look after voltage, temperature, load and the bus, as the servo's own protection does."""
        error = self["hardware_error"]
        low, high = self["min_voltage_limit"], self["max_voltage_limit"]
        bit = VOLTAGE
        error = error | bit if not low <= 10 * self.volts <= high else error & ~bit
        limit = self["max_temperature_limit" if self.feetech else "temperature_limit"]
        error = error | HEAT if self.temperature > limit else error & ~HEAT
        loaded = self["overload_torque"] / 100 if self.feetech else 0.9
        patience = self["protection_time"] / 100 if self.feetech else 2.0
        self._overloaded = self._overloaded + dt if abs(self._duty) > loaded else 0.0
        if self._overloaded > patience:
            error |= OVERLOAD
        self._put(self.family["hardware_error"], error)
        if self.feetech:
            if error & OVERLOAD and self["unloading_condition"] & OVERLOAD:
                self._cap = min(self._cap, self["protective_torque"] / 100)
        fatal = self["unloading_condition"] & ~OVERLOAD if self.feetech else self["shutdown"]
        if error & fatal:
            self._put(self.family["torque_enable"], 0)
            self._on = False
        watchdog = 0 if self.feetech else self["bus_watchdog"]
        if 0 < watchdog < WATCHDOG_EXPIRED and now_ns - self.heard_ns > watchdog * 20_000_000:
            self._put(self.family["bus_watchdog"], WATCHDOG_EXPIRED)
            self._watchdog_expired = True

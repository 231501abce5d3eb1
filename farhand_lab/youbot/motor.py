"""The wheel motors: current loop, winding, rotor, gear and wheel, and Y-46."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue
from farhand.friction import Friction, make
from farhand.parameters import parameter
from farhand_lab.harness import Figure, Finding, experiment, shared
from farhand_lab.mutation import Mutations
from farhand_lab.plots import canvas

Array = np.ndarray

SUBSTEP = 50e-6
"""Longest step of the current loop and the winding, [s]."""


@dataclass
class MotorData:
    """A geared motor and the drive it hangs on; one number for all motors."""

    # public driver configuration
    torque_constant: float = parameter(0.0335, "N·m/A", "torque constant", 1e-4, 10.0)
    # catalogue knowledge, unverified
    resistance: float = parameter(0.978, "Ω", "winding resistance", 1e-3, 1e3)
    # catalogue knowledge, unverified
    inductance: float = parameter(0.573e-3, "H", "winding inductance", 1e-6, 1.0)
    # public data sheet
    rotor_inertia: float = parameter(1.35e-5, "kg·m²", "rotor inertia", 1e-9, 1.0)
    # public driver configuration
    gear: float = parameter(9405.0 / 364.0, "-", "gear ratio", 1e-3, 1e4)
    # assumed, sources/youbot §2.9
    wheel_inertia: float = parameter(1.6e-3, "kg·m²", "wheel inertia", 0.0, 10.0)
    # 0.185 A at 6710 rpm
    no_load: float = parameter(8.82e-6, "N·m·s/rad", "no-load resistance of the rotor", 0.0, 1.0)
    voltage_limit: float = parameter(24.0, "V", "voltage limit", 0.0, 1e3)  # published supply
    # assumed, at least 200 Hz
    bandwidth: float = parameter(500.0, "Hz", "bandwidth of the current loop", 1.0, 5e3)


class WheelMotors:
    r"""Motors with PI current control, each driving a wheel.

    .. math::
        L\,\dot i = u - R\,i - K_t\,\omega, \qquad
        \Bigl(J_r + \frac{J_w}{G^2}\Bigr)\dot\omega
        = K_t\,i - b\,\omega - \frac{F(\omega/G) + \tau_{load}}{G}, \qquad
        u = \mathrm{sat}\bigl(k_p e + k_i \!\int\! e\bigr)

    The PI's zero cancels the winding's pole, so the loop is one lag of its bandwidth; its integral
    stands still while the voltage is at its limit. Steps are by the implicit midpoint rule, whose
    power balance is exact: what goes in at the terminals is what is stored and what each resistance
    takes.

    Args:
        count: number of motors.
        data: the motor.
        friction: on the wheel side, of as many joints; None for none.

    Attributes:
        current: i, [A].
        speed: ω/G, of the wheels, [rad/s].
        angle: of the wheels, [rad].
        voltage: u at the last substep, [V].
        energy: what went ``in``, and where it went: ``winding``, ``rotor``, ``friction``, ``load``
            and ``stored``, [J].
    """

    def __init__(
        self, count: int = 4, data: MotorData | None = None, friction: Friction | None = None
    ) -> None:
        if friction is not None and friction.joints != count:
            raise BadValue(f"{count} motors need friction of {count} joints, not {friction.joints}")
        self.data, self.friction = data or MotorData(), friction
        self.current, self.speed, self.angle, self.voltage = (np.zeros(count) for _ in range(4))
        self.energy = dict.fromkeys(("in", "winding", "rotor", "friction", "load", "stored"), 0.0)
        self._integral = np.zeros(count)

    def torque(self) -> Array:
        """Of the motors, at the wheels, [N·m]."""
        return self.data.torque_constant * self.data.gear * self.current

    def step(self, torque: Array, dt: float, load: Array | float = 0.0) -> None:
        """Advance by ``dt`` [s] with these wheel torques against a load, both [N·m]."""
        reference = np.asarray(torque) / (self.data.torque_constant * self.data.gear)
        for _ in range(substeps := max(1, math.ceil(dt / SUBSTEP - 1e-9))):
            self._drive(reference, dt / substeps)
            self._move(np.asarray(load, dtype=float), dt / substeps)

    def apply(self, voltage: Array | float, dt: float, load: Array | float = 0.0) -> None:
        """Advance by ``dt`` [s] with a voltage [V] in place of the current loop."""
        limit = self.data.voltage_limit
        self.voltage = np.clip(
            np.broadcast_to(np.asarray(voltage, dtype=float), self.current.shape), -limit, limit
        )
        for _ in range(substeps := max(1, math.ceil(dt / SUBSTEP - 1e-9))):
            self._move(np.asarray(load, dtype=float), dt / substeps)

    @property
    def imbalance(self) -> float:
        """Energy that came in and went nowhere, relative to what came in, [-]."""
        spent = sum(value for name, value in self.energy.items() if name != "in")
        return abs(self.energy["in"] - spent) / max(abs(self.energy["in"]), 1e-12)

    def _drive(self, reference: Array, h: float) -> None:
        data = self.data
        w, error = 2.0 * math.pi * data.bandwidth, reference - self.current
        free = data.inductance * w * error + self._integral
        self.voltage = np.clip(free, -data.voltage_limit, data.voltage_limit)
        self._integral += np.where(self.voltage == free, data.resistance * w * h * error, 0.0)

    def _move(self, load: Array, h: float) -> None:
        data, K = self.data, self.data.torque_constant
        J = data.rotor_inertia + data.wheel_inertia / data.gear**2
        i, omega = self.current, self.speed * data.gear
        resisting = np.zeros_like(i) if self.friction is None else self._resistance(h)
        a, d = data.inductance / h + 0.5 * data.resistance, J / h + 0.5 * data.no_load
        right_i = (data.inductance / h - 0.5 * data.resistance) * i - 0.5 * K * omega + self.voltage
        right_w = (
            (J / h - 0.5 * data.no_load) * omega + 0.5 * K * i - (resisting + load) / data.gear
        )
        determinant = a * d + 0.25 * K * K
        i_new = (d * right_i - 0.5 * K * right_w) / determinant
        omega_new = (a * right_w + 0.5 * K * right_i) / determinant
        self._account(0.5 * (i + i_new), 0.5 * (omega + omega_new), resisting, load, h)
        self.energy["stored"] += float(
            (0.5 * data.inductance * (i_new**2 - i**2) + 0.5 * J * (omega_new**2 - omega**2)).sum()
        )
        self.angle = self.angle + 0.5 * h * (omega + omega_new) / data.gear
        self.current, self.speed = i_new, omega_new / data.gear

    def _resistance(self, h: float) -> Array:
        assert self.friction is not None
        return self.friction.step(self.speed, h, self.torque())

    def _account(self, i: Array, omega: Array, resisting: Array, load: Array, h: float) -> None:
        data, wheel = self.data, omega / self.data.gear
        for name, power in (
            ("in", self.voltage * i),
            ("winding", data.resistance * i * i),
            ("rotor", data.no_load * omega * omega),
            ("friction", resisting * wheel),
            ("load", load * wheel),
        ):
            self.energy[name] += h * float(np.sum(power))


RPM = 30.0 / np.pi


@experiment("Y-46")
def motor() -> Finding:
    """A no-load run, a current step, a demand beyond reach, and a drive against friction."""
    speed = no_load(MotorData(wheel_inertia=0.0))
    settled, largest = current_step(), beyond_reach()
    imbalance = driving().imbalance
    coasted = [no_load(MotorData(no_load=b, wheel_inertia=0.0)) for b in (8.82e-6, 0.0)]
    # Without it, only the back-EMF limits the speed
    removable = coasted[1] - 24.0 / 0.0335 * RPM
    ok = abs(speed / 6710.0 - 1.0) < 0.03 and settled < 5.0 and largest <= 24.0 and imbalance < 1e-6
    ok = ok and abs(removable) < 0.5 and coasted[1] - coasted[0] > 10.0
    note = (
        f"no-load speed {speed:.0f} rpm; a 0.1 A step is within 5 % after {settled:.2f} ms and "
        f"stays; largest voltage {largest:g} V; with the no-load resistance removed "
        f"{coasted[1]:.0f} rpm, its ideal 24 V/K_t"
    )
    figures = (Figure("Where a wheel motor's energy goes", _plot),)
    return Finding(imbalance, bool(ok), note, figures=figures)


def no_load(data: MotorData) -> float:
    """Speed of the rotor after 0.2 s at 24 V, [rpm]."""
    motors = WheelMotors(1, data)
    for _ in range(200):
        motors.apply(24.0, 1e-3)
    return float(motors.speed[0] * data.gear * RPM)


@shared
def current_step() -> float:
    """Time after which the current stays within 5 % of a 0.1 A step on a blocked wheel, [ms]."""
    motors = WheelMotors(1, MotorData(wheel_inertia=1e3))
    torque = np.full(1, 0.1 * motors.data.torque_constant * motors.data.gear)
    current = []
    for _ in range(400):
        motors.step(torque, 50e-6)
        current.append(float(motors.current[0]))
    off = np.flatnonzero(np.abs(np.array(current) - 0.1) > 0.005)
    return 0.05 * (int(off[-1]) + 2 if len(off) else 1)


@shared
def beyond_reach() -> float:
    """Largest voltage while a wheel is commanded 50 N·m, [V]."""
    motors, largest = WheelMotors(1), 0.0
    for _ in range(400):
        motors.step(np.full(1, 50.0), 50e-6)
        largest = max(largest, float(np.abs(motors.voltage).max()))
    return largest


@shared
def driving() -> WheelMotors:
    """Four motors against friction and a load, both ways for 0.4 s, no-load part removed."""
    motors = WheelMotors(4, MotorData(no_load=0.0), make("youbot-wheels", 4))
    for tick in range(400):
        torque = 0.25 * np.sin(2.0 * np.pi * 5e-3 * tick)
        motors.step(np.full(4, torque), 1e-3, 0.02)
    return motors


def _plot():
    labels = "", "energy after 0.4 s [mJ]"
    figure, axes = canvas(*labels, "Four wheels, ±0.25 N·m, against their friction")
    energy = driving().energy
    axes.bar(list(energy), [1e3 * value for value in energy.values()])
    return figure


MUTATIONS = Mutations()


@MUTATIONS.of(WheelMotors, "_account", "Y-46")
def gear_without_speed(account, self, i, omega, resisting, load, h):
    """Friction is charged at the rotor's torque and the wheel's speed."""
    account(self, i, omega, self.data.gear * resisting, load, h)


@MUTATIONS.of(WheelMotors, "_drive", "Y-46")
def no_voltage_limit(drive, self, reference, h):
    """The drive has no voltage limit."""
    limit, self.data.voltage_limit = self.data.voltage_limit, 1e3
    drive(self, reference, h)
    self.data.voltage_limit = limit

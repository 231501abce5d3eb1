"""The wheel motors by themselves: Y-46."""

from __future__ import annotations

import numpy as np

from farhand.friction import make
from farhand_lab.harness import Figure, Finding, experiment, shared
from farhand_lab.youbot.motor import MotorData, WheelMotors

Array = np.ndarray

RPM = 30.0 / np.pi


@experiment("Y-46")
def motor() -> Finding:
    """No-load run at 24 V, a current step, a demand beyond reach, and a drive against the measured friction."""
    speed = no_load(MotorData(wheel_inertia=0.0))
    settled, largest = current_step(), beyond_reach()
    imbalance = driving().imbalance
    coasted = [no_load(MotorData(no_load=b, wheel_inertia=0.0)) for b in (8.82e-6, 0.0)]
    # without it, nothing but the back-EMF limits the speed
    removable = coasted[1] - 24.0 / 0.0335 * RPM
    ok = abs(speed / 6710.0 - 1.0) < 0.03 and settled < 5.0 and largest <= 24.0 and imbalance < 1e-6
    ok = ok and abs(removable) < 0.5 and coasted[1] - coasted[0] > 10.0
    note = (
        f"no-load speed {speed:.0f} rpm; a 0.1 A step is within 5 % after {settled:.2f} ms and stays; largest voltage "
        f"{largest:g} V; with the no-load resistance removed {coasted[1]:.0f} rpm, its ideal 24 V/K_t"
    )
    return Finding(
        imbalance, bool(ok), note, figures=(Figure("Where a wheel motor's energy goes", _plot),)
    )


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
    wanted = np.full(1, 0.1 * motors.data.torque_constant * motors.data.gear)
    current = []
    for _ in range(400):
        motors.step(wanted, 50e-6)
        current.append(float(motors.current[0]))
    off = np.flatnonzero(np.abs(np.array(current) - 0.1) > 0.005)
    return 0.05 * (int(off[-1]) + 2 if len(off) else 1)


@shared
def beyond_reach() -> float:
    """Largest voltage while 50 N·m are asked of a wheel, [V]."""
    motors, largest = WheelMotors(1), 0.0
    for _ in range(400):
        motors.step(np.full(1, 50.0), 50e-6)
        largest = max(largest, float(np.abs(motors.voltage).max()))
    return largest


@shared
def driving() -> WheelMotors:
    """Four motors against their measured friction and a load, both ways for 0.4 s; no-load part removed."""
    motors = WheelMotors(4, MotorData(no_load=0.0), make("youbot-wheels", 4))
    for tick in range(400):
        torque = 0.25 * np.sin(2.0 * np.pi * 5e-3 * tick)
        motors.step(np.full(4, torque), 1e-3, 0.02)
    return motors


def _plot():
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(6.0, 3.0), layout="constrained")
    axes = figure.subplots()
    energy = driving().energy
    axes.bar(list(energy), [1e3 * value for value in energy.values()])
    axes.set(
        ylabel="energy after 0.4 s [mJ]", title="Four wheels, ±0.25 N·m, against their friction"
    )
    return figure

"""A limb behind its bus: late, coarse, honest about it, and still when something fails."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.plants.servo_bus.plant import Battery, BusParts, ServoOrders
from farhand.plants.servo_bus.simulated_bus import BusFaults, BusTiming
from farhand_lab.humanoid.bus_bench import ArmOnBus


def test_the_arm_goes_where_it_is_sent_and_reads_with_its_potentiometers_error() -> None:
    """Within the servos' sag and dead zone in truth, within 2° more as read."""
    arm = ArmOnBus()
    q = arm.run(1.0, lambda t: np.radians([10.0, 60.0, 90.0]))[-1]
    assert np.abs(np.degrees(q) - [10.0, 60.0, 90.0]).max() < 1.0
    read = arm.plant.read(arm.world.now_ns).q
    assert 0.05 < np.abs(np.degrees(read - q)).max() < 2.2


def test_the_bus_serves_three_servos_at_25_hz_and_its_samples_are_as_old_as_that_makes_them() -> (
    None
):
    """One cycle is 39.96 ms; a sample is 29 to 70 ms old."""
    arm = ArmOnBus()
    arm.run(1.0)
    assert arm.plant.period == pytest.approx(0.03996, abs=1e-5)
    ages = []
    for _ in range(100):
        arm.run(1e-3)
        ages.append(arm.world.now_ns - arm.plant.read(arm.world.now_ns).time_ns)
    assert 0.025e9 < min(ages) and max(ages) < 0.072e9


def test_without_read_back_it_believes_what_it_sent_three_times_as_often() -> None:
    """83 Hz."""
    arm = ArmOnBus(BusParts(timing=BusTiming(read_back=False)))
    arm.run(0.5, lambda t: np.radians([10.0, 60.0, 90.0]))
    assert arm.plant.period == pytest.approx(1.0 / 83.1, rel=1e-2)
    np.testing.assert_allclose(
        np.degrees(arm.plant.read(arm.world.now_ns).q), [10.0, 60.0, 90.0], atol=0.06
    )


@pytest.mark.parametrize(
    "parts", [{"timing": BusTiming(read_back=False)}, {"faults": BusFaults(drop=0.3)}]
)
def test_an_order_that_nobody_has_read_back_is_no_motion(parts: dict) -> None:
    """A limb sent 40° away at once never claims to be faster than its servos turn."""
    arm, speeds = ArmOnBus(BusParts(**parts)), []
    for _ in range(300):
        arm.run(1e-3, lambda t: arm.start + np.radians(40.0))
        speeds.append(np.abs(arm.plant.read(arm.world.now_ns).v))
    assert (np.max(speeds, axis=0) <= 1.2 * arm.world.placed["arm"].robot.limits.velocity).all()


def test_a_dead_servo_stops_the_limb_where_it_is_and_a_restart_lets_it_go_on() -> None:
    """The others stop too."""
    faults = BusFaults(dead=41, dead_from=60)
    arm = ArmOnBus(BusParts(faults=faults))
    arm.run(1.5, lambda t: arm.start + 0.2 * np.sin(3.0 * t))
    assert "servo 41" in (arm.plant.fault or "")
    still = arm.run(0.5, lambda t: arm.start + 0.5)
    assert np.abs(still[100:] - still[100]).max() < 1e-3
    faults.dead = 0
    arm.plant.restart()
    moved = arm.run(1.0, lambda t: arm.start + 0.3)
    assert arm.plant.fault is None
    np.testing.assert_allclose(moved[-1], arm.start + 0.3, atol=0.04)


def test_a_limb_that_was_stopped_half_way_stays_there_when_it_is_restarted() -> None:
    """It does not go on by itself to where it was sent before the fault."""
    parts = BusParts(orders=ServoOrders(speed=10))
    arm = ArmOnBus(parts)
    arm.run(0.4, lambda t: arm.start + 0.5)
    parts.battery.stop = 50.0
    stopped = arm.run(0.4)[-1]
    assert arm.plant.fault is not None and np.abs(stopped - arm.start - 0.5).min() > 0.2
    parts.battery.stop = 6.4
    arm.plant.restart()
    arm.plant.read(arm.world.now_ns + 1_000_000_000)
    assert np.abs(arm.world.ports["arm"].q - stopped).max() < 0.06


def test_an_empty_battery_stops_it_for_good_though_the_voltage_comes_back() -> None:
    """Latched until a restart."""
    cell = Battery(charge=0.027, capacity=0.05)
    arm = ArmOnBus(BusParts(battery=cell))
    arm.run(2.0, lambda t: arm.start + 0.3 * np.sin(3.0 * t))
    assert "battery" in (arm.plant.fault or "")
    cell.charge = 1.0
    cell.refresh()
    arm.run(0.1)
    assert arm.plant.fault is not None


def test_the_same_seed_gives_the_same_motion_to_the_bit() -> None:
    """Losses included."""
    runs = [
        ArmOnBus(BusParts(faults=BusFaults(drop=0.3)), 3).run(0.5, lambda t: np.full(3, 0.8))
        for _ in range(2)
    ]
    np.testing.assert_array_equal(*runs)

"""A limb on a serial port: served beside the tick, from where it is, and still when a servo is
silent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from farhand.errors import FileError
from farhand.plants import JointPosition
from farhand.plants.drivers.worker import urgent
from farhand.plants.servo_bus.serial_plant import SerialParts, SerialServoPlant
from farhand.plants.servo_bus.simulated_bus import BusTiming, PseudoTerminal
from farhand_lab.humanoid.bus_bench import ARM, BusBench, bench


def until(done: Callable[[], object], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@contextmanager
def on_terminal(made: BusBench, parts: SerialParts | None = None) -> Iterator[SerialServoPlant]:
    with urgent(), PseudoTerminal(made.bus) as terminal:
        patient = parts or SerialParts(BusTiming(timeout=0.5))
        plant = SerialServoPlant("limb", terminal.path, ARM, patient)
        try:
            yield plant
        finally:
            plant.close()


def told(plant: SerialServoPlant, q: np.ndarray) -> None:
    command = JointPosition(3)
    command.value[:] = q
    plant.write(command, 0)


def test_it_begins_where_the_limb_is_and_goes_where_it_is_sent_without_waiting() -> None:
    """Reads and writes return at once; a sample is as old as the bus makes it, more than three
    answers.
    """
    made = bench()
    read = made.driver.angles(made.bus.servos.read(made.bus.servos.reference))
    with on_terminal(made) as plant:
        np.testing.assert_allclose(plant.read(0).q, read, atol=1e-9)
        told(plant, read + 0.1)
        until(
            lambda: np.abs(made.bus.servos.reference - plant.driver.counts(read + 0.1)).max() < 0.5
        )
        until(lambda: plant.read(10**9).time_ns < 10**9 - 20_000_000)
        assert plant.fault is None and plant.worker.error is None


def test_a_servo_that_falls_silent_stops_it_and_a_restart_lets_it_go_on() -> None:
    """The posture stays known; what is written meanwhile moves nothing."""
    made = bench()
    with on_terminal(made, SerialParts(BusTiming(timeout=0.1))) as plant:
        made.bus.faults.dead = ARM[2].id
        until(lambda: f"servo {ARM[2].id}" in (plant.fault or ""))
        until(lambda: made.bus.servos.target[0] == made.bus.servos.reference[0])
        heard, here = made.bus.heard, plant.read(0).q.copy()
        told(plant, here + 0.2)
        time.sleep(0.15)
        assert made.bus.heard <= heard + 1  # no more than the stop itself
        np.testing.assert_array_equal(plant.read(0).q, here)
        made.bus.faults.dead, plant.settings.timing.timeout = 0, 0.5
        plant.restart()
        assert plant.fault is None
        until(lambda: made.bus.servos.target[0] == plant.driver.counts(here + 0.2)[0])


def test_servos_that_let_go_are_read_and_stay_where_they_were_left() -> None:
    """Until something new is asked for; speed is passed on too."""
    made = bench()
    with on_terminal(made) as plant:
        plant.settings.orders.passive, plant.settings.orders.speed = True, 40
        until(lambda: not made.bus.servos.powered)
        until(lambda: (made.bus.servos.speed == 40).all())
        left = plant.driver.heard.copy()
        plant.settings.orders.passive = False
        until(lambda: (made.bus.servos.target == left).all())


def test_a_robot_that_does_not_answer_is_one_clear_line() -> None:
    """Which servo, at which port."""
    made = bench()
    made.bus.faults.dead = ARM[0].id
    with pytest.raises(
        FileError,
        match=rf"no answer from servo {ARM[0].id} .* at /dev/.*: is the robot switched on",
    ):
        with on_terminal(made, SerialParts(BusTiming(timeout=0.02))):
            pass


def test_a_port_that_goes_away_is_a_fault_that_says_so() -> None:
    """As when a plug is pulled; reading goes on with what was known."""
    made = bench()
    with PseudoTerminal(made.bus) as terminal:
        plant = SerialServoPlant("limb", terminal.path, ARM, SerialParts(BusTiming(timeout=0.5)))
        known = plant.read(0).q.copy()
    until(lambda: "the servo bus is gone: " in (plant.fault or ""))
    assert np.isfinite(plant.read(0).q).all() and np.abs(plant.read(0).q - known).max() < 0.1
    plant.close()

"""The driver: on a virtual line and, through pyserial, on a pseudo-terminal; with losses, a dead
servo, no port.
"""

from __future__ import annotations

import numpy as np
import pytest

from farhand.errors import FileError
from farhand.plants.drivers.worker import urgent
from farhand.plants.servo_bus import frames
from farhand.plants.servo_bus.driver import SerialLine
from farhand.plants.servo_bus.simulated_bus import BusFaults, BusTiming, PseudoTerminal
from farhand_lab.humanoid.bus_bench import ARM, BusBench, bench


def cycles(made: BusBench, count: int) -> None:
    for _ in range(count):
        made.run(made.driver.refresh(made.driver.sent))


@pytest.mark.parametrize(
    ("timing", "read", "rate"),
    [
        (BusTiming(latency=0.0), True, 41.6),
        (BusTiming(), True, 25.0),
        (BusTiming(), False, 83.1),
        (BusTiming(wait_bytes=5), False, 116.4),
    ],
)
def test_the_line_is_as_fast_as_its_bytes_and_its_latency_allow(
    timing: BusTiming, read: bool, rate: float
) -> None:
    """Three servos."""
    made = bench(timing=timing)
    driver = made.driver
    ask = driver.refresh if read else driver.command
    assert made.rate(lambda: ask(driver.sent), 20) == pytest.approx(rate, rel=2e-3)


def test_what_is_read_is_where_the_servo_is_with_its_own_error() -> None:
    """Command, wait, read."""
    made = bench()
    wanted = made.driver.sent + [100.0, -100.0, 50.0]
    for _ in range(20):
        made.run(made.driver.refresh(wanted))
    np.testing.assert_array_equal(made.bus.servos.reference, wanted)
    np.testing.assert_array_equal(made.driver.heard, made.bus.servos.read(wanted))


def test_lost_answers_leave_what_was_sent_and_stop_nothing() -> None:
    """Three in ten for 500 cycles; no wait is longer than the timeout."""
    made = bench(faults=BusFaults(drop=0.3))
    cycles(made, 500)
    assert made.driver.fault is None
    assert made.longest_ns <= made.line.timing.silent_ns
    assert made.driver.missed / (made.driver.missed + made.driver.answers) == pytest.approx(
        0.3, abs=0.05
    )


def test_a_dead_servo_stops_commands_by_name_until_it_is_back() -> None:
    """Nothing more is said on the line; after a restart it goes on."""
    made = bench(faults=BusFaults(dead=43))
    cycles(made, 20)
    assert "servo 43 (left_shoulder_abduction)" in (made.driver.fault or "")
    heard = made.bus.heard
    cycles(made, 5)
    assert made.bus.heard == heard
    made.bus.faults.dead = 0
    made.driver.restart()
    cycles(made, 5)
    assert made.bus.heard == heard + 30 and made.driver.fault is None


def test_a_scan_asks_again_where_an_answer_was_lost() -> None:
    """Three answers in ten are; every servo is found all the same."""
    made = bench(faults=BusFaults(drop=0.3))
    made.run(made.driver.scan())
    assert made.driver.fault is None and made.driver.missed > 0 and not made.driver.assumed.any()


def test_a_scan_names_every_servo_that_is_missing() -> None:
    """Before anything is commanded."""
    made = bench(faults=BusFaults(drop=1.0))
    made.run(made.driver.scan())
    assert all(str(joint.id) in (made.driver.fault or "") for joint in ARM)


def test_the_same_driver_speaks_through_a_real_terminal_byte_for_byte() -> None:
    """Five cycles; what reached the bus is what the frames say, and every answer came back."""
    made = bench(timing=BusTiming(timeout=0.5))
    driver, start = made.driver, made.driver.sent.copy()
    with (
        PseudoTerminal(made.bus) as terminal,
        SerialLine(terminal.path, BusTiming(timeout=0.5)) as line,
    ):
        for step in range(5):
            line.run(driver.refresh(start + step))
        raw = bytes(terminal.raw)
    said = []
    for step in range(5):
        for joint, counts in zip(ARM, start, strict=True):
            said += [frames.move(joint.id, int(counts) + step), frames.read(joint.id)]
    assert raw == b"".join(frame.encode() for frame in said)
    assert driver.missed == 0 and driver.answers == 30


def test_a_dead_servo_on_a_terminal_is_survived() -> None:
    """The line goes on with the others until patience ends."""
    made, patient = bench(faults=BusFaults(dead=41)), BusTiming(timeout=0.1)
    with urgent(), PseudoTerminal(made.bus) as terminal, SerialLine(terminal.path, patient) as line:
        for _ in range(8):
            line.run(made.driver.refresh(made.driver.sent))
    assert "servo 41" in (made.driver.fault or "")


def test_a_missing_port_is_one_line() -> None:
    """With the path in it."""
    with pytest.raises(FileError, match="/dev/no-such-bus"):
        SerialLine("/dev/no-such-bus")

"""The simulated bus: what each command does, who answers, and when."""

from __future__ import annotations

import numpy as np

from farhand.plants.servo_bus import frames
from farhand.plants.servo_bus.frames import Frame
from farhand.plants.servo_bus.simulated_bus import (
    BusFaults,
    BusTiming,
    Servos,
    SimulatedBus,
    VirtualLine,
)
from farhand_lab.humanoid.bus_bench import ARM, bench


def bus(count: int = 3, **faults: float) -> SimulatedBus:
    return SimulatedBus(Servos(ARM[:count], np.full(count, 1500.0)), BusFaults(**faults))  # type: ignore[arg-type]


def test_everybody_moves_on_the_common_command_and_nobody_answers() -> None:
    """Two answers at once would collide."""
    line = bus()
    assert line.hear(frames.move_all(1600)) is None
    np.testing.assert_array_equal(line.servos.target, 1600.0)


def test_one_servo_alone_tells_its_version_and_takes_a_new_number() -> None:
    """With more on the line the question collides."""
    alone = bus(1)
    assert frames.number(alone.hear(Frame(frames.VERSION))) == 0x10 << 8 | 44
    alone.hear(Frame(frames.WRITE, frames.ID_ADDRESS, 45))
    assert frames.position(alone.hear(frames.read(45))) is not None
    assert frames.number(bus(2).hear(Frame(frames.VERSION))) is None


def test_stop_freezes_the_ramp_and_release_lets_go() -> None:
    """Both are confirmed."""
    line = bus()
    line.hear(frames.move(44, 2000))
    line.servos.advance(0.05)
    assert line.hear(Frame(frames.GO, 0)) == bytes((frames.DONE, 0))
    np.testing.assert_array_equal(line.servos.target, line.servos.reference)
    line.hear(Frame(frames.RELEASE))
    assert not line.servos.torque(np.full(3, 1000.0), np.zeros(3)).any()


def test_a_number_nobody_has_and_a_supply_too_low_are_met_with_silence() -> None:
    """Not with an error: the line is simply quiet."""
    line = bus()
    assert line.hear(frames.read(99)) is None
    line.servos.loop.voltage = 3.0
    assert line.hear(frames.read(44)) is None


def test_a_servo_acts_when_its_frame_is_complete_and_is_heard_after_the_latency() -> None:
    """Not before, not at once."""
    made = bench()
    line = VirtualLine(made.bus, BusTiming())
    line.send(frames.move(44, 2000), True, 0)
    assert not line.done(frames.FRAME_NS - 1) and made.bus.heard == 0
    assert not line.done(frames.FRAME_NS) and made.bus.heard == 1
    assert line.done(BusTiming().answer_ns) and line.answer is not None


def test_the_same_seed_loses_the_same_answers() -> None:
    """Deterministic faults."""
    runs = []
    for _ in range(2):
        made = bench(faults=BusFaults(drop=0.5), seed=7)
        for _ in range(10):
            made.run(made.driver.refresh(made.driver.sent))
        runs.append((made.now_ns, made.driver.missed))
    assert runs[0] == runs[1]

"""Workers: what they publish is whole, stamped and theirs alone."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pytest

from farhand.plants import JointTorque
from farhand.plants.drivers.worker import TIMES_KEPT, Latest, PublishedPlant, Timing, Worker, urgent


def test_a_published_value_never_changes():
    """The producer may reuse its buffer, and a reader cannot spoil what others read."""
    buffer = np.ones(4)
    place = Latest("simulation", buffer)
    place.put(buffer)
    held = place.get()
    buffer[:] = 7.0
    np.testing.assert_array_equal(held.value, np.ones(4))
    with pytest.raises(ValueError, match="read-only"):
        held.value[0] = 2.0


def test_a_published_value_says_who_when_and_how_old():
    """Producer, time stamp, number and age."""
    place = Latest("wrench", np.zeros(6))
    before = time.monotonic_ns()
    place.put(np.ones(6))
    record = place.get()
    assert (record.producer, record.number) == ("wrench", 1)
    assert before <= record.time_ns <= time.monotonic_ns()
    assert record.age_ns(record.time_ns + 5) == 5


def test_no_reader_ever_sees_half_a_value():
    """One thread publishes as fast as it can, another reads as fast as it can."""
    place, done = Latest("producer", np.zeros(256)), threading.Event()

    def produce():
        buffer = np.zeros(256)
        for number in range(1, 5001):
            buffer[:128] = number
            buffer[128:] = number
            place.put(buffer)
        done.set()

    thread = threading.Thread(target=produce, daemon=True)
    thread.start()
    numbers = []
    while not done.is_set():
        record = place.get()
        assert (record.value == record.number).all()
        numbers.append(record.number)
    thread.join()
    assert numbers == sorted(numbers)


def test_a_worker_works_until_it_is_stopped():
    """Calls come with rising times, and stop when asked."""
    seen: list[int] = []
    worker = Worker("counting", seen.append, 500.0)
    worker.start()
    time.sleep(0.1)
    assert worker.stop()
    after = worker.calls
    time.sleep(0.02)
    assert worker.calls == after == len(seen) > 3
    np.testing.assert_array_equal(worker.times_ns, seen)
    assert (np.diff(worker.times_ns) > 0).all()


def test_a_worker_that_fails_says_why():
    """The error is kept for whoever stops it."""

    def fail(now_ns: int) -> None:
        raise ValueError("no sensor")

    worker = Worker("failing", fail, 100.0)
    worker.start()
    assert worker.stop()
    assert worker.calls == 1 and "no sensor" in str(worker.error)


def test_a_slow_worker_leaves_out_calls_and_does_not_rush():
    """Loops that take three periods come every third or fourth period, not in bursts."""
    worker = Worker("slow", lambda now_ns: time.sleep(0.03), 100.0)
    worker.start()
    time.sleep(0.3)
    worker.stop()
    assert 2 <= worker.calls <= 11
    assert np.diff(worker.times_ns).min() >= 0.029e9


def test_times_are_kept_in_order_when_there_are_too_many():
    """Only the last ones are kept, oldest first."""
    worker = Worker("long", lambda now_ns: None, 1.0)
    worker.calls = TIMES_KEPT + 3
    worker._times_ns[:] = np.arange(TIMES_KEPT)
    worker._times_ns[:3] += TIMES_KEPT
    np.testing.assert_array_equal(worker.times_ns, np.arange(3, TIMES_KEPT + 3))


def test_a_published_plant_is_what_its_workers_say():
    """State and wrench come from the bus with their age, torques go there."""
    state, wrench = Latest("communication", np.arange(12.0)), Latest("wrench", np.arange(6.0))
    torque = Latest("regulator", np.zeros(6))
    plant = PublishedPlant("leader", state, wrench, torque, 2_000_000)
    time.sleep(0.01)
    sample = plant.read(10**9)
    np.testing.assert_array_equal(sample.motion, np.arange(12.0))
    np.testing.assert_array_equal(sample.wrench, np.arange(6.0))
    assert 0.01e9 <= 10**9 - sample.time_ns == plant.oldest_ns
    command = JointTorque(6)
    command.value[:] = 3.0
    plant.write(command, 10**9)
    assert torque.get().producer == "regulator" and (torque.get().value == 3.0).all()


def test_timing_of_a_known_pattern():
    """Intervals of 8 and 12 ms: 100 Hz, f⁴ var(T) = 1e8 · 4e-6 Hz², and nearly all below 12 ms."""
    timing = Timing.of(np.cumsum([0] + 500 * [8_000_000, 12_000_000]))
    assert timing.mean == pytest.approx(100.0)
    assert timing.variance == pytest.approx(400.0)
    assert timing.p99 == pytest.approx(0.012)


@pytest.mark.skipif(not hasattr(os, "SCHED_FIFO"), reason="no real-time scheduling here")
def test_threads_that_talk_to_a_device_go_first_and_the_one_that_starts_them_only_meanwhile():
    """Where permitted; afterwards, and after an error, it is as it was."""
    before, inherited = os.sched_getscheduler(0), []
    with pytest.raises(ValueError, match="now"), urgent():
        inside = os.sched_getscheduler(0)
        thread = threading.Thread(target=lambda: inherited.append(os.sched_getscheduler(0)))
        thread.start()
        thread.join()
        raise ValueError("now")
    assert inside in (before, os.SCHED_FIFO) and inherited == [inside]
    assert os.sched_getscheduler(0) == before

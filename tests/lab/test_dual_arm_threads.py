"""The published five threads, emulated and real."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.control.trajectory.paths import Move
from farhand_lab.dual_arm.threads import EmulatedThreads, Rates, RealThreads, ThreadSetup

LIFT = (Move(0.3, 0.7, (0.0, 0.0, 0.1), label="+z"),)


def error(setup: ThreadSetup, seconds: float = 1.5) -> np.ndarray:
    """‖e_p‖ of the true arms, [mm]."""
    threads = EmulatedThreads(setup)
    threads.run(seconds)
    assert not threads.session.trips
    return 1e3 * np.linalg.norm(threads.history.signal("truth", "error")[:, :3], axis=1)


def test_every_thread_runs_at_its_own_rate():
    """Two seconds hold twice the rate of regulator cycles, messages and loops."""
    threads = EmulatedThreads(ThreadSetup())
    threads.run(2.0)
    assert len(threads.history.times("coupling")) == 94
    assert threads.communication.messages == pytest.approx(238, abs=1)
    assert threads.simulation.loops == pytest.approx(314, abs=1)
    assert len(threads.history.times("truth")) == 2000


def test_nothing_moves_at_rest():
    """Nobody pushes: both arms stay where they are at all rates."""
    assert error(ThreadSetup()).max() < 1e-9


def test_faster_threads_track_better():
    """From the published rates to 1 kHz everywhere, and without delay best of all."""
    published = error(ThreadSetup(moves=LIFT)).max()
    fast = Rates(1000.0, 1000.0, 1000.0, 1000.0)
    late, prompt = (
        error(ThreadSetup(fast, LIFT)).max(),
        error(ThreadSetup(fast, LIFT, latency=0.0)).max(),
    )
    assert prompt < late < published < 5.0


def test_the_wrench_sensor_pays_at_any_rate():
    """Without it the follower learns of the push only by its effect."""
    assert (
        error(ThreadSetup(moves=LIFT, sensor=False)).max()
        > 3.0 * error(ThreadSetup(moves=LIFT)).max()
    )


def test_one_step_per_loop_leaves_the_follower_behind():
    """Slow motion: the follower has hardly started when the leader is there."""
    assert error(ThreadSetup(moves=LIFT, stepping="literal")).max() > 60.0


def test_the_same_seed_gives_the_same_log():
    """With losses; another seed loses other messages."""
    logs = [
        error(ThreadSetup(moves=LIFT, drop=0.2, seed=seed), 0.8).tobytes() for seed in (3, 3, 4)
    ]
    assert logs[0] == logs[1] != logs[2]


def test_five_real_threads_run_and_stop():
    """No deadlock, no error, every value from its one producer, and the arms follow the hand."""
    threads = RealThreads(
        ThreadSetup(Rates(200.0, 200.0, 100.0, 200.0, 20.0), (Move(0.1, 0.3, (0.0, 0.0, 0.03)),))
    )
    threads.run(0.8)
    assert all(threads.ended.values()) and len(threads.ended) == 4
    assert not any(worker.error for worker in threads.workers.values())
    bus = threads.bus()
    assert {name: record.producer for name, record in bus.items()} == {
        "q1": "communication",
        "raw1": "communication",
        "q2": "simulation",
        "h2": "simulation",
        "h1": "wrench",
        "u1": "regulator",
        "u2": "regulator",
        "stick": "visualisation",
    }
    assert all(record.number > 1 and np.isfinite(record.value).all() for record in bus.values())
    assert set(threads.timing()) == {
        "regulator",
        "communication",
        "wrench",
        "simulation",
        "visualisation",
    }
    assert (bus["q1"].value[:6] != bus["q2"].value[:6]).any()

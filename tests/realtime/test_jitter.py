"""Jitter and advice: the verdict follows its rule, and what to change is said in plain words."""

from __future__ import annotations

import pytest

from farhand.realtime import Grant, Histogram
from farhand.realtime.doctor import Jitter, advice, describe_machine, measure, verdict

US = 1000


def late(*shares: tuple[int, int]) -> Histogram:
    """A histogram of (how many, how late in µs)."""
    histogram = Histogram()
    for count, microseconds in shares:
        for _ in range(count):
            histogram.add(microseconds * US)
    return histogram


@pytest.mark.parametrize(
    ("histogram", "word"),
    [
        (late((10_000, 1)), "ok"),
        (late((9_995, 1), (5, 50_000)), "ok"),  # the longest delays do not count
        (late((9_980, 1), (20, 900)), "marginal"),  # p99.9 within the period, not within a tenth
        (late((9_980, 1), (20, 1_100)), "no"),  # p99.9 beyond the period
        (late((9_800, 1), (200, 150)), "no"),  # p99 beyond a tenth
        (late((10_000, 95)), "ok"),
    ],
)
def test_a_rate_is_judged_by_its_rule(histogram, word):
    """At 1 kHz: a tenth is 100 µs, the period 1 ms."""
    assert verdict(histogram, 1e-3) == word


def test_a_faster_rate_is_never_judged_better_than_a_slower_one():
    """The same lateness is a larger part of a shorter period."""
    order = ["ok", "marginal", "no"]
    for histogram in (
        late((9_980, 1), (20, 300)),
        late((9_000, 30), (1_000, 60)),
        late((10_000, 600)),
    ):
        words = [order.index(word) for word in Jitter(histogram, []).verdicts().values()]
        assert words == sorted(words)


def test_the_loop_is_measured_for_as_long_as_asked():
    """A tick per millisecond, each with its lateness, and progress up to the whole."""
    seen: list[float] = []
    jitter = measure(0.12, progress=seen.append)
    assert jitter.late.count == 120
    assert seen[-1] == 1.0
    assert set(jitter.verdicts()) == {"250", "500", "1000", "4000"}


def test_a_machine_that_holds_every_rate_needs_no_advice():
    """Nothing to change is no line at all."""
    assert advice(describe_machine(), Jitter(late((10_000, 1)), []).result()) == []


def test_advice_names_what_was_refused_and_what_is_around():
    """Refused scheduler, power-saving governor, busy cores, no isolated core, ordinary kernel,
    virtual machine.
    """
    machine = {
        "clock": {"source": "hpet"},
        "kernel": {"preemption": "PREEMPT_DYNAMIC", "virtual_machine": True},
        "cores": {"usable": [0, 1], "governor": "powersave", "load": 3.0, "isolated": ""},
    }
    grants = [Grant("scheduler", False, "ordinary (SCHED_OTHER)", "allow it with 'ulimit -r 99'")]
    lines = advice(machine, Jitter(late((10_000, 2_000)), grants).result())
    assert lines[0] == "scheduler: allow it with 'ulimit -r 99'"
    for word in (
        "load was 3.0",
        "cpupower",
        "hpet",
        "isolcpus=1",
        "--core 1",
        "PREEMPT_RT",
        "virtual machine",
    ):
        assert any(word in line for line in lines)


def test_the_machine_is_described_wherever_it_runs():
    """What the system does not tell is None, never a guess."""
    found = describe_machine()
    assert found["clock"]["resolution"] > 0.0
    assert found["cores"]["count"] >= len(found["cores"]["usable"]) >= 1
    assert found["kernel"]["hz"] is None or found["kernel"]["hz"] >= 100

"""Advice: what to change on a machine so that a loop holds its rate, in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

GOOD_SOURCES = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page")
BUSY = 0.7  # of the usable cores


def advice(machine: dict[str, Any], jitter: dict[str, Any]) -> list[str]:
    """What to change, the most useful first; nothing where every rate is ok.

    Args:
        machine: from :func:`farhand.realtime.machine.describe_machine`, before the loop was
            measured.
        jitter: from :meth:`farhand.realtime.jitter.Jitter.result`.
    """
    if all(verdict == "ok" for verdict in jitter["verdicts"].values()):
        return []
    return [*_refused(jitter), *_surroundings(machine), *_deeper(machine)]


def _refused(jitter: dict[str, Any]) -> Iterator[str]:
    for grant in jitter["privileges"]:
        if not grant["had"]:
            yield f"{grant['name']}: {grant['cure']}"


def _surroundings(machine: dict[str, Any]) -> Iterator[str]:
    cores, clock = machine["cores"], machine["clock"]
    load, usable = cores["load"], len(cores["usable"])
    if load is not None and load > BUSY * usable:
        yield f"other programs: the load was {load:.1f} on {usable} cores before the loop; stop what is not needed"
    if usable < 2:
        yield "cores: with one core the loop, the page and the recorder share it; use a machine with two or more"
    if cores["governor"] not in (None, "performance"):
        yield f"cores: their clock is governed by {cores['governor']}; run 'cpupower frequency-set -g performance'"
    if clock["source"] not in (None, *GOOD_SOURCES):
        yield f"clock: {clock['source']} is slow to read; boot with clocksource=tsc if the processor has a steady one"


def _deeper(machine: dict[str, Any]) -> Iterator[str]:
    cores, kernel = machine["cores"], machine["kernel"]
    if not cores["isolated"] and len(cores["usable"]) > 1:
        last = cores["usable"][-1]
        yield f"cores: none is isolated; boot with 'isolcpus={last} nohz_full={last}' and run with --core {last}"
    if kernel["preemption"] != "PREEMPT_RT":
        yield "kernel: it is no real-time kernel; one with PREEMPT_RT bounds the longest delay"
    if kernel["virtual_machine"]:
        yield "virtual machine: its host makes gaps of milliseconds that nothing in here cures; use a real one"

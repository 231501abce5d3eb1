"""An hour of a rig: one long session and several short ones, and the verdict on all of them.

Half of the time is one session, which shows memory that grows while a session runs. The rest is
divided among sessions of other laws, layers and links, which show memory that a closed session
keeps. The rules:

- *valid*: no recorded number is NaN or infinite, except where that means "no measurement", nor is
  the state of the world;
- *explained*: every trip has the kind, place and time of an injected fault, or names the limit that
  it broke;
- *flat*: resident memory grows by at most 5 % in the long session once the history of all signals
  is full, and by at most 5 % from the first to the last short session of one kind; see
  :func:`farhand_lab.soak.command.return_freed_memory` on what is measured.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import Any

from farhand.analysis.history import MAX_ROWS
from farhand.rigs import Options, scenarios_of
from farhand_lab.soak.shift import CHECK_PERIOD_S, Plan, ShiftLog, work

MAX_MEMORY_GROWTH = 0.05
"""Largest growth of memory that counts as flat, a share."""

MAX_LISTED = 12  # sessions whose memory is in the result

FULL_HISTORY = 1.2
"""Rows after which a history has been thinned out once, over the rows that it keeps, [-]."""

LINK_MS = 20.0  # round trip in most sessions
FAR_LINK_MS = 100.0  # round trip with a passivity layer

LONG = {
    "hazardous": Plan("hazardous", Options(delay=LINK_MS), 0.0, 0.10, 0.25),
    "cooperative": Plan("cooperative", Options(scenario="guide"), 0.0, 0.03, 0.02, calm=True),
    "humanoid": Plan("humanoid", Options(delay=LINK_MS), 0.0, 0.03, 0.10),
    "youbot": Plan("youbot", Options(delay=LINK_MS), 0.0, 0.04, 0.10),
    "pair": Plan("pair", Options(delay=LINK_MS), 0.0, 0.03, 0.10),
    "dual-arm": Plan("dual-arm", Options(delay=LINK_MS), 0.0, 0.10, 0.25),
}
"""The long session of each rig, slowest rig first; hands are as fast as a person's there."""

_FREE: dict[str, Any] = {"scenario": "free", "delay": LINK_MS}
_TANK: dict[str, Any] = {"delay": FAR_LINK_MS, "layer": "tank"}
_TDPA: dict[str, Any] = {"delay": FAR_LINK_MS, "layer": "tdpa"}
SHORT: dict[str, tuple[dict[str, Any], ...]] = {
    "dual-arm": (
        {},
        {"law": "position-position", **_TANK},
        {"law": "position-force", **_TDPA},
        {"law": "four-channel"},
        {},
    ),
    "pair": ({}, _FREE, {"law": "position-force"}, {}),
    "hazardous": ({}, _FREE, _TDPA, {}),
    "youbot": ({}, _FREE, _TANK, {}),
    "humanoid": ({}, {"scenario": "balance"}, {"scenario": "draw", "delay": LINK_MS}, {}),
}
"""Options of a rig's short sessions, the first and the last alike; carriers do :data:`JOBS`."""

JOBS = ("carry", "pair", "switch", "weigh", "centre", "lift")
"""Scenarios of the carriers, each for as long as it takes."""


def plans(rig: str, seconds: float) -> Generator[Plan, float, None]:
    """Sessions that make up ``seconds`` [s] of a rig; send the length of each, [s]."""
    long = replace(LONG[rig], seconds=0.5 * seconds)
    left = seconds - (yield long)
    if rig in SHORT:
        each = left / len(SHORT[rig])
        for options in SHORT[rig]:
            yield replace(long, options=Options(**options), seconds=each)
        return
    number = 0
    while left > 1.0:
        name = JOBS[number % len(JOBS)]
        job = replace(long, options=Options(scenario=name), calm=False)
        left -= yield replace(job, seconds=scenarios_of(rig)[name].seconds)
        number += 1


def soak(rig: str, seconds: float, seed: int) -> dict[str, Any]:
    """Soak a rig for this virtual time [s]; the result, ready for JSON."""
    log, began, sessions = ShiftLog(), time.perf_counter(), plans(rig, seconds)
    plan, number = next(sessions, None), 0
    while plan is not None:
        seeded = replace(plan, options=replace(plan.options, seed=seed + number))
        done = work(seeded, seed + number, log)
        number += 1
        try:
            plan = sessions.send(done)
        except StopIteration:
            plan = None
    return result(log, seed, time.perf_counter() - began)


def result(log: ShiftLog, seed: int, wall: float) -> dict[str, Any]:
    """The verdict and the numbers behind it."""
    within, across = growth_within(log), growth_across(log)
    failures = [f"not a number: {words}" for words in log.invalid]
    failures += [f"unexplained: {words}" for words in log.unexplained]
    failures += [
        f"memory grew by {100 * growth:.1f} % {where}"
        for growth, where in ((within, "within a session"), (across, "from session to session"))
        if growth is not None and growth > MAX_MEMORY_GROWTH
    ]
    return {
        "seed": seed,
        "seconds": round(log.seconds, 3),
        "wall": round(wall, 1),
        "sessions": len(log.memory),
        "ticks": log.ticks,
        "commands": log.commands,
        "refused": log.refused,
        "acts": dict(sorted(log.acts.items())),
        "trips": dict(sorted(log.trips.items())),
        "causes": dict(sorted(log.causes.items())),
        "memory_mb": {name: round(max(sizes), 1) for name, sizes in _sessions(log)},
        "memory_growth_within": within,
        "memory_growth_across": across,
        "failures": failures,
        "ok": not failures,
    }


def _sessions(log: ShiftLog) -> Iterator[tuple[str, list[float]]]:
    """Memory of each session, by number and options."""
    for number, (name, sizes) in enumerate(zip(log.built, log.memory, strict=True)):
        if number < MAX_LISTED:
            yield f"{number + 1}: {name}", sizes


def growth_within(log: ShiftLog) -> float | None:
    """Growth in the long session once its history is full, a share; None if too short."""
    sizes, full = log.memory[0], int(FULL_HISTORY * MAX_ROWS * log.period / CHECK_PERIOD_S)
    return None if len(sizes) - full < 10 else round(sizes[-1] / sizes[full] - 1.0, 4)


def growth_across(log: ShiftLog) -> float | None:
    """Growth from the first to the last short session of one kind; None without such.

    They are compared for as long as both ran: a session that ends early has a shorter history.
    """
    gaps = {name: log.built[1:].index(name) + 1 for name in log.built[1:]}
    last = {name: number for number, name in enumerate(log.built)}
    name = max(gaps, key=lambda name: last[name] - gaps[name], default="")
    if not name or last[name] == gaps[name]:
        return None
    first, final = log.memory[gaps[name]], log.memory[last[name]]
    both = min(len(first), len(final))
    return round(max(final[:both]) / max(first[:both]) - 1.0, 4)

"""An hour of a rig: one long session and several short ones, and the verdict on all of them.

Half of the time is one session, so that memory that grows while a session runs shows; the rest is
shared by sessions of other laws, layers and links, so that memory a closed session keeps shows. The
rules:

- *valid*: no recorded number is NaN or infinite but where that means "no measurement", nor is the
  state of the world;
- *explained*: every trip has the kind, place and time of an injected fault, or names the limit that
  a hand led it to;
- *flat*: resident memory at the end of the long session is at most 5 % above what it was when the
  history of all signals was full, and the largest of the last short session at most 5 % above that
  of the first one built alike, for as long as both ran; see
  :func:`farhand_lab.soak.command.give_back` on what is measured.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import Any

from farhand.analysis.history import MOST_ROWS
from farhand.rigs import Options, scenarios_of
from farhand_lab.soak.shift import EVERY, Plan, ShiftLog, work

FLAT = 0.05
"""Growth of memory that is still flat, as a share."""

MOST_LISTED = 12  # sessions whose memory is in the result

FULL = 1.2
"""The history of a stream has been thinned out once after so many times the rows it keeps, [-]."""

LINK = 20.0  # [ms], round trip of the link in most sessions
FAR = 100.0  # [ms], with a passivity layer

LONG = {
    "hazardous": Plan("hazardous", Options(delay=LINK), 0.0, 0.10, 0.25),
    "cooperative": Plan("cooperative", Options(scenario="guide"), 0.0, 0.03, 0.02, calm=True),
    "humanoid": Plan("humanoid", Options(delay=LINK), 0.0, 0.03, 0.10),
    "youbot": Plan("youbot", Options(delay=LINK), 0.0, 0.04, 0.10),
    "dual-arm": Plan("dual-arm", Options(delay=LINK), 0.0, 0.10, 0.25),
}
"""The long session of each rig, slowest rig first; its hand is as fast as that of a person at that
device."""

SHORT: dict[str, tuple[dict[str, Any], ...]] = {
    "dual-arm": (
        {},
        {"law": "position-position", "delay": FAR, "layer": "tank"},
        {"law": "position-force", "delay": FAR, "layer": "tdpa"},
        {"law": "four-channel"},
        {},
    ),
    "hazardous": ({}, {"scenario": "free", "delay": LINK}, {"delay": FAR, "layer": "tdpa"}, {}),
    "youbot": ({}, {"scenario": "free", "delay": LINK}, {"delay": FAR, "layer": "tank"}, {}),
    "humanoid": ({}, {"scenario": "balance"}, {"scenario": "draw", "delay": LINK}, {}),
}
"""How short sessions of a rig are built, the first and the last alike; carriers do the jobs of
:data:`JOBS` instead."""

JOBS = ("carry", "pair", "switch", "weigh", "centre", "lift")
"""What the carriers do in sessions as long as each job takes."""


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
        plan = replace(
            long,
            options=Options(scenario=name),
            seconds=scenarios_of(rig)[name].seconds,
            calm=False,
        )
        left, number = left - (yield plan), number + 1


def soak(rig: str, seconds: float, seed: int) -> dict[str, Any]:
    """Soak a rig for so long [s of virtual time]; what came of it, ready for JSON."""
    log, began, sessions = ShiftLog(), time.perf_counter(), plans(rig, seconds)
    plan, number = next(sessions, None), 0
    while plan is not None:
        done = work(
            replace(plan, options=replace(plan.options, seed=seed + number)), seed + number, log
        )
        number += 1
        try:
            plan = sessions.send(done)
        except StopIteration:
            plan = None
    return result(log, seed, time.perf_counter() - began)


def result(log: ShiftLog, seed: int, wall: float) -> dict[str, Any]:
    """The verdict, and what it rests on."""
    within, across = growth_within(log), growth_across(log)
    failures = [f"not a number: {words}" for words in log.invalid]
    failures += [f"unexplained: {words}" for words in log.unexplained]
    failures += [
        f"memory grew by {100 * growth:.1f} % {where}"
        for growth, where in ((within, "within a session"), (across, "from session to session"))
        if growth is not None and growth > FLAT
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
    """Memory of each session, by number and what it was."""
    for number, (name, sizes) in enumerate(zip(log.built, log.memory, strict=True)):
        if number < MOST_LISTED:
            yield f"{number + 1}: {name}", sizes


def growth_within(log: ShiftLog) -> float | None:
    """Growth in the long session once its history is full, a share; None if too short."""
    sizes, full = log.memory[0], int(FULL * MOST_ROWS * log.period / EVERY)
    return None if len(sizes) - full < 10 else round(sizes[-1] / sizes[full] - 1.0, 4)


def growth_across(log: ShiftLog) -> float | None:
    """Growth from the first to the last short session of one kind; None without such.

    They are compared for as long as both ran: a session that ends early has less of a history.
    """
    gaps = {name: log.built[1:].index(name) + 1 for name in log.built[1:]}
    last = {name: number for number, name in enumerate(log.built)}
    name = max(gaps, key=lambda name: last[name] - gaps[name], default="")
    if not name or last[name] == gaps[name]:
        return None
    first, final = log.memory[gaps[name]], log.memory[last[name]]
    both = min(len(first), len(final))
    return round(max(final[:both]) / max(first[:both]) - 1.0, 4)

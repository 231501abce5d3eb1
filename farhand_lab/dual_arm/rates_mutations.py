"""Threads broken on purpose; each must flip the verdict of the experiments that watch it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from farhand.plants.drivers.worker import Latest, Stamped, Timing
from farhand.plants.plant import Sample
from farhand_lab.dual_arm.plant_threads import CommunicationThread, Outgoing, Stepper
from farhand_lab.mutation import Mutation

Array = np.ndarray


def _one_step(self: Stepper, elapsed_ns: int) -> int:
    return 1


def _forgets_remainder(self: Stepper, elapsed_ns: int) -> int:
    return elapsed_ns // self.step_ns


def _elapses_anyway(self: Stepper, elapsed_ns: int) -> int:
    steps, self._carried_ns = divmod(self._carried_ns + elapsed_ns, self.step_ns)
    return steps


def _out_at_once(self: Outgoing, out_ns: int, value: Array) -> None:
    self._waiting.append((0, value.copy()))


def _looks_at_the_plant(self: CommunicationThread, now_ns: int) -> Sample:
    self.advance(now_ns)
    return self._plant.read(now_ns)


def _loses_nothing(self: CommunicationThread, way: int) -> bool:
    return False


def _loses_at_random(self: CommunicationThread, way: int) -> bool:
    lost = self._drop > 0.0 and bool(np.random.default_rng().random() < self._drop)
    self.dropped[way] += lost
    return lost


def _shares_the_buffer(self: Latest, value: Array) -> Stamped:
    return Stamped(value, self._producer, time.monotonic_ns(), self._number)


def _rate_of_mean(times_ns: Any) -> Timing:
    intervals = np.diff(np.asarray(times_ns, dtype=float)) * 1e-9
    return Timing(1.0 / float(intervals.mean()), float(intervals.var()), float(intervals.max()))


MUTATIONS = [
    Mutation(
        "one step per loop",
        "the simulation makes one step per loop and calls it elapsed time",
        ("D-22", "D-28", "D-31"),
    ).patch(Stepper, "due", _one_step),
    Mutation("remainder", "the rest of a step is dropped", ("D-28",)).patch(
        Stepper, "due", _forgets_remainder
    ),
    Mutation(
        "literal stepping", "one step per loop follows the wall's time all the same", ("D-56",)
    ).patch(Stepper, "due", _elapses_anyway),
    Mutation("latency", "torques are out before they are computed", ("D-55",)).patch(
        Outgoing, "put", _out_at_once
    ),
    Mutation("message grid", "reads look at the arm, not at the last message", ("D-49",)).patch(
        CommunicationThread, "read", _looks_at_the_plant
    ),
    Mutation("losses", "no message is ever lost", ("D-48", "D-49")).patch(
        CommunicationThread, "_lost", _loses_nothing
    ),
    Mutation(
        "losses' seed", "which messages are lost does not follow from the seed", ("D-48",)
    ).patch(CommunicationThread, "_lost", _loses_at_random),
    Mutation("shared buffer", "published values are not copied", ("D-46",)).patch(
        Latest, "_record", _shares_the_buffer
    ),
    Mutation(
        "rate monitor",
        "variance of the intervals, and their maximum for the 99th percentile",
        ("D-47",),
    ).patch(Timing, "of", staticmethod(_rate_of_mean)),
]

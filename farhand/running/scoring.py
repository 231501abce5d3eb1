"""Trials of tasks under laws, delays, losses, layers and operators, each with several seeds."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from farhand.analysis.stability.sweep import Progress, sweep
from farhand.errors import FarhandError
from farhand.rigs import Options, build_rig
from farhand.tasks import ARMS

Row = dict[str, Any]

RIG = "pair"


@dataclass(frozen=True)
class TrialCase:
    """One trial."""

    task: str
    law: str
    delay: float  #: round trip, [ms]
    loss: float  #: share of packets, [-]
    layer: str
    operator: str
    seed: int
    rig: str = RIG
    settings: tuple[tuple[str, object], ...] = ARMS

    @property
    def name(self) -> str:
        """What tells it from the others."""
        others = () if self.settings == ARMS else self.settings
        parts = [self.task, self.law, f"{self.delay:g} ms", f"{self.loss:g}", self.layer]
        parts += [self.operator, str(self.seed), *(f"{path}={value}" for path, value in others)]
        return " ".join(parts)


def play(case: TrialCase) -> Row:
    """The row of one trial: its conditions, what the referee says, and the first stop.

    A law or layer that the rig refuses has ``refused`` instead.
    """
    row: Row = {
        "task": case.task,
        "law": case.law,
        "delay": case.delay,
        "loss": case.loss,
        "layer": case.layer,
        "operator": case.operator,
        "seed": case.seed,
    }
    options = Options(case.law, case.layer, None, case.seed, case.delay, loss=case.loss)
    options.settings = list(case.settings)
    options.task, options.operator = case.task, case.operator
    try:
        rig = build_rig(case.rig, options)
    except FarhandError as error:
        return {**row, "refused": str(error)}
    try:
        assert rig.trial is not None
        # in parts, because an arm that was stopped does nothing more
        while rig.session.now_ns < 1e9 * rig.scenario.seconds and not rig.trial.over:
            rig.session.run(min(1.0, rig.scenario.seconds - 1e-9 * rig.session.now_ns))
            if rig.session.trips:
                break
        stops = [record.trip.reason for record in rig.session.trips]
        result = rig.trial.result()
        # the rows of a sweep have a name already
        del result["name"]
        return {**row, **result, "stopped": stops[0] if stops else ""}
    finally:
        rig.close()


def score(
    cases: list[TrialCase],
    done: Path | None = None,
    workers: int | None = None,
    ray: str | None = None,
    progress: Progress = lambda done, total, name: None,
    rows: dict[str, Row] | None = None,
) -> list[Row]:
    """The rows of all trials in their order; see :func:`farhand.analysis.stability.sweep.sweep`."""
    return sweep(play, cases, lambda case: case.name, done, workers, ray, progress, rows)


def every_case(
    chosen: Mapping[str, Sequence[Any]],
    seeds: int,
    rig: str = RIG,
    settings: tuple[tuple[str, object], ...] = ARMS,
) -> list[TrialCase]:
    """Every combination, the seeds last.

    Args:
        chosen: lists of tasks, laws, delays, losses, layers and operators, in this order.
        seeds: how many repetitions.
        rig: that plays.
        settings: of the rig.
    """
    lists = (*chosen.values(), range(seeds))
    chosen_all: Iterable[tuple[Any, ...]] = itertools.product(*lists)
    return [TrialCase(*(*one, rig, settings)) for one in chosen_all]

"""Trials of tasks under laws, delays, losses, layers and operators, each with several seeds."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from farhand.analysis.stability.sweep import Progress, sweep
from farhand.errors import BadValue, FarhandError
from farhand.rigs import Options, Rig, build_rig
from farhand.tasks import ARMS

Row = dict[str, Any]

RIG = "pair"
CONDITIONS = ("task", "law", "delay", "loss", "layer", "operator", "seed")
RESULTS = ("success", "damaged", "stopped", "peak_force", "time")


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
    row: Row = {name: getattr(case, name) for name in CONDITIONS}
    try:
        rig = _build(case)
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


def _build(case: TrialCase) -> Rig:
    options = Options(case.law, case.layer, None, case.seed, case.delay, loss=case.loss)
    options.settings = list(case.settings)
    options.task, options.operator = case.task, case.operator
    return build_rig(case.rig, options)


def check_cases(cases: Sequence[TrialCase]) -> None:
    """Refuse arms and settings with which no law can be played, before the first trial.

    Raises:
        FarhandError: why the first of them cannot.
    """
    first: dict[tuple[str, str], TrialCase] = {}
    for case in cases:
        first.setdefault((case.law, case.layer), case)
    reasons: list[FarhandError] = []
    for case in first.values():
        try:
            _build(case).close()
            return
        except FarhandError as error:
            reasons.append(error)
    raise reasons[0]


def score(
    cases: list[TrialCase],
    done: Path | None = None,
    workers: int | None = None,
    ray: str | None = None,
    progress: Progress = lambda done, total, name: None,
    rows: dict[str, Row] | None = None,
) -> list[Row]:
    """The rows of all trials in their order; see :func:`farhand.analysis.stability.sweep.sweep`.

    Raises:
        BadValue: a row that was finished before lacks what a page shows.
    """
    found = sweep(play, cases, lambda case: case.name, done, workers, ray, progress, rows)
    for row in found:
        lacks = {*CONDITIONS, *(() if "refused" in row else RESULTS)} - row.keys()
        if lacks:
            what = ", ".join(sorted(lacks))
            raise BadValue(f"{done or 'what was kept'} has a trial without {what}; play it again")
    return found


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

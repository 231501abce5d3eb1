"""The reproduction harness: experiments register here, are run by rig or by id, and come back with a verdict.

An experiment is a function without arguments that returns a :class:`Finding`. Title, criterion,
unit and source of its id stand in the rig's ``features.toml``, the one list of what is reproduced::

    @experiment("D-30")
    def free_space_tracking() -> Finding:
        error = 1e3 * lift().position_error.max()  # [mm]
        return Finding(error, ok=error < 1.0)

A function that serves several ids names them all and returns ``{id: Finding}``. Expensive runs that
several experiments look at are functions decorated with :func:`shared`.
"""

from __future__ import annotations

import functools
import importlib
import math
import pkgutil
import re
import time
import tomllib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal, ParamSpec, TypeVar

import numpy as np

import farhand_lab
from farhand.errors import BadValue, FarhandError, UnknownName

if TYPE_CHECKING:
    import matplotlib.figure

    from farhand.report.page import Animation, Drawn

Value = float | bool | str
Verdict = Literal["pass", "corrected", "differs"]
Progress = Callable[[int, int, str], None]
"""Called with the ids done, the ids in total and the id that comes next (``""`` at the end)."""

SUPPORT_PACKAGES = frozenset({"benchmarks", "soak"})
SIGNIFICANT_DIGITS = 6


@dataclass(frozen=True)
class Figure:
    """A plot that is drawn only if a report is written.

    Attributes:
        title: caption of the plot.
        make: draws it. Build on ``matplotlib.figure.Figure``, not on pyplot, and import it inside
            the function.
    """

    title: str
    make: Callable[[], matplotlib.figure.Figure | Animation | Drawn]


@dataclass(frozen=True)
class Finding:
    """What an experiment measured.

    Attributes:
        value: the measured value, in ``unit``.
        ok: whether the criterion is met (the corrected one if ``corrected``).
        note: context; for ``corrected`` it names the section of docs/errata.md, for a failure it
            says the cause.
        unit: unit of ``value``, if it is not the one that the experiment declares.
        corrected: the published criterion was wrong and ``ok`` judges the corrected one.
        figures: plots for the report.
    """

    value: Value
    ok: bool
    note: str = ""
    unit: str = ""
    corrected: bool = False
    figures: tuple[Figure, ...] = ()


Outcome = Finding | Mapping[str, Finding]
F = TypeVar("F", bound=Callable[[], Outcome])
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Experiment:
    """A registered id: what is measured, against what, and by which function."""

    id: str
    title: str
    group: str
    name: str
    unit: str
    criterion: str
    source: str
    function: Callable[[], Outcome]


@dataclass(frozen=True)
class Entry:
    """One line of the reproduction: an experiment with its measured value and verdict.

    Attributes:
        value: plain Python and deterministic, floats to six digits; ``None`` if the experiment
            ended in an error.
        group: the rig it belongs to.
        seconds: wall time of the run that produced it, [s]; ids served by one function share it.
        figures: plots for the report.
    """

    id: str
    title: str
    value: Value | None
    unit: str
    criterion: str
    verdict: Verdict
    source: str
    note: str
    group: str = ""
    seconds: float = 0.0
    figures: tuple[Figure, ...] = ()

    def to_json(self) -> dict[str, object]:
        """The line as ``farhand reproduce --json`` writes it."""
        keys = ("id", "title", "value", "unit", "criterion", "verdict", "source", "note")
        return {key: getattr(self, key) for key in keys}


_registry: dict[str, dict[str, Experiment]] = {}
_caches: list[Callable[[], None]] = []
_seed = 0


def experiment(*ids: str, name: str = "") -> Callable[[F], F]:
    """Register a function as the experiment behind one or more ids of its rig's ``features.toml``.

    Args:
        ids: such as ``"D-30"``; unique within the rig.
        name: what ``farhand reproduce RIG/NAME`` calls it; the function's name with ``-`` for ``_``
            by default.
    """

    def register(function: F) -> F:
        group = function.__module__.split(".")[1].replace("_", "-")
        known = _registry.setdefault(group, {})
        for id in ids:
            if id in known:
                raise BadValue(
                    f"experiment {group}/{id} is registered twice: by {known[id].name!r} and {name!r}"
                )
            feature = feature_of(group, id)
            known[id] = Experiment(
                id=id, group=group, name=name or _name_of(function), function=function, **feature
            )
        return function

    return register


@functools.cache
def features(group: str) -> dict[str, dict[str, str]]:
    """Title, criterion, unit and source of every id of a rig."""
    folder = Path(farhand_lab.__file__).parent / group.replace("-", "_")
    rows = tomllib.loads((folder / "features.toml").read_text(encoding="utf-8"))
    return {id: {"unit": "", **row} for id, row in rows.items()}


def feature_of(group: str, id: str) -> dict[str, str]:
    """The row of one id.

    Raises:
        UnknownName: ``features.toml`` of the rig does not have it.
    """
    if id not in features(group):
        raise UnknownName(f"feature of {group}", id, features(group))
    return features(group)[id]


def _name_of(function: Callable[[], Outcome]) -> str:
    return getattr(function, "__name__", "").replace("_", "-")


def shared(function: Callable[P, R]) -> Callable[P, R]:
    """Remember the results of an expensive run, for every experiment that looks at it, until :func:`clear_shared`."""
    cached = functools.cache(function)
    _caches.append(cached.cache_clear)
    return cached  # type: ignore[return-value]


def clear_shared() -> None:
    """Forget all results of :func:`shared` functions."""
    for clear in _caches:
        clear()


def generator(stream: str) -> np.random.Generator:
    """A fresh random generator for one purpose, the same for the same seed of :func:`run` and the same stream name."""
    return np.random.default_rng([_seed, zlib.crc32(stream.encode())])


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Every :func:`generator` made meanwhile has this seed; nothing measured with another one is used again."""
    global _seed
    previous = _seed
    if seed != previous:
        clear_shared()
    _seed = seed
    try:
        yield
    finally:
        _seed = previous
        if seed != previous:
            clear_shared()


def groups() -> list[str]:
    """The rigs that have a module of experiments."""
    found = (module.name for module in pkgutil.iter_modules(farhand_lab.__path__) if module.ispkg)
    return sorted(name.replace("_", "-") for name in found if name not in SUPPORT_PACKAGES)


def module_of(group: str) -> ModuleType:
    """The module of a rig's experiments, imported on first use.

    Raises:
        UnknownName: there is no such rig, or it has no experiments.
    """
    if group not in groups():
        raise UnknownName("rig", group, groups())
    return importlib.import_module(f"farhand_lab.{group.replace('-', '_')}")


def experiments_of(group: str) -> list[Experiment]:
    """The experiments of one rig, ordered by id (D-2 before D-10)."""
    module_of(group)
    return sorted(_registry.get(group, {}).values(), key=lambda e: _natural(e.id))


def _natural(id: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", id)]


def names() -> dict[str, list[str]]:
    """All ids by rig."""
    return {group: [e.id for e in experiments_of(group)] for group in groups()}


def select(selection: str | None) -> list[Experiment]:
    """The experiments that a selection names: ``None`` for all, ``"RIG"``, ``"RIG/ID"`` or ``"RIG/NAME"``.

    Raises:
        UnknownName: no such rig, id or name.
    """
    if selection is None:
        return [e for group in groups() for e in experiments_of(group)]
    group, slash, wanted = selection.partition("/")
    candidates = experiments_of(group)
    chosen = [e for e in candidates if wanted in (e.id, e.name)] if slash else candidates
    if slash and not chosen:
        raise UnknownName(
            f"experiment of {group}",
            wanted,
            {e.id for e in candidates} | {e.name for e in candidates},
        )
    return chosen


def run(
    selection: str | None = None,
    progress: Progress | None = None,
    *,
    seed: int = 0,
    keep: Callable[[list[Entry]], list[Entry]] | None = None,
) -> list[Entry]:
    """Run the selected experiments and judge them.

    Args:
        selection: see :func:`select`.
        progress: told before each experiment and at the end.
        seed: seed of :func:`generator`.
        keep: takes the entries of a rig and returns what is to be kept of them, such as their
            figures drawn: the runs behind them are forgotten after each rig. Without it all runs of
            all rigs stay, which takes gigabytes.

    Raises:
        UnknownName: no such rig, id or name.
        BadValue: an experiment returned something that cannot be judged.
    """
    with seeded(seed):
        wanted = select(selection)
        if keep is None:
            return measure(wanted, progress)
        entries: list[Entry] = []
        for group in dict.fromkeys(item.group for item in wanted):
            told = _after(progress, len(entries), len(wanted)) if progress else None
            entries += keep(measure([item for item in wanted if item.group == group], told))
            clear_shared()
        return entries


def _after(progress: Progress, done: int, total: int) -> Progress:
    """Progress of a part, told as that of the whole."""
    return lambda count, _, what: progress(done + count, total, what)


def measure(
    experiments: Iterable[Experiment],
    progress: Progress | None = None,
    failures: tuple[type[Exception], ...] = (FarhandError,),
) -> list[Entry]:
    """Run these experiments, each function once, and judge them in the order given.

    Args:
        experiments: what to run.
        progress: told before each function and at the end.
        failures: exceptions that count as the verdict ``differs``; all others propagate.
    """
    wanted = list(experiments)
    by_function: dict[Callable[[], Outcome], list[Experiment]] = {}
    for item in wanted:
        by_function.setdefault(item.function, []).append(item)
    entries: dict[tuple[str, str], Entry] = {}
    for function, served in by_function.items():
        if progress:
            progress(len(entries), len(wanted), f"{served[0].group}/{served[0].id}")
        start = time.perf_counter()
        try:
            outcome = function()
        except failures as error:
            judged = [_failed(item, error, time.perf_counter() - start) for item in served]
        else:
            seconds = time.perf_counter() - start
            judged = [judge(item, _finding_for(item, outcome), seconds) for item in served]
        entries.update({(entry.group, entry.id): entry for entry in judged})
    if progress:
        progress(len(wanted), len(wanted), "")
    return [entries[item.group, item.id] for item in wanted]


def _finding_for(item: Experiment, outcome: Outcome) -> Finding:
    if isinstance(outcome, Finding):
        return outcome
    if not isinstance(outcome, Mapping) or item.id not in outcome:
        got = ", ".join(outcome) if isinstance(outcome, Mapping) else type(outcome).__name__
        raise BadValue(
            f"experiment {item.group}/{item.id} returned no finding for its id (got: {got or 'nothing'})"
        )
    return outcome[item.id]


def judge(item: Experiment, finding: Finding, seconds: float = 0.0) -> Entry:
    """Turn a finding into an entry with its verdict.

    ``pass`` if the criterion is met, ``corrected`` if the corrected criterion is met, ``differs``
    otherwise, with the measured value appended to the note. A value that is not a number never
    passes.

    Args:
        item: the experiment.
        finding: what it measured.
        seconds: how long it took, [s].

    Raises:
        BadValue: a ``corrected`` finding whose note does not point to the errata, or a value that
            JSON cannot hold.
    """
    value, unit, note = _plain(item, finding.value), finding.unit or item.unit, finding.note
    if not finding.ok or value == "nan":
        verdict: Verdict = "differs"
        size = f"measured {value} {unit}".rstrip()
        note = f"{note}; {size}" if note else f"cause not known; {size}"
    elif finding.corrected:
        verdict = "corrected"
        if "errata" not in note:
            raise BadValue(
                f"experiment {item.group}/{item.id} is corrected, but its note {note!r} names no errata"
            )
    else:
        verdict = "pass"
    figures = tuple(finding.figures)
    return Entry(
        item.id,
        item.title,
        value,
        unit,
        item.criterion,
        verdict,
        item.source,
        note,
        item.group,
        seconds,
        figures,
    )


def _failed(item: Experiment, error: Exception, seconds: float) -> Entry:
    note = " ".join(str(error).split()) or type(error).__name__
    return Entry(
        item.id,
        item.title,
        None,
        item.unit,
        item.criterion,
        "differs",
        item.source,
        note,
        item.group,
        seconds,
    )


def _plain(item: Experiment, value: object) -> Value:
    if isinstance(value, np.generic | np.ndarray) and value.size == 1:
        value = value.item()
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return (
            float(f"{value:.{SIGNIFICANT_DIGITS}g}") + 0.0 if math.isfinite(value) else str(value)
        )
    raise BadValue(
        f"experiment {item.group}/{item.id} returned {type(value).__name__}, not a number, yes/no or a word"
    )

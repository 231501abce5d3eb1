"""The reproduction harness: it registers experiments, runs them by rig or id, and judges them.

An experiment is a function without arguments that returns a :class:`Finding`. The rig's
``features.toml`` has title, criterion, unit and source of each id::

    @experiment("D-30")
    def free_space_tracking() -> Finding:
        error = 1e3 * lift().position_error.max()  # [mm]
        return Finding(error, ok=error < 1.0)

A function that serves several ids names them all and returns ``{id: Finding}``. Decorate expensive
runs that several experiments use with :func:`shared`.
"""

from __future__ import annotations

import functools
import importlib
import math
import pkgutil
import re
import subprocess
import time
import tomllib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

import numpy as np

import farhand_lab
from farhand.errors import BadValue, FarhandError, UnknownName
from farhand.report.numbers import number

if TYPE_CHECKING:
    import matplotlib.figure

    from farhand.report.page import Animation, Drawn

Value = float | bool | str
Verdict = Literal["pass", "corrected", "differs"]
Progress = Callable[[int, int, str], None]
"""Called with the ids done, the ids in total and the id that comes next (``""`` at the end)."""

SUPPORT_PACKAGES = frozenset({"benchmarks", "commands", "explorable", "soak", "torque"})
SIGNIFICANT_DIGITS = 6


@dataclass(frozen=True)
class Figure:
    """A plot that ``make`` draws if a report is written; see :func:`farhand_lab.plots.canvas`."""

    title: str
    make: Callable[[], matplotlib.figure.Figure | Animation | Drawn]


@dataclass(frozen=True)
class Finding:
    """What an experiment measured."""

    value: Value
    ok: bool  #: whether the criterion is met (the corrected one if ``corrected``)
    #: context; the section of docs/errata.md if ``corrected``, the cause if not ``ok``
    note: str = ""
    unit: str = ""  #: unit of ``value``, if it is not that of the feature
    #: the published criterion was wrong and ``ok`` judges the corrected one
    corrected: bool = False
    figures: tuple[Figure, ...] = ()


Findings = Finding | Mapping[str, Finding]
F = TypeVar("F", bound=Callable[[], Findings])
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
    function: Callable[[], Findings]
    differs: str = ""  #: in one sentence, why the criterion is known not to be met
    #: dotted names of the product code that ran and is judged
    path: tuple[str, ...] = ()
    #: what was switched off, or set apart from the rig as it is shipped; empty for nothing
    configuration: str = ""

    @property
    def key(self) -> str:
        """``"RIG/ID"``."""
        return f"{self.group}/{self.id}"


@dataclass(frozen=True)
class Entry:
    """One line of the reproduction: an experiment with its measured value and verdict."""

    id: str
    title: str
    #: plain Python, floats to six digits; ``None`` if the experiment ended in an error
    value: Value | None
    unit: str
    criterion: str
    verdict: Verdict
    source: str
    note: str
    group: str = ""
    path: tuple[str, ...] = ()  #: dotted names of the product code that ran and is judged
    configuration: str = ""  #: what was switched off or set apart from the rig as it is shipped
    #: wall time of the function that measured it, [s]; several ids may share it
    seconds: float = 0.0
    figures: tuple[Figure, ...] = ()
    differs: str = ""  #: in one sentence, if that is known and the verdict is ``differs``

    @property
    def measured(self) -> str:
        """The value with its unit, four digits."""
        return measured(self.value, self.unit)

    @property
    def cause(self) -> str:
        """The note without the measured value at its end."""
        return self.note.removesuffix(f"; measured {self.value} {self.unit}".rstrip())

    def to_json(self) -> dict[str, object]:
        """The line as ``farhand reproduce --json`` writes it."""
        keys = ("id", "title", "value", "unit", "criterion", "verdict", "source", "note")
        record: dict[str, object] = {key: getattr(self, key) for key in keys}
        more = {"path": list(self.path), "configuration": self.configuration, "commit": commit()}
        return record | more


def measured(value: Value | None, unit: str) -> str:
    """A value for people: four digits and the unit; yes or no."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = value if isinstance(value, str) else number(value, 4)
    return text if unit in ("", "-") else f"{text} {unit}"


@functools.cache
def commit() -> str:
    """The commit of the code that runs, with ``+`` if it was changed since; empty if unknown."""
    git = ["git", "-C", str(Path(farhand_lab.__path__[0]).parent)]
    try:
        head = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True)
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--", "farhand", "farhand_lab"], capture_output=True
        )
    except OSError:
        return ""
    return head.stdout.decode().strip() + ("+" if changed.stdout else "")


_registry: dict[str, dict[str, Experiment]] = {}
_caches: list[Callable[[], None]] = []
_seed = 0


def experiment(*ids: str, name: str = "") -> Callable[[F], F]:
    """Register a function as the experiment behind one or more ids of its rig's ``features.toml``.

    Args:
        ids: such as ``"D-30"``; unique within the rig.
        name: for ``farhand reproduce RIG/NAME``; the function's name with ``-`` by default.

    Raises:
        BadValue: an id is registered twice.
        UnknownName: ``features.toml`` of the rig does not have the id.
    """

    def register(function: F) -> F:
        group = function.__module__.split(".")[1].replace("_", "-")
        known = _registry.setdefault(group, {})
        own_name = name or function.__name__.replace("_", "-")
        for id in ids:
            if id in known:
                both = f"by {known[id].name!r} and {own_name!r}"
                raise BadValue(f"experiment {group}/{id} is registered twice: {both}")
            if id not in features(group):
                raise UnknownName(f"feature of {group}", id, features(group))
            row = features(group)[id]
            row = {"path": (), **row}
            row["path"] = tuple(row["path"])
            known[id] = Experiment(id=id, group=group, name=own_name, function=function, **row)
        return function

    return register


@functools.cache
def features(group: str) -> dict[str, dict[str, Any]]:
    """Title, criterion, unit, source, path and more of every id of a rig."""
    path = Path(farhand_lab.__path__[0]) / group.replace("-", "_") / "features.toml"
    rows = tomllib.loads(path.read_text(encoding="utf-8"))
    return {id: {"unit": "", **row} for id, row in rows.items()}


def shared(function: Callable[P, R]) -> Callable[P, R]:
    """Remember the results of an expensive run until :func:`clear_shared`."""
    cached = functools.cache(function)
    _caches.append(cached.cache_clear)
    return cached  # type: ignore[return-value]


def clear_shared() -> None:
    """Forget all results of :func:`shared` functions."""
    for clear in _caches:
        clear()


def generator(stream: str) -> np.random.Generator:
    """A new random generator; the seed of :func:`run` and the name of the stream determine it."""
    return np.random.default_rng([_seed, zlib.crc32(stream.encode())])


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Use this seed for every :func:`generator`; shared results do not mix with other seeds."""
    global _seed
    previous = _seed
    if seed == previous:
        yield
        return
    clear_shared()
    _seed = seed
    try:
        yield
    finally:
        _seed = previous
        clear_shared()


def groups() -> list[str]:
    """The rigs that have a module of experiments."""
    names = {item.name for item in pkgutil.iter_modules(farhand_lab.__path__) if item.ispkg}
    return sorted(name.replace("_", "-") for name in names - SUPPORT_PACKAGES)


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


def select(*selections: str) -> list[Experiment]:
    """The experiments of ``"RIG"``, ``"ID"``, ``"RIG/ID"`` or ``"RIG/NAME"``; none selects all.

    Raises:
        UnknownName: no such rig, id or name.
    """
    chosen = (e for selection in selections or groups() for e in _selected(selection))
    return list({e.key: e for e in chosen}.values())


def _selected(selection: str) -> list[Experiment]:
    group, slash, key = selection.partition("/")
    if not slash and group not in groups():
        # No two rigs share an id
        alone = [e for name in groups() for e in experiments_of(name) if e.id == selection]
        if alone:
            return alone
    items = experiments_of(group)
    if not slash:
        return items
    chosen = [e for e in items if key in (e.id, e.name)]
    if not chosen:
        available = {e.id for e in items} | {e.name for e in items}
        raise UnknownName(f"experiment of {group}", key, available)
    return chosen


def run(
    *selections: str,
    progress: Progress | None = None,
    seed: int = 0,
    keep: Callable[[list[Entry]], list[Entry]] | None = None,
    finished: dict[str, Entry] | None = None,
) -> list[Entry]:
    """Run the selected experiments and judge them.

    Args:
        selections: see :func:`select`.
        progress: called before each function and at the end.
        seed: seed of :func:`generator`.
        keep: called with the entries of each rig, while the shared runs still exist; returns the
            entries to keep, for example with their figures drawn. Without it the shared runs of
            all rigs stay in memory, which takes gigabytes.
        finished: entries by key that need not be measured; new ones are added as they come.

    Raises:
        UnknownName: no such rig, id or name.
        BadValue: an experiment returned something that cannot be judged.
    """
    with seeded(seed):
        items = select(*selections)
        finished = {} if finished is None else finished
        if keep is None:
            measure(items, progress, finished=finished)
            return [finished[item.key] for item in items]
        for group in dict.fromkeys(item.group for item in items):
            own = [item for item in items if item.group == group and item.key not in finished]
            part = _part_progress(progress, len(finished), len(items)) if progress else None
            kept = keep(measure(own, part, finished=finished))
            finished |= {item.key: entry for item, entry in zip(own, kept, strict=True)}
            clear_shared()
        return [finished[item.key] for item in items]


def _part_progress(progress: Progress, done: int, total: int) -> Progress:
    return lambda count, _, label: progress(done + count, total, label)


def measure(
    experiments: Iterable[Experiment],
    progress: Progress | None = None,
    failures: tuple[type[Exception], ...] = (FarhandError,),
    finished: dict[str, Entry] | None = None,
) -> list[Entry]:
    """Run these experiments, each function once, and judge them in the given order.

    The ``failures`` count as the verdict ``differs``; other exceptions propagate. Those that are
    ``finished`` are not run again; new entries are added to them.
    """
    items = list(experiments)
    entries = {} if finished is None else finished
    by_function: dict[Callable[[], Findings], list[Experiment]] = {}
    for item in items:
        if item.key not in entries:
            by_function.setdefault(item.function, []).append(item)
    before = len(entries)
    for function, served in by_function.items():
        if progress:
            progress(len(entries) - before, len(items), served[0].key)
        start = time.perf_counter()
        try:
            findings = function()
        except failures as error:
            note = " ".join(str(error).split()) or type(error).__name__
            seconds = time.perf_counter() - start
            judged = [_entry(item, None, item.unit, "differs", note, seconds) for item in served]
        else:
            seconds = time.perf_counter() - start
            judged = [judge(item, _finding_for(item, findings), seconds) for item in served]
        entries |= {item.key: entry for item, entry in zip(served, judged, strict=True)}
    if progress:
        progress(len(items), len(items), "")
    return [entries[item.key] for item in items]


def _finding_for(item: Experiment, findings: Findings) -> Finding:
    if isinstance(findings, Finding):
        return findings
    if isinstance(findings, Mapping) and item.id in findings:
        return findings[item.id]
    got = ", ".join(findings) if isinstance(findings, Mapping) else type(findings).__name__
    raise BadValue(
        f"experiment {item.key} returned no finding for its id (got: {got or 'nothing'})"
    )


def judge(item: Experiment, finding: Finding, seconds: float = 0.0) -> Entry:
    """Turn a finding into an entry with its verdict.

    ``pass`` if the criterion is met, ``corrected`` if the corrected criterion is met, ``differs``
    otherwise, with the measured value appended to the note. NaN never passes.

    Raises:
        BadValue: the note of a ``corrected`` finding does not name the errata, or JSON cannot hold
            the value.
    """
    value = _plain(item, finding.value)
    unit = finding.unit or item.unit
    note = finding.note
    verdict: Verdict = "corrected" if finding.corrected else "pass"
    if not finding.ok or value == "nan":
        verdict = "differs"
        note = f"{note or 'cause not known'}; measured {value} {unit}".rstrip()
    elif finding.corrected and "errata" not in note:
        raise BadValue(f"experiment {item.key} is corrected, but its note {note!r} names no errata")
    return _entry(item, value, unit, verdict, note, seconds, tuple(finding.figures))


def _entry(
    item: Experiment,
    value: Value | None,
    unit: str,
    verdict: Verdict,
    note: str,
    seconds: float,
    figures: tuple[Figure, ...] = (),
) -> Entry:
    judged = (item.id, item.title, value, unit, item.criterion, verdict, item.source, note)
    return Entry(
        *judged,
        group=item.group,
        path=item.path,
        configuration=item.configuration,
        seconds=seconds,
        figures=figures,
        differs=item.differs if verdict == "differs" else "",
    )


def _plain(item: Experiment, value: object) -> Value:
    if isinstance(value, np.generic | np.ndarray) and value.size == 1:
        value = value.item()
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        # Adding zero turns -0.0 into 0.0
        return float(f"{value:.{SIGNIFICANT_DIGITS}g}") + 0.0
    name = type(value).__name__
    raise BadValue(f"experiment {item.key} returned {name}, not a number, yes/no or a word")

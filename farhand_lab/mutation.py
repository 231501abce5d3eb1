"""The mutation check: a part broken on purpose must flip the verdicts that watch it.

A reproduction that still passes with a sign flipped or a term missing proves nothing. Each rig's
module lists its mutations as ``MUTATIONS``; each names the ids that must notice.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from unittest import mock

import numpy as np

from farhand.errors import FarhandError, UnknownName
from farhand_lab import harness
from farhand_lab.harness import Experiment, Progress, Verdict
from farhand_lab.private_names import require_listed

F = TypeVar("F", bound=Callable[..., Any])
NUMERICAL_FAILURES = (FarhandError, ArithmeticError, np.linalg.LinAlgError)
"""Numbers that blow up count as noticed; a programming error does not."""


@dataclass(frozen=True)
class Mutation:
    """One part broken on purpose."""

    name: str
    breaks: str  #: what is wrong while it is applied, in one sentence
    watched: tuple[str, ...]  #: ids whose verdict must flip
    #: returns a context manager inside which the part is broken; see :func:`patched`
    apply: Callable[[], AbstractContextManager[object]] = nullcontext

    def patch(self, target: object, attribute: str, new: object) -> Mutation:
        """This mutation, which replaces one attribute; see :func:`patched`."""
        return replace(self, apply=lambda: patched(target, attribute, new))

    def change(self, target: object, attribute: str, wrap: Callable[[Any], Any]) -> Mutation:
        """This mutation, which replaces one attribute by ``wrap(original)``."""
        return replace(self, apply=lambda: changed(target, attribute, wrap))


@dataclass(frozen=True)
class MutationResult:
    """What a mutation did to the verdicts."""

    name: str
    ids: tuple[str, ...]  #: the ids that watch the mutation
    flipped: bool  #: whether each of them went from ``pass`` or ``corrected`` to ``differs``
    before: Mapping[str, Verdict]  #: verdicts by id with all parts whole
    after: Mapping[str, Verdict]  #: verdicts by id with the part broken
    breaks: str = ""


@contextmanager
def patched(target: Any, name: str, new: Any) -> Iterator[None]:
    """Replace an attribute of a class, module or object while the context lasts.

    A function imported by name is bound in the importing module: patch it there. Private names of
    the library must be listed in :mod:`farhand_lab.private_names`.
    """
    require_listed(target, name)
    with mock.patch.object(target, name, new):
        yield


@contextmanager
def changed(target: Any, name: str, change: Callable[[Any], Any]) -> Iterator[None]:
    """Replace an attribute by ``change(original)``; see :func:`patched`."""
    require_listed(target, name)
    with patched(target, name, change(getattr(target, name))):
        yield


class Mutations(list[Mutation]):
    """The mutations of one file; :meth:`of` adds the function below it.

    Its name and docstring say what is broken. It gets the original, then what the caller passes::

        @MUTATIONS.of(Ramp, "step", "Y-25 Y-27")
        def no_slew(step, self, dt):
            '''Tunables jump.'''
            self.value = self.target
            return self.value
    """

    def of(self, target: object, attribute: str, watched: str) -> Callable[[F], F]:
        """Break a function or method; ``watched`` are ids with blanks in between."""

        def add(broken: F) -> F:
            def wrap(original: Any) -> Any:
                return lambda *values, **named: broken(original, *values, **named)

            name = broken.__name__.replace("_", "-")
            summary = (broken.__doc__ or "").splitlines()[0].rstrip(".")
            ids = tuple(watched.split())
            self.append(Mutation(name, summary, ids, lambda: changed(target, attribute, wrap)))
            return broken

        return add


def collect(package: str) -> list[Mutation]:
    """Import every file of a rig's package and join their ``MUTATIONS``."""
    files = pkgutil.iter_modules(sys.modules[package].__path__)
    modules = [importlib.import_module(f"{package}.{file.name}") for file in files]
    return [mutation for module in modules for mutation in getattr(module, "MUTATIONS", ())]


def check(group: str, progress: Progress | None = None, *, seed: int = 0) -> list[MutationResult]:
    """Apply each mutation of a rig in turn and see whether the ids that watch it notice.

    ``progress`` gets the mutations done, their number and the name of the next.

    Raises:
        UnknownName: no such rig, or a mutation watches an id that does not exist.
    """
    mutations: list[Mutation] = getattr(harness.module_of(group), "MUTATIONS", [])
    known = {item.id: item for item in harness.experiments_of(group)}
    watched = {id: None for mutation in mutations for id in mutation.watched}
    for id in watched:
        if id not in known:
            raise UnknownName(f"experiment of {group}", id, known)
    with harness.seeded(seed):
        whole = _verdicts([item for id, item in known.items() if id in watched])
        results = []
        for done, mutation in enumerate(mutations):
            if progress:
                progress(done, len(mutations), mutation.name)
            with mutation.apply():
                after = _verdicts([known[id] for id in mutation.watched])
            results.append(_result(mutation, whole, after))
    if progress:
        progress(len(mutations), len(mutations), "")
    return results


def _result(
    mutation: Mutation, whole: Mapping[str, Verdict], after: Mapping[str, Verdict]
) -> MutationResult:
    before = {id: whole[id] for id in mutation.watched}
    flips = [before[id] != "differs" and after[id] == "differs" for id in before]
    flipped = bool(flips) and all(flips)
    return MutationResult(mutation.name, mutation.watched, flipped, before, after, mutation.breaks)


def _verdicts(items: list[Experiment]) -> dict[str, Verdict]:
    """Measure without earlier shared runs, and keep none that a broken part produced."""
    harness.clear_shared()
    try:
        entries = harness.measure(items, failures=NUMERICAL_FAILURES)
        return {entry.id: entry.verdict for entry in entries}
    finally:
        harness.clear_shared()

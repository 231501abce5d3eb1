"""Each verdict names the product code that it judges, and that code runs."""

from __future__ import annotations

import inspect
import pkgutil
import sys
from types import CodeType
from typing import Any

import pytest

from farhand_lab import harness

GROUPS = {"dual-arm", "humanoid"}
"""Rigs whose ids name the product code that runs."""

QUICK = {
    "dual-arm": ("D-01", "D-06", "D-09", "D-16", "D-17", "D-21", "D-29", "D-41", "D-52"),
    "humanoid": ("H-01", "H-05", "H-16", "H-24", "H-25", "H-30", "H-31", "H-37", "H-43", "H-47"),
}
"""Ids that take a second or two."""

ROWS = [(group, id) for group in sorted(GROUPS) for id in harness.features(group)]


def codes_of(name: str) -> set[CodeType]:
    """Code of a function, or of all methods that a class has from the product."""
    found: Any = inspect.unwrap(pkgutil.resolve_name(name))
    if not inspect.isclass(found):
        return {found.__code__}
    bases = [base for base in found.__mro__ if base.__module__.startswith("farhand.")]
    members = [member for base in bases for member in vars(base).values()]
    functions = [getattr(member, "fget", getattr(member, "__func__", member)) for member in members]
    return {one.__code__ for one in functions if inspect.isfunction(one)}


def codes_run_by(item: harness.Experiment) -> set[CodeType]:
    """Code of everything that an experiment calls."""
    harness.clear_shared()
    called: set[CodeType] = set()
    sys.setprofile(lambda frame, event, _: called.add(frame.f_code) if event == "call" else None)
    try:
        item.function()
    finally:
        sys.setprofile(None)
        harness.clear_shared()
    return called


@pytest.mark.parametrize(("group", "id"), ROWS, ids=[id for _, id in ROWS])
def test_every_id_names_one_to_four_parts_of_the_product(group: str, id: str) -> None:
    """Each can be imported and has code that can run."""
    path = harness.features(group)[id].get("path", [])
    assert 1 <= len(path) <= 4
    for name in path:
        assert name.startswith("farhand.")
        assert codes_of(name), f"{name} has no code of its own"


@pytest.mark.parametrize("id", [id for ids in QUICK.values() for id in ids])
def test_the_named_parts_run_during_the_experiment(id: str) -> None:
    """A part that is named and never called would judge nothing."""
    (group,) = (group for group, ids in QUICK.items() if id in ids)
    (item,) = harness.select(f"{group}/{id}")
    called = codes_run_by(item)
    idle = [name for name in item.path if not codes_of(name) & called]
    assert not idle, f"{id} does not run {', '.join(idle)}"

"""Every id of the hazardous rig names the product code that it judges, and that code runs."""

from __future__ import annotations

import importlib
import sys
from types import CodeType, FunctionType
from typing import Any

import pytest

from farhand_lab import harness

ITEMS = {item.id: item for item in harness.experiments_of("hazardous")}
QUICK = ("C-02", "C-04", "C-17", "C-24", "C-34", "C-46", "C-49", "C-60")


def named(path: str) -> Any:
    """What a dotted name stands for."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def codes(part: Any) -> set[CodeType]:
    """The code of a function, or of all methods of a class and of its bases in the library."""
    if not isinstance(part, type):
        return {part.__code__}
    bases = [base for base in part.__mro__ if base.__module__.startswith("farhand.")]
    values = [value for base in bases for value in vars(base).values()]
    values = [getattr(value, "fget", value) for value in values]
    return {value.__code__ for value in values if isinstance(value, FunctionType)}


@pytest.mark.parametrize("id", ITEMS)
def test_each_id_names_one_to_four_parts_of_the_library_that_exist(id):
    """By names that can be imported."""
    path = ITEMS[id].path
    assert 1 <= len(path) <= 4 and all(name.startswith("farhand.") for name in path)
    assert all(callable(named(name)) for name in path)


@pytest.mark.parametrize("id", QUICK)
def test_the_named_code_runs_during_the_experiment(id):
    """Each part of the path at least once."""
    ran: set[CodeType] = set()
    harness.clear_shared()
    sys.setprofile(lambda frame, event, _: ran.add(frame.f_code) if event == "call" else None)
    try:
        harness.measure([ITEMS[id]])
    finally:
        sys.setprofile(None)
        harness.clear_shared()
    assert [name for name in ITEMS[id].path if not codes(named(name)) & ran] == []

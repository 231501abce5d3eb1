"""Every verdict of the youBot and the cooperative rig names the product code that it judges."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any

import pytest

from farhand_lab import harness
from farhand_lab.harness import Experiment

ITEMS = [item for group in ("youbot", "cooperative") for item in harness.experiments_of(group)]
QUICK = {
    "youbot": ("Y-04", "Y-09", "Y-14", "Y-17", "Y-19", "Y-26", "Y-39"),
    "cooperative": ("F-01", "F-06", "F-11", "F-14", "F-16", "F-40", "F-33", "S-04", "B-04"),
}
"""Ids of a few seconds each."""
QUICK_ITEMS = [item for item in ITEMS if item.id in QUICK[item.group]]


def named(path: str) -> Any:
    """What a dotted name means: a class or function of the library."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def codes(thing: Any) -> set[CodeType]:
    """The code of a function, or of the methods of a class; those it inherits if it has none.

    To be made is not to run: constructors do not count.
    """
    if isinstance(thing, FunctionType):
        return {thing.__code__}
    for base in thing.__mro__:
        members = [item for name, item in vars(base).items() if not name.endswith("init__")]
        inner = [getattr(item, "fget", getattr(item, "__func__", item)) for item in members]
        written = [item.__code__ for item in inner if isinstance(item, FunctionType)]
        # A dataclass has methods that nobody wrote
        if own := {code for code in written if code.co_filename != "<string>"}:
            return own
    return set()


@contextmanager
def profiled() -> Iterator[set[CodeType]]:
    """The code objects that run meanwhile."""
    ran: set[CodeType] = set()
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, _: ran.add(frame.f_code) if event == "call" else None)
    try:
        yield ran
    finally:
        sys.setprofile(before)


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.key)
def test_a_verdict_names_the_product_code_that_it_judges(item: Experiment) -> None:
    """One to four classes or functions, where they are defined."""
    assert 1 <= len(item.path) <= 4
    assert len(set(item.path)) == len(item.path)
    for path in item.path:
        thing = named(path)
        assert path == f"{thing.__module__}.{thing.__qualname__}" and path.startswith("farhand.")
        assert codes(thing), f"{path} has no code"


@pytest.mark.parametrize("item", QUICK_ITEMS, ids=lambda item: item.key)
def test_the_named_code_runs_during_the_experiment(item: Experiment) -> None:
    """A path that is only claimed fails here."""
    harness.clear_shared()
    with profiled() as ran:
        harness.measure([item])
    harness.clear_shared()
    idle = [path for path in item.path if not codes(named(path)) & ran]
    assert not idle


def test_the_profile_notices_code_that_does_not_run() -> None:
    """Otherwise the test above could not fail."""
    (item,) = (item for item in ITEMS if item.id == "Y-39")
    with profiled() as ran:
        harness.measure([item])
    assert not codes(named("farhand.control.tool.direct_force.DirectForce")) & ran

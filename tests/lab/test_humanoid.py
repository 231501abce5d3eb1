"""The quick ids of the humanoid hold, and what is broken on purpose is noticed."""

from __future__ import annotations

import pytest

from farhand_lab import harness
from farhand_lab.mutation import NUMERICAL_FAILURES, Mutation

ARM = ("H-01", "H-03", "H-04", "H-06", "H-07")
QUICK = (*ARM, "H-16", "H-20", "H-24", "H-25", "H-30", "H-31", "H-37", "H-39", "H-43")
MUTATIONS = [m for m in harness.module_of("humanoid").MUTATIONS if set(m.watched) <= set(QUICK)]


@pytest.mark.parametrize("id", QUICK)
def test_a_quick_id_is_reproduced(id: str) -> None:
    """By its own criterion."""
    harness.clear_shared()
    assert [entry.verdict for entry in harness.run(f"humanoid/{id}")] == ["pass"]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.name)
def test_a_broken_part_is_noticed(mutation: Mutation) -> None:
    """By every id that watches it; here are those that only quick ids watch."""
    known = {item.id: item for item in harness.experiments_of("humanoid")}
    harness.clear_shared()
    with mutation.apply():
        entries = harness.measure(
            [known[id] for id in mutation.watched], failures=NUMERICAL_FAILURES
        )
    harness.clear_shared()
    assert {entry.verdict for entry in entries} == {"differs"}


def test_enough_parts_are_broken() -> None:
    """The quick ids watch eight mutations or more."""
    assert len(MUTATIONS) >= 8

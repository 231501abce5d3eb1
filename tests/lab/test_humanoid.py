"""The quick ids of the humanoid hold, and what is broken on purpose is noticed."""

from __future__ import annotations

import pytest

from farhand_lab import harness, mutation

QUICK = (
    "H-01",
    "H-03",
    "H-04",
    "H-06",
    "H-07",
    "H-16",
    "H-20",
    "H-24",
    "H-25",
    "H-30",
    "H-31",
    "H-37",
    "H-39",
    "H-43",
)


@pytest.mark.parametrize("id", QUICK)
def test_a_quick_id_is_reproduced(id: str) -> None:
    """By its own criterion."""
    assert [entry.verdict for entry in harness.run(f"humanoid/{id}")] == ["pass"]


def test_broken_parts_are_noticed() -> None:
    """Those that only quick ids watch."""
    known = {item.id: item for item in harness.experiments_of("humanoid")}
    mutations = [m for m in harness.module_of("humanoid").MUTATIONS if set(m.watched) <= set(QUICK)]
    whole = mutation._verdicts([known[id] for m in mutations for id in m.watched])
    missed = [m.name for m in mutations if not mutation._check(m, known, whole).flipped]
    assert len(mutations) >= 8 and missed == []

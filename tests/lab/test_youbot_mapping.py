"""Mapping, start-up and analysis of the youBot rig: the verdicts, and that they can fail."""

from __future__ import annotations

import pytest

from farhand_lab import harness
from farhand_lab.mutation import NUMERICAL_FAILURES, Mutation
from farhand_lab.youbot import analysis, mapping, messages, startup

LISTED = (mapping, messages, startup, analysis)
MUTATIONS = [mutation for module in LISTED for mutation in module.MUTATIONS]
OURS = {module.__name__ for module in LISTED}


def by_id() -> dict[str, harness.Experiment]:
    """The experiments of these files."""
    return {
        item.id: item
        for item in harness.experiments_of("youbot")
        if item.function.__module__ in OURS
    }


def verdicts(ids, seed: int = 0) -> dict[str, str]:
    """Of these ids, measured afresh."""
    harness.clear_shared()
    items = by_id()
    with harness.seeded(seed):
        found = harness.measure([items[id] for id in ids], failures=NUMERICAL_FAILURES)
    harness.clear_shared()
    return {entry.id: entry.verdict for entry in found}


CORRECTED = {"Y-11", "Y-21"}
DIFFERS = {"Y-14"}
"""Honestly not met; the note says why."""
EXPECTED = dict.fromkeys(CORRECTED, "corrected") | dict.fromkeys(DIFFERS, "differs")


def test_every_verdict_is_the_known_one():
    """Two of these needed a correction, with its derivation in the errata."""
    found = verdicts(by_id())
    assert {id: verdict for id, verdict in found.items() if verdict != "pass"} == EXPECTED


def test_another_draw_gives_the_same_verdicts():
    """No verdict hangs on one lucky set of random poses."""
    drawn = ("Y-04", "Y-05", "Y-06", "Y-08", "Y-11", "Y-14", "Y-21", "Y-59")
    found = verdicts(drawn, seed=5)
    assert {id: verdict for id, verdict in found.items() if verdict != "pass"} == EXPECTED


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_broken_part_is_noticed_by_every_id_that_watches_it(mutation: Mutation):
    """Each goes from pass to differs."""
    with mutation.apply():
        assert set(verdicts(mutation.watched).values()) == {"differs"}


def test_every_id_is_watched():
    """A check that nothing can fail proves nothing."""
    assert {id for mutation in MUTATIONS for id in mutation.watched} == set(by_id()) - DIFFERS

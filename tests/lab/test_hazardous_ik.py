"""Kinematics and inverse kinematics: the ids pass with any seed, and each can fail."""

from __future__ import annotations

import pytest

from farhand_lab import harness
from farhand_lab.harness import Entry
from farhand_lab.hazardous import ik, kinematics
from farhand_lab.mutation import NUMERICAL_FAILURES, Mutation

MODULES = (kinematics, ik)
IDS = [
    item.id
    for item in harness.experiments_of("hazardous")
    if item.function.__module__ in {module.__name__ for module in MODULES}
]
LONG = {"C-08", "C-09"}  # thousands of targets: left to ``farhand reproduce``
TIMED = {"C-14"}  # judges a time
QUICK = [id for id in IDS if id not in LONG | TIMED]
MUTATIONS = [
    m for module in MODULES for m in module.MUTATIONS if not set(m.watched) & (LONG | TIMED)
]


def entries(ids: list[str], seed: int = 0) -> dict[str, Entry]:
    harness.clear_shared()
    with harness.seeded(seed):
        found = [item for item in harness.experiments_of("hazardous") if item.id in ids]
        judged = harness.measure(found, failures=NUMERICAL_FAILURES)
    harness.clear_shared()
    return {entry.id: entry for entry in judged}


def test_these_files_serve_the_ids_of_kinematics() -> None:
    """None is missing."""
    wanted = {f"C-{number:02d}" for number in (1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 62)}
    assert set(IDS) == wanted


@pytest.mark.parametrize("seed", [0, 3])
def test_every_criterion_is_met_whatever_the_seed(seed: int) -> None:
    """No verdict hangs on one lucky draw."""
    found = entries(QUICK, seed)
    assert {id: entry.verdict for id, entry in found.items()} == dict.fromkeys(QUICK, "pass"), found


def test_newton_flies_off_and_levenberg_does_not_on_fewer_targets(monkeypatch) -> None:
    """The headline with a tenth of its targets, too few for its rates in limits."""
    monkeypatch.setattr(ik, "TARGETS", 100)
    found = entries(["C-08", "C-09"])
    assert found["C-09"].value == 100.0
    assert found["C-08"].value > 1e3


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_broken_part_is_noticed(mutation: Mutation) -> None:
    """Every id that watches it says so."""
    with mutation.apply():
        found = entries(list(mutation.watched))
    assert {entry.verdict for entry in found.values()} == {"differs"}


def test_the_report_of_the_four_curves_is_a_table() -> None:
    """One line per sample and solver, each with its four numbers."""
    lines = ik.report(ik.four_curves()).splitlines()
    assert lines[0] == "solver,t,runtime,error,overrun"
    assert len(lines) == 1 + 2 * 900 and all(len(line.split(",")) == 5 for line in lines)

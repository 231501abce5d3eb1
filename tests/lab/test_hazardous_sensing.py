"""The force sensor of the hazardous rig: its ids pass, and fail with a part broken."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.mapping.ik import Model
from farhand.robots import load_robot
from farhand_lab import harness, mutation
from farhand_lab.hazardous import compensation, sensing

MODULES = (sensing, compensation)
IDS = [f"C-{k}" for k in range(21, 43)] + ["C-63"]
DIFFER = {"C-22", "C-39"}
QUICK = (
    "C-21",
    "C-22",
    "C-23",
    "C-24",
    "C-25",
    "C-27",
    "C-30",
    "C-32",
    "C-33",
    "C-34",
    "C-36",
    "C-37",
    "C-39",
    "C-41",
)


def served(ids) -> list[harness.Experiment]:
    """Experiments with these ids."""
    return [item for item in harness.experiments_of("hazardous") if item.id in ids]


@pytest.fixture(autouse=True)
def fresh():
    """Nothing measured here is seen by another test."""
    yield
    harness.clear_shared()


def test_every_id_of_the_force_sensor_has_its_experiment():
    """C-21 to C-42 and C-63."""
    names = {module.__name__ for module in MODULES}
    assert [
        item.id for item in harness.experiments_of("hazardous") if item.function.__module__ in names
    ] == IDS


def test_the_quick_ones_pass_or_differ_for_a_cause_that_is_known():
    """Their criteria are those of docs/sources/hazardous.md."""
    verdicts = {id: "differs" if id in DIFFER else "pass" for id in QUICK}
    assert {entry.id: entry.verdict for entry in harness.measure(served(QUICK))} == verdicts


@pytest.mark.slow
def test_the_longer_ones_pass():
    """Arcs, filter orders, heating runs and half an hour of motion."""
    entries = harness.measure(served(set(IDS) - set(QUICK)))
    assert {entry.id: entry.note for entry in entries if entry.verdict != "pass"} == {}


@pytest.mark.parametrize(
    "broken",
    [m for module in MODULES for m in module.MUTATIONS if set(m.watched) <= set(QUICK)],
    ids=lambda m: m.name.replace(" ", "-"),
)
def test_a_broken_part_flips_the_verdicts_that_watch_it(broken):
    """Each of the quick mutations."""
    with broken.apply():
        entries = harness.measure(served(broken.watched), failures=mutation.NUMERICAL_FAILURES)
    assert {entry.verdict for entry in entries} == {"differs"}


def test_the_wrist_is_that_of_the_published_table():
    """As the library has it; with the forearm horizontal, z is horizontal."""
    model = Model(load_robot("lwa4p"))
    for q in sensing.postures(np.random.default_rng(1), 20):
        np.testing.assert_allclose(sensing.wrist(q)[0], model.pose(q).rotation, atol=1e-12)
    np.testing.assert_allclose(sensing.wrist(np.zeros(6))[0], np.eye(3), atol=1e-12)
    assert abs(sensing.wrist(sensing.LEVEL)[0, 2, 2]) < 1e-12


def test_the_tasks_motion_is_as_quick_as_it_says():
    """About one rad per second at most, and accelerations relative to the largest."""
    rotations, acceleration = sensing.task_motion(30.0, np.random.default_rng(1))
    turn = np.einsum("nij,nik->njk", rotations[:-1], rotations[1:])
    rate = (
        np.arccos(np.clip((np.trace(turn, axis1=1, axis2=2) - 1.0) / 2.0, -1.0, 1.0)) * sensing.RATE
    )
    assert 0.3 < rate.max() < 2.0
    assert acceleration.max() == pytest.approx(1.0) and acceleration.min() >= 0.0

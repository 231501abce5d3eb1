"""The model-level ids pass, do not depend on the clock, and can fail."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.robots import load_robot
from farhand_lab import harness
from farhand_lab.dual_arm import dynamics, kinematics, speed
from farhand_lab.dual_arm.pair import CoupledArms, rig_pair, states
from farhand_lab.harness import Entry
from farhand_lab.mutation import NUMERICAL_FAILURES, Mutation

MODULES = (kinematics, dynamics, speed)
IDS = [
    item.id
    for item in harness.experiments_of("dual-arm")
    if item.function.__module__ in {module.__name__ for module in MODULES}
]
TIMED = {"D-54", "D-58"}
MUTATIONS = [mutation for module in MODULES for mutation in module.MUTATIONS]


def entries(ids: list[str], seed: int = 0) -> list[Entry]:
    """Run these ids afresh."""
    harness.clear_shared()
    with harness.seeded(seed):
        items = [item for item in harness.experiments_of("dual-arm") if item.id in ids]
        judged = harness.measure(items, failures=NUMERICAL_FAILURES)
    harness.clear_shared()
    return judged


@pytest.fixture(scope="module")
def measured() -> dict[str, Entry]:
    """Every id of these files, once; those that judge a time are left to ``farhand reproduce``."""
    return {entry.id: entry for entry in entries([id for id in IDS if id not in TIMED])}


@pytest.mark.parametrize("id", [id for id in IDS if id not in TIMED])
def test_the_criterion_is_met(measured, id: str) -> None:
    """The arm is the published one."""
    assert measured[id].verdict == "pass", measured[id].note


def test_another_seed_gives_the_same_verdicts() -> None:
    """No verdict hangs on one lucky draw of states."""
    cheap = [id for id in IDS if id not in TIMED | {"D-10", "D-57"}]
    assert {entry.id: entry.verdict for entry in entries(cheap, seed=3)} == dict.fromkeys(
        cheap, "pass"
    )


def test_values_of_timed_ids_are_words() -> None:
    """A measured time would change the report from run to run; only a miss says by how much."""
    for entry in entries(sorted(TIMED)):
        assert isinstance(entry.value, str)
        assert entry.verdict == "differs" or not any(unit in entry.note for unit in ("µs", "ms"))


@pytest.mark.parametrize(
    "mutation", [m for m in MUTATIONS if set(m.watched) - TIMED], ids=lambda m: m.name
)
def test_a_broken_part_is_noticed(mutation: Mutation) -> None:
    """Each id that watches the part flips."""
    watched = sorted(set(mutation.watched) - TIMED)
    with mutation.apply():
        broken = entries(watched)
    assert {entry.id: entry.verdict for entry in broken} == dict.fromkeys(watched, "differs")


def test_every_id_of_these_files_is_watched_by_a_mutation() -> None:
    """A check that nothing can fail proves nothing."""
    assert {id for mutation in MUTATIONS for id in mutation.watched} == set(IDS)


@pytest.fixture(scope="module")
def pair() -> CoupledArms:
    """The rig's arms with an undamped law."""
    return rig_pair()


def test_the_laws_error_decays_as_designed_if_the_arms_obey_their_tables(pair: CoupledArms) -> None:
    """ÿ + K_d ẏ + K_p e = 0 near the start posture, with pushes on both tools."""
    home, rng, law = load_robot("ur5e").home, np.random.default_rng(0), pair.law
    for _, v in states("test", 20):
        pair.set_state(home, v, home + 0.3 * v, v[::-1].copy())
        law.engage(pair.a, pair.b)
        pair.set_state(home + 0.01, v, home + 0.3 * v, v[::-1].copy())
        pair.a.wrench, pair.b.wrench = rng.normal(scale=10.0, size=(2, 6))
        pair.multiplier()
        restoring = law.derivative * law.rate + law.proportional * law.error
        np.testing.assert_allclose(pair.error_acceleration(), restoring, rtol=0, atol=1e-9)


def test_the_regulator_written_down_in_numpy_is_the_law() -> None:
    """Two programs for one equation: the published pseudo-code and the tick's own."""
    pair = speed._moving_pair()
    wrenches = np.random.default_rng(1).normal(size=(2, 6))
    pair.a.wrench, pair.b.wrench = wrenches
    motion = [(arm.q.copy(), arm.v.copy()) for arm in pair.arms]
    np.testing.assert_allclose(
        speed._regulator(pair, motion, wrenches), pair.multiplier(), rtol=0, atol=1e-9
    )

"""Performing: what was shown on the dual-arm rig is done again on a wall that has moved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.errors import Mismatch
from farhand.learning import demonstrations_in, learn
from farhand.learning.demonstration import DemonstratedRobot
from farhand.recording.loader import load
from farhand.rigs import Options, build_rig
from farhand.robots import load_robot
from farhand.running.performing import outcome_of, perform_rig, reach_of
from farhand.running.rerun import record
from tests.learning.conftest import made_up


@pytest.fixture(scope="module")
def skill(tmp_path_factory):
    """From five recorded wipes."""
    folder = tmp_path_factory.mktemp("wipes")
    rigs = [build_rig("dual-arm", Options(scenario="wipe", seed=seed)) for seed in range(1, 6)]
    paths = [record(rig, folder / f"{rig.options.seed}.mcap") for rig in rigs]
    return learn("wipe", [one for path in paths for one in demonstrations_in(load(path))])


def performance(skill, aware: bool):
    """On a wall 2 cm further away and turned by 5°."""
    rig = perform_rig(
        skill, Options(seed=9, settings=[("law.force_aware", aware)]), 0.02, np.radians(5.0)
    )
    try:
        rig.session.run(rig.scenario.seconds, rig.metrics.pull)
        assert not rig.session.trips
        return outcome_of(rig)
    finally:
        rig.close()


def test_no_two_wipes_are_alike_and_the_same_seed_is():
    """The virtual operator varies with the seed alone."""
    moves = {seed: build_moves(seed) for seed in (1, 2)}
    assert moves[1] != moves[2] and moves[1] == build_moves(1)


def build_moves(seed: int):
    """The hand's moves for a seed."""
    rig = build_rig("dual-arm", Options(scenario="wipe", seed=seed))
    rig.close()
    return rig.parts.hand.path.moves


def test_the_force_aware_skill_keeps_contact_and_force_where_the_other_loses_both(skill):
    """Contact ≥ 90 % of the time and the mean force within 20 % of the demonstrated one."""
    aware, blind = performance(skill, True), performance(skill, False)
    assert aware.phase == blind.phase == 1.0
    assert aware.contact_kept >= 0.9 and abs(aware.force_ratio - 1.0) < 0.2
    assert blind.contact_kept < 0.5
    assert aware.goal_error < 5e-3


def test_a_skill_of_another_rig_is_refused():
    """By name."""
    robot = DemonstratedRobot("hazardous", "follower", "lwa4p", ("a",))
    other = learn("x", [made_up(seed, robot) for seed in range(5)])
    with pytest.raises(Mismatch, match="'x' is of rig 'hazardous'.*dual-arm and humanoid"):
        perform_rig(other, Options())


def test_the_humanoid_performs_by_position_from_where_it_is():
    """A made-up skill of its left arm: the real wrist makes the learnt displacement, whatever the
    servos report.
    """
    robot = DemonstratedRobot("humanoid", "follower", "phua", ("a", "b", "c"))
    shown = [made_up(seed, robot) for seed in range(5)]
    shown = [
        replace(one, position=0.06 * one.position, settings={"rig.limb": "left-arm"})
        for one in shown
    ]
    rig = perform_rig(learn("reach", shown), Options(settings=[("rig.rate", 200.0)]))
    tool, seen = rig.world.ports["follower"].tool, []
    try:
        rig.session.run(rig.scenario.seconds, lambda: seen.append(tool.position.copy()), 0.1)
    finally:
        rig.close()
    np.testing.assert_allclose(seen[-1] - seen[5], [0.018, 0.0, 0.0], atol=2.5e-3)
    with pytest.raises(Mismatch, match="touches no wall"):
        perform_rig(learn("reach", shown), Options(), shift=0.01)


@pytest.mark.parametrize("name", [("ur5e",), ("iiwa14",), ("phua", "left-arm"), ("omni",)])
def test_an_arm_reaches_no_further_than_its_links_in_one_line(name):
    """Slides by as much as they travel; no posture is further away, and the bound is within twice
    the furthest.
    """
    arm = Arm.of(load_robot(*name))
    base, length = reach_of(arm)
    limits = (arm.model.lowerPositionLimit, arm.model.upperPositionLimit)
    low, high = (np.clip(limit, -np.pi, np.pi) for limit in limits)
    rng, furthest = np.random.default_rng(0), 0.0
    for _ in range(300):
        arm.update(rng.uniform(low, high), np.zeros(arm.nv))
        furthest = max(furthest, float(np.linalg.norm(arm.position - base)))
    assert furthest <= length < 2.0 * furthest

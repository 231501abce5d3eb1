"""What a run's numbers do not say by themselves."""

from __future__ import annotations

import pytest

from farhand.report.summary import result_of
from farhand.rigs import Options, build_rig
from farhand.running.run import RunOutcome


def hints_of(leader: str, follower: str, space: str, seconds: float) -> list[str]:
    """Of a pair that goes into the wall."""
    arms = [("rig.leader_plant", leader), ("rig.follower_plant", follower), ("rig.space", space)]
    rig = build_rig("pair", Options(scenario="wall", settings=arms))
    rig.session.run(seconds, rig.metrics.pull)
    result = result_of(rig, RunOutcome(seconds, 1.0, interrupted=False))
    rig.close()
    return result["hints"]


def test_a_wall_that_was_not_reached_is_said_with_what_holds_the_follower():
    """An SO-101 cannot turn a Panda's joints against their dry friction."""
    [hint] = hints_of("so101-leader", "panda", "joints", 4.1)
    assert hint.startswith("the wall was not reached: the follower stayed ")
    assert "dry friction holds its joints" in hint and "N·m of the coupling against 1.1" in hint


def test_nothing_is_said_of_a_wall_before_the_hand_has_gone_there():
    """A run that was short by choice has missed nothing."""
    assert hints_of("so101-leader", "panda", "joints", 1.0) == []


@pytest.mark.parametrize("space", ["joints", "tool"])
def test_a_share_that_is_not_the_whole_contact_is_explained(space):
    """By the friction of the gears, and where joints are coupled by their levers."""
    [hint] = hints_of("vx300s", "vx300s", space, 5.3)
    assert "% felt, not 100 %: dry friction (up to" in hint
    assert ("equal torques, not forces" in hint) == (space == "joints")

"""The pair rig: any two arms, joint by joint or tool to tool, gripper included."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.errors import FarhandError, Mismatch, UnknownName
from farhand.report.run import plots_of
from farhand.report.summary import headline, result_of
from farhand.rigs import Options, Rig, build_rig
from farhand.running.run import RunOutcome


def built(leader: str, follower: str, space: str = "joints", **more) -> Rig:
    """A pair of robots."""
    names = [("rig.leader_plant", leader), ("rig.follower_plant", follower), ("rig.space", space)]
    return build_rig("pair", Options(settings=names, **more))


def run(rig: Rig, seconds: float) -> dict:
    """Metrics after some seconds; nobody has tripped."""
    rig.session.run(seconds, rig.metrics.pull)
    assert [record.trip.reason for record in rig.session.trips] == []
    return {name: value for name, (value, _) in rig.metrics.values().items()}


@pytest.mark.parametrize("space", ["joints", "tool"])
@pytest.mark.parametrize(
    "leader, follower", [("so101-leader", "so101"), ("openarm", "openarm"), ("ur5e", "panda")]
)
def test_a_pair_follows_in_free_space_and_its_energy_balances(leader, follower, space):
    """Like and unlike arms, of 0.5 to 20 kg."""
    rig = built(leader, follower, space, scenario="free")
    found = run(rig, 2.2)
    base = np.array(rig.world.placed["follower"].placement.position)
    away = np.linalg.norm(rig.world.ports["follower"].tool.position - base)
    assert found["tracking_error_max"] < 0.15 * away
    assert found["energy_balance_error"] < 1e-3
    rig.close()


@pytest.mark.parametrize("pair", [("so101-leader", "so101"), ("panda", "panda")])
def test_what_the_gripper_squeezes_is_felt_by_the_fingers(pair):
    """At rest the object's push is the fingers' pull, times the ratio of the grippers' ways."""
    rig = built(*pair, scenario="squeeze")
    run(rig, 6.0)
    fingers, thing = (rig.session.parameters[name] for name in ("fingers", "object"))
    ratio = rig.session.bridges[0].laws[0].mapping.matrix[-1, -1]
    friction = sum(port._friction_free[-1] for port in rig.world.ports.values())
    assert thing.force > 0.0
    assert -fingers.now[-1] == pytest.approx(ratio * thing.force, abs=0.01 + friction)
    rig.close()


def test_both_ends_of_a_link_have_the_same_map_of_joints():
    """The leader captures the offsets; they travel in its packets."""
    rig = built("so101-leader", "so101", scenario="free", delay=20.0)
    run(rig, 1.5)
    a, b = rig.session.bridges[0].laws
    assert np.abs(a.mapping.offsets).max() > 0.0
    np.testing.assert_allclose(a.mapping.numbers, b.mapping.numbers)
    rig.close()


def test_an_unknown_arm_is_refused_with_the_robots_there_are():
    """Neither a robot nor a driver."""
    with pytest.raises(UnknownName) as refused:
        built("nosuch", "so101")
    assert "koch-leader" in str(refused.value)
    with pytest.raises(FarhandError):
        built("ur:nowhere", "so101")


@pytest.mark.parametrize("space", ["joints", "tool"])
@pytest.mark.parametrize(
    "leader, follower", [("koch-leader", "koch"), ("ur5e", "so101"), ("lwa4p", "lwa4p")]
)
def test_the_demo_of_like_and_unlike_arms_ends_in_the_wall_and_trips_nothing(
    leader, follower, space
):
    """Moves, wall and hand suit the arms: their reach, their speed and what the leader carries."""
    rig = built(leader, follower, space, scenario="wall")
    found = run(rig, 8.0)
    assert found["energy_wall_on_follower"] != 0.0
    assert found["contact_force_max"] > 0.3
    rig.close()


def test_a_pen_on_slides_leads_an_arm_tool_to_tool_and_not_joint_by_joint():
    """Metres do not become radians; what would work is said."""
    with pytest.raises(Mismatch, match="--space tool"):
        built("omni", "so101")
    rig = built("omni", "so101", "tool", scenario="free")
    assert run(rig, 2.0)["tracking_error_max"] < 0.02
    rig.close()


@pytest.mark.parametrize("pair", [("so101-leader", "so101"), ("panda", "fr3")])
def test_the_numbers_of_a_grip_are_those_of_the_object(pair):
    """What the observers make of the fingers and the object, against the simulation's truth."""
    rig = built(*pair, scenario="squeeze")
    found = run(rig, 6.0)
    truth = abs(rig.world.ports["follower"].push.now[-1])
    assert truth > 0.1 and found["grip_effort_max"] >= 0.99 * truth
    assert found["grip_reflection"] == pytest.approx(1.0, abs=0.02)
    result = result_of(rig, RunOutcome(6.0, 1.0, interrupted=False))
    assert headline(result).endswith("% of the grip")
    titles = [plot.title for plot in plots_of(rig, result)]
    assert any(title.startswith("Gripper: the fingers feel") for title in titles)
    assert not any(title.startswith("Nothing is touched") for title in titles)
    # errors of joints are no distances
    assert not any(title.startswith("Tracking error") for title in titles)
    rig.close()


def test_a_gripper_that_closes_on_nothing_holds_nothing():
    """Its dry friction is no object."""
    rig = built("so101-leader", "so101", scenario="squeeze")
    rig.session.commands.post_text("0:set object.present=false")
    found = run(rig, 4.0)
    assert found["grip_reflection"] is None
    assert found["gripper_error_max"] > 0.01
    rig.close()


@pytest.mark.parametrize("law", ["four-channel", "four-channel-sensorless"])
@pytest.mark.parametrize("space", ["joints", "tool"])
def test_four_channels_press_on_a_wall_with_motors_at_their_limit(law, space):
    """The leader of an SO-101 is too weak for what its follower pushes; neither runs away."""
    rig = built("so101-leader", "so101", space, law=law, scenario="wall")
    found = run(rig, 6.0)
    assert found["torque_cut_ticks"] > 0.0 and found["contact_force_max"] > 3.0
    rig.close()


@pytest.mark.parametrize(
    ("leader", "follower", "says"),
    [
        ("feetech", "so101", "'feetech' is not how to name this plant: write feetech:PORT"),
        ("feetech:/dev/x", "feetech:/dev/x", "leader and follower are both feetech:/dev/x"),
    ],
)
def test_a_machine_without_address_or_twice_is_refused(leader, follower, says):
    """In one line, before a port is opened."""
    chosen = [("rig.leader_plant", leader), ("rig.follower_plant", follower)]
    with pytest.raises(FarhandError, match=says):
        build_rig("pair", Options(settings=chosen))

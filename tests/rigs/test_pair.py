"""The pair rig: any two arms, joint by joint or tool to tool, gripper included."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.errors import FarhandError, UnknownName
from farhand.rigs import Options, Rig, build_rig


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
    assert "so101" in str(refused.value)
    with pytest.raises(FarhandError):
        built("ur:nowhere", "so101")

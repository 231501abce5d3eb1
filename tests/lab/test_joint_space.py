"""Laws over joints feel as the closed forms say, and no pair's joint map makes power."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.rigs.pair.parts import shaped
from farhand_lab.joint_space import case_of, felt_inertia, felt_stiffness
from farhand_lab.pairs import PAIRS


@pytest.mark.parametrize("space", ["joints", "tool"])
@pytest.mark.parametrize("law", ["position-position", "four-channel"])
def test_the_wall_feels_as_stiff_as_the_closed_form(law, space):
    """The wall alone, or the wall behind the coupling's springs."""
    felt, expected = felt_stiffness(case_of("ur5e", space, law))
    assert felt == pytest.approx(expected, rel=0.01)


def test_four_channels_over_joints_hide_the_followers_inertia():
    """By the criterion of coupled tools (L-20): less than a tenth of it is felt."""
    assert abs(felt_inertia(case_of("ur5e", "joints", "four-channel"))) < 0.1


@pytest.mark.parametrize("arms", PAIRS, ids="-".join)
def test_no_joint_map_of_a_pair_makes_power(arms):
    """Torque back times the leader's speed is torque times the follower's, at limits too."""
    settings = [("rig.leader_plant", arms[0]), ("rig.follower_plant", arms[1])]
    _, both = shaped(settings)
    mapping = both.mapping(20.0)
    rng, moved = np.random.default_rng(0), 0.0
    for _ in range(20):
        q, v = rng.uniform(-4.0, 4.0, mapping.leader_joints), rng.normal(size=mapping.leader_joints)
        torque, felt = rng.normal(size=len(mapping.source)), np.zeros(mapping.leader_joints)
        mapping.forward(q, v)
        mapping.back(torque, felt)
        assert felt @ v == pytest.approx(mapping.force_scale * torque @ mapping.v, abs=1e-9)
        moved += float(np.abs(mapping.v).sum())
    assert moved > 0.0

"""With a layer on, a pair coupled joint by joint makes no energy, whatever the delay."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.coupling.port import JointPort
from farhand.link.layers import LAYERS
from farhand.mapping.joint_map import JointMapping
from farhand.rigs import Options, Rig, build_rig
from farhand_lab.joint_space import net_energy

DT = 1e-3


def built(leader: str, follower: str, law: str, layer: str, delay: float, scenario: str) -> Rig:
    """A pair coupled by its joints."""
    names = [("rig.leader_plant", leader), ("rig.follower_plant", follower)]
    return build_rig("pair", Options(law, layer, scenario, delay=delay, settings=names))


@pytest.mark.parametrize(
    ("leader", "follower", "law", "layer", "delay", "scenario", "seconds"),
    [
        ("vx300s", "vx300s", "four-channel", "tdpa", 50.0, "wall", 4.0),
        ("so101-leader", "so101", "position-force", "tank", 400.0, "free", 2.5),
        ("openarm", "openarm", "virtual-constraints", "tdpa", 200.0, "squeeze", 2.5),
        ("panda", "fr3", "position-position", "waves", 100.0, "wall", 3.0),
        ("so101-leader", "panda", "position-position", "waves", 0.0, "wall", 3.0),
    ],
)
def test_no_energy_is_made_in_joint_space(leader, follower, law, layer, delay, scenario, seconds):
    """Arms alike and unlike, in contact and free, gripper included: no more than is lent."""
    rig = built(leader, follower, law, layer, delay, scenario)
    rig.session.run(seconds, rig.metrics.pull)
    account, work, exchanged = net_energy(rig)
    lent = 3.0 * getattr(rig.parts.layer, "lent", 0.0)
    assert exchanged > 0.0 and not rig.session.trips
    assert account.min() >= -lent - 1e-9
    assert work.min() >= -lent - 2e-3 * exchanged
    np.testing.assert_allclose(work, account[1:], atol=2e-3 * exchanged)
    rig.close()


def test_motors_at_their_limit_make_no_energy_past_the_layer():
    """A handle that the starved arm cannot follow asks for 140 N·m where 21 N·m is all there is.

    Booked as asked, at the velocity of a step's start, 22 mJ were missing in the account, and
    joules in fact. To each of three accounts as much is lent, and to two as much again while their
    forces fade.
    """
    rig = built("vx300s", "vx300s", "admittance", "tdpa", 0.0, "wall")
    rig.session.run(3.6, rig.metrics.pull)
    account, work, exchanged = net_energy(rig)
    lent = rig.parts.layer.lent
    assert any(station.guard.clipped for station in rig.session.stations)
    assert exchanged > 1.0 and not rig.session.trips
    assert account.min() >= -5.0 * lent
    assert work.min() >= -5.0 * lent
    rig.close()


def test_without_a_layer_the_same_pair_does_make_energy_and_trips():
    """The test above can fail: four channels over 50 ms shake themselves up."""
    rig = built("so101-leader", "so101", "four-channel", "none", 50.0, "wall")
    rig.session.run(2.0, rig.metrics.pull)
    account, work, _ = net_energy(rig)
    assert account.min() < -1.0 and work.min() < -1.0
    assert rig.session.trips
    rig.close()


@pytest.mark.parametrize("layer", LAYERS)
def test_a_joint_that_drives_nothing_feels_no_layer_and_pays_for_nothing(layer):
    """However fast it moves."""
    port = LAYERS[layer]().ports()[0]
    joints = JointMapping(source=(0, 2), signs=(1.0, -1.0), leader_joints=3, idle=(1,))
    port.suit(JointPort(joints), 3)
    port.drives = JointPort(joints).drives
    for _ in range(10):
        pushed = port.push(np.zeros(3), np.array([0.2, 5.0, 0.1]), DT).copy()
    assert pushed[1] == 0.0 and port.given[1] == 0.0 and port.taken[1] == 0.0
    assert pushed[0] < 0.0 < port.given[0]


def test_a_layer_grows_with_the_arms():
    """Energies with the stiffness of the strongest joint, dampers with its damping."""
    small, large = (
        built(name, name, "position-position", "tdpa", 20.0, "free") for name in ("so101", "panda")
    )
    ratios = [
        [getattr(rig.parts.layer, name) for rig in (large, small)]
        for name in ("lent", "level", "damping_limit", "fill")
    ]
    lent, level, limit, fill = (one / other for one, other in ratios)
    springs = [rig.session.bridges[0].laws[0].spring for rig in (large, small)]
    stiffer = springs[0].rotational_stiffness / springs[1].rotational_stiffness
    assert lent == pytest.approx(stiffer) and level == pytest.approx(stiffer)
    assert limit == pytest.approx(springs[0].rotational_damping / springs[1].rotational_damping)
    assert fill == pytest.approx(limit / stiffer)
    small.close()
    large.close()

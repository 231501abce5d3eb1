"""A pair of servo arms: the rig, the drivers and the bytes on both buses, in virtual time."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.plants.servo_arm import virtual
from farhand_lab.servo_pairs import LAWS, build_pair, plants_of, push

MOST_JUMP = 1.0
"""Largest change of the hand's force within 10 ms that counts as smooth, [N]."""


@pytest.mark.parametrize("law", ["position-position", "four-channel-sensorless"])
@pytest.mark.parametrize("arm", ["so101", "koch"])
def test_contact_is_felt_over_two_bad_buses(arm, law):
    """1 % of the answers lost and 1 % corrupt: nobody trips, nothing jumps, and what the wall
    pushes with arrives at the hand, but for the friction of the gears: at most 1.2 N either way,
    which is 0.18 N·m at the smaller reach of 0.15 m above the elbow.
    """
    rig = build_pair(f"{arm}-leader", arm, law, drop=0.01, corrupt=0.01)
    found = push(rig, 2.0)
    leader, follower = plants_of(rig)
    assert found.trips == () and found.jump < MOST_JUMP
    assert found.contact > 0.3
    assert found.felt == pytest.approx(found.contact, abs=1.2)
    assert leader.missed > 20 and follower.missed > 20
    # the bus's own pace, by its bits
    assert min(found.rates) > 400.0
    rig.close()


@pytest.mark.parametrize("law", LAWS)
def test_no_law_shakes_over_a_slow_bus(monkeypatch, law):
    """A host that takes 1 ms for an exchange, as a busy one in wall time does: 340 cycles a second
    instead of 460. The hand's force changes by less than 0.3 N in 10 ms; a gate that opened with
    three times the stiffness shook by 0.4 N.
    """
    monkeypatch.setattr(virtual, "HOST_NS", 1_000_000)
    rig = build_pair("koch-leader", "koch", law)
    found = push(rig)
    assert found.trips == () and found.contact > 0.3
    assert max(found.rates) < 350.0 and found.jump < 0.3
    rig.close()


def unplug(plant):
    """Pull the cable of the bus."""
    plant.bus.plugged = False


def reboot(plant):
    """Let the elbow's servo lose its power for a moment."""
    plant.bus.simulated.reboot(3)


def overload(plant):
    """Let the shoulder's servo report an overload."""
    plant.simulated.servos[1]["hardware_error"] = 32


def brown_out(plant):
    """Take most of the supply away."""
    plant.simulated.supply = 0.3


def storm(plant):
    """Let every answer be corrupt."""
    plant.bus.simulated.faults.corrupt = 1.0


@pytest.mark.parametrize(
    ("happens", "words", "limp"),
    [
        (unplug, "the servo bus at simulated so101 is gone", ()),
        (reboot, "servo 3 (elbow_flex) at simulated so101 gave no answer 10 times", (2,)),
        (overload, "servo 2 (shoulder_lift) at simulated so101 reports overload", ()),
        (brown_out, "servo 1 (shoulder_pan) at simulated so101 gave no answer 10 times", range(6)),
        (storm, "at simulated so101 gave no answer 10 times", ()),
    ],
)
def test_a_fault_of_the_followers_bus_stops_the_pair_and_says_so(happens, words, limp):
    """The follower trips with its reason within 0.1 s, the leader is decoupled, and nothing pushes
    on: an arm that hears nothing moves no farther than its goal, 0.153 rad ahead. A servo without
    power lets its joint fall; nobody can hold that.
    """
    rig = build_pair("so101-leader", "so101")
    rig.session.run(0.3)
    leader, follower = plants_of(rig)
    assert rig.session.trips == []
    before, held = follower.simulated.port.q.copy(), leader.simulated.port.q.copy()
    happens(follower)
    rig.session.run(0.5)
    trip = rig.session.trips[0]
    assert trip.where == "follower" and words in trip.trip.reason
    assert trip.trip.time_ns < 400_000_000
    moved = np.abs(follower.simulated.port.q - before)
    assert moved[[joint for joint in range(6) if joint not in limp]].max(initial=0.0) < 0.16
    assert np.abs(leader.simulated.port.q - held).max() < 0.3
    rig.close()


@pytest.mark.parametrize(
    ("happens", "words", "limp"),
    [
        (unplug, "the servo bus at simulated koch is gone", ()),
        (reboot, "servo 3 (elbow_flex) at simulated koch gave no answer 10 times", (2,)),
        (overload, "servo 2 (shoulder_lift) at simulated koch reports overload", (1,)),
        (brown_out, "at simulated koch gave no answer 10 times", range(6)),
        (storm, "at simulated koch gave no answer 10 times", ()),
    ],
)
def test_the_same_faults_stop_a_dynamixel_arm(happens, words, limp):
    """Unplugged, its watchdogs take the current away after 0.1 s, and its joints sag. A Dynamixel
    that is overloaded switches itself off. Those that have power hold.
    """
    rig = build_pair("koch-leader", "koch")
    rig.session.run(0.3)
    follower = plants_of(rig)[1]
    before = follower.simulated.port.q.copy()
    happens(follower)
    rig.session.run(0.5)
    trip = rig.session.trips[0]
    assert trip.where == "follower" and words in trip.trip.reason
    assert trip.trip.time_ns < 400_000_000
    if happens is unplug:
        assert all(servo._watchdog_expired for servo in follower.simulated.servos)
        return
    moved = np.abs(follower.simulated.port.q - before)
    assert moved[[joint for joint in range(6) if joint not in limp]].max(initial=0.0) < 0.16
    rig.close()

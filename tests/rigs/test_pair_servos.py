"""A pair of servo arms: the rig, the drivers and the bytes on both buses, in virtual time."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import EntryPoint

import numpy as np
import pytest

from farhand import plugins
from farhand.loop.clock import VirtualClock
from farhand.plants.plant import Plant
from farhand.plants.servo_arm.description import load_arm
from farhand.plants.servo_arm.simulated_arm import BusFaults, SimulatedArm, SimulatedServoBus
from farhand.plants.servo_arm.virtual import VirtualServoPlant
from farhand.rigs import Options, build_rig


class Fast(VirtualClock):
    """Wall time that waits for nothing, because the buses have no wall time either."""

    name = "wall"


class OnABus(Plant):
    """An arm on its bus: a hand holds the leader, a wall stands before the follower."""

    address_hint = "ARM"
    faults = BusFaults()

    @classmethod
    def open(cls, address, *, name, robot, placement, gravity):
        """The driver of a simulated arm."""
        arm = SimulatedArm(load_arm(address), np.random.default_rng(1), gravity=gravity)
        if name == "leader":
            arm.put_hand(0.05, pause=0.3)
        else:
            arm.put_wall(0.015)
        return VirtualServoPlant(
            name, SimulatedServoBus(arm, replace(cls.faults), np.random.default_rng(len(name)))
        )


@pytest.fixture
def pair_of(monkeypatch):
    """A pair of arms by name, on buses with these faults."""
    point = EntryPoint("on-a-bus", "tests.rigs.test_pair_servos:OnABus", "farhand.plants")
    monkeypatch.setitem(plugins.found("farhand.plants"), "on-a-bus", point)

    def make(leader, follower, **faults):
        monkeypatch.setattr("tests.rigs.test_pair_servos.OnABus.faults", BusFaults(**faults))
        settings = [
            ("rig.leader_plant", f"on-a-bus:{leader}"),
            ("rig.follower_plant", f"on-a-bus:{follower}"),
            ("rig.leader_robot", leader),
            ("rig.follower_robot", follower),
        ]
        return build_rig("pair", Options(settings=settings, clock=Fast()))

    return make


def test_contact_of_an_so101_is_felt_at_its_leader_over_two_bad_buses(pair_of):
    """1 % of the answers lost and 1 % corrupt: nobody trips, and what the wall pushes with arrives
    at the hand, but for the friction of the gears: at most 1 N either way, which is 0.15 N·m at the
    smaller reach of 0.15 m above the elbow.
    """
    rig = pair_of("so101-leader", "so101", drop=0.01, corrupt=0.01)
    rig.session.run(2.6)
    leader, follower = (station.plant.plant for station in rig.session.stations)
    assert [record.trip.reason for record in rig.session.trips] == []
    felt = np.mean(leader.simulated.forces["hand"][-3:])
    contact = -np.mean(follower.simulated.forces["wall"][-3:])
    assert contact > 1.0
    assert felt == pytest.approx(contact, abs=1.0)
    assert leader.missed > 20 and follower.missed > 20
    # the bus's own pace, by its bits
    assert leader.worker.calls > 1000
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
def test_a_fault_of_the_followers_bus_stops_the_pair_and_says_so(pair_of, happens, words, limp):
    """The follower trips with its reason within 0.1 s, the leader is decoupled, and nothing pushes
    on: an arm that hears nothing moves no farther than its goal, 0.153 rad ahead. A servo without
    power lets its joint fall; nobody can hold that.
    """
    rig = pair_of("so101-leader", "so101")
    rig.session.run(0.3)
    leader, follower = (station.plant.plant for station in rig.session.stations)
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

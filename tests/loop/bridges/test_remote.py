"""The remote bridge: both sides in two sessions do what both do in one, and the external torque
crosses too.
"""

from __future__ import annotations

import numpy as np
import pytest

from farhand.link.channel import MemoryChannel
from farhand.rigs import Options, build_rig

TICK = 1e-3  # [s]
QUIET = {"force_noise": 0.0, "torque_noise": 0.0}


def two_sides(seconds: float, **options):
    """A leader and a follower over perfect channels, run in step."""
    rigs = []
    for role in ("leader", "follower"):
        quiet = [(f"{role}.plant.{name}", value) for name, value in QUIET.items()]
        rigs.append(
            build_rig(
                "dual-arm",
                Options(side=role, **{**options, "settings": quiet + options["settings"]}),
            )
        )
    there, back = MemoryChannel(), MemoryChannel()
    rigs[0].session.bridges[0].end.endpoint.connect(there, back)
    rigs[1].session.bridges[0].end.endpoint.connect(back, there)
    for _ in range(round(seconds / TICK)):
        for rig in rigs:
            rig.session.run(TICK)
    for rig in rigs:
        rig.metrics.pull()
    return rigs


def test_two_sessions_do_what_one_does():
    """The same scenario over the shortest link there is, a tick each way: half a millimetre apart
    at most.
    """
    leader, follower = two_sides(1.6, law="position-position", scenario="free", settings=[])
    settings = [
        (f"{role}.plant.{name}", value)
        for role in ("leader", "follower")
        for name, value in QUIET.items()
    ]
    whole = build_rig(
        "dual-arm", Options(law="position-position", scenario="free", settings=settings)
    )
    whole.session.run(1.6)
    apart = (
        follower.world.ports["follower"].tool.position - whole.world.ports["follower"].tool.position
    )
    assert np.linalg.norm(apart) < 5e-4
    assert leader.session.bridges[0].a.energy > 0.0
    for rig in (leader, follower, whole):
        rig.close()


def test_the_telemetry_has_the_links_numbers_and_nothing_of_the_other_sides():
    """What only the other process knows is not a number here."""
    leader, follower = two_sides(1.2, law="position-position", scenario="free", settings=[])
    history = leader.metrics.history
    assert history.signal("coupling", "link_round_trip")[-1, 0] == pytest.approx(TICK)
    assert history.signal("coupling", "link_loss")[-1, 0] == 0.0
    energy = history.signal("coupling", "port_energy")[-1]
    assert np.isfinite(energy[0])
    assert np.isnan(energy[1])
    for rig in (leader, follower):
        rig.close()


def test_a_side_that_ends_says_so_and_the_other_parts_before_it_wonders():
    """One packet of a few is enough; no silence has to pass, and the silence that follows is no
    fault.
    """
    leader, follower = two_sides(0.5, law="position-position", scenario="free", settings=[])
    assert follower.session.bridges[0].end.engagement.wanted
    leader.session.bridges[0].leave(leader.session.now_ns)
    follower.session.run(2 * TICK)
    assert not follower.session.bridges[0].end.engagement.wanted
    follower.session.run(0.5)
    assert follower.session.trips == []
    follower.metrics.pull()
    # while the coupling fades; then nobody acts on it
    assert follower.metrics.result()["link_age_max"]["value"] < 0.25
    for rig in (leader, follower):
        rig.close()


def test_a_wish_to_couple_with_a_tripped_follower_is_refused_and_forgotten():
    """It must not come true when somebody resets the follower."""
    leader, follower = two_sides(0.3, law="position-position", scenario="free", settings=[])
    follower.session.commands.post("stop")
    for _ in range(5):
        for rig in (follower, leader):
            rig.session.run(TICK)
    bridge = leader.session.bridges[0]
    outcome = bridge.engage()
    assert not outcome.done and "tripped" in outcome.text
    follower.session.commands.post("reset")
    for _ in range(300):
        for rig in (follower, leader):
            rig.session.run(TICK)
    assert not bridge.end.engagement.wanted
    assert bridge.engage().done
    for rig in (leader, follower):
        rig.close()


def test_a_push_on_the_leaders_links_that_is_known_there_is_known_at_the_follower():
    """The packet carries it; without it the follower's law would take the push for something
    else.
    """
    pushed = [
        ("rig.push_torque", "20,0,0,0,0,0"),
        ("rig.push_start", 0.1),
        ("rig.push_known", True),
    ]
    leader, follower = two_sides(0.3, law="virtual-constraints", scenario="rest", settings=pushed)
    remote = follower.session.bridges[0].end.remote
    assert remote.external_torque is not None
    assert remote.external_torque.tolist() == [20.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    for rig in (leader, follower):
        rig.close()


def test_a_law_that_raises_at_one_side_stops_it_there_and_the_other_side_parts():
    """The reason is told where it happened; the other end hears that it has tripped."""
    leader, follower = two_sides(0.4, law="position-position", scenario="free", settings=[])
    end = follower.session.bridges[0].end
    end.law.step = lambda a, b, dt: {}["gain"]
    for _ in range(20):
        for rig in (leader, follower):
            rig.session.run(TICK)
    (trip,) = [record.trip for record in follower.session.trips]
    assert trip.kind == "invalid"
    assert trip.reason.startswith("law 'position-position' raised KeyError: 'gain' (test_remote.py")
    assert not end.engagement.wanted
    assert not leader.session.bridges[0].end.engagement.wanted
    for rig in (leader, follower):
        rig.close()

"""Bridges: engaged and parted without a jump, in one process and across a link, and never engaged
unasked.
"""

from __future__ import annotations

import numpy as np
import pytest

from farhand.coupling import FourChannelSensorless
from farhand.errors import Mismatch
from farhand.loop.bridges.direct import DirectBridge

DT, RAMP = 1e-3, 0.2
REACH = 0.95  # of a UR5e [m]: no joint has a longer lever
BRAKING = 24.0  # [N·m]: what slows the heaviest joint at 8 rad/s²

LINKED = [("link.outage_start", 1e5), ("link.outage_length", 1.0)]
"""Settings of a link that does nothing until long after the test: a linked bridge over a perfect
network."""


def bump(run, station: str, since: float, until: float) -> tuple[float, float]:
    """Largest change of joint torque per tick in a window, and the physical bound on it.

    A gain fades by at most 1.5 dt / ramp per tick. It fades the coupling's wrench, on a lever of
    the arm's reach, and the hold that takes over, which balances that wrench and brakes; gravity
    and motion add 0.1 N·m at teleoperation speed.
    """
    wrench = run.signal(station, "wrench_commanded_in_world", since, until)
    level = (
        REACH * np.linalg.norm(wrench[:, :3], axis=1).max()
        + np.linalg.norm(wrench[:, 3:], axis=1).max()
    )
    return run.largest_step(station, "torque_commanded", since, until), 1.5 * DT / RAMP * (
        2 * level + BRAKING
    ) + 0.1


def assert_no_bump(run, since: float, until: float) -> None:
    """Neither side's torque jumps in the window."""
    for station in ("leader", "follower"):
        found, bound = bump(run, station, since, until)
        assert found < bound, station


@pytest.mark.parametrize(
    "law", ["position-position", "position-force", "unilateral", "virtual-constraints"]
)
@pytest.mark.parametrize("settings", [[], LINKED], ids=["direct", "linked"])
def test_unlike_postures_engage_without_a_jump(dual_arm, law, settings):
    """The follower starts elsewhere and the leader has already moved: nothing jumps, and the
    follower follows.
    """
    postures = [("rig.follower_posture", "q_B"), ("wall.present", False)]
    run = dual_arm(law=law, scenario="free", settings=[*postures, *settings])
    run.post("0.0:release", "1.2:engage").on(1.2)
    start = run.follower.arm.position.copy()
    run.on(1.6)
    assert run.trips == []
    assert_no_bump(run, 0.0, 2.8)
    assert 0.02 < run.follower.arm.position[2] - start[2] < 0.2
    error = np.linalg.norm(run.signal("coupling", "error", 1.2)[:, :3], axis=1)
    # it moves on while the coupling fades in
    assert error.max() < run.tool_speed("leader", 1.2) * RAMP
    assert error[-1] < 2e-3


@pytest.mark.parametrize("law", ["position-position", "position-force"])
@pytest.mark.parametrize(("part", "couple"), [("release", "engage"), ("clutch", "declutch")])
def test_parting_and_coupling_under_load_make_no_jump(dual_arm, law, part, couple):
    """The follower presses on the wall with tens of newtons all the while."""
    run = dual_arm(law=law, scenario="press").post(f"3.5:{part}", f"4.0:{couple}").on(4.6)
    assert run.metrics["contact_force_max"] > 30.0
    assert_no_bump(run, 3.4, 4.6)


def test_the_follower_stays_while_clutched_and_keeps_its_place_afterwards(dual_arm):
    """The leader moves on alone; coupled again, the follower is where it was and moves with the
    leader from there.
    """
    run = dual_arm(law="position-position", scenario="free").post("0.9:clutch", "1.7:declutch")
    run.on(1.4)
    leader, follower = run.leader.arm.position.copy(), run.follower.arm.position.copy()
    run.on(0.3)
    led, stayed = run.leader.arm.position - leader, run.follower.arm.position - follower
    assert np.linalg.norm(led) > 0.03
    assert np.linalg.norm(stayed) < 1e-4
    clutched = run.follower.arm.position.copy()
    run.on(0.05)
    assert np.linalg.norm(run.follower.arm.position - clutched) < 2e-3
    leader = run.leader.arm.position.copy()
    run.on(2.0)
    np.testing.assert_allclose(
        run.follower.arm.position - clutched, run.leader.arm.position - leader, atol=5e-3
    )
    assert_no_bump(run, 0.8, 3.7)


def test_engaging_what_is_engaged_makes_no_jump(dual_arm):
    """A second engage under load: ignored, refused or faded, but not felt as a blow."""
    run = dual_arm(law="position-force", scenario="press").post("3.5:engage").on(3.8)
    assert_no_bump(run, 3.4, 3.8)


def test_coupling_again_during_the_fade_makes_no_jump(dual_arm):
    """A quick tap on the clutch under load."""
    run = (
        dual_arm(law="position-force", scenario="press").post("3.5:clutch", "3.55:declutch").on(3.9)
    )
    assert_no_bump(run, 3.4, 3.9)


def test_a_reset_makes_no_jump(dual_arm):
    """The leader held against the hand; reset must not let it snap."""
    run = dual_arm(law="position-position", scenario="free").post("1.0:stop", "2.5:reset").on(2.8)
    assert_no_bump(run, 2.4, 2.8)


def test_a_linked_bridge_over_a_perfect_network_does_what_a_direct_one_does(dual_arm):
    """Packets are one tick old: the same motion within 1 mm and the same contact force within
    2 %.
    """
    direct = dual_arm(law="position-position", scenario="press").on(3.5)
    linked = dual_arm(law="position-position", scenario="press", settings=LINKED).on(3.5)
    assert type(linked.bridge) is not type(direct.bridge)
    for station in ("leader", "follower"):
        difference = direct.signal(station, "position_tool_in_world") - linked.signal(
            station, "position_tool_in_world"
        )
        assert np.abs(difference).max() < 1e-3
    assert linked.metrics["contact_force_final"] == pytest.approx(
        direct.metrics["contact_force_final"], rel=0.02
    )


def test_the_offsets_travel_with_the_engagement(dual_arm):
    """Both ends have the leader's offsets one delay after it engaged, and the same number."""
    run = dual_arm(
        law="position-position",
        scenario="free",
        delay=40.0,
        settings=[("rig.follower_posture", "q_B")],
    )
    run.on(0.2)
    a, b = run.bridge.a, run.bridge.b
    assert a.engagement.number == b.engagement.number == 1
    np.testing.assert_allclose(
        b.law.mapping.offset_position, a.law.mapping.offset_position, atol=1e-12
    )
    np.testing.assert_allclose(
        b.law.mapping.offset_rotation, a.law.mapping.offset_rotation, atol=1e-9
    )
    gains = run.signal("coupling", "engagement")[:, 0]
    # the follower cannot have heard: 20 ms to hear of it at all, 20 ms back
    assert gains[39] == 0.0
    assert gains[-1] > 0.5


def outage(run, start: float, length: float, directions=(0, 1)) -> None:
    """Drop everything in the given directions, leader to follower first."""
    for direction in directions:
        network = run.rig.parts.link.networks[direction]
        network.outages = ((round(start * 1e9), round((start + length) * 1e9)),)


@pytest.mark.parametrize(
    ("law", "directions"),
    [
        ("unilateral", (0, 1)),
        *(
            (law, ways)
            for law in ("position-position", "position-force")
            for ways in ((0, 1), (0,), (1,))
        ),
    ],
)
def test_an_outage_brings_the_follower_to_rest_and_only_a_command_ends_it(
    dual_arm, law, directions
):
    """1 s without packets while the arms move: rest in a bounded time, a reason, no coming back
    alone, and no jump.
    """
    run = dual_arm(law=law, scenario="wall", delay=40.0)
    outage(run, 3.0, 1.0, directions)
    run.post("4.8:engage").on(6.0)

    reasons = [record.trip.reason for record in run.session.trips]
    assert {kind for _, kind in run.trips} == {"link"}
    assert len(reasons) == len(directions)
    assert all(
        "nothing heard from the" in reason and "(limit 0.2 s)" in reason for reason in reasons
    )
    first = min(record.trip.time_ns for record in run.session.trips) * 1e-9
    assert first == pytest.approx(3.0 + 0.02 + 0.2, abs=0.003)

    speed = np.abs(run.signal("follower", "v", first)).max(axis=1)
    # at the bounded deceleration [s]
    stopping = np.abs(run.signal("follower", "v", first - 0.01, first)).max() / 8.0
    rest_at = int(np.argmax(speed < 2e-3)) * DT
    # fade, ramp, and the hold's own settling (ω = 25 rad/s)
    assert rest_at < RAMP + stopping + 0.25
    resting = run.signal("follower", "position_tool_in_world", first + 0.8, 4.8)
    assert np.ptp(resting, axis=0).max() < 1e-4

    assert run.signal("coupling", "engagement", 4.2, 4.8).max() == 0.0
    assert run.signal("coupling", "engagement")[-1, 0] == 1.0
    assert_no_bump(run, 2.9, 6.0)
    hand = run.tool_speed("leader", 4.8, 6.0)
    assert run.tool_speed("follower", 4.8, 6.0) < 1.2 * hand + 0.01


def test_an_engagement_the_follower_hears_of_late_makes_no_jump(dual_arm):
    """Asked for while the way to the follower is dead: when it lives again, the follower must not
    leap.
    """
    run = dual_arm(law="position-position", scenario="free", delay=40.0)
    outage(run, 0.4, 2.6, directions=(0,))
    run.post("0.8:engage").on(4.0)
    assert run.tool_speed("follower", 2.9, 4.0) < 0.05  # the hand has been at rest since 2.0 s


def test_a_follower_that_trips_while_an_engagement_is_on_its_way_does_not_leap_at_reset(dual_arm):
    """The leader parts when it hears of the trip; reset alone couples nothing."""
    run = dual_arm(law="position-position", scenario="free", delay=200.0).post(
        "0.3:release", "0.6:engage"
    )
    run.on(0.65)
    run.follower.guard.stop(run.session.now_ns, "stop", "a test")
    run.on(2.35)
    assert run.bridge.a.engagement.gain == 0.0
    run.follower.guard.reset()
    run.on(1.0)
    assert run.tool_speed("follower", 3.0, 4.0) < 0.05


def test_a_trip_of_the_follower_frees_the_leader_across_the_link(dual_arm):
    """One delay later the leader's end has parted, with a fade."""
    run = dual_arm(law="position-position", scenario="free", delay=40.0).on(1.0)
    run.follower.guard.stop(run.session.now_ns, "stop", "a test")
    run.on(1.0)
    assert not run.bridge.a.engagement.wanted
    assert run.bridge.a.engagement.gain == 0.0
    found, bound = bump(run, "leader", 0.9, 1.99)
    assert found < bound


def test_energy_of_a_passive_law_is_taken_not_made(dual_arm):
    """Over a perfect link a spring-damper takes energy at every moment, up to what its spring gives
    back.
    """
    run = dual_arm(law="position-position", scenario="wall").on(7.0)
    energy = run.signal("coupling", "port_energy").sum(axis=1)
    assert energy.min() > -1e-3
    assert energy[-1] > 0.05


def test_ages_are_those_of_the_link(dual_arm):
    """In one process nothing is old; across 40 ms everything is 20 ms old."""
    assert dual_arm(scenario="free").on(0.2).signal("coupling", "age").max() == 0.0
    ages = dual_arm(scenario="free", delay=40.0).on(0.5).signal("coupling", "age", 0.1)
    np.testing.assert_allclose(ages, 0.020, atol=1e-9)


def test_a_live_change_of_scale_across_a_link_keeps_both_ends_in_step(dual_arm):
    """After a change during motion both ends still map the same pose to the same target."""
    run = dual_arm(
        law="position-position", scenario="free", delay=40.0, settings=[("wall.present", False)]
    )
    run.post("1.2:set law.mapping.motion_scale=1.5").on(3.0)
    first, second = (law.mapping for law in run.bridge.laws)
    np.testing.assert_allclose(first.offset_position, second.offset_position, atol=1e-6)


def fail_from(run, seconds: float, how) -> None:
    """Let every instance of the law answer as ``how(a, b)`` does from a time on."""
    for law in run.bridge.laws:

        def step(a, b, dt, inner=law.step):
            return how(a, b) if run.session.now_ns >= seconds * 1e9 else inner(a, b, dt)

        law.step = step
    run.on(seconds)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        (lambda a, b: 1 / 0, "raised ZeroDivisionError: division by zero"),
        (
            lambda a, b: None,
            "must return (a.effort(w), b.effort(w)) with six numbers each; it returned None",
        ),
        (
            lambda a, b: (a.effort(np.zeros(1)), b.effort(np.zeros(1))),
            "an effort of an array of shape (1,)",
        ),
        (lambda a, b: (a.effort(0.0), b.effort(0.0)), "an effort of the float 0.0"),
    ],
    ids=["raises", "None", "one number", "scalar"],
)
@pytest.mark.parametrize("settings", [[], LINKED], ids=["direct", "linked"])
def test_a_law_that_fails_in_mid_run_stops_both_sides_with_the_reason(
    dual_arm, how, told, settings
):
    """As one that gives no number: the efforts end within two ticks, and nothing is raised."""
    run = dual_arm(law="position-position", scenario="free", settings=settings)
    fail_from(run, 1.0, how)
    run.on(0.5)
    assert run.trips == [("leader", "invalid"), ("follower", "invalid")]
    for record in run.session.trips:
        assert record.trip.reason.startswith("law 'position-position' ")
        assert told in record.trip.reason
        since = 1e-9 * record.trip.time_ns + 2 * DT
        assert not run.signal(record.where, "wrench_commanded_in_world", since).any()
    assert np.abs(run.signal("follower", "v")[-1]).max() < 0.02


@pytest.mark.parametrize("settings", [[], LINKED], ids=["direct", "linked"])
def test_a_law_that_fails_to_engage_stops_its_side_and_couples_nothing(dual_arm, settings):
    """Whatever it raises; asked again after a reset, it fails again."""
    run = dual_arm(law="position-position", scenario="free", settings=settings)
    for law in run.bridge.laws:
        law.engage = lambda a, b: {}["pose"]
    run.post("0.05:reset", "0.06:engage").on(0.1)
    reason = "law 'position-position' raised KeyError: 'pose' (test_direct.py, line "
    assert run.session.trips[0].trip.reason.startswith(reason)
    assert [where for where, _ in run.trips].count("leader") == 2
    assert run.signal("coupling", "engagement").max() == 0.0


def test_a_law_that_needs_observers_is_refused_between_stations_without_them(dual_arm):
    """Rather than run on the force sensors, as another law than its name says."""
    stations = dual_arm(law="position-position").session.stations
    with pytest.raises(
        Mismatch, match="'four-channel-sensorless' needs torque-driven arms on both sides"
    ):
        DirectBridge(FourChannelSensorless(), *stations)


@pytest.mark.parametrize("settings", [[], LINKED], ids=["direct", "linked"])
def test_each_engagement_rearms_both_plants(dual_arm, settings, monkeypatch):
    """What a plant latches until the next engagement, such as a saturated sensor, ends there."""
    run = dual_arm(law="position-position", scenario="rest", settings=settings)
    rearmed: list[str] = []
    for station in (run.leader, run.follower):
        monkeypatch.setattr(station.plant, "rearm", lambda name=station.name: rearmed.append(name))
    run.post("0.3:release", "0.8:engage").on(0.7)
    before = len(rearmed)
    run.on(0.3)
    assert sorted(rearmed[before:]) == ["follower", "leader"]


def test_a_reset_and_an_engage_in_one_tick_couple_again(dual_arm):
    """A program may send both at once; the efforts must not stay cut after the trip."""
    run = dual_arm(law="position-position", scenario="rest")
    run.post("0.3:stop", "0.6:reset", "0.6:engage").on(1.0)
    bridge = run.session.bridges[0]
    assert bridge.a.contribution.gain == bridge.b.contribution.gain == 1.0

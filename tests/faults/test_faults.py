"""Whatever goes wrong with a plant: the right trip, arms that stop, and never a number that is
none.
"""

from __future__ import annotations

import numpy as np
import pytest

from farhand.coupling import laws_with
from farhand.plants.wrappers.wrapped import FAULTS, FaultyPlant

AT = 1.0  # [s], while the hand moves the leader at 0.12 m/s
DT, RAMP = 1e-3, 0.2
TRIPS = {
    "nan-position": "invalid",
    "nan-velocity": "invalid",
    "nan-wrench": "invalid",
    "frozen": "stale",
}


def with_fault(run, who: str, fault: str, at: float = AT, until: float = 1e6):
    """Spoil one station's plant."""
    station = getattr(run, who)
    station.plant = FaultyPlant(station.plant, fault, round(at * 1e9), round(until * 1e9))
    return run


@pytest.fixture
def faulty(dual_arm):
    """A run of the dual-arm rig that meets a fault, and 1.5 s more."""

    def build(who: str, fault: str, law: str = "position-force", **options):
        return with_fault(dual_arm(law=law, scenario="wall", **options), who, fault).on(AT + 1.5)

    return build


@pytest.mark.parametrize("who", ["leader", "follower"])
@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_has_its_trip_or_its_documented_degradation(faulty, who, fault):
    """At the station that has it, of the right kind and in time; a missing wrench is no trip."""
    run = faulty(who, fault)
    if fault == "no-wrench":
        assert run.trips == []
        return
    [record] = run.session.trips
    assert (record.where, record.trip.kind) == (who, TRIPS[fault])
    assert record.trip.time_ns * 1e-9 == pytest.approx(
        AT + (0.1 if fault == "frozen" else 0.0), abs=2e-3
    )


@pytest.mark.parametrize("who", ["leader", "follower"])
@pytest.mark.parametrize(
    ("fault", "delay"),
    [*((fault, 0.0) for fault in FAULTS), ("nan-position", 40.0), ("nan-wrench", 40.0)],
)
def test_no_fault_puts_a_number_that_is_none_into_the_world(faulty, who, fault, delay):
    """State and torques stay finite, and so does everything recorded but the missing measurement
    itself.
    """
    run = faulty(who, fault, delay=delay)
    assert np.isfinite(run.world.data.qpos).all()
    assert np.isfinite(run.world.data.qvel).all()
    for station in ("leader", "follower"):
        for channel in ("q", "v", "torque_commanded", "wrench_commanded_in_world"):
            assert np.isfinite(run.signal(station, channel)).all()


@pytest.mark.parametrize(
    ("who", "fault"),
    [
        *(("leader", fault) for fault in TRIPS),
        *(pytest.param("follower", fault) for fault in TRIPS),
    ],
)
def test_after_a_fault_the_follower_is_at_rest(faulty, who, fault):
    """Its true joint speed is below 1e-3 rad/s 1.5 s later, whichever side has the fault."""
    run = faulty(who, fault)
    assert np.abs(run.world.ports["follower"].v).max() < 1e-3


@pytest.mark.parametrize(
    ("who", "fault"),
    [
        *(("leader", fault) for fault in TRIPS),
        *(pytest.param("follower", fault) for fault in TRIPS),
    ],
)
def test_after_a_fault_in_contact_the_follower_stays_where_it_was(dual_arm, who, fault):
    """Pressing on a wall: the follower gives up its force, moves by no more than a few centimetres
    and rests.
    """
    run = with_fault(dual_arm(law="position-force", scenario="press"), who, fault, at=3.5).on(3.5)
    before = run.world.ports["follower"].tool.position.copy()
    run.on(1.5)
    assert np.linalg.norm(run.world.ports["follower"].tool.position - before) < 0.05
    assert np.abs(run.world.ports["follower"].v).max() < 1e-3


@pytest.mark.parametrize("fault", list(TRIPS))
@pytest.mark.parametrize(
    ("law", "delay"),
    [("position-position", 0.0), ("position-force", 0.0), ("position-force", 40.0)],
)
def test_the_hand_feels_the_followers_fault_as_a_fade_not_as_a_blow(dual_arm, law, fault, delay):
    """In contact at tens of newtons: the wrench on the leader goes to zero by at most 1.5 dt / ramp
    of it per tick.
    """
    run = with_fault(
        dual_arm(law=law, scenario="press", delay=delay), "follower", fault, at=3.2
    ).on(3.8)
    wrench = run.signal("leader", "wrench_commanded_in_world", 3.1)
    level = np.linalg.norm(wrench[:, :3], axis=1).max()
    assert level > 20.0
    assert (
        run.largest_step("leader", "wrench_commanded_in_world", 3.15)
        < 1.6 * DT / RAMP * level + 0.2
    )
    np.testing.assert_allclose(wrench[-1], 0.0, atol=1e-12)


def test_the_hand_feels_a_lost_force_sensor_as_a_fade_not_as_a_blow(dual_arm):
    """No trip, but the 60 N the hand pushed against must not vanish in a millisecond."""
    run = with_fault(
        dual_arm(law="position-force", scenario="press"), "follower", "no-wrench", at=3.5
    ).on(4.3)
    level = np.linalg.norm(
        run.signal("leader", "wrench_commanded_in_world", 3.4)[:, :3], axis=1
    ).max()
    assert (
        run.largest_step("leader", "wrench_commanded_in_world", 3.45)
        < 1.6 * DT / RAMP * level + 0.05
    )


def test_without_a_wrench_position_force_goes_on_and_the_hand_feels_only_the_damping(dual_arm):
    """The documented degradation: still coupled, still following, nothing reflected."""
    run = with_fault(
        dual_arm(law="position-force", scenario="press"), "follower", "no-wrench", at=0.2
    ).on(4.5)
    assert run.trips == []
    assert run.signal("coupling", "engagement")[-1, 0] == 1.0
    assert np.isnan(run.signal("follower", "wrench_measured_in_world", 0.3)).all()
    assert run.world.ports["follower"].wrench[0] < -20.0
    assert np.abs(run.signal("leader", "wrench_commanded_in_world", 4.0)).max() < 0.5


@pytest.mark.parametrize("law", [law.name for law in laws_with("velocity-force-port")])
@pytest.mark.parametrize("who", ["leader", "follower"])
def test_a_law_behind_a_port_does_not_notice_a_missing_wrench(dual_arm, law, who):
    """The same motion to the bit with and without the sensor."""
    sound = dual_arm(law=law, scenario="free").on(1.2)
    broken = with_fault(dual_arm(law=law, scenario="free"), who, "no-wrench", at=0.6).on(1.2)
    np.testing.assert_array_equal(broken.signal("follower", "q"), sound.signal("follower", "q"))


@pytest.mark.parametrize("who", ["leader", "follower"])
def test_a_short_fault_leaves_the_station_tripped_until_it_is_told_otherwise(dual_arm, who):
    """50 ms of NaN: held by measurement again when it is over, engaged again only on command,
    without a jump.
    """
    run = with_fault(dual_arm(scenario="free"), who, "nan-position", at=0.8, until=0.85)
    run.post("1.5:engage", "1.6:reset", "2.6:engage").on(3.6)
    outcomes = [str(logged.outcome) for logged in run.session.commands.log]
    assert outcomes[1].startswith(
        f"refused: {who} is tripped (measured position of joint shoulder_pan_joint is not a number)"
    )
    assert run.signal("coupling", "engagement", 1.1, 2.6).max() == 0.0
    assert run.signal("coupling", "engagement")[-1, 0] == 1.0
    assert np.abs(run.signal("follower", "v", 1.5, 2.6)).max() < 1e-3
    assert run.tool_speed("follower", 2.6) < 0.05  # the hand is at rest


@pytest.mark.parametrize("delay", [0.0, 40.0])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_law_that_returns_no_number_trips_and_holds(dual_arm, monkeypatch, delay, bad):
    """The last good effort fades, the follower rests, and the trip names the law."""
    run = dual_arm(law="position-position", scenario="free", delay=delay).on(1.2)
    for law in run.bridge.laws:
        inner = law.step

        def broken(a, b, dt, inner=inner):
            on_a, on_b = inner(a, b, dt)
            on_a.wrench[2] = on_b.wrench[2] = bad
            return on_a, on_b

        monkeypatch.setattr(law, "step", broken)
    run.on(1.5)
    assert run.session.trips[0].trip.kind == "invalid"
    assert (
        "law 'position-position' gave an effort that is not a number"
        in run.session.trips[0].trip.reason
    )
    assert np.isfinite(run.world.data.qpos).all()
    assert np.abs(run.world.ports["follower"].v).max() < 1e-3
    for station in ("leader", "follower"):
        wrench = run.signal(station, "wrench_commanded_in_world", 1.1)
        assert np.isfinite(wrench).all()
        assert not wrench[-300:].any()


@pytest.mark.parametrize("delay", [0.0, 40.0])
def test_the_stop_command_stops_both_arms(dual_arm, delay):
    """In bounded time, against a hand that pulls on."""
    run = dual_arm(law="position-position", scenario="free", delay=delay).post("1.2:stop").on(3.0)
    assert run.trips == [("leader", "stop"), ("follower", "stop")]
    assert np.abs(run.world.ports["follower"].v).max() < 1e-4
    assert np.abs(run.world.ports["leader"].v).max() < 1e-2
    settled = np.abs(run.signal("follower", "v", 1.2 + RAMP + 0.4)).max()
    assert settled < 1e-3
    moved = run.signal("leader", "position_tool_in_world", 2.4)
    assert np.ptp(moved, axis=0).max() < 5e-3  # the hand has gone 0.1 m on


def test_a_blow_trips_the_force_limit_and_the_arm_stops(dual_arm):
    """A limit set low for the test: the follower meets the wall, trips and backs off to rest."""
    run = dual_arm(
        law="position-position", scenario="press", settings=[("follower.guard.force", 20.0)]
    ).on(3.5)
    assert run.trips == [("follower", "force")]
    assert "(limit 20 N)" in run.session.trips[0].trip.reason
    assert np.abs(run.world.ports["follower"].v).max() < 1e-3


def test_a_workspace_limit_keeps_the_follower_in(dual_arm):
    """It trips at the border and comes to rest a short way behind it."""
    run = dual_arm(law="position-position", scenario="free").on(0.01)
    border = run.follower.arm.position[2] + 0.05
    run.session.commands.post("set", "follower.guard.high", f"5,5,{border}")
    run.on(2.5)
    assert run.trips == [("follower", "workspace")]
    assert border < run.world.ports["follower"].tool.position[2] < border + 0.05
    assert np.abs(run.world.ports["follower"].v).max() < 1e-3

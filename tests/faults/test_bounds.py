"""Whatever is set, sent or missed: a follower stays inside its bounds, and a trip ends its push."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.parameters import assign

LAWS = ["position-position", "position-force", "unilateral", "four-channel", "virtual-constraints"]


def set_at_leader(run, path: str, value: object) -> None:
    """As typed at the leader's machine, which knows nothing of the follower's law."""
    assign({"law": run.bridge.a.law}, path, value)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("layer", ["none", "tdpa", "waves"])
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("law.mapping.motion_scale", 2.0),
        ("law.mapping.motion_scale", 0.2),
        ("law.mapping.axes", [0.0, 0.0, 0.5]),
        ("law.mapping.force_scale", 0.5),
    ],
)
def test_a_map_that_is_changed_at_the_leader_moves_nothing(dual_arm, law, layer, path, value):
    """At rest: the follower's end takes over the map with the pose it belongs to."""
    if layer == "waves" and law != "position-position":
        pytest.skip("waves need a spring")
    run = dual_arm(law=law, scenario="rest", delay=20.0, layer=layer).on(0.5)
    before = run.follower.arm.position.copy()
    set_at_leader(run, path, value)
    run.on(0.5)
    assert run.trips == []
    assert run.bridge.b.law.mapping.shape == run.bridge.a.law.mapping.shape
    assert np.linalg.norm(run.follower.arm.position - before) < 1e-4
    assert np.abs(run.signal("follower", "v", 0.5)).max() < 1e-3


@pytest.mark.parametrize(("layer", "jitter"), [("none", 0.0), ("tdpa", 0.0), ("tdpa", 40.0)])
def test_a_map_that_is_changed_in_motion_goes_on_from_there(dual_arm, layer, jitter):
    """The target never steps further than the leader moves times the new scale.

    Also where a layer plays packets out later than they come: map and pose are of one packet.
    """
    settings = [("link.jitter", jitter)]
    run = dual_arm(
        law="position-position", scenario="free", delay=80.0, layer=layer, settings=settings
    ).on(1.25)
    run.session.commands.post("set", "law.mapping.motion_scale", 1.5)
    run.on(0.5)
    assert run.trips == []
    assert run.bridge.b.law.mapping.motion_scale == 1.5
    speed = run.tool_speed("leader", 1.2, 1.3)
    assert speed > 0.1
    error = run.signal("coupling", "error", 1.2)[:, :3]
    assert np.linalg.norm(np.diff(error, axis=0), axis=1).max() < 4.0 * speed * 1e-3


def test_a_map_that_throws_the_target_away_parts_instead(dual_arm):
    """An offset that jumps by more than the watchdog allows, from whatever cause."""
    run = dual_arm(law="position-position", scenario="rest", delay=20.0).on(0.5)
    before = run.follower.arm.position.copy()
    run.bridge.a.law.mapping.offset_position = run.bridge.a.law.mapping.offset_position + 0.3
    run.on(0.5)
    assert ("link", "link") in run.trips
    assert "would move the target by 520 mm" in run.session.trips[0].trip.reason
    assert not run.bridge.b.engagement.wanted
    assert np.linalg.norm(run.follower.arm.position - before) < 1e-3


@pytest.mark.parametrize("settings", [[], [("link.delay", 10.0)]], ids=["direct", "linked"])
@pytest.mark.parametrize("law", LAWS)
def test_a_station_that_trips_is_pushed_no_further(dual_arm, law, settings):
    """Its law's effort is gone in the tick of the trip; the other arm's fades."""
    run = dual_arm(law=law, scenario="press", settings=settings).on(3.0)
    assert np.linalg.norm(run.signal("follower", "wrench_commanded_in_world", 2.9)) > 10.0
    run.follower.guard.stop(run.session.now_ns, "speed", "a test")
    run.on(0.5)
    assert not run.signal("follower", "wrench_commanded_in_world", 3.001).any()
    level = np.abs(run.signal("leader", "wrench_commanded_in_world", 2.9, 3.0)).max()
    step = run.largest_step("leader", "wrench_commanded_in_world", 2.99)
    assert step < 1.6 * 1e-3 / 0.2 * level + 0.2
    # a reset while the other arm's effort still fades brings nothing back
    assert (
        not run.post("0:reset").on(0.1).signal("follower", "wrench_commanded_in_world", 3.5).any()
    )


def test_after_a_trip_for_speed_the_arm_gets_no_faster(dual_arm):
    """A law that throws the follower: its speed after the trip is what it was, or less."""
    run = dual_arm(law="position-position", scenario="rest").on(0.3)
    run.bridge.law.mapping.offset_position += [0.0, 0.5, 0.0]
    run.on(0.5)
    trip = next(record.trip for record in run.session.trips if record.where == "follower")
    assert trip.kind == "speed"
    since = 1e-9 * trip.time_ns
    at_trip = np.abs(run.signal("follower", "v", since, since + 1e-3)).max()
    after = np.abs(run.signal("follower", "v", since + 1e-3)).max()
    assert after <= 1.01 * at_trip, (at_trip, after)


def test_after_a_pause_of_the_loop_efforts_fade_no_faster(dual_arm):
    """The gain moves by one period per tick, however long the tick before was ago."""
    run = dual_arm(law="position-position", scenario="press").on(3.0)
    bridge = run.bridge
    bridge.release()
    gains = []
    for late in (0, 0, 150_000_000, 600_000_000):
        now = run.session.now_ns + late
        bridge._last_ns = now - late - 1_000_000
        bridge.step(now)
        gains.append(bridge.b.contribution.gain)
    assert np.abs(np.diff(gains)).max() < 1.6 * 1e-3 / 0.2


@pytest.mark.parametrize("layer", ["none", "tdpa", "tank", "waves"])
@pytest.mark.parametrize("law", LAWS)
def test_sides_that_come_together_in_motion_feel_no_kick(dual_arm, law, layer):
    """The effort of no tick differs from the last by a newton, with a layer as without."""
    if layer == "waves" and law != "position-position":
        pytest.skip("waves need a spring")
    run = dual_arm(law=law, scenario="free", delay=1.0, layer=layer)
    run.post("0.7:release", "1.25:engage").on(2.0)
    assert run.tool_speed("leader", 1.2, 1.3) > 0.1
    for station in ("leader", "follower"):
        assert run.largest_step(station, "wrench_commanded_in_world", 1.2) < 1.0


def test_admittance_goes_on_with_the_motion_it_finds(dual_arm):
    """The handle does not run ahead while the efforts fade in."""
    run = dual_arm(law="admittance", scenario="free").post("0.5:release", "1.25:engage").on(2.2)
    assert np.abs(run.signal("leader", "v", 1.25, 1.251)).max() > 0.5
    assert run.largest_step("leader", "wrench_commanded_in_world", 1.25) < 0.5
    assert np.abs(run.signal("leader", "wrench_commanded_in_world", 1.25)).max() < 20.0

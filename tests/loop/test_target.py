"""Targets of a policy: the follower gets there within its limits, however the targets jump."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from farhand.loop.target import KEPT_FROM_LIMIT, LeaderFollowing, accept_targets, kept_range
from farhand.recording.loader import load
from farhand.rigs import Options, build_rig
from farhand.running.rerun import record, rerun
from farhand.spatial import quaternion_from_rotation, rotation_from_vector
from farhand_lab.handover import MAX_FORCE_STEP, MAX_VELOCITY_STEP, trial

RELEASED = [("wall.present", False), ("hand.open", True)]


class Driven:
    """A rig in virtual time whose follower takes targets."""

    def __init__(self, rig="dual-arm", **options):
        options = {"scenario": "rest", "settings": RELEASED, **options}
        self.rig = build_rig(rig, Options(**options))
        self.session = self.rig.session
        accept_targets(self.session)
        self.follower = next(s for s in self.session.stations if s.name == "follower")
        self.history = self.rig.metrics.history
        self.target = self.session.parameters["follower"]["target"]

    def go(self, seconds=0.0, **given):
        """Give targets and run on."""
        for name, value in given.items():
            self.session.commands.post("set", f"follower.target.{name}", list(value))
        self.session.run(seconds, self.rig.metrics.pull)
        return self

    def signal(self, name):
        self.rig.metrics.pull()
        return self.history.signal("follower", name)

    @property
    def arm(self):
        return self.follower.arm

    @property
    def limits(self):
        return self.follower.guard.limits


@pytest.fixture
def driven():
    made = Driven()
    made.go(1.0)
    yield made
    made.rig.close()


def test_a_jump_of_the_joints_is_played_out_within_limits(driven):
    """A policy's first answer may be anywhere: half a turn away, nothing trips, and it arrives."""
    start = driven.arm.q.copy()
    goal = start + np.array([1.5, -0.6, 0.8, 0.5, -0.7, 1.0])
    driven.go(5.0, joints=goal)
    assert driven.session.trips == []
    np.testing.assert_allclose(driven.arm.q, goal, atol=0.01)
    share = np.abs(driven.signal("v")) / driven.limits.velocity
    assert share.max() < 0.6
    assert share.max() > 0.3


def test_a_jump_of_the_tool_is_played_out_within_limits(driven):
    """Position and orientation; the tool goes straight."""
    start = driven.arm.position.copy()
    away = np.array([0.1, -0.2, 0.15])
    rotation = rotation_from_vector(np.array([0.0, 0.0, 0.6])) @ driven.arm.rotation
    goal = [*(start + away), *quaternion_from_rotation(rotation)]
    driven.go(5.0, tool=goal)
    assert driven.session.trips == []
    np.testing.assert_allclose(driven.arm.position, goal[:3], atol=2e-3)
    np.testing.assert_allclose(driven.arm.rotation, rotation, atol=0.01)
    assert (np.abs(driven.signal("v")) / driven.limits.velocity).max() < 0.6
    way = driven.signal("position_tool_in_world")[1000:] - start
    along = way @ away / (away @ away)
    aside = np.linalg.norm(way - along[:, None] * away, axis=1)
    assert aside.max() < 0.05


def test_a_tool_target_out_of_reach_ends_as_near_as_the_arm_gets(driven):
    """At rest, without a trip, stretched out towards it."""
    start = driven.arm.position.copy()
    goal = start + np.array([-0.3, 0.6, 0.4])
    driven.go(8.0, tool=[*goal, *quaternion_from_rotation(driven.arm.rotation)])
    assert driven.session.trips == []
    assert np.abs(driven.arm.v).max() < 0.02
    assert np.linalg.norm(goal - driven.arm.position) < 0.7 * np.linalg.norm(goal - start)


def test_targets_at_random_never_trip(driven):
    """Ten per second for ten seconds, all over the joints' ranges and beyond."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        driven.go(0.1, joints=rng.uniform(-7.0, 7.0, 6))
    assert driven.session.trips == []
    share = np.abs(driven.signal("v")) / driven.limits.velocity
    assert share.max() < 0.75


def test_a_stream_at_policy_rate_moves_evenly(driven):
    """At 10 Hz along a line, clear of singular postures: a joint's speed ripples by a tenth."""
    start = driven.arm.q.copy()
    for index in range(20):
        driven.go(0.1, joints=start + 0.02 * (index + 1))
    speed = driven.signal("v")[1700:2700, 0]
    assert speed.mean() == pytest.approx(0.2, rel=0.02)
    assert np.ptp(speed) < 0.02


def test_a_stream_that_stops_holds_still(driven):
    """At its last target, and not where it would have gone."""
    start = driven.arm.q.copy()
    for index in range(20):
        driven.go(1 / 30, joints=start + 0.02 * (index + 1))
    driven.go(2.0)
    np.testing.assert_allclose(driven.arm.q, start + 0.4, atol=5e-3)
    assert np.abs(driven.arm.v).max() < 2e-3
    driven.go(2.0)
    np.testing.assert_allclose(driven.arm.q, start + 0.4, atol=5e-3)


def test_a_target_beyond_a_joint_limit_ends_before_it(driven):
    """A guard does not trip for what a policy wishes."""
    driven.go(8.0, joints=[*driven.arm.q[:5], 20.0])
    assert driven.session.trips == []
    end = driven.limits.upper[5] - KEPT_FROM_LIMIT
    assert driven.arm.q[5] == pytest.approx(end, abs=0.01)


def test_an_obstacle_is_not_pressed_harder_than_allowed():
    """A target 0.3 m behind the wall: the pull stays at its bound, and nothing trips."""
    driven = Driven(settings=[("hand.open", True)])
    driven.go(1.0)
    goal = driven.arm.position + np.array([0.4, 0.0, 0.0])
    driven.go(6.0, tool=[*goal, *quaternion_from_rotation(driven.arm.rotation)])
    force = np.linalg.norm(driven.signal("wrench_measured_in_world")[-500:, :3], axis=1)
    assert driven.session.trips == []
    assert 40.0 < force.mean() < 50.5
    driven.rig.close()


def test_the_first_target_takes_the_follower_over_without_a_bump(driven):
    """While it is coupled: the leader rests, the follower begins at the speed it has."""
    assert driven.session.bridges[0].b.contribution.gain == 1.0
    driven.go(0.3, joints=driven.arm.q + 0.5)
    assert driven.session.bridges[0].b.contribution.gain == 0.0
    # a step would be a large part of the limit within a tick
    steps = np.abs(np.diff(driven.signal("v")[990:], axis=0))
    assert (steps < 0.01 * driven.limits.velocity).all()


def test_a_follower_across_a_link_is_taken_over_too():
    """Even while the engagement is still on its way to it."""
    driven = Driven(delay=40.0)
    driven.go(0.005)
    goal = driven.arm.q + 0.1
    driven.go(3.0, joints=goal)
    np.testing.assert_allclose(driven.arm.q, goal, atol=0.01)
    driven.rig.close()


def test_engaging_takes_the_follower_back_and_refuses_what_still_comes(driven):
    """A policy cannot snatch the arm from a person's hand; after a release it may again."""
    start = driven.arm.q.copy()
    driven.go(1.0, joints=start + 0.2)
    driven.session.commands.post("engage")
    driven.go(0.1)
    driven.go(0.5, joints=start - 0.5)
    outcome = driven.session.commands.log[-1].outcome
    assert not outcome.done
    assert "release" in outcome.text
    np.testing.assert_allclose(driven.arm.q, start + 0.2, atol=0.05)
    driven.session.commands.post("release")
    driven.go(0.5)
    driven.go(3.0, joints=start)
    assert driven.session.commands.log[-1].outcome.done
    np.testing.assert_allclose(driven.arm.q, start, atol=0.01)


def test_a_release_lets_the_follower_rest_on_its_way(driven):
    """It stops within a moment, and the next target moves it on, even before all has faded."""
    start = driven.arm.q.copy()
    driven.go(0.5, joints=start + 1.0)
    driven.session.commands.post("release")
    driven.go(1.0)
    still = driven.arm.q.copy()
    assert still[0] < start[0] + 0.9
    driven.go(1.0)
    np.testing.assert_allclose(driven.arm.q, still, atol=2e-3)
    driven.go(0.5, joints=start)
    driven.session.commands.post("release")
    driven.go(0.05)
    driven.go(3.0, joints=start + 0.1)
    np.testing.assert_allclose(driven.arm.q, start + 0.1, atol=0.01)


def test_a_stopped_follower_takes_no_targets_until_it_is_reset(driven):
    """The reason is said."""
    start = driven.arm.q.copy()
    driven.go(0.2, joints=start + 0.5)
    driven.session.commands.post("stop")
    driven.go(1.0)
    still = driven.arm.q.copy()
    driven.go(0.5, joints=start)
    assert "reset first" in driven.session.commands.log[-1].outcome.text
    np.testing.assert_allclose(driven.arm.q, still, atol=2e-3)
    driven.session.commands.post("reset")
    driven.go(3.0, joints=start)
    np.testing.assert_allclose(driven.arm.q, start, atol=0.01)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"joints": [0.0, 1.0]}, "6 numbers"),
        ({"joints": [float("nan")] * 6}, "finite"),
        ({"tool": [0.5, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0]}, "quaternion"),
    ],
)
def test_what_is_no_target_is_refused_and_changes_nothing(driven, given, reason):
    """Wrong numbers of joints, NaN, a quaternion of length zero."""
    before = driven.arm.q.copy()
    driven.go(0.5, **given)
    outcome = driven.session.commands.log[-1].outcome
    assert not outcome.done
    assert reason in outcome.text
    assert driven.session.bridges[0].b.contribution.gain == 1.0
    np.testing.assert_allclose(driven.arm.q, before, atol=2e-3)


def test_arms_that_take_velocities_go_to_targets_too():
    """The rig of the hazardous environment has a follower that only follows poses."""
    driven = Driven("hazardous", scenario=None, settings=[])
    driven.go(1.0)
    start = driven.arm.q.copy()
    driven.go(6.0, joints=start + 0.2)
    assert driven.session.trips == []
    np.testing.assert_allclose(driven.arm.q, start + 0.2, atol=0.05)
    driven.rig.close()


def test_a_recording_of_a_driven_run_is_run_again_to_the_bit(tmp_path):
    """Targets are commands, and commands are recorded."""
    driven = Driven()
    goals = driven.arm.q + np.random.default_rng(2).uniform(-0.5, 0.5, (10, 6))
    for index, goal in enumerate(goals):
        at_ns = (500 + 100 * index) * 1_000_000
        driven.session.commands.post("set", "follower.target.joints", goal.tolist(), at_ns)
    path = record(driven.rig, tmp_path / "driven.mcap", 2.0)
    again = rerun(load(path))
    assert again.exact
    assert again.commands > 10


# Joints


def paired(space="joints", arms=("so101-leader", "so101"), law=None, **settings):
    """A pair of arms that nobody holds, engaged."""
    names = [
        ("rig.leader_plant", arms[0]),
        ("rig.follower_plant", arms[1]),
        ("rig.space", space),
        *settings.items(),
    ]
    driven = Driven("pair", law=law, settings=[*names, *RELEASED])
    driven.leader = next(s for s in driven.session.stations if s.name == "leader")
    return driven.go(0.3)


def command(driven, *names, seconds=0.01):
    """Give commands; the outcome of the last."""
    for name in names:
        driven.session.commands.post(name)
    driven.go(seconds)
    return driven.session.commands.log[-1].outcome


def test_coupled_joints_go_to_a_target_by_torques_at_each_joint_gripper_included():
    """Half a turn away, within half the speed limits, and no wrench at the tool."""
    driven = paired()
    goal = driven.arm.q + np.array([1.5, 0.5, -0.5, 0.5, -1.0, 0.6])
    driven.go(4.0, joints=goal)
    assert driven.session.trips == []
    np.testing.assert_allclose(driven.arm.q, goal, atol=0.01)
    share = np.abs(driven.signal("v")) / driven.limits.velocity
    assert 0.3 < share.max() < 0.6
    assert np.abs(driven.signal("torque_coupled")[300:]).max() > 0.05
    assert not driven.signal("wrench_commanded_in_world").any()
    driven.rig.close()


def test_coupled_joints_press_no_harder_than_their_share_of_the_torque_limits():
    """The gripper closes on an object to a target behind it, and nothing trips."""
    driven = paired(**{"object.stiffness": 1e3})
    driven.go(3.0, joints=[*driven.arm.q[:5], driven.limits.lower[5] + 0.1])
    torque = driven.session.parameters["object"].force
    assert driven.session.trips == []
    assert 0.5 * 0.3 * driven.limits.torque[5] < torque < 1.1 * 0.3 * driven.limits.torque[5]
    driven.rig.close()


# Handover


@pytest.mark.parametrize("law", ["position-position", "unilateral", "four-channel"])
def test_after_give_the_leader_follows_the_follower(law):
    """Whether the law pulls the leader or not, joints of both arms arrive together."""
    driven = paired(law=law, arms=("openarm", "openarm"))
    assert command(driven, "give").done
    goal = driven.arm.q.copy()
    goal[:4] += 0.3
    driven.go(3.0, joints=goal)
    assert driven.session.trips == []
    np.testing.assert_allclose(driven.arm.q, goal, atol=0.02)
    np.testing.assert_allclose(driven.leader.arm.q[:4], driven.arm.q[:4], atol=0.05)
    driven.rig.close()


def test_the_leader_of_coupled_tools_follows_too():
    """In tool space the tools move by the same way."""
    driven = paired("tool", ("ur5e", "ur5e"))
    command(driven, "give")
    before = driven.leader.arm.position.copy(), driven.arm.position.copy()
    driven.go(3.0, joints=driven.arm.q + 0.2)
    moved = driven.leader.arm.position - before[0], driven.arm.position - before[1]
    assert np.linalg.norm(moved[1]) > 0.1
    np.testing.assert_allclose(moved[0], moved[1], atol=5e-3)
    driven.rig.close()


def test_the_follower_goes_as_fast_as_the_leader_may_and_can_stop():
    """Its joint speed, its tool's speed, the way to its end, and what it already does: each alone.

    Equal arms in one posture: the leader's joints would move as the follower's.
    """
    driven = paired("tool", ("ur5e", "ur5e"))
    leading, arm = LeaderFollowing(driven.session.bridges[0]), driven.leader.arm
    limits, q, joint = driven.leader.guard.limits, arm.q.copy(), 2
    low, high = kept_range(driven.leader)

    def pace(speed, share=1.0, rise=1e-3, tool_speed=100.0):
        velocity = speed * np.eye(6)[joint]
        return leading.pace(driven.arm.J, velocity, share, rise, tool_speed)

    assert pace(0.1) == pytest.approx(1.0)
    assert pace(50.0, share=0.5) == pytest.approx(0.5 * limits.velocity[joint] / 50.0, rel=0.02)
    # at the speed v it stops from the rate v / rise within v rise / 2
    for speed, left in ((2.0, high[joint] - q[joint]), (-2.0, q[joint] - low[joint])):
        assert pace(speed, rise=20.0) == pytest.approx(np.sqrt(2.0 * left / 40.0), rel=0.02)
    along = float(np.linalg.norm(driven.arm.J[:3, joint]))
    assert pace(2.0, tool_speed=0.1) == pytest.approx(0.1 / (2.0 * along), rel=0.02)
    for fast, expected in ((0.3, 1.0), (0.7, 0.6), (0.95, 0.0)):
        arm.update(q, fast * limits.velocity)
        assert pace(0.1) == pytest.approx(expected)
    driven.rig.close()


def test_joints_stay_clear_of_where_the_guard_trips_but_keep_most_of_their_range():
    """The guard's margin and a little more, or a tenth of a narrow range."""
    driven = Driven()
    station, lower, upper = driven.follower, driven.limits.lower.copy(), driven.limits.upper.copy()
    lower[0], upper[0], station.guard.margin = 1.0, 1.2, 0.1
    station.guard.watch(replace(driven.limits, lower=lower, upper=upper))
    low, high = kept_range(station)
    assert (low[0], high[0]) == pytest.approx((1.02, 1.18))
    np.testing.assert_allclose(low[1:], lower[1:] + 0.1 + KEPT_FROM_LIMIT)
    np.testing.assert_allclose(high[1:], upper[1:] - 0.1 - KEPT_FROM_LIMIT)
    driven.rig.close()


@pytest.mark.parametrize(
    ("space", "arms"), [("joints", ("so101-leader", "so101")), ("tool", ("ur5e", "ur5e"))]
)
def test_a_leader_that_follows_moves_no_faster_than_a_hand_on_it_may_be_moved(space, arms):
    """The follower alone would be several times as fast on this way."""
    driven = paired(space, arms)
    command(driven, "give")
    driven.go(2.0, joints=driven.arm.q + [1.2, *[0.0] * (driven.arm.nv - 1)])
    twist = driven.history.signal("leader", "twist_tool_in_world")[:, :3]
    assert 0.15 < np.linalg.norm(twist, axis=1).max() < 1.2 * driven.target.leader_speed
    assert driven.session.trips == []
    driven.rig.close()


def test_a_leader_that_would_leave_its_range_holds_the_follower_back():
    """The follower's joint turns further than the leader's: it stops before the leader's end."""
    driven = paired()
    ends = driven.leader.guard.limits.upper
    far = driven.arm.q.copy()
    far[1] = 3.0
    command(driven, "give")
    driven.go(4.0, joints=far)
    assert driven.session.trips == []
    offset = driven.session.bridges[0].laws[0].mapping.offsets[1]
    assert driven.arm.q[1] < min(ends[1] + offset, driven.limits.upper[1]) - 0.02
    driven.rig.close()


def test_targets_are_refused_after_take_until_give():
    """A person has the follower; the reason says how to get it back."""
    driven = paired()
    start = driven.arm.q.copy()
    command(driven, "give")
    driven.go(0.5, joints=start + 0.1)
    assert command(driven, "take").done
    driven.go(0.01, joints=start)
    refused = driven.session.commands.log[-1].outcome
    assert not refused.done
    assert "give" in refused.text
    assert driven.session.bridges[0].b.contribution.gain == 1.0
    assert command(driven, "give").done
    driven.go(3.0, joints=start + 0.2)
    np.testing.assert_allclose(driven.arm.q, start + 0.2, atol=0.02)
    driven.rig.close()


def test_a_push_of_the_hand_takes_the_follower_and_is_told():
    """The hand takes hold of the leader and pulls; the event names the follower."""
    driven = paired(arms=("openarm", "openarm"))
    command(driven, "give")
    driven.go(0.5, joints=driven.arm.q)
    assert not driven.target.taken
    driven.session.commands.post("set", "hand.open", False)
    driven.go(0.1)
    driven.session.commands.post("set", "hand.drag", [0.0, 0.0, 0.15])
    driven.go(0.5)
    assert driven.target.taken
    events = [text for _, text in driven.history.events]
    assert "the hand took follower by a push" in events
    driven.rig.close()


def test_what_drives_a_joint_off_its_end_stop_is_no_hand():
    """The stop's own torque points back into the range; a hand that presses into it does not."""
    driven = paired(arms=("openarm", "openarm"))
    leader, following = driven.leader, LeaderFollowing(driven.session.bridges[0])
    home, (low, high) = leader.arm.q.copy(), kept_range(leader)
    for end, back in ((low - 0.01, 1.0), (high + 0.01, -1.0)):
        q = home.copy()
        q[1] = end[1]
        leader.arm.update(q, np.zeros(len(q)))
        for torque, pushed in ((10.0 * back, False), (-10.0 * back, True)):
            leader.observer.torque[:] = 0.0
            leader.observer.torque[1] = torque
            assert following.is_pushed(5.0, 0.5) is pushed
    driven.rig.close()


def test_give_is_refused_where_the_leader_cannot_follow():
    """A virtual handle holds the leader of an admittance; nobody serves a plain run."""
    driven = paired(law="admittance", arms=("openarm", "openarm"))
    assert "does not bring the leader along" in command(driven, "give").text
    driven.rig.close()
    rig = build_rig("dual-arm", Options(scenario="rest"))
    rig.session.commands.post("give")
    rig.session.run(0.01)
    assert "farhand serve" in rig.session.commands.log[-1].outcome.text
    rig.close()


def test_a_leader_that_stops_stops_the_policy():
    """Nobody could take over any more: the follower holds still."""
    driven = paired()
    command(driven, "give")
    driven.go(0.3, joints=driven.arm.q + 1.0)
    driven.leader.guard.stop(0, "plant", "a cable came off")
    driven.go(1.0)
    still = driven.arm.q.copy()
    assert np.abs(driven.arm.v).max() < 0.01
    driven.go(0.5)
    np.testing.assert_allclose(driven.arm.q, still, atol=2e-3)
    driven.rig.close()


@pytest.mark.parametrize(("space", "seed"), [("joints", 1), ("tool", 2)])
def test_a_handover_is_not_felt_as_a_bump(space, seed):
    """As farhand_lab.handover defines it: at most 2 N in 10 ms, no velocity step, no trip."""
    done = trial(seed, space)
    assert done.took
    assert done.trips == []
    assert max(done.force.values()) <= MAX_FORCE_STEP
    assert max(done.velocity.values()) <= MAX_VELOCITY_STEP

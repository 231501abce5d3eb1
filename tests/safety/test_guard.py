"""Guard: each limit trips with its kind and a reason with value and limit; the first stays."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.parameters import assign
from farhand.plants import Sample
from farhand.robots import Limits, load_robot
from farhand.safety import Guard

UR5E = load_robot("ur5e")
JOINTS = [UR5E.compile().joint(number).name for number in range(6)]
MS = 1_000_000
GOOD_Q = np.array([0.3, -1.2, 1.4, -0.8, 1.1, 0.2])


@pytest.fixture
def guard() -> Guard:
    """A guard of a UR5e."""
    guard = Guard()
    guard.watch(UR5E.limits)
    return guard


@pytest.fixture(scope="module")
def arm() -> Arm:
    """Its model."""
    return Arm.of(UR5E)


def sample_of(q=GOOD_Q, v=0.0, wrench=(0.0,) * 6, time_ns: int = 0) -> Sample:
    """A sample."""
    sample = Sample(6, 6)
    sample.q[:], sample.v[:], sample.time_ns = q, v, time_ns
    sample.set_wrench(None if wrench is None else np.array(wrench, dtype=float))
    return sample


def with_one(array, index: int, value: float) -> np.ndarray:
    """A copy with one component replaced."""
    copy = np.array(np.broadcast_to(array, 6), dtype=float)
    copy[index] = value
    return copy


def test_a_healthy_sample_passes(guard, arm):
    """At rest, in the middle of everything."""
    assert guard.check(sample_of(), 0)
    guard.check_tool(arm.position, 0)
    assert guard.limit(np.zeros(6), 0)
    assert guard.trip is None


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("index", range(6))
@pytest.mark.parametrize("what", ["position", "velocity"])
def test_a_state_that_is_not_a_number_trips_and_says_which(guard, bad, index, what):
    """NaN or infinite, any joint."""
    q, v = (
        (with_one(GOOD_Q, index, bad), 0.0)
        if what == "position"
        else (GOOD_Q, with_one(0.0, index, bad))
    )
    assert not guard.check(sample_of(q, v), 7)
    assert (guard.trip.kind, guard.trip.time_ns) == ("invalid", 7)
    assert f"measured {what} of joint {JOINTS[index]} is not a number" in guard.trip.reason


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("index", range(6))
def test_a_wrench_that_is_not_a_number_trips(guard, bad, index):
    """Force or torque."""
    assert guard.check(sample_of(wrench=with_one(0.0, index, bad)), 0)
    assert guard.trip.kind == "invalid" and not guard.wrench_valid
    assert guard.trip.reason == f"measured wrench {index + 1} is not a number"
    assert guard.check(sample_of(), 0) and guard.wrench_valid


def test_no_wrench_is_no_fault(guard):
    """A plant without a sensor is not broken."""
    assert guard.check(sample_of(wrench=None), 0)
    assert guard.trip is None


@pytest.mark.parametrize("index", range(6))
@pytest.mark.parametrize("sign", [1, -1])
def test_a_joint_that_is_too_fast_trips(guard, index, sign):
    """The reason names the joint, its speed and the limit; just below nothing happens."""
    assert guard.check(sample_of(GOOD_Q, with_one(0.0, index, sign * 3.13)), 0)
    assert guard.trip is None
    assert guard.check(sample_of(GOOD_Q, with_one(0.0, index, sign * 3.2)), 0)
    assert guard.trip.kind == "speed"
    assert (
        f"joint {JOINTS[index]} at {sign * 3.2:.2f} rad/s (limit 3.14 rad/s)" in guard.trip.reason
    )


@pytest.mark.parametrize(
    ("v", "q", "torque", "words"),
    [
        (1.5, 0.0, 0.0, "joint 3 at 1.50 m/s (limit 1.00 m/s)"),
        (0.0, 0.3, 0.0, "joint 3 at 0.300 m (limits -0.200 to 0.200 m)"),
        (0.0, 0.0, 200.0, "joint 3 needs 200.0 N (limit 100 N)"),
    ],
)
def test_a_slide_trips_in_metres_and_newtons(v, q, torque, words):
    """Its numbers would make no sense as angles."""
    guard, limit = Guard(torque_trips=True), np.array([3.0, 3.0, 0.2, 3.0, 3.0, 3.0])
    guard.watch(Limits(-limit, limit, np.ones(6), np.full(6, 100.0), frozenset({2})))
    guard.check(sample_of(q=with_one(0.0, 2, q), v=with_one(0.0, 2, v)), 0)
    guard.limit(with_one(0.0, 2, torque), 0)
    assert guard.trip is not None and guard.trip.reason == words


def test_many_joints_below_their_limits_together_do_not_trip(guard):
    """Limits are per joint, whatever the norm."""
    assert guard.check(sample_of(GOOD_Q, np.full(6, 3.1)), 0)
    assert guard.check(sample_of(np.full(6, 3.1)), 0)
    assert guard.trip is None


def test_the_speed_limit_is_a_fraction_that_can_be_set(guard):
    """Half the fraction, half the limit."""
    assign(guard, "speed", 0.5)
    assert guard.check(sample_of(GOOD_Q, with_one(0.0, 2, 1.6)), 0)
    assert guard.trip.kind == "speed"
    assert "(limit 1.57 rad/s)" in guard.trip.reason


@pytest.mark.parametrize("index", range(6))
@pytest.mark.parametrize("sign", [1, -1])
def test_a_joint_beyond_its_range_trips(guard, index, sign):
    """The reason names the joint, where it is and its limits."""
    limit = UR5E.limits.upper[index] if sign > 0 else UR5E.limits.lower[index]
    assert guard.check(sample_of(with_one(0.0, index, limit - sign * 0.01)), 0)
    assert guard.trip is None
    assert guard.check(sample_of(with_one(0.0, index, limit + sign * 0.01)), 0)
    assert guard.trip.kind == "position"
    assert f"joint {JOINTS[index]} at {limit + sign * 0.01:.3f} rad" in guard.trip.reason
    assert f"{UR5E.limits.lower[index]:.3f} to {UR5E.limits.upper[index]:.3f}" in guard.trip.reason


def test_a_margin_narrows_the_range(guard):
    """Distance kept from both stops."""
    assign(guard, "margin", 0.5)
    for stop, inwards in ((UR5E.limits.upper[0], -1.0), (UR5E.limits.lower[0], 1.0)):
        assert guard.check(sample_of(with_one(0.0, 0, stop + 0.51 * inwards)), 0)
        assert guard.trip is None
        assert guard.check(sample_of(with_one(0.0, 0, stop + 0.49 * inwards)), 0)
        assert guard.trip.kind == "position"
        guard.reset()


@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_joint_with_a_limit_on_one_side_only_trips_there():
    """A range may be open above and closed below."""
    guard = Guard()
    lower, upper = np.full(6, -np.inf), np.full(6, np.inf)
    lower[1] = -1.0
    guard.watch(Limits(lower, upper, np.full(6, np.inf), np.full(6, np.inf)))
    assert guard.check(sample_of(with_one(0.0, 1, -1.5)), 0)
    assert guard.trip is not None
    assert guard.trip.kind == "position"


def test_a_robot_without_limits_never_trips_on_them():
    """Infinite limits are no limits, for torque too."""
    guard, infinite = Guard(), np.full(6, np.inf)
    guard.watch(Limits(-infinite, infinite, infinite, infinite))
    assert guard.check(sample_of(np.full(6, 50.0), np.full(6, 50.0)), 0)
    torque = np.full(6, 1e6)
    assert guard.limit(torque, 0)
    np.testing.assert_array_equal(torque, 1e6)
    assert guard.trip is None


def test_a_force_beyond_its_limit_trips(guard):
    """The norm counts, not the component; the sample is still fit for use."""
    assert guard.check(sample_of(wrench=(200, 200, 0, 0, 0, 0)), 0)
    assert guard.trip is None
    assert guard.check(sample_of(wrench=(200, 200, 150, 0, 0, 0)), 3)
    assert guard.trip.kind == "force"
    assert "contact force 320.2 N (limit 300 N)" in guard.trip.reason


@pytest.mark.filterwarnings("error")
def test_a_limit_of_zero_lets_zero_pass_and_nothing_else(guard):
    """In silence: 0 times infinity is no number."""
    guard.force = 0.0
    guard.refresh()
    assert guard.check(sample_of(), 0) and guard.trip is None
    assert guard.check(sample_of(wrench=(0, 0, 1e-6, 0, 0, 0)), 1)
    assert guard.trip.kind == "force"


def test_a_contact_torque_beyond_its_limit_trips(guard):
    """Force and torque have limits of their own."""
    assert guard.check(sample_of(wrench=(0, 0, 0, 0, 0, -61.5)), 0)
    assert guard.trip.kind == "force"
    assert "contact torque 61.50 N·m (limit 60 N·m)" in guard.trip.reason


@pytest.mark.parametrize("axis", range(3))
def test_a_tool_outside_its_workspace_trips(guard, arm, axis):
    """On any side of the box; the reason tells where the tool is and where it may be."""
    arm.update(GOOD_Q, np.zeros(6))
    x = arm.position[axis]
    for name, value in (("low", x + 0.01), ("high", x - 0.01)):
        corner = np.full(3, -5.0 if name == "low" else 5.0)
        corner[axis] = value
        guard.reset()
        assign(guard, "low", -5.0)
        assign(guard, "high", 5.0)
        assign(guard, name, corner)
        guard.check_tool(arm.position, 0)
        assert guard.trip.kind == "workspace"
        assert f"{x:.3f}" in guard.trip.reason
        assert f"{value:.3f}"[:4] in guard.trip.reason


def test_a_stale_sample_trips(guard):
    """Older than the limit is too old; exactly at it is not."""
    assert guard.check(sample_of(time_ns=0), 100 * MS)
    assert not guard.check(sample_of(time_ns=0), 150 * MS)
    assert guard.trip.kind == "stale"
    assert "0.150 s old (limit 0.1 s)" in guard.trip.reason
    guard.reset()
    assert guard.check(sample_of(time_ns=5000 * MS), 5100 * MS) and guard.trip is None
    assert not guard.check(sample_of(time_ns=5000 * MS), 5150 * MS)
    assert "0.150 s old" in guard.trip.reason


def test_torques_beyond_the_limits_are_cut_not_tripped_on(guard):
    """A saturated arm still holds; each joint is cut on its own and the ticks are counted."""
    torque = np.array([200.0, -200.0, 10.0, 40.0, -5.0, -40.0])
    assert guard.limit(torque, 0)
    np.testing.assert_allclose(torque, [150.0, -150.0, 10.0, 28.0, -5.0, -28.0])
    assert (guard.clipped, guard.trip) == (1, None)


def test_torques_within_their_limits_pass_as_they_are(guard):
    """However large their norm."""
    torque = np.array([149.0, -149.0, 149.0, 27.0, -27.0, 27.0])
    wanted = torque.copy()
    guard.limit(torque, 0)
    np.testing.assert_array_equal(torque, wanted)
    assert guard.clipped == 0


def test_a_joint_whose_limit_is_zero_gets_nothing():
    """A passive joint has a torque limit of zero."""
    guard = Guard()
    limits = UR5E.limits
    guard.watch(
        Limits(
            limits.lower,
            limits.upper,
            limits.velocity,
            np.array([150.0, 0.0, 150.0, 28.0, 28.0, 28.0]),
        )
    )
    for torque in (np.array([10.0, 5.0, 0, 0, 0, 0]), np.array([200.0, 0.0, 0, 0, 0, 0])):
        guard.limit(torque, 0)
        assert torque[1] == 0.0
        assert torque[0] <= 150.0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_torque_that_is_not_a_number_is_refused_and_trips(guard, bad):
    """It must never reach a motor."""
    assert not guard.limit(with_one(0.0, 3, bad), 9)
    assert (guard.trip.kind, guard.trip.time_ns) == ("invalid", 9)
    assert "commanded torque is not a number" in guard.trip.reason


def test_the_first_trip_stays_until_reset(guard):
    """What happened first is what matters; reset clears it, and the next one is then the first."""
    guard.stop(1, "stop", "the operator stopped the session")
    guard.check(sample_of(wrench=(1e3, 0, 0, 0, 0, 0)), 2)
    assert (guard.trip.kind, guard.trip.time_ns) == ("stop", 1)
    guard.reset()
    assert guard.trip is None
    guard.check(sample_of(wrench=(1e3, 0, 0, 0, 0, 0)), 3)
    assert (guard.trip.kind, guard.trip.time_ns) == ("force", 3)


def test_a_limit_set_while_running_counts_from_the_next_check(guard):
    """Force, stale age and the rest are parameters."""
    assign(guard, "force", 10.0)
    assign(guard, "stale", 0.01)
    guard.check(sample_of(wrench=(11, 0, 0, 0, 0, 0)), 0)
    assert "limit 10 N" in guard.trip.reason
    guard.reset()
    guard.check(sample_of(), 11 * MS)
    assert guard.trip.kind == "stale"


def test_a_guard_of_no_robot_still_checks_what_needs_none():
    """Numbers, force and workspace."""
    guard = Guard()
    assert guard.check(sample_of(np.full(6, 3.1), np.full(6, 50.0)), 0)
    assert guard.limit(np.full(6, 1e5), 0)
    assert guard.trip is None
    assert not guard.limit(np.full(6, np.nan), 0)
    guard.reset()
    assert not guard.check(sample_of(with_one(0.0, 2, np.nan)), 0)
    assert guard.trip.reason == "measured position 3 is not a number"


LOPSIDED = Limits(
    lower=np.array([0.5, -3.0, -0.1, -6.0, 1.0, -0.2]),
    upper=np.array([2.5, -1.0, 0.3, 1.0, 1.1, 9.0]),
    velocity=np.array([0.5, 1.0, 2.0, 3.0, 4.0, 5.0]),
    torque=np.array([150.0, 20.0, 0.5, 28.0, 1.0, 3.0]),
)
"""Ranges beside zero, wide and narrow."""


def lopsided() -> tuple[Guard, np.ndarray]:
    """A guard of such joints, and the middle of their ranges."""
    guard = Guard(force=30.0, moment=0.4)
    guard.watch(LOPSIDED)
    return guard, 0.5 * (LOPSIDED.lower + LOPSIDED.upper)


@pytest.mark.parametrize("index", range(6))
@pytest.mark.parametrize("what", ["position", "speed", "force"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_value_alone_trips_beyond_its_limit_and_up_to_it_takes_the_short_way(index, what, sign):
    """Whatever its scale; far beyond too, where a wrong middle would look right."""
    guard, middle = lopsided()
    half = 0.5 * (LOPSIDED.upper - LOPSIDED.lower)[index]
    limit = {
        "position": half,
        "speed": LOPSIDED.velocity[index],
        "force": guard.force if index < 3 else guard.moment,
    }[what]

    def check(share: float) -> None:
        q, v, wrench = middle.copy(), np.zeros(6), np.zeros(6)
        {"position": q, "speed": v, "force": wrench}[what][index] += sign * share * limit
        assert guard.check(sample_of(q, v, wrench), 0)

    guard._check_each = None
    for share in (0.0, 0.5, 0.999):
        check(share)
    del guard._check_each
    for share in (1.001, 1.3, 1.9, 2.0, 3.0, 5.0, 9.0, 17.0, 40.0):
        check(share)
        assert guard.trip is not None and guard.trip.kind == what
        guard.reset()


@pytest.mark.parametrize("index", range(18))
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_arm_takes_over_at_once_only_what_breaks_no_limit(arm, index, sign):
    """The compiled short way, which asks no guard: position, speed, force and moment alone."""
    guard, middle = lopsided()
    half = 0.5 * (LOPSIDED.upper - LOPSIDED.lower)
    limits = np.concatenate([half, LOPSIDED.velocity, [30.0] * 3, [0.4] * 3])
    rest = np.concatenate([middle, np.zeros(12)])
    for share in (0.999, 1.001, 1.3, 3.0, np.nan):
        arm.update(GOOD_Q, np.zeros(6))
        values = rest.copy()
        values[index] += sign * share * limits[index]
        within = share < 1.0
        assert arm.take(values, guard.bounds) == within
        np.testing.assert_array_equal(arm.motion[:6], values[:6] if within else GOOD_Q)


@pytest.mark.parametrize(("share", "within"), [(0.57, True), (0.58, False)])
def test_an_arm_takes_over_at_once_what_breaks_no_limit_though_every_value_is_near_one(
    arm, share, within
):
    """A joint far from its middle is no reason for the long way; forces count by their length."""
    guard, middle = lopsided()
    half = 0.5 * (LOPSIDED.upper - LOPSIDED.lower)
    values = np.concatenate([middle + 0.999 * half, -0.999 * LOPSIDED.velocity, np.zeros(6)])
    assert arm.take(values, guard.bounds) == 1
    for at, limit in ((12, 30.0), (15, 0.4)):
        pressed = values.copy()
        pressed[at : at + 3] = share * limit
        assert arm.take(pressed, guard.bounds) == within


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize(("side", "outside"), [("low", 1.0), ("high", -1.0)])
def test_an_arm_that_takes_a_sample_over_says_if_its_tool_is_outside(arm, axis, side, outside):
    """One side of the workspace at a time, a millimetre inside and outside of it."""
    values = np.concatenate([GOOD_Q, np.zeros(12)])
    arm.update(GOOD_Q, np.zeros(6))
    at = arm.position.copy()
    for sign, answer in ((outside, 2), (-outside, 1)):
        guard = Guard()
        guard.watch(UR5E.limits)
        getattr(guard, side)[axis] = at[axis] + 1e-3 * sign
        guard.refresh()
        assert arm.take(values, guard.bounds) == answer
    assert arm.take(values[1:], guard.bounds) == 0


@pytest.mark.parametrize("index", range(6))
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_torque_alone_is_cut_beyond_its_limit_and_not_before(index, sign):
    """Each joint at its own."""
    guard, _ = lopsided()
    limit = sign * LOPSIDED.torque[index]
    for share, cut in ((0.999, 0.999), (1.01, 1.0), (1.3, 1.0), (7.0, 1.0)):
        torque = with_one(0.0, index, share * limit)
        assert guard.limit(torque, 0)
        np.testing.assert_allclose(torque, with_one(0.0, index, cut * limit))
    assert guard.clipped == 3 and guard.trip is None


@pytest.mark.parametrize(
    ("torque", "joint"), [((140.0, 15.0, 0.0, 40.0, 0.0, 0.0), 4), ((200.0, 0, 0, 30.0, 0, 0), 1)]
)
def test_the_torque_that_is_most_beyond_its_limit_is_named(torque, joint):
    """Not the greatest, nor that of the weakest motor."""
    guard, _ = lopsided()
    guard.torque_trips = True
    assert guard.limit(np.array(torque), 5)
    assert (guard.trip.kind, guard.trip.time_ns) == ("torque", 5)
    assert guard.trip.reason.startswith(f"joint {joint} needs {torque[joint - 1]:.1f} N·m (limit")

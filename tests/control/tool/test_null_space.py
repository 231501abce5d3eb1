"""A redundant arm keeps its posture while it is coupled, and its tool feels nothing of that."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.control.tool.torque import NullSpaceHold, TorqueController, is_redundant
from farhand.rigs import Options, build_rig
from farhand.robots import load_robot
from farhand.world.joints import JointPush

DT = 1e-3
ONES = np.ones(7)


@pytest.fixture
def arm() -> Arm:
    """An arm with seven joints that moves."""
    arm = Arm.of(load_robot("iiwa14"))
    rng = np.random.default_rng(1)
    arm.update(load_robot("iiwa14").home + rng.uniform(-0.3, 0.3, 7), rng.normal(size=7))
    return arm


def inner_motion(arm: Arm) -> np.ndarray:
    """The joint velocity, of length 1, that leaves the tool where it is."""
    return np.linalg.svd(arm.J)[2][-1]


def test_the_tool_is_not_accelerated(arm):
    """J M⁻¹ τ = 0, whatever the error and the speed; the joints are."""
    hold = NullSpaceHold()
    hold.begin(arm)
    arm.update(arm.q + 0.2, arm.v)
    accelerated = np.linalg.solve(arm.M, hold.torque(arm, DT))
    assert np.abs(accelerated).max() > 0.5
    np.testing.assert_allclose(arm.J @ accelerated, 0.0, atol=1e-4)


def test_the_inner_motion_is_pulled_back_and_braked_by_its_own_inertia(arm):
    """For u with J u = 0, uᵀτ = uᵀM (k (q₀ − q) − d q̇); a hold without gains does nothing."""
    hold, kept = NullSpaceHold(stiffness=3.0, damping=7.0), arm.q.copy()
    hold.begin(arm)
    arm.update(arm.q + 0.1, arm.v)
    wanted = 3.0 * (kept - arm.q) - 7.0 * arm.v
    u = inner_motion(arm)
    assert u @ hold.torque(arm, 1e-6) == pytest.approx(u @ arm.M @ wanted, rel=1e-6)
    assert not NullSpaceHold(0.0, 0.0).torque(arm, DT).any()


def test_the_store_is_what_was_taken_less_what_was_given(arm):
    """Up to its size, step by step; the pull gets no more than there is."""
    hold, rng, home = NullSpaceHold(stiffness=1000.0), np.random.default_rng(3), arm.q.copy()
    hold.begin(arm)
    emptied = 0
    for _ in range(300):
        arm.update(home + rng.uniform(-0.5, 0.5, 7), rng.normal(size=7))
        before = hold.store
        given = float(hold.torque(arm, DT) @ arm.v) * DT
        assert hold.store == pytest.approx(min(0.5, before - given), abs=1e-12)
        emptied += hold.store < 1e-12
    assert 0 < emptied < 300


def asked(gain: float, valid: bool = True) -> ControlRequest:
    """A request without effort."""
    request = ControlRequest()
    request.gain, request.valid = gain, valid
    return request


def test_the_posture_kept_is_that_of_the_engagement(arm):
    """As far as the arm is coupled, through a lost sample, and again at the next engagement."""
    home = arm.q.copy()
    controller = TorqueController(arm, "free", null_space=NullSpaceHold(10.0, 0.0))

    def pull(gain: float, away: float, valid: bool = True) -> float:
        arm.update(home + away, np.zeros(7))
        torque = controller.step(asked(gain, valid), 0).value - arm.gravity
        return float(inner_motion(arm) @ torque) / float(np.abs(inner_motion(arm) @ arm.M @ ONES))

    assert pull(1.0, 0.0) == pytest.approx(0.0, abs=1e-9)
    whole = pull(1.0, 0.1)
    assert abs(whole) == pytest.approx(10.0 * 0.1, rel=1e-6)
    assert abs(pull(0.5, 0.1)) == pytest.approx(5.0 * 0.1, rel=1e-6)
    assert pull(1.0, 0.1, valid=False) == pytest.approx(0.0, abs=1e-9)
    assert abs(pull(1.0, 0.1)) == pytest.approx(10.0 * 0.1, rel=1e-6)
    assert pull(0.0, 0.1) == pytest.approx(0.0, abs=1e-9)
    assert pull(1.0, 0.1) == pytest.approx(0.0, abs=1e-9)


def test_it_never_gives_more_energy_than_it_has_taken_and_its_store(arm):
    """Over a random walk of the posture; the damping alone always takes."""
    hold, rng, given = NullSpaceHold(stiffness=1000.0), np.random.default_rng(2), 0.0
    damper = NullSpaceHold(stiffness=0.0)
    hold.begin(arm)
    damper.begin(arm)
    home = arm.q.copy()
    for _ in range(2000):
        arm.update(home + rng.uniform(-0.5, 0.5, 7), rng.normal(size=7))
        given += float(hold.torque(arm, DT) @ arm.v) * DT
        assert given <= 0.5 + 1e-9
        assert float(damper.torque(arm, DT) @ arm.v) <= 0.0
    assert hold.store >= 0.0


@pytest.mark.parametrize(
    ("name", "redundant"), [("iiwa14", True), ("ur5e", False), ("phua", False)]
)
def test_only_redundant_arms_have_it(name, redundant):
    """Six joints have no motion to spare, and a floating base is not an arm's."""
    arm = Arm.of(load_robot(name))
    q = arm.q.copy()
    assert is_redundant(arm) == redundant == ("null_space" in TorqueController(arm).parts)
    np.testing.assert_array_equal(arm.q, q)


def posture_after(seconds, push=0.0, scenario="rest", robot="iiwa14", **settings):
    """Joints and tool of a coupled arm whose elbow is pushed [rad/s²], its start, its trips."""
    pairs = [("rig.follower_robot", str(robot)), *settings.items()]
    options = Options("position-position", scenario=scenario, settings=pairs)
    rig = build_rig("dual-arm", options)
    arm = rig.session.stations[1].arm
    start = rig.world.ports["follower"].q.copy()
    arm.update(start, np.zeros(7))
    rig.world.push("follower", JointPush(push * arm.M @ inner_motion(arm), 0.5, 0.2))
    rig.session.run(seconds)
    port = rig.world.ports["follower"]
    found = port.q.copy(), port.tool.position.copy(), start, list(rig.session.trips)
    rig.close()
    return found


def test_a_nudged_elbow_stays_for_twenty_seconds():
    """Without the hold it goes on until a joint reaches its limit; nobody could guess why."""
    off = {"follower.null_space.stiffness": 0.0, "follower.null_space.damping": 0.0}
    adrift, _, start, trips = posture_after(20.0, push=2.0, **off)
    assert np.abs(adrift - start).max() > 0.5 or trips
    kept, _, start, trips = posture_after(20.0, push=2.0)
    assert trips == []
    np.testing.assert_allclose(kept, start, atol=0.02)


def test_an_arm_of_ones_own_with_seven_joints_does_not_drift(tmp_path):
    """From a file that knows nothing of this; its joints have no friction that would stop them."""
    links = "".join(
        f'<body name="link{k}" pos="0 0 0.15"><joint name="joint{k}" axis="{axis}"/>'
        '<geom type="capsule" fromto="0 0 0 0 0 0.15" size="0.04" mass="2"/>'
        for k, axis in enumerate(["0 0 1", "0 1 0"] * 3 + ["0 0 1"])
    )
    end = f'<site name="tool" pos="0 0 0.15"/>{"</body>" * 7}'
    home = '<keyframe><key name="home" qpos="0.2 0.6 0.4 1.2 -0.3 0.7 0"/></keyframe>'
    path = tmp_path / "seven.xml"
    path.write_text(f"<mujoco><worldbody>{links}{end}</worldbody>{home}</mujoco>")
    off = {"follower.null_space.stiffness": 0.0, "follower.null_space.damping": 0.0}
    adrift, _, start, _ = posture_after(2.0, push=2.0, robot=path, **off)
    assert np.abs(adrift - start).max() > 0.2
    kept, _, start, trips = posture_after(2.0, push=2.0, robot=path)
    assert trips == []
    np.testing.assert_allclose(kept, start, atol=0.02)


def test_the_tool_moves_as_without_it():
    """A nudge of the elbow apart, in the same motion of the hand."""
    off = {"follower.null_space.stiffness": 0.0, "follower.null_space.damping": 0.0}
    _, free, _, _ = posture_after(3.0, scenario="free", **off)
    _, held, _, trips = posture_after(3.0, scenario="free")
    assert trips == []
    np.testing.assert_allclose(held, free, atol=1e-3)

"""A rig seen along one axis: its masses, its law and its hand, and nothing of it changed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from farhand.analysis.stability.limits import passive_limit, remedies, wall_limit
from farhand.analysis.stability.loop import Contact
from farhand.analysis.stability.operating_point import force_back, operating_point
from farhand.analysis.stability.spectrum import largest_stable_delay, stable
from farhand.arm import Arm
from farhand.coupling import LAWS
from farhand.errors import BadValue, Mismatch, UnknownName
from farhand.plants.simulated.velocity import VelocityPlant
from farhand.rigs import Options, build_rig
from farhand.rigs.margin import margin
from farhand.running.margin import shaking


@pytest.fixture
def rig():
    """Builds rigs and closes them."""
    made = []

    def build(name="dual-arm", law=None, delay=0.0, **settings):
        pairs = [(path.replace("__", "."), value) for path, value in settings.items()]
        made.append(build_rig(name, Options(law=law, delay=delay, settings=pairs)))
        return made[-1]

    yield build
    for built in made:
        built.close()


def test_the_mass_is_what_the_tool_feels_like_along_the_wall(rig):
    """1 / (n Γ n), from the model as from the physics."""
    built = rig(law="position-position")
    point = operating_point(built.session, built.world, built.parts)
    placed = built.world.placed["leader"]
    arm = Arm.of(placed.robot, placed.placement)
    arm.update(built.world.ports["leader"].q, np.zeros(arm.nv))
    gamma = arm.J @ np.linalg.solve(arm.M, arm.J.T)
    assert point.loop.leader.mass == pytest.approx(1.0 / gamma[0, 0], rel=1e-6)
    # published mass scale
    assert point.loop.follower.mass == pytest.approx(0.25 * point.loop.leader.mass, rel=1e-6)
    np.testing.assert_allclose(point.axis, [1.0, 0.0, 0.0])


def test_looking_changes_nothing(rig):
    """The run after a look is the run without one, to the bit."""
    ends = []
    for looked in (False, True):
        built = rig(law="position-force", delay=10.0)
        if looked:
            operating_point(built.session, built.world, built.parts)
        built.session.run(0.3)
        ends.append(built.world.ports["follower"].q.copy())
    np.testing.assert_array_equal(*ends)


def test_where_a_rig_stood_is_remembered_when_it_has_moved_on(rig):
    """The point after a run is that of before it at the stance of before it, with the parameters of
    now.
    """
    built = rig(law="position-force")
    before = operating_point(built.session, built.world, built.parts).loop
    built.session.run(2.0)
    moved = operating_point(built.session, built.world, built.parts).loop
    assert moved.leader.mass != pytest.approx(before.leader.mass, rel=1e-3)
    built.parts.wall.stiffness = 3000.0
    after = operating_point(built.session, built.world, built.parts, standing=built.standing).loop
    assert (after.leader, after.follower) == (before.leader, before.follower)
    assert after.wall.stiffness == 3000.0


def test_a_pen_that_leads_backwards_is_seen_in_its_own_axes(rig):
    """The pen's x is the robot's −x, and the hand feels a tenth."""
    built = rig("youbot")
    law = operating_point(built.session, built.world, built.parts).loop.law
    np.testing.assert_allclose(law.on_follower[:, 0], [700.0, -700.0], rtol=1e-4)
    np.testing.assert_allclose(law.on_leader[:, 0], [-70.0, 70.0], rtol=1e-4)


def test_hands_go_by_name_or_number(rig):
    """And the words say which."""
    built = rig(law="position-force")
    firm = operating_point(built.session, built.world, built.parts, "firm")
    assert firm.hand == "firm, 1500 N/m, 60 N·s/m, 1.2 kg"
    assert operating_point(
        built.session, built.world, built.parts, "10,2,0.5"
    ).loop.hand == Contact(10.0, 2.0, 0.5)
    assert operating_point(built.session, built.world, built.parts).hand.startswith(
        "the rig's own, 1000 N/m"
    )
    with pytest.raises(UnknownName, match="unknown hand 'iron'"):
        operating_point(built.session, built.world, built.parts, "iron")
    with pytest.raises(BadValue, match="form K,B,M"):
        operating_point(built.session, built.world, built.parts, "1,2")


def test_followers_that_take_velocities_are_predicted_with_their_drives(rig):
    """A slower drive bears a softer wall; its map of forces makes the law not linear."""
    quick, slow = (
        operating_point(b.session, b.world, b.parts)
        for b in (
            rig("hazardous", rig__force_map=False, follower__drives__delay=late)
            for late in (0.02, 0.1)
        )
    )
    assert quick.linear and slow.whole.drives[1].late > quick.whole.drives[1].late
    assert 100.0 < wall_limit(slow, 15) < 0.8 * wall_limit(quick, 15)
    bent = rig("hazardous")
    assert not operating_point(bent.session, bent.world, bent.parts).linear


def test_a_stronger_force_at_the_hand_pushes_an_admittance_handle_harder(rig):
    """Its memory learns of the follower's contact four times as much."""
    built = rig(law="admittance")
    point = operating_point(built.session, built.world, built.parts)
    plain, strong = (point.at_force(times).memory for times in (1.0, 4.0))
    np.testing.assert_allclose(strong.Q[1][6:, 12:], 4.0 * plain.Q[1][6:, 12:], atol=1e-9)
    assert plain.Q[1][6:, 12:].any()


def test_nothing_comes_back_from_servos_that_only_follow(rig):
    """Whatever their bus does; a spring to a limb that lags is felt as drag."""
    led = rig("humanoid")
    point = operating_point(led.session, led.world, led.parts)
    assert stable(point.whole) and largest_stable_delay(point.whole, 200) == np.inf
    tied = rig("humanoid", "position-position")
    whole = operating_point(tied.session, tied.world, tied.parts).whole
    A, B, R = whole.matrices()
    assert (B @ R).any() and stable(whole)


def test_drives_that_nobody_knows_are_refused(rig, monkeypatch):
    """With the reason, and what to do instead."""
    built = rig("hazardous")
    monkeypatch.setattr(VelocityPlant, "inner_loop", None)
    with pytest.raises(Mismatch, match=r"takes joint velocity.*farhand run --headless --delay"):
        operating_point(built.session, built.world, built.parts)


def test_the_handle_of_an_admittance_is_part_of_the_loop(rig):
    """A stiffer wall is too much for it, a heavier handle bears more; held still it would not
    shake.
    """
    soft = {
        "hand__stiffness": 200.0,
        "hand__damping": 5.0,
        "wall__stiffness": 1000.0,
        "wall__damping": 20.0,
    }
    points = [
        operating_point(b.session, b.world, b.parts)
        for b in (rig(law="admittance", law__mass=m, **soft) for m in (4, 8))
    ]
    light, heavy = (wall_limit(point, 15) for point in points)
    assert 1000.0 < light < heavy < 1e5
    assert not stable(points[0].at_wall(2.0 * light))
    assert stable(replace(points[0].at_wall(2.0 * light), memory=None))


def test_an_observer_makes_wrenches_late(rig):
    """A slow one bears less; one as quick as a tick is a sensor that is a tick late."""
    soft = {
        "hand__stiffness": 200.0,
        "hand__damping": 5.0,
        "wall__stiffness": 1000.0,
        "wall__damping": 20.0,
    }
    slow, quick = (
        rig(law="four-channel-sensorless", rig__observer_gain=gain, **soft)
        for gain in (20.0, 800.0)
    )
    sensed = rig(law="four-channel", **soft)
    loops = [
        operating_point(built.session, built.world, built.parts).whole
        for built in (slow, quick, sensed)
    ]
    assert [loop.observers for loop in loops] == [(20.0, 20.0), (800.0, 800.0), (0.0, 0.0)]
    largest = [
        np.abs(np.linalg.eigvals(A + B @ R)).max()
        for A, B, R in (loop.matrices() for loop in loops)
    ]
    assert abs(largest[1] - largest[2]) < 0.2 * abs(largest[0] - largest[2])


def test_coarser_encoders_and_longer_delays_never_raise_the_limit(rig):
    """What makes a loop worse in the field makes it worse here."""
    soft = {"hand__stiffness": 200.0, "hand__damping": 5.0, "wall__damping": 20.0}
    quick, slow = (rig(law="position-force", delay=delay, **soft) for delay in (80.0, 120.0))
    near, far = (
        operating_point(built.session, built.world, built.parts) for built in (quick, slow)
    )
    assert wall_limit(far, 15) < wall_limit(near, 15)
    stepped = operating_point(slow.session, slow.world, slow.parts, quantum=1e-3)
    assert stepped.quantum > 0.0
    assert wall_limit(stepped, 15) <= wall_limit(far, 15)


def test_every_remedy_alone_makes_the_loop_calm(rig):
    """What is advised is tried."""
    soft = {"hand__stiffness": 200.0, "hand__damping": 5.0, "wall__stiffness": 3000.0}
    built = rig(law="position-force", delay=100.0, **soft)
    point = operating_point(built.session, built.world, built.parts)
    assert not stable(point.whole)
    advice = {remedy.parameter: remedy for remedy in remedies(point)}
    assert set(advice) == {"--delay", "law.mapping.force_scale", "wall.stiffness"}
    wall = advice["wall.stiffness"].limit
    assert stable(point.at_wall(1.3 * wall)) and not stable(point.at_wall(1.5 * wall))
    quicker = rig(law="position-force", delay=advice["--delay"].limit, **soft)
    assert stable(operating_point(quicker.session, quicker.world, quicker.parts).whole)
    scale = advice["law.mapping.force_scale"].limit
    gentler = rig(law="position-force", delay=100.0, law__mapping__force_scale=scale, **soft)
    assert stable(operating_point(gentler.session, gentler.world, gentler.parts).whole)
    assert str(advice["wall.stiffness"]).endswith("N/m (now 3e+03)")


def test_an_uncoupled_leader_is_passive_to_what_its_friction_allows(rig):
    """2 b / T, and no delay bothers it."""
    built = rig(law="none")
    point = operating_point(built.session, built.world, built.parts)
    assert passive_limit(point) == pytest.approx(2e3 * point.loop.leader.damping)
    assert largest_stable_delay(point.whole, 100) == float("inf")


def test_friction_at_the_tool_is_felt_along_the_axis_through_the_joints(rig):
    """Σ τ_i |q̇_i| = f |ẋ| for the motion that a push along the axis causes."""
    built = rig(law="position-force")
    point = operating_point(built.session, built.world, built.parts, friction=0.5)
    limb = point.whole.limbs[1]
    moved = np.linalg.solve(limb.M, limb.J[:3].T @ point.axis)
    moved /= point.axis @ limb.J[:3] @ moved
    assert limb.dry @ np.abs(moved) == pytest.approx(0.5)
    assert point.loop.follower.friction == 0.5


@pytest.mark.parametrize("role", ["leader", "follower"])
def test_an_arm_that_cannot_move_towards_the_wall_is_said_to_be_so(rig, tmp_path, role):
    """A pendulum across the wall's normal has no mass along it; a run goes on without a margin."""
    (tmp_path / "pendulum.xml").write_text(
        """<mujoco><worldbody><body pos="0 0 1"><joint axis="1 0 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.03" mass="1"/>
        <site name="tool" pos="0 0 -0.5"/></body></worldbody></mujoco>"""
    )
    built = rig(law="position-position", **{f"rig__{role}_robot": str(tmp_path / "pendulum.xml")})
    words = rf"the {role}'s joints cannot move its tool along \(1, 0, 0\)"
    with pytest.raises(Mismatch, match=words):
        operating_point(built.session, built.world, built.parts)
    with pytest.raises(Mismatch, match=words):
        operating_point(built.session, built.world, built.parts, friction=1.0)
    assert margin(built) is None
    built.session.run(0.05)
    assert list(shaking(built)) == []


@pytest.mark.parametrize(
    ("name", "law"), [*(("dual-arm", law) for law in LAWS), ("youbot", "position-position")]
)
def test_no_law_of_the_library_is_called_nonlinear_but_the_one_with_a_dead_zone(rig, name, law):
    """Each is a linear law about rest, with all of its terms."""
    built = rig(name, law=law)
    point = operating_point(built.session, built.world, built.parts)
    assert point.linear == (law != "input-gated")


ARMS = {"rig__leader_plant": "so101-leader", "rig__follower_plant": "so101"}


def test_a_law_over_joints_is_seen_as_its_springs(rig):
    """K and D of every joint, and nothing between two of them; the hand feels the opposite."""
    built = rig("pair", law="position-position", **ARMS)
    point = operating_point(built.session, built.world, built.parts)
    spring = built.session.bridges[0].laws[0].spring
    on_leader, on_follower = point.whole.law
    stiffness, damping = spring._gains
    n = len(stiffness)
    np.testing.assert_allclose(on_follower[0][:, :n], np.diag(stiffness), atol=1e-6)
    np.testing.assert_allclose(on_follower[1][:, n : 2 * n], -np.diag(damping), atol=1e-6)
    np.testing.assert_allclose(on_leader[0], -on_follower[0], atol=1e-6)
    assert point.linear and point.whole.observers == (200.0, 200.0)
    fingers = built.session.parameters["fingers"]
    assert point.whole.limbs[0].grip == (fingers.stiffness, fingers.damping)


def test_without_a_law_the_joints_of_a_pair_are_free(rig):
    """No effort on either side, in the prediction and in the run."""
    built = rig("pair", law="none", **ARMS)
    point = operating_point(built.session, built.world, built.parts)
    assert not any(gains.any() for of in point.whole.law for gains in of)
    built.session.run(0.3)
    assert not built.session.trips


def test_what_a_wall_pushes_on_like_arms_comes_back_along_the_wall(rig):
    """Joint by joint the torques of a push are those of the same push at the other tool."""
    built = rig("pair", rig__leader_plant="openarm", rig__follower_plant="openarm")
    axis = np.array([0.6, 0.0, 0.8])
    np.testing.assert_allclose(force_back(built.session, built.world, axis), axis, atol=1e-6)


@pytest.mark.parametrize("law", [law for law in LAWS if law != "none"])
def test_every_law_over_joints_is_predicted_and_linear(rig, law):
    """Delay never helps one that shakes without."""
    built = rig("pair", law=law, delay=4.0, **ARMS)
    point = operating_point(built.session, built.world, built.parts)
    assert point.linear
    assert np.isfinite(point.whole.matrices()[0]).all()

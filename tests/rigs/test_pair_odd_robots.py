"""The pair rig with robots that nobody thought of: one joint, slides only, large, endless jaws."""

from __future__ import annotations

import re

import numpy as np
import pytest

from farhand.control.trajectory.paths import Move
from farhand.errors import Mismatch
from farhand.rigs import Options, Rig, build_rig
from farhand.rigs.pair.parts import DIRECTIONS, MAX_DAMPING, steppable
from farhand.rigs.pair.scenarios import SCENARIOS, scaled

JAW = """<body name="jaw" pos="{length} 0.02 0">
    <joint name="grip" type="slide" axis="0 1 0" {range} damping="1"/>
    <geom type="box" size="0.02 0.005 0.01" mass="0.05"/></body>"""


def model(
    joints: list[tuple[str, str]], length: float = 0.3, tool: float = 1.0, jaw: str | None = None
) -> str:
    """An MJCF chain of (type, axis), each ``length`` [m] from the last."""
    text, motors = "", ""
    for number, (kind, axis) in enumerate(joints):
        limits = "-0.5 0.5" if kind == "slide" else "-2 2"
        text += f"""<body pos="{length if number else 0.0} 0 {0.0 if number else 0.2}">
            <joint name="j{number}" type="{kind}" axis="{axis}" range="{limits}" damping="0.5"
             armature="0.01"/>
            <geom type="box" size="{0.1 * length} 0.02 0.02" pos="{0.5 * length} 0 0" mass="1"/>"""
        motors += f'<motor joint="j{number}" ctrlrange="-200 200"/>'
    if jaw is not None:
        motors += '<motor joint="grip" ctrlrange="-20 20"/>'
        text += JAW.format(length=length, range=jaw)
    text += f'<site name="tool" pos="{tool * length} 0 0"/>' + "</body>" * len(joints)
    head = '<compiler angle="radian" autolimits="true"/>'
    return f"<mujoco>{head}<worldbody>{text}</worldbody><actuator>{motors}</actuator></mujoco>"


HINGE, LIFT = ("hinge", "0 0 1"), ("hinge", "0 1 0")
SLIDES = [("slide", "1 0 0"), ("slide", "0 1 0"), ("slide", "0 0 1")]


@pytest.fixture
def pair(tmp_path):
    """Build a pair of two models."""
    built = []

    def build(leader: str, follower: str, space: str, tomls=("", ""), **more) -> Rig:
        settings = [("rig.space", space)]
        texts = zip(("leader", "follower"), (leader, follower), tomls, strict=True)
        for role, text, toml in texts:
            path = tmp_path / f"{role}.xml"
            path.write_text(text)
            path.with_suffix(".toml").write_text(toml)
            settings.append((f"rig.{role}_plant", str(path)))
        built.append(build_rig("pair", Options(settings=settings, **more)))
        return built[-1]

    yield build
    for rig in built:
        rig.close()


def follows(rig: Rig, seconds: float) -> float:
    """Largest error of tracking after some seconds without a trip, [m]."""
    rig.session.run(seconds, rig.metrics.pull)
    assert [record.trip.reason for record in rig.session.trips] == []
    return rig.metrics.values()["tracking_error_max"][0]


@pytest.mark.parametrize("space", ["joints", "tool"])
@pytest.mark.parametrize("joints", [[HINGE], SLIDES[:1], SLIDES], ids=["hinge", "slide", "gantry"])
def test_arms_whose_tools_cannot_turn_or_go_everywhere_follow_each_other(pair, joints, space):
    """They lag by v/ω at most. What a tool cannot do needs no gain; a slide reaches its travel."""
    text = model(joints, tool=0.0 if joints is SLIDES else 1.0)
    rig = pair(text, text, space, scenario="free")
    error = follows(rig, 2.2)
    # the arms stand 1.2 times both reaches apart; a smooth move of 0.08 reaches takes 1.5 s
    reach = rig.world.placed["follower"].placement.position[1] / 2.4
    assert error < 1.875 * 0.08 * reach / 1.5 / 20.0
    if len(joints) == 3:
        assert reach == pytest.approx(2 * 0.3 + 0.5, abs=1e-3)
        assert np.abs(rig.world.ports["follower"].q).max() > 0.07 * reach


def test_the_gains_of_a_gantry_are_those_of_its_moving_mass(pair):
    """K = ω (m ω + μ) over both arms: half of what moves with the tool, and none for rotation."""
    text = model(SLIDES, tool=0.0)
    spring = pair(text, text, "tool").session.bridges[0].laws[0].spring
    # the first slide carries three boxes, the last one, each its rotor; a mean over the axes
    mass = float(np.cbrt(3.01 * 2.01 * 1.01))
    assert spring.stiffness == pytest.approx(20.0 * 0.5 * (mass * 20.0 + 0.5), rel=1e-6)
    assert spring.damping == pytest.approx(2.0 * spring.stiffness / 20.0)
    assert spring.rotational_stiffness == 0.0


def test_unlike_gantries_are_tied_by_what_both_have_together(pair):
    """K = ω a b / (a + b), not the mean of the two: the lighter one decides."""
    heavy = model(SLIDES, tool=0.0)
    light = heavy.replace('mass="1"', 'mass="0.1"')
    spring = pair(heavy, light, "tool").session.bridges[0].laws[0].spring
    masses = [np.cbrt(3.01 * 2.01 * 1.01), np.cbrt(0.31 * 0.21 * 0.11)]
    a, b = (mass * 20.0 + 0.5 for mass in masses)
    assert spring.stiffness == pytest.approx(20.0 * a * b / (a + b), rel=1e-6)


def test_an_arm_whose_tool_no_joint_moves_is_refused(pair):
    """A tool on the only axis: there would be no way for the hand to go."""
    with pytest.raises(Mismatch, match="no joint of the leader leader moves its tool"):
        pair(model([HINGE], tool=0.0), model([HINGE]), "joints")


@pytest.mark.parametrize("joints", [[HINGE], SLIDES[:1]], ids=["hinge", "slide"])
def test_an_arm_without_room_at_its_home_is_built_and_said_so(pair, joints):
    """A joint of two degrees or centimetres: the hand's moves have no way to be scaled by."""
    wide = model(joints)
    narrow = re.sub('range="-[0-9.]+ [0-9.]+"', 'range="-0.02 0.02"', wide)
    rig = pair(narrow, wide, "joints", scenario="free")
    assert any("has no room for its tool at its home" in note for note in rig.notes)
    rig.session.run(1.5, rig.metrics.pull)
    wall = rig.parts.wall
    assert wall is not None and np.linalg.norm(wall.normal) == pytest.approx(1.0)
    # pushed to the end of its joint at most
    assert np.abs(rig.metrics.history.signal("leader", "q")).max() < 0.03


def test_large_arms_stand_inside_their_own_workspace(pair):
    """The arms stand as far apart as they reach: the guard's box has to grow with them."""
    joints = [HINGE, LIFT, LIFT]
    text = model(joints, length=1.2)
    assert follows(pair(text, text, "joints", scenario="free"), 1.0) < 0.2


@pytest.mark.parametrize("jaws", [("", ""), ("", 'range="0 0.05"'), ('range="0 0.05"', "")])
def test_a_gripper_without_limits_is_coupled_one_to_one(pair, jaws):
    """There is no range to bring over the other, and nobody squeezes it."""
    texts = [model([HINGE, LIFT], jaw=jaw) for jaw in jaws]
    rig = pair(*texts, "joints", scenario="free")
    assert rig.session.bridges[0].laws[0].mapping.matrix[-1, -1] == 1.0
    assert ("fingers" in rig.session.parameters) == bool(jaws[0])
    assert follows(rig, 1.0) < 0.01


def test_a_joint_that_is_only_named_gripper_stays_in_its_place(pair):
    """The real one, by another name, drives the other real one."""
    text = model([HINGE, LIFT, LIFT], jaw='range="0 0.05"')
    named = text.replace('"j1"', '"gripper"')
    mapping = pair(named, text, "joints").session.bridges[0].laws[0].mapping
    assert mapping.source == (0, 1, 2, 3)


def laws_of(rig: Rig):
    """The law of a rig without a link."""
    return rig.session.bridges[0].laws[0]


@pytest.mark.parametrize("space", ["joints", "tool"])
def test_the_gains_of_two_hinges_are_those_of_the_closed_form(pair, space):
    """K = ω (I ω + μ)/2 and D = I ω + μ, for equal arms, of the joint or about the tool's axis."""
    text = model([HINGE])
    rig = pair(text, text, space)
    law = laws_of(rig)
    weight = law.mapping.weights[0] if space == "joints" else 1.0
    arm = rig.session.stations[0].arm
    strength = float(arm.M[0, 0]) * 20.0 + 0.5
    assert law.spring.rotational_stiffness * weight == pytest.approx(0.5 * 20.0 * strength)
    assert law.spring.rotational_damping * weight == pytest.approx(strength)


def test_unlike_hinges_are_coupled_by_what_both_have_together(pair):
    """In series, as two masses on a spring: the lighter one decides."""
    rig = pair(model([HINGE], length=0.6), model([HINGE], length=0.1), "joints")
    law = laws_of(rig)
    a, b = (float(station.arm.M[0, 0]) * 20.0 + 0.5 for station in rig.session.stations)
    assert law.spring.rotational_stiffness == pytest.approx(20.0 * a * b / (a + b))


def test_dampers_that_a_step_cannot_follow_are_weaker():
    """One mass: D h / m is what counts. Of a heavy and a light part only the light one yields."""
    parts = np.array([0, 1])
    for damping, inertia in (((100.0, 50.0), (1.0, 1.0)), ((700.0, 2.0), (1.0, 1e-3))):
        shares = steppable(np.array(damping), np.diag(1.0 / np.array(inertia)), 1e-3, parts)
        left = shares * damping / np.array(inertia) * 1e-3
        assert left.max() <= MAX_DAMPING
    assert shares[0] == pytest.approx(0.5 * MAX_DAMPING / 0.7)
    np.testing.assert_array_equal(steppable(np.ones(2), np.eye(2), 1e-3, parts), [1.0, 1.0])


@pytest.mark.parametrize("space", ["joints", "tool"])
def test_a_light_wrist_with_much_friction_does_not_lose_the_simulation(pair, space):
    """As models have it that give no rotor's inertia."""
    start, wrist = model([HINGE, LIFT, LIFT, ("hinge", "1 0 0")]).split('name="j3"')
    for heavy, light in (("armature", "1e-5"), ("mass", "0.01"), ("damping", "1")):
        wrist = re.sub(f'{heavy}="[^"]*"', f'{heavy}="{light}"', wrist, count=1)
    text = f'{start}name="j3"{wrist}'
    rig = pair(text, text, space, scenario="wall")
    assert follows(rig, 1.0) < 0.05


@pytest.mark.parametrize("space", ["joints", "tool"])
def test_the_wall_stands_where_the_leader_brings_the_follower(pair, space):
    """A tenth of the shorter way ahead of the follower's tool, facing it."""
    small, large = model(SLIDES, length=0.1, tool=0.0), model(SLIDES, length=0.3, tool=0.0)
    rig = pair(large, small, space)
    wall, tool = rig.parts.wall, rig.world.ports["follower"].tool.position
    reach = 0.5 + (0.6 if space == "joints" else 0.2)
    # slides go as far on both sides; one to one
    np.testing.assert_allclose(wall.point - tool, [0.1 * reach, 0.0, 0.0], atol=1e-3)
    np.testing.assert_allclose(wall.normal, [-1.0, 0.0, 0.0], atol=1e-6)


def test_the_wall_stands_where_the_follower_goes_from_its_own_home(pair):
    """Its joints go as far as the leader's do, and not to the same place."""
    text = model(SLIDES, length=0.1, tool=0.0)
    tomls = "home = [0.05, 0.0, 0.1]", "home = [-0.1, 0.1, -0.05]"
    rig = pair(text, text, "joints", tomls)
    way = rig.parts.wall.point - rig.world.ports["follower"].tool.position
    np.testing.assert_allclose(way, [0.1 * 0.7, 0.0, 0.0], atol=1e-3)


@pytest.mark.parametrize("slow", ["leader", "follower"])
@pytest.mark.parametrize("space", ["joints", "tool"])
def test_the_hand_is_as_fast_as_the_slower_arm_may_be(pair, space, slow):
    """At its fastest, 0.6 of what the slowest slide may do; measured on the path itself."""
    text = model(SLIDES, tool=0.0)
    limits = {slow: "[limits]\nvelocity = [0.05, inf, inf]"}
    tomls = [limits.get(role, "") for role in ("leader", "follower")]
    rig = pair(text, text, space, tomls, scenario="wall")
    path, times = rig.parts.hand.path, np.arange(0.0, 8.0, 1e-3)
    places = []
    for time in times:
        path.at(float(time))
        places.append(path.translation[0])
    # the way is cut into twenty steps
    assert np.abs(np.gradient(places, times)).max() == pytest.approx(0.6 * 0.05, rel=0.06)


def test_fingers_and_object_are_as_strong_as_the_grippers_they_meet(pair):
    """The fingers' spring is ω (m ω + μ) of the jaw; what it holds has twice that."""
    text = model([HINGE, LIFT], jaw='range="0 0.1"')
    rig = pair(text, text, "joints")
    strength = 0.05 * 20.0 + 1.0
    fingers, thing = (rig.session.parameters[name] for name in ("fingers", "object"))
    assert fingers.stiffness == pytest.approx(20.0 * strength)
    assert fingers.damping == pytest.approx(2.0 * strength)
    assert thing.stiffness == pytest.approx(40.0 * strength)


def test_the_way_to_the_wall_keeps_off_the_ends_of_the_joints(pair):
    """The first slide has no room ahead: the wall is where there is some, down or up."""
    text = model(SLIDES, tool=0.0).replace('"-0.5 0.5"', '"-0.5 0.03"', 1)
    rig = pair(text, text, "tool")
    assert rig.parts.wall.normal[0] == pytest.approx(0.0, abs=1e-6)
    assert abs(rig.parts.wall.normal[2]) == pytest.approx(1.0)


def test_grippers_of_unlike_ranges_open_and_close_together(pair):
    """From 10 to 60 mm while the leader's goes from 0 to 100 mm."""
    ranges = ('range="0 0.1"', 'range="0.01 0.06"')
    rig = pair(*(model([HINGE, LIFT], jaw=jaw) for jaw in ranges), "joints")
    assert laws_of(rig).mapping.matrix[-1, -1] == pytest.approx(0.5)
    # one of two only: nothing to bring over another
    rig = pair(model([HINGE, LIFT], jaw=ranges[0]), model([HINGE, LIFT]), "joints")
    np.testing.assert_allclose(laws_of(rig).mapping.matrix, [[1, 0, 0], [0, 1, 0]])


def test_the_guards_box_holds_both_arms_stretched_to_every_side(pair):
    """Twice the reach about each base, and never less than the usual five metres."""
    text = model([HINGE, LIFT, LIFT], length=1.2)
    rig = pair(text, text, "joints")
    for station in rig.session.stations:
        base = np.array(rig.world.placed[station.name].placement.position)
        np.testing.assert_allclose(station.guard.low, np.minimum(-5.0, base - 7.2), rtol=1e-3)
        np.testing.assert_allclose(station.guard.high, np.maximum(5.0, base + 7.2), rtol=1e-3)


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=lambda scenario: scenario.name)
def test_every_scenario_comes_back_to_its_start_one_move_after_the_other(scenario):
    """Whatever the arms are, the hand lets go where it took hold."""
    moves = scenario.moves_for(0)
    ends = [move.start + move.duration for move in moves]
    assert all(end <= move.start for end, move in zip(ends, moves[1:], strict=False))
    assert all(end <= scenario.seconds for end in ends)
    way = np.sum([move.translation for move in moves], axis=0) if moves else np.zeros(3)
    np.testing.assert_allclose(way, 0.0, atol=1e-12)


@pytest.mark.parametrize("way", DIRECTIONS)
def test_moves_turn_with_the_wall_and_keep_their_lengths(way):
    """The first axis points to the wall, the second to its side, the third completes them."""
    unit = np.eye(3)
    moves = tuple(Move(0.0, 1.0, tuple(row)) for row in unit)
    axes = 0.5 * np.array([move.translation for move in scaled(moves, np.array(way), 2.0)])
    np.testing.assert_allclose(axes[0], way, atol=1e-12)
    np.testing.assert_allclose(axes @ axes.T, unit, atol=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1.0)
    assert axes[1][2] == pytest.approx(0.0)

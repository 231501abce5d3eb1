"""Loading robots: the shipped ones, a user's own files, and every way those can be wrong."""

from __future__ import annotations

import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest

from farhand.errors import BadValue, FarhandError, FileError, ModelError, OutOfRange, UnknownName
from farhand.robots import Placement, Robot, load_robot, robot_names
from tests.robots.own_files import BODY, BRANCHED, CHAIN, URDF, refusal, write


@pytest.fixture(
    params=[(name, variant) for name in robot_names() for variant in load_robot(name).variants],
    ids=str,
)
def shipped(request: pytest.FixtureRequest) -> Robot:
    """Every robot that comes with Farhand, in every variant."""
    return load_robot(*request.param)


def test_a_shipped_robot_is_complete(shipped: Robot) -> None:
    """It has a description, a tool, limits that contain its postures, and sources."""
    model = shipped.compile()
    assert shipped.description
    assert mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, shipped.tool) >= 0
    assert shipped.home.shape == (model.nq,)
    assert all(q.shape == (model.nq,) for q in shipped.postures.values())
    limits = shipped.limits
    for values in (limits.lower, limits.upper, limits.velocity, limits.torque, shipped.actuated):
        assert values.shape == (model.nv,)
    assert (limits.lower < limits.upper).all()
    assert (limits.torque > 0).all() and (limits.velocity > 0).all()
    assert {
        "kinematics",
        "mass",
        "inertia",
        "limits",
        "home",
        "tool",
        "geometry",
    } <= shipped.sources.keys()


def test_the_page_of_robots_names_them_all() -> None:
    """Nobody finds a robot that is not there."""
    page = (Path(__file__).parents[2] / "docs" / "robots.md").read_text()
    assert [name for name in robot_names() if f"`{name}`" not in page] == []


def test_a_shipped_robot_is_only_a_mechanism(shipped: Robot) -> None:
    """No servo fights the plant, nothing collides, and the file brings no options of its own."""
    model = shipped.compile(gravity=9.804)
    assert model.nu == model.nsensor == model.nkey == 0
    assert model.opt.timestep == 1e-3
    np.testing.assert_array_equal(model.opt.gravity, [0, 0, -9.804])
    assert "<option" not in shipped.source.read_text()


def test_a_placed_robot_moves_as_a_whole(shipped: Robot) -> None:
    """The tool goes where the placement takes it; the robot's own coordinates stay."""
    quarter_turn = Placement((1.0, 2.0, 3.0), (0.0, 0.0, 1.0, 1.0))
    poses = []
    for placement in (Placement(), quarter_turn):
        model = shipped.compile(placement)
        data = mujoco.MjData(model)
        data.qpos = shipped.home
        mujoco.mj_kinematics(model, data)
        poses.append(np.array(data.site(shipped.tool).xpos))
    if not any(kind == int(mujoco.mjtJoint.mjJNT_FREE) for kind in shipped.compile().jnt_type):
        x, y, z = poses[0]
        np.testing.assert_allclose(poses[1], [1 - y, 2 + x, 3 + z], atol=1e-12)


def test_robots_attach_to_a_world_twice_without_a_warning(shipped: Robot) -> None:
    """Leader and follower may be the same robot."""
    world = mujoco.MjSpec()
    world.copy_during_attach = True
    world.option.timestep = 5e-4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for prefix in ("leader/", "follower/"):
            world.attach(
                shipped.spec(), prefix=prefix, frame=world.worldbody.add_frame(pos=[0, 0.75, 0])
            )
        model = world.compile()
    assert model.nq == 2 * shipped.home.size
    assert model.opt.timestep == 5e-4


def test_changing_a_spec_does_not_change_the_robot() -> None:
    """``spec()`` is a fresh copy each time, and arrays are read-only."""
    robot = load_robot("point3")
    robot.spec().body("handle").mass = 99
    assert robot.compile().body("handle").mass == pytest.approx(0.15)
    with pytest.raises(ValueError, match="read-only"):
        robot.home[0] = 1


def test_pinocchio_gets_the_limits_of_the_robot() -> None:
    """Speed and effort limits are not in the model file but in robot.toml."""
    model = load_robot("ur5e").pinocchio()
    np.testing.assert_array_equal(model.upperEffortLimit, [150, 150, 150, 28, 28, 28])
    np.testing.assert_array_equal(model.lowerVelocityLimit, np.full(6, -np.pi))


def test_pinocchio_gets_the_position_limits_of_the_toml(tmp_path: Path) -> None:
    """Also behind a free joint, whose quaternion has one number more than it has DOF."""
    base = CHAIN.replace(
        '<body name="upper"', '<body name="base"><freejoint/><geom size="0.1"/><body name="upper"'
    )
    text = base.replace("</body>\n    </body>", "</body></body></body>").replace(
        'qpos="0.5 1.5"', ""
    )
    free = "-inf, -inf, -inf, -inf, -inf, -inf"
    toml = (
        f"limits = {{ lower = [{free}, -0.5, -0.6], upper = [{free.replace('-', '')}, 0.7, 0.8] }}"
    )
    model = load_robot(write(tmp_path, text, toml)).pinocchio()
    np.testing.assert_array_equal(model.lowerPositionLimit, [-np.inf] * 7 + [-0.5, -0.6])
    np.testing.assert_array_equal(model.upperPositionLimit, [np.inf] * 7 + [0.7, 0.8])


def test_a_users_file_needs_nothing_beside_it(tmp_path: Path) -> None:
    """Limits, home and tool are found in the model, and their origin is said."""
    robot = load_robot(str(write(tmp_path)))
    assert (robot.name, robot.variant) == ("mine", "")
    np.testing.assert_array_equal(robot.home, [0.5, 1.5])
    np.testing.assert_array_equal(robot.limits.lower, [-np.inf, -1])
    np.testing.assert_array_equal(robot.limits.upper, [np.inf, 2])
    np.testing.assert_array_equal(robot.limits.torque, [14, 3])
    assert robot.actuated.all()
    assert "lower" in robot.sources["tool"] and "keyframe" in robot.sources["home"]
    assert robot.spec().site("tool").parent.name == "lower"


def test_a_users_servos_and_options_are_removed(tmp_path: Path) -> None:
    """A position servo or another gravity in the file must not fight the plant."""
    model = load_robot(write(tmp_path)).compile()
    assert model.nu == model.nsensor == model.nkey == 0
    np.testing.assert_array_equal(model.opt.gravity, [0, 0, -9.81])


def test_a_users_options_do_not_disturb_the_world_it_is_attached_to(tmp_path: Path) -> None:
    """Not even with a warning."""
    world = mujoco.MjSpec()
    world.option.timestep = 5e-4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        world.attach(
            load_robot(write(tmp_path)).spec(), prefix="leader/", frame=world.worldbody.add_frame()
        )
        world.compile()


def test_meshes_are_found_from_another_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative path is resolved when the robot is loaded, not when it is compiled."""
    (tmp_path / "meshes").mkdir()
    faces = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (tmp_path / "meshes" / "part.obj").write_text(faces)
    text = CHAIN.replace(
        "<worldbody>", '<asset><mesh name="part" file="meshes/part.obj"/></asset><worldbody>'
    )
    write(
        tmp_path,
        text.replace('<body name="table"/>', '<geom type="mesh" mesh="part"/><body name="table"/>'),
    )
    monkeypatch.chdir(tmp_path)
    robot = load_robot("mine.xml")
    monkeypatch.chdir("/")
    assert robot.compile().nmesh == 1


def test_a_urdf_keeps_its_fixed_links_and_all_its_limits(tmp_path: Path) -> None:
    """The tip is a link of its own, and effort and speed limits are read."""
    robot = load_robot(write(tmp_path, URDF, name="pendulum.urdf"))
    model = robot.compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    np.testing.assert_allclose(data.body("tip").xpos, [0, 0, -1], atol=1e-12)
    np.testing.assert_allclose(data.site("tool").xpos, [0, 0, -1], atol=1e-12)
    limits = robot.limits
    assert [limits.lower[0], limits.upper[0], limits.torque[0], limits.velocity[0]] == [-1, 2, 5, 3]


@pytest.mark.parametrize("link", ["base", "world"])
def test_a_urdf_may_call_its_first_link_anything(tmp_path: Path, link: str) -> None:
    """``world`` is MuJoCo's name for the fixed frame and a common first link of a URDF."""
    robot = load_robot(write(tmp_path, URDF.replace("base", link), name="pendulum.urdf"))
    assert robot.spec().site("tool").parent.name == "tip"


def test_a_speed_limit_that_is_not_a_number_is_refused(tmp_path: Path) -> None:
    """MuJoCo does not look at it, so nobody else would notice."""
    text = URDF.replace('velocity="3"', 'velocity="fast"')
    assert "fast" in str(refusal(write(tmp_path, text, name="pendulum.urdf")))


def test_a_toml_beside_the_file_places_the_tool_and_adds_variants(tmp_path: Path) -> None:
    """What robot.toml can say about a shipped robot it can say about a user's."""
    toml = """
        description = "mine"
        variant = "short"
        home = [0.1, 0.2]
        actuated = [true, false]
        tool = { body = "upper", pos = [0.0, 0.1, 0.2], quat_xyzw = [0.0, 0.0, 1.0, 1.0] }
        [limits]
        torque = [1.0, inf]
        [rates]
        bus = 50
        [variants.long]
        home = [0.3, 0.4]
        bodies.lower = { pos = [0.0, 0.0, 0.9], mass = 3.0 }
        joints.j2 = { range = [-2.0, 2.0] }
        geoms = {}
        """
    short, long = (load_robot(write(tmp_path, toml=toml), variant) for variant in ("short", "long"))
    assert short.variants == ("short", "long")
    assert short.rates == {"bus": 50.0}
    np.testing.assert_array_equal(short.actuated, [True, False])
    np.testing.assert_array_equal(long.limits.torque, [1, np.inf])
    np.testing.assert_array_equal(long.limits.lower, [-np.inf, -2])
    np.testing.assert_array_equal(long.home, [0.3, 0.4])
    np.testing.assert_array_equal(long.compile().body("lower").pos, [0, 0, 0.9])
    site = long.compile().site("tool")
    np.testing.assert_allclose(site.quat, [np.sqrt(0.5), 0, 0, np.sqrt(0.5)])
    assert short.compile().body("lower").pos[2] == 0.5


def test_a_folder_with_a_model_is_a_robot(tmp_path: Path) -> None:
    """The same layout as a shipped robot."""
    write(tmp_path, name="model.xml")
    assert load_robot(tmp_path).name == tmp_path.name


def test_a_start_outside_the_limits_moves_to_the_middle_and_says_so(tmp_path: Path) -> None:
    """Without a home, a joint that cannot be at zero, such as an elbow, starts inside its guard."""
    text = CHAIN.replace('qpos="0.5 1.5"', "").replace('range="-1 2"', 'range="0.2 2"')
    robot = load_robot(write(tmp_path, text.replace('name="home"', 'name="other"')))
    np.testing.assert_allclose(robot.home, [0.0, 1.1])
    assert "j2 at 1.1 rad" in robot.notes[1] and "moved" in robot.sources["home"]
    one_sided = load_robot(
        write(tmp_path, CHAIN.replace('name="home"', ""), "limits.lower = [0.3, -1]")
    )
    np.testing.assert_allclose(one_sided.home, [0.4, 0.0])
    assert not any("home" in note for note in load_robot(write(tmp_path, name="plain.xml")).notes)


def test_a_keyframe_outside_the_limits_is_refused(tmp_path: Path) -> None:
    """It was written on purpose, so one of the two is wrong."""
    error = refusal(write(tmp_path, CHAIN.replace('qpos="0.5 1.5"', 'qpos="0.5 2.5"')))
    assert isinstance(error, OutOfRange)
    assert "keyframe 'home'[1] = 2.5" in str(error) and "[-1, 2] rad" in str(error)


def test_passive_joints_are_balls_and_free_joints_unless_told_otherwise(tmp_path: Path) -> None:
    """A free-floating base has no motor, and no limits."""
    text = CHAIN.replace(BODY.format("j1"), '<freejoint/><geom size="0.05" mass="1"/>')
    robot = load_robot(
        write(tmp_path, text.replace('joint="j1"', 'joint="j2"').replace('qpos="0.5 1.5"', ""))
    )
    np.testing.assert_array_equal(robot.actuated, [False] * 6 + [True])
    assert np.isinf(robot.limits.upper[:6]).all()


def test_a_branched_model_without_a_tool_is_refused_with_advice(tmp_path: Path) -> None:
    """The user learns which bodies there are and what to write."""
    error = refusal(write(tmp_path, BRANCHED))
    assert isinstance(error, ModelError)
    assert '<site name="tool"/>' in str(error) and "upper, lower, other" in str(error)


def test_a_branched_urdf_is_told_what_a_urdf_can_do(tmp_path: Path) -> None:
    """There are no sites in a URDF: the toml names the tool, and then it loads."""
    finger = URDF[URDF.index('<link name="rod">') : URDF.index('<joint name="end"')]
    finger = (
        finger.replace("rod", "branch")
        .replace("swing", "sweep")
        .replace('link="base"', 'link="rod"')
    )
    text = URDF.replace("</robot>", finger.replace('<link name="tip"/>', "") + "</robot>")
    error = refusal(write(tmp_path, text, name="hand.urdf"))
    assert isinstance(error, ModelError)
    assert 'tool = { body = "…" } into hand.toml' in str(error) and "rod, tip, branch" in str(error)
    assert "<site" not in str(error)
    load_robot(write(tmp_path, text, "tool = { body = 'tip' }", name="hand.urdf"))


@pytest.mark.parametrize("text", ["<mujoco/>", '<robot name="r"><link name="a"/></robot>'])
def test_a_model_without_joints_is_told_so(tmp_path: Path, text: str) -> None:
    """Not that it lacks a tool."""
    assert "has no joints" in str(refusal(write(tmp_path, text)))


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("ur5", UnknownName, "did you mean 'ur5e'"),
        ("nowhere/robot.xml", FileError, "No such file"),
        ("robot.urdf", FileError, "No such file"),
        ("folder/robot.txt", FileError, ".mjcf"),
    ],
)
def test_a_robot_that_is_not_there_is_refused(
    name: str, kind: type[FarhandError], words: str
) -> None:
    """By name or by path."""
    error = refusal(name)
    assert isinstance(error, kind)
    assert words in str(error)


ORPHAN = """<robot name="r"><link name="a"/>
    <joint name="j" type="revolute"><parent link="a"/></joint></robot>"""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<mujoco",
        "<mujoco><spanner/></mujoco>",
        "<mujoco/>",
        "<mujoco><worldbody><body><joint/></body></worldbody></mujoco>",
        '<mujoco><asset><mesh file="gone.obj"/></asset></mujoco>',
        ORPHAN,
        "\x00\xff",
    ],
)
@pytest.mark.parametrize("suffix", ["xml", "mjcf", "urdf"])
def test_a_malformed_model_is_refused_on_one_line(tmp_path: Path, text: str, suffix: str) -> None:
    """MuJoCo's own messages have several lines."""
    assert isinstance(refusal(write(tmp_path, text, name=f"broken.{suffix}")), ModelError)


@pytest.mark.parametrize(
    ("toml", "kind", "words"),
    [
        ("home = [", ModelError, "mine.toml"),
        ("home = [1.0]", BadValue, "must have 2 values, not 1"),
        ("home = [nan, 0.0]", BadValue, "finite"),
        ("home = ['a', 0.0]", BadValue, "numbers"),
        ("home = [0.0, 3.0]", OutOfRange, "[-1, 2]"),
        ("postures = 3", BadValue, "table"),
        ("postures.up = [1.0]", BadValue, "postures.up"),
        ("limits.torque = [1.0]", BadValue, "limits.torque"),
        ("limits.torque = [nan, 1.0]", BadValue, "limits.torque"),
        ("limits.speed = [1.0, 1.0]", UnknownName, "velocity"),
        ("actuated = [1, 0]", BadValue, "booleans"),
        ("rates = 4", BadValue, "table"),
        ("rates.bus = 'fast'", BadValue, "rates.bus"),
        ("sources.home = 4", BadValue, "string"),
        ("tool = { body = 'hand' }", UnknownName, "lower"),
        ("tool = 'hand'", BadValue, "table"),
        ("tool = { body = 'lower', quat_xyzw = [0, 0, 0, 0] }", BadValue, "no direction"),
        ("locked = ['j7']", UnknownName, "j1"),
        ("tool = { body = 'lower', quat = [1, 0, 0, 0] }", UnknownName, "quat_xyzw"),
        ("hoem = [0.0, 0.0]", UnknownName, "did you mean 'home'"),
        ("variants = 1", BadValue, "table"),
    ],
)
def test_a_malformed_toml_is_refused_on_one_line(
    tmp_path: Path, toml: str, kind: type[FarhandError], words: str
) -> None:
    """The message names the key and what would be right."""
    error = refusal(write(tmp_path, toml=toml))
    assert isinstance(error, kind)
    assert words in str(error)


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("bodies.hand = { pos = [0, 0, 0] }", "lower"),
        ("bodies.lower = { position = [0, 0, 0] }", "pos"),
        ("bodies.lower = { pos = [0, 0] }", "3 values"),
        ("bodies.lower = { quat_xyzw = [0, 0, 0, 0] }", "no direction"),
        ("bodies.lower = 4", "table"),
    ],
)
def test_a_malformed_variant_is_refused_on_one_line(
    tmp_path: Path, override: str, words: str
) -> None:
    """Bodies and attributes that do not exist are named with those that do."""
    assert words in str(refusal(write(tmp_path, toml=f"[variants.big]\n{override}"), "big"))


def test_an_unknown_variant_is_refused_with_the_known_ones() -> None:
    """Also where the robot has only one."""
    assert "cb, ur" in str(refusal("ur5e", "e-series"))
    assert "none" in str(refusal("point3", "large"))


@pytest.mark.parametrize(
    "arguments", [((0, 0), (0, 0, 0, 1)), ((0, 0, np.nan), (0, 0, 0, 1)), ((0, 0, 0), (0, 0, 0, 0))]
)
def test_a_meaningless_placement_is_refused(arguments) -> None:
    """Wrong size, NaN, or a quaternion without direction."""
    with pytest.raises(BadValue):
        Placement(*arguments)


def test_gravity_must_be_a_number() -> None:
    """NaN would spread through the whole state at the first step."""
    with pytest.raises(BadValue):
        load_robot("point3").compile(gravity=float("nan"))


@pytest.mark.parametrize("name", ["arm.xacro", "arm.urdf.xacro", "description/arm.urdf.xacro"])
def test_a_xacro_file_is_answered_with_how_to_make_a_urdf(name: str) -> None:
    """With or without a path; nothing here reads macros."""
    assert f"xacro {name} > " in str(refusal(name)) and str(refusal(name)).endswith("arm.urdf")

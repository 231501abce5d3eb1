"""A scene says all there is to draw, in values that any process and any file can hold."""

from __future__ import annotations

import json
import pickle
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

from farhand.console.menus import range_of
from farhand.console.scene import Kinematics, model_of, scene_of
from farhand.console.status import Reading
from farhand.loop.telemetry import Reader
from farhand.rigs import Options, build_rig, rig_names
from farhand.rigs.rig import RigParts
from farhand.robots import Placement, load_robot, q_to_pinocchio
from farhand.world import GroundSpring, Placed, ToolSpring, World

FLOATING = """
<mujoco>
  <worldbody>
    <body name="hull" pos="0 0 1"><freejoint/>
      <geom type="box" size="0.2 0.1 0.05" mass="2"/>
      <geom type="sphere" size="0.3" group="3" mass="0"/>
      <body><joint type="hinge" axis="0 1 0"/><geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0" mass="1"/>
        <site name="tool" pos="0.3 0 0"/></body>
    </body>
  </worldbody>
</mujoco>
"""


def rig_around(world: World) -> SimpleNamespace:
    """As much of a rig as a scene is made from."""
    session = SimpleNamespace(stations=[], bridges=[], parameters={})
    scenario = SimpleNamespace(title="a test", name="test", eventful=False)
    return SimpleNamespace(
        name="dual-arm",
        law="none",
        scenario=scenario,
        world=world,
        session=session,
        options=Options(),
        construction={},
        parts=RigParts(),
    )


def test_a_scene_survives_json_and_pickle(rig):
    """It holds plain values only."""
    scene = scene_of(rig)
    assert json.loads(json.dumps(scene)) == scene
    assert pickle.loads(pickle.dumps(scene)) == scene


def test_every_shape_of_every_robot_is_drawn(rig):
    """Nothing of the compiled model is left out, and every shape is under the robot it
    belongs to.
    """
    scene = scene_of(rig)
    assert sum(len(robot["geoms"]) for robot in scene["robots"]) == rig.world.model.ngeom
    for robot in scene["robots"]:
        bodies = {
            body["index"]: rig.world.model.body(body["index"]).name for body in robot["bodies"]
        }
        assert list(bodies.values()) == [
            f"{robot['name']}/{body['name']}" for body in robot["bodies"]
        ]
        assert {geom["body"] for geom in robot["geoms"]} <= set(bodies)
        assert all(body["parent"] == 0 or body["parent"] in bodies for body in robot["bodies"])


def test_colours_come_from_the_materials_of_the_model(rig):
    """A geom with a material has the material's colour."""
    base = scene_of(rig)["robots"][0]["geoms"][0]
    assert base["rgba"] == pytest.approx([0.20, 0.21, 0.23, 1.0])


def test_the_ring_has_what_the_scene_promises(rig):
    """Streams, channels and sizes agree with the telemetry."""
    reader = Reader(rig.session.telemetry.path)
    scene = scene_of(rig)
    assert scene["coupling"] in reader.header["streams"]
    for robot in scene["robots"]:
        columns = reader.columns(robot["stream"])
        assert (
            columns[robot["channel"]].stop - columns[robot["channel"]].start
            == robot["q"][1] - robot["q"][0]
        )


def test_tools_are_where_the_world_has_them(rig):
    """The viewer's kinematics, fed from the ring's convention, agree with the physics."""
    scene = scene_of(rig)
    kinematics = Kinematics({**scene, "posture": [0.0] * rig.world.model.nq})
    kinematics.update({name: port.q for name, port in rig.world.ports.items()})
    for name, port in rig.world.ports.items():
        np.testing.assert_allclose(kinematics.tool_position[name], port.tool.position, atol=1e-12)


def test_the_wall_is_drawn_on_its_plane_before_the_tool_it_stops(rig):
    """The square lies in the plane, and the plane is the one that pushes."""
    (wall,) = [thing for thing in scene_of(rig)["things"] if thing["kind"] == "wall"]
    assert wall["robot"] == "follower"
    assert wall["point"][0] == pytest.approx(0.45)
    assert wall["point"][1] == pytest.approx(rig.world.ports["follower"].tool.position[1])
    assert wall["normal"] == [-1.0, 0.0, 0.0]


def test_a_wall_that_is_not_there_is_not_drawn(rig):
    """``wall.present=false`` takes it out of the picture, but a visitor may bring it back."""
    rig.parts.wall.present = False
    (wall,) = [thing for thing in scene_of(rig)["things"] if thing["kind"] == "wall"]
    assert wall["present"] is False and wall["path"] == "wall"


def test_springs_are_drawn_once_between_their_ends():
    """A spring to ground has an anchor, a spring between tools has two robots and is told once."""
    point = load_robot("point3")
    world = World({"a": Placed(point), "b": Placed(point, Placement((0.0, 0.3, 0.0)))})
    world.touch("a", "anchor", GroundSpring(anchor=np.array([0.1, 0.2, 0.3])))
    world.tie("a", "b", "band", ToolSpring())
    assert scene_of(rig_around(world))["things"] == [
        {"kind": "spring", "name": "anchor", "robot": "a", "anchor": [0.1, 0.2, 0.3]},
        {"kind": "spring", "name": "band", "robot": "a", "other": "b"},
    ]


@pytest.fixture
def floating(tmp_path):
    """Two free-floating robots with a body that has no name and a collision shape that is not for
    the eye.
    """
    path = tmp_path / "floater.xml"
    path.write_text(FLOATING)
    robot = load_robot(path)
    return World({"one": Placed(robot), "two": Placed(robot)})


def test_a_free_floating_robot_is_drawn_where_its_quaternion_says(floating):
    """The ring has Pinocchio's quaternion order, the model MuJoCo's."""
    floating.ports["two"].q[:] = [0.1, 0.2, 0.3, 0.5, 0.5, -0.5, 0.5, 0.7]
    mujoco.mj_kinematics(floating.model, floating.data)
    kinematics = Kinematics(scene_of(rig_around(floating)))
    q = q_to_pinocchio(floating.model, np.array(floating.data.qpos))
    kinematics.update({"two": q[8:]})
    np.testing.assert_allclose(
        kinematics.tool_position["two"], floating.ports["two"].tool.position, atol=1e-12
    )


def test_a_state_that_is_not_a_number_leaves_the_picture_as_it_was(floating):
    """A robot with NaN in its record stays at its last good place, and the others move on."""
    kinematics = Kinematics(scene_of(rig_around(floating)))
    before = kinematics.tool_position["one"].copy()
    kinematics.update({"one": np.full(8, np.nan)})
    np.testing.assert_array_equal(kinematics.tool_position["one"], before)


def test_bodies_without_names_and_hidden_shapes_are_handled(floating):
    """Every body gets a name; shapes for collision only are not drawn."""
    robot = scene_of(rig_around(floating))["robots"][1]
    assert [body["index"] for body in robot["bodies"]] == [3, 4]
    assert all(body["name"] for body in robot["bodies"])
    assert sorted(geom["type"] for geom in robot["geoms"]) == ["box", "capsule"]


def test_the_model_travels_whole(rig):
    """What comes out of the scene is the compiled model of the world."""
    model = model_of(scene_of(rig))
    assert (model.nq, model.nbody, model.ngeom) == (
        12,
        rig.world.model.nbody,
        rig.world.model.ngeom,
    )
    np.testing.assert_array_equal(model.body_pos, rig.world.model.body_pos)


def test_what_can_be_set_comes_with_its_limits(rig):
    """Enough for a page to say what is allowed before it is refused."""
    knobs = {knob["path"]: knob for knob in scene_of(rig)["knobs"]}
    stiffness = knobs["wall.stiffness"]
    assert (stiffness["value"], stiffness["low"], stiffness["high"], stiffness["unit"]) == (
        6000.0,
        0.0,
        1e6,
        "N/m",
    )
    assert range_of(stiffness) == "0 to 1e+06 N/m"
    assert knobs["link.distribution"]["choices"] and knobs["wall.present"]["value"] is True
    assert knobs["wall.point"]["low"] is None


def test_the_menus_offer_what_the_rig_takes(rig):
    """Laws, layers and scenarios, and what is chosen now."""
    menus = scene_of(rig)["menus"]
    assert {"virtual-constraints", "position-force"} <= set(menus["laws"])
    assert menus["layers"][0] == "none" and menus["chosen"]["law"] == rig.law
    assert menus["chosen"]["scenario"] in menus["scenarios"] and not menus["linked"]


@pytest.mark.parametrize("name", rig_names())
def test_every_rig_can_be_drawn_from_its_ring(name):
    """All robots that move have a stream with their configuration, objects that are carried among
    them.
    """
    made = build_rig(name)
    try:
        made.session.run(0.05)
        scene, reader = scene_of(made), Reader(made.session.telemetry.path)
        reading = Reading()
        reading.refresh(reader, scene)
        assert set(reading.q) == {robot["name"] for robot in scene["robots"]}
        assert json.loads(json.dumps(scene)) == scene
        kinematics = Kinematics(scene)
        kinematics.update(reading.q)
        for robot, port in made.world.ports.items():
            np.testing.assert_allclose(
                kinematics.tool_position[robot], port.tool.position, atol=0.05
            )
    finally:
        made.close()

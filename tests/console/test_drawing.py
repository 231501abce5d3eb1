"""The picture follows the ring: bodies where the kinematics put them, arrows as long as the forces
are large.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import viser

from farhand.console.drawing import Drawing
from farhand.console.scene import scene_of
from farhand.console.status import Reading
from farhand.rigs import Options, build_rig


@pytest.fixture
def server() -> Iterator[viser.ViserServer]:
    """A page nobody looks at."""
    made = viser.ViserServer("127.0.0.1", 0, verbose=False)
    yield made
    made.stop()


@pytest.fixture
def drawing(server, rig) -> Drawing:
    """The picture of the dual-arm rig."""
    return Drawing(server, scene_of(rig))


def test_every_body_is_shown_where_the_world_has_it(server, rig, drawing):
    """Each frame of the picture is at its body."""
    rig.world.ports["leader"].q[0] += 0.3
    drawing.update(Reading(q={name: port.q for name, port in rig.world.ports.items()}))
    rig.world.advance(rig.world.now_ns + rig.world.step_ns)
    for robot in scene_of(rig)["robots"]:
        for body in robot["bodies"]:
            frame = server.scene.get_handle_by_name(
                f"/robots/{robot['name']}/{body['index']}_{body['name']}"
            )
            np.testing.assert_allclose(
                frame.position, rig.world.data.xpos[body["index"]], atol=1e-3
            )


def test_an_arrow_of_a_hundred_newtons_is_a_quarter_of_a_metre(server, drawing):
    """It begins at the tool and points along the force on the arm, with its size beside it."""
    drawing.update(Reading(force={"follower": np.array([-100.0, 0.0, 0.0])}))
    arrow = server.scene.get_handle_by_name("/forces/follower")
    assert arrow.visible
    np.testing.assert_allclose(arrow.points[0], [[0.0, 0.0, 0.0], [-0.25, 0.0, 0.0]], atol=1e-6)
    assert server.scene.get_handle_by_name("/forces/follower_size").text == "100 N"


@pytest.mark.parametrize("force", [np.zeros(3), np.full(3, np.nan)])
def test_no_force_and_no_measurement_have_no_arrow(server, drawing, force):
    """An arrow shown before goes away."""
    drawing.update(Reading(force={"leader": np.array([0.0, 0.0, 50.0])}))
    drawing.update(Reading(force={"leader": force}))
    assert not server.scene.get_handle_by_name("/forces/leader").visible
    assert not server.scene.get_handle_by_name("/forces/leader_size").visible


def test_a_wall_that_is_moved_is_drawn_where_it_went(server, rig, drawing):
    """A live ``set`` shows at once, given as numbers or as text; and a wall that is taken away is
    not drawn.
    """
    wall = server.scene.get_handle_by_name("/things/follower_wall")
    drawing.update(Reading(changes={"wall.point": [0.6, 0.0, 0.0]}))
    assert wall.position[0] == pytest.approx(0.6)
    drawing.update(Reading(changes={"wall.point": "0.5,0,0", "wall.present": "false"}))
    assert wall.position[0] == pytest.approx(0.5) and not wall.visible


def test_where_nothing_is_measured_the_arrow_is_the_laws(server, drawing):
    """And its label says so."""
    drawing.update(
        Reading(
            force={"leader": np.full(3, np.nan)}, commanded={"leader": np.array([0.0, 20.0, 0.0])}
        )
    )
    assert server.scene.get_handle_by_name("/forces/leader").visible
    assert server.scene.get_handle_by_name("/forces/leader_size").text == "law 20 N"


def test_the_coupling_is_drawn_while_it_holds(server, drawing):
    """A dashed line when the tools agree; the spring that a tracking error stretches beside it."""
    line = server.scene.get_handle_by_name("/things/leader_coupling_tie")
    drawing.update(Reading(engagement=0.0))
    assert not line.visible
    drawing.update(Reading(engagement=1.0, errors={"coupling": np.zeros(3)}))
    straight = len(line.points)
    drawing.update(Reading(engagement=1.0, errors={"coupling": np.array([0.05, 0.0, 0.0])}))
    assert line.visible and len(line.points) > straight


def test_a_crash_does_not_send_the_arrow_out_of_sight(server, drawing):
    """Its length is bounded, its number is not."""
    drawing.update(Reading(force={"leader": np.array([0.0, 0.0, 1e6])}))
    assert np.linalg.norm(server.scene.get_handle_by_name("/forces/leader").points[0][1]) <= 1.0


def test_the_ankle_of_a_leg_is_drawn_where_it_is_felt(server):
    """Every place on the curves is on the surface of its limit: the distance there is nothing."""
    rig = build_rig("humanoid", Options(settings=[("rig.limb", "left-leg")]))
    scene = scene_of(rig)
    controllers = [station.controller for station in rig.session.stations]
    synthetic = next(c.synthetic for c in controllers if c.synthetic is not None)
    base = next(c.workspace_origin for c in controllers if c.workspace_origin is not None)
    felt = {item.name: item for item in synthetic.objects}
    Drawing(server, scene)
    rig.close()
    drawn = [thing for thing in scene["things"] if thing["name"].startswith("ankle-")]
    assert sorted(thing["name"] for thing in drawn) == ["ankle-back", "ankle-front"]
    for thing in drawn:
        distance, _ = felt[thing["name"]].locate(np.array(thing["lines"]) - base)
        # where the thigh is stretched both limits meet
        assert np.abs(distance[np.isfinite(distance)]).max() < 1e-6
        assert np.isfinite(distance).mean() > 0.7
        assert server.scene.get_handle_by_name(f"/limits/follower_{thing['name']}") is not None


def test_names_of_a_team_stand_where_nobody_stands_before_them(server):
    """Seen from the camera, arms at the back are named above, those in front at their feet."""
    rig = build_rig("cooperative")
    scene = scene_of(rig)
    drawing = Drawing(server, scene)
    rig.close()
    middle, camera = drawing.view
    arms = [robot for robot in scene["robots"] if robot["role"] != "object"]
    assert len(arms) == 4
    for robot in arms:
        behind = float((np.array(robot["position"]) - middle) @ camera) < 0.0
        height = server.scene.get_handle_by_name(f"/robots/{robot['name']}/name").position[2]
        assert (height > 0.5) == behind, robot["name"]


def test_the_pens_region_is_drawn_and_says_when_rate_mode_is_on(server):
    """In the pen's own axes, as large as the scale of motion makes it."""
    rig = build_rig("youbot")
    drawing = Drawing(server, scene_of(rig))
    line = server.scene.get_handle_by_name("/limits/leader_region")
    region = rig.session.bridges[0].laws[0].mapping.hybrid.region
    rig.close()
    # robot x points towards the operator: the pen's x runs the other way
    assert line.points[..., 0].min() == pytest.approx(-region.front)
    drawing.update(Reading(changes={"law.mapping.motion_scale": "2"}))
    assert line.points[..., 0].min() == pytest.approx(-0.5 * region.front)
    drawing.update(Reading(changes={"law.mapping.hybrid.region.front": 0.02}))
    assert line.points[..., 0].min() == pytest.approx(-0.01)
    before = np.array(line.colors)
    drawing.update(Reading(rate_mode=True))
    assert (np.array(line.colors) != before).any()
    drawing.update(Reading())
    np.testing.assert_array_equal(line.colors, before)


def test_axes_on_the_follower_show_where_the_pen_moves_it(server):
    """The half turn of the youBot's map: pen x moves the tool along minus x."""
    rig = build_rig("youbot")
    tool = rig.world.ports["follower"].tool.position.copy()
    Drawing(server, scene_of(rig))
    rig.close()
    axes = server.scene.get_handle_by_name("/limits/leader_region_moves")
    np.testing.assert_allclose(axes.position, tool, atol=1e-6)
    w, x, y, z = axes.wxyz
    np.testing.assert_allclose([w, x, y, abs(z)], [0.0, 0.0, 0.0, 1.0], atol=1e-9)

"""The picture follows the ring: bodies where the kinematics put them, arrows as long as the forces are large."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import viser

from farhand.console.drawing import Drawing
from farhand.console.scene import scene_of
from farhand.console.status import Reading


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
            frame = server.scene.get_handle_by_name(f"/robots/{robot['name']}/{body['index']}_{body['name']}")
            np.testing.assert_allclose(frame.position, rig.world.data.xpos[body["index"]], atol=1e-3)


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


def test_a_crash_does_not_send_the_arrow_out_of_sight(server, drawing):
    """Its length is bounded, its number is not."""
    drawing.update(Reading(force={"leader": np.array([0.0, 0.0, 1e6])}))
    assert np.linalg.norm(server.scene.get_handle_by_name("/forces/leader").points[0][1]) <= 1.0

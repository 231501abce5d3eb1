"""A visitor looks from beside the rig or out of the follower's eyes, and nobody else's picture
changes.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from farhand.console.live import Live, Visitor
from farhand.console.scene import Kinematics, scene_of
from farhand.console.views import (
    EYES,
    FIELD_OF_VIEW,
    MIN_ASPECT,
    OVERVIEW,
    Views,
    camera_of,
    eye_of,
    fit_camera,
)
from farhand.rigs import Options, build_rig, rig_names


class Nodes(dict):
    """What is drawn in one window only, by name."""

    def add_frame(self, name, **look):
        """Draw a frame."""
        self[name] = look

    def remove_by_name(self, name):
        """Draw it no longer, if it was there."""
        self.pop(name, None)


def visitor(number: int) -> SimpleNamespace:
    """Somebody with a wide window."""
    camera = SimpleNamespace(position=np.zeros(3), look_at=np.zeros(3), fov=0.5, aspect=1.6)
    return SimpleNamespace(client_id=number, camera=camera, scene=Nodes())


@pytest.mark.parametrize("name", rig_names())
def test_the_follower_looks_at_its_own_work(name):
    """Near, but a large robot from farther away, and from above; no robot stands between."""
    rig = build_rig(name)
    try:
        scene = scene_of(rig)
        kinematics = Kinematics(scene)
        robot = next(robot for robot in scene["robots"] if robot["role"] == "follower")
        eye, tool = eye_of(robot, scene, kinematics)
        assert tool is kinematics.tool_position[robot["name"]]
        reach = np.linalg.norm(tool - robot["position"])
        assert 0.1 < np.linalg.norm(eye() - tool) < max(0.6, 1.5 * reach)
        assert name != "cooperative" or np.linalg.norm(eye() - tool) > 1.3
        assert eye()[2] > tool[2] + 0.05
        assert kinematics.sees(eye(), tool)
        _, overview = camera_of(scene, kinematics)
        for thing in scene["things"]:
            if thing["kind"] == "wall":
                # Both views are from the free side of the wall
                assert (eye() - tool) @ thing["normal"] > 0.0
                assert overview @ thing["normal"] > 0.0
    finally:
        rig.close()


def test_a_wrist_before_the_tool_hides_it(rig):
    """The old place of the eye was above the flange, and saw its back."""
    kinematics = Kinematics(scene_of(rig))
    tool = kinematics.tool_position["follower"]
    assert not kinematics.sees(tool + [0.0, 0.0, 0.4], tool)
    assert kinematics.sees(tool - [0.0, 0.0, 0.4], tool)


def test_one_visitor_is_carried_along_and_the_other_is_left_alone(rig):
    """The eyes move with the tool; the way back is the overview."""
    scene = scene_of(rig)
    kinematics = Kinematics(scene)
    people = {1: visitor(1), 2: visitor(2)}
    server = SimpleNamespace(get_clients=lambda: people)
    live = Live()
    live.clients |= {1: "one", 2: "two"}
    overview = np.array([0.0, 1.0, 0.5]), np.array([2.0, 0.0, 1.0])
    views = Views(server, scene, kinematics, overview, live)
    views.choose("one", EYES)
    before = people[1].camera.position.copy()
    kinematics.update({"follower": rig.world.ports["follower"].q + 0.2})
    views.update()
    assert np.linalg.norm(people[1].camera.position - before) > 0.01
    assert not people[2].camera.position.any()
    # limits would lie across this view, and only across this one
    assert people[1].scene == {"/limits": {"show_axes": False, "visible": False}}
    assert not people[2].scene
    views.choose("one", OVERVIEW)
    views.update()
    np.testing.assert_allclose(people[1].camera.position, overview[0] + overview[1])
    assert not people[1].scene
    del people[1]
    views.update()  # who has left is forgotten


@pytest.mark.parametrize("robots", [("so101-leader", "so101"), ("ur5e", "ur5e")])
def test_a_pair_fills_the_picture(robots):
    """From side to side two thirds or more of its half, and nothing is cut off."""
    settings = [("rig.leader_plant", robots[0]), ("rig.follower_plant", robots[1])]
    built = build_rig("pair", Options(settings=settings))
    scene, aspect = scene_of(built), 936 / 800
    kinematics = Kinematics(scene)
    middle, back = camera_of(scene, kinematics)
    back = back * MIN_ASPECT / aspect
    forward = -back / np.linalg.norm(back)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    seen = np.array([*kinematics.body_position[1:]]) - (middle + back)
    half = aspect * np.tan(0.5 * FIELD_OF_VIEW) * (seen @ forward)
    side = np.abs(seen @ right / np.linalg.norm(right) / half).max()
    assert 0.65 < side < 0.85
    built.close()


@pytest.mark.parametrize("told", [True, False], ids=["by the page", "by viser"])
@pytest.mark.parametrize(("aspect", "sheet"), [(1.22, False), (0.46, True), (0.8, False)])
def test_only_a_panel_below_the_picture_makes_the_camera_look_lower(rig, aspect, sheet, told):
    """A window that is merely narrow is seen from farther away, with the same middle.

    Of a page that has just been opened, viser does not know how wide its picture will be.
    """
    scene = scene_of(rig)
    client = visitor(1)
    client.camera.aspect = 1.6 if told else aspect
    live = Live()
    live.clients[1], live.visitors["one"] = "one", Visitor("one", True, narrow=sheet)
    if told:
        live.visitors["one"].aspect = aspect
    overview = np.array([0.0, 1.0, 0.5]), np.array([2.0, 0.0, 1.0])
    server = SimpleNamespace(get_clients=lambda: {1: client})
    Views(server, scene, Kinematics(scene), overview, live).choose("one", OVERVIEW)
    lower = overview[0][2] - client.camera.look_at[2]
    assert (lower > 0.1) == sheet
    assert np.linalg.norm(client.camera.position - client.camera.look_at) > np.linalg.norm(
        overview[1]
    )


class SlowBrowsersCamera:
    """viser's handle of a camera whose browser reports the view that is wanted once the position
    is sent: one that an earlier message gave it, and that it has not yet left.

    Attributes:
        looks_at: what the browser was sent last.
    """

    def __init__(self, reported: tuple[np.ndarray, np.ndarray]) -> None:
        self._reported, self._at, self._place = reported, np.ones(3), np.zeros(3)
        self.looks_at = np.ones(3)

    @property
    def position(self) -> np.ndarray:
        return self._place

    @position.setter
    def position(self, place: np.ndarray) -> None:
        self.looks_at = self._at + place - self._place
        self._place, self._at = self._reported

    @property
    def look_at(self) -> np.ndarray:
        return self._at

    @look_at.setter
    def look_at(self, point: np.ndarray) -> None:
        if not np.allclose(self._at, point):
            self._at = self.looks_at = np.asarray(point)


def test_a_view_arrives_whole_although_a_slow_browser_reports_old_ones():
    """What viser takes for the present view is sent all the same."""
    middle, back = np.array([0.5, 0.0, 0.4]), np.array([2.0, 0.0, 1.0])
    camera = SlowBrowsersCamera((middle + back, middle))
    fit_camera(SimpleNamespace(camera=camera), middle, back, sheet=False, aspect=2.0)
    np.testing.assert_allclose(camera.looks_at, middle, atol=1e-12)


def test_a_page_that_has_not_said_how_wide_it_is_gets_no_view_yet(rig):
    """A view for another size would have to be undone, in a browser that is busy."""
    scene, client, live = scene_of(rig), visitor(1), Live()
    live.clients[1], live.visitors["one"] = "one", Visitor("one", True)
    server = SimpleNamespace(get_clients=lambda: {1: client})
    overview = np.array([0.0, 1.0, 0.5]), np.array([2.0, 0.0, 1.0])
    views = Views(server, scene, Kinematics(scene), overview, live)
    views.greet("one")
    assert not client.camera.position.any()
    live.visitors["one"].aspect = 2.0
    views.greet("one")
    np.testing.assert_allclose(client.camera.position, overview[0] + overview[1])

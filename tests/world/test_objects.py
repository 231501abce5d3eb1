"""Objects and grips: tables carry, pads slide, momentum and energy balance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from farhand.errors import BadValue
from farhand.robots import load_robot
from farhand.spatial import rotation_from_vector
from farhand.world import CompressionSpring, Grip, GuidedSpring, Placed, Tool, World, box

numbers = st.floats(-0.3, 0.3, allow_nan=False)
screws = arrays(float, 6, elements=numbers)


def tool_at(pose: np.ndarray, twist: np.ndarray | None = None) -> Tool:
    """A tool at a place and turn, moving."""
    return Tool(
        pose[:3].copy(), rotation_from_vector(pose[3:]), np.zeros(6) if twist is None else twist
    )


def pushed(tie, a: Tool, b: Tool) -> tuple[np.ndarray, np.ndarray]:
    """What a tie does to two tools."""
    on_a, on_b = np.full(6, np.nan), np.full(6, np.nan)
    tie.push(a, b, 0.0, on_a, on_b)
    return on_a, on_b


def closed(a: Tool, b: Tool, **values: float) -> Grip:
    """A grip that has taken hold where the tools are."""
    grip = Grip(closed=True, **values)
    pushed(grip, a, b)
    return grip


@settings(max_examples=50, deadline=None)
@given(screws, screws, screws, screws)
def test_a_grip_makes_neither_momentum_nor_moment_of_momentum(pose_a, pose_b, moved_a, moved_b):
    """Force and moment about any point cancel: action equals reaction at the same place."""
    grip = closed(tool_at(pose_a), tool_at(pose_b))
    a, b = tool_at(pose_a + 1e-3 * moved_a, moved_a), tool_at(pose_b + 1e-3 * moved_b, moved_b)
    on_a, on_b = pushed(grip, a, b)
    np.testing.assert_allclose(on_a[:3] + on_b[:3], 0.0, atol=1e-9)
    about_origin = (
        on_a[3:] + on_b[3:] + np.cross(a.position, on_a[:3]) + np.cross(b.position, on_b[:3])
    )
    np.testing.assert_allclose(about_origin, 0.0, atol=1e-8)


def moved(tool: Tool, twist: np.ndarray, t: float) -> Tool:
    """The tool after it went on with a twist."""
    turn = rotation_from_vector(t * twist[3:])
    return Tool(tool.position + t * twist[:3], turn @ tool.rotation, twist)


@settings(max_examples=30, deadline=None)
@given(screws, screws, screws, screws)
def test_an_undamped_grip_gives_back_what_went_in(pose_a, pose_b, twist_a, twist_b):
    """Power into both sides is the loss of stored energy."""
    a, b = tool_at(pose_a), tool_at(pose_b)
    grip = closed(a, b, damping=0.0, rotational_damping=0.0)
    a = moved(a, np.array([1e-4, 1e-4, -2e-4, 1e-2, -1e-2, 2e-2]), 1.0)

    def wrenches(t: float) -> tuple[np.ndarray, np.ndarray]:
        return pushed(grip, moved(a, twist_a, t), moved(b, twist_b, t))

    on_a, on_b = wrenches(0.0)
    power, h, stored = float(on_a @ twist_a + on_b @ twist_b), 1e-6, []
    for t in (-h, h):
        wrenches(t)
        stored.append(grip.stored)
    assert power == pytest.approx(-(stored[1] - stored[0]) / (2.0 * h), abs=1e-3)


@settings(max_examples=30, deadline=None)
@given(screws, screws, screws, screws)
def test_the_dampers_of_a_grip_resist_the_change_of_its_stretch_and_turn(
    pose_a, pose_b, twist_a, twist_b
):
    """Damping times the rate at which the place on the object leaves the tool, and of the turn."""
    a, b = tool_at(pose_a), tool_at(pose_b)
    grip = closed(a, b, stiffness=0.0, rotational_stiffness=0.0)
    a = moved(a, np.array([0.1, -0.2, 0.05, 0.0, 0.0, 0.0]), 1.0)

    def stretch(t: float) -> np.ndarray:
        pushed(grip, moved(a, twist_a, t), moved(b, twist_b, t))
        return grip.stretch.copy()

    h = 1e-4
    rate = (stretch(h) - stretch(-h)) / (2.0 * h)
    on_a, _ = pushed(grip, moved(a, twist_a, 0.0), moved(b, twist_b, 0.0))
    expected = [*(500.0 * rate), *(2.0 * (twist_b[3:] - twist_a[3:]))]
    np.testing.assert_allclose(on_a, expected, atol=1e-5)


def test_pads_that_slid_stay_where_friction_holds_them():
    """Pulled and turned away, they hold with 2 μ N and with that at their half width, towards where
    they were; held still or carried along with the object they slide no further.
    """
    a, b = tool_at(np.array([0.1, 0.2, 0.3, 0.4, -0.3, 0.2])), tool_at(np.full(6, 0.25))
    grip = closed(a, b, clamp=100.0, friction=0.5, pad=0.04)
    away = np.array([0.01, -0.02, 0.005, 0.1, 0.2, -0.3])
    far = tool_at(np.zeros(6))
    far.position[:] = a.position + away[:3]
    far.rotation[:] = rotation_from_vector(away[3:]) @ a.rotation
    first, _ = pushed(grip, far, b)
    linear, angular = np.linalg.norm(away[:3]), np.linalg.norm(away[3:])
    np.testing.assert_allclose(first[:3], -100.0 * away[:3] / linear, rtol=1e-9)
    np.testing.assert_allclose(first[3:], -4.0 * away[3:] / angular, rtol=1e-9)
    assert grip.slipped == pytest.approx(linear - 100.0 / 1e5)
    again, _ = pushed(grip, far, b)
    np.testing.assert_allclose(again, first, rtol=1e-9)
    turn, shift = rotation_from_vector(np.array([0.2, 0.5, -0.4])), np.array([0.3, 0.1, -0.2])
    carried = [Tool(turn @ t.position + shift, turn @ t.rotation, np.zeros(6)) for t in (far, b)]
    on_a, _ = pushed(grip, *carried)
    np.testing.assert_allclose(on_a[:3], turn @ first[:3], rtol=1e-9)
    np.testing.assert_allclose(on_a[3:], turn @ first[3:], rtol=1e-9)
    assert grip.slipped == pytest.approx(linear - 100.0 / 1e5)


@settings(max_examples=30, deadline=None)
@given(screws, screws, screws, screws)
def test_the_damper_of_a_grip_only_takes_energy_and_a_rigid_motion_costs_none(
    pose_a, pose_b, twist_a, twist_b
):
    """Whatever both do, power is lost; tool and object that turn as one body feel nothing."""
    grip = closed(tool_at(pose_a), tool_at(pose_b), stiffness=0.0, rotational_stiffness=0.0)
    on_a, on_b = pushed(grip, tool_at(pose_a, twist_a), tool_at(pose_b, twist_b))
    assert on_a @ twist_a + on_b @ twist_b <= 1e-9
    carried = twist_b.copy()
    carried[:3] += np.cross(twist_b[3:], pose_a[:3] - pose_b[:3])
    on_a, on_b = pushed(grip, tool_at(pose_a, carried), tool_at(pose_b, twist_b))
    np.testing.assert_allclose(np.concatenate([on_a, on_b]), 0.0, atol=1e-9)


def test_pads_slide_beyond_what_friction_holds_and_stay_there():
    """The force stops growing at 2 μ N, and after sliding the grip rests at another place."""
    a, b = tool_at(np.zeros(6)), tool_at(np.zeros(6))
    grip = closed(a, b, clamp=100.0, friction=0.5)
    far = tool_at(np.array([0.01, 0.0, 0.0, 0.0, 0.0, 0.0]))
    on_far, _ = pushed(grip, far, b)
    assert np.linalg.norm(on_far[:3]) == pytest.approx(100.0)
    assert grip.slipped == pytest.approx(0.01 - 100.0 / 1e5)
    back, _ = pushed(grip, a, b)
    assert back[0] > 0.0


def test_an_open_grip_does_nothing_and_takes_hold_anew_where_it_closes():
    """Release and grasp at run time."""
    a, b = tool_at(np.zeros(6)), tool_at(np.full(6, 0.1))
    grip = closed(a, b)
    grip.closed = False
    assert not np.any(pushed(grip, tool_at(np.full(6, 0.2)), b))
    assert grip.stored == 0.0
    grip.closed = True
    np.testing.assert_allclose(pushed(grip, tool_at(np.full(6, 0.2)), b)[0], 0.0, atol=1e-9)


def test_pads_without_friction_hold_neither_force_nor_moment():
    """Pulled and turned away at rest, the tool feels nothing."""
    a, b = tool_at(np.zeros(6)), tool_at(np.zeros(6))
    grip = closed(a, b, friction=0.0)
    on_a, _ = pushed(grip, tool_at(np.array([0.01, -0.02, 0.005, 0.1, 0.2, -0.3])), b)
    np.testing.assert_allclose(on_a, 0.0, atol=1e-9)
    assert grip.stored == 0.0


@pytest.mark.parametrize("spring", [CompressionSpring(), GuidedSpring()])
def test_a_compression_spring_pushes_and_never_pulls(spring):
    """500 N/m: 40 N when 80 mm short, nothing when longer than its free length."""
    ends = [tool_at(np.array([0.0, 0.0, z, 0.0, 0.0, 0.0])) for z in (0.0, 0.10, 0.25)]
    assert pushed(spring, ends[0], ends[1])[1][2] == pytest.approx(40.0)
    assert not np.any(pushed(spring, ends[0], ends[2]))


def test_a_box_rests_on_its_table_and_falls_without_one():
    """Real contact: the table carries it within a fraction of a millimetre."""
    robot, at = load_robot("rx160"), np.array([2.5, 0.0, 0.5])
    heights = []
    for table in ((1.0, 1.0), None):
        world = World(
            {"arm": Placed(robot), "box": Placed(box((0.4, 0.2, 0.1), 5.0, at, table))}, 1_000_000
        )
        world.advance(300_000_000)
        heights.append(float(world.ports["box"].tool.position[2]))
    assert heights[0] == pytest.approx(0.5, abs=5e-4)
    assert heights[1] == pytest.approx(0.5 - 0.5 * 9.81 * 0.09, abs=2e-3)


def test_a_box_and_its_table_are_as_large_as_asked_for_and_meet():
    """The table stands on the ground, its top at the bottom of the box; the box is free."""
    robot = box((0.4, 0.2, 0.1), 5.0, np.array([2.5, 0.3, 0.5]), (1.0, 0.8))
    model = robot.compile()
    np.testing.assert_allclose(2.0 * model.geom("box").size, [0.4, 0.2, 0.1])
    np.testing.assert_allclose(2.0 * model.geom("table").size, [1.0, 0.8, 0.45])
    np.testing.assert_allclose(model.geom("table").pos, [2.5, 0.3, 0.225])
    assert (robot.limits.lower < -100.0).all() and (robot.limits.upper > 100.0).all()
    assert np.linalg.norm(robot.home[3:]) == pytest.approx(1.0)


def test_boxes_push_each_other_apart():
    """As they do with tables and pads."""
    boxes = {name: box((0.2, 0.2, 0.2), 1.0, np.full(3, z)) for name, z in (("a", 1.0), ("b", 1.1))}
    world = World({name: Placed(robot) for name, robot in boxes.items()}, gravity=0.0)
    world.advance(50_000_000)
    assert world.data.qvel[8] > 0.01 > -0.01 > world.data.qvel[2]


@pytest.mark.parametrize(("share", "slides"), [(0.9, False), (1.1, True)])
def test_a_box_slides_on_its_table_when_pushed_with_more_than_its_friction(share, slides):
    """Which is as large as its weight: the engine takes the larger friction of two bodies, 1."""
    at = np.array([0.0, 0.0, 0.5])
    world = World({"box": Placed(box((0.4, 0.4, 0.1), 5.0, at, (3.0, 3.0)))}, 1_000_000)
    world.advance(100_000_000)
    world.data.xfrc_applied[world.model.body("box/object").id, 0] = share * 5.0 * 9.81
    world.advance(600_000_000)
    # freely with what is left: ½ (share − 1) g t²
    far = 0.5 * (share - 1.0) * 9.81 * 0.25 if slides else 0.0
    assert world.ports["box"].tool.position[0] == pytest.approx(far, abs=6e-3)


def test_a_box_with_a_shifted_centre_of_mass_turns_like_a_box():
    """About its centre of mass it has the inertia that the engine finds for the shape."""
    plain, shifted = (
        box((0.4, 0.2, 0.1), 5.0, np.zeros(3), off=off).compile()
        for off in (None, np.full(3, 0.01))
    )
    np.testing.assert_allclose(shifted.body_inertia[-1], plain.body_inertia[-1], rtol=1e-9)
    np.testing.assert_allclose(shifted.body_mass[-1], 5.0)


def test_jaws_that_close_at_a_wrong_place_pull_the_object_to_it():
    """By stiffness times misfit, in the object's axes: the tool is pulled to where it should be."""
    misfit = np.array([1e-4, -2e-4, 3e-4])
    a, b = tool_at(np.array([0.1, 0.0, 0.2, 0.0, 0.0, 0.3])), tool_at(np.full(6, 0.2))
    grip = Grip(closed=True, misfit=misfit)
    on_a, _ = pushed(grip, a, b)
    np.testing.assert_allclose(on_a[:3], 1e5 * b.rotation @ misfit, rtol=1e-9)


def holding(offset: tuple[float, float, float], step_ns: int = 500_000) -> World:
    """An arm with an 8 kg object in its jaws, the object's centre off them by this, [m]."""
    robot = load_robot("rx160")
    at = World({"arm": Placed(robot)}).ports["arm"].tool.position + offset
    world = World({"arm": Placed(robot), "box": Placed(box((0.2, 0.2, 0.2), 8.0, at))}, step_ns)
    world.tie("arm", "box", "grip", Grip(closed=True))
    return world


def test_the_books_balance_while_an_arm_holds_a_swinging_object():
    """Work of actuators, grips and constraints is what arm and object gained; the rest is error."""
    left = []
    for step_ns in (500_000, 125_000):
        world = holding((0.1, 0.0, -0.1), step_ns)
        world.advance(300_000_000)
        left.append(abs(world.energy_residual()) / world.energy_exchanged())
    assert left[0] < 0.01 and left[1] < 0.35 * left[0]
    assert set(world.ports["box"].work) >= {"grip", "constraint"}


def test_the_wrist_feels_exactly_what_the_grip_transmits():
    """The port's wrench, which the load cell measures, is minus the object's at the same place."""
    world = holding((0.0, 0.0, 0.0))
    world.advance(50_000_000)
    arm, thing = world.ports["arm"], world.ports["box"]
    assert np.linalg.norm(arm.wrench[:3]) > 1.0
    np.testing.assert_allclose(arm.wrench[:3], -thing.wrench[:3], atol=1e-9)


@pytest.mark.parametrize(("edge", "mass"), [(0.1, 0.0), (0.0, 1.0), (-0.1, 1.0)])
def test_an_object_without_mass_or_edges_is_refused(edge, mass):
    """A number that makes no sense is named."""
    with pytest.raises(BadValue, match="needs a mass"):
        box((0.1, edge, 0.1), mass, np.zeros(3))

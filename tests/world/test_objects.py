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


@settings(max_examples=30, deadline=None)
@given(screws, screws, screws)
def test_an_undamped_grip_gives_back_what_went_in(pose_a, pose_b, twist):
    """Power into both sides is the loss of stored energy."""
    a, b = tool_at(pose_a), tool_at(pose_b)
    grip = closed(a, b, damping=0.0, rotational_damping=0.0)

    def moved(t: float) -> Tool:
        turn = rotation_from_vector(t * twist[3:])
        return Tool(a.position + 1e-4 + t * twist[:3], turn @ a.rotation, twist)

    on_a, _ = pushed(grip, moved(0.0), b)
    power, h, stored = float(on_a @ twist), 1e-6, []
    for t in (-h, h):
        pushed(grip, moved(t), b)
        stored.append(grip.stored)
    assert power == pytest.approx(-(stored[1] - stored[0]) / (2.0 * h), abs=1e-4)


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
    grip.closed = True
    np.testing.assert_allclose(pushed(grip, tool_at(np.full(6, 0.2)), b)[0], 0.0, atol=1e-9)


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


def test_an_object_without_mass_is_refused():
    """A number that makes no sense is named."""
    with pytest.raises(BadValue, match="needs a mass"):
        box((0.1, 0.1, 0.1), 0.0, np.zeros(3))

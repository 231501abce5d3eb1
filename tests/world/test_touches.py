"""Hands, walls and springs: force laws, and forces that are gradients of what is stored."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from farhand.control.trajectory.paths import HandPath, Move
from farhand.errors import BadValue
from farhand.parameters import assign
from farhand.robots import load_robot
from farhand.spatial import rotation_from_vector, rotation_vector
from farhand.world import (
    CompressionSpring,
    ForceHand,
    ForcePulse,
    GroundSpring,
    GuidedSpring,
    ImpedanceHand,
    Placed,
    Tool,
    ToolSpring,
    Wall,
    World,
)

numbers = st.floats(-0.5, 0.5, allow_nan=False)
vectors = arrays(float, 3, elements=numbers)
screws = arrays(float, 6, elements=numbers)


def tool_at(position, turn=(0.0, 0.0, 0.0), twist=(0.0,) * 6) -> Tool:
    """A tool at a pose, moving."""
    return Tool(
        np.array(position, dtype=float),
        rotation_from_vector(np.array(turn)),
        np.array(twist, dtype=float),
    )


def push(touch, tool: Tool, t: float = 0.0) -> np.ndarray:
    """The wrench of a touch."""
    wrench = np.full(6, np.nan)
    touch.push(tool, t, wrench)
    return wrench


def moved(tool: Tool, step: np.ndarray) -> Tool:
    """The tool displaced by a small twist in world axes."""
    return Tool(
        tool.position + step[:3], rotation_from_vector(step[3:]) @ tool.rotation, tool.twist
    )


def gradient(stored, h: float = 1e-6) -> np.ndarray:
    """Minus the derivative of ``stored(step)`` along six small twists."""
    return np.array([-(stored(h * axis) - stored(-h * axis)) / (2 * h) for axis in np.eye(6)])


@given(vectors, vectors, st.floats(0.0, 1e4))
def test_the_force_of_a_ground_spring_is_the_gradient_of_its_energy(position, anchor, stiffness):
    """What goes in comes out."""
    spring, tool = GroundSpring(anchor=anchor, stiffness=stiffness), tool_at(position)

    def stored(step):
        push(spring, moved(tool, step))
        return spring.stored

    expected = gradient(stored)
    np.testing.assert_allclose(push(spring, tool), expected, atol=1e-5 * (1 + stiffness))


def between(spring, a: Tool, b: Tool) -> np.ndarray:
    """The wrenches of a spring on both of its tools."""
    on_a, on_b = np.full(6, np.nan), np.full(6, np.nan)
    spring.push(a, b, 0.0, on_a, on_b)
    return np.array([on_a, on_b])


REST = np.array([0.1, 0.0, -0.1])
SPRINGS = [
    partial(ToolSpring, length=REST, stiffness=300.0, rotational_stiffness=20.0),
    partial(CompressionSpring, length=2.0, stiffness=300.0),
    partial(GuidedSpring, length=2.0, stiffness=300.0, guide=70.0),
]
every_spring = pytest.mark.parametrize("make", SPRINGS, ids=lambda make: make.func.__name__)


@every_spring
@settings(max_examples=30, deadline=None)
@given(screws, screws, vectors, vectors, st.sampled_from([0, 1]))
def test_the_wrenches_of_a_spring_between_tools_are_the_gradients_of_its_energy(
    make, pose_a, pose_b, rest_a, rest_b, side
):
    """On both tools, force and torque, whatever the rest orientation."""
    assume(np.linalg.norm(pose_a[:3] - pose_b[:3]) > 0.05)
    spring = make()
    between(spring, tool_at(np.zeros(3), rest_a), tool_at(np.ones(3), rest_b))
    tools = [tool_at(pose[:3], pose[3:]) for pose in (pose_a, pose_b)]

    def stored(step):
        ends = list(tools)
        ends[side] = moved(tools[side], step)
        between(spring, *ends)
        return spring.stored

    expected = gradient(stored)
    np.testing.assert_allclose(between(spring, *tools)[side], expected, atol=1e-4)


@every_spring
@given(screws, screws)
def test_a_spring_between_tools_makes_neither_momentum_nor_moment_of_momentum(make, pose_a, pose_b):
    """Action is reaction, also about the origin where the spring does not act between points."""
    a, b = (tool_at(pose[:3], pose[3:]) for pose in (pose_a, pose_b))
    spring = make()
    on_a, on_b = between(spring, a, b)
    np.testing.assert_allclose(on_a[:3], -on_b[:3], atol=1e-12)
    if not isinstance(spring, ToolSpring):
        moments = on_a[3:] + on_b[3:] + np.cross(a.position - b.position, on_a[:3])
        np.testing.assert_allclose(moments, 0.0, atol=1e-9)


@given(vectors, vectors, screws, screws)
def test_a_damper_takes_its_coefficient_times_the_square_of_the_speed_between_its_ends(
    p_a, p_b, twist_a, twist_b
):
    """Of a tool spring along all axes, of a compression spring along its length, of one to ground
    over the tool's own speed.
    """
    assume(np.linalg.norm(p_a - p_b) > 0.05)
    a, b = tool_at(p_a, twist=twist_a), tool_at(p_b, twist=twist_b)
    rate = twist_b - twist_a

    def power(spring) -> float:
        return float(np.sum(between(spring, a, b) * [twist_a, twist_b]))

    along = (p_b - p_a) @ rate[:3] / np.linalg.norm(p_b - p_a)
    spring = ToolSpring(stiffness=0.0, damping=40.0, rotational_damping=2.0)
    lost = 40.0 * rate[:3] @ rate[:3] + 2.0 * rate[3:] @ rate[3:]
    assert power(spring) == pytest.approx(-lost)
    # pressed so far that its damper never has to pull
    soft, hard = (CompressionSpring(length=100.0, stiffness=50.0, damping=d) for d in (0.0, 40.0))
    assert power(hard) - power(soft) == pytest.approx(-40.0 * along**2, abs=1e-9)
    spring = GroundSpring(anchor=p_a, stiffness=0.0, damping=40.0)
    np.testing.assert_allclose(push(spring, a), [*(-40.0 * twist_a[:3]), 0.0, 0.0, 0.0])


def test_a_compression_spring_pulled_apart_fast_lets_go():
    """Its damper would pull; two tools at the same place have no line to push along."""
    spring = CompressionSpring(length=0.2, stiffness=500.0, damping=100.0)
    a, b = tool_at((0, 0, 0)), tool_at((0.1, 0, 0), twist=(1, 0, 0, 0, 0, 0))
    np.testing.assert_array_equal(between(spring, a, b), 0.0)
    np.testing.assert_array_equal(between(spring, a, a), 0.0)


def test_a_tool_spring_starts_unwound():
    """The rest orientation is that of the first push."""
    spring = ToolSpring(stiffness=0.0, rotational_stiffness=10.0)
    w_a, w_b = np.zeros(6), np.zeros(6)
    spring.push(tool_at((0, 0, 0), (0.3, 0, 0)), tool_at((0, 0, 0), (0, 0.9, 0.2)), 0.0, w_a, w_b)
    np.testing.assert_allclose(w_a, 0.0, atol=1e-12)


@given(vectors, screws, vectors, st.floats(0.0, 1e4), st.floats(0.0, 500.0))
def test_a_wall_never_pulls_and_pushes_only_along_its_normal(
    position, twist, normal, stiffness, damping
):
    """Inside or outside, coming or going."""
    assume(np.linalg.norm(normal) > 1e-3)
    wall = Wall(
        point=np.array([0.1, 0.0, 0.0]), normal=normal, stiffness=stiffness, damping=damping
    )
    wrench = push(wall, tool_at(position, twist=twist))
    unit = normal / np.linalg.norm(normal)
    force = wrench[:3] @ unit
    assert force >= 0.0
    np.testing.assert_allclose(wrench[:3], force * unit, atol=1e-9 * (1 + force))
    np.testing.assert_array_equal(wrench[3:], 0.0)
    if unit @ (wall.point - position) < -1e-12:
        assert force == 0.0


@given(vectors, vectors, vectors, screws, st.floats(-0.05, 0.05))
def test_a_wall_pushes_with_stiffness_times_depth_plus_damping_times_rate(
    point, normal, aside, twist, depth
):
    """That is k δ + d δ̇ along the normal, cut at zero; the length of the normal does not matter."""
    assume(np.linalg.norm(normal) > 0.1)
    unit = normal / np.linalg.norm(normal)
    wall = Wall(point=point, normal=normal, stiffness=2000.0, damping=30.0)
    place = point + np.cross(unit, aside) - depth * unit
    wrench = push(wall, tool_at(place, twist=twist))
    if abs(depth) < 1e-9:
        return
    force = max(0.0, 2000.0 * depth - 30.0 * unit @ twist[:3]) if depth > 0.0 else 0.0
    np.testing.assert_allclose(wrench, [*(force * unit), 0.0, 0.0, 0.0], atol=1e-9)
    assert wall.force == pytest.approx(force, abs=1e-9)
    assert wall.stored == pytest.approx(1000.0 * max(depth, 0.0) ** 2, abs=1e-12)


def test_an_elastic_wall_gives_back_all_the_energy_it_took():
    """Thrown at a wall without damping, a point comes back as fast; with damping slower."""
    speeds = []
    for damping in (0.0, 3.0):
        world = World({"ball": Placed(load_robot("point3"))}, step_ns=20_000, gravity=0.0)
        world.touch(
            "ball",
            "wall",
            Wall(point=np.array([0.03, 0.0, 0.0]), stiffness=2000.0, damping=damping),
        )
        world.ports["ball"].v[0] = 1.0
        world.advance(20_000)
        world.advance(90_000_000)
        assert world.ports["ball"].tool.position[0] < 0.03
        speeds.append(-world.ports["ball"].v[0])
    assert speeds[0] == pytest.approx(1.0, rel=2e-3)
    assert 0.5 < speeds[1] < 0.95


def test_a_wall_can_be_taken_away_and_changed_live():
    """Absent walls do not push; a new stiffness acts at the next push."""
    wall, tool = Wall(point=np.zeros(3), normal=np.array([-1.0, 0.0, 0.0])), tool_at((0.01, 0, 0))
    assert push(wall, tool)[0] == pytest.approx(-60.0)
    assign(wall, "stiffness", 1000.0)
    assert push(wall, tool)[0] == pytest.approx(-10.0)
    assign(wall, "point", "0.005,0,0")
    assert push(wall, tool)[0] == pytest.approx(-5.0)
    assign(wall, "present", False)
    np.testing.assert_array_equal(push(wall, tool), 0.0)
    assert (wall.force, wall.stored) == (0.0, 0.0)


def test_a_wall_without_a_normal_is_refused():
    """A plane needs a direction; a wall that silently vanishes would be worse than an error."""
    with pytest.raises(BadValue, match="has no direction"):
        assign(Wall(), "normal", "0,0,0")


@given(vectors, vectors)
def test_the_force_of_a_hand_at_rest_is_the_gradient_of_its_energy(shift, turn):
    """Linear and rotational spring about the pose where it took hold."""
    hand, tool = ImpedanceHand(), tool_at((0.2, 0.1, 0.4), (0.1, 0.2, 0.3))
    push(hand, tool)
    away = moved(tool, np.concatenate([shift, turn]))

    def stored(step):
        push(hand, moved(away, step))
        return hand.stored

    expected = gradient(stored)
    np.testing.assert_allclose(push(hand, away), expected, atol=1e-3)


def test_a_hand_pulls_towards_its_path_and_its_drag():
    """Stiffness times what is missing, damping times the difference of speeds."""
    hand, tool = (
        ImpedanceHand(path=HandPath([Move(0.0, 2.0, (0.2, 0.0, 0.0))])),
        tool_at((0.5, 0.5, 0.5)),
    )
    np.testing.assert_allclose(push(hand, tool, -1.0), 0.0, atol=1e-9)
    halfway = push(hand, tool, 1.0)
    assert halfway[0] == pytest.approx(1000.0 * 0.1 + 100.0 * 1.875 * 0.2 / 2.0)
    after = push(hand, tool, 5.0)
    assert after[0] == pytest.approx(1000.0 * 0.2)
    assign(hand, "drag", "0,0.01,0")
    np.testing.assert_allclose(push(hand, tool, 5.0)[:3], (200.0, 10.0, 0.0), atol=1e-9)
    assign(hand, "stiffness", 100.0)
    np.testing.assert_allclose(push(hand, tool, 5.0)[:3], (20.0, 1.0, 0.0), atol=1e-9)


@given(screws, screws, st.floats(0.1, 1.9))
def test_a_hand_that_turns_pulls_towards_its_path_from_where_it_took_hold(pose, twist, t):
    """K log(R_r Rᵀ) + D (ω_r − ω), with the path's rotation in front of the first orientation."""
    move = Move(0.0, 2.0, (0.2, -0.1, 0.3), (0.4, 0.5, -0.6))
    hand, start = ImpedanceHand(path=HandPath([move])), tool_at((0.5, 0.1, 0.2), (0.3, -0.2, 0.7))
    push(hand, start, -1.0)
    tool, path = tool_at(pose[:3], pose[3:], twist), HandPath([move])
    path.at(t)
    missing = start.position + path.translation - tool.position
    turn = rotation_vector(path.rotation @ start.rotation @ tool.rotation.T)
    rate = path.twist - twist
    expected = [*(1000.0 * missing + 100.0 * rate[:3]), *(30.0 * turn + 3.0 * rate[3:])]
    np.testing.assert_allclose(push(hand, tool, t), expected, atol=1e-9)


def test_a_hand_that_closes_on_the_way_takes_hold_without_a_pull():
    """Halfway along a turning path and beside it: only the damper acts, and the rest follows."""
    move = Move(0.0, 2.0, (0.2, -0.1, 0.3), (0.4, 0.5, -0.6))
    hand = ImpedanceHand(path=HandPath([move]), drag=np.array([0.1, -0.2, 0.3]))
    tool, path = tool_at((0.5, 0.1, 0.2), (0.3, -0.2, 0.7)), HandPath([move])
    path.at(1.2)
    damped = path.twist * np.repeat([100.0, 3.0], 3)
    np.testing.assert_allclose(push(hand, tool, 1.2), damped, atol=1e-9)
    assert hand.stored == pytest.approx(0.0, abs=1e-12)
    rest, turned = np.array(move.translation) - path.translation, path.rotation.T.copy()
    path.at(2.0)
    turn = rotation_vector(path.rotation @ turned)
    expected = [*(1000.0 * rest), *(30.0 * turn)]
    np.testing.assert_allclose(push(hand, tool, 2.0), expected, atol=1e-9)


def test_an_open_hand_holds_nothing():
    """Neither force nor stored energy; closing holds the tool where it is, without a pull."""
    hand, tool = ImpedanceHand(), tool_at((0.0, 0.0, 0.0))
    push(hand, tool)
    away = tool_at((0.1, 0.0, 0.0), twist=(1, 1, 1, 1, 1, 1))
    assign(hand, "open", True)
    np.testing.assert_array_equal(push(hand, away), 0.0)
    assert hand.stored == 0.0
    assign(hand, "open", False)
    np.testing.assert_allclose(push(hand, tool_at((0.1, 0.0, 0.0))), 0.0, atol=1e-9)
    assert push(hand, tool_at((0.2, 0.0, 0.0)))[0] == pytest.approx(-100.0)


def test_a_force_hand_pushes_half_sines_whatever_the_tool_does():
    """Zero outside, the peak halfway, and overlapping pulses add."""
    hand = ForceHand(
        pulses=[ForcePulse(1.0, 0.4, (10, 0, 0, 0, 0, 1)), ForcePulse(0.0, 0.2, (0, 5, 0, 0, 0, 0))]
    )
    for t, expected in (
        (-0.1, (0,) * 6),
        (0.1, (0, 5, 0, 0, 0, 0)),
        (0.15, (0, 5 * np.sqrt(0.5), 0, 0, 0, 0)),
        (0.3, (0,) * 6),
        (0.5, (0,) * 6),
        (1.2, (10, 0, 0, 0, 0, 1)),
        (1.4, (0,) * 6),
    ):
        for tool in (tool_at((0, 0, 0)), tool_at((1, 2, 3), (1, 0, 0), (1, 1, 1, 1, 1, 1))):
            np.testing.assert_allclose(push(hand, tool, t), expected, atol=1e-12)
    assign(hand, "scale", -2.0)
    assert push(hand, tool_at((0, 0, 0)), 1.2)[0] == pytest.approx(-20.0)
    assert hand.stored == 0.0


def test_a_pulse_that_takes_no_time_is_refused():
    """It would divide by zero in the tick."""
    with pytest.raises(BadValue):
        push(ForceHand(pulses=[ForcePulse(1.0, 0.0, (10, 0, 0, 0, 0, 1))]), tool_at((0, 0, 0)), 1.0)

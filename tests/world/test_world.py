"""The world: rest stays rest, energy is accounted for, and two engines agree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.control.trajectory.paths import HandPath, Move
from farhand.errors import BadValue, UnknownName
from farhand.friction.models.waiboer import Gears
from farhand.plants.simulated.rigid import RigidPlant
from farhand.robots import Placement, load_robot
from farhand.robots.edits import set_damping, set_frictionloss
from farhand.world import (
    ForceHand,
    ForcePulse,
    GroundSpring,
    ImpedanceHand,
    Placed,
    ToolSpring,
    Wall,
    World,
    box,
)
from farhand.world.joints import GearFriction, JointPush

UR5E, POINT3 = load_robot("ur5e"), load_robot("point3")
Q_A, Q_B = UR5E.postures["q_A"], UR5E.postures["q_B"]
SECOND = 1_000_000_000
BESIDE = Placement((0.0, 0.75, 0.0), (0.0, 0.0, 0.3, 0.95))


def two_arms(step_ns: int = 1_000_000, gravity: float = 9.81, robot=UR5E) -> World:
    """Two UR5e in unlike postures side by side."""
    placed = {"left": Placed(robot, q=Q_A), "right": Placed(robot, BESIDE, q=Q_B)}
    return World(placed, step_ns, gravity)


def closes(world: World, share: float = 1e-3) -> None:
    """The energy account is closed up to ``share`` of what was exchanged, and something was."""
    assert world.energy_exchanged() > 0.05
    assert abs(world.energy_residual()) < share * world.energy_exchanged()


def test_two_arms_that_carry_their_own_weight_stay_at_rest():
    """Gravity torque from Pinocchio holds the arms that MuJoCo moves, to 1e-9 rad over 2 s."""
    world = two_arms()
    arms = {"left": Arm.of(UR5E), "right": Arm.of(UR5E, BESIDE)}
    for tick in range(2000):
        for name, arm in arms.items():
            port = world.ports[name]
            arm.update(port.q, port.v)
            port.torque[:] = arm.gravity
        world.advance((tick + 1) * 1_000_000)
    assert np.abs(world.ports["left"].q - Q_A).max() < 1e-9
    assert np.abs(world.ports["right"].q - Q_B).max() < 1e-9


def test_the_account_closes_for_a_free_swing():
    """An arm that falls turns height into speed; nothing else does work."""
    world = two_arms()
    initial = world.mechanical_energy()
    world.advance(SECOND // 2)
    kinetic = sum(
        _kinetic(world, name, placement)
        for name, placement in (("left", Placement()), ("right", BESIDE))
    )
    assert kinetic > 1.0
    assert abs(world.mechanical_energy() - initial) < 1e-3 * kinetic


def _kinetic(world: World, name: str, placement: Placement) -> float:
    arm = Arm.of(UR5E, placement)
    arm.update(world.ports[name].q, world.ports[name].v)
    return arm.kinetic_energy()


def test_the_account_closes_for_damped_joints():
    """Viscous friction only takes, and is counted; the rest is integration error of order h."""
    residuals = []
    for step_ns in (400_000, 200_000):
        world = two_arms(step_ns, robot=UR5E.edited(set_damping(3.0)))
        world.advance(SECOND // 2)
        closes(world)
        residuals.append(world.energy_residual())
        assert all(port.work["damping"] < -0.1 for port in world.ports.values())
    assert residuals[0] / residuals[1] == pytest.approx(2.0, rel=0.1)


def test_the_account_closes_for_a_hand_and_a_wall():
    """A hand pushes an arm without gravity into a wall and pulls it out again."""
    world = two_arms(gravity=0.0, robot=UR5E.edited(set_damping(2.0)))
    x = world.ports["left"].tool.position[0]
    hand = ImpedanceHand(
        path=HandPath([Move(0.1, 0.6, (0.15, 0.0, 0.02)), Move(1.2, 0.6, (-0.15, 0.0, 0.0))])
    )
    wall = Wall(point=np.array([x + 0.08, 0.0, 0.0]))
    world.touch("left", "hand", hand)
    world.touch("left", "wall", wall)
    world.advance(SECOND)
    assert wall.force > 20.0
    closes(world)
    world.advance(2 * SECOND)
    assert wall.force == 0.0
    closes(world)
    assert world.ports["left"].work["hand"] > 0.05
    assert abs(world.ports["left"].work["wall"]) < 0.02 * world.ports["left"].work["hand"]


def test_the_account_closes_for_a_tie_between_two_arms():
    """A loaded spring and damper between tools: one arm gets what the spring or the other gave."""
    world = two_arms(500_000, gravity=0.0)
    rest = world.ports["right"].tool.position - world.ports["left"].tool.position
    tie = ToolSpring(
        length=rest + [0.05, -0.03, 0.04],
        stiffness=400.0,
        rotational_stiffness=5.0,
        damping=5.0,
        rotational_damping=0.1,
    )
    world.tie("left", "right", "tie", tie)
    loaded = tie.stored
    world.advance(SECOND)
    closes(world)
    given = sum(port.work["tie"] for port in world.ports.values())
    assert given < loaded - tie.stored + 1e-3
    assert all(np.abs(port.v).max() > 1e-3 for port in world.ports.values())


def test_an_undamped_tie_keeps_the_sum_of_motion_and_spring_energy():
    """Linear and torsional spring conserve energy without gravity, to 0.5 % over 1 s."""
    world = two_arms(gravity=0.0, step_ns=250_000)
    rest = world.ports["right"].tool.position - world.ports["left"].tool.position
    tie = ToolSpring(length=rest + [0.05, -0.03, 0.04], stiffness=400.0, rotational_stiffness=5.0)
    world.tie("left", "right", "tie", tie)
    start = world.mechanical_energy() + tie.stored
    lowest = tie.stored
    for tick in range(1, 21):
        world.advance(tick * SECOND // 20)
        lowest = min(lowest, tie.stored)
        assert world.mechanical_energy() + tie.stored == pytest.approx(start, abs=0.005 * start)
    assert lowest < 0.7 * start


def test_a_tie_between_two_free_points_keeps_their_momentum():
    """Two point devices on a spring: m₁v₁ + m₂v₂ stays zero; they meet in the middle."""
    world = World(
        {"a": Placed(POINT3), "b": Placed(POINT3, Placement((0.05, 0.0, 0.0)))}, gravity=0.0
    )
    world.tie("a", "b", "spring", ToolSpring(stiffness=30.0))
    for tick in range(1, 30):
        world.advance(tick * 2_000_000)
        momentum = world.ports["a"].v + world.ports["b"].v
        np.testing.assert_allclose(momentum, 0.0, atol=1e-12)
    assert world.ports["a"].v[0] > 0.1 or world.ports["a"].q[0] > 0.02
    assert world.ports["a"].q[0] == pytest.approx(-world.ports["b"].q[0], abs=1e-9)


def test_joint_stops_are_in_the_account():
    """A point device driven against the end of its slide: what the stop takes is counted."""
    world = World({"device": Placed(POINT3)}, gravity=0.0)
    world.ports["device"].torque[0] = 2.0
    world.advance(SECOND)
    assert 0.07 < world.ports["device"].q[0] < 0.1
    assert abs(world.energy_residual()) < 0.02 * world.energy_exchanged()


@pytest.mark.parametrize("with_hand", [False, True])
def test_mujoco_and_pinocchio_move_the_same_arm_the_same_way(with_hand):
    """The first-order world converges to the fourth-order Pinocchio plant as its step shrinks."""
    torque = np.array([2.0, -60.0, -20.0, 1.0, -0.5, 0.3])
    robot = UR5E.edited(set_damping(1.5))

    def hand() -> ImpedanceHand:
        return ImpedanceHand(path=HandPath([Move(0.0, 0.2, (0.05, 0.02, 0.08), (0.0, 0.2, 0.1))]))

    plant = RigidPlant("arm", Arm.of(robot, BESIDE), Q_A, 500_000, "rk4")
    plant.torque[:] = torque
    if with_hand:
        plant.touch(hand())
    plant.advance(300_000_000)
    errors = []
    for step_ns in (1_000_000, 500_000, 250_000):
        world = World({"arm": Placed(robot, BESIDE, Q_A)}, step_ns)
        world.ports["arm"].torque[:] = torque
        if with_hand:
            world.touch("arm", "hand", hand())
        world.advance(300_000_000)
        errors.append(np.abs(world.ports["arm"].q - plant.q).max())
    assert np.abs(plant.q - Q_A).max() > 0.05
    assert errors[0] < 1e-2
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.15)
    assert errors[1] / errors[2] == pytest.approx(2.0, rel=0.15)


def test_a_robot_attached_second_moves_as_if_it_were_alone():
    """Unlike robots in one world: each has its own slices of the state; neither feels the other."""
    torques = {
        "arm": np.array([1.0, -55.0, -18.0, 0.5, 0.2, 0.1]),
        "device": np.array([0.3, -0.2, 1.6]),
    }
    placed = {"arm": Placed(UR5E, q=Q_A), "device": Placed(POINT3, BESIDE)}
    for order in (("arm", "device"), ("device", "arm")):
        together = World({name: placed[name] for name in order})
        alone = {name: World({name: placed[name]}) for name in order}
        for world in (together, *alone.values()):
            for name, port in world.ports.items():
                port.torque[:] = torques[name]
            world.advance(SECOND // 10)
        for name in order:
            np.testing.assert_allclose(
                together.ports[name].q, alone[name].ports[name].q, atol=1e-12
            )
            np.testing.assert_allclose(
                together.ports[name].v, alone[name].ports[name].v, atol=1e-11
            )
            np.testing.assert_allclose(
                together.ports[name].tool.position,
                alone[name].ports[name].tool.position,
                atol=1e-12,
            )
            assert np.abs(together.ports[name].v).max() > 1e-3


def test_the_tool_of_a_port_is_the_tool_of_the_arm():
    """Position, rotation and twist as in Pinocchio, for an arm that stands askew and moves."""
    world, arm = two_arms(), Arm.of(UR5E, BESIDE)
    world.advance(200_000_000)
    port = world.ports["right"]
    arm.update(port.q, port.v)
    np.testing.assert_allclose(port.tool.position, arm.position, atol=1e-12)
    np.testing.assert_allclose(port.tool.rotation, arm.rotation, atol=1e-12)
    np.testing.assert_allclose(port.tool.twist, arm.twist, atol=1e-12)
    assert np.abs(arm.twist).max() > 0.1


def test_a_wrench_on_the_tool_acts_as_jacobian_transpose():
    """A pushed arm accelerates as M⁻¹ Jᵀ w says."""
    world = World({"arm": Placed(UR5E, q=Q_A)}, step_ns=10_000, gravity=0.0)
    wrench = (10.0, -20.0, 30.0, 1.0, 2.0, -3.0)
    world.touch("arm", "hand", ForceHand(pulses=[ForcePulse(-1.0, 2.0, wrench)]))
    world.advance(10_000)
    arm = Arm.of(UR5E, gravity=0.0)
    arm.update(Q_A, np.zeros(6))
    expected = 1e-5 * np.linalg.solve(arm.M, arm.J.T @ wrench)
    np.testing.assert_allclose(world.ports["arm"].v, expected, rtol=1e-6)


def test_touches_add_up():
    """Two hands on one tool push with the sum of their wrenches; each pays for its own work."""
    world = World({"arm": Placed(UR5E, q=Q_A)}, gravity=0.0)
    for name, wrench in (("one", (5.0, 0, 0, 0, 0, 0)), ("two", (0, 7.0, 0, 0, 0, 0.5))):
        world.touch("arm", name, ForceHand(pulses=[ForcePulse(-1.0, 2.0, wrench)]))
    np.testing.assert_allclose(world.ports["arm"].wrench, (5.0, 7.0, 0, 0, 0, 0.5), rtol=1e-9)
    world.advance(SECOND // 10)
    work = world.ports["arm"].work
    assert world.mechanical_energy() == pytest.approx(work["one"] + work["two"], rel=1e-2)


def test_time_goes_on_in_whole_steps():
    """A world asked for the middle of a step stays at its start."""
    world = World({"arm": Placed(UR5E)})
    world.advance(2_700_000)
    assert world.now_ns == 2_000_000
    world.advance(1_000_000)
    assert world.now_ns == 2_000_000


def test_the_same_world_moves_the_same_way_to_the_bit():
    """No hidden state, no randomness."""
    states = []
    for _ in range(2):
        world = two_arms()
        world.touch("left", "hand", ImpedanceHand(path=HandPath([Move(0.0, 0.2, (0.1, 0.0, 0.0))])))
        world.advance(SECOND // 4)
        states.append((world.data.qpos.tobytes(), world.data.qvel.tobytes()))
    assert states[0] == states[1]


def test_a_world_without_robots_is_refused():
    """There would be nothing to simulate."""
    with pytest.raises(BadValue, match="at least one robot"):
        World({})


def test_an_unknown_robot_is_answered_with_those_there_are():
    """For touches and for ties."""
    world = two_arms()
    with pytest.raises(UnknownName, match="'middle'.*left, right"):
        world.touch("middle", "wall", Wall())
    with pytest.raises(UnknownName, match="left, right"):
        world.tie("left", "up", "tie", ToolSpring())


def test_a_tie_refused_for_one_end_leaves_the_other_untouched():
    """A refusal changes nothing."""
    world = two_arms()
    with pytest.raises(UnknownName):
        world.tie("left", "up", "tie", ToolSpring())
    assert world.ports["left"].touches == []


def test_a_diverged_world_is_seen_not_reset():
    """A NaN torque shows: the arm stands still, the engine does not reset it in silence."""
    world = two_arms()
    world.ports["left"].v[:] = 0.3
    world.advance(10_000_000)
    before = world.ports["left"].q.copy()
    world.ports["left"].torque[0] = np.nan
    world.advance(20_000_000)
    assert world.unstable
    np.testing.assert_array_equal(world.ports["left"].q, before)


def test_ground_springs_hang_an_arm():
    """A spring to the ground holds a weightless arm, and its energy is in the account."""
    world = World({"arm": Placed(UR5E.edited(set_damping(5.0)), q=Q_A)}, gravity=0.0)
    anchor = world.ports["arm"].tool.position + [0.03, 0.02, -0.04]
    spring = GroundSpring(anchor=anchor, stiffness=500.0, damping=20.0)
    world.touch("arm", "spring", spring)
    loaded = spring.stored
    world.advance(4 * SECOND)
    np.testing.assert_allclose(world.ports["arm"].tool.position, anchor, atol=1e-3)
    assert world.ports["arm"].work["spring"] <= loaded
    closes(world)


@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
def test_a_simulation_beyond_all_bounds_says_so_and_leaves_no_file(tmp_path, monkeypatch):
    """Too much damping for the step: every push is answered by a larger one."""
    monkeypatch.chdir(tmp_path)
    world = two_arms()
    world.advance(10_000_000)
    assert not world.unstable
    world.touch(
        "left", "hand", ImpedanceHand(path=HandPath([Move(0.0, 0.2, (0.1, 0.0, 0.0))]), damping=1e5)
    )
    world.advance(SECOND)
    assert world.unstable.startswith("the simulation is unstable")
    assert np.isfinite(world.data.qpos).all() and not world.data.qvel.any()
    assert world.now_ns == SECOND  # time goes on, nothing else does
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("share", "moves"), [(0.28, False), (0.32, True)])
def test_a_brake_holds_a_joint_up_to_its_share_of_the_torque_limit(share, moves):
    """On top of the joint's own friction; open again it holds no more than that."""
    world = World({"arm": Placed(UR5E.edited(set_frictionloss(1.0)), q=Q_A)}, gravity=0.0)
    port, limit = world.ports["arm"], UR5E.limits.torque
    port.brake(True)
    port.torque[:] = [share * limit[0] + 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    world.advance(SECOND // 2)
    assert bool(abs(port.q[0] - Q_A[0]) > 0.05) is moves
    port.brake(False)
    np.testing.assert_array_equal(world.model.dof_frictionloss, 1.0)


@pytest.mark.parametrize(("mass", "falls"), [(2.8, False), (3.3, True)])
def test_a_brake_of_unknown_size_holds_30_newtons(mass, falls):
    """That is the share of the assumed limit; a free box can be braked like a robot."""
    world = World({"box": Placed(box((0.1, 0.1, 0.1), mass, np.array([0.0, 0.0, 1.0])))})
    world.ports["box"].brake(True)
    world.advance(SECOND // 2)
    assert bool(world.ports["box"].q[2] < 0.95) is falls


@pytest.mark.parametrize("kind", ["nothing", "push", "springs", "friction"])
def test_what_acts_on_the_joints_has_an_account(kind):
    """A push, passive springs or friction beyond the engine's own; without any there is none."""
    robot = load_robot("rx160")
    world = World({"arm": Placed(robot if kind == "springs" else replace(robot, springs={}))})
    if kind == "push":
        world.push("arm", JointPush(np.ones(6)))
    elif kind == "friction":
        world.add_friction("arm", GearFriction(Gears()))
    port = world.ports["arm"]
    assert ("push" in port.work) is (kind != "nothing")
    if kind == "springs":
        expected = {joint: -spring.torque(port.q[joint]) for joint, spring in robot.springs.items()}
        assert {joint: port.pushed[joint] for joint in np.flatnonzero(port.pushed)} == expected


def test_a_name_is_used_once_in_the_account_of_a_robot():
    """Two hands of one name would share it, and an actuator is not a hand."""
    world = two_arms()
    world.touch("left", "hand", ImpedanceHand())
    for name in ("hand", "actuator"):
        with pytest.raises(BadValue, match=f"has a '{name}' already"):
            world.touch("left", name, ImpedanceHand())
        with pytest.raises(BadValue, match=f"has a '{name}' already"):
            world.tie("right", "left", name, ToolSpring())
    assert world.ports["right"].touches == []
    world.touch("right", "hand", ImpedanceHand())

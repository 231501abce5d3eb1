"""The RX160 family against published vectors; its balance spring is equal in arm and world."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from farhand.arm import Arm
from farhand.errors import FarhandError
from farhand.friction import Gears
from farhand.robots import load_robot
from farhand.robots.edits import add_payload, move_tool, set_armature
from farhand.robots.springs import CubicSpring, MechanismSpring, read_springs
from farhand.world.joints import GearFriction
from farhand.world.world import Placed, World
from farhand_lab.cooperative.robot import FK, RNE, craig

VARIANTS = ("rx160", "unit-1", "rx160l")
POSTURE = np.array([0.3, 0.5, 0.6, 0.2, 0.4, 0.1])
GRAVITY = 9.804


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_flange_is_where_the_table_puts_it(variant: str) -> None:
    """The modified DH form, written out independently; the long arm's forearm is 0.3 m longer."""
    arm, rng = Arm.of(load_robot("rx160", variant)), np.random.default_rng(1)
    for q in rng.uniform(-np.pi, np.pi, (20, 6)):
        arm.update(q, np.zeros(6))
        pose = craig(q, 0.925 if variant == "rx160l" else 0.625)
        np.testing.assert_allclose(arm.position, pose[:3, 3], atol=1e-12)
        np.testing.assert_allclose(arm.rotation, pose[:3, :3], atol=1e-12)


@pytest.mark.parametrize(("degrees", "position", "axis"), FK)
def test_six_published_poses_are_met(degrees, position, axis) -> None:
    """Position and flange axis to a micrometre."""
    arm = Arm.of(load_robot("rx160"))
    arm.update(np.radians(degrees), np.zeros(6))
    np.testing.assert_allclose(arm.position, position, atol=1e-6)
    np.testing.assert_allclose(arm.rotation[:, 2], axis, atol=1e-6)


@pytest.mark.parametrize(("degrees", "v", "a", "torque"), RNE)
def test_five_published_torques_are_met(degrees, v, a, torque) -> None:
    """Newton–Euler without rotors, tool and spring."""
    arm = Arm.of(load_robot("rx160").edited(set_armature(0.0)), gravity=GRAVITY)
    motion = [np.zeros(6) if x is None else np.array(x) for x in (v, a)]
    found = pin.rnea(arm.model, arm.data, np.radians(degrees), *motion)
    np.testing.assert_allclose(found, torque, atol=1e-3)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_arm_in_the_world_stands_on_the_torque_its_model_gives(variant: str) -> None:
    """Weight and spring are the same numbers on both sides: not a microradian in a second."""
    robot = load_robot("rx160", variant)
    world, arm = (
        World({"arm": Placed(robot, q=POSTURE)}, 500_000, GRAVITY),
        Arm.of(robot, gravity=GRAVITY),
    )
    arm.update(POSTURE, np.zeros(6))
    world.ports["arm"].torque[:] = arm.gravity
    world.advance(1_000_000_000)
    np.testing.assert_allclose(world.ports["arm"].q, POSTURE, atol=1e-9)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_springs_torque_is_the_derivative_of_its_energy(variant: str) -> None:
    """Inside the range it is known for and beyond."""
    spring = load_robot("rx160", variant).springs[1]
    for q in np.linspace(-2.3, 2.3, 47):
        slope = (spring.energy(q + 1e-6) - spring.energy(q - 1e-6)) / 2e-6
        assert slope == pytest.approx(spring.torque(q), abs=1e-5)


def test_the_spring_counts_with_gravity_and_is_told_apart() -> None:
    """It balances the arm: at 45° gravity needs −381 N·m and the spring +323."""
    arm = Arm.of(load_robot("rx160").edited(set_armature(0.0)), gravity=GRAVITY)
    arm.update(np.radians([45.0] * 6), np.zeros(6))
    assert arm.spring[1] == pytest.approx(323.36, abs=0.01)
    assert arm.gravity[1] == pytest.approx(323.36 - 381.33, abs=0.01)
    assert np.count_nonzero(arm.spring) == 1
    arm.update(arm.q.copy(), np.full(6, 0.3))
    np.testing.assert_allclose(arm.coriolis, arm.bias - arm.gravity)


def test_an_arm_without_springs_is_a_plain_arm() -> None:
    """What has no spring pays nothing for it."""
    assert type(Arm.of(load_robot("ur5e"))) is Arm
    assert type(Arm.of(load_robot("rx160"))) is not Arm


def test_energy_is_kept_while_the_arm_falls_against_its_spring() -> None:
    """The ledger's residual is small against what was exchanged."""
    world = World({"arm": Placed(load_robot("rx160"), q=POSTURE)}, 500_000, GRAVITY)
    world.advance(500_000_000)
    assert abs(world.energy_residual()) < 1e-2 * world.energy_exchanged()
    assert world.ports["arm"].work["push"] != 0.0


def test_gears_hold_what_is_below_their_dry_friction_and_slide_beyond() -> None:
    """Joint 1 stands with 17 N·m, creeps less than a thousandth of a degree, and moves with 19."""
    robot = load_robot("rx160")
    world, arm = World({"arm": Placed(robot)}, 500_000, GRAVITY), Arm.of(robot, gravity=GRAVITY)
    world.add_friction("arm", GearFriction(Gears()))
    port = world.ports["arm"]
    arm.update(port.q, port.v)
    for push, moves in ((17.0, False), (19.0, True)):
        port.torque[:] = arm.gravity
        port.torque[0] += push
        world.advance(world.now_ns + 1_000_000_000)
        assert bool(abs(np.degrees(port.q[0])) > 1e-3) is moves


def test_brakes_close_on_top_of_the_gears() -> None:
    """A sliding arm is stopped, and slides again when they open."""
    robot = load_robot("rx160")
    world = World({"arm": Placed(robot)}, 500_000, GRAVITY)
    world.add_friction("arm", GearFriction(Gears()))
    port = world.ports["arm"]
    port.v[0] = 0.5
    port.brake(True)
    world.advance(300_000_000)
    assert abs(port.v[0]) < 1e-3


def test_unknown_joints_and_kinds_of_spring_are_refused() -> None:
    """The message lists what there is."""
    model = load_robot("rx160").compile()
    for table, words in (
        ({"elbow": {"kind": "cubic"}}, "joint_2"),
        ({"joint_2": {"kind": "bungee"}}, "mechanism"),
        ({"joint_2": {"kind": "cubic", "coefficients": [1.0]}}, "4 values"),
        (
            {"joint_2": {"kind": "cubic", "coefficients": [0, 1, 0, 0], "range": [1.0, -1.0]}},
            "must rise",
        ),
    ):
        with pytest.raises(FarhandError, match=words):
            read_springs(table, model, "robot.toml")


def test_a_cubic_is_found_again_from_its_torques() -> None:
    """And too few angles are refused."""
    truth = load_robot("rx160").springs[1]
    assert isinstance(truth, CubicSpring) and isinstance(
        load_robot("rx160", "rx160l").springs[1], MechanismSpring
    )
    q = np.linspace(-1.7, 1.7, 30)
    found = CubicSpring.fit(q, np.array([truth.torque(a) for a in q]))
    np.testing.assert_allclose(found.coefficients, truth.coefficients, rtol=1e-9)
    with pytest.raises(FarhandError, match="4 angles"):
        CubicSpring.fit(q[:3], q[:3])


def test_a_tool_is_moved_and_a_gripper_mounted() -> None:
    """The tool point moves along its own axes; a mass with inertia weighs and turns."""
    robot = load_robot("rx160")
    longer = robot.edited(
        add_payload(1.5, (0.0, 0.0, 0.1), (0.01, 0.02, 0.03)), move_tool((0.0, 0.0, 0.2))
    )
    short, long = Arm.of(robot), Arm.of(longer)
    for arm in (short, long):
        arm.update(POSTURE, np.zeros(6))
    np.testing.assert_allclose(
        long.position, short.position + 0.2 * short.rotation[:, 2], atol=1e-12
    )
    assert long.M[5, 5] == pytest.approx(short.M[5, 5] + 0.03, abs=1e-9)
    assert load_robot("rx160", "rx160l").payload == 14.0

"""The mecanum plant: the base is moved and known through its wheels alone."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from farhand.errors import BadValue
from farhand.friction import make
from farhand.plants import JointTorque
from farhand.plants.simulated.mecanum import (
    LinkMap,
    MecanumPlant,
    MecanumWheels,
    WheelFriction,
    along_chord,
    turned,
)
from farhand.robots import load_robot
from farhand.world import Placed, World

MS = 1_000_000
YOUBOT = load_robot("youbot")


def driven(
    force: tuple[float, float, float], seconds: float, yaw: float = 0.0, **parts: object
) -> MecanumPlant:
    """A base pushed with a constant force in world axes, its arm locked by a weightless world."""
    q = YOUBOT.home.copy()
    q[2] = yaw
    plant = MecanumPlant(World({"robot": Placed(YOUBOT, q=q)}, gravity=0.0), "robot", **parts)
    command = JointTorque(8)
    command.value[:3] = force
    for tick in range(round(seconds * 1000)):
        plant.read(tick * MS)
        plant.write(command, tick * MS)
    plant.read(round(seconds * 1000) * MS)
    return plant


def test_a_force_in_world_axes_moves_the_base_that_way_whatever_its_heading() -> None:
    """Turned by 40°, pushed along y, without friction: x and heading hardly change."""
    plant = driven((0.0, 20.0, 0.0), 1.0, yaw=0.7)
    assert plant.port.q[1] > 0.1
    assert abs(plant.port.q[0]) < 0.02 * plant.port.q[1]


def test_odometry_follows_the_base_to_within_counts() -> None:
    """Pushed and turned at once for two seconds: a few micrometres and microradians."""
    plant = driven((15.0, -10.0, 3.0), 2.0)
    true, known = plant.port.q[:3], plant.read(2000 * MS).q[:3]
    assert np.abs(true).max() > 0.3
    assert np.abs(known - true).max() < 2e-5


def test_without_odometry_the_base_is_known_exactly() -> None:
    """The switch for tests and for a robot that is seen from outside."""
    plant = driven((15.0, -10.0, 3.0), 0.5, wheels=MecanumWheels(odometry=False))
    np.testing.assert_array_equal(plant.read(500 * MS).q[:3], plant.port.q[:3])


def test_the_filtered_speed_is_the_bases() -> None:
    """In world axes, for a base that drives and turns; the filter lags by 16 ms."""
    plant = driven((15.0, -10.0, 0.5), 2.0)
    lag = 2.0 / (2.0 * np.pi * 20.0) * 15.0 / 45.0
    np.testing.assert_allclose(plant.read(2000 * MS).v[:3], plant.port.v[:3], atol=3.0 * lag)


@pytest.mark.parametrize(("force", "moves"), [(4.0, False), (9.0, True)])
def test_wheel_friction_holds_the_base_up_to_its_break_away_force(force, moves) -> None:
    """Σ τ_peak / r = 6.92 N: the measured curves creep below it, and let go above."""
    plant = driven((force, 0.0, 0.0), 3.0, friction=make("youbot-wheels", 4))
    assert bool(plant.port.q[0] > 0.05) is moves
    assert bool(plant.port.v[0] > 0.05) is moves


def test_friction_takes_energy_and_gives_none() -> None:
    """The account of what pushes on the base's joints only falls."""
    plant = driven((30.0, 0.0, 1.0), 1.0, friction=make("youbot-wheels", 4))
    assert plant.port.work["push"] < -0.5
    assert abs(plant.world.energy_residual()) < 1e-3 * plant.world.energy_exchanged()


def test_wheel_torques_are_cut_at_their_limit() -> None:
    """A force of 100 N asks for 1.2 N·m at each wheel; 0.5 N·m make 42 N."""
    plant = driven((100.0, 0.0, 0.0), 0.001, wheels=MecanumWheels(torque_limit=0.5))
    np.testing.assert_allclose(np.abs(plant.wheel_torque), 0.5)
    assert plant.port.torque[0] == pytest.approx(4 * 0.5 / 0.0475)


def test_a_robot_without_a_base_and_friction_of_one_wheel_are_refused() -> None:
    """One line each, with what is wrong."""
    with pytest.raises(BadValue, match="4 wheels"):
        driven((0.0, 0.0, 0.0), 0.0, friction=make("kfm", 1))
    with pytest.raises(BadValue, match="x, y and yaw"):
        MecanumPlant(World({"robot": Placed(load_robot("youbot", "fixed"))}), "robot")


def test_a_move_in_world_axes_and_in_the_bases_own_are_one() -> None:
    """Along an arc that ends at a heading: the inverse of moving along it."""
    from farhand.plants.simulated.mecanum import move_along_arc

    pose, own = np.array([0.3, -0.2, 0.5]), np.array([0.01, -0.02, 0.3])
    before = pose.copy()
    move_along_arc(pose, own)
    np.testing.assert_allclose(along_chord(pose - before, pose[2]), own, atol=1e-12)
    np.testing.assert_allclose(turned(0.3) @ turned(-0.3), np.eye(3), atol=1e-15)


@pytest.mark.parametrize("yaw", [0.0, 0.7, -2.0])
def test_friction_of_four_equal_wheels_is_against_the_motion_whatever_the_heading(yaw) -> None:
    """F = −4 c/r² v with viscous wheels, and nothing across: a base that rolls is not steered."""
    q, v = np.array([0.3, -0.1, yaw]), np.array([0.2, 0.1, 0.0])
    port = SimpleNamespace(nv=3, q=q, v=v)
    friction = WheelFriction(port, LinkMap(), make("viscous", 4, viscous=0.1))
    friction.at(1e-3)
    np.testing.assert_allclose(friction.now, -4.0 * 0.1 / 0.0475**2 * v, atol=1e-9)

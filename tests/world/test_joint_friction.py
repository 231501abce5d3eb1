"""Any friction model at the joints of a robot in the world, chosen by name."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.errors import FarhandError
from farhand.friction.models.waiboer import Gears
from farhand.parameters import assign
from farhand.plants import Imperfections, JointTorque, SimulatedPlant
from farhand.robots import load_robot
from farhand.world import Placed, World
from farhand.world.joints import GearFriction

TICK = 1_000_000
UR5E = load_robot("ur5e")
DRY = "coulomb=2;breakaway=3;viscous=0.5"


def pushed(level: float, ticks: int, **imperfections) -> SimulatedPlant:
    """A UR5e without gravity whose joints were all driven with this torque [N·m]."""
    world = World({"arm": Placed(UR5E)}, TICK, gravity=0.0)
    plant = SimulatedPlant(world, "arm", Imperfections(**imperfections))
    command = JointTorque(6)
    command.value[:] = level
    for tick in range(ticks):
        plant.write(command, tick * TICK)
        plant.read((tick + 1) * TICK)
    return plant


@pytest.mark.parametrize(
    ("model", "extra"),
    [
        ("kfm", ""),
        ("karnopp", ""),
        ("stribeck", ""),
        ("lugre", ";stiffness=1e6"),
        ("gms", ";stiffness=1e5"),
    ],
)
def test_a_push_below_stiction_leaves_the_arm_where_it_is(model, extra):
    """2 N·m do not start joints that need 3."""
    plant = pushed(2.0, 300, friction=model, friction_parameters=DRY + extra)
    assert np.abs(plant.port.q - UR5E.home).max() < 5e-3
    assert np.abs(plant.port.v).max() < 5e-3


@pytest.mark.parametrize("model", ["kfm", "lugre", "gms", "leuven"])
def test_a_push_above_stiction_moves_it_more_slowly_than_without_friction(model):
    """Friction takes its share of the torque, whichever model it is."""
    free = np.abs(pushed(8.0, 100).port.v)
    rubbed = np.abs(pushed(8.0, 100, friction=model, friction_parameters=DRY).port.v)
    assert rubbed.max() > 0.1
    assert np.linalg.norm(rubbed) < 0.9 * np.linalg.norm(free)


@pytest.mark.parametrize("stiffness", [1e3, 1e6, 1e9])
def test_no_bristle_is_too_stiff_for_the_worlds_step(stiffness):
    """At 1 ms nothing rings, whatever σ0 is."""
    plant = pushed(8.0, 200, friction="lugre", friction_parameters=f"{DRY};stiffness={stiffness}")
    assert np.isfinite(plant.port.v).all()
    assert np.abs(plant.port.v).max() < 20.0


def test_friction_can_be_set_and_switched_off_by_path():
    """The same words as on the command line; a wrong name or parameter changes nothing."""
    plant = pushed(8.0, 10, friction="kfm", friction_parameters="coulomb=50;breakaway=50")
    still = np.abs(plant.port.v).max()
    for path, value in (
        ("plant.friction", "kfn"),
        ("plant.friction_parameters", "coulom=1"),
        ("plant.friction_parameters", "coulomb"),
    ):
        with pytest.raises(FarhandError):
            assign({"plant": plant.imperfections}, path, value)
    assign({"plant": plant.imperfections}, "plant.friction", "none")
    command = JointTorque(6)
    command.value[:] = 8.0
    for tick in range(10, 40):
        plant.write(command, tick * TICK)
        plant.read((tick + 1) * TICK)
    assert still < 1e-3 < 0.1 < np.abs(plant.port.v).max()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_gears_lose_what_their_curve_says_where_a_term_helps_along_too(sign: float):
    """The dry friction of joints and shared gear, and what is added, are −F(v) together."""
    gears, dry, added = Gears(), np.zeros(6), np.zeros(6)
    friction = GearFriction(gears)
    v = sign * np.array([0.4, -0.5, 0.6, -2.0, 3.0, -4.0])
    friction.at(v, dry, added)
    shared = float(friction._shared[0]) * np.sign(v[4] + v[5]) * np.array([0, 0, 0, 0, 1, 1])
    assert added @ v > 0.0
    np.testing.assert_allclose(added - np.sign(v) * dry - shared, -gears.curve(v), atol=1e-12)

"""Any friction model at the joints of a robot in the world, chosen by name."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.errors import FarhandError, ModelError
from farhand.friction.models.implicit import advance
from farhand.friction.models.model import make
from farhand.friction.models.waiboer import Gears
from farhand.parameters import assign
from farhand.plants import Imperfections, JointTorque, SimulatedPlant
from farhand.robots import load_robot
from farhand.robots.edits import set_frictionloss
from farhand.world import Placed, World, box
from farhand.world.joints import GearFriction, JointFriction

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
    ("model", "extra", "creep"),
    [
        ("kfm", "", 1e-5),
        ("karnopp", "", 1e-5),
        ("stribeck", "", 1e-5),
        ("lugre", ";stiffness=1e6", 5e-3),
        ("gms", ";stiffness=1e5", 5e-3),
    ],
)
def test_a_push_below_stiction_leaves_the_arm_where_it_is(model, extra, creep):
    """2 N·m do not start joints that need 3; dry friction does not even creep."""
    plant = pushed(2.0, 300, friction=model, friction_parameters=DRY + extra)
    assert np.abs(plant.port.q - UR5E.home).max() < creep
    assert np.abs(plant.port.v).max() < creep


def test_dry_friction_is_the_robots_own_plus_the_models_at_its_speed():
    """Beside a loose object and another robot; at rest it is as large as it takes to start."""
    robot, own = UR5E.edited(set_frictionloss(0.7)), 0.7
    placed = {"other": Placed(load_robot("point3")), "object": Placed(box((1, 1, 1), 1, (3, 0, 1)))}
    world = World({**placed, "arm": Placed(robot)}, TICK, gravity=0.0)
    model = make("kfm", 6, coulomb=2.0, breakaway=np.arange(3.0, 9.0), viscous=0.5)
    world.add_friction("arm", JointFriction(model, world, "arm"))
    v = np.array([0.0, 1e-7, -1e-7, 0.5, -0.5, 2.0])
    world.ports["arm"].v[:] = v
    world.refresh()
    expected = np.where(np.abs(v) < 1e-6, np.arange(3.0, 9.0), np.abs(model.curve(v)))
    np.testing.assert_allclose(world.model.dof_frictionloss[-6:], own + expected)
    np.testing.assert_array_equal(world.model.dof_frictionloss[:-6], 0.0)
    assert not world.ports["arm"].pushed.any()


@pytest.mark.parametrize(("low", "high"), [(-3.0, 2.0), (-2.0, 3.0)])
def test_a_joint_at_rest_is_held_with_the_larger_of_what_it_takes_either_way(low, high):
    """The engine's dry friction knows one size for both."""
    world = World({"arm": Placed(UR5E)}, TICK, gravity=0.0)
    model = make("coulomb", 6, coulomb=1.0)
    bounds = np.full(6, low), np.full(6, high)
    model.__class__ = type("Uneven", (type(model),), {"hold": property(lambda self: bounds)})
    world.add_friction("arm", JointFriction(model, world, "arm"))
    np.testing.assert_allclose(world.model.dof_frictionloss, 3.0)


def test_a_mass_on_bristles_moves_as_friction_and_inertia_solved_together_say():
    """Three slides beside an arm, one of them vertical, in the steps of the implicit solution."""
    robot, parameters = load_robot("point3"), {"coulomb": 0.2, "breakaway": 0.3, "viscous": 0.05}
    world = World({"arm": Placed(UR5E), "mass": Placed(robot)}, TICK)
    world.ports["arm"].brake(True)
    port, mass = world.ports["mass"], 0.15
    friction = JointFriction(make("lugre", 3, **parameters), world, "mass")
    world.add_friction("mass", friction)
    torque = np.array([0.25, -0.4, 1.2])
    port.torque[:] = torque
    drive, v, alone = np.zeros(3), np.zeros(3), make("lugre", 3, **parameters)
    weight = np.array([0.0, 0.0, -9.81 * mass])
    for tick in range(150):
        _, resistance = advance(alone, v, 1e-3, drive, np.full(3, mass))
        drive = torque + weight
        if tick:
            np.testing.assert_allclose(port.pushed, -resistance, atol=1e-9)
        world.advance((tick + 1) * TICK)
        v = v + (drive - resistance) * (1e-3 / mass)
        np.testing.assert_allclose(port.v, v, atol=1e-9)
    assert np.abs(v).max() > 0.02
    assert port.work["push"] < 0.0


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


def test_the_gear_that_two_joints_share_resists_in_its_own_arm_only():
    """The tendon of the second robot has the gear's friction at rest, that of the first none."""
    robot, gears = load_robot("rx160"), Gears()
    world = World({"left": Placed(robot), "right": Placed(robot)}, 500_000)
    world.add_friction("right", GearFriction(gears))
    at_rest = float(gears.terms.level(np.zeros(7))[6])
    assert at_rest > 0.0
    np.testing.assert_allclose(world.model.tendon_frictionloss, [0.0, at_rest])


def test_gears_on_an_arm_without_their_shared_tendon_are_refused():
    """They would lose part of their friction in silence."""
    with pytest.raises(ModelError, match="arm has no tendon 'gear_56'"):
        World({"arm": Placed(UR5E)}).add_friction("arm", GearFriction(Gears()))

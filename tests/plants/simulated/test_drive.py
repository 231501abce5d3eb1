"""Drives that hear nothing close their brakes by themselves, and say so."""

from __future__ import annotations

import numpy as np

from farhand.plants import JointTorque, SimulatedPlant
from farhand.plants.wrappers.wrapped import DrivePlant
from farhand.robots import load_robot
from farhand.world import Placed, World


def drive() -> tuple[DrivePlant, World]:
    """An arm with a watchdog in its drives."""
    world = World({"arm": Placed(load_robot("rx160"))})
    return DrivePlant(SimulatedPlant(world, "arm"), 6), world


def test_commands_pass_while_the_controller_lives():
    """No brake, no fault."""
    plant, world = drive()
    command = JointTorque(6)
    command.value[:] = 1.0
    plant.write(command, 4_000_000)
    np.testing.assert_allclose(world.ports["arm"].torque, 1.0)
    assert not world.ports["arm"].braking and plant.fault is None


def test_a_dead_controller_is_noticed_after_its_patience_and_not_before():
    """Brakes close at the first tick beyond 20 ms, with the reason in words; a restart opens
    them.
    """
    plant, world = drive()
    plant.write(JointTorque(6), 0)
    plant.lifeline.dead = True
    for tick in range(1, 6):
        plant.write(JointTorque(6), tick * 4_000_000)
        assert not world.ports["arm"].braking
    plant.write(JointTorque(6), 24_000_000)
    assert world.ports["arm"].braking
    assert "no command for 20 ms" in str(plant.fault)
    plant.lifeline.dead = False
    plant.restart()
    plant.write(JointTorque(6), 28_000_000)
    assert not world.ports["arm"].braking and plant.fault is None

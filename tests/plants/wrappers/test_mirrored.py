"""A plant from outside, shown in the world."""

from __future__ import annotations

import numpy as np

from farhand.plants import JointTorque, Plant, Sample
from farhand.plants.wrappers.wrapped import MirroredPlant
from farhand.robots import load_robot
from farhand.world import Placed, World


class Outside(Plant):
    """A plant that is where it says."""

    name, accepts, period_ns = "arm", frozenset({JointTorque}), 1_000_000
    actuated = np.ones(6, dtype=bool)
    fault = "broken"

    def __init__(self) -> None:
        self.sample, self.written, self.closed = Sample(6, 6), [], False

    def read(self, now_ns):
        self.sample.q[:], self.sample.v[:] = 0.3, 0.1
        return self.sample

    def write(self, command, now_ns):
        self.written.append(command)

    def close(self):
        self.closed = True


def test_the_world_shows_the_plant_where_it_is_and_keeps_no_energy_account_of_it():
    """Commands and faults go through; closing closes it."""
    world, plant = World({"arm": Placed(load_robot("ur5e"))}), Outside()
    mirrored = MirroredPlant(plant, world)
    assert mirrored.read(0) is plant.sample
    np.testing.assert_array_equal(world.ports["arm"].q, 0.3)
    np.testing.assert_array_equal(world.ports["arm"].v, 0.1)
    assert world.externally_driven
    command = JointTorque(6)
    mirrored.write(command, 0)
    assert plant.written == [command]
    assert mirrored.fault == "broken"
    mirrored.close()
    assert plant.closed

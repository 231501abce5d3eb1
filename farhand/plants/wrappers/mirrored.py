"""Mirrored plant: an arm outside the simulated world, shown in it."""

from __future__ import annotations

from farhand.plants.plant import Plant, Sample
from farhand.plants.wrappers.wrapped import WrappedPlant
from farhand.world.world import World


class MirroredPlant(WrappedPlant):
    """A plant whose state is copied to a robot of the world at every read, so that pictures show it where it is.

    The world's energy account knows nothing of what moves the plant, so its books are left open.

    Args:
        plant: outside the world.
        world: where it is shown.
    """

    def __init__(self, plant: Plant, world: World) -> None:
        super().__init__(plant)
        self.plant = plant
        self._port = world.ports[plant.name]
        world.externally_driven = True

    def read(self, now_ns: int) -> Sample:
        """The plant's sample."""
        sample = self._plant.read(now_ns)
        self._port.q[:], self._port.v[:] = sample.q, sample.v
        return sample

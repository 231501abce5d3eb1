"""Simulated plants: ports of the World and small models of their own."""

from farhand.plants.simulated.port import Imperfections, SimulatedPlant

__all__ = ["Imperfections", "SimulatedPlant"]

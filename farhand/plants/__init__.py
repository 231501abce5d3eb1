"""Plants: things that move and can be commanded. Simulated ones here; each hardware driver is one more file."""

from farhand.plants.plant import Command, JointTorque, Plant, Sample
from farhand.plants.simulated import Imperfections, SimulatedPlant

__all__ = ["Command", "Imperfections", "JointTorque", "Plant", "Sample", "SimulatedPlant"]

"""Plants: things that move and can be commanded. Simulated ones here; each hardware driver is one more file."""

from farhand.plants.plant import Brake, Command, JointTorque, JointVelocity, Plant, Sample
from farhand.plants.simulated import Imperfections, SimulatedPlant

__all__ = ["Brake", "Command", "Imperfections", "JointTorque", "JointVelocity", "Plant", "Sample", "SimulatedPlant"]

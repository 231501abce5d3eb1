"""Plants: things that move and can be commanded. Simulated ones here; each hardware driver is one more file."""

from farhand.plants.plant import (
    Brake,
    Command,
    JointPosition,
    JointTorque,
    JointVelocity,
    Plant,
    Sample,
)
from farhand.plants.simulated.port import Imperfections, SimulatedPlant

__all__ = [
    "Brake",
    "Command",
    "Imperfections",
    "JointPosition",
    "JointTorque",
    "JointVelocity",
    "Plant",
    "Sample",
    "SimulatedPlant",
]

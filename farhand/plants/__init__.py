"""Plants: things that move and can be commanded, simulated or real."""

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

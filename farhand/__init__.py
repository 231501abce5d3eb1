"""Farhand: bilateral teleoperation in Python. A leader moves, a follower follows, touch returns.

The names below are loaded when they are first used, so ``import farhand`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from farhand.arm import Arm
    from farhand.control.trajectory.paths import HandPath, Move
    from farhand.coupling import Coupling, Effort, Side, law_named
    from farhand.errors import FarhandError
    from farhand.loop.bridges.bridge import Bridge
    from farhand.loop.bridges.direct import DirectBridge
    from farhand.loop.session import Session
    from farhand.loop.station import Station
    from farhand.parameters import parameter
    from farhand.plants import Plant, Sample, SimulatedPlant
    from farhand.recording.loader import Recording, load
    from farhand.rigs import Options, Rig, Scenario, build_rig
    from farhand.robots import Placement, Robot, load_robot
    from farhand.safety import Guard
    from farhand.world import ImpedanceHand, Placed, Wall, World

_HOMES = {
    "Arm": "farhand.arm",
    "Bridge": "farhand.loop.bridges.bridge",
    "Coupling": "farhand.coupling",
    "DirectBridge": "farhand.loop.bridges.direct",
    "Effort": "farhand.coupling",
    "FarhandError": "farhand.errors",
    "Guard": "farhand.safety",
    "HandPath": "farhand.control.trajectory.paths",
    "ImpedanceHand": "farhand.world",
    "Move": "farhand.control.trajectory.paths",
    "Options": "farhand.rigs",
    "Placed": "farhand.world",
    "Placement": "farhand.robots",
    "Plant": "farhand.plants",
    "Recording": "farhand.recording.loader",
    "Rig": "farhand.rigs",
    "Robot": "farhand.robots",
    "Sample": "farhand.plants",
    "Scenario": "farhand.rigs",
    "Session": "farhand.loop.session",
    "Side": "farhand.coupling",
    "SimulatedPlant": "farhand.plants",
    "Station": "farhand.loop.station",
    "Wall": "farhand.world",
    "World": "farhand.world",
    "build_rig": "farhand.rigs",
    "law_named": "farhand.coupling",
    "load": "farhand.recording.loader",
    "load_robot": "farhand.robots",
    "parameter": "farhand.parameters",
}
"""Every public noun, and the module it comes from."""

__all__ = [
    "Arm",
    "Bridge",
    "Coupling",
    "DirectBridge",
    "Effort",
    "FarhandError",
    "Guard",
    "HandPath",
    "ImpedanceHand",
    "Move",
    "Options",
    "Placed",
    "Placement",
    "Plant",
    "Recording",
    "Rig",
    "Robot",
    "Sample",
    "Scenario",
    "Session",
    "Side",
    "SimulatedPlant",
    "Station",
    "Wall",
    "World",
    "build_rig",
    "law_named",
    "load",
    "load_robot",
    "parameter",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'farhand' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

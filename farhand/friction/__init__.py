"""Friction: models, what they can do, and compensation."""

from farhand.friction.armstrong import Armstrong
from farhand.friction.bristle import Bristle, ResetIntegrator
from farhand.friction.coulomb import Coulomb, CoulombViscous, Stiction, Viscous
from farhand.friction.dahl import Dahl
from farhand.friction.loading import load
from farhand.friction.lugre import LuGre
from farhand.friction.maxwell import Gms, Leuven, MaxwellSlip
from farhand.friction.model import FRICTIONS, Friction, StaticFriction, make, register
from farhand.friction.resting import Karnopp, Threshold
from farhand.friction.stribeck import Kfm, Stribeck
from farhand.friction.waiboer import GEAR_SETS, Gears, Waiboer
from farhand.friction.wheels import Wheel1, Wheel2, Wheel3, Wheel4, Wheels

__all__ = [
    "FRICTIONS",
    "GEAR_SETS",
    "Armstrong",
    "Bristle",
    "Coulomb",
    "CoulombViscous",
    "Dahl",
    "Friction",
    "Gears",
    "Gms",
    "Karnopp",
    "Kfm",
    "Leuven",
    "LuGre",
    "MaxwellSlip",
    "ResetIntegrator",
    "StaticFriction",
    "Stiction",
    "Stribeck",
    "Threshold",
    "Viscous",
    "Waiboer",
    "Wheel1",
    "Wheel2",
    "Wheel3",
    "Wheel4",
    "Wheels",
    "load",
    "make",
    "register",
]

"""Friction: models, what they can do, and compensation."""

from farhand.friction.fit.loading import load
from farhand.friction.models.armstrong import Armstrong
from farhand.friction.models.bristle import Bristle, ResetIntegrator
from farhand.friction.models.coulomb import Coulomb, CoulombViscous, Stiction, Viscous
from farhand.friction.models.dahl import Dahl
from farhand.friction.models.lugre import LuGre
from farhand.friction.models.maxwell import Gms, Leuven, MaxwellSlip
from farhand.friction.models.model import FRICTIONS, Friction, StaticFriction, make, register
from farhand.friction.models.stribeck import Karnopp, Kfm, Stribeck, Threshold
from farhand.friction.models.waiboer import GEAR_SETS, Gears, Waiboer
from farhand.friction.models.wheels import Wheel1, Wheel2, Wheel3, Wheel4, Wheels

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

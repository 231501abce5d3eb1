"""Bilateral laws, one per file, and what they are made of."""

import importlib

from farhand.coupling.admittance import Admittance
from farhand.coupling.coupling import NEEDS, PROPERTIES, Coupling
from farhand.coupling.four_channel import FourChannel, FourChannelSensorless
from farhand.coupling.none import NoCoupling
from farhand.coupling.position_force import PositionForce
from farhand.coupling.position_position import PositionPosition
from farhand.coupling.side import Effort, Side
from farhand.coupling.spring import Spring
from farhand.coupling.unilateral import Unilateral
from farhand.coupling.virtual_constraints import VirtualConstraints
from farhand.errors import BadValue, UnknownName

LAWS: dict[str, type[Coupling]] = {
    law.name: law
    for law in (
        NoCoupling,
        Unilateral,
        PositionPosition,
        PositionForce,
        FourChannel,
        FourChannelSensorless,
        VirtualConstraints,
        Admittance,
    )
}
"""Every law by its name on the command line."""

__all__ = [
    "LAWS",
    "NEEDS",
    "PROPERTIES",
    "Admittance",
    "Coupling",
    "Effort",
    "FourChannel",
    "FourChannelSensorless",
    "NoCoupling",
    "PositionForce",
    "PositionPosition",
    "Side",
    "Spring",
    "Unilateral",
    "VirtualConstraints",
    "law_named",
    "laws_with",
    "register",
]


def register(law: type[Coupling]) -> type[Coupling]:
    """Make a law known by its name, so that rigs and the command line find it; usable as a decorator."""
    if LAWS.get(law.name, law) is not law:
        raise BadValue(f"law {law.name!r} is already there; give yours another name")
    for declared, known in ((law.needs, set(NEEDS)), (law.properties, set(PROPERTIES))):
        for name in declared - known:
            raise UnknownName(f"declaration of law {law.name!r}", name, known)
    LAWS[law.name] = law
    return law


def law_named(name: str) -> type[Coupling]:
    """The law of that name, or ``module:Class`` of a user's own."""
    if ":" in name:
        return register(_imported(name))
    if name not in LAWS:
        raise UnknownName("law", name, LAWS)
    return LAWS[name]


def _imported(name: str) -> type[Coupling]:
    module, _, attribute = name.partition(":")
    try:
        law = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise BadValue(f"law {name!r} cannot be imported: {error}") from None
    if not (isinstance(law, type) and issubclass(law, Coupling)):
        raise BadValue(f"law {name!r} is not a class derived from farhand.coupling.Coupling")
    return law


def laws_with(*properties: str) -> list[type[Coupling]]:
    """All laws that promise every one of ``properties``."""
    return [law for law in LAWS.values() if set(properties) <= law.properties]

"""Bilateral laws, one per file, and what they are made of."""

from farhand.coupling.coupling import NEEDS, PROPERTIES, Coupling
from farhand.coupling.none import NoCoupling
from farhand.coupling.position_force import PositionForce
from farhand.coupling.position_position import PositionPosition
from farhand.coupling.side import Effort, Side
from farhand.coupling.spring import Spring
from farhand.coupling.unilateral import Unilateral
from farhand.errors import UnknownName

LAWS: dict[str, type[Coupling]] = {law.name: law for law in (NoCoupling, Unilateral, PositionPosition, PositionForce)}
"""Every law by its name on the command line."""

__all__ = ["LAWS", "NEEDS", "PROPERTIES", "Coupling", "Effort", "Side", "Spring", "law_named", "laws_with"]


def law_named(name: str) -> type[Coupling]:
    """The law of that name."""
    if name not in LAWS:
        raise UnknownName("law", name, LAWS)
    return LAWS[name]


def laws_with(*properties: str) -> list[type[Coupling]]:
    """All laws that promise every one of ``properties``."""
    return [law for law in LAWS.values() if set(properties) <= law.properties]

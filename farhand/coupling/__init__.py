"""Bilateral laws, one per file, and what they are made of."""

from farhand import plugins
from farhand.coupling.admittance import Admittance
from farhand.coupling.coupling import NEEDS, PROPERTIES, Coupling
from farhand.coupling.four_channel import FourChannel, FourChannelSensorless
from farhand.coupling.input_gated import InputGated
from farhand.coupling.midpoint import Midpoint
from farhand.coupling.none import NoCoupling
from farhand.coupling.openarm import OpenArm
from farhand.coupling.openarm_four_channel import OpenArmFourChannel
from farhand.coupling.position_force import PositionForce
from farhand.coupling.position_position import PositionPosition
from farhand.coupling.side import Effort, Side
from farhand.coupling.spring import Spring, SpringCoupling
from farhand.coupling.trial import check_class
from farhand.coupling.unilateral import Unilateral
from farhand.coupling.virtual_constraints import VirtualConstraints
from farhand.errors import BadValue, UnknownName

LAWS: dict[str, type[Coupling]] = {
    law.name: law
    for law in (
        NoCoupling,
        Unilateral,
        PositionPosition,
        InputGated,
        Midpoint,
        PositionForce,
        FourChannel,
        FourChannelSensorless,
        VirtualConstraints,
        Admittance,
        OpenArm,
        OpenArmFourChannel,
    )
}
"""The laws of the library, and those registered, by name on the command line."""

GROUP = "farhand.laws"
"""Entry points under which installed packages bring laws."""

__all__ = [
    "LAWS",
    "NEEDS",
    "PROPERTIES",
    "Admittance",
    "Coupling",
    "Effort",
    "FourChannel",
    "FourChannelSensorless",
    "InputGated",
    "Midpoint",
    "NoCoupling",
    "OpenArm",
    "OpenArmFourChannel",
    "PositionForce",
    "PositionPosition",
    "Side",
    "Spring",
    "SpringCoupling",
    "Unilateral",
    "VirtualConstraints",
    "every_law",
    "law_named",
    "laws_with",
    "register",
]


def register(law: type[Coupling]) -> type[Coupling]:
    """Make a law known by its name to rigs and the command line; usable as a decorator.

    Raises:
        BadValue: the name is taken, or the class is no law that a rig could make.
        UnknownName: it needs or promises something that there is no word for.
    """
    check_class(law)
    known = LAWS.get(law.name, law)
    # the same class, defined again, may be
    if (known.__module__, known.__qualname__) != (law.__module__, law.__qualname__):
        raise BadValue(f"law {law.name!r} is already there; give yours another name")
    for declared, words in ((law.needs, set(NEEDS)), (law.properties, set(PROPERTIES))):
        for name in declared - words:
            raise UnknownName(f"declaration of law {law.name!r}", name, words)
    LAWS[law.name] = law
    return law


def law_named(name: str) -> type[Coupling]:
    """The law of that name, of an installed package, or ``module:Class`` from the current folder.

    Raises:
        UnknownName: there is no such law.
        BadValue: it cannot be imported, or is not a law.
    """
    if ":" in name:
        return register(plugins.load_class(name, "law", Coupling))
    if name in LAWS:
        return LAWS[name]
    if name in plugins.found(GROUP):
        return register(plugins.load_subclass(GROUP, name, "law", Coupling))
    raise UnknownName("law", name, {*LAWS, *plugins.found(GROUP)})


def every_law() -> dict[str, type[Coupling]]:
    """Every law by name: the library's, those registered, and those of installed packages."""
    for name in plugins.found(GROUP):
        law_named(name)
    return dict(LAWS)


def laws_with(*properties: str) -> list[type[Coupling]]:
    """All laws that promise every one of ``properties``."""
    return [law for law in LAWS.values() if set(properties) <= law.properties]

"""Bilateral laws, one per file, and what they are made of."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from farhand.coupling.admittance import Admittance
from farhand.coupling.coupling import NEEDS, PROPERTIES, Coupling
from farhand.coupling.four_channel import FourChannel, FourChannelSensorless
from farhand.coupling.none import NoCoupling
from farhand.coupling.position_force import PositionForce
from farhand.coupling.position_position import PositionPosition
from farhand.coupling.side import Effort, Side
from farhand.coupling.spring import Spring
from farhand.coupling.trial import check_class, describe_error
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
    """Make a law known by its name, so that rigs and the command line find it; usable as a decorator.

    Raises:
        BadValue: the name is taken, or the class is no law that a rig could make.
        UnknownName: it needs or promises something that there is no word for.
    """
    check_class(law)
    known = LAWS.get(law.name, law)
    # the same, written anew, may be
    if (known.__module__, known.__qualname__) != (law.__module__, law.__qualname__):
        raise BadValue(f"law {law.name!r} is already there; give yours another name")
    for declared, words in ((law.needs, set(NEEDS)), (law.properties, set(PROPERTIES))):
        for name in declared - words:
            raise UnknownName(f"declaration of law {law.name!r}", name, words)
    LAWS[law.name] = law
    return law


def law_named(name: str) -> type[Coupling]:
    """The law of that name, or ``module:Class`` of a user's own, from the current folder or the installed packages."""
    if ":" in name:
        return register(_imported(name))
    if name not in LAWS:
        raise UnknownName("law", name, LAWS)
    return LAWS[name]


def _imported(name: str) -> type[Coupling]:
    """The class that ``module:Class`` stands for."""
    path, _, attribute = name.partition(":")
    module = _module(name, path)
    law = getattr(module, attribute, None)
    if law is None:
        raise BadValue(
            f"law {name!r} cannot be imported: {module.__file__ or path} has no {attribute!r}"
        )
    if not (isinstance(law, type) and issubclass(law, Coupling)):
        raise BadValue(f"law {name!r} is not a class derived from farhand.coupling.Coupling")
    return law


def _module(law: str, path: str) -> ModuleType:
    """The module of a user's law; whatever its import raises is said in one line."""
    try:
        with _current_folder():
            return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{path}.".startswith(f"{error.name}."):
            raise BadValue(
                f"law {law!r} cannot be imported: module {path!r} needs {error.name!r}"
            ) from error
        where = f"neither in the current folder ({Path.cwd()}) nor among the installed packages"
        raise BadValue(
            f"law {law!r} cannot be imported: there is no module {error.name!r}, {where}"
        ) from None
    except Exception as error:  # anything may happen in a user's module
        raise BadValue(f"law {law!r} cannot be imported: {describe_error(error)}") from error


@contextmanager
def _current_folder() -> Iterator[None]:
    """Find modules in the current folder first, as ``python -m`` does and an installed command does not."""
    before, folder = list(sys.path), str(Path.cwd())
    sys.path.insert(0, folder)
    importlib.invalidate_caches()  # the file may be younger than the last look
    try:
        yield
    finally:
        if sys.path == [folder, *before]:
            sys.path[:] = before
        elif folder in sys.path:  # the module has changed it too
            sys.path.remove(folder)


def laws_with(*properties: str) -> list[type[Coupling]]:
    """All laws that promise every one of ``properties``."""
    return [law for law in LAWS.values() if set(properties) <= law.properties]

"""Plug-ins: classes named ``module:Class``, and entry points of installed packages."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from farhand.errors import BadValue, describe_error

T = TypeVar("T")

DRIVERS = "farhand.plants.drivers"
BUILT_IN = {
    "farhand.plants": {
        "ur": f"{DRIVERS}.ur:UrPlant",
        "spacemouse": f"{DRIVERS}.spacemouse:SpaceMousePlant",
        "gamepad": f"{DRIVERS}.gamepad:GamepadPlant",
        "feetech": "farhand.plants.servo_arm.plant:FeetechPlant",
        "dynamixel": "farhand.plants.servo_arm.plant:DynamixelPlant",
        "damiao": "farhand.plants.damiao.plant:DamiaoPlant",
        "franka": "farhand.plants.franka.plant:FrankaPlant",
    }
}
"""Entry points of the library that must work even if its installed metadata are out of date."""


@cache
def found(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group, such as ``farhand.plants``, by name."""
    points = {point.name: point for point in entry_points(group=group)}
    built_in = BUILT_IN.get(group, {})
    return points | {name: EntryPoint(name, value, group) for name, value in built_in.items()}


def load(group: str, name: str) -> Any:
    """Import what an entry point stands for.

    Raises:
        KeyError: no installed package has this entry point.
        BadValue: its module cannot be imported.
    """
    point = found(group)[name]
    try:
        return point.load()
    # A third-party module may raise anything.
    except Exception as error:
        text = f"entry point {name!r} of {group} ({point.value}) cannot be imported"
        raise BadValue(f"{text}: {describe_error(error)}") from error


def load_class(path: str, kind: str, base: type) -> Any:
    """The class that ``module:Class`` names, from the current folder or the installed packages.

    Args:
        path: module and class, as the user wrote it.
        kind: what it is to be, for messages, such as ``"law"``.
        base: the class that it must be derived from.

    Raises:
        BadValue: it cannot be imported, or is not derived from ``base``.
    """
    module_path, _, attribute = path.partition(":")
    module = _import(path, kind, module_path)
    loaded = getattr(module, attribute, None)
    if loaded is None:
        where = module.__file__ or module_path
        raise BadValue(f"{kind} {path!r} cannot be imported: {where} has no {attribute!r}")
    return _checked(loaded, kind, path, base)


def load_subclass(group: str, name: str, kind: str, base: type) -> Any:
    """The class that an entry point stands for; see :func:`load` and :func:`load_class`."""
    return _checked(load(group, name), kind, name, base)


def _checked(loaded: Any, kind: str, name: str, base: type) -> Any:
    if not (isinstance(loaded, type) and issubclass(loaded, base)):
        parent = f"{base.__module__.rpartition('.')[0]}.{base.__name__}"
        raise BadValue(f"{kind} {name!r} is not a class derived from {parent}")
    return loaded


def make(loaded: type[T], kind: str, name: str) -> T:
    """An object of a plug-in's class, made without arguments.

    Raises:
        BadValue: the class needs arguments, or its constructor fails.
    """
    try:
        return loaded()
    # A user's class may raise anything.
    except Exception as error:
        text = f"{kind} {name!r} cannot be made without arguments ({describe_error(error)})"
        raise BadValue(f"{text}; give each a default") from error


def _import(path: str, kind: str, module: str) -> ModuleType:
    try:
        with _current_folder():
            return importlib.import_module(module)
    except ModuleNotFoundError as error:
        text = f"{kind} {path!r} cannot be imported"
        # The module exists, and something that it imports does not.
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise BadValue(f"{text}: module {module!r} needs {error.name!r}") from error
        where = f"neither in the current folder ({Path.cwd()}) nor among the installed packages"
        raise BadValue(f"{text}: there is no module {error.name!r}, {where}") from None
    # A user's module may raise anything.
    except Exception as error:
        raise BadValue(f"{kind} {path!r} cannot be imported: {describe_error(error)}") from error


@contextmanager
def _current_folder() -> Iterator[None]:
    """Find modules in the current folder first, which an installed command does not do."""
    before, folder = list(sys.path), str(Path.cwd())
    sys.path.insert(0, folder)
    # The file may be younger than Python's last look at the folder.
    importlib.invalidate_caches()
    try:
        yield
    finally:
        if sys.path == [folder, *before]:
            sys.path[:] = before
        # The module has changed the path too: take out only our own entry.
        elif folder in sys.path:
            sys.path.remove(folder)

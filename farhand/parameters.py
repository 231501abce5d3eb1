"""Parameters: numbers of a part that a user may set by path, each with unit, range and meaning.

A part is a dataclass whose settable fields are made with :func:`parameter`. ``--set
wall.stiffness=3000``, the console and a test all go through :func:`assign`, so a value is checked
in one place and refused with the same words everywhere.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from farhand.errors import BadValue, FarhandError, OutOfRange, UnknownName, shortened


def parameter(
    default: Any,
    unit: str,
    doc: str,
    low: float = -math.inf,
    high: float = math.inf,
    choices: tuple[str, ...] = (),
) -> Any:
    """Declare a settable dataclass field.

    Args:
        default: initial value: float, int, bool, str, or a tuple for a vector (becomes a float64
            array).
        unit: SI unit, ``"-"`` for none.
        doc: what it is, in a few words.
        low: smallest allowed value (of every component).
        high: largest allowed value (of every component).
        choices: allowed words, for a string.
    """
    metadata = {"unit": unit, "doc": doc, "low": low, "high": high, "choices": choices}
    if isinstance(default, tuple):
        return dataclasses.field(
            default_factory=lambda: np.array(default, dtype=float), metadata=metadata
        )
    return dataclasses.field(default=default, metadata=metadata)


def assign(root: object, path: str, value: object) -> object:
    """Set the parameter at ``path`` below ``root`` after checking it, and return the value stored.

    Args:
        root: a part, or a mapping from names to parts.
        path: names joined by dots, such as ``"wall.stiffness"``.
        value: a value, or its text; a vector also takes one number for all components, or
            ``"1,2,3"``.

    A part that derives other numbers from its parameters has a method ``refresh()``, which is
    called afterwards. A tuple of parts stands for the same part in several places (a law at both
    ends of a link): all are set.
    """
    assign_all(root, [(path, value)])
    owners, name = _find(root, path)
    return getattr(owners[0], name)


def assign_all(root: object, settings: Iterable[tuple[str, object]]) -> None:
    """Set several parameters, then refresh their parts; a refusal changes nothing."""
    changes: list[tuple[object, str, object]] = []
    settings = list(settings)
    for path, value in settings:
        owners, name = _find(root, path)
        for owner in owners:
            metadata = _metadata(owner, name)
            assert metadata is not None  # _find looked
            changes.append((owner, name, _checked(path, value, _current(owner, name), metadata)))
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in changes]
    _set(changes)
    try:
        _refresh(changes)
    except Exception as error:  # values that do not go together; a user's part may raise anything
        _set(before[::-1])
        _refresh(before)
        if isinstance(error, FarhandError):
            raise
        asked = ", ".join(f"{path} = {shortened(value)}" for path, value in settings)
        raise BadValue(
            f"{asked} led to {type(error).__name__}: {' '.join(str(error).split())}"
        ) from error


def validate(part: object, name: str) -> None:
    """Check every parameter of a part; ``name`` is how messages call it."""
    assign_all({name: part}, [(path, value) for path, value, _, _ in describe({name: part})])


def describe(root: object, prefix: str = "") -> Iterator[tuple[str, object, str, str]]:
    """Walk all parameters below ``root`` as (path, value, unit, meaning)."""
    for name, child in children(root):
        path = f"{prefix}{name}"
        metadata = _metadata(root, name)
        if metadata is not None:
            yield path, child, metadata["unit"], metadata["doc"]
        elif dataclasses.is_dataclass(child) or isinstance(child, Mapping | tuple):
            yield from describe(child, f"{path}.")


def value_text(value: Any) -> str:
    """A value as ``--set`` takes it."""
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, list | tuple | np.ndarray):
        return ",".join(f"{number:g}" for number in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def declared(root: object, path: str) -> Mapping[str, Any]:
    """Unit, meaning, range and choices of the parameter at ``path``."""
    owners, name = _find(root, path)
    metadata = _metadata(owners[0], name)
    assert metadata is not None  # _find looked
    return metadata


def _set(changes: list[tuple[object, str, object]]) -> None:
    for owner, name, value in changes:
        setattr(owner, name, value)


def _refresh(changed: list[tuple[object, str, object]]) -> None:
    """Let each part that was changed derive its other numbers, once."""
    for owner in {id(owner): owner for owner, _, _ in changed}.values():
        if hasattr(owner, "refresh"):
            owner.refresh()


def children(root: object) -> list[tuple[str, Any]]:
    """What is directly below a part or a mapping, by name; a tuple counts as its first."""
    if isinstance(root, tuple):
        return children(root[0]) if root else []
    if isinstance(root, Mapping):
        return list(root.items())
    if dataclasses.is_dataclass(root):
        return [(f.name, getattr(root, f.name)) for f in dataclasses.fields(root)]
    return []


def _metadata(owner: object, name: str) -> Mapping[str, Any] | None:
    if isinstance(owner, tuple):
        return _metadata(owner[0], name)
    if not dataclasses.is_dataclass(owner):
        return None
    return next(
        (f.metadata for f in dataclasses.fields(owner) if f.name == name and "unit" in f.metadata),
        None,
    )


def _current(owner: object, name: str) -> Any:
    """The value of a parameter; one annotated as float is a float, even if set to 1."""
    value = getattr(owner, name)
    if type(value) is not int or not dataclasses.is_dataclass(owner):
        return value
    kind = next(f.type for f in dataclasses.fields(owner) if f.name == name)
    return float(value) if kind in (float, "float") else value


def _find(root: object, path: str) -> tuple[list[object], str]:
    """Owners and field name of the parameter at ``path``; the error lists every path there is."""
    *parents, name = path.split(".")
    owners: list[object] = [root]
    for parent in parents:
        found = [dict(children(owner)).get(parent) for owner in owners]
        owners = [part for item in found for part in (item if isinstance(item, tuple) else (item,))]
        if not any(part is not None for part in owners):
            break
    if not owners or any(_metadata(owner, name) is None for owner in owners):
        raise UnknownName("parameter", path, [p for p, *_ in describe(root)])
    return owners, name


def _checked(path: str, value: object, current: Any, metadata: Mapping[str, Any]) -> object:
    """``value`` converted to the type of ``current`` and found inside its range."""
    if isinstance(current, str):
        if metadata["choices"] and value not in metadata["choices"]:
            raise UnknownName(path, shortened(value), metadata["choices"])
        return str(value)
    if isinstance(current, bool):
        return _boolean(path, value)
    numbers = _numbers(path, value, 1 if np.isscalar(current) else np.size(current))
    low, high = metadata["low"], metadata["high"]
    for number in numbers:
        if not low <= number <= high:
            raise OutOfRange(path, f"{number:g}", low, high, metadata["unit"])
    if not np.isscalar(current):
        return np.array(numbers).reshape(np.shape(current))
    if isinstance(current, int) and not numbers[0].is_integer():
        raise BadValue(f"{path} = {value} must be a whole number")
    return int(numbers[0]) if isinstance(current, int) else numbers[0]


def _boolean(path: str, value: object) -> bool:
    words = {
        "true": True,
        "false": False,
        "1": True,
        "0": False,
        "on": True,
        "off": False,
        "yes": True,
        "no": False,
    }
    word = str(value).lower()
    if word not in words:
        raise BadValue(f"{path} = {shortened(value)} must be true or false")
    return words[word]


def one_or(size: int) -> str:
    """How many numbers fill ``size`` places, in words: as many, or one for all."""
    return "1 number" if size == 1 else f"1 or {size} numbers"


def _numbers(path: str, value: Any, size: int) -> list[float]:
    """``value`` as ``size`` finite floats; one number fills them all."""
    try:
        parts = (
            value.replace(";", ",").split(",")
            if isinstance(value, str)
            else np.ravel(value).tolist()
        )
        numbers = [float(part) for part in parts]
    except (TypeError, ValueError, OverflowError):
        numbers_wanted = "a number" if size == 1 else f"{size} numbers"
        raise BadValue(f"{path} = {shortened(value)} is not {numbers_wanted}") from None
    if len(numbers) == 1:
        numbers = numbers * size
    if len(numbers) != size:
        raise BadValue(f"{path} takes {one_or(size)}, got {len(numbers)}")
    if not all(math.isfinite(number) for number in numbers):
        raise BadValue(f"{path} = {shortened(value)} must be finite")
    return numbers

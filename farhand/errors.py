"""Errors Farhand raises on purpose: one line with the value, the limit and what would be right."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MOST_LISTED = 20
"""How many alternatives a message lists; of more, the closest."""

MOST_COMPARED = 5
"""How many of them a guess is taken from."""

MOST_SHOWN = 200
"""Letters of a value that a message repeats."""


class FarhandError(Exception):
    """Base of all errors a user can cause or should read: one line, exit code 2."""

    def __reduce__(self) -> tuple[object, ...]:
        """Cross a process boundary as class, message and fields, whatever the constructor takes."""
        return _restore, (type(self), str(self), self.__dict__)


def _restore(kind: type[FarhandError], message: str, fields: dict[str, object]) -> FarhandError:
    error = kind.__new__(kind, message)
    error.args = (message,)
    error.__dict__.update(fields)
    return error


class UnknownName(FarhandError):
    """A rig, robot, law or parameter that does not exist; the message lists those that do.

    Args:
        kind: what was looked up, such as ``"law"``; also an attribute.
        name: the name that does not exist; also an attribute.
        available: the names that do.
    """

    def __init__(self, kind: str, name: str, available: Iterable[str]) -> None:
        self.kind = kind
        self.name = name
        name = shortened(name)
        choices = sorted(available)
        # A tick may have to say this: difflib would take ten milliseconds for a hundred names
        closest = _by_likeness(name, choices)[:MOST_LISTED]
        near = difflib.get_close_matches(name, closest[:MOST_COMPARED], n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        if len(choices) > MOST_LISTED:
            choices = [*sorted(closest), f"and {len(choices) - MOST_LISTED} more"]
        super().__init__(
            f"unknown {kind} {name!r}{hint}; available: {', '.join(choices) or 'none'}"
        )


def _by_likeness(name: str, choices: Iterable[str]) -> list[str]:
    """Names by the share of the pairs of letters that they have in common with one."""
    own = _pairs(name)

    def unlikeness(choice: str) -> float:
        pairs = _pairs(choice)
        return -len(own & pairs) / (len(own) + len(pairs))

    return sorted(choices, key=unlikeness)


def _pairs(name: str) -> set[tuple[str, str]]:
    return set(zip(f" {name}", f"{name} ", strict=True))


def shortened(value: object) -> str:
    """A value in a message, cut where it is too long for one."""
    text = str(value)
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 1]}…"


class OutOfRange(FarhandError):
    """A value outside its limits.

    Args:
        what: name of the value, such as ``"wall.stiffness"``; also an attribute.
        value: the value; also an attribute.
        low: smallest allowed value.
        high: largest allowed value.
        unit: unit of all three.
    """

    def __init__(self, what: str, value: object, low: float, high: float, unit: str = "") -> None:
        self.what = what
        self.value = value
        super().__init__(f"{what} = {value} is outside [{low:g}, {high:g}] {unit}".rstrip())


class BadValue(FarhandError):
    """A value of the wrong type, shape or content: a word for a number, NaN, a wrong shape."""


class ModelError(FarhandError):
    """A robot file that cannot be read or lacks something, such as the ``tool`` site."""


class FileError(FarhandError):
    """A file or folder that cannot be read or written."""


class Mismatch(FarhandError):
    """Two parts that do not fit together, such as a law without the measurement it needs."""


class LinkError(FarhandError):
    """A packet that is malformed, from another model, or from another version."""


def describe_error(error: Exception) -> str:
    """An error on one line, with its class."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")

"""Every error Farhand raises on purpose: one line that names the value, the limit and the valid alternatives."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MOST_LISTED = 20
"""How many alternatives a message lists; of more, the closest."""


class FarhandError(Exception):
    """Base of all errors a user can cause or should read. The command line prints it on one line and exits with 2."""

    def __reduce__(self) -> tuple[object, ...]:
        """Travel between processes as its kind and its line, whatever it was made from."""
        return _told, (type(self), str(self))


def _told(kind: type[FarhandError], line: str) -> FarhandError:
    error = kind.__new__(kind, line)
    error.args = (line,)
    return error


class UnknownName(FarhandError):
    """A rig, robot, law, experiment or parameter that does not exist; the message lists those that do.

    Args:
        kind: what was asked for, such as ``"law"``.
        name: the name that was not found.
        available: the names that would have been right.
    """

    def __init__(self, kind: str, name: str, available: Iterable[str]) -> None:
        choices = sorted(available)
        near = difflib.get_close_matches(name, choices, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        if len(choices) > MOST_LISTED:
            closest = difflib.get_close_matches(name, choices, n=MOST_LISTED, cutoff=0.0)
            choices = [*sorted(closest), f"and {len(choices) - MOST_LISTED} more"]
        super().__init__(
            f"unknown {kind} {name!r}{hint}; available: {', '.join(choices) or 'none'}"
        )


class OutOfRange(FarhandError):
    """A value outside its limits.

    Args:
        what: name of the value, such as ``"wall.stiffness"``.
        value: what was given.
        low: smallest allowed value.
        high: largest allowed value.
        unit: unit of all three.
    """

    def __init__(self, what: str, value: object, low: float, high: float, unit: str = "") -> None:
        super().__init__(f"{what} = {value} is outside [{low:g}, {high:g}] {unit}".rstrip())


class BadValue(FarhandError):
    """A value of the wrong type, shape or content (a word where a number belongs, NaN, a matrix of the wrong size)."""


class ModelError(FarhandError):
    """A robot file that cannot be read or lacks something Farhand needs, such as the ``tool`` site."""


class FileError(FarhandError):
    """A file or folder that cannot be read or written."""


class Mismatch(FarhandError):
    """Two parts that do not fit together: a law without the measurement it needs, a plant with another command type."""


class LinkError(FarhandError):
    """A packet that is malformed, from another model, or from another version."""

"""Which fields the RTDE interface has, and the values they hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from farhand.plants.ur_sim.packets import TYPES
from farhand.robots.description import load_toml

_RANGE = re.compile(r"(.*)\{(\d+)\.\.(\d+)\}")

_ZEROS: dict[str, object] = {
    "BOOL": False,
    "DOUBLE": 0.0,
    "VECTOR3D": (0.0,) * 3,
    "VECTOR6D": (0.0,) * 6,
}


@cache
def _table() -> dict[str, dict[str, str]]:
    table = load_toml(Path(__file__).with_name("fields.toml"))
    return {side: dict(_spread(table[side])) for side in ("outputs", "inputs")}


def _spread(fields: dict[str, str]) -> Iterator[tuple[str, str]]:
    for name, kind in fields.items():
        found = _RANGE.fullmatch(name)
        if found is None:
            yield name, kind
            continue
        stem, first, last = found.groups()
        for number in range(int(first), int(last) + 1):
            yield f"{stem}{number}", kind


def outputs() -> dict[str, str]:
    """Type of every field the controller can send."""
    return _table()["outputs"]


def inputs() -> dict[str, str]:
    """Type of every field a client can set."""
    return _table()["inputs"]


def zero(kind: str) -> object:
    """The value of a field of that type before anybody has set it."""
    if kind in _ZEROS:
        return _ZEROS[kind]
    return (0,) * 6 if TYPES[kind].startswith("6") else 0

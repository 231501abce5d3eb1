"""Isolation: what the arms of a rig could tell each other, found by walking all they can reach."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np
from numpy.lib.array_utils import byte_bounds

from farhand.loop.telemetry import Stream, Telemetry
from farhand.rigs import Rig
from farhand.rigs.cooperative.jobs import Job
from farhand.world.world import Port, World

IMMUTABLE = (
    str,
    bytes,
    int,
    float,
    bool,
    complex,
    type(None),
    type,
    types.ModuleType,
    types.BuiltinFunctionType,
    frozenset,
    memoryview,
)
"""Values, not places where one could leave a message; a generator of a class's code is one of
them."""

BORDERS = (World, Port, Telemetry, Stream, mujoco.MjModel, mujoco.MjData, mujoco.MjSpec)
"""Where the walk ends: the physics, and what is only written to."""


def shared_between(rig: Rig) -> tuple[set[str], int]:
    """Mutable objects that two arms both reach, by type and name, and how many objects were looked at.

    A station's plant may know its own port of the world and nobody else's; that is looked at apart.
    """
    reached: list[dict[int, Any]] = []
    for station in rig.session.stations:
        bound = [getattr(part.run, "__self__", None) for part in rig.session.parts]
        reached.append(
            _walk([station, *(x for x in bound if isinstance(x, Job) and x.arm.station is station)])
        )
    common: set[str] = set()
    for number, first in enumerate(reached):
        for second in reached[number + 1 :]:
            common |= {
                f"{type(first[key]).__name__} {first[key]!r:.60}"
                for key in first.keys() & second.keys()
            }
    common |= set(_overlaps(reached))
    common |= {
        f"{s.name} has the port of another arm"
        for s, seen in zip(rig.session.stations, reached, strict=True)
        if _foreign(rig, s.name, seen)
    }
    return common, sum(len(seen) for seen in reached)


def _foreign(rig: Rig, name: str, seen: dict[int, Any]) -> bool:
    ports = rig.world.ports
    return any(value.__dict__.get("port") is ports[other] for value in seen.values() if hasattr(value, "__dict__")
               for other in ports if other != name)  # fmt: skip


def _overlaps(reached: list[dict[int, Any]]) -> Iterator[str]:
    """Arrays of two arms that lie on the same bytes."""
    spans = []
    for number, seen in enumerate(reached):
        arrays = [value for value in seen.values() if isinstance(value, np.ndarray)]
        spans += [(*byte_bounds(array), number) for array in arrays]
    end, owner = 0, -1
    for low, high, number in sorted(spans):
        if low < end and number != owner:
            yield f"an array of arms {owner} and {number}"
        if high > end:
            end, owner = high, number


def _walk(roots: list[Any]) -> dict[int, Any]:
    """Every mutable object that can be reached, by identity."""
    found: dict[int, Any] = {}
    todo = list(roots)
    while todo:
        item = todo.pop()
        if isinstance(item, IMMUTABLE) or isinstance(item, BORDERS) or id(item) in found:
            continue
        if not _constant(item):
            found[id(item)] = item
        todo.extend(_parts(item))
    return found


def _constant(item: Any) -> bool:
    """Whether nothing can be written into it: code, read-only arrays, empty or immutable tuples, dtypes."""
    if isinstance(item, np.ndarray):
        return not item.flags.writeable or item.size == 0
    plain = (types.FunctionType, types.MethodType, types.CodeType, tuple, np.dtype, np.generic)
    return isinstance(item, plain) or type(item).__module__ in ("pathlib", "functools")


def _parts(item: Any) -> Iterator[Any]:
    if isinstance(item, dict):
        yield from item.values()
    elif isinstance(item, list | tuple | set):
        yield from item
    elif isinstance(item, types.MethodType):
        yield item.__self__
    elif isinstance(item, types.FunctionType):
        for cell in item.__closure__ or ():
            try:
                yield cell.cell_contents
            except ValueError:
                continue
    elif isinstance(item, np.ndarray):
        if item.base is not None:
            yield item.base
    else:
        yield from getattr(item, "__dict__", {}).values()
        for name in getattr(type(item), "__slots__", ()):
            if hasattr(item, name):
                yield getattr(item, name)

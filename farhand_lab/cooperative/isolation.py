"""Isolation: mutable objects that two arms of a rig share, found by walking all references."""

from __future__ import annotations

import itertools
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
    *(str, bytes, int, float, bool, complex, frozenset, memoryview, type(None), type),
    *(types.ModuleType, types.BuiltinFunctionType),
)
"""Values that cannot carry a message."""

BORDERS = (World, Port, Telemetry, Stream, mujoco.MjModel, mujoco.MjData, mujoco.MjSpec)
"""Where the walk ends: the physics, and outputs that arms only write."""


def jobs_of(rig: Rig) -> list[Job]:
    """The jobs of the arms: their steps are parts of the session."""
    owners = [getattr(part.step, "__self__", None) for part in rig.session.parts]
    return [owner for owner in owners if isinstance(owner, Job)]


def shared_between(rig: Rig) -> tuple[set[str], int]:
    """Names of mutable objects that two arms both reach, and the number of objects checked.

    The walk ends at the world, so the port of another arm counts too.
    """
    stations = rig.session.stations
    reached = [_walk([s, *(job for job in jobs_of(rig) if job.arm.station is s)]) for s in stations]
    common = set(_overlaps(reached))
    for first, second in itertools.combinations(reached, 2):
        both = [first[key] for key in first.keys() & second.keys()]
        common |= {f"{type(item).__name__} {item!r:.60}" for item in both}
    for station, items in zip(stations, reached, strict=True):
        foreign = [port for name, port in rig.world.ports.items() if name != station.name]
        ports = [getattr(item, "__dict__", {}).get("port") for item in items.values()]
        if any(port is other for port in ports for other in foreign):
            common.add(f"{station.name} has the port of another arm")
    return common, sum(len(items) for items in reached)


def _overlaps(reached: list[dict[int, Any]]) -> Iterator[str]:
    """Arrays of two arms that lie on the same bytes."""
    spans = []
    for number, items in enumerate(reached):
        arrays = [item for item in items.values() if isinstance(item, np.ndarray)]
        spans += [(*byte_bounds(array), number) for array in arrays]
    end, owner = 0, -1
    for low, high, number in sorted(spans):
        if low < end and number != owner:
            yield f"an array of arms {owner} and {number}"
        if high > end:
            end, owner = high, number


def _walk(roots: list[Any]) -> dict[int, Any]:
    """Every mutable object that can be reached, by identity."""
    reached: dict[int, Any] = {}
    todo = list(roots)
    while todo:
        item = todo.pop()
        if isinstance(item, IMMUTABLE) or isinstance(item, BORDERS) or id(item) in reached:
            continue
        if not _constant(item):
            reached[id(item)] = item
        todo.extend(_parts(item))
    return reached


def _constant(item: Any) -> bool:
    """Whether nothing can be written into it: code, tuples, dtypes, read-only arrays."""
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

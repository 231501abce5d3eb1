"""The signals of a recording as flat columns whose names carry the unit, for tables."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from farhand.recording.loader import StreamData

Array = np.ndarray


def component_units(unit: str, size: int) -> list[str]:
    """The unit of every number of a channel.

    With ``"N, N·m"`` each wrench has three numbers of the first unit, then three of the second; a
    pose of position and quaternion (``"m, -"``) has three and four. Three units of 36 numbers are
    the blocks of a covariance. ``"m ×2, rad ×6"`` gives the counts. Otherwise all units have
    equally many numbers.
    """
    if unit.startswith("index of"):
        return ["index"] * size
    parts = unit.split(", ")
    if "×" in unit:
        counted = [part.partition(" ×") for part in parts]
        counts = [int(count) if count.isdecimal() else 1 for _, _, count in counted]
        if sum(counts) != size:
            return [unit] * size
        names = [name for name, _, _ in counted]
        return [name for name, count in zip(names, counts, strict=True) for _ in range(count)]
    if len(parts) == 2 and size % 6 == 0:
        return ([parts[0]] * 3 + [parts[1]] * 3) * (size // 6)
    if len(parts) == 2 and size == 7:
        return [parts[0]] * 3 + [parts[1]] * 4
    if len(parts) == 3 and size == 36:
        force, mixed, torque = ([part] * 3 for part in parts)
        return (force + mixed) * 3 + (mixed + torque) * 3
    if len(parts) == 1 or size % len(parts):
        return [unit] * size
    return [part for part in parts for _ in range(size // len(parts))]


def component_names(stream: StreamData, channel: str) -> list[str]:
    """Names of a channel's numbers: their labels, or counted from 1."""
    size = stream.channels[channel].shape[1]
    labels = stream.labels[channel] or tuple(str(index + 1) for index in range(size))
    return [channel] if size == 1 else [f"{channel}.{label}" for label in labels]


def columns_of(stream: StreamData) -> Iterator[tuple[str, Array]]:
    """Every number of a stream as (``name [unit]``, values); the two times come first."""
    yield "time [ns]", stream.times_ns
    yield "device_time [ns]", stream.device_ns
    for channel, values in stream.channels.items():
        units = component_units(stream.units[channel], values.shape[1])
        names = component_names(stream, channel)
        for name, unit, column in zip(names, units, values.T, strict=True):
            yield f"{name} [{unit}]", column

"""Columns: the signals of a recording as flat columns whose names carry the unit, for tables."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from farhand.recording.loader import StreamData

Array = np.ndarray


def component_units(unit: str, size: int) -> list[str]:
    """The unit of every number of a channel: of ``"N, N·m"`` the first half has the first, the other the second."""
    parts = unit.split(", ")
    if len(parts) == 1 or size % len(parts) or unit.startswith("index of"):
        return [unit if not unit.startswith("index of") else "index"] * size
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
        for index, (name, unit) in enumerate(zip(component_names(stream, channel), units, strict=True)):
            yield f"{name} [{unit}]", values[:, index]

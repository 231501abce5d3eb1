"""Events that the signals themselves show, found outside the tick."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farhand.loop.telemetry import columns

INDEX = "index of "
"""Units with this start list the words that a number stands for: ``index of free, hold``."""


class Watch:
    """Notices changes of modes and buttons, and couplings that begin or end.

    Args:
        streams: of the telemetry's header.
    """

    def __init__(self, streams: dict[str, Any]) -> None:
        self._watched: dict[str, list[tuple[str, int, list[str]]]] = {}
        self._last: dict[tuple[str, str], float] = {}
        for name, stream in streams.items():
            places = columns(stream)
            watched = self._watched[name] = []
            for channel in (channel for channel in stream["channels"] if channel["size"] == 1):
                key, unit = channel["name"], channel["unit"]
                if unit.startswith(INDEX):
                    words = unit.removeprefix(INDEX).split(", ")
                    watched.append((key, places[key].start, words))
                elif key == "engagement":
                    watched.append((key, places[key].start, []))

    def changes(
        self, stream: str, times: NDArray[np.int64], rows: NDArray[np.float64]
    ) -> Iterator[tuple[int, str, str]]:
        """Changes in new rows of a stream as (time [ns], kind, words)."""
        for name, column, words in self._watched[stream]:
            values = rows[:, column] if words else (rows[:, column] > 0.0).astype(float)
            first = self._last.get((stream, name), values[0] if words else 0.0)
            before = np.concatenate([[first], values[:-1]])
            self._last[stream, name] = values[-1]
            for place in np.flatnonzero(values != before):
                new, old = values[place], before[place]
                if words:
                    text = f"{stream} {name}: {_word(words, old)} to {_word(words, new)}"
                else:
                    text = f"{stream} {'engaged' if new else 'parted'}"
                yield int(times[place]), "mode" if words else "coupling", text


def _word(words: list[str], value: float) -> str:
    whole = np.isfinite(value) and value == int(value) and 0 <= value < len(words)
    return words[int(value)] if whole else f"{value:g}"

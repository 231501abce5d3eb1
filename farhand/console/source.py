"""Source: where the page's numbers come from: the telemetry ring of a run, or a recording at any of its times."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from farhand.recording.loader import Recording

Array = np.ndarray
Record = tuple[int, dict[str, Array]]
Event = tuple[int, str, dict[str, Any] | None]


class Source(Protocol):
    """What a page reads; :class:`farhand.loop.telemetry.Reader` is one."""

    header: dict[str, Any]

    @property
    def closed(self) -> bool:
        """Whether nothing will come after what is there now."""

    def latest(self, stream: str) -> Record | None:
        """The newest record: its time [ns] and its channels by name; ``None`` before the first."""

    def events_with_data(self) -> list[Event]:
        """Events since the last call as (time [ns], text, what it says to programs)."""


class RecordedSource:
    """A recording, seen as if it were happening.

    Args:
        recording: what was recorded.

    Attributes:
        header: its streams.
        start_ns: time of the first record, [ns].
        end_ns: time of the last record, [ns].
        now_ns: where it stands, [ns].
    """

    def __init__(self, recording: Recording) -> None:
        self._streams, self._happened = recording.streams, recording.happened
        self.header: dict[str, Any] = {
            "streams": {name: {"rate": s.rate} for name, s in recording.streams.items()}
        }
        ends = [
            stream.times_ns[[0, -1]]
            for stream in recording.streams.values()
            if stream.times_ns.size
        ]
        self.start_ns = min((int(end[0]) for end in ends), default=0)
        self.end_ns = max((int(end[1]) for end in ends), default=0)
        self.now_ns, self._told = self.start_ns, 0

    @property
    def closed(self) -> bool:
        """Whether it stands at its end."""
        return self.now_ns >= self.end_ns

    def seek(self, t_ns: int) -> None:
        """Go to a time, [ns]; after a step back, all events up to there are told again."""
        if t_ns < self.now_ns:
            self._told = 0
        self.now_ns = min(max(t_ns, self.start_ns), self.end_ns)

    def latest(self, stream: str) -> Record | None:
        """The last record not after the present time."""
        found = self._streams[stream]
        index = int(np.searchsorted(found.times_ns, self.now_ns, side="right")) - 1
        if index < 0:
            return None
        return int(found.times_ns[index]), {
            name: values[index] for name, values in found.channels.items()
        }

    def events_with_data(self) -> list[Event]:
        """Events up to the present time that were not told yet."""
        first = self._told
        while (
            self._told < len(self._happened) and self._happened[self._told].time_ns <= self.now_ns
        ):
            self._told += 1
        return [(e.time_ns, e.text, e.data or None) for e in self._happened[first : self._told]]

"""A recording put back into a telemetry ring at any speed, for any reader of the ring."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from farhand.errors import OutOfRange
from farhand.loop.telemetry import Stream, Telemetry
from farhand.recording.loader import Recording, StreamData

FASTEST = 1e4
SLOWEST = 1e-3
STEP_S = 0.01  # between two looks at the clock


class Playback:
    """A ring that fills as it did when the recording was made, time zero being its first record.

    Args:
        recording: what to play.
        speed: how many times faster than then, [-].

    Attributes:
        telemetry: the ring; :attr:`farhand.loop.telemetry.Telemetry.path` is what readers open.
        now_ns: how far it has got, in the recording's own time, [ns].
        end_ns: time of the last record, [ns].
    """

    def __init__(self, recording: Recording, speed: float = 1.0) -> None:
        if not SLOWEST <= speed <= FASTEST:
            raise OutOfRange("speed", f"{speed:g}", SLOWEST, FASTEST)
        self.telemetry, self._speed = Telemetry(), speed
        streams = recording.streams.items()
        self._tracks = [_Track(self.telemetry.stream(n, s.rate), s) for n, s in streams]
        self._events = list(recording.happened)
        about = {k: v for k, v in recording.metadata.items() if isinstance(v, str | int)}
        self.telemetry.freeze(about)
        ends = [track.times[[0, -1]] for track in self._tracks if track.times.size]
        self.now_ns = min((int(end[0]) for end in ends), default=0)
        self.end_ns = max((int(end[1]) for end in ends), default=0)

    def run(self, between: Callable[[], bool] | None = None) -> None:
        """Play to the end, or until ``between``, called about every 10 ms, returns True."""
        origin_ns, began = self.now_ns, time.monotonic()
        while self.now_ns <= self.end_ns:
            self.play_to(origin_ns + round((time.monotonic() - began) * 1e9 * self._speed))
            if between is not None and between():
                return
            if self.now_ns <= self.end_ns:
                time.sleep(STEP_S)

    def play_to(self, t_ns: int) -> None:
        """Publish everything up to a time of the recording, [ns]."""
        for track in self._tracks:
            track.play_to(t_ns)
        while self._events and self._events[0].time_ns <= t_ns:
            event = self._events.pop(0)
            self.telemetry.event(event.time_ns, event.text, event.data or None)
        self.now_ns = max(self.now_ns, t_ns + 1)

    def close(self) -> None:
        """Give the ring back."""
        self.telemetry.close()


class _Track:
    """One stream on its way back into the ring."""

    def __init__(self, stream: Stream, data: StreamData) -> None:
        self._stream, self.times, self._next = stream, data.times_ns, 0
        self._places = [
            (stream.channel(name, values.shape[1], data.units[name], data.labels[name]), values)
            for name, values in data.channels.items()
        ]

    def play_to(self, t_ns: int) -> None:
        end = int(np.searchsorted(self.times, t_ns, side="right"))
        for index in range(self._next, end):
            for place, values in self._places:
                place[:] = values[index]
            self._stream.commit(int(self.times[index]))
        self._next = max(self._next, end)

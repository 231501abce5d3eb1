"""What shakes now, from the last seconds of a session's telemetry."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

import numpy as np

from farhand.analysis.oscillation import IntendedMotion, oscillation
from farhand.console.prediction import Prediction
from farhand.console.scene import ShakingScene
from farhand.loop.telemetry import Reader

Array = np.ndarray

PERIOD_S = 1.0
"""Between two judgements."""

FAST_S, SLOW_S = 3.0, 6.2
"""How far back it looks for shaking that no hand could mean, and for slower shaking."""

FRESH_S = 0.6
"""How long ago shaking may have ended to be called present."""

FAST_HZ, SLOW_HZ = 500.0, 100.0
"""Records per second that are enough for that; judging more takes too long."""

CHANNELS = ("error", "wrench_measured_in_world", "position_tool_in_world")


@dataclass
class Recent:
    """The last seconds of some streams, as :func:`farhand.analysis.oscillation.oscillation` reads.

    Attributes:
        at: times of the records by stream, [s].
        rows: values by stream and channel.
    """

    at: dict[str, Array] = field(default_factory=dict)
    rows: dict[tuple[str, str], Array] = field(default_factory=dict)

    def add(self, reader: Reader, stream: str) -> None:
        """Take what is new of a stream, and drop what is older than :data:`SLOW_S`."""
        times, rows, _ = reader.drain(stream)
        at = np.concatenate([self.at.get(stream, np.empty(0)), 1e-9 * times])
        first = np.searchsorted(at, at[-1] - SLOW_S) if len(at) else 0
        self.at[stream] = at[first:]
        columns = reader.columns(stream)
        for channel in CHANNELS:
            if channel in columns:
                new = rows[:, columns[channel]]
                kept = self.rows.get((stream, channel), new[:0])
                self.rows[stream, channel] = np.concatenate([kept, new])[first:]

    def last(self, seconds: float, rate: float) -> Recent:
        """The last ``seconds`` of it, at about ``rate`` [Hz] or fewer records."""
        part = dict[str, slice]()
        for name, at in self.at.items():
            step = max(1, round(1.0 / (rate * np.median(np.diff(at))))) if len(at) > 1 else 1
            part[name] = slice(np.searchsorted(at, at[-1] - seconds), None, step)
        thinned = {name: at[part[name]] for name, at in self.at.items()}
        return Recent(thinned, {key: rows[part[key[0]]] for key, rows in self.rows.items()})

    @property
    def filled(self) -> bool:
        """Whether every stream has records."""
        return all(len(at) for at in self.at.values())

    def times(self, stream: str) -> Array:
        """Times of the records of a stream, [s]."""
        return self.at[stream]

    def signal(self, stream: str, channel: str) -> Array:
        """Values of a channel, one row per record."""
        return self.rows[stream, channel]


class Shaking:
    """Says what shakes now, by the rule by which ``farhand run`` says it after a run.

    Shaking slower than about 1.3 Hz is reported only if :attr:`Prediction.motion` knows what the
    hand means to do, and after six seconds of it.

    Args:
        reader: of the session's ring, for this alone.
        about: from the scene; None if nothing can shake.
        prediction: of the same session.
    """

    def __init__(
        self, reader: Reader, about: ShakingScene | None, prediction: Prediction | None = None
    ) -> None:
        self._reader, self._about, self._prediction = reader, about, prediction
        self._recent, self._judged_s = Recent(), time.monotonic()
        self._drags: list[tuple[float, Array]] = []
        self._text = ""
        self._judging: threading.Thread | None = None

    def look(self) -> str:
        """What shakes now, with size and frequency; empty if nothing does.

        Call it several times a second: that takes a millisecond. It is judged once a second, in
        another thread.
        """
        about = self._about
        if about is None:
            return ""
        for stream in ("coupling", "leader", "follower"):
            self._recent.add(self._reader, stream)
        self._note_drags()
        now_s = time.monotonic()
        ready = self._judging is None or not self._judging.is_alive()
        if ready and now_s - self._judged_s >= PERIOD_S and self._recent.filled:
            self._judged_s = now_s
            fast = self._recent.last(FAST_S, FAST_HZ)
            slow = self._recent.last(SLOW_S, SLOW_HZ)
            arguments = (about, fast, slow, self._intended())
            self._judging = threading.Thread(target=self._judge, args=arguments, daemon=True)
            self._judging.start()
        return self._text

    def settle(self) -> str:
        """Wait for the present judgement; what it says."""
        if self._judging is not None:
            self._judging.join()
        return self._text

    def _judge(
        self, about: ShakingScene, fast: Recent, slow: Recent, intended: IntendedMotion | None
    ) -> None:
        contact, driven, joints = about["contact"], about["driven"], about["joints"]
        hit = oscillation(fast, contact, joints=joints)
        if hit is None and intended is not None:
            hit = oscillation(slow, contact, intended, driven, joints)
        # A recent window may hold shaking that is over
        over = hit is None or hit.end < fast.at["coupling"][-1] - FRESH_S
        if hit is None or over or (hit.signal == "tracking error" and about["open_loop"]):
            self._text = ""
            return
        self._text = f"it shakes: {str(hit).partition(' from ')[0]}"

    def _note_drags(self) -> None:
        """Keep where visitors have dragged the hand to, as long as it matters."""
        for t_ns, _, data in self._reader.events_with_data():
            about = data or {}
            if about.get("path") == "hand.drag" and about.get("done"):
                self._drags.append((1e-9 * t_ns, np.array(about["value"], dtype=float)))
        while len(self._drags) > 1 and self._drags[1][0] < self._drags[-1][0] - 2.0 * SLOW_S:
            del self._drags[0]

    def _intended(self) -> IntendedMotion | None:
        """Motion of the hand as the scenario and the visitors mean it."""
        scripted = None if self._prediction is None else self._prediction.motion
        if scripted is None or not self._drags:
            return scripted
        when = np.array([at for at, _ in self._drags])
        where = np.array([np.zeros(3), *(drag for _, drag in self._drags)])

        def motion(times: Array) -> Array:
            return scripted(times) + where[np.searchsorted(when, times, side="right")]

        return motion

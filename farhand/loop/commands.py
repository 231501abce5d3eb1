"""Commands: the only way in while a session runs. Applied at a tick boundary, and logged with the tick number."""

from __future__ import annotations

import heapq
import itertools
import math
from collections import deque
from dataclasses import dataclass, field
from numbers import Real

from farhand.errors import BadValue, UnknownName

NAMES = ("engage", "release", "clutch", "declutch", "stop", "reset", "set")
"""What can be asked: couple, part, part to re-position and couple again, stop all, clear trips, set
a parameter."""

MOST_LOGGED = 10_000
"""Commands kept in the log; at twice as many the older half is forgotten. Telemetry and recordings
have them all."""


@dataclass(frozen=True)
class Request:
    """One command.

    Attributes:
        name: one of :data:`NAMES`.
        path: parameter path, for ``set``.
        value: parameter value or its text, for ``set``.
    """

    name: str
    path: str = ""
    value: object = None

    def __str__(self) -> str:
        return f"{self.name} {self.path}={self.value}" if self.name == "set" else self.name


@dataclass
class Logged:
    """A command that was applied: when, and what came of it."""

    tick: int
    time_ns: int
    request: Request
    outcome: str = "done"


@dataclass
class Commands:
    """A queue any thread may post to; the session takes from it at tick boundaries.

    Attributes:
        log: the commands applied so far, in order, at least the last :data:`MOST_LOGGED`.
        forgotten: how many came before those.
    """

    log: list[Logged] = field(default_factory=list)
    forgotten: int = 0

    def __post_init__(self) -> None:
        """Start empty."""
        self._now: deque[Request] = deque()
        self._later: list[tuple[int, int, Request]] = []
        self._count = itertools.count()

    def post(
        self, name: str, path: str = "", value: object = None, at_ns: int | None = None
    ) -> None:
        """Ask for a command at the next tick boundary, or at the first one from ``at_ns`` on, [ns]."""
        if name not in NAMES:
            raise UnknownName("command", name, NAMES)
        if not isinstance(path, str):
            raise BadValue(
                f"the path of a parameter is a text, such as 'wall.stiffness', not {path!r}"
            )
        if at_ns is not None and not (isinstance(at_ns, Real) and abs(at_ns) < math.inf):
            raise BadValue(f"at_ns = {at_ns!r} is not a time in nanoseconds")
        request = Request(name, path, value)
        if at_ns is None:
            self._now.append(request)
        else:
            heapq.heappush(self._later, (at_ns, next(self._count), request))

    def note(self, logged: Logged) -> None:
        """Keep what came of a command."""
        if len(self.log) >= 2 * MOST_LOGGED:
            del self.log[:MOST_LOGGED]
            self.forgotten += MOST_LOGGED
        self.log.append(logged)

    def clear(self) -> None:
        """Forget what has been asked for and is not yet due."""
        self._now.clear()
        self._later.clear()

    def post_text(self, text: str) -> None:
        """Ask for a command written as ``SECONDS:NAME`` or ``SECONDS:set PATH=VALUE``, such as ``"7:engage"``."""
        when, colon, what = text.partition(":")
        name, _, rest = what.strip().partition(" ")
        path, _, value = rest.partition("=")
        try:
            at_ns = round(float(when if colon else "") * 1e9)
        except (ValueError, OverflowError):
            raise BadValue(
                f"command {text!r} is not of the form SECONDS:NAME, such as 7:engage or '3:set wall.stiffness=800'"
            ) from None
        self.post(name, path.strip(), value.strip(), at_ns)

    def due(self, now_ns: int) -> list[Request]:
        """Take everything that is due."""
        if not self._now and not (self._later and self._later[0][0] <= now_ns):
            return _NOTHING
        requests = [
            heapq.heappop(self._later)[2]
            for _ in range(len(self._later))
            if self._later[0][0] <= now_ns
        ]
        while self._now:
            requests.append(self._now.popleft())
        return requests


_NOTHING: list[Request] = []

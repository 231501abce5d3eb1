"""Commands: the only way in while a session runs, applied at tick boundaries and logged."""

from __future__ import annotations

import heapq
import itertools
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real

from farhand.errors import BadValue, UnknownName

NAMES = ("engage", "release", "clutch", "declutch", "give", "take", "stop", "reset", "set")
"""Couple, part, part to re-position and couple again, give the followers to a program and take them
back, stop all, clear trips, set a parameter."""

MOST_LOGGED = 10_000
"""Commands kept in the log; at twice as many the older half is dropped."""


@dataclass(frozen=True)
class Request:
    """One command."""

    name: str  #: one of :data:`NAMES`
    path: str = ""  #: parameter path, for ``set``
    value: object = None  #: parameter value or its text, for ``set``
    #: whether it was asked for when it was due, and not planned before
    live: bool = field(default=True, compare=False)

    def __str__(self) -> str:
        return f"{self.name} {self.path}={self.value}" if self.name == "set" else self.name


@dataclass(frozen=True)
class Outcome:
    """What came of a command."""

    done: bool = True  #: whether it was carried out; a refused command changes nothing
    text: str = "done"  #: what was done, or the reason of the refusal

    @classmethod
    def refused(cls, reason: str) -> Outcome:
        """Nothing was changed, for this reason."""
        return cls(False, reason)

    def __str__(self) -> str:
        return self.text if self.done else f"refused: {self.text}"


DONE = Outcome()


@dataclass
class Logged:
    """A command that was applied: when, and what came of it."""

    tick: int
    time_ns: int
    request: Request
    outcome: Outcome = DONE


@dataclass
class Commands:
    """A queue any thread may post to; the session takes from it at tick boundaries."""

    #: the commands applied so far, in order, at least the last :data:`MOST_LOGGED`
    log: list[Logged] = field(default_factory=list)
    forgotten: int = 0  #: how many came before those
    #: called in every tick before commands are applied, such as a socket's; it must not wait
    source: Callable[[int], None] | None = None

    def __post_init__(self) -> None:
        """Start empty."""
        self._now: deque[Request] = deque()
        self._later: list[tuple[int, int, Request]] = []
        self._count = itertools.count()

    def post(
        self, name: str, path: str = "", value: object = None, at_ns: int | None = None
    ) -> Request:
        """Post a command for the next tick boundary, or the first one from ``at_ns`` [ns] on.

        What is returned is :attr:`Logged.request` of its entry in the log.
        """
        if name not in NAMES:
            raise UnknownName("command", name, NAMES)
        if not isinstance(path, str):
            raise BadValue(
                f"the path of a parameter is a text, such as 'wall.stiffness', not {path!r}"
            )
        if at_ns is not None and not (isinstance(at_ns, Real) and abs(at_ns) < math.inf):
            raise BadValue(f"at_ns = {at_ns!r} is not a time in nanoseconds")
        request = Request(name, path, value, live=at_ns is None)
        if at_ns is None:
            self._now.append(request)
        else:
            heapq.heappush(self._later, (at_ns, next(self._count), request))
        return request

    def note(self, logged: Logged) -> None:
        """Keep what came of a command."""
        if len(self.log) >= 2 * MOST_LOGGED:
            del self.log[:MOST_LOGGED]
            self.forgotten += MOST_LOGGED
        self.log.append(logged)

    def clear(self) -> None:
        """Drop every command that is not yet due."""
        self._now.clear()
        self._later.clear()

    def post_text(self, text: str) -> None:
        """Post a command written as ``SECONDS:NAME`` or ``SECONDS:set PATH=VALUE``."""
        when, colon, what = text.partition(":")
        name, _, rest = what.strip().partition(" ")
        path, _, value = rest.partition("=")
        try:
            at_ns = round(float(when if colon else "") * 1e9)
        except (ValueError, OverflowError):
            form = "SECONDS:NAME, such as 7:engage or '3:set wall.stiffness=800'"
            raise BadValue(f"command {text!r} is not of the form {form}") from None
        self.post(name, path.strip(), value.strip(), at_ns)

    def due(self, now_ns: int) -> list[Request]:
        """Take everything that is due."""
        if self.source is not None:
            self.source(now_ns)
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

"""The page's own line to its visitors: stop, keys, who drives, what happens, and the plots."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import json
import math
import secrets
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
from websockets.asyncio.server import ServerConnection, broadcast
from websockets.exceptions import ConnectionClosed

from farhand.console.source import Source

HEARTBEAT_S = 0.5  # between two messages when nothing changes; the browser waits four times as long
MIN_PERIOD_S = 0.1  # between two messages
DIGITS = 5  # of a plotted number
WHEEL_FREE_S = 3.0  # after the driver has left, before the next visitor drives without asking
MAX_SIGNALS = 24  # that one visitor may plot
MAX_LENGTH = 4096  # of what one asks for; deep nesting does not fit in either
MAX_ROWS = 400  # that wait to be sent; a recording that was moved brings ten seconds
MAX_NAME = 24  # letters of a visitor's name
LEAST_ASPECT = 0.1  # width over height of a picture that counts

FOR_ALL = ("hello", "stop", "view", "plot")
"""What a visitor may ask who does not drive."""

WATCHED_MESSAGES = frozenset({"ViewerCameraMessage", "GetRenderResponseMessage"})
"""What viser's client may send for somebody who does not drive: where the camera is."""

VISITOR: contextvars.ContextVar[str] = contextvars.ContextVar("visitor", default="")
"""Whose connection is being served."""

Action = Callable[[str, Any], None]
"""Does what a visitor asks; gets who asks, and what came with it."""


@dataclass
class Visitor:
    """Somebody with the page open, perhaps in several windows."""

    number: str
    may_drive: bool
    name: str = ""
    narrow: bool = False  # whether the panel lies below the picture
    aspect: float = math.inf  # width over height of the picture, [-], once the page has said it
    lines: set[ServerConnection] = field(default_factory=set)
    left: float = 0.0  # when the last line was closed, by the monotonic clock, [s]
    signals: list[str] = field(default_factory=list)  # that are plotted
    run_sent: int = -1  # number of the last run whose particulars were sent


class Live:
    """All visitors, and which of them drives.

    The first visitor who may drive does. Another takes the wheel by asking for it, so two people
    never push the same arm. Anybody may stop.
    """

    def __init__(self) -> None:
        self.actions: dict[str, Action] = {}  #: what visitors may ask for, by name
        self.driver = ""  #: number of the visitor who drives; empty for nobody
        self.visitors: dict[str, Visitor] = {}  #: everybody who was here
        self.clients: dict[int, str] = {}  #: numbers of the visitors behind viser's clients
        self.pictures = Counter[str]()  #: how many windows viser draws in, by visitor's number
        self.arrived = threading.Event()  #: set once somebody has opened the page
        self._lock = threading.RLock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._source: Source | None = None
        self._about, self._run = "{}", -1
        self._sent: tuple[str, str, int] = ("", "", 0)
        self._sent_at = 0.0
        self._rows: deque[tuple[float, dict[str, float]]] = deque(maxlen=MAX_ROWS)

    def drives(self, number: str) -> bool:
        """Whether a visitor may move the arms now."""
        with self._lock:
            visitor = self.visitors.get(number)
            if visitor is None or not visitor.may_drive:
                return False
            holder = self.visitors.get(self.driver)
            gone = holder is None or (
                not holder.lines and time.monotonic() - holder.left > WHEEL_FREE_S
            )
            if gone:
                self.driver = number
            return self.driver == number

    async def serve(self, connection: ServerConnection, number: str, may_drive: bool) -> None:
        """Serve one window of a visitor until it is closed."""
        self._loop = asyncio.get_running_loop()
        with self._lock:
            visitor = self.visitors.setdefault(number, Visitor(number, may_drive))
            visitor.may_drive = may_drive
            visitor.lines.add(connection)
            self.drives(number)
            visitor.run_sent = -1
        self.arrived.set()
        try:
            async for text in connection:
                # What a page of ours would not send is ignored
                with contextlib.suppress(
                    ValueError, TypeError, LookupError, AttributeError, RecursionError
                ):
                    if len(text) < MAX_LENGTH:
                        self._take(visitor, connection, json.loads(text))
        except ConnectionClosed:
            pass
        finally:
            with self._lock:
                visitor.lines.discard(connection)
                visitor.left = time.monotonic()

    def _take(self, visitor: Visitor, connection: ServerConnection, asked: dict[str, Any]) -> None:
        """Do what a visitor asks, if he may."""
        what: str = asked["do"]
        value: Any = asked.get("value")
        if what == "hello":
            visitor.name = str(value.get("name", ""))[:MAX_NAME]
        if what in ("hello", "window"):
            visitor.narrow = bool(value.get("narrow"))
            visitor.aspect = max(LEAST_ASPECT, float(value.get("aspect") or math.inf))
        elif what == "plot":
            visitor.signals = [str(name) for name in value][:MAX_SIGNALS]
        elif what == "drive":
            with self._lock:
                if visitor.may_drive:
                    self.driver = visitor.number
            return
        if what in self.actions and (what in FOR_ALL or self.drives(visitor.number)):
            self.actions[what](visitor.number, value)
            if what == "stop":
                # The page keeps a stop until it hears this
                broadcast((connection,), json.dumps({"stopped": value}))

    def begin(self, source: Source, about: dict[str, Any], actions: dict[str, Action]) -> None:
        """Another run is shown.

        Args:
            source: where plotted signals are read.
            about: its particulars for the browser, sent once to each window.
            actions: what visitors may ask for, by name.
        """
        self._source, self.actions = source, actions
        self._about, self._run = json.dumps(about), self._run + 1
        self._rows.clear()

    def show(self, state: dict[str, Any]) -> None:
        """Tell everybody the state, at once if it is new, else at the next heartbeat."""
        now, text = time.monotonic(), json.dumps(state)
        with self._lock:
            present = [visitor for visitor in self.visitors.values() if visitor.lines]
            holder = self.visitors.get(self.driver)
        news = (text, self.driver, len(present))
        fresh = news != self._sent or any(visitor.run_sent != self._run for visitor in present)
        if now - self._sent_at < (MIN_PERIOD_S if fresh or self._plotting() else HEARTBEAT_S):
            return
        self._sent, self._sent_at = news, now
        wheel: dict[str, Any] = {"driver": holder.name if holder else "", "here": len(present)}
        for visitor in present:
            drives = visitor.number == self.driver
            drawn = self.pictures[visitor.number] >= len(visitor.lines)
            you = wheel | {"drives": drives, "may_drive": visitor.may_drive, "drawn": drawn}
            parts = [f'"state":{text}', f'"wheel":{json.dumps(you)}']
            if visitor.run_sent != self._run:
                visitor.run_sent = self._run
                parts.append(f'"about":{self._about}')
            if rows := self._plotted(visitor):
                parts.append(f'"plot":{rows}')
            self._send(visitor, "{" + ",".join(parts) + "}")
        self._rows.clear()

    def _plotting(self) -> bool:
        return any(visitor.signals and visitor.lines for visitor in self.visitors.values())

    def sample(self, t: float, derived: dict[str, float]) -> None:
        """Keep one row for the plots: its time [s], what the page computes, and raw signals."""
        if self._rows and t <= self._rows[-1][0]:
            if t < self._rows[-1][0]:
                self._rows.clear()  # a replay was moved back, or a new session began
            return
        wanted = {name for visitor in self.visitors.values() for name in visitor.signals}
        row = {name: derived[name] for name in wanted & derived.keys()}
        for name in wanted - derived.keys():
            row[name] = self._value(name)
        self._rows.append((t, row))

    def _value(self, name: str) -> float:
        if self._source is None or name.count("/") != 2:
            return math.nan
        stream, channel, index = name.split("/")
        try:
            record = self._source.latest(stream)
            return math.nan if record is None else float(record[1][channel][int(index)])
        except (KeyError, ValueError, IndexError):
            return math.nan

    def _plotted(self, visitor: Visitor) -> str:
        """The rows of one visitor's signals, as JSON; null where there is nothing to plot."""
        if not visitor.signals or not self._rows:
            return ""
        columns = [[_rounded(row.get(name)) for _, row in self._rows] for name in visitor.signals]
        times = [round(t, 3) for t, _ in self._rows]
        return json.dumps({"names": visitor.signals, "t": times, "v": columns})

    def _send(self, visitor: Visitor, text: str) -> None:
        if self._loop is not None and not self._loop.is_closed():
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(broadcast, tuple(visitor.lines), text)


def _rounded(value: float | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    return float(
        np.format_float_positional(value, DIGITS, unique=False, fractional=False, trim="-")
    )


def signals_of(source: Source) -> list[tuple[str, str]]:
    """Every signal of a run: ``stream/channel/index``, and its unit."""
    return [
        (f"{stream}/{channel['name']}/{index}", channel["unit"])
        for stream, about in source.header["streams"].items()
        for channel in about["channels"]
        for index in range(channel["size"])
    ]


def new_number() -> str:
    """The number of a visitor who has none yet."""
    return secrets.token_hex(8)


class Watched:
    """A connection of viser's client that may move the camera, but nothing else.

    Only while its visitor drives does anything else come through.

    Args:
        connection: of the client.
        number: of its visitor.
    """

    def __init__(self, connection: ServerConnection, live: Live, number: str) -> None:
        self._connection, self._live, self._number = connection, live, number

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def recv(self) -> Any:
        """The next message that this visitor may send."""
        while True:
            raw = await self._connection.recv()
            if self._live.drives(self._number) or kind_of(raw) in WATCHED_MESSAGES:
                return raw


def kind_of(raw: Any) -> str:
    """The type of a message from viser's client."""
    try:
        return str(msgspec.msgpack.decode(raw)["type"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return ""

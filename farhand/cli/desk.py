"""Between the ticks of one side: its status line on stderr, and what is typed on stdin."""

from __future__ import annotations

import os
import select
import sys
import time
from typing import Any

from farhand.cli.output import Bar
from farhand.cli.running import Between, Page, Recording
from farhand.errors import FarhandError
from farhand.link.line import Line
from farhand.rigs import Rig

SHOWN = 0.25  # [s], between two status lines on a terminal
SAID = 2.0  # [s], between two where there is none


class Status:
    """One line on how the link does: rewritten in place on a terminal, otherwise now and then and at every change.

    Args:
        rig: one side of it.
        line: to the other side.
    """

    def __init__(self, rig: Rig, line: Line) -> None:
        self._rig, self._line = rig, line
        self._bridge: Any = rig.session.bridges[0]
        self._terminal = sys.stderr.isatty()
        self._before, self._next = "", 0.0

    def show(self) -> None:
        """Write the line if it is due."""
        now, state = time.monotonic(), self.state()
        if now < self._next and state == self._before:
            return
        self._next, self._before = now + (SHOWN if self._terminal else SAID), state
        words = f"{self._rig.options.side}: {state}; {self._bridge.live.words()}"
        refused = self._line.seal.counts.refused
        words += f"; {refused} datagrams refused" if refused else ""
        print(f"\r{words}\x1b[K" if self._terminal else words, end="" if self._terminal else "\n", file=sys.stderr)
        sys.stderr.flush()

    def say(self, words: str) -> None:
        """Write a line that stays; on a terminal it takes the place of the status line, which comes again below."""
        print(f"\r{words}\x1b[K" if self._terminal else words, file=sys.stderr, flush=True)
        self._next = 0.0

    def state(self) -> str:
        """What this side does, in words."""
        end, guard, line = self._bridge.end, self._bridge.end.station.guard, self._line
        if line.refusal is not None:
            return f"refused: {line.refusal}"
        if guard.trip is not None:
            return f"stopped: {guard.trip.reason}"
        if end.endpoint.incoming.leaving:
            return f"the {end.remote.role} has left"
        if end.trip is not None:
            return f"parted: {end.trip.reason.partition(' for ')[0]}"
        if not line.agreed:
            return f"waiting for the {end.remote.role}"
        return "coupled" if end.engagement.gain > 0.0 else "apart"

    def close(self) -> None:
        """Leave the terminal on a new line."""
        if self._terminal:
            print(file=sys.stderr)


class Typed:
    """Commands typed on stdin, a line each; never waits for them."""

    def __init__(self) -> None:
        self._open, self._rest = True, ""
        try:
            self._number = sys.stdin.fileno()
        except (AttributeError, OSError, ValueError):
            self._open = False

    def lines(self) -> list[str]:
        """What was typed since the last call."""
        if not self._open or self._behind():
            return []
        try:
            if not select.select([self._number], [], [], 0.0)[0]:
                return []
            data = os.read(self._number, 4096)
        except (OSError, ValueError):
            data = b""
        if not data:
            self._open = False
            return []
        *lines, self._rest = (self._rest + data.decode(errors="replace")).split("\n")
        return [line.strip() for line in lines if line.strip()]

    def _behind(self) -> bool:
        """Whether this process is in the background of a terminal, where reading would stop it."""
        return os.isatty(self._number) and os.getpgrp() != os.tcgetpgrp(self._number)


class Desk(Between):
    """Called by the session between two ticks: telemetry, page, status line, typed commands and what became of them."""

    def __init__(
        self, rig: Rig, length: float | None, recording: Recording, bar: Bar, page: Page | None, status: Status
    ) -> None:
        super().__init__(rig, length, recording, bar, page)
        self._status, self._typed, self._commands = status, Typed(), rig.session.commands
        self._told = 0  # of the commands carried out so far

    def __call__(self) -> None:
        """Do what is due."""
        super().__call__()
        for text in self._typed.lines():
            self._ask(text)
        self._tell()
        self._status.show()

    def _ask(self, text: str) -> None:
        name, _, rest = text.partition(" ")
        path, _, value = rest.partition("=")
        try:
            self._commands.post(name, path.strip(), value.strip() or None)
        except FarhandError as error:
            self._status.say(f"farhand: {error}")

    def _tell(self) -> None:
        """Say at once which commands were refused, and why."""
        log, first = self._commands.log, self._told - self._commands.forgotten
        for logged in log[max(first, 0) :]:
            if logged.outcome.startswith("refused"):
                self._status.say(f"farhand: {logged.request} was {logged.outcome}")
        self._told = self._commands.forgotten + len(log)

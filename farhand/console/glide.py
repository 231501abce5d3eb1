"""A slider's value on its way to the session: not too often, and not in one jump."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

PERIOD_S = 0.1
"""Between two values that are sent."""

MAX_STEP = 100.0
"""Largest change at once, [ms] of round trip: after a growth of 400 ms in one step, nothing would
arrive for 0.2 s, and the watchdog would part the arms."""


class Glide:
    """Sends a value to where a slider was moved, step by step, in a thread of its own.

    Args:
        send: takes a value.
        value: at the beginning.
    """

    def __init__(self, send: Callable[[float], None], value: float) -> None:
        self._send, self._sent, self._target = send, value, value
        self._lock = threading.Lock()
        self._moving = False

    def move(self, target: float) -> None:
        """Go to another value, from any thread; returns at once."""
        with self._lock:
            self._target = target
            if self._moving or target == self._sent:
                return
            self._moving = True
        threading.Thread(target=self._run, name="farhand-slider", daemon=True).start()

    def settle(self, value: float) -> bool:
        """Take over a value that was set elsewhere; False while this one is still moving."""
        with self._lock:
            if not self._moving:
                self._sent = self._target = value
            return not self._moving

    def stop(self, value: float) -> None:
        """Go no farther, because a value was refused; ``value`` is the true one."""
        with self._lock:
            self._sent = self._target = value

    def _run(self) -> None:
        while True:
            with self._lock:
                step = self._target - self._sent
                if step == 0.0:
                    self._moving = False
                    return
                self._sent += min(MAX_STEP, max(-MAX_STEP, step))
                value = self._sent
            self._send(value)
            time.sleep(PERIOD_S)

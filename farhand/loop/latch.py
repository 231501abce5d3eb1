"""Latch: one flag between two processes; neither can hang on it if the other dies."""

from __future__ import annotations

import time
from multiprocessing.context import BaseContext

POLL_INTERVAL_S = 0.01  # [s], between two looks


class Latch:
    """Set by one process and waited for by another.

    :class:`multiprocessing.Event` serves as long as nobody dies: whoever sets it waits until every
    sleeper has woken, and one that was killed asleep never does. This one is a shared byte that the
    waiting side looks at.

    Args:
        context: of the processes that share it.
    """

    def __init__(self, context: BaseContext) -> None:
        self._set = context.RawValue("b", 0)

    def set(self, word: int = 1) -> None:
        """Let whoever waits go on, with a word to it, 1 to 127."""
        self._set.value = word

    @property
    def word(self) -> int:
        """What it was set to; 0 if it is not."""
        return int(self._set.value)

    def clear(self) -> None:
        """Let whoever comes next wait."""
        self._set.value = 0

    def wait(self, seconds: float) -> bool:
        """Wait until it is set, but at most that long [s]; whether it is."""
        deadline = time.monotonic() + seconds
        while not self._set.value and (left := deadline - time.monotonic()) > 0.0:
            time.sleep(min(left, POLL_INTERVAL_S))
        return bool(self._set.value)

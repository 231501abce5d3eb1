"""Watchdog: silence is allowed up to its limit and not beyond."""

from __future__ import annotations

import pytest

from farhand.errors import OutOfRange
from farhand.parameters import assign
from farhand.safety import Watchdog


def test_silence_up_to_the_limit_is_allowed_and_beyond_it_is_not():
    """To the nanosecond."""
    watchdog = Watchdog(silence=0.2)
    assert not watchdog.has_expired(0)
    assert not watchdog.has_expired(200_000_000)
    assert watchdog.has_expired(200_000_001)


def test_the_limit_can_be_set_while_running():
    """And counts at once."""
    watchdog = Watchdog()
    assign(watchdog, "silence", 1.0)
    assert not watchdog.has_expired(900_000_000)
    with pytest.raises(OutOfRange):
        assign(watchdog, "silence", 0.0)

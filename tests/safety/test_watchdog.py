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


def test_a_map_that_moves_the_target_too_far_or_turns_it_too_far_is_refused_in_words():
    """Either is enough; both limits may be reached."""
    watchdog = Watchdog(jump=0.02, turn=0.1)
    assert watchdog.objection(0.02, 0.1) == ""
    assert "30 mm and 0.05 rad at once (limits 20 mm" in watchdog.objection(0.03, 0.05)
    assert "10 mm and 0.20 rad at once" in watchdog.objection(0.01, 0.2)

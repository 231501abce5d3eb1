"""Start-up: what each argument means, and what runs without which part."""

from __future__ import annotations

from dataclasses import replace

import pytest

from farhand_lab.humanoid.startup import DEFAULT_PORT, MATRIX, Arguments, Hardware, start


@pytest.mark.parametrize(("words", "hardware", "expected"), MATRIX)
def test_what_runs_is_what_the_table_says(words, hardware, expected) -> None:
    """Exit code, kinematics, commanding, haptics and page."""
    assert replace(start(words, lambda port: hardware), messages=()) == expected


def test_a_port_may_be_named_and_errors_are_reported() -> None:
    """Never an exception."""
    assert Arguments.parse([]).port == DEFAULT_PORT
    assert Arguments.parse(["--debug", "/dev/x"]) == Arguments("/dev/x", debug=True)
    assert "--fast" in start(["--fast"], lambda port: Hardware()).messages[0]
    assert start(["/dev/a", "/dev/b"], lambda port: Hardware()).code == 2


def test_a_missing_bus_is_found_by_trying() -> None:
    """A real probe."""
    result = start(["/dev/no-such-bus"])
    assert result.code == 1 and "/dev/no-such-bus" in result.messages[0]

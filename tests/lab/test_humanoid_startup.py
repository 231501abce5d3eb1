"""Start-up: what each argument means, and what runs without which part."""

from __future__ import annotations

import pytest

from farhand_lab.humanoid.startup import DEFAULT_PORT, Arguments, Hardware, start
from farhand_lab.humanoid.structure import MATRIX


@pytest.mark.parametrize(("words", "hardware", "wanted"), MATRIX)
def test_what_runs_is_what_the_table_says(words, hardware, wanted) -> None:
    """Exit code, kinematics, commanding, haptics and page."""
    found = start(words, lambda port: hardware)
    flags = ("code", "kinematics", "commanding", "haptics", "page")
    assert [getattr(found, flag) for flag in flags] == [getattr(wanted, flag) for flag in flags]


def test_a_port_may_be_named_and_nonsense_is_said() -> None:
    """Never an exception."""
    assert Arguments.parse([]).port == DEFAULT_PORT
    assert Arguments.parse(["--debug", "/dev/x"]) == Arguments("/dev/x", debug=True)
    assert "--fast" in start(["--fast"], lambda port: Hardware()).said[0]
    assert start(["/dev/a", "/dev/b"], lambda port: Hardware()).code == 2


def test_a_missing_bus_is_found_by_trying() -> None:
    """A real probe."""
    found = start(["/dev/no-such-bus"])
    assert found.code == 1 and "/dev/no-such-bus" in found.said[0]

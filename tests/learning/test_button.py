"""Teaching button: one press begins, the next one ends."""

from __future__ import annotations

from types import SimpleNamespace

from farhand.learning.demonstration import TeachingButton
from farhand.loop.commands import Commands


def test_a_press_counts_once_however_long_it_lasts():
    """Two presses make a begin and an end, posted as commands so that the recording has them."""
    device, commands = SimpleNamespace(buttons={"toggle": False, "model": True}), Commands()
    button = TeachingButton(device, commands)
    for tick, down in enumerate([False, True, True, True, False, False, True, False]):
        device.buttons["toggle"] = down
        button.step(tick)
    assert [str(request) for request in commands.due(10)] == [
        "set demonstration.active=true",
        "set demonstration.active=false",
    ]

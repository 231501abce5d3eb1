"""The gamepad, from the events of the kernel's joystick interface."""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Iterator

import numpy as np
import pytest

from farhand.errors import FileError
from farhand.plants.drivers import gamepad
from farhand.plants.drivers.gamepad import Gamepad, PadAxes

BUTTON, AXIS, INITIAL = 1, 2, 0x80


def event(kind: int, number: int, value: int) -> bytes:
    return struct.pack("<IhBB", 1234, value, kind, number)


class Pad:
    """A pad behind a pipe in the file system, which reads like the kernel's device."""

    def __init__(self, path: str) -> None:
        os.mkfifo(path)
        self.path = path
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.file = os.open(path, os.O_WRONLY)
        os.close(reader)

    def send(self, *events: bytes) -> None:
        os.write(self.file, b"".join(events))


@pytest.fixture
def pad(tmp_path) -> Iterator[Pad]:
    made = Pad(str(tmp_path / "js0"))
    yield made
    os.close(made.file)


def test_sticks_move_forward_left_and_up(pad):
    """Left stick away from the user and to the left, right stick up."""
    device = Gamepad(pad.path)
    pad.send(event(AXIS, 1, -32767), event(AXIS, 0, -16384), event(AXIS, 4, -32767))
    np.testing.assert_allclose(device.poll(0).axes, [1, 0.5, 1, 0, 0, 0], atol=1e-3)
    device.close()


def test_the_state_at_opening_counts(pad):
    """The kernel tells it in events that are marked so."""
    device = Gamepad(pad.path)
    pad.send(event(AXIS | INITIAL, 1, 32767), event(BUTTON | INITIAL, 4, 1))
    reading = device.poll(0)
    assert reading.axes[0] == -1.0
    assert reading.buttons == {4}


def test_a_stick_held_still_says_nothing_and_stays(pad):
    """Silence is not letting go here; a button is until it is released."""
    device = Gamepad(pad.path)
    pad.send(event(AXIS, 1, -32767), event(BUTTON, 0, 1))
    device.poll(0)
    assert device.poll(10**10).axes[0] == 1.0
    pad.send(event(BUTTON, 0, 0))
    assert device.poll(10**10).buttons == frozenset()


def test_events_cut_in_two_are_put_together(pad):
    """Eight bytes each, in whatever pieces."""
    device = Gamepad(pad.path)
    whole = event(AXIS, 1, -32767)
    pad.send(whole[:5])
    assert device.poll(0).axes[0] == 0.0
    pad.send(whole[5:])
    assert device.poll(0).axes[0] == 1.0


def test_axes_can_be_chosen(pad):
    """For pads that number them differently."""
    device = Gamepad(
        pad.path, PadAxes(numbers=np.array([9.0, 0, 4, 6, 7, 3]), directions=np.ones(6))
    )
    pad.send(event(AXIS, 9, 32767), event(AXIS, 200, 5))
    assert device.poll(0).axes[0] == 1.0


def test_noise_is_survived(pad):
    """Unknown types and numbers are left alone."""
    device, rng = Gamepad(pad.path), random.Random(0)
    pad.send(rng.randbytes(8000))
    assert np.abs(device.poll(0).axes).max() <= 1.0


def test_a_missing_pad_is_one_clear_line(tmp_path, monkeypatch):
    """As is one that may not be opened; the first of several is taken."""
    monkeypatch.setattr(gamepad, "FOLDER", str(tmp_path))
    with pytest.raises(FileError, match="no gamepad found"):
        Gamepad()
    with pytest.raises(FileError, match="cannot open the gamepad .*js7: No such file"):
        Gamepad(str(tmp_path / "js7"))
    made = Pad(str(tmp_path / "js0"))
    Gamepad().close()
    os.close(made.file)


def test_a_pad_that_is_unplugged_fails_to_read(pad):
    """The kernel answers so; the handle turns it into a fault."""
    device = Gamepad(pad.path)
    device.close()
    with pytest.raises(OSError):
        device.poll(0)

"""Gamepad: two sticks and buttons, read from the kernel's joystick interface, ``/dev/input/js*``.

Chosen over other ways because it needs no package: the kernel knows every pad, hands out the same
eight-byte events for all of them, and tells the whole state when it is opened.
"""

from __future__ import annotations

import glob
import os
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from farhand.errors import FileError
from farhand.parameters import parameter
from farhand.plants.drivers.handle import Device, DeviceReading, HandlePlant
from farhand.plants.drivers.rumble import rumble_of

Array = np.ndarray

EVENT = struct.Struct("<IhBB")
"""Time [ms], value, type, number."""

BUTTON, AXIS, INITIAL = 0x01, 0x02, 0x80
FULL = 32767.0
FOLDER = "/dev/input"


@dataclass
class PadAxes:
    """Which of a pad's axes moves what, as numbers from 0; a negative direction reverses it.

    The default is that of the kernel's most common driver: left stick forward and sideways, right
    stick up and about the vertical, the cross for the other two turns.
    """

    numbers: Array = parameter(
        (1.0, 0.0, 4.0, 6.0, 7.0, 3.0), "-", "axes of the pad for the six motions", 0.0, 63.0
    )
    directions: Array = parameter(
        (-1.0, -1.0, -1.0, 1.0, -1.0, -1.0), "-", "their directions", -1.0, 1.0
    )


class Gamepad(Device):
    """A pad.

    A stick that is held still says nothing, so silence means nothing; a pad that is unplugged or
    out of reach takes its device file with it, and reading fails.

    Args:
        path: of the device; the first there is by default.
        axes: which axis does what.

    Raises:
        FileError: no pad, or one that may not be opened.
    """

    name = "the gamepad"

    def __init__(self, path: str | None = None, axes: PadAxes | None = None) -> None:
        self.axes = axes or PadAxes()
        self.parameters = {"pad": self.axes}
        self._values = np.zeros(64)
        self._pressed: set[int] = set()
        path = path or _first()
        self._file, self._rest = _open(path), b""
        self._rumble = rumble_of(path)

    def poll(self, now_ns: int) -> DeviceReading:
        """Take in all events that have come."""
        while data := self._read():
            data = self._rest + data
            whole = len(data) - len(data) % EVENT.size
            self._rest = data[whole:]
            for event in EVENT.iter_unpack(data[:whole]):
                self._take(*event)
        chosen = self._values[self.axes.numbers.astype(int)]
        return DeviceReading(
            np.clip(chosen / FULL * self.axes.directions, -1.0, 1.0), frozenset(self._pressed)
        )

    def feel(self, strength: float, now_ns: int) -> None:
        """Rumble with a share of the full strength, 0 to 1; a pad without motors, or not ours to shake, is still."""
        if self._rumble is None:
            return
        try:
            self._rumble.shake(strength, now_ns)
        except OSError:
            self._rumble.close()
            self._rumble = None

    def close(self) -> None:
        """Let go of the device."""
        if self._rumble is not None:
            self._rumble.close()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _read(self) -> bytes:
        try:
            return os.read(self._file, 64 * EVENT.size)
        except BlockingIOError:
            return b""

    def _take(self, time: int, value: int, kind: int, number: int) -> None:
        kind &= ~INITIAL
        if kind == AXIS and number < len(self._values):
            self._values[number] = value
        elif kind == BUTTON:
            (self._pressed.add if value else self._pressed.discard)(number)


class GamepadPlant(HandlePlant):
    """A handle that the first gamepad moves."""

    @classmethod
    def open(cls, address: str, *, name: str, **place: Any) -> GamepadPlant:
        """Open the first gamepad there is."""
        return cls(name, Gamepad())


def _first() -> str:
    found = sorted(glob.glob(f"{FOLDER}/js*"))
    if not found:
        raise FileError(
            f"no gamepad found: there is no {FOLDER}/js*; plug one in (kernel module joydev)"
        )
    return found[0]


def _open(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        raise FileError(
            f"cannot open the gamepad {path}: {error.strerror}; see docs/input-devices.md"
        ) from None

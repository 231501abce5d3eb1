"""Gamepads: sticks and buttons from the kernel's joystick interface, and the rumble motors.

``/dev/input/js*`` needs no package, has the same eight-byte events for every pad, and reports the
whole state when it is opened. It only reads, so the motors use the pad's event device, which must
be writable.
"""

from __future__ import annotations

import fcntl
import glob
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from farhand.errors import FileError
from farhand.parameters import parameter
from farhand.plants.drivers.handle import Device, DeviceReading, HandlePlant
from farhand.spatial import Array

EVENT = struct.Struct("<IhBB")
"""Time [ms], value, type, number."""

BUTTON, AXIS, INITIAL = 0x01, 0x02, 0x80
FULL = 32767.0
FOLDER = "/dev/input"

EFFECT = struct.Struct("@HhHHHHH2xHH28x")
"""``ff_effect``: type, id, direction, trigger (2), length and delay [ms], strong and weak motor."""

INPUT_EVENT = struct.Struct("@qqHHi")
"""``input_event``: seconds, microseconds, type, code, value."""

UPLOAD = 1 << 30 | EFFECT.size << 16 | ord("E") << 8 | 0x80  # EVIOCSFF
RUMBLE, FORCE_FEEDBACK = 0x50, 0x15
RUMBLE_MS = 500  # so that the pad of a dead program stops
FULL_RUMBLE = 0xFFFF
RUMBLE_PERIOD_NS = 50_000_000
"""Shortest time between two changes of the rumble, [ns]."""

CLASS = "/sys/class/input"


class Rumble:
    """The motors of one pad, by the path of its event device; OSError if it cannot be opened."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self._id, self._last_ns, self._strength = -1, -RUMBLE_PERIOD_NS, 0.0

    def shake(self, strength: float, now_ns: int) -> None:
        """Shake with a share of the full strength, 0 to 1, unless the last change is too recent.

        Raises:
            OSError: the pad is gone, or has no motors.
        """
        strength = min(max(strength, 0.0), 1.0)
        if now_ns - self._last_ns < RUMBLE_PERIOD_NS or not (strength or self._strength):
            return
        self._last_ns, self._strength = now_ns, strength
        size = round(strength * FULL_RUMBLE)
        effect = bytearray(EFFECT.pack(RUMBLE, self._id, 0, 0, 0, RUMBLE_MS, 0, size, size // 2))
        fcntl.ioctl(self._file, UPLOAD, effect)
        self._id = EFFECT.unpack(effect)[1]
        os.write(self._file, INPUT_EVENT.pack(0, 0, FORCE_FEEDBACK, self._id, 1 if size else 0))

    def close(self) -> None:
        """Stop the motors; closing the file removes the effect."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def rumble_of(joystick: str) -> Rumble | None:
    """The motors of the pad at a path such as ``/dev/input/js0``; None without writable ones."""
    for event in sorted(glob.glob(f"{CLASS}/{Path(joystick).name}/device/event*")):
        try:
            return Rumble(f"/dev/input/{Path(event).name}")
        except OSError:
            continue
    return None


@dataclass
class PadAxes:
    """Which axis of a pad moves what, by number from 0; a negative direction reverses it.

    The default is for the kernel's most common driver: left stick forward and sideways, right stick
    up and about the vertical, the cross for the other two turns.
    """

    numbers: Array = parameter(
        (1.0, 0.0, 4.0, 6.0, 7.0, 3.0), "-", "axes of the pad for the six motions", 0.0, 63.0
    )
    directions: Array = parameter(
        (-1.0, -1.0, -1.0, 1.0, -1.0, -1.0), "-", "their directions", -1.0, 1.0
    )


class Gamepad(Device):
    """A pad. A still stick sends nothing; the file of an unplugged pad is gone, and reading fails.

    Args:
        path: of the device; the first one by default.
        axes: which axis does what.

    Raises:
        FileError: there is no pad, or it cannot be opened.
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
        """Read all events that have arrived."""
        while data := self._read():
            data = self._rest + data
            whole = len(data) - len(data) % EVENT.size
            self._rest = data[whole:]
            for event in EVENT.iter_unpack(data[:whole]):
                self._take(*event)
        values = self._values[self.axes.numbers.astype(int)]
        axes = np.clip(values / FULL * self.axes.directions, -1.0, 1.0)
        return DeviceReading(axes, frozenset(self._pressed))

    def feel(self, strength: float, now_ns: int) -> None:
        """Rumble with a share of the full strength, 0 to 1, if there are writable motors."""
        if self._rumble is None:
            return
        try:
            self._rumble.shake(strength, now_ns)
        except OSError:
            self._rumble.close()
            self._rumble = None

    def close(self) -> None:
        """Release the device."""
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
        """Open the first gamepad."""
        return cls(name, Gamepad())


def _first() -> str:
    pads = sorted(glob.glob(f"{FOLDER}/js*"))
    if not pads:
        missing = f"there is no {FOLDER}/js*"
        raise FileError(f"no gamepad found: {missing}; plug one in (kernel module joydev)")
    return pads[0]


def _open(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        reason = f"{error.strerror}; see docs/input-devices.md"
        raise FileError(f"cannot open the gamepad {path}: {reason}") from None

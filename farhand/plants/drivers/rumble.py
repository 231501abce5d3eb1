"""Rumble: the motors in a gamepad, through the kernel's event interface; needs no package.

The kernel's joystick interface only tells; what shakes a pad is its event device, which has to be
writable.
"""

from __future__ import annotations

import fcntl
import glob
import os
import struct
from pathlib import Path

EFFECT = struct.Struct("@HhHHHHH2xHH28x")
"""Type, id, direction, trigger (button, interval), length [ms], delay [ms], strong and weak motor;
``ff_effect``."""

EVENT = struct.Struct("@qqHHi")
"""Seconds, microseconds, type, code, value; ``input_event``."""

UPLOAD = 1 << 30 | EFFECT.size << 16 | ord("E") << 8 | 0x80  # EVIOCSFF
RUMBLE, FORCE_FEEDBACK = 0x50, 0x15
LENGTH = 500  # [ms], so that a pad whose program has died falls silent
FULL = 0xFFFF
PERIOD_NS = 50_000_000
"""Shortest time between two changes, [ns]."""

CLASS = "/sys/class/input"


class Rumble:
    """The motors of one pad.

    Args:
        path: of its event device, open for writing.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self._id, self._last_ns, self._strength = -1, -PERIOD_NS, 0.0

    def shake(self, strength: float, now_ns: int) -> None:
        """Shake with a share of the full strength, 0 to 1; what comes too soon after the last change is left out.

        Raises:
            OSError: the pad is gone, or has no motors.
        """
        strength = min(max(strength, 0.0), 1.0)
        if now_ns - self._last_ns < PERIOD_NS or not (strength or self._strength):
            return
        self._last_ns, self._strength = now_ns, strength
        size = round(strength * FULL)
        effect = bytearray(EFFECT.pack(RUMBLE, self._id, 0, 0, 0, LENGTH, 0, size, size // 2))
        fcntl.ioctl(self._file, UPLOAD, effect)
        self._id = EFFECT.unpack(effect)[1]
        os.write(self._file, EVENT.pack(0, 0, FORCE_FEEDBACK, self._id, 1 if size else 0))

    def close(self) -> None:
        """Let the pad be still."""
        if self._file >= 0:
            os.close(self._file)  # which also takes the effect back
            self._file = -1


def rumble_of(joystick: str) -> Rumble | None:
    """The motors of the pad behind a device such as ``/dev/input/js0``; None where there are none to be had."""
    for found in sorted(glob.glob(f"{CLASS}/{Path(joystick).name}/device/event*")):
        try:
            return Rumble(f"/dev/input/{Path(found).name}")
        except OSError:
            continue  # not ours to write to
    return None

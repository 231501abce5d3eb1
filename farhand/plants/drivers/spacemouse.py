"""SpaceMouse: a 3Dconnexion puck with six axes, by ``hidapi`` (extra ``devices``)."""

from __future__ import annotations

import struct
from typing import Any, Protocol

import numpy as np

from farhand.errors import FileError
from farhand.plants.drivers.handle import Device, DeviceReading, HandlePlant

CONNEXION, LOGITECH = 0x256F, 0x046D
"""USB vendors; older devices have the second."""

OLDER = frozenset(
    {0xC603, 0xC605, 0xC606, 0xC621, 0xC623, 0xC625, 0xC626, 0xC627, 0xC628, 0xC629, 0xC62B}
)
"""Products of the second vendor that are 3-D mice."""

FULL = 350.0
"""Largest count of an axis."""

RELEASE_AFTER_S = 0.2
"""Silence after which a puck counts as released: a pushed one reports all the time, [s]."""

TO_HANDLE = np.array([[0.0, -1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
"""From the puck's axes (right, towards the user, down) to forward, left, up: a proper rotation."""

_THREE, _SIX = struct.Struct("<3h"), struct.Struct("<6h")


class Hid(Protocol):
    """An open HID device."""

    def read(self, size: int) -> list[int] | bytes:
        """The next report, empty if there is none; never waits."""

    def close(self) -> None:
        """Release it."""


class SpaceMouse(Device):
    """The puck.

    Reports: 1 translation (followed by rotation in newer devices), 2 rotation, 3 buttons, one bit
    each. Others, such as the battery's, and short ones are ignored.

    Args:
        hid: the open device; the first SpaceMouse by default.

    Raises:
        FileError: there is no ``hidapi`` or no device, or it cannot be opened.
    """

    name = "the SpaceMouse"

    def __init__(self, hid: Hid | None = None) -> None:
        self._hid = hid if hid is not None else _open()
        self._puck = np.zeros(6)
        self._buttons: frozenset[int] = frozenset()
        self._heard_ns: int | None = None

    def poll(self, now_ns: int) -> DeviceReading:
        """Read all reports that have arrived."""
        while report := bytes(self._hid.read(64)):
            self._take(report)
            self._heard_ns = now_ns
        if self._heard_ns is not None and now_ns - self._heard_ns > RELEASE_AFTER_S * 1e9:
            self._puck[:] = 0.0
        share = np.clip(self._puck / FULL, -1.0, 1.0)
        axes = np.concatenate([TO_HANDLE @ share[:3], TO_HANDLE @ share[3:]])
        return DeviceReading(axes, self._buttons)

    def close(self) -> None:
        """Release the device."""
        self._hid.close()

    def _take(self, report: bytes) -> None:
        kind, body = report[0], report[1:]
        if kind == 1 and len(body) >= _SIX.size:
            self._puck[:] = _SIX.unpack_from(body)
        elif kind in (1, 2) and len(body) >= _THREE.size:
            first = 3 * (kind - 1)
            self._puck[first : first + 3] = _THREE.unpack_from(body)
        elif kind == 3 and body:
            bits = int.from_bytes(body, "little")
            self._buttons = frozenset(k for k in range(8 * len(body)) if bits >> k & 1)


class SpaceMousePlant(HandlePlant):
    """A handle that the first SpaceMouse moves."""

    @classmethod
    def open(cls, address: str, *, name: str, **place: Any) -> SpaceMousePlant:
        """Open the first SpaceMouse."""
        return cls(name, SpaceMouse())


def _open() -> Hid:
    """The first SpaceMouse of this machine."""
    try:
        import hid
    except ImportError:
        install = "pip install 'farhand[devices]'"
        raise FileError(f"a SpaceMouse needs the package hidapi: {install}") from None
    info = next((info for info in hid.enumerate() if is_spacemouse(info)), None)
    if info is None:
        raise FileError("no SpaceMouse found: plug it in; a container needs the host's USB devices")
    device = hid.device()
    try:
        device.open_path(info["path"])
    except OSError as error:
        reason = f"{error}; see docs/input-devices.md for the udev rule"
        raise FileError(f"cannot open the SpaceMouse: {reason}") from None
    device.set_nonblocking(1)
    opened: Hid = device
    return opened


def is_spacemouse(info: dict[str, Any]) -> bool:
    """Whether an entry of the list of HID devices is the six axes of a SpaceMouse."""
    vendor, product = info.get("vendor_id"), info.get("product_id")
    mouse = vendor == CONNEXION or (vendor == LOGITECH and product in OLDER)
    # Some systems report zero for both usages.
    return mouse and (info.get("usage_page") or 1, info.get("usage") or 8) == (1, 8)

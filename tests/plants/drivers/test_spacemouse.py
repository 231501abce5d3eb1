"""The SpaceMouse, from its reports."""

from __future__ import annotations

import random
import struct
import sys
import types

import numpy as np
import pytest

from farhand.errors import FileError
from farhand.plants.drivers.spacemouse import SpaceMouse, is_spacemouse

MS = 1_000_000


class Hid:
    """A device that hands out reports."""

    def __init__(self, *reports: bytes) -> None:
        self.reports, self.closed = list(reports), False

    def read(self, size):
        return list(self.reports.pop(0)) if self.reports else []

    def close(self):
        self.closed = True


def move(x=0, y=0, z=0) -> bytes:
    return struct.pack("<B3h", 1, x, y, z)


def turn(x=0, y=0, z=0) -> bytes:
    return struct.pack("<B3h", 2, x, y, z)


@pytest.mark.parametrize(
    ("report", "axes"),
    [
        (move(y=-350), (1, 0, 0, 0, 0, 0)),  # pushed away from the user: forward
        (move(x=-175), (0, 0.5, 0, 0, 0, 0)),  # to the left
        (move(z=-350), (0, 0, 1, 0, 0, 0)),  # lifted
        (turn(z=-350), (0, 0, 0, 0, 0, 1)),  # turned to the left, seen from above
        (turn(x=-350), (0, 0, 0, 0, 1, 0)),  # tilted forward: nose down, about the left axis
        # newer devices: all in one
        (struct.pack("<B6h", 1, 0, -350, 0, 0, 0, -350), (1, 0, 0, 0, 0, 1)),
    ],
)
def test_the_puck_moves_forward_left_and_up(report, axes):
    """The device's own axes are right, towards the user and down."""
    np.testing.assert_allclose(SpaceMouse(Hid(report)).poll(0).axes, axes, atol=1e-9)


def test_translation_and_rotation_come_in_reports_of_their_own_and_both_last():
    """The newest of each counts, beyond full is full."""
    mouse = SpaceMouse(Hid(move(y=-100), turn(z=-9999), move(y=-350)))
    np.testing.assert_allclose(mouse.poll(0).axes, [1, 0, 0, 0, 0, 1])


def test_buttons_are_bits():
    """Held until the next report says otherwise."""
    mouse = SpaceMouse(Hid(b"\x03\x03\x00"))
    assert mouse.poll(0).buttons == {0, 1}
    assert mouse.poll(MS).buttons == {0, 1}
    mouse._hid.reports.append(b"\x03\x02\x00")
    assert mouse.poll(2 * MS).buttons == {1}


def test_a_pushed_puck_that_falls_silent_counts_as_let_go():
    """A wireless one that is out of reach must not drive on."""
    mouse = SpaceMouse(Hid(move(y=-350)))
    assert mouse.poll(0).axes[0] == 1.0
    assert mouse.poll(150 * MS).axes[0] == 1.0
    assert mouse.poll(250 * MS).axes[0] == 0.0


def test_a_thousand_reports_of_noise_are_survived():
    """Whatever their length: axes stay between -1 and 1."""
    rng = random.Random(0)
    mouse = SpaceMouse(Hid(*(rng.randbytes(rng.randrange(1, 20)) for _ in range(1000))))
    assert np.abs(mouse.poll(0).axes).max() <= np.sqrt(3)
    assert np.isfinite(mouse.poll(0).axes).all()


def test_only_3d_mice_are_taken():
    """Not an ordinary mouse of the same maker, nor the receiver's keyboard."""
    assert is_spacemouse({"vendor_id": 0x256F, "product_id": 0xC635, "usage_page": 1, "usage": 8})
    assert is_spacemouse({"vendor_id": 0x046D, "product_id": 0xC626, "usage_page": 0, "usage": 0})
    assert not is_spacemouse(
        {"vendor_id": 0x046D, "product_id": 0xC077, "usage_page": 1, "usage": 2}
    )
    assert not is_spacemouse(
        {"vendor_id": 0x256F, "product_id": 0xC652, "usage_page": 1, "usage": 6}
    )


def fake_hidapi(monkeypatch, found, problem=None) -> types.SimpleNamespace:
    device = types.SimpleNamespace(
        read=lambda size: [], close=lambda: None, set_nonblocking=lambda on: None
    )

    def open_path(path):
        if problem:
            raise problem

    device.open_path = open_path
    fake = types.SimpleNamespace(enumerate=lambda: found, device=lambda: device)
    monkeypatch.setitem(sys.modules, "hid", fake)
    return fake


def test_a_missing_device_is_one_clear_line(monkeypatch):
    """As is a missing package, and one that may not be opened."""
    fake_hidapi(monkeypatch, [])
    with pytest.raises(FileError, match="no SpaceMouse found"):
        SpaceMouse()
    mouse = {"vendor_id": 0x256F, "product_id": 0xC635, "path": b"x"}
    fake_hidapi(monkeypatch, [mouse], OSError("open failed"))
    with pytest.raises(FileError, match="udev rule"):
        SpaceMouse()
    fake_hidapi(monkeypatch, [mouse])
    np.testing.assert_array_equal(SpaceMouse().poll(0).axes, 0.0)
    monkeypatch.setitem(sys.modules, "hid", None)
    with pytest.raises(FileError, match=r"pip install 'farhand\[devices\]'"):
        SpaceMouse()

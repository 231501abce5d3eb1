"""A gamepad shakes as hard as the handle would be pushed, and a pad without motors is no
trouble.
"""

from __future__ import annotations

import struct

import numpy as np
import pytest

from farhand.plants.drivers import gamepad
from farhand.plants.drivers.gamepad import Gamepad, Rumble
from farhand.plants.drivers.handle import Device, DeviceReading, HandlePlant
from farhand.plants.plant import JointTorque

MS = 1_000_000


@pytest.fixture
def uploads(monkeypatch) -> list[tuple[int, bytes]]:
    """What the kernel is asked for; it gives every effect the number 7."""
    asked: list[tuple[int, bytes]] = []

    def ioctl(file, request, effect):
        asked.append((request, bytes(effect)))
        struct.pack_into("@h", effect, 2, 7)

    monkeypatch.setattr(gamepad.fcntl, "ioctl", ioctl)
    return asked


def test_an_effect_is_what_the_kernel_expects_and_is_played(tmp_path, uploads):
    """Size and number of the request as in linux/input.h; strong motor at half strength; then a
    play event.
    """
    path = tmp_path / "event3"
    path.write_bytes(b"")
    motors = Rumble(str(path))
    motors.shake(0.5, 0)
    (request, effect), played = uploads[0], path.read_bytes()
    assert (request, len(effect)) == (0x40304580, 48)
    assert struct.unpack_from("@H", effect, 0) == (0x50,) and struct.unpack_from(
        "@HH", effect, 16
    ) == (32768, 16384)
    assert struct.unpack("@qqHHi", played)[2:] == (0x15, 7, 1)
    motors.close()


def test_changes_come_at_most_twenty_times_a_second_and_rest_asks_for_nothing(tmp_path, uploads):
    """The same effect is changed, not another one made; silence is sent once."""
    path = tmp_path / "event3"
    path.write_bytes(b"")
    motors = Rumble(str(path))
    for now in range(0, 200 * MS, MS):
        motors.shake(0.3 if now < 100 * MS else 0.0, now)
    assert [struct.unpack_from("@h", effect, 2)[0] for _, effect in uploads] == [-1, 7, 7]
    motors.close()


def test_a_handle_that_is_pushed_back_shakes_its_device():
    """With the share of the force beyond its own weight that is set as the most; its weight alone
    is not felt.
    """
    felt: list[float] = []

    class Stick(Device):
        name = "a stick"

        def poll(self, now_ns):
            return DeviceReading(np.zeros(6), frozenset())

        def feel(self, strength, now_ns):
            felt.append(strength)

    plant, command = HandlePlant("leader", Stick()), JointTorque(6)
    command.value[:] = [0.0, 9.0, -12.0, 1.0, 1.0, 1.0]
    plant.write(command, 0)
    command.value[:] = [0.0, 0.0, 1.9, 0.0, 0.0, 0.0]
    plant.write(command, MS)
    assert felt == [pytest.approx((15.0 - 0.2 * 9.81) / 30.0), 0.0]


def test_a_pad_without_motors_is_still(tmp_path):
    """And can be used all the same."""
    path = tmp_path / "js7"
    path.write_bytes(b"")
    pad = Gamepad(str(path))
    pad.feel(1.0, 0)
    pad.close()

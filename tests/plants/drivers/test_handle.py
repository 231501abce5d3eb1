"""The handle that input devices move about."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.plants.drivers.handle import Device, DeviceReading, HandlePlant, HandleSettings
from farhand.safety import Guard

MS = 1_000_000


class Stick(Device):
    """A device that shows what a test says."""

    name = "the stick"

    def __init__(self) -> None:
        self.axes, self.buttons, self.gone = np.zeros(6), {0}, False

    def poll(self, now_ns):
        if self.gone:
            raise OSError(19, "No such device")
        return DeviceReading(self.axes.copy(), frozenset(self.buttons))

    def close(self):
        self.gone = True


@pytest.fixture
def stick() -> Stick:
    return Stick()


@pytest.fixture
def plant(stick) -> HandlePlant:
    return HandlePlant("leader", stick)


def run(plant: HandlePlant, ms: int, begin: list[int] = [0]):  # noqa: B006  (time goes on from call to call)
    sample = None
    for _ in range(ms):
        begin[0] += MS
        sample = plant.read(begin[0])
    return sample


def test_a_full_stick_moves_the_handle_at_its_top_speed(plant, stick):
    """Forward, at 0.15 m/s once it has risen; sideways nothing."""
    stick.axes[0] = 1.0
    sample = run(plant, 400)
    assert sample.v[0] == pytest.approx(0.15)
    np.testing.assert_allclose(sample.v[1:], 0.0, atol=1e-12)
    before = sample.q[0]
    assert run(plant, 1000).q[0] - before == pytest.approx(0.15, rel=1e-6)


def test_a_stick_in_its_dead_zone_moves_nothing(plant, stick):
    """Worn sticks do not rest at zero."""
    stick.axes[:] = 0.06
    np.testing.assert_array_equal(run(plant, 500).q, 0.0)


def test_letting_go_stops_within_the_rise_time(plant, stick):
    """And never steps: the velocity changes by no more than its bound per tick."""
    stick.axes[2] = 1.0
    run(plant, 400)
    stick.axes[2] = 0.0
    speeds = [run(plant, 1).v[2] for _ in range(260)]
    assert speeds[-1] == 0.0
    assert np.abs(np.diff([0.15, *speeds])).max() <= 0.15 * 1e-3 / 0.25 + 1e-12


@pytest.mark.parametrize("change", [lambda s: s.buttons.discard(0), lambda s: s.buttons.add(1)])
def test_the_deadman_released_or_the_clutch_held_stops_the_handle(plant, stick, change):
    """However far the stick is pushed."""
    stick.axes[0] = 1.0
    run(plant, 400)
    change(stick)
    assert run(plant, 300).v[0] == 0.0


def test_without_a_deadman_no_button_is_needed(stick):
    """For devices that spring back by themselves."""
    plant = HandlePlant("leader", stick, settings=HandleSettings(deadman=False))
    stick.buttons.clear()
    stick.axes[0] = 1.0
    assert run(plant, 400).v[0] > 0.1


def test_turns_are_about_the_axes_of_the_room(plant, stick):
    """After a quarter turn about the vertical, tilting forward is still about the room's left
    axis.
    """
    stick.axes[5] = 1.0
    while run(plant, 1).q[5] < np.pi / 2:
        pass
    stick.axes[:] = 0.0
    run(plant, 300)
    stick.axes[4] = 1.0
    sample = run(plant, 300)
    plant._arm.update(sample.q, sample.v)
    twist = plant._arm.J @ sample.v
    np.testing.assert_allclose(twist[3:] / np.linalg.norm(twist[3:]), [0, 1, 0], atol=1e-2)


def test_the_handle_stays_within_its_limits(plant, stick):
    """Two metres each way, and its velocity is zero there."""
    stick.axes[1] = 1.0
    sample = run(plant, 15_000)
    assert sample.q[1] == 2.0
    assert sample.v[1] == 0.0


def test_a_device_that_is_gone_stops_the_handle_and_trips_the_guard(plant, stick):
    """Its samples grow old and it says why."""
    from farhand.robots import load_robot

    stick.axes[0] = 1.0
    last = run(plant, 400).time_ns
    stick.gone = True
    sample = run(plant, 1)
    old = run(plant, 200)
    assert plant.fault == "the stick is gone: No such device"
    assert old.time_ns <= sample.time_ns
    np.testing.assert_array_equal(old.v, 0.0)
    guard = Guard()
    guard.watch(load_robot("handle").limits)
    guard.check(old, last + 500 * MS)
    assert guard.trip.kind == "stale"


def test_nothing_can_push_on_it(plant):
    """No axis is driven, and no wrench is measured: that is not the same as zero."""
    assert not plant.actuated.any()
    assert plant.read(0).wrench is None

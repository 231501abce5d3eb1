"""The battery: falls as it is drawn from, warns, then stops."""

from __future__ import annotations

from farhand.plants.servo_bus.plant import Battery


def test_it_warns_before_it_stops() -> None:
    """Five amperes from full to empty."""
    cell, seen = Battery(capacity=0.1), []
    while cell.charge > 0.0:
        cell.draw(5.0, 0.5)
        seen.append((cell.voltage, cell.warning is not None, cell.fault is not None))
    volts, warned, stopped = zip(*seen, strict=True)
    assert list(volts) == sorted(volts, reverse=True)
    assert 0 < warned.index(True) < stopped.index(True)
    assert abs(volts[warned.index(True)] - cell.alarm) < 0.1


def test_load_lowers_the_voltage_at_once_and_leaves_the_charge() -> None:
    """Its resistance times the current."""
    cell = Battery()
    rest = cell.draw(0.0, 1e-3)
    assert abs(rest - cell.draw(10.0, 0.0) - 0.5) < 1e-9

"""What an operator asks of all servos at once: let go, and be slower."""

from __future__ import annotations

import numpy as np

from farhand_lab.humanoid.bus_bench import ArmOnBus

OUT = np.radians([10.0, 60.0, 90.0])


def test_servos_that_let_go_are_still_read_and_stay_where_they_were_moved_to() -> None:
    """The arm falls by its weight; held again, it stays until it is sent elsewhere."""
    arm = ArmOnBus()
    held = arm.run(1.0, lambda t: OUT)[-1]
    arm.plant.parts.orders.passive = True
    fallen = arm.run(1.0, lambda t: OUT)[-1]
    assert not arm.plant.servos.powered and np.abs(fallen - held).max() > 0.2
    np.testing.assert_allclose(arm.plant.read(arm.world.now_ns).q, fallen, atol=0.5)
    arm.plant.parts.orders.passive = False
    again = arm.run(0.5, lambda t: OUT)[-1]
    assert arm.plant.servos.powered and np.abs(again - held).max() > 0.1


def test_a_lower_speed_takes_them_there_later() -> None:
    """A twelfth of the top speed leaves them under way."""
    gone = []
    for speed in (255, 20):
        arm = ArmOnBus()
        arm.plant.parts.orders.speed = speed
        q = arm.run(0.4, lambda t, start=arm.start: start + 0.5)
        gone.append(float(np.abs(q[-1] - arm.start).max()))
    assert gone[1] < 0.6 * gone[0]

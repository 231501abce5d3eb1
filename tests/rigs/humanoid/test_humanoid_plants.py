"""The humanoid's limb on a serial port, in the place of the simulated one."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.errors import BadValue, FarhandError, FileError, Mismatch
from farhand.loop.clock import WallClock
from farhand.plants.servo_bus.simulated_bus import PseudoTerminal
from farhand.rigs import Options, build_rig
from farhand_lab.humanoid.bus_bench import bench
from farhand_lab.trial import run


def options(plant: str, *settings: tuple[str, object], wall: bool = True) -> Options:
    chosen = [("rig.follower_plant", plant), ("follower.bus.timing.timeout", 0.5), *settings]
    return Options(scenario="rest", settings=chosen, clock=WallClock() if wall else None)


def test_the_pen_leads_a_limb_on_a_serial_port() -> None:
    """From where it stands; what was sent is recorded, and is what the servos were told; nothing
    trips.
    """
    made = bench()
    start = made.bus.servos.reference.copy()
    with PseudoTerminal(made.bus) as terminal:
        more = [("rig.rate", 200.0), ("hand.drag", (0.0, 0.006, -0.004))]
        result = run(build_rig("humanoid", options(f"serial:{terminal.path}", *more)), 1.5)
        sent = result.signal("follower", "q_sent")
        result.rig.close()
    assert result.rig.session.trips == []
    assert np.ptp(sent, axis=0).max() > 0.02
    told = made.driver.counts(sent[-1])
    assert np.abs(made.bus.servos.target - told).max() < 0.25 * np.abs(told - start).max()
    np.testing.assert_allclose(made.driver.counts(sent[0]), made.bus.servos.read(start), atol=1.0)
    assert (result.signal("follower", "bus_period")[-1] > 0.03).all()
    assert np.isnan(result.signal("follower", "wrench_measured_in_world")).all()


@pytest.mark.parametrize(
    ("plant", "wall", "kind", "words"),
    [
        (
            "serial:/dev/none",
            True,
            FileError,
            "cannot open the servo bus at /dev/none: No such file",
        ),
        ("serial:/dev/none", False, Mismatch, "real time"),
        ("serial:", True, BadValue, "there are: simulated, serial:PATH"),
        ("ur:127.0.0.1", True, BadValue, "there are: simulated, serial:PATH"),
    ],
)
def test_what_cannot_follow_is_one_clear_line(
    plant: str, wall: bool, kind: type[FarhandError], words: str
) -> None:
    """No such port, virtual time, no path, an arm that is no limb."""
    with pytest.raises(kind, match=words):
        build_rig("humanoid", options(plant, wall=wall))


def test_the_orientation_of_a_limb_that_has_none_to_give_is_no_error() -> None:
    """Three joints place the wrist; how it is turned falls out, and is not held against it."""
    metrics = run(build_rig("humanoid", Options(scenario="free")), 0.8).rig.metrics.result()
    assert metrics["rotation_error_max"] == {"value": None, "unit": "rad"}
    assert isinstance(metrics["tracking_error_max"]["value"], float)

"""Wrist plant: what the coupling gets is the contact, and each fault and each correction has a
switch of its own.
"""

from __future__ import annotations

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.plants import Plant, Sample
from farhand.plants.wrappers.instrumented import WristPlant
from farhand.robots import load_robot
from farhand.sensing import load_sensor

ROBOT = load_robot("lwa4p")
MS = 1_000_000
CONTACT = np.array([3.0, -4.0, 10.0, 0.2, -0.1, 0.05])


class Still(Plant):
    """An arm at rest in some posture, touched by a known wrench."""

    name, accepts, actuated, period_ns = "still", frozenset(), np.ones(6, bool), MS

    def __init__(self, q: np.ndarray, wrench: np.ndarray) -> None:
        self.sample = Sample(6, 6)
        self.sample.q[:] = q
        self.sample.set_wrench(wrench)

    def read(self, now_ns: int) -> Sample:
        """The same sample at another time."""
        self.sample.time_ns = now_ns
        return self.sample

    def write(self, command: object, now_ns: int) -> None:
        """Nothing moves."""


def wrist(
    q: np.ndarray | None = None, wrench: np.ndarray = CONTACT, **switches: object
) -> WristPlant:
    """A wrist with faults and corrections as given: names of either."""
    inside = Still(ROBOT.home if q is None else q, wrench)
    plant = WristPlant(
        inside, load_sensor("schunk-ftm115"), Arm.of(ROBOT), 30.0, 9.81, np.random.default_rng(3)
    )
    for name, value in switches.items():
        setattr(
            plant.compensation if hasattr(plant.compensation, name) else plant.faults, name, value
        )
    plant.faults.refresh()
    return plant


def mean(plant: WristPlant, seconds: float = 2.0) -> np.ndarray:
    """Mean wrench over some time."""
    seen = np.array([plant.read(k * MS).wrench.copy() for k in range(round(1000 * seconds))])
    return seen.mean(axis=0)


def test_a_saturated_sensor_is_distrusted_until_the_next_engagement_whatever_its_temperature():
    """The thermometer converts several times meanwhile; each reading is another one."""
    plant = wrist(heating=1.0)
    mean(plant, 0.1)
    plant._plant.sample.set_wrench(1e3 * CONTACT)
    assert plant.read(200 * MS).wrench is None
    plant._plant.sample.set_wrench(CONTACT)
    before = plant.gauges.reading
    assert all(plant.read(k * MS).wrench is None for k in range(300, 3000, 2))
    assert plant.gauges.reading != before
    plant.rearm()
    assert plant.read(3000 * MS).wrench is not None


@pytest.mark.parametrize("q", [ROBOT.home, np.array([1.0, -0.5, -1.2, 0.7, 1.1, -2.0])])
def test_with_all_faults_on_the_contact_is_what_comes_out(q):
    """Bias of 14 N, a tool of 11 N and noise: left are 0.05 N and 5 mN·m, in any posture."""
    left = mean(wrist(q)) - CONTACT
    assert np.abs(left[:3]).max() < 0.05
    assert np.abs(left[3:]).max() < 0.005


def test_the_calibration_comes_from_the_sensor_and_not_from_the_truth():
    """It is near the truth and not the truth."""
    plant = wrist()
    mean(plant, 0.01)
    found, true = plant.tool.load, plant.faults.load + load_sensor("schunk-ftm115").internals
    assert found.mass == pytest.approx(true.mass, abs=0.01)
    assert found.mass != true.mass
    np.testing.assert_allclose(found.com, true.com, atol=1e-3)


@pytest.mark.parametrize(
    ("switch", "size"),
    [("bias", np.linalg.norm([14.0, -9.0, 5.0])), ("weight", 9.81 * (1.1213 + 0.153))],
)
def test_a_correction_that_is_off_leaves_its_error_in(switch, size):
    """The bias, or the weight of tool and internals."""
    left = mean(wrist(wrench=np.zeros(6), **{switch: False}))
    assert np.linalg.norm(left[:3]) == pytest.approx(size, rel=0.01)


@pytest.mark.parametrize(
    "switches", [{"biased": False}, {"loaded": False}, {"noisy": False, "shaken": False}]
)
def test_a_fault_that_is_off_needs_no_correction(switches):
    """The contact comes out all the same, since the calibration sees a sensor without that
    fault.
    """
    assert np.abs(mean(wrist(**switches)) - CONTACT).max() < 0.05


def test_warming_shifts_the_zero_unless_it_is_followed():
    """24 °C at 1.26 N/°C: 30 N; with the slope misjudged by 5 % and a slow thermometer, 2 N are
    left.
    """
    hot = {"heating": 0.2, "wrench": np.zeros(6)}
    drifting, followed = (wrist(**hot, heat=heat) for heat in (False, True))
    for plant in (drifting, followed):
        mean(plant, 3.0)
    assert np.linalg.norm(drifting.contact[:3]) == pytest.approx(24.0 * 1.27, rel=0.05)
    assert np.linalg.norm(followed.contact[:3]) < 2.5


def test_the_zero_of_two_torques_is_left_to_the_heat_as_published():
    """One slope for all axes: the first four are followed to 5 %, the last two drift away."""
    plant = wrist(heating=0.1, wrench=np.zeros(6), slope=np.full(6, 0.1), noisy=False, shaken=False)
    plant.faults.refresh()
    mean(plant, 1.0)
    left = plant.conditioner.raw
    np.testing.assert_allclose(left[:4], -0.05 * 2.4, atol=0.05)
    np.testing.assert_allclose(left[4:], 2.4, atol=0.05)


def test_a_shaken_arm_is_noisier_than_one_at_rest():
    """At full acceleration the published 2.5 N, at rest 0.14 N."""
    calm, shaken = wrist(), wrist()
    spread = []
    for plant, swing in ((calm, 0.0), (shaken, 0.06)):
        seen = []
        for k in range(4000):
            plant._plant.sample.v[:] = swing * (-1) ** (k // 2)
            seen.append(plant.read(k * MS).wrench[0])
        spread.append(np.std(seen))
    assert spread[0] == pytest.approx(0.137, rel=0.2)
    assert spread[1] == pytest.approx(2.49, rel=0.2)


def test_a_wrench_that_is_no_number_is_passed_on_so_that_the_guard_notices():
    """Not hidden as a missing measurement."""
    assert np.isnan(wrist(wrench=np.full(6, np.nan)).read(0).wrench).all()


def test_a_tool_that_is_changed_in_the_run_is_felt_as_a_contact():
    """The calibration is of the old one: half a kilogram more pulls with 4.9 N."""
    plant = wrist(wrench=np.zeros(6))
    mean(plant, 0.5)
    plant.faults.mass += 0.5
    plant.faults.refresh()
    seen = np.array([plant.read((1000 + k) * MS).wrench.copy() for k in range(1000)]).mean(axis=0)
    np.testing.assert_allclose(seen[:3], [0.0, 0.0, -4.9], atol=0.1)

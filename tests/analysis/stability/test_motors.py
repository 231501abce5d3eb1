"""Two OpenArms with their makers' program: what was seen motor by motor on a simulated bus."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from farhand.analysis.stability.motors import MotorPair, judge_motors, least_friction
from farhand.analysis.stability.spectrum import least_damped, stable
from farhand.errors import Mismatch


@pytest.mark.parametrize(
    "change",
    [{}, {"damping": 0.5}, {"stiffness": 2.0}, {"velocity_filter": 10.0}, {"friction": 1.2}],
)
def test_with_the_friction_that_was_found_there_is_room(change):
    """Published gains, half the damping, twice the stiffness, a slow filter, more friction."""
    assert judge_motors(MotorPair(**change)).calm


def test_an_arm_with_half_the_friction_moves_on_by_itself_at_joint_six():
    """Because of what is fed forward; 0.7 of it is too much, 0.5 is not."""
    found = judge_motors(MotorPair(friction=0.5))
    assert found.words == "joint 6 moves on by itself"
    assert found.causes == ("the friction that is fed forward",)
    assert any(change.startswith("share fed forward ≤ 0.") for change in found.changes)
    assert not judge_motors(MotorPair(friction=0.5, share=0.7)).calm
    assert judge_motors(MotorPair(friction=0.5, share=0.5)).calm
    assert 0.8 < least_friction(MotorPair()) < 1.0
    assert least_friction(MotorPair(share=0.3)) < 0.4


def test_a_gear_that_gives_shakes_at_the_shoulder_behind_a_slow_filter():
    """Simulated, joint 2 with 2000 N·m/rad and 50 Hz shakes at 92 Hz; rigid or unfiltered not."""
    shape = {"rate": 500.0, "late": 8e-3, "led": 0.3, "motor_rate": 4000.0}
    soft = MotorPair(gear=2000.0, velocity_filter=50.0, **shape).loop()
    assert not stable(soft)
    assert least_damped(soft).frequency == pytest.approx(92.0, rel=0.15)
    assert stable(MotorPair(gear=5000.0, **shape).loop())
    assert stable(MotorPair(velocity_filter=50.0, **shape).loop())


def test_the_other_arms_velocity_is_named_and_a_low_pass_of_it_is_what_calms():
    """Simulated, joint 2 alone shakes until that velocity is below 14 Hz."""
    shape = {"rate": 500.0, "late": 8e-3, "led": 0.3, "motor_rate": 4000.0}
    pair = MotorPair(gear=2000.0, velocity_filter=50.0, **shape)
    found = judge_motors(pair)
    assert found.words.startswith("joint 2 shakes at 9")
    assert found.causes == ("the other arm's velocity at joints 1 to 4",)
    (change,) = found.changes
    words = re.fullmatch(r"the other arm's velocity, joints 1 to 4, below (\d+) Hz", change)
    assert words is not None and 9.0 < float(words[1]) < 19.0
    assert stable(replace(pair, sent_filter=0.9 * float(words[1])).loop())
    assert not stable(replace(pair, sent_filter=1.5 * float(words[1])).loop())


def test_a_late_bus_makes_them_shake_and_the_bus_is_named():
    """A spring of 240 N·m/rad that acts 40 ms late takes more damping away than there is."""
    found = judge_motors(MotorPair(late=0.04))
    assert not found.calm and found.frequency > 1.0
    assert "the time on the bus and between ticks" in found.causes
    with pytest.raises(Mismatch, match="cannot serve"):
        judge_motors(MotorPair(rate=4000.0))

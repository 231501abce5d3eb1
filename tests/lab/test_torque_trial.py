"""The rule that judges ``farhand torque check`` on held-out arms."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from farhand.torque.check import Cause, Unclear
from farhand_lab.torque import held_out_arms
from farhand_lab.torque.trial import verdict


@pytest.mark.parametrize(
    ("findings", "unclear", "answer", "alarms"),
    [
        ([("scale", (2, 3))], [], "named", []),
        ([("scale", (2,))], [("scale", (3,))], "unidentifiable", []),
        ([("scale", (2,))], [], "missed", []),
        ([("scale", (2, 3)), ("tool", ())], [], "named", ["tool"]),
        ([("scale", (1, 2, 3))], [], "named", ["scale 1"]),
    ],
)
def test_only_the_joints_that_have_a_cause_count_as_named(findings, unclear, answer, alarms):
    """Every other finding is a false alarm."""
    arm = SimpleNamespace(cause="scale", joints=(2, 3))
    found = SimpleNamespace(
        findings=[Cause(kind, joints, "") for kind, joints in findings],
        unclear=[Unclear(kind, joints, "") for kind, joints in unclear],
    )
    judged = verdict(arm, found)
    assert (judged["answer"], judged["alarms"]) == (answer, alarms)


def test_a_held_out_arm_is_the_same_every_time_and_off_its_data_sheet(monkeypatch):
    """Its log can be made again to the bit, and its masses are not those of the file."""
    monkeypatch.setattr(held_out_arms, "SECONDS", 1.0)
    one, two = held_out_arms.make(0), held_out_arms.make(0)
    for name, values in one.columns.items():
        np.testing.assert_array_equal(values, two.columns[name])
    masses = [robot.compile().body_mass for robot in (one.arm.robot, one.arm.true)]
    assert 0.005 < np.abs(masses[1].sum() / masses[0].sum() - 1.0) < 0.2

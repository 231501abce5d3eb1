"""Metrics: numbers of a run, checked against the signals they summarise."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from farhand.analysis.metrics import Running


def test_running_numbers_are_those_of_the_whole():
    """Largest and root mean square, however the stream is cut; what is not a number is left out."""
    values = np.random.default_rng(0).uniform(0, 3, 1000)
    running = Running()
    for part in np.array_split(values, 7):
        running.add(np.concatenate([part, [math.nan]]))
    assert running.largest == values.max()
    assert running.rms == pytest.approx(np.sqrt(np.mean(values**2)))


def test_nothing_yet_is_zero():
    """An empty run has no error."""
    running = Running()
    running.add(np.zeros(0))
    assert (running.largest, running.rms) == (0.0, 0.0)


def test_the_metrics_of_a_run_are_those_of_its_signals(dual_arm):
    """Tracking error, forces and speed recomputed from the history."""
    run = dual_arm(law="position-position", scenario="press").on(3.5)
    metrics = run.metrics
    error = run.signal("coupling", "error")[run.signal("coupling", "engagement")[:, 0] > 0]
    assert metrics["tracking_error_max"] == pytest.approx(
        np.linalg.norm(error[:, :3], axis=1).max()
    )
    assert metrics["rotation_error_max"] == pytest.approx(
        np.linalg.norm(error[:, 3:], axis=1).max()
    )
    contact = np.linalg.norm(run.signal("follower", "wrench_measured_in_world")[:, :3], axis=1)
    assert metrics["contact_force_max"] == pytest.approx(contact.max())
    assert metrics["contact_force_max"] > 20.0
    final = run.signal("leader", "wrench_measured_in_world", since=2.999)[:, :3].mean(axis=0)
    assert metrics["hand_force_final"] == pytest.approx(np.linalg.norm(final), rel=1e-3)


def test_the_energy_of_the_coupling_is_the_integral_of_its_power(dual_arm):
    """Both ports, recomputed from wrench and twist."""
    run = dual_arm(law="position-position", scenario="free").on(2.0)
    total = 0.0
    for name in ("leader", "follower"):
        wrench, twist = (
            run.signal(name, "wrench_commanded_in_world"),
            run.signal(name, "twist_tool_in_world"),
        )
        total -= float((wrench * twist).sum()) * 1e-3
    assert run.metrics["energy_into_coupling"] == pytest.approx(total, rel=1e-6)
    assert total > 0.0  # a passive law takes


def test_every_metric_can_be_written_as_json(dual_arm):
    """With a unit; what is not a number is null."""
    run = dual_arm(scenario="free", delay=40.0).on(0.3)
    result = run.rig.metrics.result()
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert all(set(entry) == {"value", "unit"} for entry in result.values())
    assert result["reflection_in_contact"]["value"] is None


def test_the_energy_account_of_a_run_at_rest_is_closed(dual_arm):
    """Where nothing is exchanged nothing is missing: 1e-16 J of 1e-16 J is not an error of
    100 %.
    """
    assert dual_arm(scenario="rest").on(0.5).metrics["energy_balance_error"] < 1e-3


def test_the_metrics_of_a_run_of_no_length_are_still_an_answer(dual_arm):
    """Nothing was tracked, and that can be said."""
    run = dual_arm().on(0.0)
    assert run.metrics["tracking_error_max"] is None

"""Overview: true rates, gaps and peaks, found where they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from farhand.recording.loader import StreamData
from farhand.recording.overview import overview, rate_of


def test_the_overview_of_a_run_has_what_people_ask_for(demo):
    """Duration, rates, forces, energy and events of a run whose numbers are known."""
    found = overview(demo)
    assert found["duration"] == pytest.approx(0.799) and found["complete"]
    assert found["about"]["rig"] == "dual-arm" and found["about"]["clock"] == "virtual"
    assert (
        found["streams"]["leader"]["rate"] == pytest.approx(1000.0)
        and found["streams"]["leader"]["gaps"] == 0
    )
    assert found["streams"]["follower"]["oldest_sample"] == pytest.approx(0.003)
    force = np.linalg.norm(demo["leader/wrench_measured_in_world"][:, :3], axis=1)
    assert found["peaks"]["leader/wrench_measured_in_world"]["force"] == pytest.approx(force.max())
    assert found["energy"]["coupling"]["final"] == pytest.approx(
        demo["coupling/port_energy"][-1].sum()
    )
    assert found["signals"]["leader/q"] == {
        **{"size": 6, "unit": "rad", "missing": 0},
        **{"min": demo["leader/q"].min(), "max": demo["leader/q"].max()},
    }
    assert {"time": 0.3, "kind": "command", "text": "release: done"} in found["events"]


def test_the_peak_of_torque_has_a_time_of_its_own(demo):
    """A wrench that pushes at one time and turns at another."""
    times, wrench = np.arange(5) * 1_000_000_000, np.zeros((5, 6))
    wrench[1, 0], wrench[3, 5], wrench[4] = 7.0, 2.0, np.nan
    stream = StreamData(1.0, times, times, {"wrench": wrench}, {"wrench": "N, N·m"}, {"wrench": ()})
    found = overview(replace(demo, streams={"arm": stream}))["peaks"]["arm/wrench"]
    assert found == {"force": 7.0, "time": 1.0, "torque": 2.0, "torque_time": 3.0}


def test_gaps_are_counted_and_the_longest_is_named():
    """Two of ten records are missing, next to each other."""
    times = np.array([0, 1, 2, 3, 6, 7, 8, 9, 10]) * 1_000_000
    found = rate_of(StreamData(1000.0, times, times, {}, {}, {}))
    assert (found["records"], found["gaps"]) == (9, 1)
    assert found["longest_gap"] == pytest.approx(0.003) and found["rate"] == pytest.approx(800.0)

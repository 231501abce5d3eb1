"""Tuning: ultimate gains of loops known in closed form, the classic table, and sweeps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from farhand.errors import BadValue, OutOfRange, UnknownName
from farhand_lab.tuning import (
    TuningRun,
    Ultimate,
    best_of,
    find_fault,
    find_ultimate,
    grid_search,
    growth,
    period_of,
    sweep,
    ziegler_nichols,
)

DT = 0.01


def integrator(steps: int, limit: float = math.inf):
    """Responses of x' = u with a delay, u = −K x cut at a limit, from a start at 1."""

    def respond(gains: np.ndarray) -> np.ndarray:
        x, sent, log = np.ones(len(gains)), [np.zeros(len(gains))] * steps, []
        for _ in range(3000):
            log.append(x)
            sent.append(np.clip(-gains * x, -limit, limit))
            x = x + DT * sent.pop(0)
        return np.array(log)

    return respond


@pytest.mark.parametrize("steps", [1, 4, 9])
@pytest.mark.parametrize("limit", [math.inf, 30.0])
def test_the_ultimate_gain_of_a_delayed_integrator_is_found(steps, limit):
    """The roots of z^(m+1) − z^m + K T = 0 reach the circle at K T = 2 sin(π/(4m + 2))."""
    with np.errstate(all="ignore"):
        found = find_ultimate(integrator(steps, limit), 1.0, 300.0, DT)
    assert found.gain == pytest.approx(2.0 * math.sin(math.pi / (4 * steps + 2)) / DT, rel=0.02)
    assert found.period == pytest.approx((4 * steps + 2) * DT, rel=0.02)


def test_a_loop_that_never_oscillates_is_an_error():
    """So is one that always does."""
    with pytest.raises(OutOfRange, match="above"):
        find_ultimate(integrator(4), 1.0, 2.0, DT)
    with pytest.raises(OutOfRange, match="below"), np.errstate(all="ignore"):
        find_ultimate(integrator(4), 100.0, 300.0, DT)
    with pytest.raises(BadValue):
        find_ultimate(integrator(4), 3.0, 1.0, DT)


def test_the_table_of_ziegler_and_nichols():
    """K_u = 25 and T_u = 1.2 s give the published P = 20, D = 3."""
    ultimate = Ultimate(25.0, 1.2)
    gains = ziegler_nichols(ultimate, "PD")
    assert (gains.proportional, gains.integral, gains.derivative) == pytest.approx((20.0, 0.0, 3.0))
    assert ziegler_nichols(ultimate, "P").proportional == 12.5
    assert ziegler_nichols(ultimate, "PI").integral == pytest.approx(11.25)
    pid = ziegler_nichols(ultimate, "PID")
    assert (pid.proportional, pid.integral, pid.derivative) == pytest.approx((15.0, 25.0, 2.25))
    with pytest.raises(UnknownName, match="PID"):
        ziegler_nichols(ultimate, "DP")


def test_growth_and_period_of_a_known_wave():
    """A decaying sine shrinks by its decay over a third of the record."""
    t = np.arange(0.0, 9.0, DT)
    wave = np.exp(-0.2 * t) * np.sin(2.0 * np.pi * t / 0.5)
    assert growth(wave) == pytest.approx(-0.6, abs=0.01)
    assert period_of(3.0 + np.sin(2.0 * np.pi * t / 0.5), DT) == pytest.approx(0.5, rel=1e-3)
    assert math.isnan(period_of(np.ones(100), DT))
    assert growth(np.zeros(90)) == -math.inf


def test_a_sweep_reports_every_pair_with_its_own_errors():
    """Standard deviations per joint, their root mean square, and the mean absolute error."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(4000, 1, 2))

    def track(p: np.ndarray, d: np.ndarray) -> np.ndarray:
        return noise * np.array([1.0, 3.0]) / p[:, None]

    rows = sweep(track, [(1.0, 0.0), (2.0, 0.5)])
    np.testing.assert_allclose(rows[0].sigma, [1.0, 3.0], rtol=0.05)
    assert rows[0].sigma_all == pytest.approx(math.sqrt(5.0), rel=0.05)
    assert rows[1].sigma_all == pytest.approx(0.5 * rows[0].sigma_all)
    assert rows[1].mean_absolute == pytest.approx(0.5 * rows[0].mean_absolute)
    assert (rows[1].proportional, rows[1].derivative) == (2.0, 0.5)


def test_rough_runs_are_told_from_smooth_ones():
    """Noise is chatter, a line is an oscillation, a slow motion with a step in it is neither."""
    t = np.arange(1000)[:, None] * 0.004
    smooth = 0.5 * np.sin(0.8 * t) + 0.05 * (t > 2.0)
    rng = np.random.default_rng(0)
    assert find_fault(smooth, 0.004) == ""
    assert find_fault(smooth + 0.02 * rng.normal(size=t.shape), 0.004) == "chatter"
    assert find_fault(smooth + 0.05 * np.sin(2 * np.pi * 5.0 * t), 0.004) == "oscillation"


def test_a_search_over_gains_takes_the_best_smooth_run():
    """Smallest sum of metrics, each over its best; runs that chatter or are NaN do not count."""
    runs = {
        (1.0,): TuningRun((1.0,), (4.0, 0.2)),
        (2.0,): TuningRun((2.0,), (2.0, 0.1)),
        (3.0,): TuningRun((3.0,), (1.0, 0.05), "chatter"),
        (4.0,): TuningRun((4.0,), (float("nan"), 0.01)),
        (5.0,): TuningRun((5.0,), (1.8, 0.2)),
    }
    best, tried = grid_search(runs.__getitem__, list(runs))
    assert best.gains == (2.0,)
    assert len(tried) == 5


def test_a_search_in_which_no_run_counts_says_why():
    """With the faults named."""
    with pytest.raises(BadValue, match="none of 2 runs counts: oscillation, not finite"):
        best_of([TuningRun((1.0,), (1.0,), "oscillation"), TuningRun((2.0,), (float("inf"),))])

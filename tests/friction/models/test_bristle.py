"""Bristles against a walk along their way, and the reset integrator against its equation."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.friction import make
from farhand.parameters import assign

K, DELTA, DT = 2.5, 4.5e-4, 1e-3


def walked(bent: float, distance: float, holds: list[float]) -> tuple[float, float]:
    """Work and end of one bristle that is carried along, in units of K δ² and δ; closed
    intervals.
    """
    work = 0.0
    for hold in holds:
        if bent + distance <= 1.0:
            break
        work += 0.5 * (1.0 - bent**2)
        distance, bent = distance - (1.0 - bent), hold
    end = bent + distance
    return work + 0.5 * (end**2 - bent**2), end


@pytest.mark.parametrize("way", [1.0, -1.0])
@pytest.mark.parametrize("distance", [0.3, 0.9, 1.4, 2.1])
def test_every_bristle_is_carried_snaps_and_takes_hold_where_it_was_drawn(way, distance):
    """The torque is the work of all bristles over the way; each ends where a walk of its own
    ends.
    """
    model = make("bristle", bristles=40, seed=3)
    model.state[:, 0] = way * DELTA * np.linspace(-0.9, 0.95, 40)
    holds, before = 2.0 * model._draws[:-1, :, 0] - 1.0, way * model.state[:, 0] / DELTA
    walks = [walked(b, distance, list(h)) for b, h in zip(before, holds.T, strict=True)]
    works, ends = np.array(walks).T
    assert ends.max() <= 1.0  # none snaps more often than the step follows
    force = model.step(np.array([way * distance * DELTA / DT]), DT)
    assert force[0] == pytest.approx(way * K * DELTA * works.sum() / distance, rel=1e-9)
    np.testing.assert_allclose(model.state[:, 0], way * DELTA * ends, atol=1e-12)


def test_over_a_long_step_bristles_do_the_work_of_many_snaps():
    """The mean of a hundred thousand that are followed snap by snap, and the spread of their
    ends.
    """
    rng, count, far = np.random.default_rng(0), 100_000, 5.0
    bent, left, work = np.zeros(count), np.full(count, far), np.zeros(count)
    while (snaps := bent + left > 1.0).any():
        work[snaps] += 0.5 * (1.0 - bent[snaps] ** 2)
        left[snaps] -= 1.0 - bent[snaps]
        bent[snaps] = rng.uniform(-1.0, 1.0, np.count_nonzero(snaps))
    end = bent + left
    work += 0.5 * (end**2 - bent**2)
    model = make("bristle", bristles=count, seed=1)
    force = model.step(np.array([-far * DELTA / DT]), DT)[0]
    assert -force / (K * DELTA * count) == pytest.approx(work.mean() / far, rel=4e-3)
    assert -force == pytest.approx(model.steady(1.0), rel=0.05)
    ends = -model.state[:, 0] / DELTA
    assert ends.mean() == pytest.approx(end.mean(), abs=0.05)
    assert ends.std() == pytest.approx(end.std(), abs=0.05)


def test_bristles_spring_before_they_slide_and_keep_what_was_put_in():
    """Work equals stored energy, and the joint that stands still feels all springs."""
    model, work = make("bristle"), 0.0
    for _ in range(30):
        work += model.step(np.array([0.01]), DT)[0] * 0.01 * DT
    x = 30 * 0.01 * DT
    assert model.stored[0] == pytest.approx(work, rel=1e-9)
    assert model.stored[0] == pytest.approx(100 * 0.5 * K * x**2)
    assert model.step(np.zeros(1), DT)[0] == pytest.approx(100 * K * x)
    assert model.state.shape == (100, 1)


def test_bristles_take_hold_elsewhere_each_time_and_another_number_begins_anew():
    """The same places only after a reset, or with the same seed."""
    model = make("bristle")
    model.step(np.array([1.0]), DT)
    first = model.state.copy()
    model.step(np.array([0.0]), DT)
    model.state[:] = 0.0
    model.step(np.array([1.0]), DT)
    assert np.abs(model.state - first).max() > 0.1 * DELTA
    assign({"f": model}, "f.stiffness", "2.0")
    assert model.state.any()
    assign({"f": model}, "f.bristles", "50")
    assert model.state.shape == (50, 1) and not model.state.any()


def test_the_reset_integrator_is_a_stiffer_spring_until_it_slides():
    """F = (1 + a) σ0 z + σ1 ż before sliding, σ0 z0 after, and a share of a in the step between."""
    model = make("reset-integrator", stiffness=100.0, deflection=1e-3, stiction=1.5, damping=0.2)
    assert model.step(np.array([0.4]), DT)[0] == pytest.approx(2.5 * 100.0 * 4e-4 + 0.2 * 0.4)
    assert model.step(np.zeros(1), DT)[0] == pytest.approx(2.5 * 100.0 * 4e-4)
    assert model.stored[0] == pytest.approx(0.5 * 2.5 * 100.0 * 4e-4**2)
    assert model.step(np.array([-0.6]), DT)[0] == pytest.approx(-2.5 * 100.0 * 2e-4 - 0.2 * 0.6)
    # 0.8 of the 1.6 mm of this step are left before it slides
    share = 0.8 / 1.6
    expected = -(1.0 + 1.5 * share) * 100.0 * 1e-3 - 0.2 * 0.8e-3 / DT
    assert model.step(np.array([-1.6]), DT)[0] == pytest.approx(expected)
    assert model.step(np.array([-1.6]), DT)[0] == pytest.approx(-100.0 * 1e-3)
    assert model.step(np.zeros(1), DT)[0] == pytest.approx(-100.0 * 1e-3)
    assert model.steady(-2.0) == pytest.approx(-0.1) and model.state[0, 0] == -1e-3

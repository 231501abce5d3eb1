"""Position and rate in one: no jump, constant speed, no limit to the reach."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from farhand.errors import OutOfRange
from farhand.mapping.pen import HybridPosition, Region
from farhand.parameters import assign

DT = 1e-3
pens = arrays(float, (40, 3), elements=st.floats(-0.15, 0.15, allow_nan=False))


def placed(**parameters) -> HybridPosition:
    """At (0.35, 0, 0.35) with the pen at its origin."""
    hybrid = HybridPosition(**parameters)
    hybrid.place(np.zeros(3), np.array([0.35, 0.0, 0.35]))
    return hybrid


@given(pens, st.floats(0.0, 0.4))
@settings(max_examples=60)
def test_the_target_never_jumps_beyond_the_pens_own_motion(path, hysteresis):
    """A tick moves the target by the pen's step (inside), by v dt (outside), or not at all."""
    hybrid = placed(hysteresis=hysteresis)
    before_h, before = np.zeros(3), hybrid.position.copy()
    for h in path:
        was_rate = hybrid.rate
        hybrid.step(h, DT)
        moved = np.linalg.norm(hybrid.position - before)
        if hybrid.rate:
            assert moved == pytest.approx(hybrid.speed * DT, rel=1e-9)
        elif was_rate:
            assert moved == 0.0
        else:
            assert moved == pytest.approx(np.linalg.norm(h - before_h), abs=1e-12)
        before_h, before = h, hybrid.position.copy()


@given(pens)
@settings(max_examples=40)
def test_target_pen_and_drift_always_belong_together(path):
    """P = h + d, in both modes: what travels over a link is the drift alone."""
    hybrid = placed()
    for h in path:
        hybrid.step(h, DT)
        np.testing.assert_allclose(hybrid.position, h + hybrid.drift, atol=1e-12)


def test_outside_the_pen_steers_but_does_not_throttle():
    """Farther out is not faster."""
    near, far = placed(), placed()
    for _ in range(100):
        near.step(np.array([0.0, 0.097, 0.0]), DT)
        far.step(np.array([0.0, 0.15, 0.0]), DT)
    np.testing.assert_allclose(near.position, far.position, atol=1e-12)


def test_hysteresis_keeps_a_trembling_pen_from_switching():
    """A pen that trembles across the plane switches at every crossing, or once."""

    def switches(hysteresis: float) -> int:
        hybrid, modes = placed(hysteresis=hysteresis), []
        for k in range(200):
            hybrid.step(np.array([0.042 + 0.001 * (-1) ** k, 0.0, 0.0]), DT)
            modes.append(hybrid.rate)
        return int(np.abs(np.diff(modes)).sum())

    assert switches(0.0) == 199 and switches(0.1) <= 1


def test_a_clutched_pen_moves_alone_and_is_followed_again_from_there():
    """The target holds while the pen goes elsewhere; afterwards it follows without a jump."""
    hybrid = placed()
    hybrid.step(np.array([0.02, 0.0, 0.0]), DT)
    held = hybrid.position.copy()
    hybrid.clutch()
    for x in np.linspace(0.02, -0.02, 20):
        hybrid.step(np.array([x, 0.0, 0.0]), DT)
    np.testing.assert_array_equal(hybrid.position, held)
    hybrid.declutch()
    hybrid.step(np.array([-0.02, 0.0, 0.0]), DT)
    np.testing.assert_allclose(hybrid.position, held, atol=1e-15)
    hybrid.step(np.array([-0.01, 0.0, 0.0]), DT)
    np.testing.assert_allclose(hybrid.position, held + [0.01, 0.0, 0.0], atol=1e-15)


def test_recentring_undoes_the_drift():
    """After an excursion the pen's origin can be given its first target again."""
    hybrid = placed()
    for _ in range(1000):
        hybrid.step(np.array([0.05, 0.0, 0.0]), DT)
    hybrid.place(np.zeros(3), np.array([0.35, 0.0, 0.35]))
    np.testing.assert_array_equal(hybrid.step(np.zeros(3), DT), [0.35, 0.0, 0.35])


def test_a_pen_at_the_origin_of_a_region_that_excludes_it_stands():
    """No direction, no motion, and no division by zero."""
    hybrid = placed(region=Region(centre=np.array([1.0, 0.0, 0.0])))
    before = hybrid.position.copy()
    np.testing.assert_array_equal(hybrid.step(np.zeros(3), DT), before)


def test_a_speed_the_limiter_could_not_follow_is_refused():
    """Beyond 0.25 m/s the setpoint would run away (ER-05)."""
    with pytest.raises(OutOfRange, match="0.25"):
        assign({"hybrid": HybridPosition()}, "hybrid.speed", 1.0)


@pytest.mark.parametrize("shrunk", [0.0, 0.2])
def test_the_region_is_a_spheroid_cut_by_two_planes(shrunk):
    """Both sides of each, also of the smaller region that a hand must come back to."""
    region = Region(centre=np.array([0.02, 0.01, -0.01]), front=0.1, floor=-0.1)
    left = 1.0 - shrunk
    for axis, size in enumerate(region.axes):
        for sense in (1.0, -1.0):
            for share in (0.99, 1.01):
                h = region.centre + share * left * sense * size * np.eye(3)[axis]
                assert region.level(h) == pytest.approx(share * left)
                outside = h[0] > 0.1 * left or h[2] < -0.1 * left
                assert region.inside(h, shrunk) is (share < 1.0 and not outside)
    for share in (0.99, 1.01):
        front, floor = region.centre.copy(), region.centre.copy()
        front[0], floor[2] = share * 0.1 * left, share * -0.08 * left
        assert region.inside(front, shrunk) is (share < 1.0)
        low = Region(centre=region.centre, floor=-0.08)
        assert low.inside(floor, shrunk) is (share < 1.0)

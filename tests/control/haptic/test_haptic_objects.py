"""Haptic objects: distances, ways back, and membership that agrees with inverse kinematics."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.control.haptic.haptic_objects import (
    HalfSpace,
    HapticObject,
    LimitForce,
    ObjectForce,
    Torus,
    VirtualWorkspace,
    exact_arm,
    exact_leg,
    published_arm,
)
from farhand.errors import BadValue
from farhand.mapping.limbs import ArmChain, LegChain

CHAINS = [ArmChain(), ArmChain(side=-1), LegChain(), LegChain(side=-1)]
EVERY = [
    *exact_arm(ArmChain()),
    *exact_arm(ArmChain(side=-1)),
    *published_arm(ArmChain()),
    *exact_leg(LegChain()),
]


def objects(chain: ArmChain | LegChain) -> list[HapticObject]:
    return exact_arm(chain) if isinstance(chain, ArmChain) else exact_leg(chain)


@pytest.mark.parametrize("chain", CHAINS, ids=str)
def test_a_place_is_inside_all_objects_exactly_if_a_posture_reaches_it(
    chain: ArmChain | LegChain,
) -> None:
    """A hundred thousand places; for the leg those with the hip above the ankle."""
    p = np.random.default_rng(3).uniform(-0.29, 0.29, (100_000, 3)) + [
        0.0,
        0.0,
        getattr(chain, "sole", 0.0),
    ]
    feasible = chain.candidates(p)[1]
    reached = feasible.any(-1) if isinstance(chain, ArmChain) else feasible[:, 0]
    np.testing.assert_array_equal(ObjectForce(objects(chain), LimitForce()).inside(p), reached)


@pytest.mark.parametrize("chain", CHAINS, ids=str)
def test_a_posture_inside_its_limits_is_inside_all_objects(chain: ArmChain | LegChain) -> None:
    """Seen from the joints."""
    q = np.random.default_rng(4).uniform(
        np.array(chain.lowest) + 0.01, np.array(chain.highest) - 0.01, (5000, 3)
    )
    p = chain.forward(q)
    above = p[:, 2] > 0.055 if isinstance(chain, LegChain) else np.ones(len(p), dtype=bool)
    assert ObjectForce(objects(chain), LimitForce()).inside(p[above]).all()


@pytest.mark.parametrize("item", EVERY, ids=lambda item: item.name)
def test_a_direction_is_the_gradient_of_its_distance_and_one_place_is_as_many(
    item: HapticObject,
) -> None:
    """Where the distance is finite and away from seams."""
    for p in np.random.default_rng(5).uniform(-0.2, 0.2, (50, 3)):
        s, n = item.locate(p)
        assert np.linalg.norm(n) == pytest.approx(1.0)
        many = item.locate(np.stack([p, p]))
        np.testing.assert_allclose(many[0], s, atol=1e-15)
        if not np.isfinite(s) or (item.name == "ankle-front" and s < 0):
            continue
        step = np.array(
            [
                (item.locate(p + 1e-6 * e)[0] - item.locate(p - 1e-6 * e)[0]) / 2e-6
                for e in np.eye(3)
            ]
        )
        if np.isfinite(step).all() and np.abs(step).max() < 10.0:
            np.testing.assert_allclose(n, step, atol=1e-4)


@pytest.mark.parametrize("side", [1, -1])
def test_the_published_ball_is_exact_without_abduction(side: int) -> None:
    """Shoulder flexion at its limit: however the elbow bends, the hand is on the ball."""
    arm = ArmChain(side=side)
    ball = published_arm(arm)[-1]
    for elbow in np.linspace(arm.lowest[2], arm.highest[2], 5):
        hand = arm.forward(np.array([arm.lowest[0], 0.0, elbow]))
        assert ball.locate(hand)[0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("size", [1e-3, 1.0, 100.0])
def test_a_triangle_is_a_plane_and_a_line_is_none_whatever_their_size(size: float) -> None:
    """A board of a millimetre as well as one of a hundred metres."""
    first, second, free = np.zeros(3), np.array([size, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
    for height, thin in ((0.5, False), (3e-6, False), (3e-7, True), (0.0, True)):
        third = size * np.array([0.7, height, 0.0])
        if thin:
            with pytest.raises(BadValue, match="on a line"):
                HalfSpace.through(first, second, third, free)
        else:
            plane = HalfSpace.through(first, second, third, free)
            np.testing.assert_allclose(plane.normal, [0.0, 0.0, 1.0], atol=1e-9)
    with pytest.raises(BadValue, match="on a line"):
        HalfSpace.through(first, first, first, free)


def test_a_torus_is_as_far_as_its_ring() -> None:
    """On its circle the distance is minus the ring's radius; on its axis √(R² + z²) − r."""
    torus = Torus("ring", (0.0, 0.0, 1.0), 0.1, 0.03)
    assert torus.locate(np.array([0.0, 0.1, 0.0]))[0] == pytest.approx(-0.03)
    assert torus.locate(np.array([1e-9, 0.0, 0.05]))[0] == pytest.approx(np.hypot(0.1, 0.05) - 0.03)


@given(st.lists(st.floats(-0.1, 0.1), min_size=9, max_size=9))
def test_a_plane_goes_through_its_three_places_or_is_refused(numbers: list[float]) -> None:
    """And its free side is where the pen was."""
    p = np.array(numbers).reshape(3, 3)
    n = np.cross(p[1] - p[0], p[2] - p[0])
    if (
        np.linalg.norm(n) < 1e-5 * np.linalg.norm(p[1] - p[0]) * np.linalg.norm(p[2] - p[0])
        or not n.any()
    ):
        return
    free = p[0] + 0.05 * n / np.linalg.norm(n)
    try:
        plane = HalfSpace.through(p[0], p[1], p[2], free)
    except BadValue:
        return
    np.testing.assert_allclose(plane.locate(p)[0], 0.0, atol=1e-9)
    assert plane.locate(free)[0] == pytest.approx(0.05)


@pytest.mark.parametrize("scale", [1.0, 2.0, 4.0])
def test_the_virtual_workspace_begins_where_both_are_and_pushes_alike_at_every_scale(
    scale: float,
) -> None:
    """Zones are robot metres."""
    total = ObjectForce(exact_arm(ArmChain()), LimitForce())
    space = VirtualWorkspace(total, scale)
    end = np.array([0.14, 0.11, -0.07])
    space.begin(np.array([0.01, 0.02, 0.03]), end)
    np.testing.assert_allclose(space.place(np.array([0.01, 0.02, 0.03])), end, atol=1e-15)
    np.testing.assert_allclose(
        space.force(space.centre + end / scale), total.force(end), atol=1e-12
    )


def test_zones_in_hand_metres_are_as_wide_for_the_hand_at_every_scale() -> None:
    """A wall that the pen is 10 mm away from pushes as it does 10 mm away without a scale."""
    law = LimitForce(zone=0.03)
    wall = ObjectForce([HalfSpace("wall", (0.0, 0.0, 0.0), (0.0, 0.0, 1.0))], law)
    for scale in (0.5, 1.0, 4.0):
        space = VirtualWorkspace(wall, scale, in_hand=True)
        for away in (0.01, 0.029, 0.031):
            np.testing.assert_allclose(
                space.force(np.array([0.3, 0.0, away])), [0.0, 0.0, law.magnitude(away)], atol=1e-12
            )

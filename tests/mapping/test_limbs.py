"""Closed forms of the limbs: inverse, mirrored, differentiated, and a status if out of reach."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.mapping.limbs import ArmChain, LegChain

CHAINS = [ArmChain(), ArmChain(side=-1), LegChain(), LegChain(side=-1)]
share = st.floats(0.0, 1.0)
shares = st.tuples(share, share, share)


def posture(chain: ArmChain | LegChain, parts: tuple[float, float, float]) -> np.ndarray:
    return np.array(chain.lowest) + np.array(parts) * np.subtract(chain.highest, chain.lowest)


@pytest.mark.parametrize("chain", CHAINS, ids=str)
@given(parts=shares)
def test_a_place_that_a_posture_reaches_is_reached_again(chain: ArmChain | LegChain, parts) -> None:
    """Whatever branch is taken, the end comes to the same place inside the limits."""
    q = posture(chain, parts)
    found = chain.solve(chain.forward(q), q)
    assert found.status == "solved"
    assert found.position_error < 1e-9


@pytest.mark.parametrize("chain", CHAINS, ids=str)
def test_the_branch_nearest_the_present_posture_is_taken(chain: ArmChain | LegChain) -> None:
    """Small steps of the end make small steps of the joints, away from singular postures."""
    q = np.array(chain.lowest) + 0.3 * np.subtract(chain.highest, chain.lowest)
    for _ in range(20):
        after = chain.solve(chain.forward(q) + 1e-4, q).q
        assert np.abs(after - q).max() < 0.01
        q = after


@pytest.mark.parametrize("chain", CHAINS, ids=str)
@given(parts=shares)
def test_jacobians_are_derivatives(chain: ArmChain | LegChain, parts) -> None:
    """Central differences, of the end and of the leg's centre of gravity."""
    q, h = posture(chain, parts), 1e-6
    pairs = [(chain.forward, chain.jacobian)]
    if isinstance(chain, LegChain):
        pairs.append((chain.centre, chain.centre_jacobian))
    for function, jacobian in pairs:
        numeric = np.stack(
            [(function(q + h * e) - function(q - h * e)) / (2 * h) for e in np.eye(3)], axis=-1
        )
        np.testing.assert_allclose(jacobian(q), numeric, atol=1e-9)


@pytest.mark.parametrize("kind", [ArmChain, LegChain])
@given(parts=shares)
def test_the_right_side_mirrors_the_left(kind: type, parts) -> None:
    """The same anatomical angles put the end at the mirrored place."""
    q = posture(kind(), parts)
    np.testing.assert_allclose(
        kind(side=-1).forward(q), kind().forward(q) * [1.0, -1.0, 1.0], atol=1e-15
    )


@pytest.mark.parametrize(
    ("place", "status"),
    [
        ((1.0, 0.0, 0.0), "unreachable"),
        ((-0.1, 0.05, 0.0), "limited"),
        ((np.nan, 0.0, 0.0), "invalid"),
    ],
)
def test_a_place_out_of_reach_holds_the_posture_and_says_so(
    place: tuple[float, ...], status: str
) -> None:
    """Never not-a-number."""
    near = np.array([0.1, 0.2, 0.3])
    found = ArmChain().solve(np.array(place), near)
    assert found.status == status
    np.testing.assert_array_equal(found.q, near)


def test_a_straight_elbow_and_a_sideways_arm_are_singular() -> None:
    """The determinant of the arm vanishes there and nowhere near a bent elbow."""
    arm = ArmChain()
    for q, singular in (
        ([0.5, 0.7, 0.0], True),
        ([0.5, np.pi / 2, 1.0], True),
        ([0.5, 0.7, 1.0], False),
    ):
        assert bool(arm.singular(np.array(q))) is singular
        assert arm.determinant(np.array(q)) == pytest.approx(
            np.linalg.det(arm.jacobian(np.array(q))), abs=1e-15
        )

"""The synthetic force: a lift everywhere, pushes at limits, never more than the device's peak."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from farhand.control.haptic.haptic_objects import HalfSpace, exact_arm
from farhand.control.haptic.synthetic import SyntheticForce
from farhand.mapping.limbs import ArmChain

coordinate = st.floats(-0.5, 0.5)


def force(**settings: object) -> SyntheticForce:
    return SyntheticForce(objects=exact_arm(ArmChain()), **settings)  # type: ignore[arg-type]


@given(st.tuples(coordinate, coordinate, coordinate))
def test_it_never_exceeds_the_peak(place: tuple[float, float, float]) -> None:
    """Far out as well."""
    assert np.linalg.norm(force().force(np.array(place))) <= 3.3 * (1 + 1e-12)


def test_free_space_is_the_lift_alone_and_so_is_an_uncoupled_pen() -> None:
    """0.441 N up."""
    middle = ArmChain().forward(np.radians([40.0, 35.0, 75.0]))
    for shown in (force().force(None), force().force(middle, 0.0)):
        np.testing.assert_allclose(shown, [0.0, 0.0, 0.44145])


def test_the_outer_limit_pulls_back_to_the_shoulder() -> None:
    """A stretched arm."""
    place = 0.228 * np.array([0.7, 0.5, -0.5]) / np.linalg.norm([0.7, 0.5, -0.5])
    push = force().raw(place)
    assert push @ place < -0.9 * 2.4 * np.linalg.norm(place)


def test_a_board_pushes_along_its_normal() -> None:
    """In free space, 1 mm in front of it."""
    middle = ArmChain().forward(np.radians([40.0, 35.0, 75.0]))
    without, made = force().raw(middle), force()
    made.board.surface = HalfSpace("board", (middle[0] + 1e-3, 0.0, 0.0), (-1.0, 0.0, 0.0))
    np.testing.assert_allclose(
        made.raw(middle) - without, [-float(made.contact.magnitude(1e-3)), 0.0, 0.0], atol=1e-12
    )


def test_half_coupled_is_half_pushed() -> None:
    """The lift stays whole."""
    place = np.array([0.15, 0.12, -0.11])
    law = force(peak=100.0)
    half, whole = law.force(place, 0.5).copy(), law.force(place, 1.0).copy()
    np.testing.assert_allclose(half - law.lift, 0.5 * (whole - law.lift), atol=1e-12)
    np.testing.assert_allclose(whole - law.lift, law.raw(place), atol=1e-12)
    assert np.linalg.norm(law.raw(place)) > 1.0

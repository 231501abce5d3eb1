"""The passive stiffness of a rendered wall."""

from __future__ import annotations

import math

import pytest

from farhand.analysis.stability.cells import rendered_wall
from farhand.analysis.stability.limits import passive_stiffness
from farhand.analysis.stability.loop import HANDS, Contact, Loop, LoopTool
from farhand.analysis.stability.spectrum import stable
from farhand.errors import BadValue


def test_sampling_and_encoder_each_have_their_price():
    """2 (b − B) / T and 2 f / Δ, whichever is less."""
    assert passive_stiffness(5.0, 1e-3) == pytest.approx(10_000.0)
    assert passive_stiffness(5.0, 1e-3, virtual_damping=-2.0) == pytest.approx(6000.0)
    assert passive_stiffness(5.0, 1e-3, friction=0.1, quantum=5e-5) == pytest.approx(4000.0)
    assert passive_stiffness(1.0, 1e-3, virtual_damping=3.0) == 0.0
    assert passive_stiffness(math.inf, 1e-3) == math.inf


@pytest.mark.parametrize("hand", HANDS)
def test_what_is_passive_is_stable_in_any_hand(hand):
    """Passivity promises it, whatever holds the device."""
    K = 0.98 * passive_stiffness(5.0, 1e-3)
    loop = Loop(
        rendered_wall(K), LoopTool(0.7, 5.0), LoopTool(1.0, 5.0), HANDS[hand], Contact(1000.0, 50.0)
    )
    assert stable(loop)


@pytest.mark.parametrize("given", [(1.0, 0.0), (1.0, -1e-3), (math.nan, 1e-3), (1.0, math.nan)])
def test_numbers_that_are_none_are_refused(given):
    """A damping that is not a number used to allow 0 N/m, as if that were known."""
    with pytest.raises(BadValue, match="passive stiffness"):
        passive_stiffness(*given)

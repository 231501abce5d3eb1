"""A visitor's hand on a pen: however it is dragged, no arm is led into its limits."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.console.status import GAVE_WAY
from tests.console.pulling import FAR, Page

HELD_S, REST_S = 5.0, 2.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "direction"),
    [("rest", (0, 0, -1)), ("rest", (1, 0, 0)), ("rest", (0, 1, 0)), ("wall", (-1, 0, 0))],
    ids=["down", "back", "aside", "into the wall"],
)
def test_a_pull_far_out_of_the_region_stops_nothing(scenario, direction):
    """Twice, held for seconds: the hand gives way and says so, and no guard trips."""
    page = Page("youbot", scenario)
    try:
        page.run(1.0)
        for _ in range(2):
            far = page.pull(FAR * np.array(direction))
            page.run(HELD_S)
            assert [str(trip) for trip in page.rig.session.trips] == []
            page.let_go(far)
            page.run(REST_S)
        assert [str(trip) for trip in page.rig.session.trips] == []
        assert GAVE_WAY in page.said
        assert not page.console.grasp.gave_way
    finally:
        page.close()

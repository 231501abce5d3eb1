"""A visitor's hand that pulls hard and long: it holds, and no guard trips."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.console.pulling import FAR, Page
from tests.console.test_controls import FRAME

HELD_S, REST_S = 6.0, 2.0


@pytest.fixture
def opened() -> Iterator[Any]:
    """Opens pages, and takes them down."""
    pages: list[Page] = []

    def open_page(rig: str, scenario: str) -> Page:
        pages.append(Page(rig, scenario))
        return pages[-1]

    yield open_page
    for page in pages:
        page.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rig", "scenario", "direction"),
    [
        ("hazardous", "wall", (1, 0, 0)),
        ("hazardous", "sponge", (1, 0, 0)),
        ("dual-arm", "rest", (0, 1, 0)),
    ],
)
def test_a_pull_of_half_a_metre_that_is_held_stops_nothing(opened, rig, scenario, direction):
    """Into a wall and to the arms' ends, twice; the follower keeps well below its guard's force."""
    page = opened(rig, scenario)
    follower = page.rig.session.stations[-1]
    page.run(1.0)
    for _ in range(2):
        far = page.pull(FAR * np.array(direction))
        page.run(HELD_S)
        page.let_go(far)
        page.run(REST_S)
    assert [str(trip) for trip in page.rig.session.trips] == []
    assert page.most < 0.75 * follower.guard.force


@pytest.mark.slow
def test_a_hand_that_pressed_to_its_limit_pulls_out_at_once(opened):
    """Only the way that loads the follower is barred; the other way it moves with all its speed."""
    page = opened("hazardous", "sponge")
    page.run(1.0)
    far = page.pull(np.array([FAR, 0.0, 0.0]))
    page.run(HELD_S)
    grasp = page.console.grasp
    assert grasp._at_limit and page.touch.force > 20.0
    began = grasp._end[0]
    page.move(far - [2.0 * FAR, 0.0, 0.0])
    page.run(0.5)
    assert grasp._end[0] - began == pytest.approx(-0.5 * grasp._speed, rel=0.1)


def test_an_open_hand_takes_hold_once(opened):
    """The same change is read in several frames; the hand's path begins at the first of them."""
    page = opened("dual-arm", "rest")
    page.run(2 * FRAME)
    began = page.console.grasp._start.copy()
    page.pull(np.array([0.0, FAR, 0.0]))
    page.run(20 * FRAME)
    np.testing.assert_allclose(page.console.grasp._start, began, atol=1e-3)


def test_a_hand_that_is_held_does_not_move_with_its_path_as_well(opened):
    """No faster than it may, although the scenario leads it too."""
    page = opened("hazardous", "wall")
    page.run(1.0)
    page.pull(np.array([FAR, 0.0, 0.0]))
    page.run(FRAME)
    grasp = page.console.grasp
    began = grasp._end
    page.run(0.5)
    assert np.linalg.norm(grasp._end - began) <= 1.01 * 0.5 * grasp._speed

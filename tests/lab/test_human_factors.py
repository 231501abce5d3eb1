"""Human factors: every criterion can be met and missed; unknown is neither."""

from __future__ import annotations

from dataclasses import replace

import pytest

from farhand_lab.youbot.measures import Display, check, noticed, thresholds

GOOD = Display(3e4, 0.01, 20.0, 30.0, 12.0, 4000.0)


def verdicts(display: Display) -> dict[str, bool | None]:
    """By name."""
    return {judgement.name: judgement.ok for judgement in check(display)}


def test_a_display_beyond_every_threshold_meets_all():
    """There is such a thing, on paper."""
    assert set(verdicts(GOOD).values()) == {True}


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"wall_stiffness": 24_199.0}, "hard-wall stiffness"),
        ({"force_resolution": 0.37}, "force resolution"),
        ({"largest_force": 16.4}, "force range"),
        ({"force_bandwidth": 19.0}, "force bandwidth"),
        ({"motion_bandwidth": 9.9}, "motion bandwidth"),
        ({"rate": 1999.0}, "vibration bandwidth"),
    ],
)
def test_each_criterion_alone_can_be_missed(change, name):
    """A little below its threshold, and nothing else changes."""
    found = verdicts(replace(GOOD, **change))
    assert [key for key, ok in found.items() if not ok] == [name]


def test_what_is_not_known_is_neither_met_nor_missed():
    """And says so."""
    judged = check(Display())
    assert {judgement.ok for judgement in judged} == {None} and all(
        "not known" in str(j) for j in judged
    )


def test_the_published_wall_falls_short_by_its_sentence():
    """70 N/m is 0.289 % of what feels rigid."""
    wall = check(Display(wall_stiffness=70.0))[0]
    assert str(wall) == "hard-wall stiffness: 70 N/m, missed (0.289 % of 24200 N/m)"


def test_a_change_is_noticed_beyond_seven_per_cent_and_the_absolute_step():
    """Small forces have the absolute threshold, large ones the relative."""
    assert noticed(1.0, 0.4) and not noticed(1.0, 0.3)
    assert noticed(20.0, 1.5) and not noticed(20.0, 1.3)
    assert thresholds()["force_jnd"] == 0.07

"""Numbers for people are short, and the headline says what matters most."""

from __future__ import annotations

import pytest

from farhand.cli.summary import headline, number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.0, "0"),
        (61.018, "61.0"),
        (0.99994 * 100, "100"),
        (2500.4, "2500"),
        (0.00123456, "0.00123"),
        (-0.5, "-0.500"),
        (2.3e-9, "2e-09"),
    ],
)
def test_a_number_has_three_digits(value, text):
    """More would pretend to know more; fewer would hide a difference of one per cent."""
    assert number(value) == text


def result(trips=(), **metrics):
    return {"trips": list(trips), "metrics": {name: {"value": value, "unit": "-"} for name, value in metrics.items()}}


def test_the_headline_names_the_first_trip_if_there_was_one():
    """A run that stopped is about what stopped it."""
    trip = {"where": "follower", "time": 7.312, "kind": "force", "reason": "contact force 420 N (limit 400 N)"}
    assert headline(result([trip])) == "Follower stopped at 7.31 s: contact force 420 N (limit 400 N)"


def test_the_headline_of_a_good_run_is_tracking_and_touch():
    """How far off, and how much of the contact is felt."""
    pressed = headline(result(tracking_error_max=0.0305, reflection_in_contact=0.98, contact_force_max=60.0))
    assert pressed == "The follower is at most 30.5 mm off, and the hand feels 98.0 % of the contact force"
    assert headline(result(tracking_error_max=0.001, contact_force_max=0.2)).endswith("and touches nothing")
    assert headline(result(tracking_error_max=0.001, contact_force_max=20.0)).endswith("touches with up to 20.0 N")

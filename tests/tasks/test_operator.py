"""Operators: published human figures, lateness, and no knowledge beyond eyes and hand."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.tasks import make_person, named
from farhand.tasks.operator import Late
from farhand_lab.people import Aiming, figures, reaction


def test_an_expert_moves_reacts_and_holds_like_people_do():
    """Within the published ranges; docs/tasks.md has those of the others."""
    assert [one.name for one in figures("expert") if one.verdict != "pass"] == []


def test_a_person_who_sees_later_reacts_later():
    """The reaction is a cause, not a number in a table."""
    assert reaction("tired", 5) > reaction("expert", 5) + 0.05


def test_what_is_not_seen_is_not_acted_on():
    """A target that appears is not approached before it can have been seen."""
    trial = Aiming("expert", 0.16, 0.02, 0)
    trial.run(1.0 + make_person("expert").reaction)
    assert trial.left is None


def test_a_late_signal_is_that_of_then():
    """And the oldest there is before."""
    late = Late((1,), 0.1)
    for value in range(20):
        late.add(np.array([float(value)]))
        assert late.at(0.05)[0] == max(0, value - 5)


def test_people_differ_from_each_other_and_not_from_themselves():
    """One generator, one person."""
    one, same, other = (make_person("novice", np.random.default_rng(n)) for n in (1, 1, 2))
    assert one == same != other
    assert one.stiffness == pytest.approx(named()["novice"]["stiffness"], rel=0.8)

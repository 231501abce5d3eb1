"""The property suite finds what is there, and only that."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from farhand.friction import FRICTIONS, Coulomb, make
from farhand_lab.youbot.friction_properties import curve_error, dissipation, examine, table


@pytest.mark.parametrize(
    ("name", "yes"),
    [
        ("coulomb", {"dissipative"}),
        ("stribeck", {"Stribeck minimum", "dissipative"}),
        ("dahl", {"presliding", "rate-independent", "dissipative"}),
        ("maxwell-slip", {"presliding", "rate-independent", "non-local memory", "dissipative"}),
        ("lugre", {"presliding", "frictional lag", "Stribeck minimum", "dissipative"}),
        (
            "gms",
            {"presliding", "non-local memory", "frictional lag", "Stribeck minimum", "dissipative"},
        ),
        ("youbot-wheel-1", {"Stribeck minimum", "dissipative"}),
    ],
)
def test_each_model_shows_what_its_equation_has(name, yes):
    """Yes where the equation says so, no everywhere else."""
    assert {word for word, found in examine(name, 20.0).verdicts.items() if found} == yes


@pytest.mark.parametrize("name", sorted(FRICTIONS))
def test_random_motion_makes_no_energy(name):
    """Pauses, creep and several rad/s at 1 ms: supplied work covers the stored energy."""
    finite, least, _ = dissipation(lambda n: make(name, n), 40.0, np.random.default_rng(3))
    assert finite
    assert least >= -1e-9


def test_the_page_says_of_every_model_what_the_suite_finds():
    """The suite makes the table of docs/friction.md, from all models but the four wheels."""
    page = (Path(__file__).parents[2] / "docs" / "friction.md").read_text(encoding="utf-8")
    names = re.findall(r"^\| `([a-z0-9-]+)` \| (?:yes|–)", page, re.MULTILINE)
    assert set(names) == set(FRICTIONS) - {"youbot-wheels"}
    assert table({name: examine(name, 5.0) for name in names}) in page


def test_a_model_that_drives_is_found_out():
    """Dry friction with the wrong sign makes energy, and the suite says so."""

    @dataclass(kw_only=True)
    class Driven(Coulomb):
        name = "driven"

        def curve(self, velocity):
            return -super().curve(velocity)

    found = examine(lambda n: Driven(joints=n), 20.0)
    assert not found.verdicts["dissipative"]


def test_a_curve_that_is_not_where_sliding_ends_is_found_out():
    """``steady`` is checked against the model's own dynamics."""

    @dataclass(kw_only=True)
    class Boasting(Coulomb):
        name = "boasting"

        def steady(self, velocity):
            return 1.1 * super().steady(velocity)

    assert curve_error(lambda n: Boasting(joints=n)) > 0.05
    assert curve_error(lambda n: make("coulomb", n)) < 1e-9

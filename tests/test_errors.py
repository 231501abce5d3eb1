"""Errors: one line that names the value, the limit and the alternatives."""

from __future__ import annotations

import difflib
import pickle

import pytest

from farhand import errors


@pytest.mark.parametrize(
    "name",
    ["BadValue", "FileError", "LinkError", "Mismatch", "ModelError", "OutOfRange", "UnknownName"],
)
def test_every_error_is_a_farhand_error(name):
    """One ``except`` at the command line catches them all."""
    assert issubclass(getattr(errors, name), errors.FarhandError)


def test_an_unknown_name_lists_what_there_is_and_guesses_what_was_meant():
    """A misspelt law is answered with the right one and all others."""
    message = str(
        errors.UnknownName("law", "postion-force", ["unilateral", "position-force", "none"])
    )
    assert message == (
        "unknown law 'postion-force' (did you mean 'position-force'?);"
        " available: none, position-force, unilateral"
    )


def test_an_unknown_name_far_from_all_others_gets_no_guess():
    """A guess that is not near is worse than none."""
    assert "did you mean" not in str(errors.UnknownName("rig", "zzz", ["dual-arm"]))


def test_an_unknown_name_where_there_is_nothing_says_so():
    """An empty list of alternatives reads as a sentence, too."""
    assert str(errors.UnknownName("rig", "a", [])).endswith("available: none")


def test_a_value_out_of_range_is_named_with_its_limits_and_unit():
    """Value, limits and unit stand in one line."""
    message = str(errors.OutOfRange("wall.stiffness", -3, 0.0, 1e6, "N/m"))
    assert message == "wall.stiffness = -3 is outside [0, 1e+06] N/m"


def test_a_value_without_unit_ends_without_a_blank():
    """No trailing blank where there is no unit."""
    assert str(errors.OutOfRange("loss", 2, 0.0, 1.0)) == "loss = 2 is outside [0, 1]"


@pytest.mark.parametrize(
    "error",
    [
        errors.UnknownName("law", "x", ["y"]),
        errors.OutOfRange("w", 1, 2, 3, "m"),
        errors.BadValue("no number"),
    ],
)
def test_an_error_travels_between_processes(error):
    """It arrives as the same kind with the same line, whatever it was made from."""
    arrived = pickle.loads(pickle.dumps(error))
    assert type(arrived) is type(error) and str(arrived) == str(error)


def test_of_many_names_the_closest_are_listed_and_none_is_compared_at_length(monkeypatch):
    """A tick may have to say it: a thousand names take no thousand comparisons."""
    compared = []
    ratio = difflib.SequenceMatcher.ratio
    monkeypatch.setattr(
        difflib.SequenceMatcher, "ratio", lambda self: compared.append(1) or ratio(self)
    )
    names = [
        f"{part}.{name}{k}" for part in "abcde" for name in ("gain", "mass") for k in range(99)
    ]
    message = str(errors.UnknownName("parameter", "d.gian7", names))
    assert "(did you mean 'd.gain7'?)" in message
    assert "d.gain70" in message
    assert f"and {len(names) - errors.MOST_LISTED} more" in message
    assert len(compared) < len(names) // 20


def test_a_name_of_thousands_of_letters_is_cut():
    """One line, not a page."""
    error = errors.UnknownName("parameter", "x" * 8000, ["y"])
    assert len(str(error)) < 2 * errors.MOST_SHOWN

"""Parameters: set by path, checked in one place, refused with the same words everywhere."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.errors import BadValue, FarhandError, OutOfRange, UnknownName
from farhand.parameters import assign, describe, parameter, value_text


@dataclass
class Spring:
    stiffness: float = parameter(100.0, "N/m", "stiffness", 0.0, 1e4)
    count: int = parameter(3, "-", "how many", 1, 10)
    on: bool = parameter(True, "-", "whether it is there")
    kind: str = parameter("soft", "-", "which", choices=("soft", "hard"))
    label: str = parameter("a", "-", "any word")
    anchor: np.ndarray = parameter((0.0, 0.0, 0.0), "m", "fixed end", -1.0, 1.0)
    private: float = 5.0

    def __post_init__(self) -> None:
        self.refreshed = 0

    def refresh(self) -> None:
        self.refreshed += 1


@dataclass
class Window:
    low: float = parameter(0.0, "m", "lower end", -10.0, 10.0)
    high: float = parameter(1.0, "m", "upper end", -10.0, 10.0)

    def __post_init__(self) -> None:
        self.refresh()

    def refresh(self) -> None:
        if self.low > self.high:
            raise BadValue("low is above high")
        self.width = self.high - self.low


@dataclass
class Law:
    spring: Spring = field(default_factory=Spring)
    gain: float = parameter(1.0, "-", "gain")


@pytest.fixture
def tree():
    """A law with a spring, and a window, by name."""
    return {"law": Law(), "window": Window(), "group": {"spring": Spring()}}


@pytest.mark.parametrize(
    ("path", "value", "stored"),
    [
        ("law.spring.stiffness", "250", 250.0),
        ("law.spring.stiffness", 250, 250.0),
        ("law.spring.stiffness", np.float64(2.5), 2.5),
        ("law.spring.count", "7", 7),
        ("law.spring.count", 7.0, 7),
        ("law.spring.on", "off", False),
        ("law.spring.on", True, True),
        ("law.spring.kind", "hard", "hard"),
        ("law.spring.label", "anything", "anything"),
        ("law.gain", "-1e300", -1e300),
        ("group.spring.count", "1", 1),
    ],
)
def test_a_value_or_its_text_is_stored_in_the_type_of_the_parameter(tree, path, value, stored):
    """Text from the command line and numbers from code end up the same."""
    assert assign(tree, path, value) == stored
    found = {p: v for p, v, *_ in describe(tree)}[path]
    assert found == stored
    assert type(found) is type(stored)


@pytest.mark.parametrize(
    ("value", "stored"),
    [("0.1,0.2,0.3", (0.1, 0.2, 0.3)), ("1;0;-1", (1, 0, -1)), (0.5, (0.5,) * 3)],
)
def test_a_vector_takes_its_components_or_one_number_for_all(tree, value, stored):
    """Commas, semicolons, or one number."""
    assign(tree, "law.spring.anchor", value)
    np.testing.assert_array_equal(tree["law"].spring.anchor, stored)


@pytest.mark.parametrize(
    ("path", "value", "error", "words"),
    [
        (
            "law.spring.stiffness",
            "-1",
            OutOfRange,
            "law.spring.stiffness = -1 is outside [0, 10000] N/m",
        ),
        ("law.spring.stiffness", 1e5, OutOfRange, "outside"),
        ("law.spring.stiffness", "nan", BadValue, "finite"),
        ("law.gain", "inf", BadValue, "finite"),
        ("law.spring.stiffness", "stiff", BadValue, "is not a number"),
        ("law.spring.stiffness", "", BadValue, "is not a number"),
        ("law.spring.stiffness", None, BadValue, "is not a number"),
        ("law.spring.stiffness", "1,2", BadValue, "takes 1 number, got 2"),
        ("law.spring.count", "2.5", BadValue, "whole number"),
        ("law.spring.count", 0, OutOfRange, "outside [1, 10]"),
        ("law.spring.on", "maybe", BadValue, "true or false"),
        ("law.spring.kind", "sof", UnknownName, "did you mean 'soft'"),
        ("law.spring.anchor", "1,2", BadValue, "takes 1 or 3 numbers, got 2"),
        ("law.spring.anchor", "0,0,2", OutOfRange, "= 2 is outside [-1, 1] m"),
        ("law.spring.anchor", "0,nan,0", BadValue, "finite"),
    ],
)
def test_a_bad_value_is_refused_by_name_and_changes_nothing(tree, path, value, error, words):
    """Wrong type, range, size, or not a number: one line, and everything as before."""
    before = repr(list(describe(tree)))
    with pytest.raises(error) as refusal:
        assign(tree, path, value)
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert repr(list(describe(tree))) == before
    assert tree["law"].spring.refreshed == 0


@pytest.mark.parametrize(
    "path",
    [
        "law.spring.stifness",
        "spring",
        "law",
        "law.spring",
        "law.spring.private",
        "",
        "law.gain.x",
        "..",
        "window.width",
    ],
)
def test_an_unknown_path_is_answered_with_every_path_there_is(tree, path):
    """A part, a private field and a derived number are not parameters either."""
    with pytest.raises(UnknownName) as refusal:
        assign(tree, path, "1")
    for known, *_ in describe(tree):
        assert known in str(refusal.value)


def test_what_depends_on_a_parameter_is_recomputed(tree):
    """The owner's refresh runs once per assignment."""
    assign(tree, "window.high", "3")
    assert tree["window"].width == 3.0


def test_values_that_do_not_go_together_are_refused_and_the_old_one_stays(tree):
    """A refusal in refresh restores what was there, derived numbers included."""
    with pytest.raises(BadValue, match="low is above high"):
        assign(tree, "window.low", "5")
    window = tree["window"]
    assert (window.low, window.high, window.width) == (0.0, 1.0, 1.0)


def test_twins_are_set_together():
    """The law at both ends of a link is one law to the user."""
    twins = {"law": (Law(), Law())}
    assign(twins, "law.spring.stiffness", "7")
    assert [law.spring.stiffness for law in twins["law"]] == [7.0, 7.0]
    assert [path for path, *_ in describe(twins)].count("law.spring.stiffness") == 1


def test_twins_do_not_share_the_array_of_a_vector():
    """Writing into one twin's vector must not change the other's."""
    first, second = Spring(), Spring()
    assign({"s": (first, second)}, "s.anchor", "1,0,0")
    first.anchor[0] = 0.5
    assert second.anchor[0] == 1.0


def test_a_refusal_by_one_twin_leaves_both_as_they_were():
    """Either both ends take a value or neither: two ends with different laws would not be one
    coupling.
    """
    twins = {"window": (Window(low=0.0, high=5.0), Window(low=0.0, high=1.0))}
    with pytest.raises(FarhandError):
        assign(twins, "window.low", "2")
    assert [window.low for window in twins["window"]] == [0.0, 0.0]


def test_default_vectors_are_not_shared_between_instances():
    """Each part has its own array."""
    assert Spring().anchor is not Spring().anchor


def test_describing_tells_path_value_unit_and_meaning(tree):
    """What `farhand list` and the console show."""
    assert ("law.spring.stiffness", 100.0, "N/m", "stiffness") in list(describe(tree))


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=0.0, max_value=1e4))
def test_any_number_in_range_survives_the_way_through_text(value):
    """``repr`` on the command line is exact."""
    spring = Spring()
    assert assign(spring, "stiffness", repr(value)) == value == spring.stiffness


def test_a_whole_number_as_default_of_a_float_is_a_float():
    """``gain: float = parameter(1, ...)`` takes 1.5; ``count: int`` does not."""

    @dataclass
    class Part:
        gain: float = parameter(1, "-", "gain", 0, 10)
        count: int = parameter(1, "-", "count", 0, 10)

    part = Part()
    assert assign(part, "gain", "1.5") == 1.5
    assert isinstance(assign(part, "gain", 2), float)
    assert assign(part, "count", "2") == 2
    with pytest.raises(BadValue, match="whole number"):
        assign(part, "count", "2.5")


def test_a_part_whose_refresh_raises_anything_keeps_its_old_value():
    """A user's own part: what it raised becomes a refusal with the path, and the session's loop
    goes on.
    """

    @dataclass
    class Own:
        period: float = parameter(1.0, "s", "period", 0.0, 10.0)

        def refresh(self) -> None:
            self.rate = 1.0 / self.period

    own = Own()
    with pytest.raises(BadValue, match=r"own\.period = 0.* ZeroDivisionError"):
        assign({"own": own}, "own.period", 0.0)
    assert own.period == own.rate == 1.0


@pytest.mark.parametrize(
    ("value", "text"),
    [(False, "false"), (np.bool_(True), "true"), (800.0, "800"), ("cb", "cb"), (3, "3")]
    + [(np.array([1.0, 0.5]), "1,0.5")],
)
def test_a_value_is_said_as_it_would_be_typed(value, text):
    """What is shown can be given to ``--set`` again."""
    assert value_text(value) == text


@pytest.mark.parametrize("value", [10**400, [10**400] * 3, "1" + "0" * 5000])
def test_a_number_too_large_for_a_float_is_refused_in_a_short_line(value):
    """Whatever a program sends: the loop that sets it goes on."""
    spring = Spring()
    for path in ("spring.stiffness", "spring.anchor"):
        with pytest.raises(BadValue) as refused:
            assign({"spring": spring}, path, value)
        assert len(str(refused.value)) < 300
    assert spring.stiffness == 100.0


def test_a_path_of_a_thousand_names_is_refused_without_looking_for_each():
    """It ends at the first that is not there."""

    class Counting(dict):
        looked = 0

        def items(self):
            Counting.looked += 1
            return super().items()

    with pytest.raises(UnknownName):
        assign(Counting(a=Counting()), "a.b" + ".a" * 1000, 1.0)
    assert Counting.looked < 10

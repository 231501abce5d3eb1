"""The trial of a user's law: every mistake is told in one line, before anything moves, and what is
right passes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from farhand.coupling import LAWS, Coupling, Side, Spring, law_named, register
from farhand.coupling.trial import UNANSWERED, admit, complaint, failure, try_out
from farhand.errors import BadValue, Mismatch

SIX = np.zeros(6)


@dataclass
class Mine(Coupling):
    """A law that is as it should be; the others spoil one thing each."""

    name = "mine"
    spring: Spring = field(default_factory=Spring)

    def step(self, a, b, dt):
        self.measure(a, b)
        return a.effort(-self.spring.pull(self.error, self.rate)), b.effort(self.spring.wrench)


def answering(what):
    """A law that answers with what a function makes of its sides."""

    class Answering(Mine):
        name = "answering"

        def step(self, a, b, dt):
            return what(a, b)

    return Answering


def raising(a, b):
    """What a word that is not there does."""
    return {}["gain"]


class Nameless(Coupling):
    """Has no name."""

    def step(self, a, b, dt):
        return a.effort(), b.effort()


class Empty(Mine):
    """Has a name without a letter."""

    name = ""


class Stepless(Coupling):
    """Has no step."""

    name = "stepless"


@dataclass
class Picky(Mine):
    """Cannot be made without arguments."""

    name = "picky"

    def __init__(self, gain):
        self.gain = gain


class Unprepared(Mine):
    """Forgets the base class."""

    name = "unprepared"

    def __post_init__(self):
        self._felt = np.zeros(6)


class Bare(Mine):
    """Forgets the base class altogether."""

    name = "bare"

    def __init__(self):
        self.gain = 1.0


class Listed(Mine):
    """Declares its promises as a list."""

    name = "listed"
    properties = ["reciprocal"]  # noqa: RUF012


@pytest.mark.parametrize(
    ("law", "told"),
    [
        (Nameless, r'law Nameless has no name; write name = "\.\.\." in its class'),
        (Empty, r'law Empty has no name; write name = "\.\.\." in its class'),
        (
            Stepless,
            r"law 'stepless' has no step\(self, a, b, dt\); it must return \(a\.effort\(w\),",
        ),
        (Picky, r"law 'picky' cannot be made without arguments \(TypeError: .*'gain'\); give each"),
        (
            Unprepared,
            r"law 'unprepared' overrides __post_init__ and must call super\(\)\.__post_init__\(\)",
        ),
        (Bare, r"law 'bare' overrides __init__ and must call super\(\)\.__init__\(\) in it"),
        (Listed, r"properties of law 'listed' must be a frozenset of words"),
    ],
)
def test_a_class_that_is_no_law_is_refused_when_it_is_registered(law, told):
    """With what to change, on one line, and it is not known afterwards."""
    with pytest.raises(BadValue, match=told) as refused:
        register(law)
    assert "\n" not in str(refused.value)
    assert law not in LAWS.values()


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda a, b: None, "it returned None"),
        (lambda a, b: b.effort(SIX), "it returned one effort"),
        (lambda a, b: SIX, r"it returned an array of shape \(6,\)"),
        (lambda a, b: (a.effort(), b.effort(), 0.0), "it returned 3 values"),
        (lambda a, b: (SIX, SIX.copy()), r"it returned an array of shape \(6,\) for the leader"),
        (
            lambda a, b: (a.effort(SIX[:3]), b.effort()),
            r"an effort of an array of shape \(3,\) for the leader",
        ),
        (
            lambda a, b: (a.effort(), b.effort(1.0)),
            "it returned an effort of the float 1.0 for the follower",
        ),
        (
            lambda a, b: (a.effort(), b.effort(np.zeros((6, 1)))),
            r"an array of shape \(6, 1\) for the follower",
        ),
        (lambda a, b: (a.effort(), b.effort(1j * SIX)), "an effort of complex128 for the follower"),
        (lambda a, b: (a.effort(), a.effort()), "it returned the same effort for both sides"),
    ],
)
def test_an_answer_that_is_not_two_efforts_is_refused_before_the_run(answer, told, models):
    """What was wanted and what came, on one line."""
    wanted = (
        r"law 'answering' must return \(a\.effort\(w\), b\.effort\(w\)\) with six numbers each; "
    )
    with pytest.raises(BadValue, match=f"{wanted}.*{told}") as refused:
        try_out(answering(answer)(), *models)
    assert "\n" not in str(refused.value)


def test_a_law_that_raises_is_refused_before_the_run(models):
    """With what it raised, and the line of it in its own file."""
    line = raising.__code__.co_firstlineno + 2
    place = rf"\(test_trial\.py, line {line}\)"
    with pytest.raises(
        BadValue, match=f"law 'answering' raised KeyError: 'gain' {place} when it was tried out"
    ):
        try_out(answering(raising)(), *models)


def test_a_line_that_fails_inside_a_library_is_told_where_the_law_called_it(models):
    """NumPy's own line says nothing to the author of a law."""

    def reshaping(a, b):
        return np.linalg.inv(np.zeros((2, 3)))

    line = reshaping.__code__.co_firstlineno + 1
    with pytest.raises(BadValue, match=rf"LinAlgError: .*\(test_trial\.py, line {line}\)"):
        try_out(answering(reshaping)(), *models)


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_a_false_promise_of_a_velocity_force_port_is_found_out(models, side):
    """Otherwise the layer of waves would run another law, unnoticed."""

    class Reflecting(Mine):
        name = "reflecting"
        properties = frozenset({"velocity-force-port"})

        def step(self, a, b, dt):
            on_a, on_b = super().step(a, b, dt)
            felt = on_a if side == "leader" else on_b
            felt.wrench = felt.wrench + 0.1 * b.wrench
            return on_a, on_b

    with pytest.raises(BadValue, match=f"'velocity-force-port', but its effort on the {side}"):
        try_out(Reflecting(), *models)
    Reflecting.properties = frozenset()
    try_out(Reflecting(), *models)


def test_a_promise_that_is_kept_passes(models):
    """A spring between the tools sees nothing but their motion."""

    class Promising(Mine):
        name = "promising"
        properties = frozenset({"velocity-force-port"})

    try_out(Promising(), *models)


def test_a_law_that_is_right_passes_and_nothing_of_it_or_the_arms_is_changed(models, pair):
    """Another of its kind is tried, on arms that are put back and go on moving."""
    pair(1)
    law, before = Mine(), [(arm.motion.copy(), arm.position.copy()) for arm in models]
    law.error[:] = 7.0
    try_out(law, *models)
    try_out(law, None, None)
    assert (law.error == 7.0).all()
    for arm, (motion, position) in zip(models, before, strict=True):
        np.testing.assert_array_equal(arm.motion, motion)
        np.testing.assert_allclose(arm.position, position, atol=1e-15)


def test_a_law_is_tried_on_arms_at_rest_that_are_not_singular(models):
    """With all joints at zero this arm is stretched, and a law that inverts its model fails."""
    for arm in models:
        arm.update(np.zeros(6), np.ones(6))
    seen = []

    def look(a, b):
        seen.extend((side.twist.copy(), np.linalg.cond(side.arm.J)) for side in (a, b))
        return a.effort(SIX), b.effort(SIX.copy())

    assert np.linalg.cond(models[0].J) > 1e10
    try_out(answering(look)(), *models)
    for twist, condition in seen:
        assert not twist.any() and condition < 1e3


def test_a_law_made_with_arguments_is_taken_as_it_is(models):
    """In a script that is nobody else's business; what it does later is caught later."""

    class Given(Mine):
        name = "given"

        def __init__(self, gain):
            super().__init__()
            self.gain = gain

    try_out(Given(2.0), *models)


def test_stations_without_observers_or_models_are_no_place_for_a_law_that_needs_them(models):
    """As on a rig, by name."""
    law = law_named("four-channel-sensorless")()
    admit(law, *models, observed=True)
    with pytest.raises(
        Mismatch,
        match="'four-channel-sensorless' needs torque-driven arms .* these stations do not",
    ):
        admit(law, *models, observed=False)
    with pytest.raises(
        Mismatch, match="needs a dynamic model of both sides, which these stations do not have"
    ):
        admit(law, models[0], None, observed=True)


def test_a_failure_in_mid_run_is_told_by_its_cause():
    """The law's own error; what it answered with; or, where that looks right, what came of it."""
    error = ZeroDivisionError("float\n division by zero")
    assert failure(UNANSWERED, error) == "raised ZeroDivisionError: float division by zero"
    assert failure(UNANSWERED, ValueError()) == "raised ValueError"
    assert failure(None, TypeError("x")).endswith("it returned None")
    right = Mine().step(Side("leader"), Side("follower"), 1e-3)
    assert complaint(right) is None
    assert failure(right, ValueError("x")) == "answered with what led to ValueError: x"

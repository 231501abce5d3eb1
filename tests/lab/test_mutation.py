"""A part broken on purpose is noticed by the experiments that watch it."""

from __future__ import annotations

import pytest

from farhand.errors import UnknownName
from farhand_lab import harness, mutation

SPRING = """
class Spring:
    stiffness = 100.0
    damping = 1.0

@shared
def deflection(): return 50.0 / Spring.stiffness

@experiment("T-1")
def one():
    return Finding(deflection(), ok=abs(deflection() - 0.5) < 1e-6)

@experiment("T-2")
def two(): return Finding(1.0, ok=False)

def weak(): return patched(Spring, "stiffness", 10.0)
"""


def check(write_rig, mutations: str) -> list[mutation.MutationResult]:
    write_rig("toy_spring", SPRING + f"MUTATIONS = [{mutations}]\n")
    return mutation.check("toy-spring")


def test_a_broken_part_flips_the_verdict_that_watches_it(write_rig):
    """The run that experiments share is repeated with the broken part."""
    [result] = check(
        write_rig, "Mutation('weak', 'The spring is ten times too soft.', ('T-1',), weak)"
    )
    assert result.flipped
    assert (result.before, result.after) == ({"T-1": "pass"}, {"T-1": "differs"})


def test_the_part_is_whole_again_afterwards(write_rig):
    """Nothing measured with the broken part stays behind."""
    check(write_rig, "Mutation('weak', 'The spring is ten times too soft.', ('T-1',), weak)")
    assert [entry.verdict for entry in harness.run("toy-spring")] == ["pass", "differs"]


def test_a_mutation_that_nobody_notices_is_not_flipped(write_rig):
    """The damper does not show in a static deflection."""
    [result] = check(
        write_rig,
        "Mutation('loose', 'No damping.', ('T-1',), lambda: patched(Spring, 'damping', 0.0))",
    )
    assert not result.flipped
    assert result.after == {"T-1": "pass"}


def test_every_watching_id_has_to_flip(write_rig):
    """An id that differs all along watches nothing."""
    [result] = check(write_rig, "Mutation('weak', 'Too soft.', ('T-1', 'T-2'), weak)")
    assert not result.flipped


def test_a_mutation_without_watchers_is_not_flipped(write_rig):
    """Nobody looking is not the same as everybody noticing."""
    [result] = check(write_rig, "Mutation('weak', 'Too soft.', (), weak)")
    assert not result.flipped


def test_numbers_that_blow_up_count_as_noticed(write_rig):
    """A spring without stiffness divides by zero."""
    [result] = check(
        write_rig,
        "Mutation('none', 'No spring.', ('T-1',), lambda: patched(Spring, 'stiffness', 0.0))",
    )
    assert result.flipped


def test_a_mistake_in_the_mutation_does_not_count_as_noticed(write_rig):
    """A mutation of the wrong type says nothing about the experiment."""
    with pytest.raises(TypeError):
        check(
            write_rig,
            "Mutation('typo', 'A word.', ('T-1',), lambda: patched(Spring, 'stiffness', 'soft'))",
        )


def test_a_mutation_that_watches_an_unknown_id_is_refused(write_rig):
    """The message lists the ids there are."""
    with pytest.raises(UnknownName, match="T-1, T-2"):
        check(write_rig, "Mutation('weak', 'Too soft.', ('T-11',), weak)")


def test_progress_names_each_mutation(write_rig):
    """The mutation check takes long enough to need a progress bar."""
    write_rig(
        "toy_spring", SPRING + "MUTATIONS = [Mutation('weak', 'Too soft.', ('T-1',), weak)]\n"
    )
    seen = []
    mutation.check("toy-spring", lambda done, total, label: seen.append((done, total, label)))
    assert seen == [(0, 1, "weak"), (1, 1, "")]


def test_the_seed_is_that_of_the_experiments(write_rig):
    """The verdicts before are those of a run with the same seed."""
    write_rig(
        "toy_dice",
        """
class Dice:
    sides = 2

def even(): return generator("dice").integers(0, Dice.sides) == 0

@experiment("T-1")
def one(): return Finding(1.0, ok=bool(even()))

MUTATIONS = [Mutation("fair", "Nothing.", ("T-1",), lambda: patched(Dice, "sides", 2))]
""",
    )
    for seed in range(6):
        [result] = mutation.check("toy-dice", seed=seed)
        assert result.before == {"T-1": harness.run("toy-dice", seed=seed)[0].verdict}
    assert {mutation.check("toy-dice", seed=seed)[0].before["T-1"] for seed in range(6)} == {
        "pass",
        "differs",
    }


def test_a_function_below_of_breaks_a_method_and_names_the_mutation():
    """It gets the original first; name and docstring are the mutation's."""

    class Spring:
        def force(self, x: float) -> float:
            return 100.0 * x

    mutations = mutation.Mutations()

    @mutations.of(Spring, "force", "T-1 T-2")
    def weak_spring(force, self, x):
        """Half the force."""
        return 0.5 * force(self, x)

    [made] = mutations
    assert (made.name, made.breaks) == ("weak-spring", "Half the force")
    assert made.watched == ("T-1", "T-2")
    with made.apply():
        assert Spring().force(1.0) == 50.0
    assert Spring().force(1.0) == 100.0

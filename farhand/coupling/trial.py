"""Trial of a law: what it must be and answer, refused in one line where it is not so."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from farhand.arm import Arm
from farhand.coupling.coupling import Coupling
from farhand.coupling.side import Effort, Side
from farhand.errors import BadValue, describe_error

WANTED = "must return (a.effort(w), b.effort(w)) with six numbers each"
UNANSWERED = object()
"""Stands for the answer of a law that has not answered."""

PERIOD = 1e-3
"""Time between ticks of a law on trial, [s]."""


def failure(answer: object, error: Exception) -> str:
    """Why an evaluation of a law ended with an error, to stand behind the law's name.

    Args:
        answer: what it returned; :data:`UNANSWERED` if it never did.
        error: what was raised, by the law or by whoever took its answer.
    """
    if answer is UNANSWERED:
        return f"raised {describe_error(error)}"
    return complaint(answer) or f"answered with what led to {describe_error(error)}"


def complaint(answer: object) -> str | None:
    """What is wrong with the answer of a law's step; None if nothing is."""
    found = _found(answer)
    return None if found is None else f"{WANTED}; it returned {found}"


def _found(answer: object) -> str | None:
    """What a law returned where it is not what it should have; None if it is."""
    if not isinstance(answer, tuple | list):
        return _in_words(answer)
    if len(answer) != 2:
        return f"{len(answer)} values"
    if answer[0] is answer[1]:
        return "the same effort for both sides"
    for role, effort in zip(("leader", "follower"), answer, strict=True):
        if not all(hasattr(effort, part) for part in Effort.__slots__):
            return f"{_in_words(effort)} for the {role}"
        if not isinstance(effort.wrench, np.ndarray) or effort.wrench.shape != (6,):
            return f"an effort of {_in_words(effort.wrench)} for the {role}"
        if effort.wrench.dtype.kind not in "fiu":
            return f"an effort of {effort.wrench.dtype} for the {role}"
    return None


def _in_words(value: object) -> str:
    if value is None:
        return "None"
    if isinstance(value, Effort):
        return "one effort"
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    return (
        f"the {type(value).__name__} {value!r}"
        if isinstance(value, int | float | str)
        else type(value).__name__
    )


def check_class(law: type[Coupling]) -> None:
    """Refuse a law that has no name or no step, or that a rig could not make.

    Raises:
        BadValue: with what to change.
    """
    name = getattr(law, "name", None)
    if not (isinstance(name, str) and name):
        raise BadValue(f'law {law.__qualname__} has no name; write name = "..." in its class')
    if inspect.isabstract(law):
        raise BadValue(f"law {name!r} has no step(self, a, b, dt); it {WANTED}")
    for what in ("needs", "properties"):
        if not isinstance(getattr(law, what), frozenset | set):
            raise BadValue(f"{what} of law {name!r} must be a frozenset of words")
    try:
        made = law()
    except Exception as error:
        raise BadValue(
            f"law {name!r} cannot be made without arguments ({describe_error(error)});"
            " give each a default"
        ) from error
    check_made(made)


def check_made(law: Coupling) -> None:
    """Refuse a law whose base class was not prepared.

    Raises:
        BadValue: with what to change.
    """
    for made_by, parts in (("__init__", ("mapping",)), ("__post_init__", ("error", "rate"))):
        if not all(hasattr(law, part) for part in parts):
            raise BadValue(
                f"law {law.name!r} overrides {made_by} and must call super().{made_by}() in it"
            )


def admit(law: Coupling, a: Arm | None, b: Arm | None, observed: bool) -> None:
    """Refuse a law that needs what two stations do not have, or that does not answer as it must.

    Args:
        law: as it will run.
        a: the leader's model, None where there is none.
        b: the follower's.
        observed: whether observers tell what touches the arms.

    Raises:
        Mismatch: it needs a model or an observer that is not there.
        BadValue: see :func:`try_out`.
    """
    available = {"leader-wrench", "follower-wrench"}
    available |= {"models"} if a is not None and b is not None else set()
    available |= {"observers"} if observed else set()
    law.require(available, "these stations do")
    try_out(law, a, b)


def try_out(law: Coupling, a: Arm | None, b: Arm | None) -> None:
    """Evaluate a new instance of a user's law once, on both arms at rest, before anything moves.

    The laws of this package are not tried, nor is one that cannot be made without arguments. Both
    arms are where they were afterwards.

    Args:
        law: as it will run; it is left alone.
        a: the leader's model, None where there is none.
        b: the follower's.

    Raises:
        BadValue: the law is not prepared, raises, or returns something else than two efforts.
    """
    if type(law).__module__.partition(".")[0] == "farhand":
        return
    check_made(law)
    try:
        other = type(law)()
    except Exception:
        return
    with _random_posture(a), _random_posture(b):
        sides = Side("leader", a), Side("follower", b)
        for side in sides:
            side.wrench = np.zeros(6)
        try:
            other.engage(*sides)
            wrong = complaint(other.step(*sides, PERIOD))
        except Exception as error:
            wrong = f"raised {describe_error(error)} when it was tried out"
    if wrong is not None:
        raise BadValue(f"law {law.name!r} {wrong}")


@contextmanager
def _random_posture(arm: Arm | None) -> Iterator[None]:
    """An arm at rest in a random posture: with all joints at zero many arms are singular."""
    if arm is None:
        yield
        return
    q, v = arm.q.copy(), arm.v.copy()
    arm.update(
        arm.integrate(q, np.random.default_rng(0).uniform(-0.5, 0.5, arm.nv)), np.zeros(arm.nv)
    )
    try:
        yield
    finally:
        arm.update(q, v)

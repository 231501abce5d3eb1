"""Trial of a law: what it must be and answer, refused in one line where it is not so."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from farhand.arm import Arm
from farhand.coupling.coupling import Coupling
from farhand.coupling.side import Effort, Side
from farhand.errors import BadValue, describe_error
from farhand.spatial import Array

WANTED = "must return (a.effort(w), b.effort(w)) with six numbers each"
PORT = "velocity-force-port"
UNANSWERED = object()
"""Stands for the answer of a law that has not answered."""

PACKAGE = str(Path(__file__).parents[1])
"""Folder of this library."""

LARGE_WRENCH = np.array([40.0, -50.0, 60.0, 4.0, -5.0, 6.0])
"""Measured wrench by which a promise is tried, [N] and [N·m]."""

PERIOD = 1e-3
"""Time between ticks of a law on trial, [s]."""


def failure(answer: object, error: Exception) -> str:
    """Why an evaluation of a law ended with an error, to stand behind the law's name.

    Args:
        answer: what it returned; :data:`UNANSWERED` if it never did.
        error: what was raised, by the law or by whoever took its answer.
    """
    if answer is UNANSWERED:
        return raised(error)
    return complaint(answer) or f"answered with what led to {describe_error(error)}"


def raised(error: Exception) -> str:
    """What a law raised, and in which line of which file, to stand behind the law's name."""
    frames = traceback.extract_tb(error.__traceback__)
    # the user's own line, not the one in NumPy or in the library that it led to
    own = [frame for frame in frames if not _is_library(frame.filename)]
    place = f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""
    return f"raised {describe_error(error)}{place}"


def _is_library(file: str) -> bool:
    return "site-packages" in file or file.startswith((PACKAGE, "<"))


def complaint(answer: object, sizes: tuple[int, int] = (6, 6)) -> str | None:
    """What is wrong with the answer of a law's step; None if nothing is.

    Args:
        answer: what it returned.
        sizes: how many numbers the efforts on leader and follower must have.
    """
    found = _found(answer, sizes)
    return None if found is None else f"{WANTED}; it returned {found}"


def _found(answer: object, sizes: tuple[int, int]) -> str | None:
    """What a law returned where it is not what it should have; None if it is."""
    if not isinstance(answer, tuple | list):
        return _in_words(answer)
    if len(answer) != 2:
        return f"{len(answer)} values"
    if answer[0] is answer[1]:
        return "the same effort for both sides"
    for role, effort, size in zip(("leader", "follower"), answer, sizes, strict=True):
        if not all(hasattr(effort, part) for part in Effort.__slots__):
            return f"{_in_words(effort)} for the {role}"
        if not isinstance(effort.wrench, np.ndarray) or effort.wrench.shape != (size,):
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
        BadValue: the law is not prepared, raises, returns something else than two efforts, or
            does not keep its promise of a velocity–force port.
    """
    if type(law).__module__.partition(".")[0] == "farhand":
        return
    check_made(law)
    try:
        other, again = type(law)(), type(law)()
    except Exception:
        return
    with _random_posture(a), _random_posture(b):
        try:
            efforts = _answer(other, a, b, np.zeros(6))
            wrong = efforts if isinstance(efforts, str) else _broken_promise(again, a, b, efforts)
        except Exception as error:
            wrong = f"{raised(error)} when it was tried out"
    if wrong is not None:
        raise BadValue(f"law {law.name!r} {wrong}")


def _answer(law: Coupling, a: Arm | None, b: Arm | None, measured: Array) -> list[Array] | str:
    """Both wrenches of a law that has just engaged, or what is wrong with its answer."""
    sides = Side("leader", a), Side("follower", b)
    for side in sides:
        side.wrench = measured.copy()
    law.engage(*sides)
    answer = law.step(*sides, PERIOD)
    return complaint(answer) or [np.array(effort.wrench, dtype=float) for effort in answer]


def _broken_promise(
    law: Coupling, a: Arm | None, b: Arm | None, efforts: list[Array]
) -> str | None:
    """Why a law has no velocity–force port though it says so; None if it has one or says nothing.

    A layer that relies on it lets motion cross the link and nothing else: with a measured wrench in
    the law it would run another law than this.
    """
    if PORT not in law.properties:
        return None
    measured = _answer(law, a, b, LARGE_WRENCH)
    if isinstance(measured, str):
        return measured
    for role, before, after in zip(("leader", "follower"), efforts, measured, strict=True):
        if not np.allclose(before, after, equal_nan=True):
            effect = f"its effort on the {role} changes with a measured wrench"
            return f"promises {PORT!r}, but {effect}; take the promise out of its properties"
    return None


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

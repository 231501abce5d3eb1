"""Compiled functions: numba over plain Python, from a cache on disk, never inside a tick.

A function under :func:`compiled` is machine code in a process that uses numba, and plain Python in
one that does not. :func:`enabled` decides which, once per process. A fresh installation has nothing
in its cache and would compile for half a minute, so its first run does without, and a process in
the background fills the cache for the next one (:mod:`farhand.running.fill_cache`).
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import version
from operator import is_
from pathlib import Path
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

VARIABLE = "FARHAND_KERNELS"
"""Environment variable, ``compiled`` or ``plain``; without it the cache on disk decides."""


@functools.cache
def enabled() -> bool:
    """Whether this process uses numba."""
    chosen = os.environ.get(VARIABLE, "")
    return chosen == "compiled" or (chosen != "plain" and stamp().exists())


def compiled(function: F) -> F:
    """Decorator of a function that a tick calls."""
    if not enabled():
        return function
    from numba import njit

    # a division by zero gives infinity, as in NumPy
    return cast(F, njit(cache=True, nogil=True, error_model="numpy")(function))


def prepare(calls: Mapping[Any, tuple[Any, ...]]) -> None:
    """Compile functions for arguments like these, or load them from the cache, without a call."""
    if not enabled():
        return
    from numba import typeof

    for function, arguments in calls.items():
        # without machine code where numba is switched off (NUMBA_DISABLE_JIT=1), as in a debugger
        if hasattr(function, "compile"):
            function.compile(tuple(map(typeof, arguments)))


def bind(function: Any, *first: Any, then: tuple[Any, ...] = ()) -> Callable[..., Any]:
    """A compiled function with its first arguments given, for a call in every tick.

    It skips numba's look at the types, a third of a small call. So later arguments must have the
    types of those in ``then``, which nobody checks: arrays of our own, not a user's.
    """
    call = function
    # without machine code where numba is switched off, as in prepare()
    if hasattr(function, "compile"):
        from numba import typeof

        types = tuple(map(typeof, (*first, *then)))
        function.compile(types)
        call = function.overloads[types].entry_point
    return functools.partial(call, *first)


class Repeated:
    """Calls of compiled functions that mostly get the very objects of the call before.

    Then the call is a bound one. With other objects numba looks at the types again.
    """

    def __init__(self) -> None:
        self._last: tuple[Any, ...] = ()
        self._bound: Callable[[], Any] | None = None

    def call(self, *function_and_arguments: Any) -> Any:
        """Call the first argument with the others."""
        given = function_and_arguments
        if len(given) != len(self._last) or not all(map(is_, given, self._last)):
            self._last, self._bound = given, None
            return given[0](*given[1:])
        if self._bound is None:
            self._bound = bind(*given)
        return self._bound()


@functools.cache
def stamp() -> Path:
    """The file whose existence says that everything is compiled for this installation."""
    package, digest = Path(__file__).parent, hashlib.sha256()
    for what in (str(package), sys.version, version("numba"), version("numpy")):
        digest.update(what.encode())
    for source in sorted(package.rglob("*.py")):
        text = source.read_bytes()
        if b"@compiled" in text:
            digest.update(text)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "farhand" / f"kernels-{digest.hexdigest()[:16]}"

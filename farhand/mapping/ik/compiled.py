"""How the kernels of this package are compiled: cached on disk, without the GIL, with division as in IEEE 754."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from numba import njit, typeof
from numba.core import event

compiled = njit(cache=True, nogil=True, error_model="numpy")
"""Decorator of every kernel. A division by zero gives infinity, which counts as "not met"."""


class _Tell(event.Listener):
    """Says once, on a terminal, what takes so long."""

    told = False

    def on_start(self, event: Any) -> None:
        if not _Tell.told and sys.stderr.isatty():
            print(
                "compiling the inverse kinematics: half a minute, once per installation",
                file=sys.stderr,
            )
        _Tell.told = True

    def on_end(self, event: Any) -> None: ...


def prepare(calls: Mapping[Any, tuple[Any, ...]]) -> None:
    """Compile kernels for arguments like these, or load what was compiled before; none of them is called."""
    with event.install_listener("numba:compile", _Tell()):
        for kernel, arguments in calls.items():
            kernel.compile(tuple(map(typeof, arguments)))

"""How the mutations of this rig break a method."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from farhand_lab.mutation import patched


@contextlib.contextmanager
def changed(target: type, name: str, change: Callable[[Any], Any]) -> Iterator[None]:
    """Replace a method by ``change(original)``; taken when it is applied, so that it may be applied again."""
    with patched(target, name, change(getattr(target, name))):
        yield

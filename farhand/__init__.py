"""Farhand: bilateral teleoperation in Python. A leader moves, a follower does the same, and touch comes back."""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"


def load(path: Any) -> Any:
    """Read a recording: a :class:`farhand.recording.loader.Recording`, named arrays with units.

    Args:
        path: an MCAP file written by ``farhand run --record``.
    """
    return importlib.import_module("farhand.recording.loader").load(path)

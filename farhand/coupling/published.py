"""Gains that makers of arms publish with their laws, from ``openarm.toml``."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from farhand.errors import Mismatch
from farhand.robots.description import load_toml

Array = np.ndarray


@cache
def _table() -> dict[str, dict[str, list[float]]]:
    return load_toml(Path(__file__).with_name("openarm.toml"))


def published(law: str, size: int, leader_size: int) -> dict[str, Array]:
    """The makers' gains of a law, by name; Mismatch for another number of joints."""
    gains = {name: np.array(row) for name, row in _table()[law].items()}
    if not size == leader_size == len(gains["stiffness"]):
        raise Mismatch(f"the published gains of {law} are for 8 joints, not for {size}")
    return gains

"""Human factors: whether what a device and a law can display is good enough for a hand, criterion by criterion."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parent / "human_factors.toml"


@cache
def thresholds() -> dict[str, Any]:
    """What a hand notices and can do, by name; units in the data file."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Display:
    """What a teleoperator shows to a hand. None where it is not known, which is not the same as good enough.

    Attributes:
        wall_stiffness: felt at a wall that does not give way, [N/m].
        force_resolution: smallest force step it displays, [N].
        largest_force: [N].
        force_bandwidth: up to where forces are displayed, [Hz].
        motion_bandwidth: up to where motion is followed, [Hz].
        rate: of the force loop, [Hz].
    """

    wall_stiffness: float | None = None
    force_resolution: float | None = None
    largest_force: float | None = None
    force_bandwidth: float | None = None
    motion_bandwidth: float | None = None
    rate: float | None = None


@dataclass(frozen=True)
class Judgement:
    """One criterion.

    Attributes:
        name: what is judged.
        value: of the teleoperator; None where it is not known.
        limit: what a hand needs.
        unit: of both.
        ok: whether it is met; None where the value is not known.
    """

    name: str
    value: float | None
    limit: float
    unit: str
    ok: bool | None

    @property
    def share(self) -> float:
        """Value over limit, [-]."""
        return math.nan if self.value is None else self.value / self.limit

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.name}: not known (needs {self.limit:g} {self.unit})"
        word = "met" if self.ok else "missed"
        share = f"{100.0 * self.share:.3g} % of {self.limit:g} {self.unit}"
        return f"{self.name}: {self.value:.4g} {self.unit}, {word} ({share})"


def check(display: Display) -> list[Judgement]:
    """Judge a display by everything that is known of hands."""
    t = thresholds()
    least = [
        ("hard-wall stiffness", display.wall_stiffness, t["wall_stiffness"], "N/m"),
        ("force range", display.largest_force, t["controllable_force"][0], "N"),
        ("force bandwidth", display.force_bandwidth, t["force_bandwidth"], "Hz"),
        ("motion bandwidth", display.motion_bandwidth, t["motion_bandwidth"], "Hz"),
        (
            "vibration bandwidth",
            None if display.rate is None else 0.5 * display.rate,
            t["vibration_bandwidth"],
            "Hz",
        ),
    ]
    judged = [Judgement(*item, None if item[1] is None else item[1] >= item[2]) for item in least]
    step, limit = display.force_resolution, t["force_resolution_absolute"]
    judged.insert(
        1, Judgement("force resolution", step, limit, "N", None if step is None else step <= limit)
    )
    return judged


def noticed(force: float, change: float) -> bool:
    """Whether a change of a displayed force is noticed, both [N]: beyond the JND and the absolute resolution."""
    t = thresholds()
    return abs(change) >= max(t["force_jnd"] * abs(force), t["force_resolution_absolute"])

"""The beam held by the physics engine's own contact in place of the world's pads: B-06."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from farhand.spatial import rotation_from_quaternion
from farhand.world import Jaws
from farhand_lab.cooperative.carrying import ARMS, decay, metrics
from farhand_lab.cooperative.machines import tools, trial, trips
from farhand_lab.harness import Finding, experiment
from farhand_lab.mutation import Mutation, changed
from farhand_lab.trial import Run

Array = np.ndarray


CONTACT: tuple[tuple[str, object], ...] = (("rig.grip", "contact"),)
"""Jaws that only touch the beam."""


def slipped(found: Run, arm: str, start: float, end: float) -> float:
    """How far the place at which a tool holds the beam moved between two times [s], [mm]."""
    times, position, _ = tools(found, arm)
    places = []
    for time in (start, end):
        x = found.signal("object", "q")[np.searchsorted(found.times("object"), time)]
        R = rotation_from_quaternion(np.array([*x[4:], x[3]]))
        places.append(R.T @ (position[np.searchsorted(times, time)] - x[:3]))
    return 1e3 * float(np.linalg.norm(places[1] - places[0]))


@experiment("B-06")
def in_contact() -> Finding:
    """Shares of single records stick and slip with the pads; they are told and do not judge."""
    found = trial("carry", *CONTACT)
    shares, single = metrics(found).shares(), np.abs(metrics(found).momentary() - 1.0)
    shares = shares if len(shares) else np.zeros((1, len(ARMS)))  # never carried steadily
    worst, tilt = 100.0 * float(np.abs(shares - 1.0).max()), np.degrees(found.value("tilt_max"))
    slip = max(slipped(found, arm, 3.0, 32.5) for arm in ARMS)
    height = found.signal("object", "q")[:, 2] - found.signal("object", "q")[0, 2]
    carried = float(height.max()) > 0.1 and abs(float(height[-1])) < 2e-3
    ok = worst <= 20.0 and tilt <= 10.0 and slip <= 10.0 and carried and not trips(found)
    most, left = decay(found)
    note = (
        f"single records {100.0 * single.max(initial=0.0):.0f} % off at most; tilt {tilt:.2f}°; squeeze at most "
        f"{most:.0f} N, at rest after a leg {100 * left:.0f} % of its peak or less; pads slid {slip:.1f} mm; "
        f"{trips(found) or 'no trip'}"
    )
    return Finding(worst, ok, note)


def _slippery(old: Callable[..., None]) -> Callable[..., None]:
    def join(self: Jaws, *where: Any) -> None:
        self.friction = 0.01
        old(self, *where)

    return join


MUTATIONS = [
    Mutation(
        "slippery-pads",
        "the pads have next to no friction",
        ("B-06",),
        lambda: changed(Jaws, "join", _slippery),
    )
]
"""Parts broken on purpose."""

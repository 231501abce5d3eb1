"""Stability of followers that feel only their own wrists: F-50, against sources/cooperative §4.3 and in time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from farhand_lab.cooperative import follower_loop as follower
from farhand_lab.cooperative.follower_loop import FollowerLoop, least_damping, simulated, stiffest
from farhand_lab.harness import Figure, Finding, experiment, shared
from farhand_lab.mutation import Mutation, changed, patched

if TYPE_CHECKING:
    import matplotlib.figure


C4 = {
    (35.0, 250.0, 20.0): (129, 197, 127, 129),
    (35.0, 250.0, 500.0): (61, 105, 124, 52),
    (35.0, 1250.0, 20.0): (602, 716, 536, 626),
    (35.0, 1250.0, 500.0): (1299, 1515, 2021, 973),
    (10.0, 20.0, 20.0): (37, 239, 37, 37),
    (100.0, 20.0, 20.0): (4, 24, 4, 4),
}
"""Pre-check C-4 by k_pf, k_df and r of force: largest k for 60 kg, with 100 N·s/m, for 25 kg, for
80 kg, [N/m]."""

C5 = {20.0: 10_500.0, 500.0: 2350.0, 5000.0: 686.0}
"""Pre-check C-5 by r: smallest damping at 3·10⁵ N/m, [N·s/m]."""


@shared
def table() -> dict[tuple[float, float, float], tuple[float, ...]]:
    """C-4 from our own model."""
    found = {}
    for kp, kd, r in C4:
        loop = FollowerLoop(1.0, kp, kd, 20.0, r)
        cases = (
            loop,
            replace(loop, damping=100.0),
            replace(loop, mass=25.0),
            replace(loop, mass=80.0),
        )
        found[kp, kd, r] = tuple(stiffest(case) for case in cases)
    return found


def deviation() -> float:
    """Largest relative deviation from C-4 and C-5, beyond what the tables' rounding explains, [-]."""
    off = [
        max(0.0, abs(ours - printed) - 0.5) / printed
        for key, row in table().items()
        for ours, printed in zip(row, C4[key], strict=True)
    ]
    off += [abs(least_damping(FollowerLoop(3e5, 9.0, 20.0, r, r)) / b - 1.0) for r, b in C5.items()]
    return max(off)


def boundary(loop: FollowerLoop) -> tuple[float, float]:
    """Largest stiffness as predicted, and where the time simulation has it, to 2 %, [N/m]."""
    predicted, good, bad = stiffest(loop), 0.7, 1.4
    while bad / good > 1.02:
        middle = (good * bad) ** 0.5
        good, bad = (
            (middle, bad)
            if simulated(replace(loop, stiffness=middle * predicted), 6.0, 10)
            else (good, middle)
        )
    return predicted, (good * bad) ** 0.5 * predicted


TRIED = {
    "G13s": FollowerLoop(1.0, 35.0, 1250.0, 20.0, 500.0),
    "r = 20": FollowerLoop(1.0, 35.0, 1250.0, 20.0, 20.0),
    **{
        f"N = {n} on 20 kg": FollowerLoop(
            1.0, 9.0, 700.0, 20.0, 5000.0, damping=300.0, followers=n, object_mass=20.0
        )
        for n in range(1, 5)
    },
}
"""Loops whose boundary is found in time simulation too."""


def draw() -> matplotlib.figure.Figure:
    """Largest stiffness over damping gain, one line per force filter."""
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(7.0, 4.2))
    ax = figure.subplots()
    gains = np.geomspace(20.0, 5000.0, 25)
    for r, colour in ((20.0, "#1f5fa8"), (500.0, "#c05a12"), (5000.0, "#3b7d3b")):
        ax.loglog(
            gains,
            [stiffest(FollowerLoop(1.0, 35.0, kd, 20.0, r)) for kd in gains],
            color=colour,
            label=f"r = {r:g}",
        )
    ax.plot([1250.0], [1299.0], "k.", markersize=9, label="C-4, G13s")
    ax.set_xlabel("damping gain k_df [N·s/m]")
    ax.set_ylabel("largest stable stiffness [N/m]")
    ax.legend()
    ax.grid(True, which="both", alpha=0.3)
    return figure


@experiment("F-50")
def stability_map() -> Finding:
    """Eigenvalues of the sampled loop; the time simulation shares no code with them. One to four followers."""
    off, rows = deviation(), {name: boundary(loop) for name, loop in TRIED.items()}
    apart = max(abs(found / predicted - 1.0) for predicted, found in rows.values())
    words = ", ".join(
        f"{name} {predicted:.0f} and {found:.0f} N/m" for name, (predicted, found) in rows.items()
    )
    note = f"predicted and simulated: {words}; {100 * apart:.1f} % apart at most"
    picture = Figure("Largest stable coupling of one follower, k_pf = 35, 60 kg, no friction", draw)
    return Finding(100.0 * off, off < 0.03 and apart < 0.05, note, figures=(picture,))


MUTATIONS = [
    Mutation(
        "no-sample-of-delay",
        "the command acts at once",
        ("F-50",),
        lambda: changed(
            FollowerLoop,
            "__init__",
            lambda old: lambda self, *a, **k: old(self, *a, **{**k, "delay": 0}),
        ),
    ),
    Mutation(
        "filter-gain-without-update",
        "the filter's gain lacks the covariance update",
        ("F-50",),
        lambda: patched(follower, "steady_gain", lambda q, r: 2.0 * (q / r) ** 0.5),
    ),
]
"""Parts broken on purpose."""

"""Only the orientation of a pen that nobody holds is changed: how the two machines stir each other up: Y-57."""

from __future__ import annotations

import numpy as np

from farhand.control.trajectory.paths import HandPath, Move
from farhand.rigs import Options, build_rig
from farhand_lab.harness import Figure, Finding, experiment, shared
from farhand_lab.trial import Run, run

Array = np.ndarray

GROUP = "youbot"
MASS = 0.3  # of the pen [kg]
TURNS = {
    "+x": (0.6, 0.0, 0.0),
    "+y": (0.0, 0.6, 0.0),
    "−y": (0.0, -0.6, 0.0),
    "+z": (0.0, 0.0, 0.6),
    "half +x": (0.3, 0.0, 0.0),
    "half −y": (0.0, -0.3, 0.0),
}
"""Turns of the pen about its own axes, [rad]; the source names none. The rig is its own mirror
image: −x is as +x."""
WHOLE = ("+x", "+y", "−y", "+z")
END = 1.5  # [s], when the turning ends
SECONDS = 7.0
PUBLISHED: tuple[tuple[str, object], ...] = (
    ("law.spring.damping", 0.0),
    ("law.spring.rotational_damping", 0.0),
)
"""The thesis names no damping anywhere."""

LIGHT: tuple[tuple[str, object], ...] = (("rig.arm_viscous", (0.1, 0.1, 0.05, 0.02, 0.01)),)
"""An arm that moves freely; what friction it has is not published, and the rig's own is assumed."""

UNCALMED: dict[str, tuple[tuple[str, object], ...]] = {
    "as published": (*PUBLISHED, *LIGHT),
    "with the rig's arm friction": PUBLISHED,
    "without the setpoint's speed limit": (*PUBLISHED, *LIGHT, ("law.mapping.limiter.speed", 10.0)),
}
CALMED: dict[str, tuple[tuple[str, object], ...]] = {
    "pen damped by 5 N·s/m": (*PUBLISHED, *LIGHT, ("leader.assist.damping", 5.0)),
    "spring damped by 110 N·s/m": LIGHT,
    "pen held": (*PUBLISHED, *LIGHT, ("hand.stiffness", 200.0), ("hand.damping", 5.0)),
}
"""What is tried against the swing."""


@shared
def turned(case: str, turn: str) -> Run:
    """The pen's orientation changes within a second; nobody holds its position unless the case says so."""
    loose: tuple[tuple[str, object], ...] = (
        ("hand.stiffness", 0.0),
        ("hand.damping", 0.0),
        ("rig.hand_mass", 0.0),
    )
    rig = build_rig(
        GROUP, Options(scenario="rest", settings=[*loose, *{**UNCALMED, **CALMED}[case]])
    )
    rig.session.parameters["hand"].path = HandPath(
        (Move(END - 1.0, 1.0, (0.0, 0.0, 0.0), TURNS[turn]),)
    )
    return run(rig, SECONDS)


def energy(result: Run) -> Array:
    """Kinetic energy of the pen at every tick, n, [J]."""
    velocity = result.signal("leader", "twist_tool_in_world")[:, :3]
    return 0.5 * MASS * (velocity**2).sum(axis=1)


def growth(result: Run) -> tuple[float, float, float]:
    """Largest energy of the pen while it is turned and afterwards, and at the end, [J]."""
    t, E = result.times("leader"), energy(result)
    return float(E[t < END].max()), float(E[t >= END].max()), float(E[t >= SECONDS - 1.0].max())


@experiment("Y-57")
def orientation_only() -> Finding:
    """The arm has five joints: to turn its tool it must move it, and a loose pen follows and asks for more."""
    swept = {"as published": tuple(TURNS), "with the rig's arm friction": WHOLE}
    swept["without the setpoint's speed limit"] = ("+x",)
    loose = {
        case: {turn: growth(turned(case, turn)) for turn in turns} for case, turns in swept.items()
    }
    calm = {case: {turn: growth(turned(case, turn)) for turn in WHOLE} for case in CALMED}
    ratios = {turn: after / during for turn, (during, after, _) in loose["as published"].items()}
    grown = sum(ratio > 2.0 for ratio in ratios.values())
    kept = {
        case: [turn for turn, (during, _, end) in found.items() if end < during]
        for case, found in calm.items()
    }
    bounded = [case for case, turns in kept.items() if len(turns) == len(WHOLE)]
    trips = any(turned(case, turn).rig.session.trips for case in CALMED for turn in WHOLE)
    stopped = sum(bool(turned("as published", turn).rig.session.trips) for turn in TURNS)
    tables = "; ".join(f"{case}: {_energies(found)}" for case, found in loose.items())
    calmed = "; ".join(f"{case}: {_energies(found)}" for case, found in calm.items())
    note = (
        f"largest energy of the pen while it is turned by 0.6 rad (half: 0.3) → after that [mJ]. {tables}. It grows in "
        f"{grown} of {len(ratios)} turns, in {stopped} until the guard stops the arm: it can swing up, as the "
        "thesis says, "
        f"but not by every turn. Calmed, {calmed}. Bounded here: less energy in the last second than while it "
        "was turned; "
        f"in every turn: {', '.join(bounded) or 'none'}; all: "
        f"{', '.join(f'{case} {len(turns)} of {len(WHOLE)}' for case, turns in kept.items())}; X15 asks for a "
        "mitigation"
    )
    figures = (Figure("A loose pen is turned", _plot),)
    return Finding(
        max(ratios.values()), grown > 0 and bool(bounded) and not trips, note, figures=figures
    )


def _energies(found: dict[str, tuple[float, float, float]]) -> str:
    return ", ".join(
        f"{turn} {1e3 * during:.2g} → {1e3 * after:.2g}"
        for turn, (during, after, _) in found.items()
    )


def _plot():
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(7.5, 3.2), layout="constrained")
    axes = figure.subplots()
    for case in ("as published", *CALMED):
        result = turned(case, "+x")
        axes.semilogy(
            result.times("leader"), 1e3 * energy(result) + 1e-6, label=case, linewidth=0.8
        )
    axes.set(
        xlabel="time [s]", ylabel="energy of the pen [mJ]", title="A loose pen is turned by 0.6 rad"
    )
    axes.legend(fontsize=8)
    return figure

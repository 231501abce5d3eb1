"""Only the orientation of a pen that nobody holds is changed: how the two machines stir each other up: Y-57."""

from __future__ import annotations

import numpy as np

from farhand.control.trajectory import Move, Path
from farhand.experiments.harness import Figure, Finding, experiment, shared
from farhand.experiments.trial import Run, run
from farhand.rigs import Options, build_rig

Array = np.ndarray

GROUP = "youbot"
MASS = 0.3  # of the pen [kg]
TURN = (0.6, 0.0, 0.0)  # [rad], about the pen's x
END = 1.5  # [s], when the turning ends
SECONDS = 7.0
PUBLISHED: tuple[tuple[str, object], ...] = (("law.spring.damping", 0.0), ("law.spring.rotational_damping", 0.0))
"""The seed names no damping anywhere."""

LIGHT: tuple[tuple[str, object], ...] = (("rig.arm_viscous", (0.1, 0.1, 0.05, 0.02, 0.01)),)
"""An arm that moves freely."""

CASES: dict[str, tuple[tuple[str, object], ...]] = {
    "as published": (*PUBLISHED, *LIGHT),
    "setpoint without speed limit": (*PUBLISHED, *LIGHT, ("law.mapping.limiter.speed", 10.0)),
    "pen damped by 5 N·s/m": (*PUBLISHED, *LIGHT, ("leader.assist.damping", 5.0)),
    "spring damped by 110 N·s/m": LIGHT,
    "pen held": (*PUBLISHED, *LIGHT, ("hand.stiffness", 200.0), ("hand.damping", 5.0)),
}
"""The system as published, without its limiter, and what is tried against the swing."""

UNCALMED = ("as published", "setpoint without speed limit")


@shared
def turned(case: str) -> Run:
    """The pen's orientation changes within a second; nobody holds its position unless the case says so."""
    loose: tuple[tuple[str, object], ...] = (("hand.stiffness", 0.0), ("hand.damping", 0.0), ("rig.hand_mass", 0.0))
    rig = build_rig(GROUP, Options(scenario="rest", settings=[*loose, *CASES[case]]))
    rig.session.parameters["hand"].path = Path((Move(END - 1.0, 1.0, (0.0, 0.0, 0.0), TURN),))
    return run(rig, SECONDS)


def energy(result: Run) -> Array:
    """Kinetic energy of the pen at every tick, n, [J]."""
    velocity = result.signal("leader", "twist_tool_in_world")[:, :3]
    return 0.5 * MASS * (velocity**2).sum(axis=1)


def growth(result: Run) -> tuple[float, float, float]:
    """Largest energy of the pen while it is turned and afterwards, and at the end, [J]."""
    t, E = result.times("leader"), energy(result)
    return float(E[t < END].max()), float(E[t >= END].max()), float(E[t >= SECONDS - 1.0].max())


@experiment(
    "Y-57",
    "Orientation-only instability and its mitigation",
    group=GROUP,
    unit="-",
    criterion="energy grows unmitigated, bounded mitigated",
    source="thesis L2827–2838: sudden motion, can enter an unstable cycle; not fixed; no numbers published",
)
def orientation_only() -> Finding:
    """The arm has five joints: to turn its tool it must move it, and a loose pen follows and asks for more."""
    found = {case: growth(turned(case)) for case in CASES}
    during, after, _ = found["as published"]
    stopped = [record.trip.reason for record in turned("as published").rig.session.trips]
    unlimited = found["setpoint without speed limit"][1]
    calm = {case: values for case, values in found.items() if case not in UNCALMED}
    table = "; ".join(f"{case}: at most {1e3 * max(v[:2]):.2f}, then {1e3 * v[2]:.2g} mJ" for case, v in calm.items())
    until = f", until the guard stops it ({stopped[0]})" if stopped else ""
    note = (
        f"pen has {1e3 * during:.1f} mJ of motion while it is turned, {1e3 * after:.0f} mJ after that{until}; {table}; "
        f"it is not the setpoint's speed limit that feeds the swing: without it {1e3 * unlimited:.0f} mJ"
    )
    bounded = all(max(v[:2]) < 0.1 * after and v[2] < 1e-4 for v in calm.values())
    trips = any(turned(case).rig.session.trips for case in calm)
    figures = (Figure("A loose pen is turned", _plot),)
    grows = min(after, unlimited) > 20.0 * during
    return Finding(after / during, grows and bounded and not trips, note, figures=figures)


def _plot():
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(7.5, 3.2), layout="constrained")
    axes = figure.subplots()
    for case in CASES:
        axes.semilogy(turned(case).times("leader"), 1e3 * energy(turned(case)) + 1e-6, label=case, linewidth=0.8)
    axes.set(xlabel="time [s]", ylabel="energy of the pen [mJ]", title="A loose pen is turned by 0.6 rad")
    axes.legend(fontsize=8)
    return figure

"""What the dual-arm experiments read from a run, and the frame of their plots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from farhand.arm import Arm
from farhand.coupling.virtual_constraints import VirtualConstraints
from farhand.rigs import Rig
from farhand_lab.trial import Run, dual_arm

if TYPE_CHECKING:
    import matplotlib.figure
    from matplotlib.axes import Axes

Array = np.ndarray
Setting = tuple[str, object]

LAW = "virtual-constraints"
# a law that does not use the force sensors
NO_WRENCH: tuple[Setting, ...] = ("law.leader_wrench", False), ("law.follower_wrench", False)
# the follower starts in another posture than the leader: equal ones cancel most model errors
OTHER_POSTURE: Setting = ("rig.follower_offset", (0.5, 0.25, -0.35, 0.3, -0.4, 0.6))


def coupled_rig(scenario: str, *settings: Setting, **options: float) -> Rig:
    """The rig under virtual constraints with silent sensors."""
    return dual_arm(LAW, scenario, *settings, **options)


def law_of(rig: Rig) -> VirtualConstraints:
    """The rig's law."""
    law = rig.session.bridges[0].laws[0]
    assert isinstance(law, VirtualConstraints)
    return law


def position_error(run: Run) -> Array:
    """‖e_p‖ over time, [mm]."""
    return 1e3 * np.linalg.norm(run.signal("coupling", "error")[:, :3], axis=1)


def rotation_error(run: Run) -> Array:
    """Angle between the tools over time, [deg]."""
    return np.degrees(np.linalg.norm(run.signal("coupling", "error")[:, 3:], axis=1))


def between(run: Run, values: Array, start: float, end: float = np.inf) -> Array:
    """The part of a signal of the coupling between two times, [s]."""
    t = run.times("coupling")
    return values[(t >= start - 1e-9) & (t < end - 1e-9)]


def force(run: Run, station: str, kind: str = "measured") -> Array:
    """Force on a tool over time, measured or commanded, [N], world axes."""
    return run.signal(station, f"wrench_{kind}_in_world")[:, :3]


def final_force(run: Run, station: str) -> float:
    """Mean x force measured on a tool over the last half second, [N]."""
    return float(force(run, station)[-500:, 0].mean())


def least_singular_values(arm: Arm, configurations: Array) -> Array:
    """Smallest singular value of the arm's Jacobian at each configuration [rad]."""
    values = []
    for q in configurations:
        arm.update(q, np.zeros(arm.nv))
        values.append(float(np.linalg.svd(arm.J, compute_uv=False)[-1]))
    return np.array(values)


def gamma(run: Run, index: int = -1) -> Array:
    """Γ = J₁B₁⁻¹J₁ᵀ + J₂B₂⁻¹J₂ᵀ at a record of a run, by the controllers' models."""
    total = np.zeros((6, 6))
    for station in run.rig.session.stations:
        arm: Arm = station.arm
        arm.update(run.signal(station.name, "q")[index], np.zeros(arm.nv))
        total += arm.J @ np.linalg.solve(arm.M, arm.J.T)
    return total


def time_axes(title: str, rows: int, height: float) -> tuple[matplotlib.figure.Figure, Any]:
    """Empty axes above each other with one time axis; the title states the finding."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, height), layout="constrained")
    axes = figure.subplots(rows, 1, sharex=True)
    figure.suptitle(title)
    return figure, axes


def shade(axes: Axes, rig: Rig) -> None:
    """Draw the scenario's moves as bands with their labels."""
    top = axes.get_ylim()[1]
    for move in rig.scenario.moves:
        axes.axvspan(move.start, move.end, color="0.93", zorder=0)
        turned = 25 if len(move.label) > 3 else 0
        axes.text(move.start, top, f" {move.label}", fontsize=7, rotation=turned, va="bottom")

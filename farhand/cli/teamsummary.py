"""A run of arms that carry together, in words and pictures; and the numbers both kinds of summary are made of."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from farhand.analysis.history import History

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from farhand.experiments.page import Animation
    from farhand.rigs import Rig

Result = dict[str, Any]


class Numbers:
    """Metrics of a result by name; None where a run has none."""

    def __init__(self, result: Result) -> None:
        self._metrics = result["metrics"]

    def __getitem__(self, name: str) -> float | None:
        return self._metrics.get(name, {}).get("value")


def number(value: float | None) -> str:
    """Three digits, without an exponent where a person would not write one."""
    if value is None:
        return "–"
    value = float(f"{value:.3g}")
    if value == 0.0 or not math.isfinite(value):
        return f"{value:g}"
    if abs(value) >= 1e7:
        return f"{value:.3g}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.1g}" if digits > 6 else f"{value:.{digits}f}"


def is_team(result: Result) -> bool:
    """Whether arms met in an object or a spring, with no coupling between them."""
    return any(name.startswith("torque_share_max_") for name in result["metrics"])


def arms_of(result: Result) -> list[str]:
    """Names of the arms of a team."""
    start = "force_max_"
    return [name.removeprefix(start) for name in result["metrics"] if name.startswith(start)]


def team_headline(result: Result) -> str:
    """The run in one sentence."""
    m = Numbers(result)
    most = max((m[f"force_max_{arm}"] or 0.0 for arm in arms_of(result)), default=0.0)
    if m["share_error_max"] is None:
        return f"Nothing tripped; at most {number(most)} N at a wrist"
    tilt = number(math.degrees(m["tilt_max"] or 0.0))
    return f"Every share within {number(100.0 * m['share_error_max'])} % of its nominal, tilt at most {tilt}°"


def team_lines(result: Result) -> Iterator[tuple[str, str]]:
    """What a person wants to know, as (topic, words)."""
    m, arms = Numbers(result), arms_of(result)
    if "leader" in arms:
        error = [number(1e3 * (m[name] or 0.0)) for name in ("tracking_error_max", "tracking_error_rms")]  # [mm]
        yield "leader", f"up to {error[0]} mm off its path, {error[1]} mm rms"
    yield "force", ", ".join(f"{arm} {number(m[f'force_max_{arm}'])} N" for arm in arms)
    torques = {arm: 100.0 * (m[f"torque_share_max_{arm}"] or 0.0) for arm in arms}
    yield "torque", ", ".join(f"{arm} {number(share)} %" for arm, share in torques.items()) + " of limits"
    if m["tilt_max"] is not None:
        shares = ", ".join(f"{arm} {number(100.0 * s)} %" for arm in arms if (s := m[f"share_{arm}"]) is not None)
        if shares:
            off = [number(100.0 * (m[f"share_error_{kind}max"] or 0.0)) for kind in ("", "momentary_")]
            yield "shares", f"{shares} of nominal; at most {off[0]} % off in means of 1 s, {off[1]} % at a moment"
        inner = f"up to {number(m['internal_force_max'])} N, {number(m['internal_force_final'])} N at the end"
        yield "squeeze", inner
        yield "tilt", f"up to {number(math.degrees(m['tilt_max']))}°"
    yield "energy", f"balances to {number(100.0 * (m['energy_balance_error'] or 0.0))} %"


def moving_picture(rig: Rig) -> Animation | None:
    """The run as a film, twice as fast as it was; None if nothing was recorded."""
    from farhand.analysis.team import TeamMetrics
    from farhand.analysis.team_film import filmed
    from farhand.experiments.page import Animation

    metrics, size = rig.metrics, getattr(rig.construction, "size", np.zeros(3))
    if not isinstance(metrics, TeamMetrics) or not len(metrics.history.times("team")):
        return None
    return Animation(filmed(metrics, size))


def draw_loads(ax: Axes, history: History, arms: list[str]) -> None:
    """What every arm lifts with over time."""
    times = history.times("team")
    lifted = history.signal("team", "wrench_of_arms_on_object_in_world").reshape(len(times), -1, 6)[:, :, 2]
    for number_, arm in enumerate(arms):
        ax.plot(times, lifted[:, number_], linewidth=1.2, label=arm)
    ax.set_ylabel("lift of each arm [N]")


def draw_squeeze(ax: Axes, history: History) -> None:
    """The largest internal force over time."""
    times = history.times("team")
    inner = history.signal("team", "internal_wrench_in_world").reshape(len(times), -1, 6)
    ax.plot(times, np.linalg.norm(inner[:, :, :3], axis=2).max(axis=1), linewidth=1.2, label="largest at a grip")
    ax.set_ylabel("internal force [N]")
    ax.set_ylim(bottom=0.0)


def draw_heights(ax: Axes, history: History, arms: list[str]) -> None:
    """How high every tool is."""
    for arm in arms:
        height = history.signal(arm, "position_tool_in_world")[:, 2]
        ax.plot(history.times(arm), height, linewidth=1.2, label=arm)
    ax.set_ylabel("height of the tool [m]")

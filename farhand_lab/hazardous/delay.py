"""The hazardous rig over a bad network: a lossy one, and where delay and wall stiffness end stability: C-57, C-58."""

from __future__ import annotations

import numpy as np

from farhand.link.network import EmulatedNetwork
from farhand.rigs import Options, build_rig
from farhand_lab.harness import Figure, Finding, experiment, shared
from farhand_lab.hazardous.rig import GROUP, SHARP, calms_down, scaled_error, shaking, teleoperated
from farhand_lab.mutation import Mutation, changed
from farhand_lab.trial import Run, run

LOSSY = {"delay": 40.0, "jitter": 20.0, "loss": 0.1}
"""±20 ms of jitter needs a delay of at least as much one way; round trip and jitter [ms], loss
[-]."""

STIFFNESSES = (1000.0, 2500.0, 5000.0)
"""Walls of the map, [N/m]; the last is the rig's own."""

FINEST, LONGEST = 10.0, 320.0
"""How closely the boundary is located, and the longest round trip that is tried, [ms]."""


@shared
def lossy(scenario: str, layer: str = "tdpa") -> Run:
    """The rig over the lossy network with a layer, without the published force filter."""
    return run(build_rig(GROUP, Options(layer=layer, scenario=scenario, settings=[SHARP], **LOSSY)))  # type: ignore[arg-type]


def _rms(result: Run) -> float:
    return float(np.sqrt((np.linalg.norm(scaled_error(result), axis=1) ** 2).mean()))


@experiment("C-57")
def lossy_network() -> Finding:
    """With time-domain passivity; the value is the tracking error over that of a perfect network."""
    free, wall = lossy("free"), lossy("wall")
    ideal, rms = _rms(teleoperated("free", 0.0, SHARP)), _rms(free)
    trips = [record.trip.reason for result in (free, wall) for record in result.rig.session.trips]
    calm, bare = calms_down(wall), shaking(lossy("wall", "none"))[1]
    note = (
        f"RMS {rms:.1f} mm against {ideal:.1f} mm; the force on the wall deviates by {shaking(wall)[1]:.2f} N at the "
        f"end of pressing, without the layer by {bare:.2f} N; trips: {', '.join(trips) or 'none'}"
    )
    return Finding(rms / ideal, rms <= 2.0 * ideal and calm and not trips, note)


@shared
def boundary(stiffness: float) -> tuple[float, float]:
    """Longest round trip that was stable and shortest that was not, [ms], by halving."""
    low, high = 0.0, LONGEST
    while high - low > FINEST:
        middle = 0.5 * (low + high)
        if calms_down(teleoperated("wall", middle, SHARP, ("wall.stiffness", stiffness))):
            low = middle
        else:
            high = middle
    return low, high


@experiment("C-58")
def stability_map() -> Finding:
    """The value is the boundary at the rig's own wall; a stiffer wall must not bear a longer delay."""
    found = {stiffness: boundary(stiffness) for stiffness in STIFFNESSES}
    middles = [0.5 * (low + high) for low, high in found.values()]
    located = all(high - low <= 2.0 * FINEST for low, high in found.values())
    inside = all(low > 0.0 and high < LONGEST for low, high in found.values())
    falling = all(soft >= hard for soft, hard in zip(middles, middles[1:], strict=False))
    told = ", ".join(
        f"{stiffness:.0f} N/m: {low:.0f}–{high:.0f} ms" for stiffness, (low, high) in found.items()
    )
    note = f"{told}, between the longest stable and the shortest unstable round trip; hand 300 N/m and 20 N·s/m"
    return Finding(
        middles[-1], located and inside and falling, note, figures=(Figure("Stability map", _plot),)
    )


def _plot():
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(6.0, 3.4), layout="constrained")
    axes = figure.subplots()
    lows, highs = zip(*(boundary(stiffness) for stiffness in STIFFNESSES), strict=True)
    axes.fill_between(STIFFNESSES, lows, highs, alpha=0.4, label="boundary")
    axes.fill_between(STIFFNESSES, 0.0, lows, alpha=0.15, label="stable")
    axes.set(
        xlabel="wall stiffness [N/m]",
        ylabel="round trip [ms]",
        title="Where pressing on a wall is stable",
    )
    axes.legend(fontsize=8)
    return figure


def _loses_most(send):
    def broken(self: EmulatedNetwork, now_ns: int, data: bytes) -> None:
        if now_ns % 300_000_000 < 10_000_000:  # ten milliseconds out of three hundred get through
            send(self, now_ns, data)

    return broken


def _at_once(send):
    def broken(self: EmulatedNetwork, now_ns: int, data: bytes) -> None:
        send(self, now_ns - self.delay_ns, data)

    return broken


MUTATIONS = [
    Mutation(
        "deaf network",
        "only bursts get through",
        ("C-57",),
        lambda: changed(EmulatedNetwork, "send", _loses_most),
    ),
    Mutation(
        "no delay",
        "packets arrive at once",
        ("C-58",),
        lambda: changed(EmulatedNetwork, "send", _at_once),
    ),
]

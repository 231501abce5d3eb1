"""The pen and the robot on one machine or on two: the same without delay, and how it gets worse with delay: Y-60."""

from __future__ import annotations

import numpy as np

from farhand.loop.bridges.linked import LinkEnd
from farhand.rigs import Options, build_rig
from farhand_lab.harness import Figure, Finding, experiment, shared
from farhand_lab.mutation import Mutation, changed
from farhand_lab.trial import Run, run

GROUP = "youbot"
DELAYS = (0.0, 20.0, 50.0, 100.0, 200.0)
"""Round trips of the curve, [ms]."""

REMOTE = [("link.outage_start", 1e5), ("link.outage_length", 1.0)]
"""A network that does nothing for a day: everything crosses it, and nothing is changed by it."""


@shared
def local() -> Run:
    """Both sides in one process."""
    return run(build_rig(GROUP, Options(scenario="wall")))


@shared
def remote(delay: float) -> Run:
    """Two ends with a network between them, round trip in [ms]."""
    return run(build_rig(GROUP, Options(scenario="wall", delay=delay, settings=list(REMOTE))))


def deviation(delay: float) -> float:
    """How far the robot's tool is from where it is in one process, RMS, [mm]."""
    here, there = (
        result.signal("follower", "position_tool_in_world") for result in (local(), remote(delay))
    )
    return 1e3 * float(np.sqrt(((here - there) ** 2).sum(axis=1).mean()))


@experiment("Y-60")
def local_and_remote() -> Finding:
    """The value is the deviation of the tool without delay: a packet is one tick old, nothing else."""
    curve = {delay: deviation(delay) for delay in DELAYS}
    trips = sum(len(remote(delay).rig.session.trips) for delay in DELAYS[:1])
    worse = all(a < b for a, b in zip(list(curve.values()), list(curve.values())[1:], strict=False))
    told = ", ".join(f"{size:.2f} mm at {delay:.0f} ms" for delay, size in curve.items())
    ok = curve[0.0] < 0.5 and worse and not trips
    return Finding(
        curve[0.0], ok, told, figures=(Figure("Worse with delay", lambda: _plot(curve)),)
    )


def _plot(curve: dict[float, float]):
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(6.0, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.plot(list(curve), list(curve.values()), "o-")
    axes.set(
        xlabel="round trip [ms]",
        ylabel="deviation of the tool [mm]",
        title="The robot's tool, against one process",
    )
    return figure


def _stale(receive):
    def broken(self: LinkEnd, now_ns: int) -> None:
        if now_ns // 1_000_000 % 100 == 0:
            receive(self, now_ns)

    return broken


MUTATIONS = [
    Mutation(
        "stale",
        "an end looks at its packets ten times a second",
        ("Y-60",),
        lambda: changed(LinkEnd, "receive", _stale),
    )
]

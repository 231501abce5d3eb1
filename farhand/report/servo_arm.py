"""The picture of ``farhand arm check``: how each joint of a servo arm moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from farhand.plants.servo_arm.tools import MOVE_TIME_S, JointCheck
from farhand.report.figures import DARK, FOLLOWER, GREY, LEADER, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROW_IN = 1.5


def draw_check(checks: Sequence[JointCheck]) -> Figure:
    """A row for each joint: its way over time, its load over its way, its place in its range."""
    figure = new_figure(9.0, ROW_IN * len(checks) + 0.7)
    axes = figure.subplots(len(checks), 3, squeeze=False, width_ratios=(3, 3, 2))
    for (way, loop, place), check in zip(axes, checks, strict=True):
        goal, here, load = check.path.T
        times = np.linspace(0.0, 2.0 * MOVE_TIME_S, len(goal) + 1)[1:]
        way.plot(times, np.degrees(goal), color=GREY, label="goal")
        way.plot(times, np.degrees(here), color=FOLLOWER, label="servo")
        colour = LEADER if check.problem else DARK
        title = f"{check.servo.joint} ({check.servo.id})"
        way.set_ylabel(f"{title}\nway [°]", color=colour)
        half = len(goal) // 2
        for part, shade, words in ((slice(half), LEADER, "out"), (slice(half, None), DARK, "back")):
            loop.plot(np.degrees(here[part]), load[part], color=shade, label=words)
        loop.set_ylabel("load [N·m]")
        loop.set_title(f"friction {check.friction:.3f} N·m", fontsize=9, color=colour, pad=3)
        place.barh([0.0], check.span[1] - check.span[0], left=check.span[0], height=0.5, color=GREY)
        place.plot([0.0], [0.0], marker="o", color=colour)
        place.set(xlim=(check.span[0] - 0.3, check.span[1] + 0.3), ylim=(-1.0, 1.0), yticks=[])
        words = check.problem.partition(":")[0] or "as it should be"
        place.set_title(words, fontsize=9, color=colour, pad=3)
    for axis, words in zip(axes[-1], ("time [s]", "way [°]", "its range [rad]"), strict=True):
        axis.set_xlabel(words)
    for axis in axes[0][:2]:
        axis.legend(fontsize=8, frameon=False)
    return figure

"""Arrows: forces at the tools, as long as they are large."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import viser

from farhand.console.status import newtons

Array = np.ndarray

SMALLEST_ARROW = 1.25e-3  # [m], less is not drawn
LONGEST_ARROW = 1.0  # [m], a crash must not send an arrow through the roof
HEAD_LENGTH, HEAD_RADIUS, SHAFT_RADIUS = 0.06, 0.025, 0.010  # [m]


@dataclass
class Arrow:
    """The force on one tool: an arrow from the tool point along the force on the arm, and its size in [N].

    Attributes:
        arrow: the node of the scene.
        label: its number.
        scale: force that ten centimetres stand for, [N].
        aside: where the number stands from the tip, [m]: tools that meet need not have their
            numbers meet too.
    """

    arrow: viser.ArrowsHandle
    label: viser.LabelHandle
    scale: float
    aside: Array

    def point(self, tool: Array, force: Array, word: str = "") -> None:
        """Show the force [N] at the tool [m], and what it is if not measured; nothing when it is small or not known."""
        size = float(np.linalg.norm(force))
        length = min(0.1 * size / self.scale, LONGEST_ARROW)
        self.arrow.visible = self.label.visible = length >= SMALLEST_ARROW  # False for NaN too
        if not self.arrow.visible:
            return
        along = force * (length / size)
        shrink = min(1.0, 0.6 * length / HEAD_LENGTH)
        self.arrow.head_length, self.arrow.head_radius = HEAD_LENGTH * shrink, HEAD_RADIUS * shrink
        self.arrow.shaft_radius = SHAFT_RADIUS * shrink
        self.arrow.points = np.array([[[0.0, 0.0, 0.0], along]], dtype=np.float32)
        self.arrow.position = tool
        self.label.position = tool + along * (1.0 + 0.03 / length) + self.aside
        self.label.text = f"{word} {newtons(force)}".strip()

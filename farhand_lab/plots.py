"""Plots of the experiments: a figure with one pair of axes, labelled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def canvas(
    xlabel: str, ylabel: str, title: str = "", *, height: float = 3.2, **settings: Any
) -> tuple[Figure, Axes]:
    """A figure and its axes; ``settings`` are those of ``axes.set``, such as limits and scales."""
    # matplotlib takes long to import, and most runs draw nothing
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, height), layout="constrained")
    axes = figure.subplots()
    axes.set(xlabel=xlabel, ylabel=ylabel, title=title, **settings)
    return figure, axes

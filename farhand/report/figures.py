"""What the plots of all pages share: size, grid, thinning, and saving."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from farhand.files import write_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_POINTS = 4000
"""Points per line; more cannot be distinguished on the page."""

DARK, GREY, BAND = "#39424e", "#9aa4b1", "#eef1f4"


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of that size, [in]."""
    # Matplotlib is slow to import: only commands that draw pay for it
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def dress(ax: Axes, x: str = "", y: str = "", title: str = "") -> None:
    """Label axes, and give them a grid and no frame."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.set_title(title, loc="left", fontsize=10)
    ax.grid(True, color="#e3e6ea", linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)


def thinned(count: int) -> slice:
    """Every n-th of so many points, so that the plot stays small."""
    return slice(None, None, max(1, -(-count // MAX_POINTS)))


def save_figure(figure: Figure, path: Path) -> None:
    """Write a picture whole or not at all; its suffix says which kind.

    Raises:
        FileError: it cannot be written.
    """
    buffer = io.BytesIO()
    figure.savefig(buffer, format=path.suffix[1:].lower(), dpi=150)
    write_bytes(path, buffer.getvalue())

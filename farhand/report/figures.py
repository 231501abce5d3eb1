"""What the plots of all pages share: style, size, grid, labels, thinning, and saving."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farhand.files import write_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_POINTS = 4000
"""Points per line; more cannot be distinguished on the page."""

LEADER, FOLLOWER = "#d55e00", "#0072b2"
"""As on the console page: orange leads, blue follows."""

DARK, GREY, BAND = "#39424e", "#9aa4b1", "#eef1f4"

STYLES: dict[str, dict[str, Any]] = {
    "screen": {"font.size": 10, "lines.linewidth": 1.7, "lines.markersize": 5},
    "paper": {
        "font.size": 8,
        "axes.linewidth": 0.6,
        "lines.linewidth": 1.1,
        "lines.markersize": 3.5,
        "pdf.fonttype": 42,
    },
}
"""Settings of matplotlib for a page, and for a column of a journal."""

COLUMN_IN = 85.0 / 25.4
"""Width of a column of a journal, [in]."""

LOOKS: tuple[dict[str, Any], ...] = tuple(
    {"color": colour, "dashes": dashes, "marker": marker, "markerfacecolor": "white"}
    for colour, dashes, marker in (
        ("#0072b2", (), "o"),
        ("#d55e00", (6, 2), "s"),
        ("#009e73", (2, 1.5), "^"),
        ("#000000", (7, 2, 1.5, 2), "D"),
        ("#cc79a7", (4, 1.2), "v"),
        ("#e69f00", (7, 2, 1.5, 2, 1.5, 2), "P"),
        ("#56b4e9", (1.2, 1.2), "X"),
        ("#7f7f7f", (9, 3), "h"),
    )
)
"""Lines that differ by dashes and marker as well as by a colour that the colour-blind can tell."""


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


@contextmanager
def styled(style: str) -> Iterator[None]:
    """Draw and save in one of :data:`STYLES`; ids in an SVG are the same every time."""
    import matplotlib

    settings: dict[Any, Any] = {"svg.hashsalt": "farhand", **STYLES[style]}
    with matplotlib.rc_context(settings):
        yield


def label_ends(ax: Axes, ends: Sequence[tuple[float, str, str]]) -> None:
    """Name curves to the right of the axes, no name on top of another.

    Args:
        ax: at their final place, with their final limits.
        ends: height of each curve's end as a fraction of the axes, its name and colour.
    """
    size = 0.92 * float(ax.xaxis.label.get_fontsize())
    height_pt = 72.0 * ax.get_window_extent().height / ax.figure.dpi
    gap = 1.25 * size / height_pt
    ordered = sorted(ends)
    heights = _spread([end for end, _, _ in ordered], gap)
    for (end, name, colour), height in zip(ordered, heights, strict=True):
        ax.annotate(
            name,
            xy=(1.0, end),
            xytext=(1.06, height),
            xycoords="axes fraction",
            color=colour,
            fontsize=size,
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "lw": 0.6, "relpos": (0.0, 0.5)},
        )


def _spread(values: Sequence[float], gap: float) -> list[float]:
    """Ascending values moved apart to at least ``gap``, about where they were and not above 1."""
    groups: list[list[float]] = []
    for value in values:
        groups.append([value])
        while len(groups) > 1 and _low(groups[-1], gap) < _high(groups[-2], gap) + gap:
            last = groups.pop()
            groups[-1] += last
    spread = [_low(group, gap) + gap * i for group in groups for i in range(len(group))]
    beyond = max(0.0, spread[-1] - 1.0) if spread else 0.0
    return [value - beyond for value in spread]


def _low(group: list[float], gap: float) -> float:
    return sum(group) / len(group) - 0.5 * gap * (len(group) - 1)


def _high(group: list[float], gap: float) -> float:
    return _low(group, gap) + gap * (len(group) - 1)


def spaced(values: Sequence[float], least: float) -> list[float]:
    """Those of ascending values that are at least so far apart, for ticks with room to read."""
    kept: list[float] = []
    for value in values:
        if not kept or value - kept[-1] >= least:
            kept.append(value)
    return kept


def plain_log_axis(ax: Axes) -> None:
    """A logarithmic height with ticks that are few and read as numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    ax.set_yscale("log")
    low, high = ax.get_ylim()
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0,) if high > 50.0 * low else (1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    ax.yaxis.set_minor_locator(NullLocator())


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

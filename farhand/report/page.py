"""A self-contained HTML page for reports: text, tables and plots in one file."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from farhand.files import write_text
from farhand.report.numbers import number

if TYPE_CHECKING:
    import matplotlib.figure

LARGEST_SVG = 400_000
"""Above this size, in bytes, a plot is embedded as PNG."""

STYLE = """
:root { color-scheme: light dark; --ink: #1d2129; --soft: #5b6472; --line: #dfe3e8;
  --back: #fcfcfb; --head: #f1f3f5; --pass: #11703c; --corrected: #8a5a00; --differs: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --soft: #9aa4b1; --line: #343a43;
  --back: #15181c; --head: #1f242a; --pass: #5fd394; --corrected: #eebb55; --differs: #ff8a80; } }
body { margin: 0 auto; max-width: 76rem; padding: 2.5rem 1.25rem 5rem;
  background: var(--back); color: var(--ink);
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.35rem; margin: 3rem 0 .75rem; padding-top: .75rem;
  border-top: 1px solid var(--line); }
p { max-width: 44rem; }
p.lead { color: var(--soft); font-size: 1.1rem; margin-top: 0; }
.scroll { overflow-x: auto; margin: 1.25rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; line-height: 1.45; }
.caption, figcaption { color: var(--soft); font-size: .9rem; }
.caption { margin: 1.25rem 0 -.75rem; max-width: none; }
th { background: var(--head); text-align: left; }
th, td { padding: .5rem .75rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.badge { font-weight: 600; white-space: nowrap; }
.pass { color: var(--pass); } .corrected { color: var(--corrected); }
.differs, td.stopped { color: var(--differs); }
figure { margin: 1.75rem 0; }
figcaption { padding: .5rem 0 0; }
a { color: inherit; }
@media (max-width: 48rem) {
  body { padding: 1.5rem .9rem 4rem; } h1 { font-size: 1.6rem; } h2 { overflow-wrap: anywhere; }
  figure { overflow-x: auto; } figure img { max-width: none; width: 40rem; }
}
.film canvas { max-width: 100%; border: 1px solid var(--line); border-radius: 6px; }
.film div { display: flex; gap: .75rem; align-items: center; max-width: 880px; }
.film input { flex: 1; } .film button { font: inherit; min-width: 5rem; min-height: 2.75rem; }
img { max-width: 100%; background: #fff; border-radius: 6px; padding: .5rem;
  box-sizing: border-box; }
"""


@dataclass(frozen=True)
class TableCell:
    """Text of a table with its look: ``"number"`` stands to the right, ``"stopped"`` is red."""

    text: str
    look: str


@dataclass(frozen=True)
class Animation:
    """A moving picture: the bytes of a GIF file."""

    gif: bytes


class ReportPage:
    """A page that grows from top to bottom. All text is escaped, except by :meth:`markup`.

    Args:
        title: heading and browser title.
        lead: one or two sentences below the heading.
    """

    def __init__(self, title: str, lead: str) -> None:
        self.title = title
        self._parts = [f"<h1>{escape(title)}</h1>", f'<p class="lead">{escape(lead)}</p>']

    def section(self, title: str) -> None:
        """Start a section."""
        self._parts.append(f"<h2>{escape(title)}</h2>")

    def markup(self, html: str) -> None:
        """Add HTML whose text is escaped already."""
        self._parts.append(html)

    def command(self, text: str) -> None:
        """Add a command line, broken where it is longer than the page is wide."""
        look = "white-space: pre-wrap; overflow-wrap: anywhere"
        self._parts.append(f'<pre style="{look}">{escape(text)}</pre>')

    def paragraph(self, text: str) -> None:
        """Add a paragraph of plain text."""
        self._parts.append(f"<p>{escape(text)}</p>")

    def table(
        self, headers: Sequence[str], rows: Iterable[Sequence[object]], caption: str = ""
    ) -> None:
        """Add a table; numbers have four digits."""
        head = "".join(f"<th>{escape(header)}</th>" for header in headers)
        body = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
        # Outside of what scrolls, so that a phone shows all of it
        title = f'<p class="caption">{escape(caption)}</p>' if caption else ""
        whole = f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>"
        self._parts.append(f'{title}<div class="scroll"><table>{whole}</table></div>')

    def figure(self, figure: matplotlib.figure.Figure | Animation | Drawn, caption: str) -> None:
        """Add a plot with its caption, embedded as SVG, or as PNG where the SVG would be large."""
        text = escape(caption, quote=True)
        self._parts.append(
            f'<figure><img src="{data_address(figure)}" alt="{text}">'
            f"<figcaption>{text}</figcaption></figure>"
        )

    def html(self) -> str:
        """The page as text."""
        body = "\n".join(self._parts)
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{escape(self.title)}</title>\n<style>{STYLE}</style>\n</head>\n"
            f"<body>\n{body}\n</body>\n</html>\n"
        )

    def save(self, folder: str | Path) -> Path:
        """Write the page as ``index.html`` into a folder, made if needed; its path.

        Raises:
            FileError: the folder cannot be made or written; a page that was there stays as it was.
        """
        path = Path(folder) / "index.html"
        write_text(path, self.html())
        return path


def _cell(value: object) -> str:
    if isinstance(value, TableCell):
        return f'<td class="{value.look}">{escape(value.text)}</td>'
    if isinstance(value, bool):
        return f"<td>{'yes' if value else 'no'}</td>"
    if isinstance(value, int | float):
        return f'<td class="number">{number(value, 4)}</td>'
    return f"<td>{'–' if value is None else escape(str(value))}</td>"


@dataclass(frozen=True)
class Drawn:
    """A plot that is drawn already: the picture as a data address."""

    address: str


def data_address(
    figure: matplotlib.figure.Figure | Animation | Drawn, largest: int | None = None
) -> str:
    """The picture as a data address; the same plot gives the same bytes.

    Args:
        figure: to draw.
        largest: size above which an SVG becomes a PNG, [bytes]. If given, the SVG has its text as
            text and the PNG few colours: small, for pages with many plots.
    """
    if isinstance(figure, Drawn):
        return figure.address
    if isinstance(figure, Animation):
        return f"data:image/gif;base64,{base64.b64encode(figure.gif).decode()}"
    import matplotlib

    buffer = io.BytesIO()
    fonts = "path" if largest is None else "none"
    # No date, and ids from a fixed salt, so that committed pages change only with their content
    with matplotlib.rc_context({"svg.hashsalt": "farhand", "svg.fonttype": fonts}):
        figure.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Date": None})
    content, kind = _shortened(buffer.getvalue()), "svg+xml"
    if len(content) > (largest or LARGEST_SVG):
        buffer, kind = io.BytesIO(), "png"
        figure.savefig(
            buffer, format="png", dpi=150, bbox_inches="tight", metadata={"Software": None}
        )
        content = buffer.getvalue() if largest is None else _few_colours(buffer)
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def _shortened(svg: bytes) -> bytes:
    """Curves to a hundredth of a point: nobody sees more."""
    curves = re.compile(rb'(?<= d=")[^"]+')
    return curves.sub(lambda curve: re.sub(rb"(\.\d\d)\d+|\s+(?=\s)", rb"\1", curve[0]), svg)


def _few_colours(png: io.BytesIO) -> bytes:
    from PIL import Image

    small = io.BytesIO()
    with Image.open(png) as picture:
        picture.convert("RGB").quantize(64).save(small, "PNG", optimize=True)
    return small.getvalue()

"""A self-contained HTML page for reports: text, tables and plots in one file."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from farhand.files import write_text

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
caption, figcaption { color: var(--soft); font-size: .9rem; text-align: left; padding: 0 0 .5rem; }
th { background: var(--head); text-align: left; }
th, td { padding: .5rem .75rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.badge { font-weight: 600; white-space: nowrap; }
.pass { color: var(--pass); } .corrected { color: var(--corrected); }
.differs { color: var(--differs); }
figure { margin: 1.75rem 0; }
figcaption { padding: .5rem 0 0; }
nav ul { padding-left: 1.25rem; } nav li { margin: .25rem 0; } a { color: inherit; }
table.cards td:first-child { white-space: nowrap; }
tr:target { background: var(--head); }
@media (max-width: 48rem) {
  body { padding: 1.5rem .9rem 4rem; } h1 { font-size: 1.6rem; } h2 { overflow-wrap: anywhere; }
  table.cards thead { display: none; }
  table.cards tr { display: block; padding: .6rem 0; border-bottom: 1px solid var(--line); }
  table.cards td { display: block; border: 0; padding: .1rem 0;
    overflow-wrap: anywhere; text-align: left; }
  table.cards td:empty { display: none; }
  table.cards td:nth-child(-n+2) { font-weight: 600; }
  table.cards td:nth-child(3)::before { content: "ours: "; }
  table.cards td:nth-child(4)::before { content: "criterion: "; }
  table.cards td:nth-child(6)::before { content: "published: "; }
  table.cards td::before { color: var(--soft); }
  figure { overflow-x: auto; } figure img { max-width: none; width: 40rem; }
}
.film canvas { max-width: 100%; border: 1px solid var(--line); border-radius: 6px; }
.film div { display: flex; gap: .75rem; align-items: center; max-width: 880px; }
.film input { flex: 1; } .film button { font: inherit; min-width: 5rem; min-height: 2.75rem; }
img { max-width: 100%; background: #fff; border-radius: 6px; padding: .5rem;
  box-sizing: border-box; }
"""


@dataclass(frozen=True)
class Badge:
    """A verdict (``"pass"``, ``"corrected"`` or ``"differs"``) as a coloured table cell."""

    verdict: str


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
        """Start a section, which :meth:`contents` may lead to by its title."""
        self._parts.append(f'<a id="{escape(title, quote=True)}"></a><h2>{escape(title)}</h2>')

    def contents(self, entries: Iterable[tuple[str, str, Sequence[tuple[str, str]]]]) -> None:
        """Add a table of contents: where each entry leads, its text, and further links."""
        items = []
        for where, text, more in entries:
            beside = ", ".join(_link(*link) for link in more)
            items.append(
                f"<li>{_link(where, where)}: {escape(text)}{f' ({beside})' if beside else ''}</li>"
            )
        self._parts.append(f"<nav><ul>{''.join(items)}</ul></nav>")

    def paragraph(self, text: str) -> None:
        """Add a paragraph of plain text."""
        self._parts.append(f"<p>{escape(text)}</p>")

    def table(
        self,
        headers: Sequence[str],
        rows: Iterable[Sequence[object]],
        caption: str = "",
        cards: str = "",
    ) -> None:
        """Add a table; numbers have four digits, a :class:`Badge` is coloured.

        Args:
            headers: one per column.
            rows: of cells.
            caption: above it.
            cards: makes each row a card on a phone, and an address ``CARDS/first cell`` lead to it.
        """
        head = "".join(f"<th>{escape(header)}</th>" for header in headers)
        body = "\n".join(f"<tr{_named(cards, row)}>{''.join(map(_cell, row))}</tr>" for row in rows)
        title = f"<caption>{escape(caption)}</caption>" if caption else ""
        kind = ' class="cards"' if cards else ""
        whole = f"{title}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>"
        self._parts.append(f'<div class="scroll"><table{kind}>{whole}</table></div>')

    def figure(self, figure: matplotlib.figure.Figure | Animation | Drawn, caption: str) -> None:
        """Add a plot with its caption, embedded as SVG, or as PNG where the SVG would be large."""
        text = escape(caption, quote=True)
        self._parts.append(
            f'<figure><img src="{data_address(figure)}" alt="{text}">'
            f"<figcaption>{text}</figcaption></figure>"
        )

    def markup(self, html: str) -> None:
        """Add HTML as it is; whoever wrote it has escaped its text."""
        self._parts.append(html)

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


def _link(where: str, text: str) -> str:
    return f'<a href="#{escape(where, quote=True)}">{escape(text)}</a>'


def _named(before: str, row: Sequence[object]) -> str:
    return f' id="{escape(f"{before}/{row[0]}", quote=True)}"' if before else ""


def _cell(value: object) -> str:
    if isinstance(value, Badge):
        word = escape(value.verdict, quote=True)
        return f'<td><span class="badge {word}">{word}</span></td>'
    if isinstance(value, bool):
        return f"<td>{'yes' if value else 'no'}</td>"
    if isinstance(value, int | float):
        return f'<td class="number">{page_number(value)}</td>'
    return f"<td>{'–' if value is None else escape(str(value))}</td>"


def page_number(value: float) -> str:
    """Four digits, without an exponent where a person would not write one."""
    if isinstance(value, int) or (1e4 <= abs(value) < 1e9):
        return f"{value:,.0f}"
    return f"{value:.4g}"


@dataclass(frozen=True)
class Drawn:
    """A plot that is drawn already: the picture as a data address."""

    address: str


def data_address(figure: matplotlib.figure.Figure | Animation | Drawn) -> str:
    """The picture as a data address; the same plot gives the same bytes."""
    if isinstance(figure, Drawn):
        return figure.address
    if isinstance(figure, Animation):
        return f"data:image/gif;base64,{base64.b64encode(figure.gif).decode()}"
    import matplotlib

    buffer = io.BytesIO()
    # No date, and ids from a fixed salt, so that committed pages change only with their content
    with matplotlib.rc_context({"svg.hashsalt": "farhand"}):
        figure.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Date": None})
    kind = "svg+xml"
    if buffer.tell() > LARGEST_SVG:
        buffer, kind = io.BytesIO(), "png"
        figure.savefig(
            buffer, format="png", dpi=150, bbox_inches="tight", metadata={"Software": None}
        )
    return f"data:image/{kind};base64,{base64.b64encode(buffer.getvalue()).decode()}"

"""The page of ``farhand reproduce --report``: a card per publication, then a line per claim."""

from __future__ import annotations

import base64
import functools
import importlib.metadata
import io
import os
import platform
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import date
from html import escape
from pathlib import Path
from typing import Any

from farhand.report.page import Drawn, ReportPage, data_address
from farhand_lab import harness
from farhand_lab.harness import Entry, Figure, Verdict
from farhand_lab.publications import DOCS, Place, Publication, places, publication, publications

MEANINGS: dict[Verdict, str] = {
    "pass": "the criterion is met",
    "corrected": "the published criterion was wrong; the corrected one, derived in the errata, "
    "is met",
    "differs": "not met; the note says by how much and why",
}
WORDS: dict[Verdict, str] = {"pass": "pass", "corrected": "corrected", "differs": "differ"}
LARGEST_SVG = 24_000
"""Above this size, in bytes, a plot becomes a PNG: a hundred of them must open at once."""

LIBRARIES = ("farhand", "mujoco", "pin", "numpy")
CITED = re.compile(r"(?:sources/([\w-]+) )?(§\d+\.\d+|\b[A-Z]{1,2}-\d+\b)")
"""A place in the documentation, as criteria and sources name it."""

STYLE = """<style>
body { max-width: 88rem; }
.made { color: var(--soft); font-size: .9rem; margin: 0 0 1.5rem; max-width: none; }
.card { display: grid; grid-template-columns: 16rem 1fr 1.25fr; gap: 1.5rem; padding: 1.25rem 0;
  border-top: 1px solid var(--line); }
.legend { list-style: none; padding: 0; margin: 0 0 1.5rem; }
.card h2 { border: 0; margin: 0 0 .4rem; padding: 0; }
.card p { margin: .4rem 0; } .card img { width: 100%; padding: 0; }
.cite { font-size: .85rem; line-height: 1.45; color: var(--soft); }
.bar { display: flex; height: .6rem; margin: .8rem 0 .3rem; border-radius: .3rem;
  overflow: hidden; }
.bar i { background: currentColor; }
button { font: inherit; color: inherit; background: none; border: 0; padding: .1rem 0;
  margin-right: .8rem; min-height: 2.75rem; text-decoration: underline; cursor: pointer; }
.card ul { margin: .3rem 0; padding-left: 1.1rem; font-size: .9rem; line-height: 1.4; }
.card li { margin: .3rem 0; } .card li span, .claim .clamp { color: var(--soft); }
.filter { position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; gap: .6rem;
  align-items: center; background: var(--back); padding: .7rem 0; margin-top: 2rem;
  border-bottom: 1px solid var(--line); }
.filter input, .filter select { font: inherit; color: inherit; background: var(--back);
  border: 1px solid var(--line); border-radius: 6px; padding: .45rem .6rem; min-height: 2.75rem;
  box-sizing: border-box; }
.filter input { flex: 1 1 14rem; }
.row { display: grid; gap: 1rem; padding: .5rem .25rem; font-size: .9rem; line-height: 1.4;
  grid-template-columns: 3.6rem 1.3fr 1.2fr 7.5rem 1.6fr 5.5rem; }
.head { font-weight: 600; background: var(--head); }
.claim { border-bottom: 1px solid var(--line); scroll-margin-top: 5rem; }
.claim summary { cursor: pointer; list-style: none; }
.claim summary::-webkit-details-marker { display: none; }
.claim summary:hover, .claim[open] { background: var(--head); }
.row > * { overflow-wrap: anywhere; } .ours { font-variant-numeric: tabular-nums; }
.claim:not([open]) .clamp { display: -webkit-box; -webkit-line-clamp: 2;
  -webkit-box-orient: vertical; overflow: hidden; }
.more { padding: .25rem .25rem 1rem 4.85rem; font-size: .9rem; }
.more dt { color: var(--soft); } .more dd { margin: 0 0 .5rem; max-width: 60rem;
  overflow-wrap: anywhere; }
.more figure { margin: .75rem 0; max-width: 52rem; } code { user-select: all; }
@media (max-width: 60rem) {
  .card { grid-template-columns: 1fr; gap: .75rem; } .card img { max-width: 26rem; }
  .head { display: none; } .row { grid-template-columns: 3.2rem 1fr auto; gap: .15rem .6rem; }
  .row .title { font-weight: 600; } .row .badge { grid-row: 1; grid-column: 3; }
  .row [data-head] { grid-column: 2 / 4; }
  .row [data-head]::before { content: attr(data-head) ": "; color: var(--soft); }
  .claim:not([open]) .folds { display: none; }
  .claim { scroll-margin-top: 10rem; } .more { padding-left: .25rem; }
  .filter input { flex-basis: 100%; }
}
</style>"""

SCRIPT = """<script>
const rows = [...document.querySelectorAll(".claim")], field = id => document.getElementById(id);
const text = new Map(rows.map(row => [row, row.textContent.toLowerCase()]));
function filter() {
  const words = field("words").value.toLowerCase().split(/\\s+/), fits = (a, b) => !a || a === b;
  for (const row of rows)
    row.hidden = !(fits(field("rig").value, row.dataset.rig) &&
      fits(field("verdict").value, row.dataset.verdict) &&
      words.every(word => text.get(row).includes(word)));
  field("shown").textContent = `${rows.filter(row => !row.hidden).length} of ${rows.length}`;
}
function show(rig, verdict) {
  field("words").value = ""; field("rig").value = rig; field("verdict").value = verdict; filter();
}
for (const id of ["words", "rig", "verdict"]) field(id).addEventListener("input", filter);
for (const button of document.querySelectorAll("button[data-rig]"))
  button.addEventListener("click", () => {
    show(button.dataset.rig, button.dataset.verdict); field("claims").scrollIntoView(); });
function follow() {
  const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (row?.matches(".claim")) { show("", ""); row.open = true; row.scrollIntoView(); }
}
addEventListener("hashchange", follow); filter(); follow();
</script>"""


def drawn(entries: Sequence[Entry]) -> list[Entry]:
    """The same entries with their figures drawn, so that the runs behind them can be dropped."""

    # A figure that several entries share stays one
    @functools.cache
    def ready(figure: Figure) -> Figure:
        picture = Drawn(data_address(figure.make(), LARGEST_SVG))
        return Figure(figure.title, lambda: picture)

    return [replace(entry, figures=tuple(map(ready, entry.figures))) for entry in entries]


def undrawn(entries: Sequence[Entry]) -> list[Entry]:
    """The same entries without their figures."""
    return [replace(entry, figures=()) for entry in entries]


def to_row(entry: Entry) -> dict[str, Any]:
    """An entry as plain values, its figures drawn; :func:`from_row` makes it again."""
    row = {field.name: getattr(entry, field.name) for field in fields(entry)}
    row["figures"] = [(figure.title, data_address(figure.make())) for figure in entry.figures]
    return row


def from_row(row: Mapping[str, Any]) -> Entry:
    """The entry of :func:`to_row`."""
    figures = tuple(_drawn(title, address) for title, address in row["figures"])
    return Entry(**{**row, "path": tuple(row["path"]), "figures": figures})


# A figure that several entries share is one again
@functools.cache
def _drawn(title: str, address: str) -> Figure:
    return Figure(title, lambda: Drawn(address))


def report(entries: Sequence[Entry], folder: str | Path) -> Path:
    """Write the page: one card per publication, a filter, and one line per claim to unfold.

    Args:
        entries: what :func:`farhand_lab.harness.run` returned.
        folder: where ``index.html`` goes.

    Raises:
        FileError: the folder cannot be written.
    """
    page = ReportPage(
        "Published results, measured again",
        f"{len(entries)} claims of published teleoperation systems, and of our own: what was "
        "published, what came out of Farhand, and whether it holds.",
    )
    order = [*publications(), *(entry.group for entry in entries)]
    groups = [g for g in dict.fromkeys(order) if any(entry.group == g for entry in entries)]
    page.markup(STYLE + _made() + _legend(entries))
    links = Links(Path(folder))
    for group in groups:
        mine = [entry for entry in entries if entry.group == group]
        page.markup(_card(publication(group), mine))
    page.markup(_filter(groups))
    shown: dict[Figure, str] = {}
    for group in groups:
        for entry in (entry for entry in entries if entry.group == group):
            page.markup(_claim(entry, links, shown))
    page.markup(SCRIPT)
    return page.save(folder)


class Links:
    """Links from a folder to lines of the documentation, where this checkout has it."""

    def __init__(self, folder: Path) -> None:
        self._docs = os.path.relpath(DOCS, folder.absolute())

    def to(self, place: Place | None, text: str) -> str:
        """A link, or the text alone if there is no such place."""
        if place is None:
            return escape(text)
        where = f"{Path(self._docs).as_posix()}/{place.page}"
        title = f"docs/{place.page}, line {place.line}"
        return f'<a href="{escape(f"{where}#{place.anchor}")}" title="{title}">{escape(text)}</a>'

    def inside(self, group: str, text: str) -> str:
        """The text with a link at every place of the documentation that it names."""
        parts, end = [], 0
        for found in CITED.finditer(text):
            # A section without a page before it is one of the thesis
            page = found[1] or ("" if found[2].startswith("§") else group)
            linked = self.to(places(page).get(found[2]) if page else None, found[0])
            parts += [escape(text[end : found.start()]), linked]
            end = found.end()
        return "".join(parts) + escape(text[end:])


def _made() -> str:
    """Date, commit and versions: what a reader needs to get the same."""
    versions = [f"Python {platform.python_version()}"]
    for name in LIBRARIES:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    commit = f", commit {harness.commit()}" if harness.commit() else ""
    return f'<p class="made">{date.today()}{commit}; {", ".join(versions)}</p>'


def _legend(entries: Sequence[Entry]) -> str:
    """How many claims hold, and what the words mean."""
    counts = Counter(entry.verdict for entry in entries)
    lines = (
        f'<li><b class="{verdict}">{counts[verdict]} {WORDS[verdict]}</b>: {meaning}</li>'
        for verdict, meaning in MEANINGS.items()
    )
    return f'<ul class="legend">{"".join(lines)}</ul>'


def _card(source: Publication, entries: list[Entry]) -> str:
    """Picture, citation, score, and in words what differs."""
    counts = Counter(entry.verdict for entry in entries)
    bar = "".join(f'<i class="{v}" style="flex: {counts[v]}"></i>' for v in MEANINGS)
    score = "".join(
        f'<button class="{v}" data-rig="{escape(source.group)}" data-verdict="{v}">'
        f"{counts[v]} {WORDS[v]}</button>"
        for v in MEANINGS
        if counts[v]
    )
    picture = ""
    if source.picture:
        alt = escape(f"{source.title} as Farhand simulates it", quote=True)
        picture = f'<img alt="{alt}" src="{_thumbnail(source.picture)}">'
    return (
        f'<section class="card"><div>{picture}</div><div><h2>{escape(source.title)}</h2>'
        f'<p class="cite">{_inline(source.citation)}</p><div class="bar">{bar}</div>{score}</div>'
        f"<div>{_differences(entries)}</div></section>"
    )


def _differences(entries: list[Entry]) -> str:
    """Every claim that is not met; ids of one cause share a line."""
    causes: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.verdict == "differs":
            causes.setdefault(entry.note, []).append(entry)
    if not causes:
        return "<p>Nothing differs.</p>"
    items = []
    for same in causes.values():
        ids = ", ".join(f'<a href="#{escape(e.id)}">{escape(e.id)}</a>' for e in same)
        first = same[0]
        why = first.differs or f"asked for: {_criterion(first)}"
        said = f"{escape(f'{first.title}: {first.measured}.')} <span>{escape(why)}</span>"
        items.append(f"<li>{ids} {said}</li>")
    return f"<b>What differs</b><ul>{''.join(items)}</ul>"


def _filter(groups: list[str]) -> str:
    rigs = "".join(f'<option value="{escape(g)}">{escape(g)}</option>' for g in groups)
    verdicts = "".join(f'<option value="{v}">{v}</option>' for v in MEANINGS)
    heads = ("id", "claim", "published", "ours", "tolerance", "verdict")
    return (
        '<div class="filter" id="claims"><input id="words" type="search" '
        'placeholder="Find in the claims" aria-label="Find in the claims">'
        f'<select id="rig" aria-label="rig"><option value="">every rig</option>{rigs}</select>'
        '<select id="verdict" aria-label="verdict"><option value="">every verdict</option>'
        f'{verdicts}</select><span id="shown" aria-live="polite"></span></div>'
        f'<div class="row head">{"".join(f"<span>{head}</span>" for head in heads)}</div>'
    )


def _claim(entry: Entry, links: Links, shown: dict[Figure, str]) -> str:
    """A line, and beneath it all that is needed to check it."""
    place = places(entry.group).get(entry.id)
    published = links.inside(entry.group, entry.source)
    line = (
        f"<span>{links.to(place, entry.id)}</span>"
        f'<span class="title">{escape(entry.title)}</span>'
        f'<span class="folds" data-head="published"><span class="clamp">{published}</span></span>'
        f'<span class="ours" data-head="ours">{escape(entry.measured)}</span>'
        f'<span class="folds" data-head="tolerance"><span class="clamp">'
        f"{links.inside(entry.group, _criterion(entry))}</span></span>"
        f'<span class="badge {entry.verdict}">{entry.verdict}</span>'
    )
    path = ", ".join(f"<code>{escape(name)}</code>" for name in entry.path)
    facts = {
        "in short": escape(entry.differs),
        "note": links.inside(entry.group, entry.cause),
        "code that is judged": path,
        "set apart from the rig as shipped": escape(entry.configuration),
        "repeat": f"<code>farhand reproduce {escape(entry.id)}</code>",
        "listed in": links.to(place, f"docs/{place.page}, line {place.line}") if place else "",
    }
    more = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in facts.items() if text)
    return (
        f'<details class="claim" id="{escape(entry.id, quote=True)}" '
        f'data-rig="{escape(entry.group, quote=True)}" data-verdict="{entry.verdict}">'
        f'<summary class="row">{line}</summary><div class="more"><dl>{more}</dl>'
        f"{''.join(_figure(figure, entry.id, shown) for figure in entry.figures)}</div></details>"
    )


def _figure(figure: Figure, id: str, shown: dict[Figure, str]) -> str:
    """A plot, once: claims that share it lead to the first."""
    title = escape(figure.title, quote=True)
    if shown.setdefault(figure, id) != id:
        return f'<p>Plot: {title}, under <a href="#{shown[figure]}">{shown[figure]}</a>.</p>'
    source = data_address(figure.make(), LARGEST_SVG)
    return (
        f'<figure><img loading="lazy" src="{source}" alt="{title}">'
        f"<figcaption>{title}</figcaption></figure>"
    )


def _criterion(entry: Entry) -> str:
    """The criterion; one that only names another id is spelt out."""
    try:
        other = harness.features(entry.group).get(entry.criterion)
    except FileNotFoundError:
        other = None
    return entry.criterion if other is None else f"as {entry.criterion}: {other['criterion']}"


def _inline(markdown: str) -> str:
    """Emphasis and addresses of Markdown as HTML."""
    text = re.sub(r"\*(.+?)\*", r"<em>\1</em>", escape(markdown))
    text = re.sub(r"\[(.+?)\]\(.+?\)", r"\1", text)
    return re.sub(r"&lt;(https://.+?)&gt;", r"\1", text)


@functools.cache
def _thumbnail(film: Path) -> str:
    """The middle picture of a film, as a data address of some 15 kB."""
    from PIL import Image

    buffer = io.BytesIO()
    with Image.open(film) as frames:
        frames.seek(getattr(frames, "n_frames", 1) // 2)
        frames.convert("RGB").save(buffer, "JPEG", quality=80)
    return f"data:image/jpeg;base64,{base64.b64encode(buffer.getvalue()).decode()}"

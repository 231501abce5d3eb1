"""The page of all results, filled in from ``docs/results/reproduce.json`` at build time."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import summarise
from farhand_lab.publications import places, publication
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
PAGE = "results/all"
MARK = "<!-- the table of all results -->"
ROW_LINK = re.compile(r"\[([A-Z]+-\d+)\]\(\.\./sources/([\w-]+)\.md#\1\)")
REPORT = ROOT / "out" / "results"
"""Where ``make reproduce`` writes the full report with its plots."""


def table(docs: Path) -> str:
    """One Markdown table per rig: id, title, value, criterion, verdict."""
    results = summarise.read(docs / "results" / "reproduce.json")
    errata = summarise.errata_anchors()
    lines: list[str] = []
    for group, found in summarise.grouped(results).items():
        lines += [f"## {publication(group).title}", ""]
        lines += ["| id | title | value | criterion | verdict |", "| --- | --- | --- | --- | --- |"]
        for result in found:
            place = places(group).get(result.id)
            link = f' href="../sources/{group}.html#{place.anchor}"' if place else ""
            id = f'<a class="id"{link}>{result.id}</a>'
            verdict = result.verdict
            if verdict == "corrected" and result.id in errata:
                verdict = f"[corrected](../errata.md#{errata[result.id]})"
            cells = [
                summarise.cell(text) for text in (result.title, result.measured, result.criterion)
            ]
            lines.append(f"| {' | '.join([id, *cells, verdict])} |")
        lines.append("")
    return "\n".join(lines)


def fill(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the tables in place of the mark, a link to the full report, and links to table rows."""
    # Sphinx does not know the rows of a table as places to lead to
    source[0] = ROW_LINK.sub(r'<a href="../sources/\2.html#\1">\1</a>', source[0])
    if docname != PAGE:
        return
    docs = Path(app.srcdir)
    made_from = [docs / "results" / "reproduce.json", *(docs / "sources").glob("*.md")]
    for path in (*made_from, __file__, summarise.__file__):
        app.env.note_dependency(str(path))
    report = (
        '<a href="report/index.html">The full report, with plots</a>\n\n' if _has_report() else ""
    )
    source[0] = source[0].replace(MARK, report + table(docs))


def _has_report() -> bool:
    return (REPORT / "index.html").is_file()


def copy_report(app: Sphinx, error: Exception | None) -> None:
    """Bring the full report into the site; its links lead to the site's pages of sources."""
    if error is None and app.builder.format == "html" and _has_report():
        copy = Path(app.outdir) / "results" / "report"
        shutil.copytree(REPORT, copy, dirs_exist_ok=True)
        page = (copy / "index.html").read_text(encoding="utf-8")
        page = re.sub(r'href="[^"#]*docs/sources/([\w-]+)\.md#', r'href="../../sources/\1.html#', page)
        (copy / "index.html").write_text(page, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", fill)
    app.connect("build-finished", copy_report)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

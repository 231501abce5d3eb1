"""The page of all results, filled in from ``docs/results/reproduce.json`` at build time."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import summarise
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
PAGE = "results/all"
MARK = "<!-- the table of all results -->"
REPORT = ROOT / "out" / "results"
"""Where ``make reproduce`` writes the full report with its plots."""


def source_links(docs: Path) -> dict[str, str]:
    """Where docs/sources lists a feature, by id; ``<a id="D-30"></a>`` marks the row there."""
    links: dict[str, str] = {}
    for page in sorted((docs / "sources").glob("*.md")):
        for id in re.findall(r'<a id="([A-Z]+-\d+\w*)"', page.read_text(encoding="utf-8")):
            links.setdefault(id, f"../sources/{page.stem}.html#{id}")
    return links


def table(docs: Path) -> str:
    """One Markdown table per rig: id, title, value, criterion, verdict."""
    results = summarise.read(docs / "results" / "reproduce.json")
    links, errata = source_links(docs), summarise.errata_anchors()
    lines: list[str] = []
    for group, found in summarise.grouped(results).items():
        lines += [f"## {summarise.TITLES.get(group, group)}", ""]
        lines += ["| id | title | value | criterion | verdict |", "| --- | --- | --- | --- | --- |"]
        for result in found:
            link = f' href="{links[result.id]}"' if result.id in links else ""
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
    """Put the tables in place of the mark, and a link to the full report where there is one."""
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
    """Bring the full report into the site."""
    if error is None and app.builder.format == "html" and _has_report():
        shutil.copytree(REPORT, Path(app.outdir) / "results" / "report", dirs_exist_ok=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", fill)
    app.connect("build-finished", copy_report)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
